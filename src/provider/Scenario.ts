/**
 * Scenarios: what the scripted model says to which request. Plain data and functions; whoever plays them is
 * ScriptedModel. In TypeScript anything may be a function of the conversation; the file form is ScenarioDocument.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { sha256Hex } from "../codec/Sha256.ts"
import { ApiError, type ApiErrorReason } from "../domain/Failure.ts"
import type { StopReason, StreamEvent, ToolUse } from "../domain/StreamEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Usage } from "../domain/Usage.ts"
import type { Conversation } from "./Conversation.ts"
import type { Condition, Expectation } from "./ScenarioConditions.ts"
import { differences, holds } from "./ScenarioTests.ts"

/** A value, or a function of the conversation that gives it; what it throws fails the request with its message. @since 0.1.0 @category models */
export type Computed<A> = A | ((conversation: Conversation) => A)

/** `arguments` as text is sent as it stands, also when it is no JSON. @since 0.1.0 @category models */
export interface CallInput {
  /** Absent: `call_<request>_<n>`, never one that is in the history. */
  readonly id?: Computed<string> | undefined
  readonly name: Computed<string>
  readonly arguments?: Computed<JsonObject | string> | undefined
}

/**
 * One thing the model streams. A text given as an array is streamed in those pieces; `chunk` cuts it into pieces of so
 * many code points; else it is one delta. `gate` holds the stream until its effect is done, `events` are sent as they are.
 *
 * @since 0.1.0
 * @category models
 */
export type Piece =
  | {
    readonly text: Computed<string | ReadonlyArray<string>>
    readonly chunk?: number | undefined
    readonly refusal?: boolean | undefined
  }
  | { readonly reasoning: Computed<string | ReadonlyArray<string>>; readonly chunk?: number | undefined }
  | { readonly call: CallInput }
  | { readonly delay_ms: number }
  | { readonly gate: Effect.Effect<void> }
  | { readonly events: ReadonlyArray<StreamEvent> }

/**
 * What goes wrong. `api_error` fails the stream before anything is said; the others come after `after` deltas (default:
 * half of what the turn would say): the provider's error event, an end without a terminal, silence for ever.
 *
 * @since 0.1.0
 * @category models
 */
export type FaultInput =
  | {
    readonly kind: "api_error"
    readonly reason: ApiErrorReason
    readonly message?: string | undefined
    readonly retryable?: boolean | undefined
    readonly status?: number | undefined
    readonly code?: string | undefined
    readonly retry_after_ms?: number | undefined
  }
  | {
    readonly kind: "error_event"
    readonly reason?: ApiErrorReason | undefined
    readonly message?: string | undefined
    readonly retryable?: boolean | undefined
    readonly retry_after_ms?: number | undefined
    readonly after?: number | undefined
  }
  | { readonly kind: "truncated"; readonly after?: number | undefined }
  | { readonly kind: "hang"; readonly after?: number | undefined }

/**
 * One answer. `reasoning`, `text` and `calls` are said in that order; `content` says other orders. `stop` and `usage`
 * are worked out when absent (`usage: null` reports none).
 *
 * @since 0.1.0
 * @category models
 */
export interface TurnInput {
  readonly when?: Condition | ((conversation: Conversation) => boolean) | undefined
  /** A function gives the differences in words; none = as expected. */
  readonly expect?: Expectation | ((conversation: Conversation) => ReadonlyArray<string>) | undefined
  readonly reasoning?: Computed<string | ReadonlyArray<string>> | undefined
  readonly text?: Computed<string | ReadonlyArray<string>> | undefined
  readonly calls?: ReadonlyArray<CallInput> | undefined
  readonly content?: ReadonlyArray<Piece> | undefined
  /** Code points a delta, for pieces without their own. */
  readonly chunk?: number | undefined
  /** Before the first event. */
  readonly delay_ms?: number | undefined
  /** Between two events. */
  readonly delta_delay_ms?: number | undefined
  readonly usage?: { readonly [K in keyof Usage]?: Usage[K] | undefined } | null | undefined
  readonly stop?: StopReason | undefined
  readonly stop_sequence?: string | undefined
  readonly fault?: FaultInput | undefined
  /** How many requests it answers; default 1, with `first_match` without end. */
  readonly repeat?: number | "forever" | undefined
}

