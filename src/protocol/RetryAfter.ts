/**
 * How long a provider asks to wait where its headers do not say: data of the body, then the words of the message.
 *
 * @since 0.1.0
 */
import { asArray, asNumber, asObject, asText } from "./Json.ts"

const unit = (name: string | undefined): number => {
  const u = (name ?? "s").toLowerCase()
  if (u.startsWith("ms") || u.startsWith("milli")) return 1
  if (u.startsWith("h")) return 3_600_000
  if (u.startsWith("m")) return 60_000
  return 1_000
}

const amount = /(\d+(?:\.\d+)?)\s*(milliseconds?|ms|minutes?|min|m|hours?|hrs?|h|seconds?|secs?|s)?(?![a-z])/gi

/** A span in words or letters, for example `20s`, `1m30.5s`, `250 ms`, `3 seconds`; milliseconds. @since 0.1.0 @category decoding */
export const fromSpan = (span: string): number | undefined => {
  let total: number | undefined
  for (const match of span.matchAll(amount)) total = (total ?? 0) + Number(match[1]) * unit(match[2])
  return total === undefined ? undefined : Math.ceil(total)
}

const phrase =
  /(?:try(?:ing)?\s+again|retry(?:ing)?|wait)\s*(?:in|after|for|for\s+at\s+least)?[\s:]+((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|minutes?|min|m|hours?|hrs?|h|seconds?|secs?|s)(?![a-z])[\s,]*(?:and\s+)?)+)/i

/** The wait named in a message such as `Please try again in 1.2s`; milliseconds. @since 0.1.0 @category decoding */
export const fromMessage = (message: string): number | undefined => {
  const match = phrase.exec(message.slice(0, 8_192))
  return match?.[1] === undefined ? undefined : fromSpan(match[1])
}

/** Waits that some bodies carry as data: `retryDelay: "12s"` of google.rpc.RetryInfo, `retry_after` in seconds. */
const fromDetails = (error: Readonly<Record<string, unknown>>): number | undefined => {
  for (const detail of asArray(error["details"])) {
    const delay = asText(asObject(detail)?.["retryDelay"])
    const span = delay === undefined ? undefined : fromSpan(delay)
    if (span !== undefined) return span
  }
  const after = asNumber(error["retry_after"]) ?? asNumber(error["retry_after_seconds"])
  if (after !== undefined && after >= 0) return Math.ceil(after * 1_000)
  const millis = asNumber(error["retry_after_ms"])
  return millis !== undefined && millis >= 0 ? Math.ceil(millis) : undefined
}

/** Data of the error object, else its message. @since 0.1.0 @category decoding */
export const fromError = (error: Readonly<Record<string, unknown>>, message: string): number | undefined =>
  fromDetails(error) ?? fromMessage(message)
