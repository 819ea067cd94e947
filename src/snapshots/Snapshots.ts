/**
 * Snapshots of the workspace's files, so that a conversation can go back to any of its messages with the files as they
 * were. They are kept in a git repository of our own, `<data>/snapshots/<KEY>/repo`, one for each workspace root; the
 * project's repository is neither written nor configured by.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Config } from "../config/Config.ts"
import * as Layers from "../domain/Layers.ts"
import { TaggedError } from "../domain/TaggedError.ts"
import type { Workspace } from "../domain/Workspace.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Processes } from "../platform/Processes.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `no_git` | there is no git on PATH: no files can be kept |
 * | `too_many` | the tree has more entries than are kept |
 * | `busy` | another process held the snapshots of this workspace for too long |
 * | `not_found` | there is no such snapshot (any more) |
 * | `failed` | anything else; the snapshots from before are as they were |
 *
 * @since 0.1.0
 * @category errors
 */
export class SnapshotError extends TaggedError("@hanzo/dev/snapshots/SnapshotError")("SnapshotError", () => ({
  reason: Schema.Literal("no_git", "too_many", "busy", "not_found", "failed"),
  message: Schema.String
})) {}

/**
 * `before` a message changed anything; `after` the run, or the part of it, that a message began; the `present` before a
 * rewind; the files as a rewind `restored` them.
 *
 * @since 0.1.0
 * @category models
 */
export type SnapshotKind = "before" | "after" | "present" | "restored"

/** Something that a snapshot does not hold. `size` in bytes, null where it has none. @since 0.1.0 @category models */
export interface LeftOut {
  readonly path: string
  readonly reason: "size" | "many" | "total" | "unreadable" | "special"
  readonly size: number | null
}

/** @since 0.1.0 @category models */
export interface Snapshot {
  /** Sorts by time. */
  readonly id: string
  readonly session_id: string
  /** Key of the user's entry in the record that it belongs to; null = none. */
  readonly key: string | null
  readonly kind: SnapshotKind
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Files that differ from the snapshot that was taken before it in this workspace. */
  readonly changed: number
}

/** @since 0.1.0 @category models */
export interface TakeInput {
  readonly session_id: string
  readonly key: string | null
  readonly kind: SnapshotKind
  /** What follows this snapshot in the same run: ignored files that differ from it were changed by tools. */
  readonly since?: string
  /** Absolute paths that a tool is about to change: kept also where they are ignored. */
  readonly paths?: ReadonlyArray<string>
}

/** `left_out`: what this snapshot leaves out and the one before it did not. @since 0.1.0 @category models */
export interface Taken {
  readonly snapshot: Snapshot
  readonly left_out: ReadonlyArray<LeftOut>
}

/**
 * `path` is for people. `conflict`: it is not as the session's last snapshot has it, so that somebody else has changed it.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileChange {
  readonly path: string
  readonly change: "created" | "changed" | "deleted" | "mode"
  readonly conflict: boolean
}

/** What could not be put back, and why. @since 0.1.0 @category models */
export interface Unrestored {
  readonly path: string
  readonly why: string
}

/** @since 0.1.0 @category models */
export interface Restored {
  readonly files: number
  readonly failed: ReadonlyArray<Unrestored>
  /** The files as they are now. */
  readonly snapshot: Snapshot
}

/** Where to go back to, for the message with this key. @since 0.1.0 @category models */
export interface PlanInput {
  readonly session_id: string
  readonly snapshot_id: string
  /** Of the entry that the session goes back to; null = the way forward again. */
  readonly key: string | null
}

/** A way back that nobody has gone yet. @since 0.1.0 @category models */
export interface Plan {
  /** The files as they are, kept before anything is changed. */
  readonly present: Snapshot
  /** What going there does to the files, in the order of their names. */
  readonly changes: ReadonlyArray<FileChange>
  readonly apply: Effect.Effect<Restored, SnapshotError>
}

/** @since 0.1.0 @category models */
export interface SnapshotsService {
  readonly take: (input: TakeInput) => Effect.Effect<Taken, SnapshotError>
  /** True = the last snapshot of this process holds the file, or its absence. Absolute path. */
  readonly covers: (path: string) => Effect.Effect<boolean>
  /** Those of a session, oldest first. */
  readonly list: (session_id: string) => Effect.Effect<ReadonlyArray<Snapshot>, SnapshotError>
  /** Takes a snapshot of the present, and says what going to a snapshot would do. */
  readonly plan: (input: PlanInput) => Effect.Effect<Plan, SnapshotError>
  /** Removes what is too old or too much (settings `checkpoint_days`, `checkpoint_max_mb`); how many went. */
  readonly prune: Effect.Effect<number, SnapshotError>
}

/** @since 0.1.0 @category services */
export class Snapshots extends Context.Tag("@hanzo/dev/snapshots/Snapshots")<Snapshots, SnapshotsService>() {
  /** Nothing is loaded, read or started before the first of its methods is called. */
  static readonly layer: Layer.Layer<Snapshots, never, Workspace | Dirs | Environment | Processes | Config> = Layers
    .scoped(
      Snapshots,
      Effect.gen(function*() {
        const services = yield* Effect.context<Workspace | Dirs | Environment | Processes | Config>()
        const scope = yield* Effect.scope
        const live = yield* Effect.cached(
          Effect.flatMap(
            Effect.promise(() => import("./SnapshotsLive.ts")),
            ({ make }) => Effect.provide(make(scope), services)
          )
        )
        return {
          take: (input) => Effect.flatMap(live, (snapshots) => snapshots.take(input)),
          covers: (path) => Effect.flatMap(live, (snapshots) => snapshots.covers(path)),
          list: (session_id) => Effect.flatMap(live, (snapshots) => snapshots.list(session_id)),
          plan: (input) => Effect.flatMap(live, (snapshots) => snapshots.plan(input)),
          prune: Effect.flatMap(live, (snapshots) => snapshots.prune)
        } satisfies SnapshotsService
      })
    )
}