/** @since 0.1.0 @category models */
export interface ScenarioInput {
  readonly name?: string | undefined
  /**
   * `in_order` (default): turns answer one after the other; one whose `when` does not hold is passed over for good.
   * `first_match`: each request is answered by the first turn whose `when` holds.
   */
  readonly order?: "in_order" | "first_match" | undefined
  readonly turns: ReadonlyArray<TurnInput>
}

/** @since 0.1.0 @category models */
export interface Scenario {
  readonly name: string
  readonly order: "in_order" | "first_match"
  readonly turns: ReadonlyArray<TurnInput>
}

/** @since 0.1.0 @category constructors */
export const make = (input: ScenarioInput): Scenario => ({
  name: input.name ?? "scenario",
  order: input.order ?? "in_order",
  turns: input.turns
})

/** Where a session is in a scenario. @since 0.1.0 @category models */
export interface Cursor {
  /** First turn that may still answer (`in_order`). */
  readonly index: number
  /** Answers given by each turn. */
  readonly used: ReadonlyArray<number>
}

/** @since 0.1.0 @category constructors */
export const start: Cursor = { index: 0, used: [] }

/** Why a request was not answered. @since 0.1.0 @category models */
export interface ScenarioFailure {
  readonly code: "scenario_exhausted" | "scenario_mismatch" | "scenario_expression"
  readonly message: string
}

const attempt = <A>(place: string, run: () => A): Either.Either<A, ScenarioFailure> => {
  try {
    return Either.right(run())
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    return Either.left({ code: "scenario_expression", message: `${place}: ${message}` })
  }
}

/**
 * The turn that answers a request, and the cursor after it. Fails when no turn is left or a condition throws.
 *
 * @since 0.1.0
 * @category combinators
 */
export const select = (
  scenario: Scenario,
  cursor: Cursor,
  conversation: Conversation
): Either.Either<{ readonly index: number; readonly turn: TurnInput; readonly cursor: Cursor }, ScenarioFailure> => {
  const ordered = scenario.order === "in_order"
  for (let index = ordered ? cursor.index : 0; index < scenario.turns.length; index++) {
    const turn = scenario.turns[index]
    if (turn === undefined) break
    const limit = turn.repeat === "forever" ? Infinity : turn.repeat ?? (ordered ? 1 : Infinity)
    const used = cursor.used[index] ?? 0
    if (used >= limit) continue
    const { when } = turn
    const matches = attempt(
      `turns[${index}].when`,
      () => when === undefined || (typeof when === "function" ? when(conversation) : holds(when, conversation))
    )
    if (Either.isLeft(matches)) return Either.left(matches.left)
    if (!matches.right) continue
    return Either.right({
      index,
      turn,
      cursor: {
        index,
        used: Array.from({ length: scenario.turns.length }, (_, i) => (cursor.used[i] ?? 0) + (i === index ? 1 : 0))
      }
    })
  }
  const turns = scenario.turns.length
  return Either.left({
    code: "scenario_exhausted",
    message:
      `request ${conversation.request} came, but none of the ${turns} turn${turns === 1 ? "" : "s"} is left for it ` +
      `(last user text ${JSON.stringify(conversation.prompt.slice(0, 80))}${
        conversation.last_result === null
          ? ""
          : `, last tool result ${JSON.stringify(conversation.last_result.text.slice(0, 80))}`
      }); add a turn, or give one "repeat": "forever"`
  })
}

/** What the player does next. @since 0.1.0 @category models */
export type Step =
  | { readonly _tag: "Emit"; readonly event: StreamEvent }
  | { readonly _tag: "Sleep"; readonly millis: number }
  | { readonly _tag: "Gate"; readonly effect: Effect.Effect<void> }
  | { readonly _tag: "Hang" }
  | { readonly _tag: "Fail"; readonly error: ApiError }

const transient: ReadonlySet<ApiErrorReason> = new Set<ApiErrorReason>([
  "rate_limited",
  "overloaded",
  "server",
  "network",
  "timeout",
  "stalled",
  "dropped",
  "truncated",
  "stream_error"
])

