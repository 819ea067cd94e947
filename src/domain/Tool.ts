/**
 * Tools as models, rules and hooks see them (HIP-301 section 2).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { JsonObject } from "./Json.ts"
import { Part } from "./Message.ts"

/** `input_schema` is a JSON Schema of type object. @since 0.1.0 @category schemas */
export const ToolDef = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  input_schema: JsonObject
})
/** @since 0.1.0 @category models */
export type ToolDef = typeof ToolDef.Type

/**
 * `is_error: false` means `error: null`; `is_error: true` means a non-empty `error`, and `output` may hold what came
 * before the failure (reading 2.1). `parts` carries what is not text (images). `truncated` says where the full output is.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolResult = Schema.Struct({
  output: Schema.String,
  error: Schema.NullOr(Schema.String),
  is_error: Schema.Boolean,
  parts: Schema.optional(Schema.Array(Part)),
  truncated: Schema.optional(Schema.Struct({ full_output_path: Schema.String, omitted_bytes: Schema.Number }))
})
/** @since 0.1.0 @category models */
export type ToolResult = typeof ToolResult.Type
