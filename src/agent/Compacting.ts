/**
 * When the loop compacts, how far it goes, and what it records (readings 5.1, 5.8 to 5.10). Loaded when a conversation
 * comes near its budget, not before.
 *
 * Of a conversation over the trigger: outputs that can be looked up again are shortened, if that alone frees enough;
 * else what lies before the reserved turns becomes a summary; else, once in a turn, older results inside the reserved
 * turns are emptied; else all but the user's last message and the newest group becomes a summary.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Budget from "../compactor/Budget.ts"
import type { CompactionResult } from "../compactor/Compactor.ts"
import { placeholder, placeholderTokens } from "../compactor/Placeholder.ts"
import * as Plan from "../compactor/Plan.ts"
import * as Savings from "../compactor/Savings.ts"
import { emptied } from "../compactor/SessionCompactor.ts"
import { ExitCode } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import type { JoinedMessage } from "../storage/History.ts"
import type { Entry, StorageError } from "../storage/SessionStore.ts"
import { book } from "./Booking.ts"
import type { CompactionGate } from "./CompactionGate.ts"
import type { RunOutcome, RunState } from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"
import * as Spending from "./Spending.ts"

/** Three compactions running that each save less than a tenth, or ten in a turn, are enough (reading 5.9). */
const poorLimit = 3
const passLimit = 10

/** From then on outputs are not shortened in this turn: what is looked up again and again would never end. */
const shortenLimit = 20

/** Parts of the budget: shortening must come down to `savedTo` and save `savedAtLeast`, else it is not worth it. */
const savedTo = 0.6
const savedAtLeast = 0.2

/** What the provider counts is put into estimates by this much at the most. */
const skew = 2

interface Scene {
  readonly context: RunContext
  readonly state: RunState
  readonly gate: CompactionGate
  readonly system: Message
}

const failed = (code: string, message: string, exit_code: ExitCode): RunOutcome => ({
  _tag: "Failed",
  error: { code, message },
  exit_code
})

/** The turn of the user that is on; a new one begins anew. */
const turnOf = ({ gate, state }: Scene): CompactionGate["turn"] => {
  if (gate.turn.input !== state.inputs) {
    gate.turn = { input: state.inputs, passes: 0, shortened: 0, poor: 0, emptied: false, off: false }
  }
  return gate.turn
}

/** Tokens of the conversation (reading 5.1), and of our own estimate of it. */
const weigh = ({ gate, state, system }: Scene): { readonly total: number; readonly estimated: number } => {
  const counts = state.messages.map(Budget.countOf)
  const estimated = counts.reduce((all, count) => all + count, Budget.countOf(system))
  const { measured } = gate
  const total = measured === null
    ? estimated
    : counts.slice(measured.messages).reduce((all, count) => all + count, measured.tokens)
  return { total, estimated }
}

/** The budget in our estimates, which may be too high or too low by what the provider's count shows. */
const budgetOf = (max_tokens: number, { estimated, total }: ReturnType<typeof weigh>): number =>
  Math.max(1, Math.floor(max_tokens * Math.min(skew, Math.max(1 / skew, total === 0 ? 1 : estimated / total))))

/** The record is what a resumed session begins with: it is written first, then taken over. */
const record = (
  { context, gate, state }: Scene,
  entries: ReadonlyArray<Entry>
): Effect.Effect<void, StorageError> =>
  Effect.gen(function*() {
    yield* context.store.append(context.session_id, entries)
    state.messages = [...(yield* context.store.history(context.session_id))]
    gate.measured = null
  }).pipe(Effect.uninterruptible)

const entryOf = (
  { context, state }: Scene,
  key: string,
  message: Message,
  replaces: ReadonlyArray<string>
): Entry => ({ key, run_id: context.run_id, turn: state.turns, message, replaces })

/** Indices count the system prompt, keys do not. */
const keysAt = (rows: ReadonlyArray<JoinedMessage>, index: number): ReadonlyArray<string> => rows[index - 1]?.keys ?? []

const store = (
  scene: Scene,
  rows: ReadonlyArray<JoinedMessage>,
  messages: ReadonlyArray<Message>,
  result: CompactionResult
): Effect.Effect<void, StorageError> => {
  const { context, gate } = scene
  const n = ++gate.count
  const kept = new Set(result.kept)
  const replaces = messages.flatMap((_, index) => kept.has(index) ? [] : keysAt(rows, index))
  const summary = result.summary_at === null ? undefined : result.messages[result.summary_at]
  const entries: Array<Entry> = []
  if (result.compacted_count > 0) {
    entries.push(entryOf(
      scene,
      `compaction:${context.run_id}:${n}`,
      summary ?? { role: "assistant", kind: "summary", content: placeholder, token_count: placeholderTokens },
      replaces
    ))
  }
  for (const index of result.replaced) {
    const message = messages[index]
    if (message !== undefined) {
      entries.push(
        entryOf(scene, `compacted:${context.run_id}:${n}:${index}`, emptied(message), keysAt(rows, index))
      )
    }
  }
  return entries.length === 0 ? Effect.void : record(scene, entries)
}

