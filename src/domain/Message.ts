/**
 * The conversation as the agent keeps it: HIP-301's `Message` with content parts.
 *
 * The canonical place of a tool call is a `tool_call` part inside the assistant's content, because its position among
 * text and reasoning matters when a request is replayed. HIP-301's short forms (`tool_calls`, a plain string as
 * content) are accepted at every door and read through `partsOf`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** @since 0.1.0 @category schemas */
export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
/** @since 0.1.0 @category models */
export type TextPart = typeof TextPart.Type

/**
 * What the provider wants back, byte for byte, to go on from earlier reasoning. `origin` names who made it
 * (`<provider>:<protocol>`); a request to another origin leaves the part out, a signature is never invented.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningReplay = Schema.Struct({
  origin: Schema.String,
  id: Schema.optional(Schema.String),
  /** Anthropic Messages: signature of a thinking block. */
  signature: Schema.optional(Schema.String),
  /** Responses: encrypted_content of a reasoning item. */
  encrypted_content: Schema.optional(Schema.String),
  /** Anthropic Messages: data of a redacted_thinking block. */
  redacted_data: Schema.optional(Schema.String),
  /** Responses: the text is a summary, not the raw reasoning. */
  summary: Schema.optional(Schema.Boolean),
  /** Chat Completions: the field the text came in (`reasoning_content`, `reasoning`). */
  field: Schema.optional(Schema.String)
})
/** @since 0.1.0 @category models */
export type ReasoningReplay = typeof ReasoningReplay.Type

/** @since 0.1.0 @category schemas */
export const ReasoningPart = Schema.Struct({
  type: Schema.Literal("reasoning"),
  text: Schema.String,
  replay: Schema.optional(ReasoningReplay)
})
/** @since 0.1.0 @category models */
export type ReasoningPart = typeof ReasoningPart.Type

/** Base64 `data` with its media type, or a `url`; exactly one of the two. @since 0.1.0 @category schemas */
export const ImagePart = Schema.Struct({
  type: Schema.Literal("image"),
  media_type: Schema.String,
  data: Schema.optional(Schema.String),
  url: Schema.optional(Schema.String)
})
/** @since 0.1.0 @category models */
export type ImagePart = typeof ImagePart.Type

/** @since 0.1.0 @category schemas */
export const FilePart = Schema.Struct({
  type: Schema.Literal("file"),
  media_type: Schema.String,
  data: Schema.String,
  filename: Schema.optional(Schema.String)
})
/** @since 0.1.0 @category models */
export type FilePart = typeof FilePart.Type

/** `arguments` is the JSON text as the model wrote it, kept byte for byte. @since 0.1.0 @category schemas */
export const ToolCallPart = Schema.Struct({
  type: Schema.Literal("tool_call"),
  id: Schema.String,
  name: Schema.String,
  arguments: Schema.String
})
/** @since 0.1.0 @category models */
export type ToolCallPart = typeof ToolCallPart.Type

/** @since 0.1.0 @category schemas */
export const Part = Schema.Union(TextPart, ReasoningPart, ImagePart, FilePart, ToolCallPart)
/** @since 0.1.0 @category models */
export type Part = typeof Part.Type

/** @since 0.1.0 @category schemas */
export const ToolCall = Schema.Struct({ id: Schema.String, name: Schema.String, arguments: Schema.String })
/** @since 0.1.0 @category models */
export type ToolCall = typeof ToolCall.Type

/** @since 0.1.0 @category schemas */
export const Role = Schema.Literal("system", "user", "assistant", "tool")
/** @since 0.1.0 @category models */
export type Role = typeof Role.Type

/**
 * `role: "tool"` carries one result: `tool_call_id`, the text or parts as content, `is_error`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Message = Schema.Struct({
  role: Role,
  content: Schema.Union(Schema.String, Schema.Array(Part)),
  token_count: Schema.optional(Schema.Number),
  tool_calls: Schema.optional(Schema.Array(ToolCall)),
  tool_call_id: Schema.optional(Schema.String),
  tool_name: Schema.optional(Schema.String),
  is_error: Schema.optional(Schema.Boolean),
  kind: Schema.optional(Schema.Literal("summary"))
})
/** @since 0.1.0 @category models */
export type Message = typeof Message.Type
