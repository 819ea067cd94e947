/**
 * What `usage --json` prints, as a Schema.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Usage } from "../domain/Usage.ts"

const amount = {
  requests: Schema.Number,
  unreported_requests: Schema.Number,
  unpriced_requests: Schema.Number,
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number)
}

/**
 * `usage --json`. Times are seconds since the epoch; `since` is inclusive, `until` exclusive, null = no bound. Days are
 * those of `time_zone`. `cost_usd` is null when no request had a price; while `unpriced_requests` is over 0 it is less than
 * all of it. `usage.input_tokens` are those that no cache was read or written for; reasoning is a part of the output.
 * `kind` is what a request was for: turn, subagent, compaction, title, commit_message, sampling, other.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UsageDocument = Schema.Struct({
  v: Schema.Literal(1),
  by: Schema.Literal("turn", "session", "day", "model", "kind"),
  workspace: Schema.NullOr(Schema.String),
  session_id: Schema.NullOr(Schema.String),
  since: Schema.NullOr(Schema.Number),
  until: Schema.NullOr(Schema.Number),
  time_zone: Schema.String,
  prices: Schema.Struct({ name: Schema.String, version: Schema.String, date: Schema.String }),
  groups: Schema.Array(Schema.Struct({
    day: Schema.optional(Schema.String),
    model: Schema.optional(Schema.String),
    kind: Schema.optional(Schema.String),
    session_id: Schema.optional(Schema.NullOr(Schema.String)),
    title: Schema.optional(Schema.NullOr(Schema.String)),
    run_id: Schema.optional(Schema.NullOr(Schema.String)),
    turn: Schema.optional(Schema.Number),
    at: Schema.Number,
    ...amount
  })),
  kinds: Schema.Array(Schema.Struct({ kind: Schema.String, ...amount })),
  unpriced_models: Schema.Array(Schema.String),
  total: Schema.Struct(amount)
})
/** @since 0.1.0 @category models */
export type UsageDocument = typeof UsageDocument.Type
