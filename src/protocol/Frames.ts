/**
 * What the three stream decoders share: one frame at a time, the sentinels, and how a body may end.
 *
 * @since 0.1.0
 */
import type { SseFrame } from "../codec/Sse.ts"
import { ApiErrorReason } from "../domain/Failure.ts"
import type { ResponseEvent } from "../domain/ResponseEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import { complaintOf, errorWithin, ownError, responseError } from "./Errors.ts"
import { sanitise } from "./ErrorText.ts"
import type { EventBuilder } from "./EventBuilder.ts"
import { isBlank, isObject, parse } from "./Json.ts"
import type { StreamDecoder } from "./Protocol.ts"

/**
 * One protocol's part of a stream decoder. `event` takes a frame's JSON object; `settled` says that the upstream has
 * named its finish; `conclude` gives the success terminal after that, and does nothing before it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reader {
  readonly builder: EventBuilder
  readonly event: (data: JsonObject, frame: SseFrame) => void
  /** `[DONE]`. */
  readonly sentinel: () => void
  readonly settled: () => boolean
  readonly conclude: () => void
}

const reasons: ReadonlySet<string> = new Set(ApiErrorReason.literals)
const isReason = (reason: string): reason is ApiErrorReason => reasons.has(reason)

const none: ReadonlyArray<ResponseEvent> = []

/** Frames that say nothing: keep-alives under several names. */
const isPing = (event: string | null): boolean => event === "ping" || event === "keepalive" || event === "heartbeat"

const excerpt = (data: string): string => data.length > 200 ? `${data.slice(0, 200)}…` : data

/** @since 0.1.0 @category decoding */
export const makeDecoder = (reader: Reader): StreamDecoder => {
  const { builder } = reader
  const push = (frame: SseFrame): ReadonlyArray<ResponseEvent> => {
    if (builder.terminal) return none
    if (isPing(frame.event)) return none
    const data = frame.data
    const value = parse(data)
    if (isObject(value)) {
      if (isPing(value["type"] as string)) return none
      reader.event(value, frame)
    } else if (data.trim() === "[DONE]") {
      reader.sentinel()
    } else if (isBlank(data)) {
      return none
    } else if (frame.event === "error") {
      builder.fail(responseError({ message: typeof value === "string" ? value : data }))
    } else if (Array.isArray(value) && errorWithin(value) !== undefined) {
      builder.fail(responseError(errorWithin(value) ?? { message: "" }))
    } else if (value === undefined && frame.unterminated !== true) {
      builder.fail(ownError("invalid_response", `the stream holds a frame that is not JSON: ${excerpt(data)}`))
    } else if (value !== undefined) {
      builder.opaque(frame.event, data)
    }
    // a frame that the end of the body cut off is no protocol error: end() reports the cut
    return builder.take()
  }
  const end = (failure?: { readonly reason: string; readonly message: string }): ReadonlyArray<ResponseEvent> => {
    if (builder.terminal) return none
    if (reader.settled()) reader.conclude()
    else if (failure === undefined) {
      builder.fail(ownError("truncated", "upstream stream ended early: the body ended without a terminal event"))
    } else {
      builder.fail(ownError(isReason(failure.reason) ? failure.reason : "stream_error", failure.message))
    }
    return builder.take()
  }
  return { push, end, done: () => builder.terminal, settled: () => builder.terminal || reader.settled() }
}

/**
 * A whole answer. `read` takes the body's object, feeds the builder and gives it a terminal; whatever is left open, or
 * is no answer at all, fails as `invalid_response`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeWhole = (
  body: unknown,
  builder: EventBuilder,
  read: (body: JsonObject) => void
): ReadonlyArray<ResponseEvent> => {
  const value = typeof body === "string" ? parse(body) : body
  const error = errorWithin(value)
  if (error !== undefined) builder.fail(responseError(error))
  else if (isObject(value)) read(value)
  if (!builder.terminal) {
    const said = complaintOf(value)
    const words = typeof body === "string" ? sanitise(excerpt(body)) : said?.message ?? ""
    builder.fail(
      ownError(
        "invalid_response",
        words === "" ? "the answer is empty or not of this protocol" : `the answer is not of this protocol: ${words}`
      )
    )
  }
  return builder.take()
}
