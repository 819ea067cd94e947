/**
 * Takes a snapshot: looks at the tree, writes what is new of it, and says what has changed.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import { fileClock, textOf } from "../platform/ByteTree.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { writePending } from "./Blobs.ts"
import type { Git } from "./Git.ts"
import * as History from "./History.ts"
import type { Ignores } from "./Ignores.ts"
import { importWith, writeCommit, type Writer } from "./Import.ts"
import type { Entry, Index } from "./Index.ts"
import type { IndexCache } from "./IndexCache.ts"
import { listing } from "./Listing.ts"
import { type Manifest, manifestOf, manifestRest } from "./Manifest.ts"
import { type Opener, opener } from "./Opener.ts"
import { crossings, ignoredChanges } from "./Plan.ts"
import * as Refs from "./Refs.ts"
import type { Repository } from "./Repository.ts"
import { knownNames, scan } from "./Scan.ts"
import type { Snapshot, SnapshotError, TakeInput, Taken } from "./Snapshots.ts"
import { treeChanges } from "./TreeChanges.ts"

/** @since 0.1.0 @category models */
export interface TakeMore extends TakeInput {
  /** Files that count whatever their size. */
  readonly also?: Iterable<string>
}

/** What it is done with. @since 0.1.0 @category models */
export interface TakeParts {
  readonly root: string
  readonly processes: ProcessesService
  readonly git: Git
  readonly ignores: Ignores
  readonly index: IndexCache
  readonly ready: Repository["ready"]
  /** Directories of this program inside the root. */
  readonly excluded: () => ReadonlySet<string>
  /** An absolute path as the index has it; null = it is not below the root. */
  readonly relative: (path: string) => string | null
}

/** A file above this many bytes is not kept. */
const maxFileBytes = 512 * 1024 * 1024

const sameSet = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a === b || (a.size === b.size && [...a].every((each) => b.has(each)))

/** The repository must be held (`Repository.exclusive`). @since 0.1.0 @category constructors */
export const make = (parts: TakeParts): (input: TakeMore) => Effect.Effect<Taken, SnapshotError> => {
  const { excluded, git, ignores, index: cache, processes, ready, relative, root } = parts
  /** What the last manifest said. */
  let worded: { readonly index: Index; readonly manifest: Manifest } | null = null
  let number = 0
  const known = knownNames(root)

  const nextId = Effect.gen(function*() {
    const at = yield* Clock.currentTimeMillis
    const chance = yield* Random.nextIntBetween(0, 0x1_0000)
    return { at, id: Refs.idOf(at, number++, chance) }
  })

  /** Ignored files that are not as an earlier snapshot has them. */
  const touchedSince = (
    since: string | undefined,
    now: { readonly entries: ReadonlyMap<string, Entry>; readonly left: ReadonlySet<string> }
  ): Effect.Effect<ReadonlyArray<string>, SnapshotError> =>
    since === undefined ? Effect.succeed([]) : Effect.gen(function*() {
      const previous = cache.load()
      if (previous?.snapshot_id === since) {
        return ignoredChanges({ entries: previous.entries, left: new Set(previous.left.keys()) }, now)
      }
      const ref = yield* History.refOf(git, since)
      if (ref === undefined) return []
      const before = yield* listing(git, since, ref)
      return ignoredChanges({ entries: before.files, left: new Set(before.manifest.left.map(([path]) => path)) }, now)
    })

  const takingWith = (
    input: TakeMore,
    closed: Opener
  ): Effect.Effect<Taken, SnapshotError> =>
    Effect.gen(function*() {
      yield* ready
      const previous = cache.load()
      const named = (input.paths ?? []).flatMap((path) => relative(path) ?? [])
      const extra = new Set([...(previous?.extra ?? []), ...named])
      const outer = ignores.outer()
      const project_index = ignores.projectIndex()
      const look = (verdicts_hold: boolean, tracked: ReadonlySet<string>) =>
        scan({
          root,
          previous,
          known,
          verdicts_hold,
          excluded: excluded(),
          extra,
          also: input.also ?? [],
          tracked,
          open: (path, mode) => closed.open(path, mode, 0o500),
          ignored: ignores.matched,
          now: fileClock(),
          max_bytes: maxFileBytes
        })
      const sourcesOf = (inner: string) => `${outer}\n${inner}`
      const { at, id } = yield* nextId
      const prepare = Effect.gen(function*() {
        const outside = previous !== null && previous.sources.slice(0, previous.sources.indexOf("\n")) === outer
        let tracked = outside && previous.project_index === project_index ? previous.tracked : yield* ignores.tracked
        const holds = outside && sameSet(tracked, previous.tracked)
        let seen = yield* look(holds, tracked)
        if (holds && sourcesOf(seen.sources) !== previous.sources) {
          tracked = yield* ignores.tracked
          closed.close()
          seen = yield* look(false, tracked)
        }
        return { ...seen, tracked, stamp: sourcesOf(seen.sources) }
      })
      let changed = 0
      let gone: ReadonlyArray<string> = []
      let manifest: Manifest | null = null
      const write = (writer: Writer, seen: Effect.Effect.Success<typeof prepare>) =>
        Effect.gen(function*() {
          const { entries, left, nested } = seen
          const vanished = yield* writePending(writer, { root, previous, seen, open: closed.open })
          const changes = treeChanges(previous, seen, vanished)
          changed = changes.count
          gone = changes.gone
          const touched = [
            ...yield* touchedSince(input.since, { entries, left: new Set(left.keys()) }),
            ...(previous === null || previous.sources === seen.stamp ? [] : crossings(previous.entries, entries))
          ]
          const snapshot: Snapshot = {
            id,
            session_id: input.session_id,
            key: input.key,
            kind: input.kind,
            at,
            changed
          }
          // where only contents have changed, all that is said of modes and folders holds
          manifest = changes.alike && worded !== null && worded.index === previous
            ? { ...worded.manifest, ...manifestRest({ nested, touched, extra, left }) }
            : manifestOf(entries, { nested, touched, extra, left })
          yield* writeCommit(writer, {
            ref: Refs.refOf(input.session_id, id),
            seconds: Math.floor(at / 1000),
            message: Refs.subjectOf(snapshot),
            base: previous?.tree ?? null,
            removed: changes.removed,
            set: changes.set,
            manifest: JSON.stringify(manifest)
          })
        })
      const [tree, next] = yield* importWith(processes, git, {
        prepare,
        write,
        meanwhile: ({ changed: paths, entries, left, nested, stamp, tracked }) => {
          const index = { snapshot_id: id, entries, left, nested, extra, tracked, sources: stamp, project_index }
          return { index, encoded: cache.encode(index, paths, gone) }
        }
      })
      const { left } = next.index
      const index = { ...next.index, tree }
      yield* cache.save(index, next.encoded)
      if (manifest !== null) worded = { index, manifest }
      return {
        snapshot: { id, session_id: input.session_id, key: input.key, kind: input.kind, at, changed },
        left_out: [...left.values()].filter(({ path }) => previous?.left.has(path) !== true)
          .map((one) => ({ ...one, path: textOf(one.path) }))
      }
    })

  return (input) =>
    Effect.suspend(() => {
      const closed = opener(root)
      return Effect.ensuring(takingWith(input, closed), Effect.sync(closed.close))
    })
}
