/**
 * Overflow-safe exponential retry with full jitter (HIP-301 section 16, readings 16.1 to 16.4).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"

/** Largest delay and the largest number every platform shares exactly (divergence D3). @since 0.1.0 @category constants */
export const maxSafe = Number.MAX_SAFE_INTEGER

const maxAttempt = 2 ** 32 - 1

/** `base_ms` or `max_ms` is negative, fractional or no number. @since 0.1.0 @category errors */
export class InvalidBackoff extends Error {
  readonly code = "invalid_backoff"
}

/** Milliseconds of `base_ms` or `max_ms`: integers from 0, decimal strings too, clamped to 2^53-1 (16.3). @since 0.1.0 @category decoding */
export const milliseconds = (value: unknown, name: string): number => {
  if (typeof value === "string" && /^[0-9]+$/.test(value)) {
    const exact = BigInt(value)
    return exact > BigInt(maxSafe) ? maxSafe : Number(exact)
  }
  if (typeof value === "number" && value >= 0 && (value > maxSafe ? Number.isFinite(value) : Number.isInteger(value))) {
    return Math.min(value, maxSafe)
  }
  throw new InvalidBackoff(
    `${name} must be a whole number of milliseconds from 0, got ${JSON.stringify(value) ?? String(value)}`
  )
}

/** `min(base_ms * 2^n, max_ms)`, saturating; n from 0 (16.1). @since 0.1.0 @category combinators */
export const ceiling = (base_ms: number, max_ms: number, n: number): number => {
  if (base_ms === 0 || max_ms === 0) return 0
  // Above 2^53 the product may be rounded, but then it is above every max_ms too.
  return n >= 53 ? max_ms : Math.min(base_ms * 2 ** n, max_ms)
}

/** Uniform over [0, ceiling_ms], both ends, for r in [0, 1) (16.2). @since 0.1.0 @category combinators */
export const delay = (ceiling_ms: number, r: number): number => Math.min(Math.floor(r * (ceiling_ms + 1)), ceiling_ms)

/**
 * HIP-301's stateful form. `random` gives numbers in [0, 1).
 *
 * @since 0.1.0
 * @category models
 */
export class Backoff {
  readonly base_ms: number
  readonly max_ms: number
  private readonly random: () => number
  private attempt = 0

  constructor(
    options: { readonly base_ms: number | string; readonly max_ms: number | string; readonly random: () => number }
  ) {
    this.base_ms = milliseconds(options.base_ms, "base_ms")
    this.max_ms = milliseconds(options.max_ms, "max_ms")
    this.random = options.random
  }

  /** Ceiling of the next delay, in milliseconds. */
  nextCeiling(): number {
    return ceiling(this.base_ms, this.max_ms, this.attempt)
  }

  /** The next delay in milliseconds; one attempt further. */
  nextDelay(): number {
    const value = delay(this.nextCeiling(), this.random())
    this.attempt = Math.min(this.attempt + 1, maxAttempt)
    return value
  }

  reset(): void {
    this.attempt = 0
  }
}

/** @since 0.1.0 @category models */
export interface BackoffPolicy {
  readonly base_ms: number
  readonly max_ms: number
  /** Recurrences in all; absent = without end. */
  readonly max_retries?: number
}

/**
 * The same as a Schedule: recurs after a jittered delay drawn from Random, at most `max_retries` times; its output is
 * the number of recurrences so far, from 0.
 *
 * @since 0.1.0
 * @category constructors
 */
export const schedule = (policy: BackoffPolicy): Schedule.Schedule<number> =>
  (policy.max_retries === undefined ? Schedule.forever : Schedule.recurs(policy.max_retries)).pipe(
    Schedule.addDelayEffect((n) =>
      Effect.map(Random.next, (r) => Duration.millis(delay(ceiling(policy.base_ms, policy.max_ms, n), r)))
    )
  )

/**
 * Steps the schedule by hand, so that a wait can be announced before it begins: each `next` gives the delay in
 * milliseconds, or null when the schedule is done. The waiting is the caller's.
 *
 * @since 0.1.0
 * @category constructors
 */
export const waits = (policy: BackoffPolicy): Effect.Effect<{ readonly next: Effect.Effect<number | null> }> =>
  Effect.sync(() => {
    const stepped = schedule(policy)
    let state: unknown = stepped.initial
    return {
      next: Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const [after, , decision] = yield* stepped.step(now, undefined, state)
        state = after
        if (ScheduleDecision.isDone(decision)) return null
        const [first] = decision.intervals.intervals
        return Math.max(0, (first?.startMillis ?? now) - now)
      })
    }
  })
