/**
 * HIP-301's small event union for the agent (section 2, divergence D13), and the ApiClient protocol that emits it.
 * Whoever writes another ApiClient emits just these.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ApiError } from "./Failure.ts"
import { type Message, ReasoningReplay } from "./Message.ts"
import { JsonObject, type ToolDef } from "./Tool.ts"
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

/** @since 0.1.0 @category models */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"

/**
 * Per-request options; everything absent is left to the target's settings.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  /** `provider/model` or a bare model; absent = the configured one. */
  readonly model?: string
  readonly max_output_tokens?: number
  readonly effort?: Effort
  readonly tool_choice?: "auto" | "required" | "none" | { readonly name: string }
  readonly parallel_tool_calls?: boolean
  readonly stop?: ReadonlyArray<string>
  readonly temperature?: number
  readonly top_p?: number
  readonly session_id?: string
}

/**
 * One request to the model. The stream ends in exactly one of `message_stop` or `error` (reading 2.5), or fails with
 * an ApiError when nothing was streamed (connect, HTTP status, refusal of the request). It is chunked as the network
 * reads came, never waits after its terminal, and closing it closes the connection. It does not retry: the agent does.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApiClientService {
  readonly sendMessage: (
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<ToolDef>,
    options?: SendOptions
  ) => Stream.Stream<StreamEvent, ApiError>
}

/** @since 0.1.0 @category services */
export class ApiClient extends Context.Tag("@hanzo/dev/domain/ApiClient")<ApiClient, ApiClientService>() {}
