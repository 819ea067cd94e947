/**
 * The loop: input, attempt, outcome, tools, again; retries and limits. Policy only, the attempt has none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import * as Backoff from "../domain/Backoff.ts"
import { type ApiError, ExitCode, type RunError } from "../domain/Failure.ts"
import type { Message, Part } from "../domain/Message.ts"
import { text, textOf } from "../domain/MessageParts.ts"
import type * as Usage from "../domain/Usage.ts"
import { classify } from "../provider/Retry.ts"
import type { Entry, StorageError } from "../storage/SessionStore.ts"
import { account } from "./Account.ts"
import * as Attempt from "./Attempt.ts"
import * as Gate from "./CompactionGate.ts"
import * as Limits from "./Limits.ts"
import type { RunContext } from "./RunContext.ts"
import * as Spending from "./Spending.ts"
import { exceeded } from "./RunTree.ts"
import * as ToolRuns from "./ToolRuns.ts"
import { repair } from "./Transcript.ts"

/** What a run has come to; owned and changed by the driver fiber alone. @since 0.1.0 @category models */
export interface RunState {
  messages: Array<Message>
  turns: number
  usage: Usage.Usage
  cost_usd: number | null
  /** Text of the last answer. */
  result: string
  inputs: number
  /** It was told that the run's own cost limit is near. */
  warned: boolean
}

/** @since 0.1.0 @category models */
export type RunOutcome =
  | { readonly _tag: "Completed"; readonly stop_reason: string }
  | { readonly _tag: "Failed"; readonly error: RunError; readonly exit_code: ExitCode }

/** Input that came while the run was on; `take` empties the queue. @since 0.1.0 @category models */
export interface Inbox {
  readonly takeSteering: () => ReadonlyArray<string>
  readonly takeFollowUp: () => string | undefined
}

const callNotRun = (name: string, why: string): AgentEventBody => ({
  type: "notice",
  code: "call_not_run",
  message: `${name === "" ? "a call without a tool's name" : name} was ${why}`
})

/** The third answer running that was cut in its calls ends the run; so does the fourth that the provider paused. */
const continuationLimit = 3

const failed = (code: string, message: string, exit_code: ExitCode): RunOutcome => ({
  _tag: "Failed",
  error: { code, message },
  exit_code
})

const exitOf = (error: ApiError): ExitCode =>
  error.reason === "context_too_long"
    ? ExitCode.limit
    : error.reason === "refused"
    ? ExitCode.failed
    : ExitCode.provider

const fromApiError = (error: ApiError, message: string): RunOutcome => ({
  _tag: "Failed",
  error: {
    code: error.reason,
    message,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.request_id === undefined ? {} : { request_id: error.request_id }),
    ...(error.retry_after_ms === undefined ? {} : { retry_after_ms: error.retry_after_ms })
  },
  exit_code: exitOf(error)
})

/**
 * Records what the user said, unless a hook denies it: then the run is over and nothing of it was recorded. Null when it
 * is recorded.
 *
 * @since 0.1.0
 * @category combinators
 */
export const appendUser = (
  context: RunContext,
  state: RunState,
  content: string | ReadonlyArray<Part>
): Effect.Effect<RunOutcome | null, StorageError> =>
  Effect.gen(function*() {
    const parts = typeof content === "string" ? [text(content)] : content
    const submission = yield* context.hooks.submit(textOf({ role: "user", content: parts }))
    if (!submission.allowed) {
      return failed("prompt_denied", `the prompt was denied by a hook: ${submission.reason}`, ExitCode.failed)
    }
    const expansion = yield* context.expand(content)
    if ("refusal" in expansion) return failed("prompt_refused", expansion.refusal, ExitCode.failed)
    if (expansion.problems.length > 0) {
      yield* context.emit(
        expansion.problems.map((message): AgentEventBody => ({ type: "notice", code: "not_attached", message }))
      )
    }
    const said = typeof expansion.content === "string" ? [text(expansion.content)] : expansion.content
    const told = submission.context === "" ? [] : [text(`\n\n[context given by a hook]\n${submission.context}`)]
    const message: Message = { role: "user", content: [...said, ...told] }
    const entry: Entry = {
      key: `user:${context.run_id}:${state.inputs}`,
      run_id: context.run_id,
      turn: state.turns,
      message
    }
    yield* context.store.append(context.session_id, [entry])
    context.hooks.submitted()
    state.inputs++
    state.messages.push(message)
    return null
  })

