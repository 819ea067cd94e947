/**
 * The peer that `JsonRpcPeer` describes, over any duplex.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { Inbound, JsonRpcDuplex } from "./Duplex.ts"
import {
  type GivenUp,
  JsonRpcError,
  type JsonRpcHandlers,
  type JsonRpcPeer,
  type JsonRpcPeerOptions,
  type RequestOptions
} from "./JsonRpcPeer.ts"
import { Deadlines, outcomeOf, Pending, type PendingRequest } from "./Pending.ts"

const defaultMaxInbound = 256
/** Of each kind; a peer that errs a thousand times a second does not fill the log. */
const maxWarnings = 20
/** How long the news that a request was given up may wait for the wire. */
const cancelPatience = Duration.seconds(30)

/** A request of theirs at work. */
interface Work {
  readonly id: JsonRpc.JsonRpcId
  fiber: Fiber.RuntimeFiber<void> | undefined
  cancelled: boolean
  /** Its handler is done: too late to cancel. */
  answering: boolean
}

const millis = (limit: Duration.Duration | undefined): number =>
  limit === undefined ? Infinity : Duration.toMillis(limit)

/** `1` and `"1"` are two ids. */
const keyOf = (id: JsonRpc.JsonRpcId): string => typeof id === "string" ? `s${id}` : `n${id}`

