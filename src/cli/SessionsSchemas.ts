/**
 * What the commands on sessions print with `--json`, as Schemas; `Schemas` has those of list and show.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionSummary } from "./Schemas.ts"

const v = Schema.Literal(1)

/** `sessions fork --json` and `sessions import --json`: the session that came to be. @since 0.1.0 @category schemas */
export const SessionMade = Schema.Struct({ v, session: SessionSummary })
/** @since 0.1.0 @category models */
export type SessionMade = typeof SessionMade.Type

/**
 * `sessions search --json`: titles first, then messages, the latest first. `text` is a piece of what was found, in one
 * line; `matches` are the places of the words in it, begin and end in UTF-16 units. `message_id` is the `id` of the entry
 * in `sessions show --json`, null for a title. Times are seconds since the epoch. `more`: the limit cut it off.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionsSearch = Schema.Struct({
  v,
  query: Schema.String,
  more: Schema.Boolean,
  matches: Schema.Array(Schema.Struct({
    session_id: Schema.String,
    title: Schema.NullOr(Schema.String),
    workspace: Schema.String,
    is_archived: Schema.Boolean,
    last_active: Schema.Number,
    kind: Schema.Literal("title", "prompt", "answer", "call", "result", "summary"),
    message_id: Schema.NullOr(Schema.Number),
    timestamp: Schema.Number,
    text: Schema.String,
    matches: Schema.Array(Schema.Tuple(Schema.Number, Schema.Number))
  }))
})
/** @since 0.1.0 @category models */
export type SessionsSearch = typeof SessionsSearch.Type

/**
 * `sessions prune --json`: the sessions that were deleted, or would be (`dry_run`). `bytes` is about the room of one in
 * the record, 0 where no limit of room was given.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionsPrune = Schema.Struct({
  v,
  dry_run: Schema.Boolean,
  sessions: Schema.Array(Schema.Struct({ session: SessionSummary, bytes: Schema.Number }))
})
/** @since 0.1.0 @category models */
export type SessionsPrune = typeof SessionsPrune.Type
