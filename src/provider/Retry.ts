/**
 * What a failed request means for the loop: wait at least so long and try again, or give up (readings 16.4, 16.5).
 * Pure; the delay itself comes from Backoff, the waiting from the loop.
 *
 * @since 0.1.0
 */
import type { ApiError } from "../domain/Failure.ts"
import type { RetryPolicy } from "./Models.ts"

/**
 * `min_delay_ms` is the server's own wish, 0 without one. `reason` of Fatal is the text for the user.
 *
 * @since 0.1.0
 * @category models
 */
export type RetryDecision =
  | { readonly _tag: "Retry"; readonly min_delay_ms: number }
  | { readonly _tag: "Fatal"; readonly reason: string }

const spoken = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`
}

/**
 * A wait beyond `retry_after_cap_ms` is not sat out: the run fails at once and says how long the server asked for. How
 * often to retry at all is the caller's count.
 *
 * @since 0.1.0
 * @category combinators
 */
export const classify = (
  error: ApiError,
  policy: Pick<RetryPolicy, "retry_after_cap_ms">
): RetryDecision => {
  if (!error.retryable) return { _tag: "Fatal", reason: error.message }
  const wanted = error.retry_after_ms ?? 0
  if (wanted > policy.retry_after_cap_ms) {
    return {
      _tag: "Fatal",
      reason: `${error.message} (the server asks to wait ${spoken(wanted)}, the limit is ${
        spoken(policy.retry_after_cap_ms)
      }; try again later or raise retry_after_cap_ms of this provider)`
    }
  }
  return { _tag: "Retry", min_delay_ms: Math.max(0, wanted) }
}