/**
 * Reads the duplex until it ends or the scope closes. All fibers of the peer live in the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E, C = undefined>(
  duplex: JsonRpcDuplex<E, C>,
  handlers: JsonRpcHandlers,
  options: JsonRpcPeerOptions<C>
): Effect.Effect<JsonRpcPeer<E, C>, never, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const clock = yield* Effect.clock
    const closed = yield* Deferred.make<E | null>()
    const pending = new Pending<E>(() => clock.unsafeCurrentTimeMillis())
    const deadlines = new Deadlines<E>(pending)
    const inbound = new Map<string, Work>()
    const maxInbound = options.max_inbound ?? defaultMaxInbound
    const warned = new Map<string, number>()
    let ended: { readonly error: E | null } | null = null

    /** At most {@link maxWarnings} of a kind; the last one says so. */
    const warn = (kind: string, text: string, most = maxWarnings): Effect.Effect<void> => {
      const count = (warned.get(kind) ?? 0) + 1
      if (count > most) return Effect.void
      warned.set(kind, count)
      const last = count === most && most > 1 ? "; more of these are not reported" : ""
      return (options.warn ?? Effect.logWarning)(`${options.name}: ${text}${last}`)
    }

    const closedError = (method: string, error: E | null): JsonRpcError | E =>
      error ?? new JsonRpcError({ reason: "closed", method, message: `${options.name}: the connection is closed` })

    const end = (error: E | null): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (ended !== null) return Effect.void
        ended = { error }
        pending.failAll((request) => closedError(request.method, error))
        const fibers = [...inbound.values()].flatMap(({ fiber }) => fiber ?? [])
        inbound.clear()
        Deferred.unsafeDone(closed, Effect.succeed(error))
        return Effect.forEach(fibers, Fiber.interruptFork, { discard: true })
      })

    const send = (message: JsonRpc.JsonRpcMessage, context: C | undefined): Effect.Effect<void, E> =>
      duplex.send(message, context)

    /** An answer that cannot be sent is nobody's failure: the connection's end is reported by what reads it. */
    const answer = (message: JsonRpc.JsonRpcResponse, context: C | undefined): Effect.Effect<void> =>
      Effect.ignore(send(message, context))

    const answerTo = (request: JsonRpc.JsonRpcRequest, exit: Exit.Exit<unknown, JsonRpc.JsonRpcErrorObject>) => {
      const context = options.answer_context?.(request)
      return Exit.isSuccess(exit)
        ? answer(JsonRpc.success(request.id, exit.value), context)
        : Cause.isFailType(exit.cause)
        ? answer(JsonRpc.failure(request.id, exit.cause.error), context)
        : Effect.zipRight(
          Effect.logError(`${options.name}: ${request.method} failed here: ${Cause.pretty(exit.cause)}`),
          answer(
            JsonRpc.failure(request.id, { code: JsonRpc.ErrorCode.internal_error, message: "internal error" }),
            context
          )
        )
    }

    const serve = (request: JsonRpc.JsonRpcRequest, on: JsonRpc.JsonRpcId | null): Effect.Effect<void> => {
      const key = keyOf(request.id)
      if (inbound.has(key)) {
        return warn("duplicate", `a second request under the id ${JSON.stringify(request.id)}; dropped`)
      }
      if (inbound.size >= maxInbound) {
        return Effect.zipRight(
          warn("flood", `more than ${maxInbound} requests at one time; refused`),
          // Waited for in place: who floods us without reading is read no further.
          answer(
            JsonRpc.failure(request.id, { code: -32_000, message: "too many requests at one time" }),
            options.answer_context?.(request)
          )
        )
      }
      const work: Work = { id: request.id, fiber: undefined, cancelled: false, answering: false }
      inbound.set(key, work)
      const handled = Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(
          Effect.exit(restore(Effect.suspend(() => handlers.onRequest(request, { on })))),
          (exit) => {
            work.answering = true
            if (ended !== null) return Effect.void
            if (work.cancelled) {
              const told = options.cancelled_answer ?? null
              return told === null
                ? Effect.void
                // In a fiber of its own: this one is being interrupted.
                : Effect.forkIn(
                  Effect.interruptible(answer(JsonRpc.failure(request.id, told), options.answer_context?.(request))),
                  scope
                )
            }
            if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)) return Effect.void
            return restore(answerTo(
              request,
              Exit.mapError(
                exit,
                ({ code, data, message }) => data === undefined ? { code, message } : { code, message, data }
              )
            ))
          }
        )
      ).pipe(
        // It counts until its answer is on its way: who asks without reading is bounded too.
        Effect.ensuring(Effect.sync(() => inbound.get(key) === work && inbound.delete(key)))
      )
      return Effect.map(Effect.forkIn(handled, scope), (fiber) => {
        work.fiber = fiber
      })
    }

    const remote = (method: string, { code, data, message }: JsonRpc.JsonRpcErrorObject): JsonRpcError =>
      new JsonRpcError({ reason: "remote", method, message, code, ...(data === undefined ? {} : { data }) })

    const settle = (
      id: JsonRpc.JsonRpcId,
      outcome: (request: PendingRequest<E>) => Effect.Effect<unknown, JsonRpcError>
    ) =>
      Effect.suspend(() => {
        const claim = pending.claim(id)
        if (claim._tag === "Unknown") {
          return claim.late
            ? Effect.logDebug(`${options.name}: an answer to ${JSON.stringify(id)}, which is over; dropped`)
            : warn("unknown", `an answer to ${JSON.stringify(id)}, which nobody asked; dropped`)
        }
        pending.settle(claim.request, outcome(claim.request))
        return claim.spelled
          ? warn("spelled", `answers carry the id as a string, ${JSON.stringify(id)}; taken all the same`, 1)
          : Effect.void
      })

    const take = ({ item, on }: Inbound): Effect.Effect<void> => {
      if (JsonRpc.isInvalid(item)) {
        const text = item.why === "too_deep"
          ? `a message nested deeper than ${JsonRpc.maxDepth}; dropped`
          : item.why === "neither"
          ? "a message with neither a method nor a result nor an error; dropped"
          : `something that is no JSON-RPC message (${item.why}); dropped`
        const told = warn("invalid", text)
        const { id } = item
        if (id === null) return told
        return Effect.zipRight(
          told,
          // A result that is undefined goes missing on the way: what is left is the id of a request that waits for it.
          item.answer || (item.why === "neither" && pending.find(id) !== undefined)
            ? settle(id, ({ method }) =>
              Effect.fail(
                new JsonRpcError({ reason: "invalid_response", method, message: `the answer to ${method}: ${text}` })
              ))
            : answer(
              JsonRpc.failure(id, { code: JsonRpc.ErrorCode.invalid_request, message: "not a JSON-RPC 2.0 request" }),
              undefined
            )
        )
      }
      if (JsonRpc.isRequest(item)) return serve(item, on ?? null)
      if (JsonRpc.isNotification(item)) {
        return Effect.catchAllDefect(
          Effect.suspend(() => handlers.onNotification(item, { on: on ?? null })),
          (defect) => Effect.logError(`${options.name}: ${item.method} failed here: ${String(defect)}`)
        )
      }
      if (!JsonRpc.isFailure(item)) return settle(item.id, () => Effect.succeed(item.result))
      const { error, id } = item
      if (id === null) {
        return handlers.onStrayError?.(error) ??
          warn("stray", `an error that names no request: ${error.code} ${error.message}`)
      }
      return settle(id, ({ method }) => Effect.fail(remote(method, error)))
    }

    /** An answer to a request that waits for it needs no fiber; everything else goes through `take`. */
    const first = ({ item }: Inbound): boolean => {
      if (JsonRpc.isInvalid(item) || "method" in item || typeof item.id !== "number") return false
      const found = pending.find(item.id)
      if (found === undefined) return false
      pending.settle(
        found,
        JsonRpc.isFailure(item) ? Effect.fail(remote(found.method, item.error)) : Effect.succeed(item.result)
      )
      return true
    }

    const takeChunk = (chunk: Chunk.Chunk<Inbound>): Effect.Effect<void> =>
      Effect.forEach(chunk, take, { discard: true })

    const reader = Stream.runForEachChunk(duplex.listen?.(first) ?? duplex.incoming, takeChunk).pipe(
      Effect.matchCauseEffect({
        onSuccess: () => end(null),
        onFailure: (cause) => {
          const failure = Cause.failureOption(cause)
          if (failure._tag === "Some") return end(failure.value)
          return Cause.isInterruptedOnly(cause)
            ? end(null)
            : Effect.zipRight(Effect.logError(`${options.name}: ${Cause.pretty(cause)}`), end(null))
        }
      })
    )
    yield* Effect.forkIn(Effect.interruptible(deadlines.keep), scope)
    const driver = yield* Effect.forkIn(Effect.interruptible(reader), scope)
    // Registered last, so that it runs first: calls fail as closed before their fibers go.
    yield* Effect.addFinalizer(() => end(null))

    const giveUp = (given: GivenUp): Effect.Effect<void> =>
      Effect.suspend(() => {
        const told = ended === null ? options.cancel(given) : null
        if (told === null) return Effect.void
        // In a fiber of its own: who gives up does not wait for the wire.
        return Effect.asVoid(
          Effect.forkIn(
            Effect.interruptible(
              Effect.ignore(
                Effect.timeout(send(JsonRpc.notification(told.method, told.params), told.context), cancelPatience)
              )
            ),
            scope
          )
        )
      })

    /** In a fiber of its own: on some duplexes it lasts as long as the exchange. */
    const exchange = (
      entry: PendingRequest<E>,
      message: JsonRpc.JsonRpcMessage,
      context: C | undefined,
      restore: <A, X>(effect: Effect.Effect<A, X>) => Effect.Effect<A, X>
    ) =>
      Effect.flatMap(
        Effect.fork(Effect.catchAllCause(
          Effect.interruptible(Effect.suspend(() => {
            entry.out = true
            return duplex.send(message, context, () => {
              entry.out = false
            })
          })),
          (cause) => Effect.sync(() => pending.settle(entry, Effect.failCause(cause)))
        )),
        (sending) =>
          Effect.ensuring(
            restore(outcomeOf(entry)),
            Effect.suspend(() => sending.unsafePoll() === null ? Fiber.interrupt(sending) : Effect.void)
          )
      )

    /** Whether, and why, the other side is to be told that a request is over. */
    const givenUp = (cause: Cause.Cause<JsonRpcError | E>): GivenUp["why"] | null => {
      const failure = Cause.failureOption(cause)
      if (failure._tag === "None") return Cause.isInterrupted(cause) ? "interrupted" : null
      const { value } = failure
      return value instanceof JsonRpcError && (value.reason === "timeout" || value.reason === "max_timeout")
        ? "timeout"
        : null
    }

    const request: JsonRpcPeer<E, C>["request"] = (method, params, given: RequestOptions<C> = {}) =>
      // Uninterruptible but for the waiting: what was begun is always ended.
      Effect.uninterruptibleMask((restore) => {
        if (ended !== null) return Effect.fail(closedError(method, ended.error))
        const entry = pending.open(method)
        given.onId?.(entry.id)
        const message = JsonRpc.request(entry.id, method, typeof params === "function" ? params(entry.id) : params)
        if (given.timeout !== undefined || given.max_timeout !== undefined) {
          deadlines.add(entry, { timeout: millis(given.timeout), max_timeout: millis(given.max_timeout) })
        }
        const posted = duplex.post?.(message, (error) => pending.settle(entry, Effect.fail(error))) === true
        entry.out = posted
        const over = (given_up: boolean): void => {
          pending.close(entry)
          deadlines.delete(entry)
          given.onEnd?.(given_up)
        }
        return Effect.matchCauseEffect(
          posted ? restore(outcomeOf(entry)) : exchange(entry, message, given.context, restore),
          {
            onSuccess: (value) => {
              over(false)
              return Effect.succeed(value)
            },
            onFailure: (cause) => {
              const why = givenUp(cause)
              over(why !== null)
              const failed = Effect.failCause(cause)
              // What never went out is nothing to the other side.
              return why === null || given.cancellable === false || !entry.out
                ? failed
                : Effect.zipRight(giveUp({ id: entry.id, method, why }), failed)
            }
          }
        )
      })

    return {
      request,
      notify: (method, params, context) =>
        Effect.suspend((): Effect.Effect<void, JsonRpcError | E> =>
          ended === null
            ? send(JsonRpc.notification(method, params), context)
            : Effect.fail(closedError(method, ended.error))
        ),
      touch: (id) => {
        const found = pending.find(id)
        if (found !== undefined) pending.touch(found)
        return found !== undefined
      },
      hold: (id) => {
        const found = pending.find(id)
        return found === undefined ? () => undefined : pending.hold(found)
      },
      cancelInbound: (id) =>
        Effect.suspend(() => {
          const work = inbound.get(keyOf(id))
          if (work === undefined || work.answering) return Effect.void
          work.cancelled = true
          return work.fiber === undefined ? Effect.void : Fiber.interruptFork(work.fiber)
        }),
      pending: () => pending.list(),
      ended: () => ended !== null,
      closed: Deferred.await(closed),
      close: (error) => Effect.zipRight(end(error), Fiber.interruptFork(driver))
    }
  })
