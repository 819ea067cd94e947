/**
 * `subscriptions/listen` of the modern era: one long request that brings what changes (reading 1.2). It is opened for
 * everything the server has, whether it says that it tells of changes or not, opened anew when it was lost, and replaced
 * when resources are subscribed to.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import { ceiling, delay, sleep } from "../domain/Backoff.ts"
import type { JsonRpcError } from "../rpc/JsonRpcPeer.ts"
import type { McpListKind } from "./Connection.ts"
import { McpError } from "./McpError.ts"
import type { Link, Session } from "./Session.ts"
import * as Wire from "./Wire.ts"

const baseMs = 500
const maxMs = 30_000

const kinds: ReadonlyArray<McpListKind> = ["tools", "prompts", "resources"]

/** Errors after which listening again makes sense. */
const isPassing = (error: JsonRpcError | McpError): boolean =>
  error instanceof McpError && (error.reason === "stream_lost" || error.reason === "network" ||
    (error.reason === "http_status" && (error.status ?? 0) >= 500))

/** @since 0.1.0 @category models */
export interface Subscriptions {
  /** Begins to listen; returns at once. */
  readonly start: Effect.Effect<void>
  readonly add: (uri: string) => Effect.Effect<void, McpError>
  readonly remove: (uri: string) => Effect.Effect<void, McpError>
}

/** @since 0.1.0 @category constructors */
export const make = (
  session: Session,
  link: Link,
  capabilities: JsonRpcObject,
  scope: Scope.Scope
): Effect.Effect<Subscriptions> =>
  Effect.gen(function*() {
    const offered = kinds.filter((kind) => Wire.object(capabilities, kind) !== undefined)
    const uris = new Set<string>()
    const turn = yield* Effect.makeSemaphore(1)
    let listener: Fiber.RuntimeFiber<void> | null = null

    const filter = (): JsonRpcObject => ({
      ...Object.fromEntries(offered.map((kind) => [`${kind}ListChanged`, true])),
      ...(uris.size === 0 ? {} : { resourceSubscriptions: [...uris] })
    })

    /** Until the stream ends; `heard` is called when the server has agreed. */
    const once = (
      wanted: JsonRpcObject,
      heard: (agreed: JsonRpcObject) => Effect.Effect<void>
    ): Effect.Effect<void, JsonRpcError | McpError> =>
      Effect.flatMap(Deferred.make<void>(), (over) => {
        let key = ""
        const request = session.send(link.peer, "subscriptions/listen", { notifications: wanted }, {
          limit: "list",
          endless: true,
          onId: (id) => {
            key = String(id)
            session.listens.set(
              key,
              (agreed) => agreed === null ? Effect.asVoid(Deferred.succeed(over, undefined)) : heard(agreed)
            )
          }
        })
        return Effect.raceFirst(Effect.asVoid(request), Deferred.await(over)).pipe(
          Effect.ensuring(Effect.sync(() => session.listens.delete(key)))
        )
      })

    const missed = Effect.suspend(() =>
      Effect.forEach(offered, (kind) => session.handlers.onListChanged?.(kind) ?? Effect.void, { discard: true })
    )

    const listen = (wanted: JsonRpcObject, first: Deferred.Deferred<JsonRpcObject, McpError>): Effect.Effect<void> =>
      Effect.gen(function*() {
        let attempt = 0
        let gap = false
        for (;;) {
          const heard = (agreed: JsonRpcObject): Effect.Effect<void> =>
            Effect.suspend(() => {
              attempt = 0
              const tell = gap ? missed : Effect.void
              gap = false
              return Effect.zipRight(Deferred.succeed(first, agreed), tell)
            })
          const ended = yield* Effect.either(once(wanted, heard))
          if (ended._tag === "Left" && !isPassing(ended.left)) {
            const error = session.toMcpError(ended.left, "list")
            yield* Deferred.fail(first, error)
            if (error.reason === "rpc") {
              yield* Effect.logInfo(`MCP server ${session.server} does not tell of changes: ${error.message}`)
            }
            return
          }
          gap = true
          const random = yield* Random.next
          yield* sleep(delay(ceiling(baseMs, maxMs, attempt), random))
          attempt++
        }
      })

    /** The new stream first, then the end of the old one, so that nothing is missed in between. */
    const renew: Effect.Effect<JsonRpcObject, McpError> = Effect.gen(function*() {
      const first = yield* Deferred.make<JsonRpcObject, McpError>()
      const old = listener
      const fiber = yield* Effect.forkIn(Effect.interruptible(listen(filter(), first)), scope)
      const limit_ms = session.limits.list_timeout_ms
      return yield* Effect.raceFirst(
        Deferred.await(first),
        Effect.zipRight(
          sleep(limit_ms),
          Effect.fail(session.error(
            "list_timeout",
            `no acknowledgement of subscriptions/listen within ${limit_ms} ms`,
            { limit_ms }
          ))
        )
      ).pipe(
        Effect.tap(() =>
          Effect.suspend(() => {
            listener = fiber
            return old === null ? Effect.void : Fiber.interruptFork(old)
          })
        ),
        Effect.onError(() => Fiber.interruptFork(fiber))
      )
    })

    return {
      start: Effect.suspend(() => {
        if (offered.length === 0) return Effect.void
        return Effect.gen(function*() {
          const first = yield* Deferred.make<JsonRpcObject, McpError>()
          listener = yield* Effect.forkIn(Effect.interruptible(listen(filter(), first)), scope)
        })
      }),
      add: (uri) =>
        turn.withPermits(1)(Effect.gen(function*() {
          if (uris.has(uri)) return
          uris.add(uri)
          const agreed = yield* Effect.onError(renew, () => Effect.sync(() => uris.delete(uri)))
          const subscribed = own(agreed, "resourceSubscriptions")
          if (!Array.isArray(subscribed) || !subscribed.includes(uri)) {
            uris.delete(uri)
            return yield* session.error("not_offered", `it does not take a subscription to ${Wire.shown(uri)}`)
          }
        })),
      remove: (uri) => turn.withPermits(1)(Effect.suspend(() => uris.delete(uri) ? Effect.asVoid(renew) : Effect.void))
    }
  })
