/**
 * The lives of servers: one process for each (server, root), started with the first use, started again after a pause when
 * it ends, left alone when it ends too often, stopped when nobody needs it (readings 8.3, 8.8, 8.9).
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Scope from "effect/Scope"
import type { ServerDefinition } from "./Definitions.ts"
import { LspClient, type LspClientOptions, type LspClientServices } from "./LspClient.ts"
import { LspError } from "./LspError.ts"

/** First pause after an end; it doubles. @since 0.1.0 @category constants */
export const firstPauseMs = 1_000
/** @since 0.1.0 @category constants */
export const longestPauseMs = 30_000
/** So many ends within {@link endsWindowMs} and it is left alone. @since 0.1.0 @category constants */
export const mostEnds = 5
/** @since 0.1.0 @category constants */
export const endsWindowMs = 180_000

type State =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Starting"; readonly answer: Deferred.Deferred<LspClient, LspError>; readonly since: number }
  | { readonly _tag: "Ready"; readonly client: LspClient; readonly end: Effect.Effect<void> }
  | { readonly _tag: "Paused"; readonly error: LspError; readonly until: number }
  | { readonly _tag: "Failed"; readonly error: LspError }

/** @since 0.1.0 @category models */
export interface Slot {
  readonly definition: ServerDefinition
  readonly root: string
  readonly command: Omit<LspClientOptions, "language_id">
  state: State
  /** When it ended, lately. */
  ends: ReadonlyArray<number>
  /** Documents to open again. */
  reopen: ReadonlyArray<string>
  used_at: number
  /** It has given a first answer about diagnostics since it started. */
  warm: boolean
  /** Answers in a row that were not there in time. */
  late: number
  started_at: number
}

/** @since 0.1.0 @category models */
export interface SlotLimits {
  readonly idle_ms: number
  readonly max_memory_bytes: number
  readonly watch_ms: number
}

/** @since 0.1.0 @category models */
export interface SlotsInput {
  /** All servers end with it. */
  readonly scope: Scope.Scope
  readonly services: Effect.Effect<LspClientServices>
  readonly language_id: (definition: ServerDefinition, path: string) => string
  readonly memory: (pid: number) => Effect.Effect<number | null>
  readonly limits: SlotLimits
  /** One line for the user. */
  readonly tell: (line: string) => void
}

/** @since 0.1.0 @category models */
export interface Slots {
  readonly make: (definition: ServerDefinition, root: string, command: Slot["command"]) => Slot
  /** The running server; starts it, or fails at once while it pauses or is left alone. */
  readonly obtain: (slot: Slot) => Effect.Effect<LspClient, LspError>
  /** Ends it; the next use starts it again, whatever was before. */
  readonly reset: (slot: Slot) => Effect.Effect<void>
  /** Everything ends: no end is an unwanted one any more. */
  readonly shut: () => void
}

const stopped = ({ definition: { name } }: Slot): LspError =>
  new LspError({ reason: "server_exited", server: name, message: `the language server ${name} was stopped` })

const seconds = (ms: number): string => `${Math.max(1, Math.ceil(ms / 1000))} s`

