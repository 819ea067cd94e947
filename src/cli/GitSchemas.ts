/**
 * What `hanzo-dev git ... --json` prints. Fields are only ever added.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const v = Schema.Literal(1)
const Names = Schema.Array(Schema.String)

/** `at` is in seconds since the epoch; `current` null = HEAD is detached; `created` null = nothing was asked for. @since 0.1.0 @category schemas */
export const GitBranch = Schema.Struct({
  v,
  current: Schema.NullOr(Schema.String),
  created: Schema.NullOr(Schema.String),
  branches: Schema.Array(Schema.Struct({
    name: Schema.String,
    current: Schema.Boolean,
    commit: Schema.String,
    subject: Schema.String,
    at: Schema.Number,
    upstream: Schema.NullOr(Schema.String),
    track: Schema.String
  }))
})
/** @since 0.1.0 @category models */
export type GitBranch = typeof GitBranch.Type

const Failure = Schema.NullOr(
  Schema.Struct({ reason: Schema.String, message: Schema.String, stderr: Schema.String })
)

const proposal = {
  message: Schema.NullOr(Schema.String),
  /** Where the message comes from; `git`: of a merge, `kept`: of an earlier try, `draft`: of the names of the files. */
  source: Schema.NullOr(Schema.Literal("given", "git", "kept", "model", "draft", "edited")),
  /** Why no model wrote it, where one was asked. */
  model_problem: Schema.NullOr(Schema.String),
  /** `status` is a letter of git-status(1). */
  files: Schema.Array(Schema.Struct({
    path: Schema.String,
    from: Schema.NullOr(Schema.String),
    status: Schema.String
  })),
  untracked: Names,
  secrets: Schema.Array(Schema.Struct({
    path: Schema.String,
    line: Schema.NullOr(Schema.Number),
    what: Schema.String
  })),
  commit: Schema.NullOr(Schema.Struct({
    id: Schema.String,
    short: Schema.String,
    subject: Schema.String,
    branch: Schema.NullOr(Schema.String),
    changed_by_hook: Schema.Boolean,
    left: Names
  })),
  error: Failure
}

/** `status` `proposed`: nobody could be asked, nothing was done. @since 0.1.0 @category schemas */
export const GitCommit = Schema.Struct({
  v,
  status: Schema.Literal("committed", "proposed", "cancelled", "nothing", "failed"),
  ...proposal
})
/** @since 0.1.0 @category models */
export type GitCommit = typeof GitCommit.Type

/**
 * `status` says how far it came: `pushed` = without a pull request, `without` says why and `compare` where a person makes
 * it. `failed`: `commit` and `pushed` say what is done all the same.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GitCommitPushPr = Schema.Struct({
  v,
  status: Schema.Literal("opened", "exists", "pushed", "proposed", "cancelled", "nothing", "failed"),
  ...proposal,
  branch: Schema.String,
  base: Schema.String,
  remote: Schema.String,
  pushed: Schema.Boolean,
  pull_request: Schema.NullOr(Schema.String),
  without: Schema.NullOr(Schema.String),
  compare: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category models */
export type GitCommitPushPr = typeof GitCommitPushPr.Type

/** The main one first. @since 0.1.0 @category schemas */
export const GitWorktree = Schema.Struct({
  v,
  added: Schema.NullOr(Schema.String),
  removed: Schema.NullOr(Schema.String),
  worktrees: Schema.Array(Schema.Struct({
    path: Schema.String,
    head: Schema.NullOr(Schema.String),
    branch: Schema.NullOr(Schema.String),
    bare: Schema.Boolean,
    locked: Schema.NullOr(Schema.String),
    prunable: Schema.NullOr(Schema.String)
  }))
})
/** @since 0.1.0 @category models */
export type GitWorktree = typeof GitWorktree.Type

/** `bytes` are those of the whole diff; `text` is cut at 64 KiB. @since 0.1.0 @category schemas */
export const GitDiff = Schema.Struct({
  v,
  branch: Schema.NullOr(Schema.String),
  text: Schema.String,
  bytes: Schema.Number,
  cut: Schema.Boolean,
  files: Names,
  untracked: Names
})
/** @since 0.1.0 @category models */
export type GitDiff = typeof GitDiff.Type

const Stash = Schema.Struct({
  index: Schema.Number,
  commit: Schema.String,
  message: Schema.String,
  at: Schema.Number
})

/** The latest first, after what was asked for. @since 0.1.0 @category schemas */
export const GitStash = Schema.Struct({
  v,
  stashed: Schema.NullOr(Schema.Struct({ message: Schema.String, files: Names, untracked: Names })),
  popped: Schema.NullOr(Stash),
  stashes: Schema.Array(Stash)
})
/** @since 0.1.0 @category models */
export type GitStash = typeof GitStash.Type
