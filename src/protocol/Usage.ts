/**
 * Token counts of the three families in the canonical form, where `input_tokens` includes what came from or went to a
 * prompt cache (protocols, section 6).
 *
 * @since 0.1.0
 */
import type { ResponseUsage } from "../domain/ResponseEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import { asNumber, asObject } from "./Json.ts"

/** A count: an integer from 0; anything else is as good as absent. */
const count = (value: unknown): number | undefined => {
  const n = asNumber(value)
  return n === undefined || n < 0 ? undefined : Math.trunc(n)
}

const canonical = (parts: {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written: number | undefined
  readonly reasoning: number
}): ResponseUsage => ({
  input_tokens: parts.input,
  output_tokens: parts.output,
  total_tokens: parts.input + parts.output,
  input_tokens_details: {
    cached_tokens: parts.cached,
    ...(parts.written === undefined ? {} : { cache_write_tokens: parts.written })
  },
  output_tokens_details: { reasoning_tokens: parts.reasoning }
})

/** Counts of an Anthropic Messages stream so far: cumulative, never a sum. @since 0.1.0 @category models */
export interface AnthropicCounts {
  readonly input?: number
  readonly output?: number
  readonly read?: number
  readonly written?: number
  readonly reasoning?: number
}

/** Later values overwrite; what is absent or null does not reset. @since 0.1.0 @category decoding */
export const mergeAnthropic = (before: AnthropicCounts, usage: unknown): AnthropicCounts => {
  const o = asObject(usage)
  if (o === undefined) return before
  const pick = <K extends keyof AnthropicCounts>(key: K, value: unknown): { readonly [P in K]?: number } => {
    const n = count(value) ?? before[key]
    return (n === undefined ? {} : { [key]: n }) as { readonly [P in K]?: number }
  }
  return {
    ...pick("input", o["input_tokens"]),
    ...pick("output", o["output_tokens"]),
    ...pick("read", o["cache_read_input_tokens"]),
    ...pick("written", o["cache_creation_input_tokens"]),
    ...pick("reasoning", asObject(o["output_tokens_details"])?.["thinking_tokens"])
  }
}

/** `null` when nothing was reported. @since 0.1.0 @category decoding */
export const fromAnthropic = (counts: AnthropicCounts): ResponseUsage | null => {
  const { input, output, read, reasoning, written } = counts
  if (input === undefined && output === undefined && read === undefined && written === undefined) return null
  return canonical({
    input: (input ?? 0) + (read ?? 0) + (written ?? 0),
    output: output ?? 0,
    cached: read ?? 0,
    written,
    reasoning: reasoning ?? 0
  })
}

/** When more was cached than asked, the upstream has left the cached tokens out already. */
const inclusive = (prompt: number, cached: number, written: number): number =>
  cached + written > prompt ? prompt + cached + written : prompt

/** Chat Completions, with the cache fields of DeepSeek and of compatible servers. @since 0.1.0 @category decoding */
export const fromChat = (usage: unknown): ResponseUsage | null => {
  const o = asObject(usage)
  if (o === undefined) return null
  const prompt = count(o["prompt_tokens"])
  const completion = count(o["completion_tokens"])
  const total = count(o["total_tokens"])
  if (prompt === undefined && completion === undefined && total === undefined) return null
  const details: JsonObject = asObject(o["prompt_tokens_details"]) ?? {}
  const cached = count(details["cached_tokens"]) ?? count(o["prompt_cache_hit_tokens"]) ??
    count(o["cache_read_input_tokens"]) ?? count(o["cached_tokens"]) ?? 0
  const written = count(details["cache_write_tokens"]) ?? count(details["cache_creation_tokens"]) ??
    count(o["cache_creation_input_tokens"])
  const asked = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0))
  return canonical({
    input: inclusive(asked, cached, written ?? 0),
    output: completion ?? Math.max(0, (total ?? 0) - asked),
    cached,
    written,
    reasoning: count(asObject(o["completion_tokens_details"])?.["reasoning_tokens"]) ?? count(o["reasoning_tokens"]) ??
      0
  })
}

/** Responses. @since 0.1.0 @category decoding */
export const fromResponses = (usage: unknown): ResponseUsage | null => {
  const o = asObject(usage)
  if (o === undefined) return null
  const input = count(o["input_tokens"])
  const output = count(o["output_tokens"])
  if (input === undefined && output === undefined) return null
  const details: JsonObject = asObject(o["input_tokens_details"]) ?? {}
  const cached = count(details["cached_tokens"]) ?? 0
  const written = count(details["cache_write_tokens"])
  return canonical({
    input: inclusive(input ?? 0, cached, written ?? 0),
    output: output ?? 0,
    cached,
    written,
    reasoning: count(asObject(o["output_tokens_details"])?.["reasoning_tokens"]) ?? 0
  })
}
