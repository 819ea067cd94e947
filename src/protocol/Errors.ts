/**
 * Failures in one form, whoever reports them: a status with a body, an error event in a stream, a failed response.
 * What the three families share stands here; each protocol names its own fields (protocols, section 7).
 *
 * @since 0.1.0
 */
import { ApiError, type ApiErrorReason } from "../domain/Failure.ts"
import type { ResponseError } from "../domain/ResponseEvent.ts"
import { retryAfter } from "../domain/RetryAfter.ts"
import type { JsonObject } from "../domain/Json.ts"
import { isMarkup, sanitise } from "./ErrorText.ts"
import { asArray, asNumber, asObject, asText, isBlank, isObject, parse } from "./Json.ts"
import type { ErrorAnswer } from "./Protocol.ts"
import * as RetryAfter from "./RetryAfter.ts"

/**
 * What a provider said, before it is judged. `code` and `type` are its own words.
 *
 * @since 0.1.0
 * @category models
 */
export interface Complaint {
  readonly message: string
  readonly code?: string | undefined
  readonly type?: string | undefined
  /** A status named inside the body (some gateways wrap errors into a 200). */
  readonly status?: number | undefined
  readonly request_id?: string | undefined
  readonly retry_after_ms?: number | undefined
}

/** @since 0.1.0 @category models */
export interface Judgement {
  readonly reason: ApiErrorReason
  readonly retryable: boolean
}

