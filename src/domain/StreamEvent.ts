/**
 * HIP-301's small event union for the agent (section 2, divergence D13). Whoever writes another `ApiClient` emits just
 * these.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ReasoningReplay } from "./Message.ts"
import { JsonObject } from "./Json.ts"
import { Usage } from "./Usage.ts"

/** `refusal` marks text in which the model declines. @since 0.1.0 @category schemas */
export const ContentDelta = Schema.Struct({
  type: Schema.Literal("content_delta"),
  text: Schema.String,
  refusal: Schema.optional(Schema.Boolean)
})
/** The last delta of a reasoning item carries `replay` (its text may be empty). @since 0.1.0 @category schemas */
export const ReasoningDelta = Schema.Struct({
  type: Schema.Literal("reasoning_delta"),
  text: Schema.String,
  replay: Schema.optional(ReasoningReplay)
})
/**
 * A whole call. `arguments` is the text as the model wrote it, `input` the object in it. When the text is no JSON object,
 * `input_error` says why, `input` is empty, and the call must not run (reading 2.2).
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolUse = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: JsonObject,
  arguments: Schema.String,
  input_error: Schema.optional(Schema.String)
})
/** Counts of this response so far; the last one holds. @since 0.1.0 @category schemas */
export const UsageEvent = Schema.Struct({ type: Schema.Literal("usage"), usage: Usage })

/** @since 0.1.0 @category schemas */
export const StopReason = Schema.Literal(
  "end_turn",
  "tool_use",
  "max_tokens",
  "context_window",
  "stop_sequence",
  "refusal",
  "pause_turn"
)
/** @since 0.1.0 @category models */
export type StopReason = typeof StopReason.Type

/** Terminal of a response that reached its own end. @since 0.1.0 @category schemas */
export const MessageStop = Schema.Struct({
  type: Schema.Literal("message_stop"),
  stop_reason: StopReason,
  stop_sequence: Schema.optional(Schema.String),
  response_id: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String)
})
/** Terminal of a response that failed after it had begun; `code` is a reason of ApiError. @since 0.1.0 @category schemas */
export const ErrorEvent = Schema.Struct({
  type: Schema.Literal("error"),
  code: Schema.String,
  message: Schema.String,
  retryable: Schema.Boolean,
  retry_after_ms: Schema.optional(Schema.Number),
  request_id: Schema.optional(Schema.String)
})

/** @since 0.1.0 @category schemas */
export const StreamEvent = Schema.Union(ContentDelta, ReasoningDelta, ToolUse, UsageEvent, MessageStop, ErrorEvent)
/** @since 0.1.0 @category models */
export type StreamEvent = typeof StreamEvent.Type
/** @since 0.1.0 @category models */
export type ToolUse = typeof ToolUse.Type
