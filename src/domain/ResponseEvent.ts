/**
 * Canonical, Responses-style events: what every protocol decodes into and every proxy encodes from.
 *
 * Exactly one terminal (`response.completed`, `.incomplete`, `.failed`) a response, nothing after it; `sequence_number`
 * dense from 0; `output_index` dense in the order of the items; ids stable through a stream; the `output` of the
 * terminal response equals the items sent. An upstream event that has no canonical meaning is kept as `opaque`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** Token counts of the Responses form: `input_tokens` includes cached ones. @since 0.1.0 @category schemas */
export const ResponseUsage = Schema.Struct({
  input_tokens: Schema.Number,
  output_tokens: Schema.Number,
  total_tokens: Schema.Number,
  input_tokens_details: Schema.Struct({
    cached_tokens: Schema.Number,
    cache_write_tokens: Schema.optional(Schema.Number)
  }),
  output_tokens_details: Schema.Struct({ reasoning_tokens: Schema.Number })
})
/** @since 0.1.0 @category models */
export type ResponseUsage = typeof ResponseUsage.Type

const Annotation = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** @since 0.1.0 @category schemas */
export const ContentPart = Schema.Union(
  Schema.Struct({ type: Schema.Literal("output_text"), text: Schema.String, annotations: Schema.Array(Annotation) }),
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
)
/** @since 0.1.0 @category models */
export type ContentPart = typeof ContentPart.Type

const ItemStatus = Schema.Literal("in_progress", "completed", "incomplete")

/** @since 0.1.0 @category schemas */
export const MessageItem = Schema.Struct({
  type: Schema.Literal("message"),
  id: Schema.String,
  role: Schema.Literal("assistant"),
  status: ItemStatus,
  content: Schema.Array(ContentPart)
})
/**
 * `signature`, `redacted_data` (Anthropic Messages) and `field` (Chat Completions) are what a replay to the same
 * origin needs beside `encrypted_content`; no client ever sees them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningItem = Schema.Struct({
  type: Schema.Literal("reasoning"),
  id: Schema.String,
  status: Schema.optional(ItemStatus),
  summary: Schema.Array(Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })),
  content: Schema.optional(
    Schema.Array(Schema.Struct({ type: Schema.Literal("reasoning_text"), text: Schema.String }))
  ),
  encrypted_content: Schema.optional(Schema.NullOr(Schema.String)),
  signature: Schema.optional(Schema.String),
  redacted_data: Schema.optional(Schema.String),
  field: Schema.optional(Schema.String)
})
/** Identity is `call_id`, never `id`. `arguments` is JSON text; nothing but white space counts as `{}`. @since 0.1.0 @category schemas */
export const FunctionCallItem = Schema.Struct({
  type: Schema.Literal("function_call"),
  id: Schema.String,
  call_id: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  namespace: Schema.optional(Schema.String),
  status: ItemStatus
})
/** @since 0.1.0 @category schemas */
export const CustomToolCallItem = Schema.Struct({
  type: Schema.Literal("custom_tool_call"),
  id: Schema.String,
  call_id: Schema.String,
  name: Schema.String,
  input: Schema.String,
  status: ItemStatus
})
/** An item of a kind this version does not know (a hosted tool), kept whole. @since 0.1.0 @category schemas */
export const OpaqueItem = Schema.Struct({ type: Schema.Literal("opaque"), id: Schema.String, raw: Schema.Unknown })

/** @since 0.1.0 @category schemas */
export const OutputItem = Schema.Union(MessageItem, ReasoningItem, FunctionCallItem, CustomToolCallItem, OpaqueItem)
/** @since 0.1.0 @category models */
export type OutputItem = typeof OutputItem.Type
/** @since 0.1.0 @category models */
export type MessageItem = typeof MessageItem.Type
/** @since 0.1.0 @category models */
export type ReasoningItem = typeof ReasoningItem.Type
/** @since 0.1.0 @category models */
export type FunctionCallItem = typeof FunctionCallItem.Type
/** @since 0.1.0 @category models */
export type CustomToolCallItem = typeof CustomToolCallItem.Type

