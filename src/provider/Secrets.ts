/**
 * Known secrets out of words that a provider wrote (G2): whatever a server repeats of a key never reaches an error.
 * Masking by shape is the protocol's; this takes what was really sent.
 *
 * @since 0.1.0
 */

import { without } from "../codec/SecretForms.ts"
import { ApiError } from "../domain/Failure.ts"
import type { ResponseEvent } from "../domain/ResponseEvent.ts"
import { isAuthHeader } from "./Providers.ts"

/** @since 0.1.0 @category models */
export type Scrub = (text: string) => string

const shortest = 6

/**
 * Replaces each secret, however it is spelled (`codec/SecretForms`). Secrets of fewer than six
 * characters are words of a test, not keys; replacing them would garble the text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeScrub = (secrets: ReadonlyArray<string>): Scrub => {
  let clean: Scrub | undefined
  return (text) => {
    clean ??= without(secrets.filter((secret) => secret.length >= shortest))
    return clean(text)
  }
}

/**
 * What of a request is secret: the identity headers, and every header and query parameter whose name sounds like one. `Bearer` and `Basic` are no part of it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const secretsOf = (headers: Readonly<Record<string, string>>, query: string): ReadonlyArray<string> =>
  [...Object.entries(headers), ...new URLSearchParams(query)].flatMap(([name, value]) =>
    isAuthHeader(name) || /key|token|secret|auth|password|cookie|sig/i.test(name)
      ? [value, value.replace(/^(?:bearer|basic|token)\s+/i, "")]
      : []
  )

/** An error with some of its fields replaced. @since 0.1.0 @category combinators */
export const amend = (
  error: ApiError,
  fields: {
    readonly provider?: string
    readonly status?: number
    readonly reason?: ApiError["reason"]
    readonly message?: string
  }
): ApiError => {
  const status = fields.status ?? error.status
  const provider = fields.provider ?? error.provider
  return new ApiError({
    reason: fields.reason ?? error.reason,
    message: fields.message ?? error.message,
    retryable: error.retryable,
    ...(provider === undefined ? {} : { provider }),
    ...(status === undefined ? {} : { status }),
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.retry_after_ms === undefined ? {} : { retry_after_ms: error.retry_after_ms }),
    ...(error.request_id === undefined ? {} : { request_id: error.request_id })
  })
}

/** @since 0.1.0 @category combinators */
export const scrubError = (scrub: Scrub, error: ApiError): ApiError =>
  new ApiError({
    reason: error.reason,
    message: scrub(error.message),
    retryable: error.retryable,
    ...(error.provider === undefined ? {} : { provider: error.provider }),
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.code === undefined ? {} : { code: scrub(error.code) }),
    ...(error.retry_after_ms === undefined ? {} : { retry_after_ms: error.retry_after_ms }),
    ...(error.request_id === undefined ? {} : { request_id: scrub(error.request_id) })
  })

/** Only the failure of a response holds a provider's words about the request. @since 0.1.0 @category combinators */
export const scrubEvent = (scrub: Scrub, event: ResponseEvent): ResponseEvent => {
  if (event.type !== "response.failed" || event.response.error === null) return event
  const { error } = event.response
  return {
    ...event,
    response: {
      ...event.response,
      error: {
        ...error,
        message: scrub(error.message),
        code: scrub(error.code),
        ...(error.request_id === undefined ? {} : { request_id: scrub(error.request_id) })
      }
    }
  }
}
