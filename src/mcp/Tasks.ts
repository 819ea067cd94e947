/**
 * Tool calls that a server runs as tasks (2025-11-25, experimental): the call is answered with a task at once, its state is
 * asked for until it is over, then its result is fetched. For the caller it is a call like any other.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { isJsonObject, type JsonRpcObject } from "../codec/JsonRpc.ts"
import { sleep } from "../domain/Backoff.ts"
import type { McpError } from "./McpError.ts"
import type { Ask, Session } from "./Session.ts"
import * as Wire from "./Wire.ts"

/** Milliseconds between two looks, where the server does not say. */
const defaultPollMs = 1_000
const shortestPollMs = 50
const longestPollMs = 30_000
/** A task whose call was given up before it was named is waited for so long, to be cancelled. */
const birthMs = 2_000

type Request = (method: string, params: JsonRpcObject, ask: Ask) => Effect.Effect<unknown, McpError>

/**
 * The answer that names the task. Given up before it came, it is waited for in the background for a while, and handed to
 * `late`: a task is cancelled by its name and by nothing else. Then the request is given up.
 */
const born = <A, E>(
  creation: Effect.Effect<A, E>,
  late: (created: A) => Effect.Effect<void>,
  scope: Scope.Scope
): Effect.Effect<A, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.forkIn(Effect.interruptible(creation), scope),
      (creating) =>
        Effect.onInterrupt(restore(Fiber.join(creating)), () => {
          const soon = Effect.raceFirst(
            Effect.option(Fiber.join(creating)),
            Effect.as(sleep(birthMs), Option.none<A>())
          )
          return Effect.forkIn(
            Effect.interruptible(Effect.flatMap(soon, (found) =>
              Option.isSome(found) ? late(found.value) : Effect.asVoid(Fiber.interrupt(creating)))),
            scope
          )
        })
    )
  )

/**
 * The result of the call, as `tools/call` would have given it. Interruption and time limits cancel the task on the server.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (
  session: Session,
  request: Request,
  scope: Scope.Scope,
  params: JsonRpcObject,
  ask: Ask
): Effect.Effect<unknown, McpError> =>
  Effect.gen(function*() {
    const limit_ms = ask.max_ms ?? session.limits.call_max_ms
    const began = yield* Clock.currentTimeMillis
    let token = 0
    let release = (): void => undefined
    /** At once: its progress may stand right behind it on the wire. */
    const named = (created: unknown) => {
      const task = isJsonObject(created) ? Wire.object(created, "task") : undefined
      const taskId = task === undefined ? undefined : Wire.text(task, "taskId")
      if (taskId !== undefined) release = session.keepTask(taskId, token, ask)
      return { created, task, taskId }
    }
    const cancel = (taskId: string) => Effect.ignore(request("tasks/cancel", { taskId }, { limit: "list" }))
    const { created, task, taskId } = yield* born(
      Effect.map(
        request("tools/call", { ...params, task: { ttl: limit_ms } }, {
          ...ask,
          onId: (id) => {
            token = id
          }
        }),
        named
      ),
      (late) => {
        release()
        return late.taskId === undefined ? Effect.void : cancel(late.taskId)
      },
      scope
    )
    // It may run the call as an ordinary one all the same.
    if (task === undefined) return created
    if (taskId === undefined) return yield* session.error("protocol", "a task without a taskId")
    const plain: Ask = { limit: "call", timeout_ms: ask.timeout_ms, max_ms: ask.max_ms, call: ask.call }
    const left = Effect.map(Clock.currentTimeMillis, (now) => limit_ms - (now - began))
    const over = session.error("call_max", `the call took more than ${limit_ms} ms in all; raise call_max_ms`, {
      limit_ms
    })

    const poll = (state: JsonRpcObject): Effect.Effect<unknown, McpError> =>
      Effect.gen(function*() {
        const status = Wire.text(state, "status")
        if (status === "cancelled") {
          const why = Wire.text(state, "statusMessage")
          return yield* session.error(
            "cancelled",
            `the task was cancelled on the server${why === undefined ? "" : `: ${Wire.shown(why)}`}`
          )
        }
        const rest = yield* left
        if (rest <= 0) return yield* over
        if (status !== "working") {
          // Also while it waits for input: what it asks comes along with this request, which waits for the end.
          return yield* request("tasks/result", { taskId }, { ...plain, timeout_ms: rest, max_ms: rest })
        }
        const asked = Wire.number(state, "pollInterval") ?? defaultPollMs
        yield* sleep(Math.min(rest, Math.max(shortestPollMs, Math.min(longestPollMs, asked))))
        const next = yield* request("tasks/get", { taskId }, plain)
        if (!isJsonObject(next)) return yield* session.error("protocol", "tasks/get gave a result that is no object")
        return yield* poll(next)
      })

    return yield* poll(task).pipe(
      Effect.onExit((exit) => {
        release()
        if (Exit.isSuccess(exit)) return Effect.void
        if (ask.call !== undefined) session.giveUp(ask.call)
        return Effect.asVoid(Effect.forkIn(Effect.interruptible(cancel(taskId)), scope))
      })
    )
  })
