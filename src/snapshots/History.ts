/**
 * Which snapshots there are, as the references of their repository say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Git } from "./Git.ts"
import { batchOf } from "./Listing.ts"
import * as Refs from "./Refs.ts"
import type { Snapshot, SnapshotError } from "./Snapshots.ts"

/** Those of the commits that can be read, where not all of them can. */
const readable = (git: Git, session_id: string): Effect.Effect<string, SnapshotError> =>
  Effect.gen(function*() {
    const named = yield* git.ok({ args: ["for-each-ref", "--format=%(refname)", Refs.folderOf(session_id)] })
    const { stdout } = yield* git.run({ args: ["cat-file", "--batch"], stdin: named.stdout })
    return batchOf(stdout).flatMap((commit) =>
      commit === null ? [] : new TextDecoder().decode(commit).split("\n\n")[1]?.split("\n")[0] ?? []
    ).join("\n")
  })

/** Snapshots of a session, oldest first. @since 0.1.0 @category constructors */
export const ofSession = (git: Git, session_id: string): Effect.Effect<ReadonlyArray<Snapshot>, SnapshotError> =>
  git.ok({ args: ["for-each-ref", "--format=%(contents:subject)", Refs.folderOf(session_id)] }).pipe(
    Effect.map(({ stdout }) => new TextDecoder().decode(stdout)),
    Effect.catchIf(({ reason }) => reason === "failed", () => readable(git, session_id)),
    Effect.map(Refs.snapshotsOf)
  )

/** The reference of a snapshot of any session; undefined = there is none. @since 0.1.0 @category constructors */
export const refOf = (git: Git, snapshot_id: string): Effect.Effect<string | undefined, SnapshotError> =>
  Effect.map(
    git.ok({ args: ["for-each-ref", "--format=%(refname)", "refs/snapshots"] }),
    ({ stdout }) => new TextDecoder().decode(stdout).split("\n").find((ref) => ref.endsWith(`/${snapshot_id}`))
  )
