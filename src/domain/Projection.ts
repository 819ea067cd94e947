/**
 * Canonical events as the agent's own (HIP-301 section 2): text, reasoning with what its replay needs, whole tool
 * calls, usage, and exactly one end.
 *
 * @since 0.1.0
 */
import type { ReasoningReplay } from "./Message.ts"
import type { OutputItem, ReasoningItem, Response, ResponseEvent, ResponseUsage } from "./ResponseEvent.ts"
import type { StopReason, StreamEvent, ToolUse } from "./StreamEvent.ts"
import type { JsonObject } from "./Json.ts"
import type { Usage } from "./Usage.ts"

/**
 * The agent's counts: `input_tokens` without what was read from or written to a cache.
 *
 * @since 0.1.0
 * @category combinators
 */
export const toUsage = (usage: ResponseUsage): Usage => {
  const read = usage.input_tokens_details.cached_tokens
  const written = usage.input_tokens_details.cache_write_tokens ?? 0
  const reasoning = usage.output_tokens_details.reasoning_tokens
  return {
    input_tokens: Math.max(0, usage.input_tokens - read - written),
    output_tokens: usage.output_tokens,
    cache_read_tokens: read,
    cache_write_tokens: written,
    ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {})
  }
}

/** What a replay of a reasoning item to `origin` needs, byte for byte. @since 0.1.0 @category combinators */
export const replayOf = (item: ReasoningItem, origin: string): ReasoningReplay => {
  const { encrypted_content, field, redacted_data, signature } = item
  // an id means something to the Responses protocol, and to a signature that belongs to a call
  const named = field === undefined ? signature === undefined && redacted_data === undefined : signature !== undefined
  const summarised = field === undefined && signature === undefined && redacted_data === undefined &&
    (item.content ?? []).length === 0
  return {
    origin,
    ...(named ? { id: item.id } : {}),
    ...(signature === undefined ? {} : { signature }),
    ...(typeof encrypted_content === "string" ? { encrypted_content } : {}),
    ...(redacted_data === undefined ? {} : { redacted_data }),
    ...(summarised ? { summary: true } : {}),
    ...(field === undefined ? {} : { field })
  }
}

const describe = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`

/**
 * The object in the arguments of a call. Nothing but white space is an object without keys; anything else that is no
 * JSON object has an `input_error` and must not run (reading 2.2).
 *
 * @since 0.1.0
 * @category decoding
 */
export const parseArguments = (text: string): { readonly input: JsonObject; readonly input_error?: string } => {
  if (text.trim() === "") return { input: {} }
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { input: value as JsonObject }
    return { input: {}, input_error: `the arguments are ${describe(value)}, not a JSON object` }
  } catch (error) {
    const why = error instanceof Error ? error.message : "no JSON"
    return { input: {}, input_error: `the arguments are not valid JSON: ${why}` }
  }
}

/** A call that was cut, with the reason why it must not run; its arguments are what came of them. */
const cutUse = (item: OutputItem, input_error: string): ToolUse | undefined =>
  item.type === "function_call"
    ? { type: "tool_use", id: item.call_id, name: item.name, arguments: item.arguments, input: {}, input_error }
    : item.type === "custom_tool_call"
    ? {
      type: "tool_use",
      id: item.call_id,
      name: item.name,
      arguments: JSON.stringify({ input: item.input }),
      input: {},
      input_error
    }
    : undefined

const toolUse = (item: OutputItem): ToolUse | undefined => {
  // a call that was cut never becomes one that could run
  if (item.type === "function_call" && item.status === "completed") {
    return {
      type: "tool_use",
      id: item.call_id,
      name: item.name,
      arguments: item.arguments,
      ...parseArguments(item.arguments)
    }
  }
  if (item.type === "custom_tool_call" && item.status === "completed") {
    const input = { input: item.input }
    return { type: "tool_use", id: item.call_id, name: item.name, input, arguments: JSON.stringify(input) }
  }
  return undefined
}

/** @since 0.1.0 @category models */
export interface Projection {
  /** After `message_stop` or `error` nothing more comes. */
  readonly push: (events: ReadonlyArray<ResponseEvent>) => Array<StreamEvent>
}

/**
 * One response's projection. `origin` is `<provider>:<protocol>` and goes into every replay.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeProjection = (origin: string): Projection => {
  let ended = false
  let calls = 0
  // a part of the open reasoning item was shown: the next one is set off
  let thought = false
  // calls that were cut are told with the end, which says why; what failed tells none of them
  const cut: Array<OutputItem> = []

  const usage = (response: Response, out: Array<StreamEvent>): void => {
    if (response.usage !== null) out.push({ type: "usage", usage: toUsage(response.usage) })
  }

  const stop = (response: Response): StopReason => {
    const fallback = response.status === "completed"
      ? "tool_use"
      : response.incomplete_details?.reason === "content_filter"
      ? "refusal"
      : "max_tokens"
    const reason = response.stop?.reason ?? fallback
    return reason === "tool_use" && calls === 0 ? "end_turn" : reason
  }

  const one = (event: ResponseEvent, out: Array<StreamEvent>): void => {
    switch (event.type) {
      case "response.output_text.delta":
        out.push({ type: "content_delta", text: event.delta })
        return
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        thought = true
        out.push({ type: "reasoning_delta", text: event.delta })
        return
      case "response.refusal.delta":
        out.push({ type: "content_delta", text: event.delta, refusal: true })
        return
      case "response.reasoning_summary_part.added":
        if (thought) out.push({ type: "reasoning_delta", text: "\n\n" })
        return
      case "response.output_item.added":
        thought = false
        return
      case "response.output_item.done": {
        const { item } = event
        if (item.type === "reasoning") {
          out.push({ type: "reasoning_delta", text: "", replay: replayOf(item, origin) })
          return
        }
        const use = toolUse(item)
        if (use === undefined) {
          if (item.type === "function_call" || item.type === "custom_tool_call") cut.push(item)
          return
        }
        calls++
        out.push(use)
        return
      }
      case "response.created":
        usage(event.response, out)
        return
      case "response.completed":
      case "response.incomplete": {
        const { response } = event
        const why = response.incomplete_details?.reason === "max_output_tokens"
          ? "cut off at the output limit"
          : "cut off before they were complete"
        for (const use of cut.flatMap((item) => cutUse(item, why) ?? [])) {
          calls++
          out.push(use)
        }
        usage(response, out)
        const sequence = response.stop?.sequence
        out.push({
          type: "message_stop",
          stop_reason: stop(response),
          ...(sequence === undefined ? {} : { stop_sequence: sequence }),
          response_id: response.id,
          model: response.model
        })
        ended = true
        return
      }
      case "response.failed": {
        const { response } = event
        usage(response, out)
        const error = response.error
        out.push({
          type: "error",
          code: error?.reason ?? "stream_error",
          message: error?.message ?? "the response failed without a reason",
          retryable: error?.retryable ?? true,
          ...(error?.retry_after_ms === undefined ? {} : { retry_after_ms: error.retry_after_ms }),
          ...(error?.request_id === undefined ? {} : { request_id: error.request_id })
        })
        ended = true
      }
    }
  }

  return {
    push: (events) => {
      const out: Array<StreamEvent> = []
      for (const event of events) {
        if (ended) break
        one(event, out)
      }
      return out
    }
  }
}
