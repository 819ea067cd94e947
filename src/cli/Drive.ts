/**
 * One run of the agent from its start to its terminal event, with Ctrl-C and the other signals on the way.
 *
 * @since 0.1.0
 */
import type * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Cause from "effect/Cause"
import * as Queue from "effect/Queue"
import { Agent, type RunInput } from "../agent/Agent.ts"
import type { AgentEvent, TerminalEvent } from "../domain/AgentEvent.ts"
import { isTerminal } from "../domain/RunEnd.ts"
import { type AgentError, ExitCode } from "../domain/Failure.ts"
import * as Streams from "../domain/Streams.ts"
import { exitCodeOf, type SignalName, Signals } from "../platform/Signals.ts"
import type { TerminalError } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"

/** How a run ended. `terminal` is null when it was stopped at once, before it could say so. @since 0.1.0 @category models */
export interface Outcome {
  readonly session_id: string | null
  readonly terminal: TerminalEvent | null
  readonly signal: SignalName | null
  /** By the terminal event; a cancelled run by its signal (reading 0). */
  readonly exit_code: number
}

/** What kept a run from starting, as the end of a command. @since 0.1.0 @category constructors */
export const agentExit = (error: AgentError): CliExit =>
  error.reason === "storage" || error.reason === "session_busy" ? failed(error.message) : usage(error.message)

const outcomeOf = (
  session_id: string | null,
  terminal: TerminalEvent | null,
  signal: SignalName | null
): Outcome => ({
  session_id,
  terminal,
  signal,
  exit_code: terminal !== null && (terminal.type !== "run.cancelled" || signal === null)
    ? terminal.exit_code
    : signal === null
    ? ExitCode.failed
    : exitCodeOf(signal)
})

/**
 * Runs to the end and hands every chunk of events to `sink`. The first signal asks the agent to stop (it settles what
 * is open and ends with `run.cancelled`), the second stops it at once. `interrupts` are sessions to stop for a reason of
 * the caller's own. When the sink fails the run is stopped and settled, then the failure is given on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drive = Effect.fnUntraced(function*(
  input: RunInput,
  sink: (events: Chunk.Chunk<AgentEvent>) => Effect.Effect<void, TerminalError>,
  interrupts?: Queue.Dequeue<string>
) {
  const agent = yield* Agent
  const signals = yield* Signals
  return yield* Effect.scoped(Effect.gen(function*() {
    const queue = yield* signals.subscribe
    let session_id: string | null = null
    let terminal: TerminalEvent | null = null
    let signal: SignalName | null = null

    const opened: RunInput = {
      ...input,
      onOpen: (id) => {
        session_id = id
      }
    }
    const fiber = yield* Effect.forkScoped(Streams.forEachChunk(agent.run(opened), (events) => {
      for (const event of events) {
        session_id = event.session_id
        if (isTerminal(event)) terminal = event
      }
      return sink(events)
    }))
    const stop = (reason: string) =>
      Effect.suspend(() =>
        session_id === null ? Fiber.interruptFork(fiber) : Effect.forkScoped(agent.interrupt(session_id, reason))
      )
    yield* Effect.forkScoped(Effect.gen(function*() {
      signal = yield* Queue.take(queue)
      yield* stop(signal === "SIGINT" ? "interrupted" : "terminated")
      yield* Queue.take(queue)
      yield* Fiber.interruptFork(fiber)
    }))
    if (interrupts !== undefined) {
      yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Queue.take(interrupts), stop("interrupted"))))
    }

    const exit = yield* Fiber.await(fiber)
    if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) return yield* Effect.failCause(exit.cause)
    return outcomeOf(session_id, terminal, signal)
  }))
})
