/**
 * Errors that reach a caller or the wire, and the exit codes of the program (reading 0).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "./TaggedError.ts"

/**
 * Why a model request failed.
 *
 * | reason | meaning | retried |
 * | --- | --- | --- |
 * | `bad_request` | 400, 422 and the like: the request itself is wrong | no |
 * | `context_too_long` | the prompt does not fit the model's window | no (the loop compacts) |
 * | `auth` | 401, 403: key missing, wrong or without the right | no |
 * | `not_found` | 404: model or address unknown | no |
 * | `too_large` | 413 | no |
 * | `quota` | out of credit; waiting does not help | no |
 * | `rate_limited` | 429 | yes |
 * | `overloaded` | 503 with that meaning, 529 | yes |
 * | `server` | other 5xx, 408, 409 | yes |
 * | `network` | no connection: refused, reset before an answer, DNS, TLS | yes |
 * | `timeout` | connect or response-header limit reached | yes |
 * | `stalled` | idle limit reached in mid-stream | yes |
 * | `dropped` | connection lost in mid-stream | yes |
 * | `truncated` | clean end of the body without a terminal event | yes |
 * | `stream_error` | the provider's own error event in the stream | by its inner code |
 * | `refused` | the provider's safety system declined the request | no |
 * | `invalid_response` | what came is not the protocol (HTML, empty body, oversize frame) | no |
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApiErrorReason = Schema.Literal(
  "bad_request",
  "context_too_long",
  "auth",
  "not_found",
  "too_large",
  "quota",
  "rate_limited",
  "overloaded",
  "server",
  "network",
  "timeout",
  "stalled",
  "dropped",
  "truncated",
  "stream_error",
  "refused",
  "invalid_response"
)
/** @since 0.1.0 @category models */
export type ApiErrorReason = typeof ApiErrorReason.Type

/**
 * A failed model request. `message` is the provider's own words, redacted and capped; `code` its own code when it gave
 * one; `retry_after_ms` what it asked for; `request_id` its id for support. Never holds a key.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApiError extends TaggedError("@hanzo/dev/domain/ApiError")("ApiError", () => ({
  reason: ApiErrorReason,
  message: Schema.String,
  retryable: Schema.Boolean,
  provider: Schema.optional(Schema.String),
  status: Schema.optional(Schema.Number),
  code: Schema.optional(Schema.String),
  retry_after_ms: Schema.optional(Schema.Number),
  request_id: Schema.optional(Schema.String)
})) {}

/** @since 0.1.0 @category models */
export interface RunError {
  /** snake_case and stable, for example `max_turns`, `rate_limited`, `storage`. */
  readonly code: string
  readonly message: string
  readonly status?: number | undefined
  readonly request_id?: string | undefined
  readonly retry_after_ms?: number | undefined
}

/**
 * What keeps a run from starting or from being recorded; everything later is a terminal event of the run.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentError extends TaggedError("@hanzo/dev/domain/AgentError")("AgentError", () => ({
  reason: Schema.Literal("session_not_found", "session_busy", "storage", "model", "invalid_input"),
  message: Schema.String,
  cause: Schema.optional(Schema.Defect)
})) {}

/** Exit codes of the command line (reading 0). @since 0.1.0 @category constants */
export const ExitCode = {
  done: 0,
  failed: 1,
  usage: 2,
  no_prompter: 3,
  limit: 4,
  provider: 5,
  interrupted: 130,
  terminated: 143
} as const
/** @since 0.1.0 @category models */
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]