/** @since 0.1.0 @category constructors */
export const make = (input: SlotsInput): Slots => {
  const { limits, scope, tell } = input
  let shut = false

  const began = (slot: Slot, now: number): Deferred.Deferred<LspClient, LspError> => {
    const answer = Deferred.unsafeMake<LspClient, LspError>(FiberId.none)
    slot.state = { _tag: "Starting", answer, since: now }
    slot.started_at = now
    slot.warm = false
    slot.late = 0
    return answer
  }

  /** An end that nobody wanted. */
  const ended = (slot: Slot, error: LspError): Effect.Effect<LspError> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      slot.ends = [...slot.ends.filter((at) => now - at < endsWindowMs), now]
      if (slot.ends.length >= mostEnds || error.reason === "missing") {
        const failed = error.reason === "missing" ? error : new LspError({
          reason: "failed",
          server: error.server,
          message: `${error.message}; it ended ${slot.ends.length} times in ${
            endsWindowMs / 60_000
          } min and is left alone; in a conversation, /lsp restart ${error.server} starts it again`
        })
        slot.state = { _tag: "Failed", error: failed }
        tell(failed.message)
        return failed
      }
      const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** (slot.ends.length - 1))
      slot.state = { _tag: "Paused", error, until: now + pause }
      if (slot.ends.length === 1) tell(`${error.message}; it is started again when it is needed`)
      return error
    })

  const watch = (slot: Slot, client: LspClient, end: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.gen(function*() {
      for (;;) {
        yield* Effect.sleep(Duration.millis(limits.watch_ms))
        const now = yield* Clock.currentTimeMillis
        if (now - slot.used_at >= limits.idle_ms) {
          slot.state = { _tag: "Idle" }
          return yield* end
        }
        const bytes = yield* input.memory(client.pid)
        if (bytes !== null && bytes > limits.max_memory_bytes) {
          const mebibytes = Math.round(bytes / 1024 / 1024)
          yield* ended(
            slot,
            new LspError({
              reason: "server_exited",
              server: client.server,
              message: `the language server ${client.server} used ${mebibytes} MiB of memory and was stopped`
            })
          )
          return yield* end
        }
      }
    })

  const start = (slot: Slot, answer: Deferred.Deferred<LspClient, LspError>): Effect.Effect<void> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
        const services = yield* input.services
        const exit = yield* restore(
          Scope.extend(
            LspClient.start(
              { ...slot.command, language_id: (path) => input.language_id(slot.definition, path) },
              services
            ),
            own
          )
        ).pipe(Effect.exit)
        if (Exit.isFailure(exit)) {
          yield* Scope.close(own, exit)
          const failed = Cause.failureOption(exit.cause)
          const mine = slot.state._tag === "Starting" && slot.state.answer === answer
          if (mine && failed._tag === "Some") {
            yield* Deferred.fail(answer, yield* ended(slot, failed.value))
            return
          }
          if (mine) slot.state = { _tag: "Idle" }
          if (Cause.isDie(exit.cause)) yield* Effect.logError(Cause.pretty(exit.cause))
          yield* Deferred.fail(answer, stopped(slot))
          return
        }
        const client = exit.value
        const closing = Scope.close(own, Exit.void)
        const current = slot.state
        if (current._tag !== "Starting" || current.answer !== answer) {
          // it was reset meanwhile
          yield* Deferred.fail(answer, stopped(slot))
          return yield* closing
        }
        slot.state = { _tag: "Ready", client, end: closing }
        slot.used_at = yield* Clock.currentTimeMillis
        // in the scope of all, since they close the server's own
        yield* Effect.forkIn(
          Effect.interruptible(Effect.gen(function*() {
            const error = yield* client.closed
            if (shut || slot.state._tag !== "Ready" || slot.state.client !== client) return
            slot.reopen = client.documents.paths()
            yield* ended(slot, error)
            yield* Effect.uninterruptible(closing)
          })),
          scope
        )
        yield* Effect.forkIn(Effect.interruptible(watch(slot, client, Effect.uninterruptible(closing))), own).pipe(
          Effect.when(() => limits.watch_ms > 0)
        )
        const again = slot.reopen
        slot.reopen = []
        yield* Deferred.succeed(answer, client)
        yield* Effect.forkIn(
          Effect.interruptible(
            Effect.forEach(again, (path) => Effect.ignore(client.documents.sync(path)), { discard: true })
          ),
          own
        )
      })
    )

  return {
    make: (definition, root, command) => ({
      definition,
      root,
      command,
      state: { _tag: "Idle" },
      ends: [],
      reopen: [],
      used_at: 0,
      warm: false,
      late: 0,
      started_at: 0
    }),
    obtain: (slot) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        slot.used_at = now
        const { state } = slot
        switch (state._tag) {
          case "Ready":
            return Effect.succeed(state.client)
          case "Starting":
            return Deferred.await(state.answer)
          case "Failed":
            return Effect.fail(state.error)
          case "Paused":
            if (now < state.until) {
              return Effect.fail(
                new LspError({
                  reason: "server_exited",
                  server: state.error.server,
                  message: `${state.error.message}; it may start again in ${seconds(state.until - now)}`
                })
              )
            }
            break
          case "Idle":
            break
        }
        const answer = began(slot, now)
        return Effect.zipRight(Effect.forkIn(start(slot, answer), scope), Deferred.await(answer))
      }),
    reset: (slot) =>
      Effect.suspend(() => {
        const { state } = slot
        slot.state = { _tag: "Idle" }
        slot.ends = []
        return state._tag === "Ready" ? state.end : Effect.void
      }),
    shut: () => {
      shut = true
    }
  }
}
