/**
 * The way back to a snapshot: what is there now is kept, what would change is said, and whoever wants it goes the way.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ProcessesService } from "../platform/Processes.ts"
import type { Git } from "./Git.ts"
import * as History from "./History.ts"
import type { IndexCache } from "./IndexCache.ts"
import { type KeptFile, type Listing, listing, manifests } from "./Listing.ts"
import { isBelow, stepsTo } from "./Plan.ts"
import * as Refs from "./Refs.ts"
import type { Repository } from "./Repository.ts"
import { restore } from "./Restore.ts"
import { type Plan, type PlanInput, type Restored, SnapshotError, type Taken } from "./Snapshots.ts"
import type { TakeMore } from "./Take.ts"

/** What it is done with. @since 0.1.0 @category models */
export interface RollbackParts {
  readonly root: string
  readonly processes: ProcessesService
  readonly git: Git
  readonly repository: Pick<Repository, "ready" | "exclusive">
  readonly take: (input: TakeMore) => Effect.Effect<Taken, SnapshotError>
  readonly index: Pick<IndexCache, "file" | "load">
}

/** The repository must be held; `apply` takes hold of it by itself. @since 0.1.0 @category constructors */
export const plan = (
  { git, index, processes, repository, root, take }: RollbackParts,
  { key, session_id, snapshot_id }: PlanInput
): Effect.Effect<Plan, SnapshotError> =>
  Effect.gen(function*() {
    yield* repository.ready
    const refOf = (id: string) => Refs.refOf(session_id, id)
    const target = yield* listing(git, snapshot_id, refOf(snapshot_id))
    const all = yield* History.ofSession(git, session_id)
    const later = all.filter(({ id }) => id > snapshot_id)
    // a look at the present changes nothing: it may have been somebody else's that it saw
    const before = all.findLast(({ kind }) => kind !== "present")
    const kept = yield* manifests(git, later.map(({ id }) => ({ id, ref: refOf(id) })))

    const touched = new Set(kept.flatMap((manifest) => manifest.touched))
    const late = new Map<string, KeptFile | null>()
    const left = new Set(target.manifest.left.map(([path]) => path))
    for (const [n, manifest] of kept.entries()) {
      const wanted = manifest.extra.filter((path) => !late.has(path) && !target.files.has(path) && isBelow(path, left))
      const one = later[n]
      if (wanted.length === 0 || one === undefined) continue
      const { files } = yield* listing(git, one.id, refOf(one.id))
      for (const path of wanted) late.set(path, files.get(path) ?? null)
    }
    const last: Listing | null = before === undefined ? null : yield* listing(git, before.id, refOf(before.id))
    const { snapshot: present } = yield* take({
      session_id,
      key,
      kind: "present",
      also: [...target.manifest.ignored, ...late.keys()],
      // a run that was cut off has not said what it changed
      ...(before === undefined || before.kind !== "before" ? {} : { since: before.id })
    })
    const now = index.load()
    if (now === null) {
      return yield* new SnapshotError({ reason: "failed", message: `${index.file} cannot be read back` })
    }
    if (before?.kind === "before") {
      const [own] = yield* manifests(git, [{ id: present.id, ref: refOf(present.id) }])
      for (const path of own?.touched ?? []) touched.add(path)
    }
    const steps = stepsTo({ target, present: now, touched, late, last })
    const apply: Effect.Effect<Restored, SnapshotError> = repository.exclusive(Effect.gen(function*() {
      const end = yield* restore({ processes, git, root, present: now, steps })
      const { snapshot } = yield* take({
        session_id,
        key,
        kind: "restored",
        also: [...target.manifest.ignored, ...late.keys()],
        since: present.id
      })
      return { ...end, snapshot }
    }))
    return { present, changes: steps.changes, apply }
  })
