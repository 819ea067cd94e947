/**
 * Snapshots, at work: one repository for each root, one writer at a time over all processes.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { Config } from "../config/Config.ts"
import { Workspace } from "../domain/Workspace.ts"
import { blobHash, bytesOf, fileClock, linkTarget, lookAt, openFile, textOf } from "../platform/ByteTree.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import { FileLock } from "../platform/FileLock.ts"
import * as Kept from "../platform/KeptFiles.ts"
import { Processes } from "../platform/Processes.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import * as Git from "./Git.ts"
import * as Ignores from "./Ignores.ts"
import { importWith, writeBlob, writeCommit, type Writer } from "./Import.ts"
import * as IndexFile from "./Index.ts"
import type { Entry, Index } from "./Index.ts"
import { batchOf, type KeptFile, type Listing, listing, manifests } from "./Listing.ts"
import { isProgram, type Manifest, manifestOf, manifestRest } from "./Manifest.ts"
import { type Opener, opener } from "./Opener.ts"
import { crossings, ignoredChanges, isBelow, stepsTo } from "./Plan.ts"
import * as Prune from "./Prune.ts"
import * as Refs from "./Refs.ts"
import { restore } from "./Restore.ts"
import { knownNames, scan } from "./Scan.ts"
import {
  type Plan,
  type PlanInput,
  type Restored,
  type Snapshot,
  SnapshotError,
  type SnapshotsService,
  type TakeInput,
  type Taken
} from "./Snapshots.ts"

/** Milliseconds to wait for another process. */
const patience = 20_000
/** A file above this many bytes is not kept. */
const maxFileBytes = 512 * 1024 * 1024
/** Read as a whole, so that what has not changed is not written. */
const wholeBytes = 4 * 1024 * 1024
/** Lines behind the whole index. */
const maxAppended = 50
const dayMs = 86_400_000
const pieceBytes = 1024 * 1024

const modeOf = (entry: Pick<Entry, "kind" | "mode">): "100644" | "100755" | "120000" =>
  entry.kind === "link" ? "120000" : isProgram(entry.mode) ? "100755" : "100644"

const attempt = (act: () => void): Effect.Effect<void, SnapshotError> =>
  Effect.try({
    try: act,
    catch: (error) =>
      new SnapshotError({
        reason: "failed",
        message: `snapshots cannot be written: ${error instanceof Error ? error.message : String(error)}`
      })
  })

interface TakeMore extends TakeInput {
  /** Files that count whatever their size. */
  readonly also?: Iterable<string>
}

/** A link or a small file as it is now; null = neither. */
const wholeOf = (root: string, path: string, entry: Entry): Uint8Array | "large" | null => {
  if (entry.kind === "link") return linkTarget(root, path)
  const file = openFile(root, path)
  if (file === null) return null
  try {
    return file.size > wholeBytes ? "large" : file.read(file.size)
  } finally {
    file.close()
  }
}

const sameSet = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a === b || (a.size === b.size && [...a].every((each) => b.has(each)))

const hashOf = (bytes: Uint8Array): string => {
  const hash = blobHash(bytes.byteLength)
  hash.update(bytes)
  return hash.digest()
}

/** Writes a large file as it is read; what it lacks at its end is filled up, and it is read again the next time. */
const writeLarge = (writer: Writer, root: string, path: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => openFile(root, path)),
    (file) =>
      Effect.gen(function*() {
        if (file === null) return null
        const hash = blobHash(file.size)
        let left = file.size
        yield* writeBlob(
          writer,
          file.size,
          Effect.sync(() => {
            if (left === 0) return null
            const wanted = Math.min(pieceBytes, left)
            const read = file.read(wanted)
            const piece = read.byteLength === 0 ? new Uint8Array(wanted) : read
            left -= piece.byteLength
            hash.update(piece)
            return piece
          })
        )
        return hash.digest()
      }),
    (file) => Effect.sync(() => file?.close())
  )

