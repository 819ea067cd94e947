/**
 * One attempt at a turn: the provider's stream, once, into stored items and events. No policy in here.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { ApiError, ApiErrorReason } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import type { StopReason } from "../domain/StreamEvent.ts"
import * as Streams from "../domain/Streams.ts"
import type { ToolDef } from "../domain/Tool.ts"
import type { Usage } from "../domain/Usage.ts"
import { costOf } from "../provider/Cost.ts"
import type { Entry, StorageError } from "../storage/SessionStore.ts"
import type { RunContext } from "./RunContext.ts"
import * as TurnMachine from "./TurnMachine.ts"

/** @since 0.1.0 @category models */
export type AttemptOutcome =
  | {
    readonly _tag: "Answered"
    readonly stop_reason: StopReason
    readonly calls: ReadonlyArray<TurnMachine.TurnCall>
    readonly message: Message
    readonly text: string
    readonly usage: Usage | null
  }
  | { readonly _tag: "Broken"; readonly error: ApiError; readonly usage: Usage | null }

const reasons: ReadonlySet<string> = new Set(ApiErrorReason.literals)
const isReason = (code: string): code is ApiErrorReason => reasons.has(code)

const entryOf = (context: RunContext, turn: number, item: TurnMachine.TurnItem): Entry => ({
  key: item.key,
  run_id: context.run_id,
  turn,
  message: { role: "assistant", content: [item.part] },
  ...(item.part.type === "tool_call" ? { finish_reason: "tool_calls" } : {})
})

/**
 * Runs the attempt. Items are stored before they are offered. A broken attempt has withdrawn what it had shown when it
 * returns; an interrupted one has kept the text that was seen. Calls are never run here.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (
  context: RunContext,
  input: {
    readonly turn: number
    readonly number: number
    readonly messages: ReadonlyArray<Message>
    readonly tools: ReadonlyArray<ToolDef>
  }
): Effect.Effect<AttemptOutcome, StorageError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { store } = context
      const machine = TurnMachine.make(context)
      const parts: Array<TurnMachine.TurnItem> = []
      const attempt_id = yield* context.ids.make("att")
      yield* store.beginAttempt({ id: attempt_id, run_id: context.run_id, turn: input.turn, number: input.number })

      // What came with the terminal is stored in the transaction that ends the attempt.
      let last: TurnMachine.TurnStep = { events: [], items: [] }
      const publish = (step: TurnMachine.TurnStep): Effect.Effect<void, StorageError> => {
        if (machine.terminal()?.type === "message_stop") {
          last = { events: [...last.events, ...step.events], items: [...last.items, ...step.items] }
          parts.push(...step.items)
          return Effect.void
        }
        if (step.items.length === 0) return context.emit(step.events)
        // Stored first, then offered: a consumer never sees the end of an item that a crash would lose.
        return Effect.suspend(() => {
          parts.push(...step.items)
          return store.append(context.session_id, step.items.map((item) => entryOf(context, input.turn, item)))
        }).pipe(Effect.zipRight(context.emit(step.events)), Effect.uninterruptible)
      }

      const exit = yield* restore(
        Streams.forEachChunk(
          context.api.sendMessage(input.messages, input.tools, context.send),
          (chunk) => publish(machine.push(chunk))
        )
      ).pipe(Effect.exit)

      const usage = machine.usage()
      const cost_usd = usage === null ? null : costOf(usage, context.model.price)
      const end = (
        status: "completed" | "failed" | "cancelled",
        more: { error_code?: string; request_id?: string; finish_reason?: string },
        entries: ReadonlyArray<Entry> = []
      ) => store.endAttempt(attempt_id, { status, usage, cost_usd, ...more }, entries)

      const broken = (error: ApiError) =>
        Effect.gen(function*() {
          const shown = machine.shown()
          if (shown.keys.length > 0) yield* store.withdraw(context.session_id, shown.keys)
          if (shown.item_ids.length > 0) {
            yield* context.emit([{ type: "item.withdrawn", item_ids: shown.item_ids, reason: error.reason }])
          }
          yield* end("failed", {
            error_code: error.reason,
            ...(error.request_id === undefined ? {} : { request_id: error.request_id })
          })
          return { _tag: "Broken", error, usage } as const
        })

      const terminal = machine.terminal()
      if (terminal !== null && terminal.type === "message_stop") {
        yield* end(
          "completed",
          { finish_reason: terminal.stop_reason },
          last.items.map((item) => entryOf(context, input.turn, item))
        )
        yield* context.emit(last.events)
        return {
          _tag: "Answered",
          stop_reason: machine.refused() && terminal.stop_reason === "end_turn" ? "refusal" : terminal.stop_reason,
          calls: machine.calls(),
          message: { role: "assistant", content: parts.map((item) => item.part) },
          text: machine.text(),
          usage
        } as const
      }
      if (terminal !== null) {
        return yield* broken(
          new ApiError({
            reason: isReason(terminal.code) ? terminal.code : "stream_error",
            code: terminal.code,
            message: terminal.message,
            retryable: terminal.retryable,
            provider: context.model.provider,
            retry_after_ms: terminal.retry_after_ms,
            request_id: terminal.request_id
          })
        )
      }
      if (Exit.isFailure(exit)) {
        const failure = Cause.failureOption(exit.cause)
        if (Option.isSome(failure)) {
          if (failure.value._tag === "ApiError") return yield* broken(failure.value)
          return yield* Effect.fail(failure.value)
        }
        if (Cause.isInterrupted(exit.cause)) {
          yield* publish(machine.cut())
          yield* end("cancelled", {})
          return yield* Effect.interrupt
        }
        yield* end("failed", { error_code: "internal" })
        return yield* Effect.failCause(Cause.die(Cause.squash(exit.cause)))
      }
      return yield* broken(
        new ApiError({
          reason: "truncated",
          message: "the model's stream ended without a terminal event",
          retryable: true,
          provider: context.model.provider
        })
      )
    })
  )
