/**
 * What a compaction does, decided before the model is asked: which messages stay, which become a summary, which results
 * become a placeholder, and how much room is left (readings 5.3 to 5.8). Pure; O(messages).
 *
 * @since 0.1.0
 */
import type { Message } from "../domain/Message.ts"
import { countOf, exceeds } from "./Budget.ts"
import { placeholderTokens } from "./Placeholder.ts"
import { callers, kept as keptOf, newestGroup } from "./Turns.ts"

/** @since 0.1.0 @category models */
export interface PlanOptions {
  /** Null and 0 = never. */
  readonly max_tokens: number | null
  /** Latest turns that stay; a whole number from 0. */
  readonly reserve_recent: number
  /** Older results inside the reserved turns become the placeholder, where those turns alone are too much. */
  readonly within_turn?: boolean
  /** Also below the trigger. */
  readonly force?: boolean
  /** Counts of the messages, where the caller knows them. */
  readonly counts?: ReadonlyArray<number>
}

/**
 * Indices are those of the input, ascending. `room` may be negative. `middle` is empty where nothing is summarised; then
 * `kept` holds everything.
 *
 * @since 0.1.0
 * @category models
 */
export interface Plan {
  readonly max_tokens: number
  readonly kept: ReadonlyArray<number>
  readonly middle: ReadonlyArray<number>
  readonly replaced: ReadonlyArray<number>
  readonly tokens_before: number
  /** Of what stays, with placeholders in place. */
  readonly tokens_kept: number
  readonly tokens_middle: number
  /** For the summary. */
  readonly room: number
  /** Tokens a digest may have, and what the model is asked for; under 4 = there is none. */
  readonly digest_limit: number
}

/** The last word on a compaction. @since 0.1.0 @category models */
export interface Figures {
  readonly summary_at: number | null
  readonly compacted_count: number
  readonly tokens_before: number
  readonly tokens_after: number
  readonly tokens_saved: number
  readonly over_budget: boolean
  readonly fallback: boolean
  readonly unchanged: boolean
}

const unchanged = (messages: ReadonlyArray<Message>, tokens: number, max_tokens: number): Plan => ({
  max_tokens,
  kept: messages.map((_, index) => index),
  middle: [],
  replaced: [],
  tokens_before: tokens,
  tokens_kept: tokens,
  tokens_middle: 0,
  room: 0,
  digest_limit: 0
})

/**
 * `max_tokens` and `reserve_recent` must be sound (`CompactionError` is the business of the service).
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (messages: ReadonlyArray<Message>, options: PlanOptions): Plan => {
  const counts = options.counts ?? messages.map(countOf)
  const sum = (indices: ReadonlyArray<number>): number => indices.reduce((all, index) => all + (counts[index] ?? 0), 0)
  let before = 0
  for (const count of counts) before += count
  const limit = options.max_tokens
  if (limit === null || limit === 0) return unchanged(messages, before, Number.POSITIVE_INFINITY)
  if (options.force !== true && !exceeds(before, limit)) return unchanged(messages, before, limit)

  const caller = callers(messages)
  const keep = keptOf(messages, caller, options.reserve_recent)
  const kept: Array<number> = []
  const middle: Array<number> = []
  for (let i = 0; i < messages.length; i++) (keep[i] === true ? kept : middle).push(i)
  const only = middle.length === 1 ? messages[middle[0] ?? 0] : undefined
  const alone = only?.kind === "summary"
  if (alone) {
    kept.push(...middle.splice(0))
    kept.sort((a, b) => a - b)
  }

  let tokens_kept = sum(kept)
  const replaced: Array<number> = []
  if (options.within_turn === true) {
    const newest = newestGroup(caller)
    for (const index of kept) {
      if (!exceeds(tokens_kept, limit)) break
      const call = caller[index] ?? -1
      const count = counts[index] ?? 0
      if (call < 0 || call === newest || count <= placeholderTokens) continue
      tokens_kept += placeholderTokens - count
      replaced.push(index)
    }
  }
  const tokens_middle = sum(middle)
  const room = Math.min(limit - tokens_kept, tokens_middle)
  return {
    max_tokens: limit,
    kept,
    middle,
    replaced,
    tokens_before: before,
    tokens_kept,
    tokens_middle,
    room: middle.length === 0 ? 0 : room,
    digest_limit: middle.length === 0 ? 0 : Math.min(room, Math.max(placeholderTokens, Math.floor(limit / 10)))
  }
}

/** Would the plan change nothing? @since 0.1.0 @category combinators */
export const changesNothing = (plan: Plan): boolean => plan.middle.length === 0 && plan.replaced.length === 0

/**
 * The figures once it is known what stands for the middle: the tokens of a summary or digest, null = nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const figures = (
  plan: Plan,
  standsFor: { readonly tokens: number | null; readonly fallback: boolean },
  hasSystem: boolean
): Figures => {
  const summarised = plan.middle.length > 0
  const tokens = summarised ? standsFor.tokens : null
  const after = plan.tokens_kept + (tokens ?? 0)
  return {
    summary_at: tokens === null ? null : hasSystem ? 1 : 0,
    compacted_count: plan.middle.length,
    tokens_before: plan.tokens_before,
    tokens_after: after,
    tokens_saved: Math.max(0, plan.tokens_before - after),
    over_budget: after > plan.max_tokens,
    fallback: summarised && standsFor.fallback,
    unchanged: changesNothing(plan)
  }
}
