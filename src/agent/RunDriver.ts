/**
 * Brings a run to its one terminal, however its work ends: by itself, by request, or since its reader has gone. The end is
 * stored first, then told.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { ExitCode } from "../domain/Failure.ts"
import type { ToolExecutorService } from "../domain/ToolExecutor.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import type * as Loop from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"
import type { RunEvents } from "./RunEvents.ts"

const consumerGone = "consumer gone"

/** The terminal event of a run with what its row says; `reason` is that of a run which was cancelled. */
const terminalOf = (
  exit: Exit.Exit<Loop.RunOutcome, StorageError>,
  reason: string,
  { cost_usd, result, turns, usage }: Loop.RunState,
  refusedUnasked: boolean
) => {
  const summary = { result, usage, cost_usd, turns }
  if (Exit.isSuccess(exit)) {
    const outcome = exit.value
    return outcome._tag === "Completed"
      ? {
        status: "completed" as const,
        event: {
          type: "run.completed" as const,
          ...summary,
          exit_code: refusedUnasked ? ExitCode.no_prompter : ExitCode.done,
          stop_reason: outcome.stop_reason
        }
      }
      : {
        status: "failed" as const,
        error: outcome.error,
        event: { type: "run.failed" as const, ...summary, exit_code: outcome.exit_code, error: outcome.error }
      }
  }
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure) && Cause.isInterrupted(exit.cause)) {
    return {
      status: "cancelled" as const,
      event: { type: "run.cancelled" as const, ...summary, exit_code: ExitCode.interrupted, reason }
    }
  }
  const error = Option.isSome(failure)
    ? { code: "storage", message: `the session could not be recorded: ${failure.value.message}` }
    : { code: "internal", message: "hanzo-dev failed; this is a bug, the log has the details" }
  return {
    status: "failed" as const,
    error,
    event: { type: "run.failed" as const, ...summary, exit_code: ExitCode.failed, error }
  }
}

/**
 * `cancel` holds why the run is to end. `tools` are all there are, whatever limits the run has. Uninterruptible but for
 * the work and for what nobody waits for.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drive = (
  work: Effect.Effect<Loop.RunOutcome, StorageError>,
  run: {
    readonly context: RunContext
    readonly state: Loop.RunState
    readonly events: RunEvents
    readonly tools: ToolExecutorService
    readonly cancel: Deferred.Deferred<string>
  }
): Effect.Effect<void> => {
  const { cancel, context: { hooks, node, run_id, session_id, store }, events, state, tools } = run
  return Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(restore(work))
      // Either the work ends by itself, or someone asks for its end, or the consumer has gone and this fiber is interrupted.
      const ended = yield* restore(
        Effect.raceFirst(Effect.as(Fiber.await(fiber), consumerGone), Deferred.await(cancel))
      ).pipe(Effect.exit)
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      if (Exit.isFailure(exit) && Cause.isDie(exit.cause)) yield* Effect.logError(Cause.pretty(exit.cause))
      // nobody sees the background commands of a subagent any more
      if (node.parent !== null) yield* tools.release?.(session_id) ?? Effect.void
      const terminal = terminalOf(
        exit,
        Exit.isSuccess(ended) ? ended.value : consumerGone,
        state,
        events.refusedUnasked()
      )
      // Interruptible: whoever stops a second time, or has gone, waits for no hook.
      yield* restore(hooks.stop({
        status: terminal.status,
        exit_code: terminal.event.exit_code,
        result: state.result
      })).pipe(Effect.exit)
      if (node.checkpoint !== null) yield* restore(node.checkpoint.after).pipe(Effect.exit)
      // Stored first, then offered.
      yield* store.endRun(run_id, {
        status: terminal.status,
        turns: state.turns,
        exit_code: terminal.event.exit_code,
        ...(terminal.error === undefined ? {} : { error: terminal.error })
      }).pipe(Effect.catchAll((error) =>
        // a run that failed for the same reason says so itself
        terminal.error?.code === "storage"
          ? Effect.void
          : events.emit([{
            type: "notice",
            code: "not_recorded",
            message: `the end of this run could not be recorded: ${error.message}`
          }])
      ))
      yield* events.emit([terminal.event])
    })
  )
}
