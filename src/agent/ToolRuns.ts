/**
 * Runs the tool calls of one answer: read-only neighbours side by side, the rest in order; one settlement each, also
 * under interruption (readings 2.7, G9).
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { ToolResult } from "../domain/Tool.ts"
import { failure, resultText } from "../domain/ToolExecutor.ts"
import type { Entry, StorageError } from "../storage/SessionStore.ts"
import type { Message } from "../domain/Message.ts"
import type { RunContext } from "./RunContext.ts"
import { rootOf } from "./RunTree.ts"
import { interruptedResult } from "./Transcript.ts"
import type { TurnCall } from "./TurnMachine.ts"

/** @since 0.1.0 @category models */
export interface Settled {
  readonly call: TurnCall
  readonly result: ToolResult
}

/** How long a stopped tool may take to clean up before the run goes on without it. @since 0.1.0 @category constants */
export const settleGrace = "15 seconds"

/** An agent of its own stops its tools first, and they may have agents too. */
const graceOf = (call: TurnCall): Duration.DurationInput => call.name === "task" ? "45 seconds" : settleGrace

/** The result as the next request carries it. @since 0.1.0 @category combinators */
export const resultMessage = (call: TurnCall, result: ToolResult): Message => {
  const text = resultText(result)
  const parts = result.parts ?? []
  return {
    role: "tool",
    tool_call_id: call.id,
    tool_name: call.name,
    content: parts.length === 0 ? text : [{ type: "text", text }, ...parts],
    is_error: result.is_error
  }
}

const resultEntry = (context: RunContext, turn: number, call: TurnCall, result: ToolResult): Entry => ({
  key: `tool:${call.id}`,
  run_id: context.run_id,
  turn,
  message: resultMessage(call, result)
})

const notRun = (call: TurnCall, why: string): Settled => ({ call, result: failure(why) })

/** Answers calls that were never started, so that the transcript stays legal. @since 0.1.0 @category combinators */
export const settleUnstarted = (
  context: RunContext,
  turn: number,
  calls: ReadonlyArray<TurnCall>,
  why: string
): Effect.Effect<ReadonlyArray<Settled>, StorageError> => {
  if (calls.length === 0) return Effect.succeed([])
  const settled = calls.map((call) => notRun(call, why))
  return Effect.as(
    store(context, settled.map(({ call, result }) => resultEntry(context, turn, call, result))),
    settled
  )
}

const store = (context: RunContext, entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> =>
  context.store.append(context.session_id, entries)

/** One call from start to settlement. Interruption settles it as interrupted and goes on upwards. */
const runOne = (context: RunContext, turn: number, call: TurnCall): Effect.Effect<Settled, StorageError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const started = yield* Clock.currentTimeMillis
      yield* context.emit([{ type: "tool.started", call_id: call.id, tool: call.name, input: call.input }])

      const settle = (result: ToolResult, interrupted: boolean) =>
        Effect.gen(function*() {
          const ended = yield* Clock.currentTimeMillis
          yield* store(context, [resultEntry(context, turn, call, result)])
          yield* context.emit([{
            type: "tool.completed",
            call_id: call.id,
            tool: call.name,
            result,
            duration_ms: ended - started,
            ...(interrupted ? { interrupted: true } : {})
          }])
          return { call, result }
        })

      if (call.input_error !== undefined) {
        return yield* settle(failure(`the arguments of ${call.name} are not a JSON object: ${call.input_error}`), false)
      }

      const { node } = context
      const { checkpoint } = rootOf(node)
      // before anything changes; the call itself runs whether that can be kept or not
      if (checkpoint !== null && !context.tools.isReadOnly(call.name, call.input)) {
        const kept = yield* Effect.exit(restore(checkpoint.before(call)))
        if (Exit.isFailure(kept)) {
          yield* settle(failure("not run: the run was interrupted before this call"), true)
          return yield* Effect.interrupt
        }
      }
      const fiber = yield* Effect.fork(
        restore(
          context.tools.execute(call.name, call.input, context.session_id, {
            call_id: call.id,
            permission_mode: context.permission_mode,
            ...(node.parent === null ? {} : { agent: node.label, grants_session_id: rootOf(node).session_id }),
            report: (event) => context.emit([event])
          })
        )
      )
      const joined = yield* restore(Fiber.await(fiber)).pipe(Effect.exit)
      if (Exit.isFailure(joined)) {
        // Bounded: in an uninterruptible region a plain timeout would wait for a tool that never cleans up.
        yield* Fiber.interruptFork(fiber)
        const late = yield* Fiber.await(fiber).pipe(Effect.interruptible, Effect.timeoutOption(graceOf(call)))
        const finished = Option.flatMap(late, (exit) => Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none())
        yield* settle(Option.getOrElse(finished, () => failure(interruptedResult)), Option.isNone(finished))
        return yield* Effect.interrupt
      }
      if (Exit.isSuccess(joined.value)) return yield* settle(joined.value.value, false)
      if (Cause.isInterruptedOnly(joined.value.cause)) {
        return yield* settle(failure(interruptedResult), true)
      }
      yield* Effect.logError(Cause.pretty(joined.value.cause))
      return yield* settle(failure(`${call.name} failed inside hanzo-dev; the call may have had effects`), false)
    })
  )

/** Neighbouring read-only calls form one group that runs side by side; every other call is a group of its own. @since 0.1.0 @category combinators */
export const groups = (
  calls: ReadonlyArray<TurnCall>,
  isReadOnly: (call: TurnCall) => boolean
): ReadonlyArray<ReadonlyArray<TurnCall>> => {
  const out: Array<Array<TurnCall>> = []
  let last: Array<TurnCall> | null = null
  for (const call of calls) {
    if (!isReadOnly(call)) {
      out.push([call])
      last = null
    } else if (last === null) {
      last = [call]
      out.push(last)
    } else {
      last.push(call)
    }
  }
  return out
}

const parallelTools = 8

/**
 * Runs all calls and returns their results in call order. When it is interrupted, calls that had started settle as
 * interrupted and the rest are answered as not run, before the interruption goes on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const runAll = (
  context: RunContext,
  turn: number,
  calls: ReadonlyArray<TurnCall>
): Effect.Effect<ReadonlyArray<Settled>, StorageError> => {
  const begun = new Set<string>()
  const settled = new Map<string, Settled>()
  const one = (call: TurnCall) =>
    Effect.suspend(() => {
      begun.add(call.id)
      return Effect.map(runOne(context, turn, call), (result) => {
        settled.set(call.id, result)
      })
    })
  const run = Effect.suspend(() =>
    Effect.forEach(
      groups(calls, (call) => context.tools.isReadOnly(call.name, call.input)),
      // most turns call one tool: that needs no fibers of its own
      (group) => Effect.forEach(group, one, { concurrency: group.length === 1 ? 1 : parallelTools, discard: true }),
      { discard: true }
    )
  )
  return Effect.zipRight(context.tools.ready?.(calls.map((call) => call.name)) ?? Effect.void, run).pipe(
    Effect.map(() =>
      calls.flatMap((call) => {
        const result = settled.get(call.id)
        return result === undefined ? [] : [result]
      })
    ),
    Effect.onInterrupt(() =>
      settleUnstarted(
        context,
        turn,
        calls.filter((call) => !begun.has(call.id)),
        "not run: the run was interrupted before this call"
      ).pipe(Effect.ignore)
    )
  )
}