/** The summary call is an attempt like any other: its usage belongs to the session. */
const booked = ({ context, state }: Scene, { fallback, usage }: CompactionResult): Effect.Effect<void, StorageError> =>
  usage === null
    ? Effect.void
    : book(context, state, { purpose: "compaction", usage, error_code: fallback ? "no_summary" : null })

const tell = ({ context }: Scene, result: CompactionResult): Effect.Effect<void> =>
  context.emit([{
    type: "compaction",
    compacted_count: result.compacted_count,
    tokens_saved: result.tokens_saved,
    over_budget: result.over_budget,
    fallback: result.fallback
  }])

interface Choice {
  readonly reserve_recent: number
  readonly within_turn: boolean
}

/** How far this compaction goes; null = nothing that could be done changes anything. */
const choose = (
  { gate }: Scene,
  messages: ReadonlyArray<Message>,
  counts: ReadonlyArray<number>,
  max_tokens: number,
  emptiedBefore: boolean
): Choice | null => {
  const planOf = (choice: Choice) => Plan.make(messages, { ...choice, max_tokens, force: true, counts })
  const leaves = (plan: Plan.Plan): boolean =>
    !Plan.changesNothing(plan) && !Budget.exceeds(plan.tokens_kept + Math.max(0, plan.digest_limit), max_tokens)
  const { reserve_recent } = gate.compactor
  const usual = { reserve_recent, within_turn: false }
  if (leaves(planOf(usual))) return usual
  const within = { reserve_recent, within_turn: true }
  if (!emptiedBefore && leaves(planOf(within))) return within
  const last = { reserve_recent: 0, within_turn: true }
  return [last, within, usual].find((choice) => !Plan.changesNothing(planOf(choice))) ?? null
}

const shorten = (
  scene: Scene,
  rows: ReadonlyArray<JoinedMessage>,
  savings: Savings.Savings
): Effect.Effect<void, StorageError> =>
  Effect.gen(function*() {
    const n = ++scene.gate.count
    yield* record(
      scene,
      savings.shortened.map(({ index, message }) =>
        entryOf(scene, `shortened:${scene.context.run_id}:${n}:${index}`, message, keysAt(rows, index))
      )
    )
    yield* scene.context.emit([{
      type: "compaction",
      compacted_count: 0,
      tokens_saved: savings.tokens_saved,
      over_budget: false,
      fallback: false
    }])
  })

/** What a compaction has come to; null = there was nothing to compact. */
type Passed = CompactionResult | "shortened" | { readonly denied: string } | null

/** One compaction to a budget in estimates. Hooks are asked when it is known that there is something to do. */
const pass = (
  scene: Scene,
  max_tokens: number,
  options: { readonly trigger: "auto" | "manual"; readonly focus: string }
): Effect.Effect<Passed, StorageError> =>
  Effect.gen(function*() {
    const { context, gate, system } = scene
    const turn = turnOf(scene)
    const rows = yield* context.store.conversation(context.session_id)
    const messages = [system, ...rows.map(({ message }) => message)]
    const counts = messages.map(Budget.countOf)
    const possible = options.trigger === "auto" && turn.shortened < shortenLimit
      ? Savings.make(messages, counts, Math.floor(max_tokens * savedTo))
      : null
    const savings = possible !== null && possible.tokens_saved >= max_tokens * savedAtLeast ? possible : null
    const choice = savings === null ? choose(scene, messages, counts, max_tokens, turn.emptied) : null
    if (savings === null && choice === null) return null
    const answer = yield* context.hooks.compacting(options.trigger)
    if (!answer.allowed) return { denied: answer.reason }
    if (savings !== null || choice === null) {
      turn.shortened++
      if (savings !== null) yield* shorten(scene, rows, savings)
      return "shortened"
    }
    const focus = [options.focus, answer.context].filter((each) => each.trim() !== "").join("\n")
    const result = yield* gate.compactor.compact(messages, {
      ...choice,
      max_tokens,
      force: true,
      counts,
      send: context.send,
      ...(focus === "" ? {} : { focus })
    }).pipe(Effect.orDie)
    yield* booked(scene, result)
    yield* store(scene, rows, messages, result)
    if (result.replaced.length > 0) turn.emptied = true
    yield* tell(scene, result)
    return result
  })

