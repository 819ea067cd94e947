/**
 * What `sessions checkpoints --json` and `sessions rewind --json` print, as Schemas.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const v = Schema.Literal(1)

/**
 * `sessions checkpoints --json`. `messages`: those of the user, oldest first; `id` is what `sessions rewind --to` takes,
 * `at` seconds since the epoch, `checkpoint_id` the files as they were before it (null = nothing is known to have changed
 * them since). `checkpoints`: all that is kept, oldest first, `at` in milliseconds. `problem`: why there are none.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionsCheckpoints = Schema.Struct({
  v,
  session_id: Schema.String,
  workspace: Schema.String,
  messages: Schema.Array(Schema.Struct({
    id: Schema.Number,
    key: Schema.String,
    at: Schema.Number,
    text: Schema.String,
    checkpoint_id: Schema.NullOr(Schema.String)
  })),
  checkpoints: Schema.Array(Schema.Struct({
    id: Schema.String,
    key: Schema.NullOr(Schema.String),
    kind: Schema.Literal("before", "after", "present", "restored"),
    at: Schema.Number,
    changed: Schema.Number
  })),
  redo: Schema.Struct({ conversation: Schema.Boolean, files: Schema.Boolean }),
  problem: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category models */
export type SessionsCheckpoints = typeof SessionsCheckpoints.Type

/**
 * `sessions rewind --json`. `to` is the message gone back to, null with `--redo`; `files` counts what was put back; a
 * `conflict` is a file that somebody else has changed since the last checkpoint; `failed` could not be put back.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionsRewind = Schema.Struct({
  v,
  session_id: Schema.String,
  dry_run: Schema.Boolean,
  to: Schema.NullOr(Schema.Number),
  conversation: Schema.Boolean,
  files: Schema.Number,
  changes: Schema.Array(Schema.Struct({
    path: Schema.String,
    change: Schema.Literal("created", "changed", "deleted", "mode"),
    conflict: Schema.Boolean
  })),
  failed: Schema.Array(Schema.Struct({ path: Schema.String, why: Schema.String }))
})
/** @since 0.1.0 @category models */
export type SessionsRewind = typeof SessionsRewind.Type
