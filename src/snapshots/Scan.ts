/**
 * Looks at the whole tree and says what has to be read again. Everything counts but `.git` and what the ignore rules of
 * git match; of that, what is small and near: each file up to 10 MiB, within a total, folders of a thousand files not at all.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import {
  breathe,
  canEnter,
  lookAt,
  lookUnlessAs,
  namesIn,
  type NodeStat,
  type Place,
  placeOf
} from "../platform/ByteTree.ts"
import type { Entry, Index } from "./Index.ts"
import { type LeftOut, SnapshotError } from "./Snapshots.ts"

/** Bytes of an ignored file. @since 0.1.0 @category constants */
export const maxIgnoredBytes = 10 * 1024 * 1024
/** Files of one ignored folder; one that has more is left out as a whole. @since 0.1.0 @category constants */
export const maxIgnoredInFolder = 1_000
const maxIgnoredFiles = 4_000
const maxIgnoredTotal = 64 * 1024 * 1024
/** Files and folders of a tree. */
const maxEntries = 200_000
/** Milliseconds that a file system's clock may lag behind. */
const raceMs = 50
/** Milliseconds at a stretch. */
const stretchMs = 12

const below = (directory: string, name: string): string => directory === "" ? name : `${directory}/${name}`

/** Paths of what directories hold, which most often is what they held before. @since 0.1.0 @category models */
export interface KnownNames {
  readonly of: (
    directory: string,
    names: ReadonlyArray<string>
  ) => { readonly paths: ReadonlyArray<string>; readonly places: ReadonlyArray<Place> }
}

/** @since 0.1.0 @category constructors */
export const knownNames = (root: string): KnownNames => {
  const all = new Map<
    string,
    {
      readonly names: ReadonlyArray<string>
      readonly paths: ReadonlyArray<string>
      readonly places: ReadonlyArray<Place>
    }
  >()
  return {
    of: (directory, names) => {
      const before = all.get(directory)
      if (
        before !== undefined && before.names.length === names.length &&
        names.every((name, n) => name === before.names[n])
      ) {
        return before
      }
      const paths = names.map((name) => below(directory, name))
      const now = { names, paths, places: paths.map((path) => placeOf(root, path)) }
      all.set(directory, now)
      return now
    }
  }
}

/** @since 0.1.0 @category models */
export interface ScanInput {
  readonly root: string
  readonly previous: Index | null
  readonly known: KnownNames
  /** What the ignore rules said before holds still. */
  readonly verdicts_hold: boolean
  /** Directories of this program inside the root. */
  readonly excluded: ReadonlySet<string>
  /** Ignored files that count all the same. */
  readonly extra: Iterable<string>
  /** Files that count whatever their size. */
  readonly also: Iterable<string>
  /** Files of the project's index: never ignored. */
  readonly tracked: ReadonlySet<string>
  /** Opens a directory that its mode has closed, for the time of the look; false = it stays closed. */
  readonly open: (path: string, mode: number) => boolean
  /** Those of the paths that the rules match; all of them are there. */
  readonly ignored: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, SnapshotError>
  /** Milliseconds since the epoch, by the clock of the files. */
  readonly now: number
  /** A file above this is never kept. */
  readonly max_bytes: number
}

/** @since 0.1.0 @category models */
export interface Scanned {
  /** `oid` is "" where the file has to be read. */
  readonly entries: Map<string, Entry>
  readonly left: Map<string, LeftOut>
  readonly nested: ReadonlyArray<string>
  readonly pending: ReadonlyArray<string>
  /** All that is new or another than before, `pending` among it. */
  readonly changed: ReadonlyArray<string>
  /** How many of those before are there. */
  readonly kept: number
  readonly sources: string
}

interface Found {
  readonly path: string
  readonly stat: Omit<NodeStat, "names">
}

const parentOf = (path: string): string => {
  const at = path.lastIndexOf("/")
  return at < 0 ? "" : path.slice(0, at)
}