/** One answer with as many attempts as the policy allows; each wait is an event before it begins. */
const answer = (
  context: RunContext,
  state: RunState,
  request: { readonly messages: ReadonlyArray<Message>; readonly tools: Parameters<typeof Attempt.run>[1]["tools"] }
): Effect.Effect<Extract<Attempt.AttemptOutcome, { _tag: "Answered" }> | RunOutcome, StorageError> =>
  Effect.gen(function*() {
    const policy = context.model.retry
    const waits = yield* Backoff.waits(policy)
    for (let number = 1;; number++) {
      const stopped = yield* Spending.check(context, state)
      if (stopped !== null) return stopped
      const outcome = yield* Attempt.run(context, { turn: state.turns, number, ...request })
      yield* account(context, state, outcome.usage)
      if (outcome._tag === "Answered") return outcome
      const decision = classify(outcome.error, policy)
      if (decision._tag === "Fatal") return fromApiError(outcome.error, decision.reason)
      const delay = yield* waits.next
      if (delay === null) {
        return fromApiError(
          outcome.error,
          `${outcome.error.message} (gave up after ${policy.max_retries} ${
            policy.max_retries === 1 ? "retry" : "retries"
          })`
        )
      }
      const delay_ms = Math.max(decision.min_delay_ms, delay)
      yield* context.emit([{
        type: "retry",
        attempt: number,
        max_attempts: policy.max_retries,
        delay_ms,
        reason: outcome.error.reason,
        message: outcome.error.message
      }])
      yield* Backoff.sleep(delay_ms)
    }
  })

const overBudget = ({ node }: RunContext): RunOutcome => {
  const { limit, spent } = exceeded(node) ?? { limit: node.max_cost_usd, spent: node.cost() ?? 0 }
  return failed("max_cost", `stopped at $${spent.toFixed(4)} (--max-cost ${limit})`, ExitCode.limit)
}

/** Asks whether to go on with a call that keeps giving the same result (reading 2.8). */
const mayRepeat = (context: RunContext, call: ToolRuns.Settled["call"]): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    for (const prompter of context.prompters) {
      const decision = yield* prompter.requestPermission(call.name, call.input, {
        session_id: context.session_id,
        call_id: call.id,
        rule: "doom_loop",
        subject: `the same call gave the same result ${Limits.repetitionLimit} times running; go on?`
      }).pipe(Effect.catchAllDefect(() => Effect.succeed({ decision: "escalate" } as const)))
      if (decision.decision !== "escalate") return decision.decision === "allow"
    }
    return false
  })

/** Loaded when a conversation comes near its budget. */
const compacting = Effect.promise(() => import("./Compacting.ts"))

/** The system prompt of a run. @since 0.1.0 @category models */
export interface SystemPrompts {
  /** With the names of the tools that are offered; instruction files are read anew (reading 5.7). */
  readonly make: (tools: ReadonlyArray<string>) => Effect.Effect<string>
  /** The conversation was compacted: what the prompt holds may be more from now on. */
  readonly compacted: Effect.Effect<void>
}