const overflow = [
  /prompt is too long/i,
  /exceeds? (?:the )?(?:model(?:'s)? )?(?:maximum |available )?context/i,
  /exceeds? the context (?:window|length|limit)/i,
  /context[ _](?:window|length|size|limit)[^.]{0,40}(?:exceed|overflow|too (?:small|long)|limit)/i,
  /exceed(?:s|ed)?[^.]{0,60}context (?:window|length|size|limit)/i,
  /maximum context length/i,
  /maximum prompt length/i,
  /larger than the context/i,
  /greater than the context length/i,
  /input (?:token count|tokens?|length)\b[^.]{0,60}exceeds?/i,
  /prompt token count[^.]{0,40}exceeds?/i,
  /input is too long/i,
  /too large for model with \d+ maximum/i,
  /exceeded model token limit/i,
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  /prompt (?:contains|has) [\d,]+ tokens/i
]

const overflowCode =
  /^(?:context_length_exceeded|context_window_exceeded|model_context_window_exceeded|exceed_context_size_error|string_above_max_length_context|request_too_large_for_context|prompt_too_long|context_too_long|max_prompt_tokens_exceeded|model_max_prompt_tokens_exceeded)$/i

const quotaCode =
  /^(?:insufficient_quota|billing_error|billing_hard_limit_reached|billing_not_active|usage_not_included|usage_limit_reached|usage_limit_exceeded|insufficient_balance|insufficient_credits|payment_required|credit_balance_too_low|exceeded_current_quota_error|quota_exceeded)$/i

const quotaWords =
  /credit balance is too low|insufficient (?:balance|credit|quota|fund)|out of credits?|requires more credits|billing (?:hard )?limit|exceeded your current quota|payment required|no (?:remaining )?credits|arrears|usage limit (?:has been )?reached/i

/** Codes and types that say it all, whatever the status. */
const byCode: ReadonlyMap<string, ApiErrorReason> = new Map(Object.entries<ApiErrorReason>({
  overloaded_error: "overloaded",
  overloaded: "overloaded",
  server_is_overloaded: "overloaded",
  slow_down: "overloaded",
  engine_overloaded: "overloaded",
  engine_overloaded_error: "overloaded",
  model_overloaded: "overloaded",
  service_unavailable: "overloaded",
  unavailable: "overloaded",
  insufficient_system_resource: "overloaded",
  rate_limit_error: "rate_limited",
  rate_limit_exceeded: "rate_limited",
  rate_limit_reached_error: "rate_limited",
  rate_limited: "rate_limited",
  rate_limit: "rate_limited",
  too_many_requests: "rate_limited",
  resource_exhausted: "rate_limited",
  tokens: "rate_limited",
  requests: "rate_limited",
  api_error: "server",
  server_error: "server",
  internal_error: "server",
  internal_server_error: "server",
  internal: "server",
  timeout_error: "server",
  timeout: "server",
  bad_gateway: "server",
  upstream_error: "server",
  vector_store_timeout: "server",
  authentication_error: "auth",
  invalid_api_key: "auth",
  invalid_authentication_error: "auth",
  permission_error: "auth",
  permission_denied: "auth",
  permission_denied_error: "auth",
  unauthenticated: "auth",
  unauthorized: "auth",
  account_deactivated: "auth",
  upstream_auth: "auth",
  not_found_error: "not_found",
  not_found: "not_found",
  model_not_found: "not_found",
  request_too_large: "too_large",
  invalid_request_error: "bad_request",
  invalid_argument: "bad_request",
  invalid_prompt: "bad_request",
  invalid_image: "bad_request",
  invalid_value: "bad_request",
  unsupported_parameter: "bad_request",
  unsupported_value: "bad_request",
  unprocessable_entity: "bad_request",
  bad_request: "bad_request",
  badrequesterror: "bad_request",
  content_policy_violation: "refused",
  content_filter: "refused",
  image_content_policy_violation: "refused",
  bio_policy: "refused",
  cyber_policy: "refused",
  policy_violation: "refused",
  moderation: "refused"
}))

const overloadWords =
  /\boverloaded\b|over capacity|at capacity|temporarily unavailable|server is busy|model is (?:loading|busy)/i

const byStatus = (status: number, words: string): ApiErrorReason => {
  switch (status) {
    case 401:
    case 403:
      return "auth"
    case 402:
      return "quota"
    case 404:
      return "not_found"
    case 408:
    case 409:
      return "server"
    case 413:
      return "too_large"
    case 429:
      return "rate_limited"
    case 529:
      return "overloaded"
    case 503:
      return overloadWords.test(words) ? "overloaded" : "server"
  }
  if (status >= 500) return "server"
  if (status >= 400) return "bad_request"
  return "invalid_response"
}

const waits: ReadonlySet<ApiErrorReason> = new Set<ApiErrorReason>([
  "rate_limited",
  "overloaded",
  "server",
  "network",
  "timeout",
  "stalled",
  "dropped",
  "truncated"
])

/** Does waiting help (the table of ApiErrorReason)? @since 0.1.0 @category combinators */
export const retryableReason = (reason: ApiErrorReason): boolean => waits.has(reason)

const lower = (text: string | undefined): string => (text ?? "").toLowerCase()

/** A code is more exact where the status is general; it does not turn a refusal of the request into one to repeat. */
const refine = (plain: ApiErrorReason, known: ApiErrorReason | undefined): ApiErrorReason => {
  if (known === undefined) return plain
  switch (plain) {
    case "bad_request":
      return known === "server" ? plain : known
    case "server":
      return known === "overloaded" || known === "rate_limited" ? known : plain
    case "rate_limited":
      return known === "overloaded" ? known : plain
    default:
      return plain
  }
}

/**
 * Reason and whether a retry may help. `status` is the answer's own, or the one named in the body; absent in a stream,
 * where an inner code that is not known means `stream_error`, which is retried.
 *
 * @since 0.1.0
 * @category combinators
 */
export const judge = (complaint: Complaint, status: number | undefined): Judgement => {
  const { code, type } = complaint
  const message = complaint.message.slice(0, 8_192)
  const final = (reason: ApiErrorReason): Judgement => ({ reason, retryable: retryableReason(reason) })
  if (overflowCode.test(code ?? "") || overflowCode.test(type ?? "")) return final("context_too_long")
  const known = byCode.get(lower(code)) ?? byCode.get(lower(type))
  const limited = status === 429 || known === "rate_limited"
  if (quotaCode.test(code ?? "") || quotaCode.test(type ?? "")) return final("quota")
  // "exceeded your current quota" with a wait is a limit by the minute
  if (quotaWords.test(message) && (known !== "server") && (status === undefined || status < 500)) {
    return final(limited && complaint.retry_after_ms !== undefined ? "rate_limited" : "quota")
  }
  const own = status !== undefined && status >= 400 ? status : complaint.status
  if (!limited && (own === undefined || own < 500 || known === "bad_request")) {
    if (overflow.some((pattern) => pattern.test(message))) return final("context_too_long")
  }
  if (own !== undefined && own >= 400) {
    return final(refine(byStatus(own, `${code ?? ""} ${type ?? ""} ${message}`), known))
  }
  if (known !== undefined) return final(known)
  // a 2xx or 3xx that holds nothing of the protocol
  if (status !== undefined) return final("invalid_response")
  if (overloadWords.test(message)) return final("overloaded")
  if (/rate limit|too many requests/i.test(message)) return final("rate_limited")
  return { reason: "stream_error", retryable: true }
}

const words = (value: unknown): string | undefined => {
  const text = asText(value)
  if (text !== undefined) return text
  // FastAPI: [{loc, msg, type}]
  const list = asArray(value).flatMap((entry) => {
    const o = asObject(entry)
    const msg = asText(o?.["msg"]) ?? asText(o?.["message"]) ?? asText(entry)
    const loc = asArray(o?.["loc"]).join(".")
    return msg === undefined ? [] : [loc === "" ? msg : `${loc}: ${msg}`]
  })
  return list.length === 0 ? undefined : list.join("; ")
}

const sentence = (body: JsonObject): string | undefined =>
  words(body["message"]) ?? words(body["detail"]) ?? asText(body["msg"]) ?? asText(body["error_message"])

/** The object that holds message and code. */
const errorObject = (body: JsonObject): JsonObject | undefined => {
  const error = body["error"]
  if (isObject(error)) return error
  const plain = asText(error) ?? words(body["errors"])
  if (plain !== undefined) return { ...body, message: asText(body["message"]) ?? plain }
  return sentence(body) !== undefined || body["type"] === "error" ? body : undefined
}

const statusIn = (value: unknown): number | undefined => {
  const n = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : asNumber(value)
  return n !== undefined && n >= 400 && n < 600 ? n : undefined
}

/**
 * Reads any of the error objects in use: `{type: "error", error: {type, message}, request_id}`,
 * `{error: {message, type, param, code}}`, `{error: "words"}`, `{message}`, `{detail}`, a list of one of these.
 * `undefined` when the value is no error.
 *
 * @since 0.1.0
 * @category decoding
 */
export const complaintOf = (value: unknown): Complaint | undefined => {
  const body = asObject(Array.isArray(value) ? value[0] : value)
  const said = body === undefined ? undefined : errorObject(body)
  if (body === undefined || said === undefined) return undefined
  const base = sentence(said) ?? ""
  const raw = asText(asObject(said["metadata"])?.["raw"])
  const message = raw === undefined || base.includes(raw) ? base : base === "" ? raw : `${base}: ${raw}`
  const code = asText(said["code"])
  const type = asText(said["type"]) ?? asText(said["status"])
  return {
    message,
    code: code !== undefined && /^\d+$/.test(code) ? undefined : code,
    type: type === "error" ? undefined : type,
    status: statusIn(said["code"]) ?? statusIn(said["status"]) ?? statusIn(said["status_code"]) ??
      statusIn(body["status"]) ?? statusIn(body["status_code"]),
    request_id: asText(body["request_id"]) ?? asText(said["request_id"]) ?? asText(body["requestId"]),
    retry_after_ms: RetryAfter.fromError(said, message)
  }
}

/**
 * The error of a frame or a whole body that came with a 2xx: only what calls itself one counts.
 *
 * @since 0.1.0
 * @category decoding
 */
export const errorWithin = (value: unknown): Complaint | undefined => {
  const body = asObject(Array.isArray(value) ? value[0] : value)
  if (body === undefined) return undefined
  const error = body["error"]
  return body["type"] === "error" || isObject(error) || asText(error) !== undefined ? complaintOf(body) : undefined
}

/** Headers in which providers give the id of a request, in the order of preference. */
const idHeaders = ["request-id", "x-request-id", "x-amzn-requestid", "apim-request-id", "x-ms-request-id", "cf-ray"]

const requestId = (headers: Readonly<Record<string, string>>): string | undefined => {
  for (const name of idHeaders) {
    const value = headers[name]
    if (value !== undefined && value !== "") return value.slice(0, 200)
  }
  return undefined
}

const codeOf = (complaint: Complaint): string | undefined => {
  const code = complaint.code ?? complaint.type
  return code === undefined ? undefined : sanitise(code).slice(0, 100)
}

const bodyText = (status: number, body: string): string => {
  if (isBlank(body)) return `HTTP ${status} without a body`
  const text = sanitise(body)
  return isMarkup(body) ? `HTTP ${status}: ${text === "" ? "a page without words" : text}` : text
}

/**
 * An HTTP answer that is not 2xx (or a 2xx that holds an error) as the typed error. `x-should-retry` wins over status
 * and code; the message is masked and capped.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeError = (answer: ErrorAnswer): ApiError => {
  const complaint = complaintOf(parse(answer.body)) ?? { message: "" }
  const asked = retryAfter(answer.headers, answer.now) ?? complaint.retry_after_ms ??
    RetryAfter.fromMessage(answer.body.slice(0, 4_096))
  const { reason, retryable } = judge(
    { ...complaint, message: complaint.message === "" ? answer.body : complaint.message, retry_after_ms: asked },
    // an error object inside a 2xx is judged by its inner code alone
    answer.status < 400 && complaint.message !== "" ? undefined : answer.status
  )
  const told = answer.headers["x-should-retry"]?.trim().toLowerCase()
  const message = complaint.message === "" ? bodyText(answer.status, answer.body) : sanitise(complaint.message)
  const code = codeOf(complaint)
  const id = requestId(answer.headers) ?? complaint.request_id
  return new ApiError({
    reason,
    message: message === "" ? `HTTP ${answer.status}` : message,
    retryable: told === "true" ? true : told === "false" ? false : retryable,
    status: answer.status,
    ...(code === undefined ? {} : { code }),
    ...(asked === undefined ? {} : { retry_after_ms: asked }),
    ...(id === undefined ? {} : { request_id: id })
  })
}

/** An error inside a stream or a whole answer, as it stands in a failed response. @since 0.1.0 @category decoding */
export const responseError = (complaint: Complaint, status?: number): ResponseError => {
  const { reason, retryable } = judge(complaint, status)
  const message = sanitise(complaint.message)
  const at = status ?? complaint.status
  return {
    reason,
    code: codeOf(complaint) ?? reason,
    message: message === "" ? `the provider reported ${codeOf(complaint) ?? "an error"} without a message` : message,
    retryable,
    ...(at === undefined ? {} : { status: at }),
    ...(complaint.retry_after_ms === undefined ? {} : { retry_after_ms: complaint.retry_after_ms }),
    ...(complaint.request_id === undefined ? {} : { request_id: complaint.request_id })
  }
}

/** A failure that we saw ourselves (the end of the body, bytes that are not the protocol). @since 0.1.0 @category constructors */
export const ownError = (
  reason: ApiErrorReason,
  message: string,
  retryable = retryableReason(reason)
): ResponseError => ({
  reason,
  code: reason,
  message: sanitise(message),
  retryable
})