const pieces = (value: string | ReadonlyArray<string>, chunk: number | undefined): ReadonlyArray<string> => {
  if (typeof value !== "string") return value
  if (chunk === undefined || value === "") return value === "" ? [] : [value]
  const points = Array.from(value)
  const size = Math.max(1, Math.floor(chunk))
  return Array.from(
    { length: Math.ceil(points.length / size) },
    (_, i) => points.slice(i * size, (i + 1) * size).join("")
  )
}

const valueIn = <A>(computed: Computed<A>, conversation: Conversation): A =>
  typeof computed === "function" ? (computed as (conversation: Conversation) => A)(conversation) : computed

/** The event of a whole call, judged as a provider's adapter does (reading 2.2). @since 0.1.0 @category constructors */
export const toolUse = (id: string, name: string, text: string): ToolUse => {
  if (text.trim() === "") return { type: "tool_use", id, name, input: {}, arguments: text }
  try {
    const input = JSON.parse(text) as unknown
    if (typeof input === "object" && input !== null && !Array.isArray(input)) {
      return { type: "tool_use", id, name, input: input as JsonObject, arguments: text }
    }
    return { type: "tool_use", id, name, input: {}, arguments: text, input_error: "the arguments are no JSON object" }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return { type: "tool_use", id, name, input: {}, arguments: text, input_error: `the arguments are no JSON: ${why}` }
  }
}

/**
 * `call_<request>_<n>`: repeatable, and free in the history. After a compaction the history no longer tells which ids
 * were given, so a digest of it is put in.
 */
const callIds = (conversation: Conversation): () => string => {
  const taken = new Set(conversation.calls.map((call) => call.id))
  const compacted = conversation.messages.some((message) => message.kind === "summary")
  const mark = compacted ? `${sha256Hex(JSON.stringify(conversation.messages)).slice(0, 8)}_` : ""
  let request = conversation.request
  let n = 0
  return () => {
    for (;;) {
      const id = `call_${mark}${request}_${++n}`
      if (!taken.has(id)) return id
      request++
      n = 0
    }
  }
}

/** What the turn says of its usage; the rest is four characters a token. */
const usageOf = (given: NonNullable<TurnInput["usage"]>, conversation: Conversation, said: number): Usage => ({
  input_tokens: given.input_tokens ??
    Math.ceil((JSON.stringify(conversation.messages).length + JSON.stringify(conversation.tools).length) / 4),
  output_tokens: given.output_tokens ?? Math.max(1, Math.ceil(said / 4)),
  cache_read_tokens: given.cache_read_tokens ?? 0,
  cache_write_tokens: given.cache_write_tokens ?? 0,
  ...(given.reasoning_tokens === undefined ? {} : { reasoning_tokens: given.reasoning_tokens })
})

const origin = "scripted:scripted"

