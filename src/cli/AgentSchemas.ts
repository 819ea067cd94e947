/**
 * What `agent list --json` prints, as a Schema.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * `agent list --json`. `tools`: null = all; else names and globs over names, `read-only`, or `none`. `file` is absolute,
 * null = built in. `problems` are files that are left out, and why.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentList = Schema.Struct({
  v: Schema.Literal(1),
  agents: Schema.Array(Schema.Struct({
    name: Schema.String,
    description: Schema.String,
    source: Schema.Literal("built-in", "user", "project"),
    file: Schema.NullOr(Schema.String),
    tools: Schema.NullOr(Schema.Array(Schema.String)),
    model: Schema.NullOr(Schema.String),
    permission_mode: Schema.NullOr(Schema.Literal("default", "plan", "accept-edits", "bypass")),
    max_turns: Schema.NullOr(Schema.Number),
    max_cost_usd: Schema.NullOr(Schema.Number)
  })),
  problems: Schema.Array(Schema.String)
})

/** @since 0.1.0 @category schemas */
export type AgentList = typeof AgentList.Type
