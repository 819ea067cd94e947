/**
 * What a response costs, from its usage and the price of the model; pure.
 *
 * @since 0.1.0
 */
import type { Price } from "../config/Schema.ts"
import type { Usage } from "../domain/Usage.ts"

/** To the billionth of a dollar, so that sums have no digits of their own. @since 0.1.0 @category combinators */
export const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9

type Rates = Omit<Price, "tiers">

/** The rates of a prompt of this length: those of the highest tier that it passes, else the plain ones. */
const ratesFor = (price: Price, prompt: number): Rates => {
  let found: Rates & { readonly above: number } | undefined
  for (const tier of price.tiers ?? []) {
    if (prompt > tier.above && (found === undefined || tier.above > found.above)) found = tier
  }
  return found ?? price
}

/**
 * US dollars of one response; null when the model has no price. Reasoning is a part of the output and counted once; a
 * kind of tokens without a rate of its own costs what the kind it belongs to does.
 *
 * @since 0.1.0
 * @category combinators
 */
export const costOf = (usage: Usage, price: Price | null): number | null => {
  if (price === null) return null
  const { cache_read_tokens, cache_write_tokens, input_tokens, output_tokens } = usage
  const rates = ratesFor(price, input_tokens + cache_read_tokens + cache_write_tokens)
  const reasoning = Math.min(usage.reasoning_tokens ?? 0, output_tokens)
  return rounded(
    (input_tokens * rates.input +
      cache_read_tokens * (rates.cache_read ?? rates.input) +
      cache_write_tokens * (rates.cache_write ?? rates.input) +
      (output_tokens - reasoning) * rates.output +
      reasoning * (rates.reasoning ?? rates.output)) / 1_000_000
  )
}
