/**
 * What `agent prompt --json` prints, as a Schema.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { JsonObject } from "../domain/Json.ts"

/**
 * `agent prompt --json`. `parts`, joined by an empty line, are `prompt`. `origin`: hanzo-dev, sandbox, custom_instructions,
 * mcp_servers, append; of instruction files user, project, folder, import; skills. `path` is absolute. `notices` say what is
 * left out and why.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentPrompt = Schema.Struct({
  v: Schema.Literal(1),
  prompt: Schema.String,
  parts: Schema.Array(Schema.Struct({
    origin: Schema.String,
    path: Schema.NullOr(Schema.String),
    text: Schema.String
  })),
  tools: Schema.Array(Schema.Struct({
    name: Schema.String,
    description: Schema.String,
    input_schema: JsonObject
  })),
  notices: Schema.Array(Schema.String)
})
/** @since 0.1.0 @category models */
export type AgentPrompt = typeof AgentPrompt.Type