const notice = ({ context }: Scene, code: string, message: string): Effect.Effect<void> =>
  context.emit([{ type: "notice", code, message }])

/** Counts a compaction that nobody asked for; too many, or too little gained, and there is no other in this turn. */
const observe = (scene: Scene, result: CompactionResult): Effect.Effect<void> =>
  Effect.suspend(() => {
    const turn = turnOf(scene)
    turn.passes++
    turn.poor = 10 * result.tokens_saved < scene.gate.max_tokens ? turn.poor + 1 : 0
    if (turn.poor < poorLimit && turn.passes < passLimit) return Effect.void
    turn.off = true
    return notice(
      scene,
      "compaction_off",
      turn.poor >= poorLimit
        ? `the last ${poorLimit} compactions saved little; until your next message there is none`
        : `the conversation was compacted ${passLimit} times for one message; until your next one it is not again`
    )
  })

/** Until the next message of the user there is none. */
const denied = (scene: Scene, reason: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    turnOf(scene).off = true
    return notice(scene, "compaction_denied", `a hook denied the compaction: ${reason}`)
  })

const tooMuch = (scene: Scene, tokens: number): RunOutcome =>
  failed(
    "context_too_long",
    `the conversation does not fit ${scene.gate.max_tokens} tokens (max_tokens), it has about ${tokens}: ${
      Savings.fillers([scene.system, ...scene.state.messages])
    }; begin a new session, or ask for less at once`,
    ExitCode.limit
  )

/**
 * Before a request: compacts when the conversation is over the trigger. An outcome where it cannot be made to fit; null
 * = go on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const automatic = (
  context: RunContext,
  state: RunState,
  gate: CompactionGate,
  system: Message
): Effect.Effect<RunOutcome | null, StorageError> =>
  Effect.gen(function*() {
    const scene: Scene = { context, state, gate, system }
    const weight = weigh(scene)
    if (!Budget.exceeds(weight.total, gate.max_tokens) || turnOf(scene).off) return null
    const result = yield* pass(scene, budgetOf(gate.max_tokens, weight), { trigger: "auto", focus: "" })
    if (result === "shortened") return null
    if (result === null) return weight.total > gate.max_tokens ? tooMuch(scene, weight.total) : null
    if ("denied" in result) {
      yield* denied(scene, result.denied)
      return null
    }
    yield* observe(scene, result)
    return result.over_budget ? tooMuch(scene, weigh(scene).total) : null
  })

/**
 * The provider says that the request is too long: true when it is worth another try. The window is smaller than was
 * believed, or the estimate too low, so the budget is what the conversation has, less a third.
 *
 * @since 0.1.0
 * @category combinators
 */
export const recover = (
  context: RunContext,
  state: RunState,
  gate: CompactionGate,
  system: Message
): Effect.Effect<boolean, StorageError> =>
  Effect.gen(function*() {
    const scene: Scene = { context, state, gate, system }
    if (turnOf(scene).off) return false
    const weight = weigh(scene)
    const budget = Math.min(budgetOf(gate.max_tokens, weight), Math.max(1, Math.floor(weight.estimated * 2 / 3)))
    const result = yield* pass(scene, budget, { trigger: "auto", focus: "" })
    if (result === null || result === "shortened") return result !== null
    if ("denied" in result) {
      yield* denied(scene, result.denied)
      return false
    }
    yield* observe(scene, result)
    return result.tokens_saved > 0
  })

/**
 * `/compact`: as far as there is something to compact, whatever the size.
 *
 * @since 0.1.0
 * @category combinators
 */
export const manual = (
  context: RunContext,
  state: RunState,
  gate: CompactionGate | null,
  options: { readonly system: Message; readonly focus: string }
): Effect.Effect<RunOutcome, StorageError> =>
  Effect.gen(function*() {
    const completed: RunOutcome = { _tag: "Completed", stop_reason: "end_turn" }
    if (gate === null) {
      yield* context.emit([{
        type: "notice",
        code: "nothing_compacted",
        message:
          `the window of ${context.model.name} is not known, and the settings name no max_tokens: nothing was compacted`
      }])
      return completed
    }
    const stopped = yield* Spending.check(context, state)
    if (stopped !== null) return stopped
    const scene: Scene = { context, state, gate, system: options.system }
    const result = yield* pass(scene, gate.max_tokens, { trigger: "manual", focus: options.focus })
    if (result !== null && result !== "shortened" && "denied" in result) {
      return failed("compaction_denied", `a hook denied the compaction: ${result.denied}`, ExitCode.failed)
    }
    if (result === null) yield* notice(scene, "nothing_compacted", "there is nothing to compact yet")
    return completed
  })
