/**
 * Exponential retry with full jitter that cannot overflow (HIP-301 section 16, readings 16.1 to 16.4): pure numbers,
 * HIP-301's stateful class, and an Effect Schedule over both.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleInterval from "effect/ScheduleInterval"
import * as Schema from "effect/Schema"
import { TaggedError } from "./TaggedError.ts"

/** 2^53-1: the largest delay in milliseconds, and the largest number every platform shares exactly (D3). @since 0.1.0 @category constants */
export const maxSafe = Number.MAX_SAFE_INTEGER

const maxAttempt = 2 ** 32 - 1

/** The longest wait a timer takes as one number, in milliseconds (G7). */
const longestTimer = 2 ** 31 - 1

/**
 * `key` (`base_ms` or `max_ms`) is negative, fractional or no number (16.3).
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidBackoff extends TaggedError("@hanzo/dev/domain/InvalidBackoff")(
  "InvalidBackoff",
  () => ({ reason: Schema.Literal("invalid_backoff"), key: Schema.String, message: Schema.String })
) {}

/**
 * Milliseconds of `base_ms` or `max_ms`: an integer from 0, as a number or a string of decimal digits; above 2^53-1 it
 * is that (16.3). Throws {@link InvalidBackoff}.
 *
 * @since 0.1.0
 * @category decoding
 */
export const milliseconds = (value: unknown, key: string): number => {
  const number = typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : value
  // Infinity is what is left of a number such as 1e400.
  if (typeof number === "number" && number >= 0 && (Number.isInteger(number) || number > maxSafe)) {
    return Math.min(number + 0, maxSafe)
  }
  const shown = typeof value === "bigint" ? `${value}n` : JSON.stringify(value) ?? String(value)
  throw new InvalidBackoff({
    reason: "invalid_backoff",
    key,
    message: `${key} must be a whole number of milliseconds from 0 (digits as a string are fine too), not ${shown}`
  })
}

/**
 * `min(base_ms * 2^n, max_ms)`, saturating, in milliseconds; `n` from 0 (16.1). Both are integers in [0, 2^53-1].
 *
 * @since 0.1.0
 * @category combinators
 */
export const ceiling = (base_ms: number, max_ms: number, n: number): number => {
  if (base_ms === 0) return 0
  // A product with a power of two is exact, and from 2^53 on it is above every max_ms.
  return n >= 53 ? max_ms : Math.min(base_ms * 2 ** n, max_ms)
}

/** Uniform over [0, ceiling_ms], both ends, for r in [0, 1) (16.2). @since 0.1.0 @category combinators */
export const delay = (ceiling_ms: number, r: number): number => Math.min(Math.floor(r * (ceiling_ms + 1)), ceiling_ms)

/**
 * HIP-301's stateful form. `random` gives numbers in [0, 1). Throws {@link InvalidBackoff}.
 *
 * @example
 * const backoff = new Backoff({ base_ms: 500, max_ms: 8000, random })
 * backoff.nextDelay() // 0 to 500
 * backoff.nextDelay() // 0 to 1000
 * backoff.reset()
 *
 * @since 0.1.0
 * @category models
 */
export class Backoff {
  readonly base_ms: number
  readonly max_ms: number
  private readonly random: () => number
  private attempts = 0

  constructor(
    options: { readonly base_ms: number | string; readonly max_ms: number | string; readonly random: () => number }
  ) {
    this.base_ms = milliseconds(options.base_ms, "base_ms")
    this.max_ms = milliseconds(options.max_ms, "max_ms")
    this.random = options.random
  }

  /** Delays given since the start or the last `reset`; stays at 2^32-1. */
  get attempt(): number {
    return this.attempts
  }

  /** Upper end of the next delay, in milliseconds. */
  nextCeiling(): number {
    return ceiling(this.base_ms, this.max_ms, this.attempts)
  }

  /** The next delay in milliseconds; one attempt further. */
  nextDelay(): number {
    const value = delay(this.nextCeiling(), this.random())
    this.attempts = Math.min(this.attempts + 1, maxAttempt)
    return value
  }

  reset(): void {
    this.attempts = 0
  }
}

/** @since 0.1.0 @category models */
export interface BackoffPolicy {
  readonly base_ms: number
  readonly max_ms: number
  /** Recurrences in all; absent = without end. */
  readonly max_retries?: number
}

/** Attempt `n` as a delay in milliseconds, or null when the policy allows no more. Draws one number. */
const draw = (policy: BackoffPolicy, n: number): Effect.Effect<number | null> =>
  policy.max_retries !== undefined && n >= policy.max_retries
    ? Effect.succeed(null)
    : Effect.map(Random.next, (r) => delay(ceiling(policy.base_ms, policy.max_ms, n), r))

/**
 * Waits, also longer than a timer can: in pieces (G7). Ends on interruption.
 *
 * @since 0.1.0
 * @category combinators
 */
export const sleep = (ms: number): Effect.Effect<void> =>
  ms <= longestTimer
    ? Effect.sleep(ms)
    : Effect.zipRight(Effect.sleep(longestTimer), Effect.suspend(() => sleep(ms - longestTimer)))

/**
 * The same as a Schedule: recurs after a jittered delay drawn from Random, at most `max_retries` times; its output is
 * the number of recurrences before this one, from 0. A delay beyond what a timer takes is waited for in pieces.
 *
 * @since 0.1.0
 * @category constructors
 */
export const schedule = (policy: BackoffPolicy): Schedule.Schedule<number> =>
  Schedule.makeWithState(0, (now, _input: unknown, n) =>
    Effect.flatMap(draw(policy, n), (ms) => {
      if (ms === null) return Effect.succeed([n, n, ScheduleDecision.done] as const)
      const last = ms <= longestTimer ? ms : ms % longestTimer
      const decision = ScheduleDecision.continueWith(ScheduleInterval.after(now + last))
      return Effect.as(
        ms === last ? Effect.void : sleep(ms - last),
        [Math.min(n + 1, maxAttempt), n, decision] as const
      )
    }))

/**
 * The delays of {@link schedule} without the waiting, so that a wait can be announced before it begins: each `next`
 * gives milliseconds, or null when there are no more retries. Wait with {@link sleep}.
 *
 * @since 0.1.0
 * @category constructors
 */
export const waits = (policy: BackoffPolicy): Effect.Effect<{ readonly next: Effect.Effect<number | null> }> =>
  Effect.sync(() => {
    let n = 0
    return {
      next: Effect.tap(Effect.suspend(() => draw(policy, n)), () => {
        n = Math.min(n + 1, maxAttempt)
      })
    }
  })
