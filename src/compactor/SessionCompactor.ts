/**
 * HIP-301's SessionCompactor: the plan, the summary, the result.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ApiClientService } from "../domain/ApiClient.ts"
import type { Message } from "../domain/Message.ts"
import { text } from "../domain/MessageParts.ts"
import type { Usage } from "../domain/Usage.ts"
import { countOf, textTokens } from "./Budget.ts"
import { CompactionError } from "./CompactionError.ts"
import type { CompactionResult, CompactOptions } from "./Compactor.ts"
import * as Digest from "./Digest.ts"
import * as Facts from "./Facts.ts"
import { placeholder, placeholderTokens } from "./Placeholder.ts"
import * as Plan from "./Plan.ts"
import * as Summarise from "./Summarise.ts"

/** A result whose text is gone. @since 0.1.0 @category constructors */
export const emptied = (message: Message): Message => ({
  ...message,
  content: placeholder,
  token_count: placeholderTokens
})

const sound = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/** The summary of words and facts, its count written on it; null where it is longer than the room. */
const summaryOf = (words: string, facts: ReturnType<typeof Facts.parts>, room: number): Message | null => {
  const made: Message = { role: "assistant", kind: "summary", content: [text(words), ...facts] }
  const token_count = countOf(made)
  return token_count > room ? null : { ...made, token_count }
}

/** @since 0.1.0 @category combinators */
export class SessionCompactor {
  readonly max_tokens: number | null
  readonly reserve_recent: number
  readonly #api: ApiClientService | null

  /** Without an `api` every compaction falls back to a digest. */
  constructor(max_tokens: number | null, reserve_recent = 3, api: ApiClientService | null = null) {
    this.max_tokens = max_tokens
    this.reserve_recent = reserve_recent
    this.#api = api
  }

  /** See `CompactorService.compact`. */
  compact(
    messages: ReadonlyArray<Message>,
    options: CompactOptions = {}
  ): Effect.Effect<CompactionResult, CompactionError> {
    const max_tokens = options.max_tokens === undefined ? this.max_tokens : options.max_tokens
    const reserve_recent = options.reserve_recent ?? this.reserve_recent
    const wrong = max_tokens !== null && !sound(max_tokens)
      ? `max_tokens is ${max_tokens}`
      : sound(reserve_recent)
      ? null
      : `reserve_recent is ${reserve_recent}`
    if (wrong !== null) {
      return new CompactionError({ reason: "invalid_input", message: `${wrong}; it must be a whole number, 0 or more` })
    }
    return Effect.suspend(() => {
      const plan = Plan.make(messages, {
        max_tokens,
        reserve_recent,
        ...(options.within_turn === undefined ? {} : { within_turn: options.within_turn }),
        ...(options.force === undefined ? {} : { force: options.force }),
        ...(options.counts === undefined ? {} : { counts: options.counts })
      })
      if (plan.middle.length === 0) return Effect.succeed(resultOf(messages, plan, null, false, null))
      return Effect.map(this.#summary(messages, plan, options), ({ summary, usage }) => {
        const stands = summary ?? Digest.make(messages, plan.middle, plan.digest_limit)
        return resultOf(messages, plan, stands, summary === null, usage)
      })
    })
  }

  #summary(
    messages: ReadonlyArray<Message>,
    plan: Plan.Plan,
    options: CompactOptions
  ): Effect.Effect<{ readonly summary: Message | null; readonly usage: Usage | null }> {
    const api = this.#api
    const room = plan.room - placeholderTokens
    if (api === null || room <= 0) return Effect.succeed({ summary: null, usage: null })
    const limit = Math.max(0, plan.digest_limit - placeholderTokens)
    const facts = Facts.parts(Facts.collect(messages, plan.middle), Facts.share(limit))
    const spent = facts.reduce((all, part) => all + textTokens(part.text), 0)
    const compacted = plan.middle.flatMap((index) => {
      const message = messages[index]
      return message === undefined ? [] : [message]
    })
    const request = Summarise.request(compacted, {
      tokens: limit - spent,
      most: Math.floor(plan.max_tokens * 0.7),
      focus: options.focus
    })
    return Effect.map(
      Summarise.write(api, request, { most: room - spent, send: options.send ?? {} }),
      ({ usage, words }) => ({ usage, summary: words === null ? null : summaryOf(words, facts, plan.room) })
    )
  }
}

const resultOf = (
  messages: ReadonlyArray<Message>,
  plan: Plan.Plan,
  summary: Message | null,
  fallback: boolean,
  usage: Usage | null
): CompactionResult => {
  const figures = Plan.figures(
    plan,
    { tokens: summary === null ? null : countOf(summary), fallback },
    messages[0]?.role === "system"
  )
  const replaced = new Set(plan.replaced)
  const out = plan.kept.flatMap((index) => {
    const message = messages[index]
    return message === undefined ? [] : [replaced.has(index) ? emptied(message) : message]
  })
  if (summary !== null && figures.summary_at !== null) out.splice(figures.summary_at, 0, summary)
  return {
    messages: figures.unchanged ? messages : out,
    ...figures,
    kept: plan.kept,
    replaced: plan.replaced,
    usage
  }
}
