/**
 * The domain `compaction`: a conversation and a budget in, what stays and the figures out (readings 5 and 18.6).
 *
 * @since 0.1.0
 */
import { countOf } from "../compactor/Budget.ts"
import * as Digest from "../compactor/Digest.ts"
import * as Plan from "../compactor/Plan.ts"
import type { Message, Role, ToolCall } from "../domain/Message.ts"
import { type Domain, type Fields, fields, isFields, Refusal } from "./Domain.ts"

const invalid = (message: string): Refusal => new Refusal("invalid_input", message)

const roles: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"])
const isRole = (value: unknown): value is Role => roles.has(value)

const flagOf = (value: unknown, where: string): boolean => {
  if (value === undefined) return false
  if (typeof value !== "boolean") throw invalid(`${where} must be true or false`)
  return value
}

const wholeOf = (value: unknown, where: string): number => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(`${where} must be a whole number, 0 or more`)
  }
  return value
}

const callOf = (value: unknown, where: string): ToolCall => {
  const id = isFields(value) ? value["id"] : value
  if (typeof id !== "string") throw invalid(`${where} must be an id, or an object with one`)
  return { id, name: "", arguments: "" }
}

const messageOf = (value: unknown, where: string): Message => {
  if (!isFields(value)) throw invalid(`${where} must be an object`)
  const { content, kind, role, token_count, tool_call_id, tool_calls } = value
  if (!isRole(role)) throw invalid(`${where}.role is none of system, user, assistant, tool`)
  if (typeof content !== "string") throw invalid(`${where}.content must be a text`)
  if (kind !== undefined && kind !== "summary") throw invalid(`${where}.kind must be "summary"`)
  if (tool_call_id !== undefined && typeof tool_call_id !== "string") {
    throw invalid(`${where}.tool_call_id must be a text`)
  }
  if (tool_calls !== undefined && !Array.isArray(tool_calls)) throw invalid(`${where}.tool_calls must be an array`)
  return {
    role,
    content,
    ...(typeof token_count === "number" ? { token_count } : {}),
    ...(tool_calls === undefined
      ? {}
      : { tool_calls: tool_calls.map((call, i) => callOf(call, `${where}.tool_calls.${i}`)) }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
    ...(kind === undefined ? {} : { kind })
  }
}

/** Tokens of the summary that the case gives; null = it fails. */
const summaryOf = (value: unknown): number | null => {
  if (value === undefined) return null
  if (!isFields(value)) throw invalid("input.summary must be an object")
  const given: Fields = value
  if (given["fails"] === true && given["token_count"] === undefined) return null
  if (given["fails"] !== undefined) throw invalid("input.summary has either token_count or fails: true")
  return wholeOf(given["token_count"], "input.summary.token_count")
}

/** @since 0.1.0 @category constructors */
export const compaction: Domain = (value) => {
  const input = fields(value, "input")
  const { max_tokens, messages: given } = input
  if (!Array.isArray(given)) throw invalid("input.messages must be an array")
  const messages = given.map((message, i) => messageOf(message, `input.messages.${i}`))
  const plan = Plan.make(messages, {
    max_tokens: max_tokens === null ? null : wholeOf(max_tokens, "input.max_tokens"),
    reserve_recent: input["reserve_recent"] === undefined
      ? 3
      : wholeOf(input["reserve_recent"], "input.reserve_recent"),
    within_turn: flagOf(input["within_turn"], "input.within_turn"),
    force: flagOf(input["force"], "input.force")
  })
  const summary = summaryOf(input["summary"])
  const fits = summary !== null && plan.room >= 4 && summary <= plan.room
  const digest = fits || plan.middle.length === 0 ? null : Digest.make(messages, plan.middle, plan.digest_limit)
  const { compacted_count, fallback, over_budget, summary_at, tokens_after, tokens_before, tokens_saved, unchanged } =
    Plan.figures(
      plan,
      { tokens: fits ? summary : digest === null ? null : countOf(digest), fallback: !fits },
      messages[0]?.role === "system"
    )
  return {
    output: {
      kept: plan.kept,
      summary_at,
      compacted_count,
      tokens_before,
      tokens_after,
      tokens_saved,
      replaced: plan.replaced,
      over_budget,
      fallback,
      unchanged
    }
  }
}