/** @since 0.1.0 @category constructors */
export const scan = (input: ScanInput): Effect.Effect<Scanned, SnapshotError> =>
  Effect.gen(function*() {
    const { excluded, now, previous, root, tracked } = input
    const before = previous?.entries ?? new Map<string, Entry>()
    const entries = new Map<string, Entry>()
    const left = new Map<string, LeftOut>()
    const nested: Array<string> = []
    const pending: Array<string> = []
    const changed: Array<string> = []
    let kept = 0
    const rules: Array<string> = []
    const ignoredFiles: Array<Found> = []
    const ignoredDirectories: Array<Found> = []

    const leave = (path: string, reason: LeftOut["reason"], size: number | null): void =>
      void left.set(path, { path, reason, size })

    const record = ({ path, stat }: Found, ignored: boolean): void => {
      const { ctime, ino, kind, mode, mtime, size } = stat
      if (kind === "other") return
      const old = before.get(path)
      if (
        old !== undefined && old.ctime === ctime && old.mtime === mtime && old.size === size && old.ino === ino &&
        old.mode === mode && old.kind === kind && !old.racy && old.ignored === ignored
      ) {
        if (!entries.has(path)) kept++
        entries.set(path, old)
        return
      }
      if (kind === "file" && size > input.max_bytes) return leave(path, "size", size)
      if (kind !== "directory") pending.push(path)
      const racy = kind !== "directory" && Math.max(ctime, mtime) >= now - raceMs
      if (old !== undefined && !entries.has(path)) kept++
      changed.push(path)
      entries.set(path, { kind, size, mtime, ctime, ino, mode, oid: "", ignored, racy })
    }

    let next: Array<string> = []
    const place = (found: Found, matched: boolean): void => {
      const { path, stat } = found
      const ignored = matched && !tracked.has(path)
      if (stat.kind === "other") leave(path, "special", null)
      else if (!ignored) {
        record(found, false)
        if (stat.kind === "directory") next.push(path)
        else if (path.endsWith(".gitignore") && (path.length === 10 || path.at(-11) === "/")) {
          rules.push(`${path}:${stat.ctime}:${stat.size}`)
        }
      } else if (stat.kind === "directory") ignoredDirectories.push(found)
      else ignoredFiles.push(found)
    }

    /** It is as it was; the rules too. */
    const stay = (path: string, old: Entry): void => {
      if (old.ignored) return place({ path, stat: old }, true)
      entries.set(path, old)
      kept++
      if (old.kind === "directory") next.push(path)
      else if (path.endsWith(".gitignore") && (path.length === 10 || path.at(-11) === "/")) {
        rules.push(`${path}:${old.ctime}:${old.size}`)
      }
    }

    /** What is known of a path from before: true = the rules match it, undefined = it has to be asked. */
    const known = (path: string): boolean | undefined => {
      if (!input.verdicts_hold) return undefined
      const old = before.get(path)
      if (old !== undefined) return old.ignored
      const gone = previous?.left.get(path)
      return gone?.reason === "many" || gone?.reason === "total" ? true : undefined
    }

    let stretch = performance.now()
    const rest = Effect.suspend(() => {
      if (performance.now() - stretch < stretchMs) return Effect.void
      return Effect.map(breathe, () => void (stretch = performance.now()))
    })

    /** A directory without the right to look at what is in it; what is closed since it was looked at last is opened. */
    const isClosed = (directory: string, names: ReturnType<typeof namesIn>): boolean => {
      const mode = entries.get(directory)?.mode
      return names === "denied" ||
        (names !== "gone" && mode !== undefined && (mode & 0o111) !== 0o111 && !canEnter(root, directory))
    }
    const read = (directory: string): ReturnType<typeof namesIn> => {
      const names = namesIn(root, directory)
      if (!isClosed(directory, names)) return names
      const mode = entries.get(directory)?.mode
      if (mode === undefined || previous === null || previous.left.has(directory) || !input.open(directory, mode)) {
        return "denied"
      }
      return namesIn(root, directory)
    }

    let level: Array<string> = [""]
    while (level.length > 0) {
      const unknown: Array<Found> = []
      next = []
      for (const directory of level) {
        const names = read(directory)
        if (names === "gone") {
          if (entries.delete(directory) && before.has(directory)) kept--
          continue
        }
        if (names === "denied") {
          leave(directory, "unreadable", null)
          continue
        }
        const listed = input.known.of(directory, names)
        for (let n = 0; n < names.length; n++) {
          const path = listed.paths[n]
          if (path === undefined) continue
          if (names[n] === ".git") {
            if (directory !== "") nested.push(directory)
            continue
          }
          if (excluded.size > 0 && excluded.has(path)) continue
          const old = input.verdicts_hold ? before.get(path) : undefined
          const system_place = listed.places[n]
          const stat = old === undefined || old.racy || system_place === undefined
            ? lookAt(root, path)
            : lookUnlessAs(system_place, old)
          if (stat === null) continue
          if (stat === true) {
            if (old !== undefined) stay(path, old)
            continue
          }
          const verdict = known(path)
          if (verdict === undefined) unknown.push({ path, stat })
          else place({ path, stat }, verdict)
        }
        if (performance.now() - stretch >= stretchMs) yield* rest
      }
      if (unknown.length > 0) {
        const matched = yield* input.ignored(unknown.map(({ path }) => path))
        stretch = performance.now()
        for (const found of unknown) place(found, matched.has(found.path))
      }
      if (entries.size > maxEntries) {
        return yield* new SnapshotError({
          reason: "too_many",
          message:
            `${root} has more than ${maxEntries} files and folders that are not ignored: no snapshots are taken. ` +
            `Name what need not be kept in a .gitignore, or set checkpoints to false`
        })
      }
      level = next
    }

    /** Is the way to it one of directories, none of them a link? */
    const ways = new Map<string, boolean>([["", true]])
    const isWay = (directory: string): boolean => {
      const seen = ways.get(directory)
      if (seen !== undefined) return seen
      const real = entries.get(directory)?.kind === "directory" ||
        (isWay(parentOf(directory)) && lookAt(root, directory)?.kind === "directory")
      ways.set(directory, real)
      return real
    }
    const single = (path: string, ignored: boolean, max: number): void => {
      const parts = path.split("/")
      if (
        entries.has(path) || parts.includes(".git") ||
        parts.some((_, n) => excluded.has(parts.slice(0, n + 1).join("/")))
      ) return
      if (!isWay(parentOf(path))) return
      const stat = lookAt(root, path)
      if (stat === null || stat.kind === "directory" || stat.kind === "other") return
      if (stat.kind === "file" && stat.size > max) leave(path, "size", stat.size)
      else record({ path, stat }, ignored)
    }
    for (const path of tracked) single(path, false, input.max_bytes)
    for (const path of input.also) single(path, true, input.max_bytes)
    for (const path of input.extra) single(path, true, maxIgnoredBytes)

    let files = 0
    let bytes = 0
    const offer = (found: Found): void => {
      const { path, stat } = found
      if (entries.has(path)) return
      const size = stat.kind === "file" ? stat.size : 0
      if (size > maxIgnoredBytes) return leave(path, "size", size)
      if (files >= maxIgnoredFiles || bytes + size > maxIgnoredTotal) return leave(path, "total", size)
      files++
      bytes += size
      record(found, true)
    }
    for (const found of ignoredFiles) offer(found)

    /** All that an ignored folder holds; null = too much. */
    const collect = (top: string): ReadonlyArray<Found> | null => {
      const all: Array<Found> = []
      const waiting = [top]
      for (let directory = waiting.shift(); directory !== undefined; directory = waiting.shift()) {
        const names = namesIn(root, directory)
        if (names === "gone") continue
        if (
          names === "denied" || all.length + names.length > maxIgnoredInFolder || !canEnter(root, directory)
        ) return null
        for (const name of names) {
          const path = below(directory, name)
          if (name === ".git" || excluded.has(path)) continue
          const stat = lookAt(root, path)
          if (stat === null) continue
          if (stat.kind === "other") leave(path, "special", null)
          else all.push({ path, stat })
          if (stat.kind === "directory") waiting.push(path)
        }
      }
      return all
    }
    for (const directory of ignoredDirectories) {
      const was = input.verdicts_hold ? previous?.left.get(directory.path) : undefined
      const found = was?.reason === "many" ? null : collect(directory.path)
      if (found === null) leave(directory.path, "many", null)
      else {
        record(directory, true)
        for (const one of found) {
          if (one.stat.kind === "directory") record(one, true)
          else offer(one)
        }
      }
      yield* rest
    }
    return { entries, left, nested, pending, changed, kept, sources: rules.sort().join("\n") }
  })
