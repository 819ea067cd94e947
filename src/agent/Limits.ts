/**
 * What stops a run that would go on for ever or cost too much; pure.
 *
 * @since 0.1.0
 */
import type { Price } from "../config/Schema.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { Usage } from "../domain/Usage.ts"
import type { TurnCall } from "./TurnMachine.ts"

/** To the billionth of a dollar, so that sums have no digits of their own. @since 0.1.0 @category combinators */
export const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9

/** US dollars of one response; null when the model has no price. @since 0.1.0 @category combinators */
export const costOf = (usage: Usage, price: Price | null): number | null =>
  price === null
    ? null
    : rounded(
      (usage.input_tokens * price.input +
        usage.output_tokens * price.output +
        usage.cache_read_tokens * (price.cache_read ?? price.input) +
        usage.cache_write_tokens * (price.cache_write ?? price.input)) / 1_000_000
    )

/** How often the same call gave the same result, running (reading 2.8). @since 0.1.0 @category models */
export interface Repetition {
  readonly signature: string
  readonly count: number
}

/** @since 0.1.0 @category constants */
export const noRepetition: Repetition = { signature: "", count: 0 }

/** The third identical call with the identical result is where the loop asks. @since 0.1.0 @category constants */
export const repetitionLimit = 3

/** @since 0.1.0 @category combinators */
export const observe = (
  state: Repetition,
  settled: ReadonlyArray<{ readonly call: TurnCall; readonly result: ToolResult }>
): Repetition => {
  let { count, signature } = state
  for (const { call, result } of settled) {
    const next = JSON.stringify([call.name, call.arguments, result.is_error, result.output, result.error])
    count = next === signature ? count + 1 : 1
    signature = next
  }
  return { signature, count }
}