/** `code` is a reason of ApiError or the provider's own code; `reason` the mapped one. @since 0.1.0 @category schemas */
export const ResponseError = Schema.Struct({
  reason: Schema.String,
  code: Schema.String,
  message: Schema.String,
  status: Schema.optional(Schema.Number),
  retryable: Schema.Boolean,
  retry_after_ms: Schema.optional(Schema.Number),
  request_id: Schema.optional(Schema.String)
})
/** @since 0.1.0 @category models */
export type ResponseError = typeof ResponseError.Type

/**
 * The response as a whole. `stop` keeps what the Responses form cannot say: the finish reason of the agent side and the
 * stop sequence that was hit.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Response = Schema.Struct({
  id: Schema.String,
  model: Schema.String,
  status: Schema.Literal("in_progress", "completed", "incomplete", "failed"),
  output: Schema.Array(OutputItem),
  usage: Schema.NullOr(ResponseUsage),
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: Schema.Literal("max_output_tokens", "content_filter") })),
  error: Schema.NullOr(ResponseError),
  stop: Schema.optional(
    Schema.Struct({
      reason: Schema.Literal(
        "end_turn",
        "tool_use",
        "max_tokens",
        "context_window",
        "stop_sequence",
        "refusal",
        "pause_turn"
      ),
      sequence: Schema.optional(Schema.String)
    })
  )
})
/** @since 0.1.0 @category models */
export type Response = typeof Response.Type

const event = <const T extends string, F extends Schema.Struct.Fields>(type: T, fields: F) =>
  Schema.Struct({ type: Schema.Literal(type), sequence_number: Schema.Number, ...fields })

const atItem = { output_index: Schema.Number, item_id: Schema.String }
const atContent = { ...atItem, content_index: Schema.Number }
const atSummary = { ...atItem, summary_index: Schema.Number }
const summaryPart = Schema.Struct({ type: Schema.Literal("summary_text"), text: Schema.String })

/** @since 0.1.0 @category schemas */
export const ResponseEvent = Schema.Union(
  event("response.created", { response: Response }),
  event("response.in_progress", { response: Response }),
  event("response.output_item.added", { output_index: Schema.Number, item: OutputItem }),
  event("response.output_item.done", { output_index: Schema.Number, item: OutputItem }),
  event("response.content_part.added", { ...atContent, part: ContentPart }),
  event("response.content_part.done", { ...atContent, part: ContentPart }),
  event("response.output_text.delta", { ...atContent, delta: Schema.String }),
  event("response.output_text.done", { ...atContent, text: Schema.String }),
  event("response.output_text.annotation.added", {
    ...atContent,
    annotation_index: Schema.Number,
    annotation: Annotation
  }),
  event("response.refusal.delta", { ...atContent, delta: Schema.String }),
  event("response.refusal.done", { ...atContent, refusal: Schema.String }),
  event("response.reasoning_summary_part.added", { ...atSummary, part: summaryPart }),
  event("response.reasoning_summary_part.done", { ...atSummary, part: summaryPart }),
  event("response.reasoning_summary_text.delta", { ...atSummary, delta: Schema.String }),
  event("response.reasoning_summary_text.done", { ...atSummary, text: Schema.String }),
  event("response.reasoning_text.delta", { ...atContent, delta: Schema.String }),
  event("response.reasoning_text.done", { ...atContent, text: Schema.String }),
  event("response.function_call_arguments.delta", { ...atItem, delta: Schema.String }),
  event("response.function_call_arguments.done", { ...atItem, arguments: Schema.String }),
  event("response.custom_tool_call_input.delta", { ...atItem, delta: Schema.String }),
  event("response.custom_tool_call_input.done", { ...atItem, input: Schema.String }),
  event("response.completed", { response: Response }),
  event("response.incomplete", { response: Response }),
  event("response.failed", { response: Response }),
  event("opaque", { event: Schema.NullOr(Schema.String), data: Schema.String })
)
/** @since 0.1.0 @category models */
export type ResponseEvent = typeof ResponseEvent.Type