/**
 * Everything one answer does, in order: at most one terminal, at the end. Fails when the request is not the expected
 * one, or an expression finds nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const plan = (
  scenario: Scenario,
  index: number,
  turn: TurnInput,
  conversation: Conversation
): Either.Either<ReadonlyArray<Step>, ScenarioFailure> => {
  const place = `turns[${index}]`
  const { expect } = turn
  if (expect !== undefined) {
    const found = attempt(
      `${place}.expect`,
      () => typeof expect === "function" ? expect(conversation) : differences(expect, conversation)
    )
    if (Either.isLeft(found)) return Either.left(found.left)
    if (found.right.length > 0) {
      return Either.left({
        code: "scenario_mismatch",
        message: `request ${conversation.request} is not what ${place} expects:\n${
          found.right.map((line) => `  - ${line}`).join("\n")
        }`
      })
    }
  }
  return Either.flatMap(
    attempt(place, () => said(turn, conversation)),
    (content) => Either.right(withFault(scenario, turn, conversation, content))
  )
}

interface Said {
  readonly steps: ReadonlyArray<Step>
  readonly stop: StopReason
  readonly length: number
}

const said = (turn: TurnInput, conversation: Conversation): Said => {
  const nextId = callIds(conversation)
  const steps: Array<Step> = []
  let called = false
  let refused = false
  let length = 0
  const emit = (event: StreamEvent) => {
    if (turn.delta_delay_ms !== undefined && steps.some((step) => step._tag === "Emit")) {
      steps.push({ _tag: "Sleep", millis: turn.delta_delay_ms })
    }
    steps.push({ _tag: "Emit", event })
  }
  const content: ReadonlyArray<Piece> = [
    ...(turn.reasoning === undefined ? [] : [{ reasoning: turn.reasoning }]),
    ...(turn.text === undefined ? [] : [{ text: turn.text }]),
    ...(turn.calls ?? []).map((call) => ({ call })),
    ...(turn.content ?? [])
  ]
  if (turn.delay_ms !== undefined) steps.push({ _tag: "Sleep", millis: turn.delay_ms })
  for (const piece of content) {
    if ("text" in piece) {
      for (const text of pieces(valueIn(piece.text, conversation), piece.chunk ?? turn.chunk)) {
        emit({ type: "content_delta", text, ...(piece.refusal === true ? { refusal: true } : {}) })
        length += text.length
      }
      refused = refused || piece.refusal === true
    } else if ("reasoning" in piece) {
      let whole = ""
      for (const text of pieces(valueIn(piece.reasoning, conversation), piece.chunk ?? turn.chunk)) {
        emit({ type: "reasoning_delta", text })
        whole += text
      }
      length += whole.length
      emit({
        type: "reasoning_delta",
        text: "",
        replay: { origin, signature: `scripted_${sha256Hex(whole).slice(0, 16)}` }
      })
    } else if ("call" in piece) {
      const { call } = piece
      const value = valueIn(call.arguments ?? {}, conversation)
      const text = typeof value === "string" ? value : JSON.stringify(value)
      const id = call.id === undefined ? nextId() : valueIn(call.id, conversation)
      emit(toolUse(id, valueIn(call.name, conversation), text))
      called = true
      length += text.length
    } else if ("delay_ms" in piece) {
      steps.push({ _tag: "Sleep", millis: piece.delay_ms })
    } else if ("gate" in piece) {
      steps.push({ _tag: "Gate", effect: piece.gate })
    } else {
      for (const event of piece.events) emit(event)
    }
  }
  return { steps, stop: turn.stop ?? (called ? "tool_use" : refused ? "refusal" : "end_turn"), length }
}

const withFault = (
  scenario: Scenario,
  turn: TurnInput,
  conversation: Conversation,
  content: Said
): ReadonlyArray<Step> => {
  const { fault } = turn
  if (fault === undefined) {
    const usage = turn.usage === null
      ? []
      : [{
        _tag: "Emit" as const,
        event: { type: "usage" as const, usage: usageOf(turn.usage ?? {}, conversation, content.length) }
      }]
    const stop: StreamEvent = {
      type: "message_stop",
      stop_reason: content.stop,
      ...(turn.stop_sequence === undefined ? {} : { stop_sequence: turn.stop_sequence }),
      response_id: `resp_scripted_${conversation.request}`,
      model: scenario.name
    }
    return [...content.steps, ...usage, { _tag: "Emit", event: stop }]
  }
  if (fault.kind === "api_error") {
    return [
      ...content.steps.slice(0, 1).filter((step) => step._tag === "Sleep"),
      {
        _tag: "Fail",
        error: new ApiError({
          reason: fault.reason,
          message: fault.message ?? `scripted failure: ${fault.reason}`,
          retryable: fault.retryable ?? transient.has(fault.reason),
          provider: "scripted",
          status: fault.status,
          code: fault.code,
          retry_after_ms: fault.retry_after_ms
        })
      }
    ]
  }
  const total = content.steps.filter((step) => step._tag === "Emit").length
  const after = Math.min(fault.after ?? Math.floor(total / 2), total)
  let emitted = 0
  const head: Array<Step> = []
  for (const step of content.steps) {
    if (step._tag === "Emit" && emitted++ >= after) break
    head.push(step)
  }
  if (fault.kind === "hang") return [...head, { _tag: "Hang" }]
  const reason = fault.kind === "truncated" ? "truncated" : fault.reason ?? "stream_error"
  const event: StreamEvent = {
    type: "error",
    code: reason,
    message: fault.kind === "truncated"
      ? "the stream ended without a terminal event"
      : fault.message ?? `scripted failure in mid-stream: ${reason}`,
    retryable: fault.kind === "truncated" ? true : fault.retryable ?? transient.has(reason),
    ...(fault.kind === "error_event" && fault.retry_after_ms !== undefined
      ? { retry_after_ms: fault.retry_after_ms }
      : {})
  }
  return [...head, { _tag: "Emit", event }]
}
