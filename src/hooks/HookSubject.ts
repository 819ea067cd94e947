/**
 * What a hook's event is about.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { JsonObject } from "../domain/Json.ts"

const ofTool = {
  tool_name: Schema.String,
  tool_input: JsonObject,
  /** Null outside a run. */
  tool_call_id: Schema.NullOr(Schema.String)
}

/**
 * What an event is about; its members but `event` stand in the JSON as they are. `status` and `exit_code` of `stop` are
 * those of the run that ends.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HookSubject = Schema.Union(
  Schema.Struct({ event: Schema.Literal("pre_tool_use"), ...ofTool }),
  Schema.Struct({
    event: Schema.Literal("post_tool_use"),
    ...ofTool,
    tool_output: Schema.String,
    tool_is_error: Schema.Boolean
  }),
  Schema.Struct({
    event: Schema.Literal("session_start"),
    source: Schema.Literal("new", "resumed"),
    model: Schema.String
  }),
  Schema.Struct({ event: Schema.Literal("user_prompt_submit"), prompt: Schema.String }),
  Schema.Struct({ event: Schema.Literal("pre_compact"), trigger: Schema.Literal("auto", "manual") }),
  Schema.Struct({
    event: Schema.Literal("stop"),
    status: Schema.Literal("completed", "failed", "cancelled"),
    exit_code: Schema.Number,
    result: Schema.String
  }),
  Schema.Struct({
    event: Schema.Literal("notification"),
    kind: Schema.Literal("permission"),
    message: Schema.String,
    tool_name: Schema.String,
    tool_call_id: Schema.NullOr(Schema.String)
  })
)
/** @since 0.1.0 @category models */
export type HookSubject = typeof HookSubject.Type