/** @since 0.1.0 @category constructors */
export const make = (
  scope: Scope.Scope
): Effect.Effect<SnapshotsService, never, Workspace | Dirs | Environment | Processes | Config> =>
  Effect.gen(function*() {
    const { root } = yield* Workspace
    const dirs = yield* Dirs
    const environment = yield* Environment
    const processes = yield* Processes
    const { config } = yield* Config
    const lock = Context.get(yield* Layer.buildWithScope(FileLock.layer, scope), FileLock)
    const turn = yield* Effect.makeSemaphore(1)

    const home = `${dirs.data}/snapshots/${sha256Hex(root).slice(0, 32)}`
    const repo = `${home}/repo`
    const indexFile = `${home}/index.json`
    const made = `${home}/root`
    const prunedFile = `${home}/pruned`
    const git = Git.make(processes, environment, { root, repo, home })
    const ignores = Ignores.make(git, { root, repo, excludes: Ignores.personalRules(environment, dirs) })

    let memory: {
      readonly stamp: string
      readonly index: Index
      /** Lines can go behind what is there. */
      readonly appendable: boolean
      readonly appended: number
    } | null = null
    /** What the last manifest said. */
    let worded: { readonly index: Index; readonly manifest: Manifest } | null = null
    /** The last snapshot that this process took. */
    let last: Index | null = null
    let number = 0
    const known = knownNames(root)

    const exclusive = <A>(effect: Effect.Effect<A, SnapshotError>): Effect.Effect<A, SnapshotError> =>
      turn.withPermits(1)(Effect.scoped(Effect.zipRight(
        Effect.mapError(
          lock.acquire(repo, { timeout: Duration.millis(patience), create_parents: 0o700 }),
          (error) => new SnapshotError({ reason: error.reason === "busy" ? "busy" : "failed", message: error.message })
        ),
        effect
      )))

    const begin = Effect.gen(function*() {
      yield* git.ok({ args: ["init", "--quiet", "--bare", "--template="], variables: { GIT_DEFAULT_HASH: "sha1" } })
      yield* git.ok({ args: ["config", "core.bare", "true"] })
      yield* attempt(() => {
        Kept.ensure(`${repo}/info`)
        Kept.replaceText(made, `${root}\n`)
      })
    })

    const ready = Effect.gen(function*() {
      if (Kept.readText(made) === null) yield* begin
      yield* attempt(ignores.refresh)
    })

    let mended = false

    /** What can be made again where the repository is damaged; nothing that it holds goes, and all files are read anew. */
    const mend = Effect.suspend(() => {
      mended = true
      Kept.forget(`${repo}/config`)
      Kept.forget(indexFile)
      memory = null
      last = null
      return begin
    })

    const isDamage = (error: SnapshotError): boolean => error.reason === "failed" && !mended

    const advised = (error: SnapshotError): SnapshotError =>
      error.reason !== "failed" || !error.message.startsWith("git ") ||
        /no space left|out of disk/iu.test(error.message)
        ? error
        : new SnapshotError({
          reason: "failed",
          message: `${error.message}. If that stays: remove ${home} to begin anew, without what is kept in it`
        })

    /** Once more where something was damaged, then with what to do. */
    const mending = <A>(effect: Effect.Effect<A, SnapshotError>): Effect.Effect<A, SnapshotError> =>
      effect.pipe(
        Effect.catchIf(isDamage, (error) => mend.pipe(Effect.mapError(() => error), Effect.zipRight(effect))),
        Effect.mapError(advised)
      )

    const load = (): Index | null => {
      const stamp = Kept.stampOf(indexFile)
      if (stamp === "") return null
      if (memory?.stamp === stamp) return memory.index
      const text = Kept.readText(indexFile)
      const read = text === null ? null : IndexFile.decode(text)
      memory = read === null ? null : { stamp, index: read.index, appendable: read.intact, appended: 0 }
      return memory?.index ?? null
    }

    /** A few changes go behind what is in the file; now and then, and when there are many, it is written anew. */
    const worthAppending = (changes: number): boolean =>
      memory !== null && memory.appendable && memory.appended < maxAppended && changes < 200

    const save = (index: Index, text: string, whole: boolean) =>
      Effect.map(attempt(() => whole ? Kept.replaceText(indexFile, text) : Kept.appendText(indexFile, text)), () => {
        memory = {
          stamp: Kept.stampOf(indexFile),
          index,
          appendable: true,
          appended: whole ? 0 : (memory?.appended ?? 0) + 1
        }
        last = index
      })

    /** Directories of this program inside the root. */
    const excluded = (): ReadonlySet<string> => {
      const out = new Set<string>()
      for (const directory of [dirs.data, dirs.state, dirs.cache, dirs.config]) {
        const real = Kept.realPath(directory)
        const inside = real === null ? null : Kept.within(root, real)
        if (inside !== null) out.add(bytesOf(inside))
      }
      return out
    }

    const relative = (path: string): string | null => {
      const inside = Kept.within(root, path)
      return inside === null ? null : bytesOf(inside)
    }

    /** Snapshots of a session, oldest first. */
    const listed = (session_id: string): Effect.Effect<ReadonlyArray<Snapshot>, SnapshotError> =>
      Kept.readText(made) === null
        ? Effect.succeed([])
        : git.ok({ args: ["for-each-ref", "--format=%(contents:subject)", Refs.folderOf(session_id)] }).pipe(
          Effect.map(({ stdout }) => new TextDecoder().decode(stdout)),
          Effect.catchIf(({ reason }) => reason === "failed", () => subjects(session_id)),
          Effect.map(Refs.snapshotsOf)
        )

    /** Those of the commits that can be read, where not all of them can. */
    const subjects = (session_id: string): Effect.Effect<string, SnapshotError> =>
      Effect.gen(function*() {
        const named = yield* git.ok({ args: ["for-each-ref", "--format=%(refname)", Refs.folderOf(session_id)] })
        const { stdout } = yield* git.run({ args: ["cat-file", "--batch"], stdin: named.stdout })
        return batchOf(stdout).flatMap((commit) =>
          commit === null ? [] : new TextDecoder().decode(commit).split("\n\n")[1]?.split("\n")[0] ?? []
        ).join("\n")
      })

    const nextId = Effect.gen(function*() {
      const at = yield* Clock.currentTimeMillis
      const chance = yield* Random.nextIntBetween(0, 0x1_0000)
      return { at, id: Refs.idOf(at, number++, chance) }
    })

    const taking = (input: TakeMore): Effect.Effect<Taken, SnapshotError> =>
      Effect.suspend(() => {
        const closed = opener(root)
        return Effect.ensuring(takingWith(input, closed), Effect.sync(closed.close))
      })

    const takingWith = (
      input: TakeMore,
      closed: Opener
    ): Effect.Effect<Taken, SnapshotError> =>
      Effect.gen(function*() {
        yield* ready
        const previous = load()
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
        let vanished = false
        let manifest: Manifest | null = null
        const gone: Array<string> = []
        const write = (writer: Writer, seen: Effect.Effect.Success<typeof prepare>) =>
          Effect.gen(function*() {
            const { entries, left, nested } = seen
            const known = new Set<string>()
            for (const path of seen.pending) {
              const entry = entries.get(path)
              if (entry === undefined) continue
              const old = previous?.entries.get(path)
              let content = wholeOf(root, path, entry)
              if (
                content === null && entry.kind === "file" && (entry.mode & 0o400) === 0 && previous !== null &&
                !previous.left.has(path) && closed.open(path, entry.mode, 0o400)
              ) content = wholeOf(root, path, entry)
              let oid: string | null = null
              let size = entry.size
              if (content === "large") oid = yield* writeLarge(writer, root, path)
              else if (content !== null) {
                oid = hashOf(content)
                size = content.byteLength
                if (oid !== old?.oid && !known.has(oid)) {
                  let done = false
                  yield* writeBlob(
                    writer,
                    size,
                    Effect.sync(() => {
                      if (done || size === 0) return null
                      done = true
                      return content
                    })
                  )
                  known.add(oid)
                }
              }
              if (oid === null) {
                entries.delete(path)
                vanished = true
                if (lookAt(root, path) !== null) left.set(path, { path, reason: "unreadable", size: null })
              } else {
                entries.set(path, {
                  ...entry,
                  oid,
                  ...(size === entry.size || entry.kind === "link" ? {} : { racy: true })
                })
              }
            }
            const removed: Array<string> = []
            gone.length = 0
            const set: Array<{ path: string; mode: ReturnType<typeof modeOf>; oid: string }> = []
            const whole = previous !== null && !vanished && seen.kept === previous.entries.size
            for (const [path, old] of whole ? [] : previous?.entries ?? []) {
              if (!entries.has(path)) gone.push(path)
              if (old.kind === "directory") continue
              const now = entries.get(path)
              if (now === undefined || now.kind === "directory") removed.push(path)
            }
            let alike = whole
            for (const path of seen.changed) {
              const now = entries.get(path)
              const old = previous?.entries.get(path)
              if (now === undefined || old?.kind !== now.kind || old.mode !== now.mode || old.ignored !== now.ignored) {
                alike = false
              }
              if (now === undefined || now.kind === "directory") continue
              if (old === undefined || old.oid !== now.oid || modeOf(old) !== modeOf(now) || old.kind === "directory") {
                set.push({ path, mode: modeOf(now), oid: now.oid })
              } else if (old.mode !== now.mode) changed++
            }
            changed += removed.length + set.length
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
            manifest = alike && worded !== null && worded.index === previous
              ? { ...worded.manifest, ...manifestRest({ nested, touched, extra, left }) }
              : manifestOf(entries, { nested, touched, extra, left })
            yield* writeCommit(writer, {
              ref: Refs.refOf(input.session_id, id),
              seconds: Math.floor(at / 1000),
              message: Refs.subjectOf(snapshot),
              base: previous?.tree ?? null,
              removed,
              set,
              manifest: JSON.stringify(manifest)
            })
          })
        const [tree, next] = yield* importWith(processes, git, {
          prepare,
          write,
          meanwhile: ({ changed: paths, entries, left, nested, stamp, tracked }) => {
            const index = { snapshot_id: id, entries, left, nested, extra, tracked, sources: stamp, project_index }
            return {
              index,
              ...worthAppending(paths.length + gone.length)
                ? IndexFile.delta(index, paths, gone)
                : IndexFile.whole(index)
            }
          }
        })
        const { left } = next.index
        const index = { ...next.index, tree }
        yield* save(index, next.text(tree), next.whole)
        if (manifest !== null) worded = { index, manifest }
        return {
          snapshot: { id, session_id: input.session_id, key: input.key, kind: input.kind, at, changed },
          left_out: [...left.values()].filter(({ path }) => previous?.left.has(path) !== true)
            .map((one) => ({ ...one, path: textOf(one.path) }))
        }
      })

    /** Ignored files that are not as an earlier snapshot has them. */
    const touchedSince = (
      since: string | undefined,
      now: { readonly entries: ReadonlyMap<string, Entry>; readonly left: ReadonlySet<string> }
    ): Effect.Effect<ReadonlyArray<string>, SnapshotError> =>
      since === undefined ? Effect.succeed([]) : Effect.gen(function*() {
        const previous = load()
        if (previous?.snapshot_id === since) {
          return ignoredChanges({ entries: previous.entries, left: new Set(previous.left.keys()) }, now)
        }
        const all = yield* git.ok({ args: ["for-each-ref", "--format=%(refname)", "refs/snapshots"] })
        const ref = new TextDecoder().decode(all.stdout).split("\n").find((one) => one.endsWith(`/${since}`))
        if (ref === undefined) return []
        const before = yield* listing(git, since, ref)
        return ignoredChanges({ entries: before.files, left: new Set(before.manifest.left.map(([path]) => path)) }, now)
      })

    const planning = ({ key, session_id, snapshot_id }: PlanInput): Effect.Effect<Plan, SnapshotError> =>
      Effect.gen(function*() {
        yield* ready
        const refOf = (id: string) => Refs.refOf(session_id, id)
        const target = yield* listing(git, snapshot_id, refOf(snapshot_id))
        const all = yield* listed(session_id)
        const later = all.filter(({ id }) => id > snapshot_id)
        // a look at the present changes nothing: it may have been somebody else's that it saw
        const before = all.findLast(({ kind }) => kind !== "present")
        const kept = yield* manifests(git, later.map(({ id }) => ({ id, ref: refOf(id) })))

        const touched = new Set(kept.flatMap((manifest) => manifest.touched))
        const late = new Map<string, KeptFile | null>()
        const left = new Set(target.manifest.left.map(([path]) => path))
        for (const [n, manifest] of kept.entries()) {
          const wanted = manifest.extra.filter((path) =>
            !late.has(path) && !target.files.has(path) && isBelow(path, left)
          )
          const one = later[n]
          if (wanted.length === 0 || one === undefined) continue
          const { files } = yield* listing(git, one.id, refOf(one.id))
          for (const path of wanted) late.set(path, files.get(path) ?? null)
        }
        const lastListing: Listing | null = before === undefined
          ? null
          : yield* listing(git, before.id, refOf(before.id))
        const { snapshot: present } = yield* taking({
          session_id,
          key,
          kind: "present",
          also: [...target.manifest.ignored, ...late.keys()],
          // a run that was cut off has not said what it changed
          ...(before === undefined || before.kind !== "before" ? {} : { since: before.id })
        })
        const index = load()
        if (index === null) {
          return yield* new SnapshotError({ reason: "failed", message: `${indexFile} cannot be read back` })
        }
        if (before?.kind === "before") {
          const [own] = yield* manifests(git, [{ id: present.id, ref: refOf(present.id) }])
          for (const path of own?.touched ?? []) touched.add(path)
        }
        const steps = stepsTo({ target, present: index, touched, late, last: lastListing })
        const apply: Effect.Effect<Restored, SnapshotError> = exclusive(Effect.gen(function*() {
          const end = yield* restore({ processes, git, root, present: index, steps })
          const { snapshot } = yield* taking({
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

    const pruning = Effect.suspend(() =>
      Kept.readText(made) === null ? Effect.succeed(0) : Prune.prune(git, {
        repo,
        days: config.checkpoint_days,
        max_bytes: config.checkpoint_max_mb * 1024 * 1024,
        forget: () => {
          Kept.forget(indexFile)
          memory = null
          last = null
        }
      })
    )

    /** Once a day, beside whoever took a snapshot. */
    const pruneSometimes = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const before = Number(Kept.readText(prunedFile) ?? "0")
      if (Math.abs(now - before) < dayMs) return
      yield* attempt(() => Kept.replaceText(prunedFile, `${now}`))
      if (before > 0) yield* Effect.forkIn(Effect.ignoreLogged(exclusive(pruning)), scope)
    })

    return {
      take: (input) =>
        exclusive(mending(taking(input))).pipe(
          Effect.tap(() => input.kind === "after" ? pruneSometimes : Effect.void),
          Effect.withSpan("Snapshots.take")
        ),
      covers: (path) =>
        Effect.sync(() => {
          const inside = relative(path)
          if (inside === null) return true
          if (last === null) return false
          return last.entries.has(inside) || last.extra.has(inside) || !isBelow(inside, new Set(last.left.keys()))
        }),
      list: (session_id) =>
        listed(session_id).pipe(
          Effect.catchIf(isDamage, () => exclusive(mending(listed(session_id)))),
          Effect.mapError(advised)
        ),
      plan: (input) => Effect.withSpan(exclusive(mending(planning(input))), "Snapshots.plan"),
      prune: exclusive(pruning)
    } satisfies SnapshotsService
  })