/**
 * Runs until the model has answered, a limit is reached or the provider fails for good. Interruption leaves every call
 * settled.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (
  context: RunContext,
  state: RunState,
  inbox: Inbox,
  prompts: SystemPrompts
): Effect.Effect<RunOutcome, StorageError> =>
  Effect.gen(function*() {
    let tools = yield* context.tools.definitions
    const prompted = Effect.suspend(() => prompts.make(tools.map((tool) => tool.name))).pipe(
      Effect.map((content): Message => ({ role: "system", content }))
    )
    let system = yield* prompted
    /** After what may have compacted the conversation; `before` are the messages as they were. */
    const renew = (before: RunState["messages"]): Effect.Effect<void> =>
      state.messages === before ? Effect.void : Effect.zipRight(
        prompts.compacted,
        Effect.map(prompted, (made) => {
          system = made
        })
      )
    let repetition = Limits.noRepetition
    let continuations = 0

    while (true) {
      for (const steering of inbox.takeSteering()) {
        const denied = yield* appendUser(context, state, steering)
        if (denied !== null) return denied
      }
      if (state.turns >= context.max_turns) {
        const requests = context.max_turns === 1 ? "1 model request" : `${context.max_turns} model requests`
        return failed("max_turns", `stopped after ${requests} (--max-turns)`, ExitCode.limit)
      }
      const gate = context.compaction
      if (gate !== null && Gate.mayExceed(gate, system, state.messages)) {
        const spent = yield* Spending.check(context, state)
        if (spent !== null) return spent
        const before = state.messages
        const stopped = yield* (yield* compacting).automatic(context, state, gate, system)
        if (stopped !== null) return stopped
        yield* renew(before)
      }
      // a server may have come, gone, or changed what it offers
      if (state.turns > 0) tools = yield* context.tools.definitions
      state.turns++
      yield* context.emit([{ type: "turn.started", turn: state.turns }])
      const code = yield* context.code
      const request = Effect.suspend(() => {
        const prompt: ReadonlyArray<Message> = code === "" ? [system] : [system, { role: "system", content: code }]
        return answer(context, state, { messages: [...prompt, ...repair(state.messages)], tools })
      })
      let outcome = yield* request
      if (gate !== null && outcome._tag === "Failed" && outcome.error.code === "context_too_long") {
        // once a request: what is too long again is not tried again
        const before = state.messages
        if (yield* (yield* compacting).recover(context, state, gate, system)) {
          yield* renew(before)
          outcome = yield* request
        }
      }
      if (outcome._tag !== "Answered") return outcome
      if (outcome.message.content.length > 0) state.messages.push(outcome.message)
      if (gate !== null) Gate.measure(gate, outcome.usage, state.messages.length)
      if (outcome.text !== "") state.result = outcome.text

      const overCost = exceeded(context.node) !== null
      const uncounted = Spending.isUncounted(context, outcome.usage)
      const cut = outcome.stop_reason === "max_tokens" || outcome.stop_reason === "context_window"
      if (outcome.calls.length > 0) {
        const why = overCost
          ? "not run: the cost limit of this run was reached"
          : uncounted
          ? "not run: nobody knows what the answer cost, and a limit of cost holds"
          : cut
          ? "not run: the answer was cut off at the output limit before the calls were complete; make smaller calls"
          : outcome.stop_reason === "refusal"
          ? "not run: the answer ended in a refusal"
          : null
        // Once the calls are recorded nothing may come between them and their results but an interrupt, which settles them.
        const settled = why === null
          ? yield* ToolRuns.runAll(context, state.turns, outcome.calls)
          : yield* ToolRuns.settleUnstarted(context, state.turns, outcome.calls, why)
        for (const { call, result } of settled) state.messages.push(ToolRuns.resultMessage(call, result))
        if (why !== null) yield* context.emit(outcome.calls.map((call) => callNotRun(call.name, why)))
        if (why === null) {
          repetition = Limits.observe(repetition, settled)
          const last = settled.at(-1)
          if (repetition.count >= Limits.repetitionLimit && last !== undefined) {
            if (!(yield* mayRepeat(context, last.call))) {
              return failed(
                "doom_loop",
                `${last.call.name} was called ${Limits.repetitionLimit} times running with the same arguments and the same result`,
                ExitCode.limit
              )
            }
            repetition = Limits.noRepetition
          }
          // agents that the calls have started cost something too
          if (exceeded(context.node) !== null) return overBudget(context)
        }
      }
      if (outcome.stop_reason === "refusal") {
        return failed("refused", "the model declined to go on", ExitCode.failed)
      }
      if (overCost && (outcome.calls.length > 0 || cut)) {
        return overBudget(context)
      }
      if (uncounted) {
        if (outcome.calls.length > 0 || cut || outcome.stop_reason === "pause_turn") {
          return Spending.uncountedOutcome(context)
        }
        yield* context.emit([Spending.uncountedWarning])
      }
      if (cut) {
        if (outcome.stop_reason === "context_window") {
          const before = state.messages
          if (
            gate !== null && ++continuations < continuationLimit &&
            (yield* (yield* compacting).recover(context, state, gate, system))
          ) {
            yield* renew(before)
            continue
          }
          return failed("context_too_long", "the conversation has filled the model's context window", ExitCode.limit)
        }
        if (outcome.calls.length === 0 || ++continuations >= continuationLimit) {
          return failed("max_output_tokens", "the answer was cut off at the output token limit", ExitCode.failed)
        }
        continue
      }
      if (outcome.calls.length > 0) {
        continuations = 0
        continue
      }
      if (outcome.stop_reason === "pause_turn") {
        if (++continuations > continuationLimit) {
          return failed("pause_turn", "the provider paused the answer again and again", ExitCode.provider)
        }
        continue
      }
      const followUp = inbox.takeFollowUp()
      if (followUp !== undefined) {
        const denied = yield* appendUser(context, state, followUp)
        if (denied !== null) return denied
        continue
      }
      if (outcome.calls.length === 0 && outcome.text.trim() === "") {
        yield* context.emit([{
          type: "notice",
          code: "empty_answer",
          message: `the model ended its answer without a word (${outcome.stop_reason}); ask again or say more`
        }])
      }
      return { _tag: "Completed", stop_reason: outcome.stop_reason }
    }
  })
