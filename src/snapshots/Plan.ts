/**
 * What has to happen to the files so that they are as a snapshot has them. Pure.
 *
 * Ignored files count only where tools have changed them since; what the snapshot had left out is left alone.
 *
 * @since 0.1.0
 */
import type { Entry, Index } from "./Index.ts"
import { above, type KeptFile, keptOf, type Listing } from "./Listing.ts"
import { textOf } from "../platform/ByteTree.ts"
import type { FileChange } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface StepsInput {
  readonly target: Listing
  readonly present: Pick<Index, "entries">
  /** Ignored files that tools have changed since; `all` = nobody knows. */
  readonly touched: ReadonlySet<string> | "all"
  /** Files that only later snapshots have kept, as they were then; null = not there. */
  readonly late: ReadonlyMap<string, KeptFile | null>
  /** The session's last snapshot before the present one; null = none. */
  readonly last: Listing | null
}

/** In the order in which they are done. @since 0.1.0 @category models */
export interface Steps {
  readonly remove: ReadonlyArray<string>
  /** Deepest first; only where nothing is left in them. */
  readonly remove_directories: ReadonlyArray<string>
  readonly make_directories: ReadonlyArray<string>
  readonly write: ReadonlyArray<{ readonly path: string; readonly file: KeptFile }>
  readonly modes: ReadonlyArray<{ readonly path: string; readonly mode: number }>
  /** Modes of directories at the end, deepest first. */
  readonly directory_modes: ReadonlyMap<string, number>
  readonly changes: ReadonlyArray<FileChange>
}

/** @since 0.1.0 @category combinators */
export const sameFile = (
  a: Pick<KeptFile, "kind" | "oid" | "mode"> | null | undefined,
  b: Pick<KeptFile, "kind" | "oid" | "mode"> | null | undefined
): boolean =>
  a === null || a === undefined || b === null || b === undefined
    ? (a ?? null) === (b ?? null)
    : a.kind === b.kind && a.oid === b.oid && a.mode === b.mode

/** Is it, or is something above it, among these? @since 0.1.0 @category combinators */
export const isBelow = (path: string, tops: ReadonlySet<string>): boolean =>
  tops.size > 0 && (tops.has(path) || above(path).some((at) => tops.has(at)))

const deepestFirst = (a: string, b: string): number => {
  const depth = b.split("/").length - a.split("/").length
  return depth !== 0 ? depth : a < b ? -1 : 1
}

const fileOf = (entry: Entry | undefined): KeptFile | null => entry === undefined ? null : keptOf(entry)

/** @since 0.1.0 @category constructors */
export const stepsTo = ({ last, late, present, target, touched }: StepsInput): Steps => {
  const left = new Set(target.manifest.left.map(([path]) => path))
  const isTouched = (path: string): boolean => touched === "all" || touched.has(path)
  const wanted = (path: string): KeptFile | null => target.files.get(path) ?? late.get(path) ?? null
  const leftAlone = (path: string): boolean => !target.files.has(path) && !late.has(path) && isBelow(path, left)

  const remove: Array<string> = []
  const write: Array<{ path: string; file: KeptFile }> = []
  const modes: Array<{ path: string; mode: number }> = []
  const changes: Array<FileChange> = []
  const paths = new Set([...target.files.keys(), ...late.keys()])
  for (const [path, entry] of present.entries) {
    if (entry.kind !== "directory") paths.add(path)
  }
  for (const path of paths) {
    if (leftAlone(path)) continue
    const is = fileOf(present.entries.get(path))
    const was = wanted(path)
    if (sameFile(is, was)) continue
    const ignored = was === null ? is?.ignored === true : was.ignored
    if (ignored && !isTouched(path) && !late.has(path)) continue
    const conflict = last !== null && !sameFile(is, last.files.get(path))
    const say = (change: FileChange["change"]) => void changes.push({ path: textOf(path), change, conflict })
    if (was === null) {
      remove.push(path)
      say("deleted")
    } else if (is !== null && is.kind === was.kind && is.oid === was.oid) {
      modes.push({ path, mode: was.mode })
      say("mode")
    } else {
      write.push({ path, file: was })
      say(is === null ? "created" : "changed")
    }
  }

  const remove_directories: Array<string> = []
  const make_directories: Array<string> = []
  const directory_modes = new Map<string, number>()
  for (const [path, entry] of present.entries) {
    if (entry.kind !== "directory" || target.directories.has(path) || leftAlone(path)) continue
    if (!entry.ignored || isTouched(path)) remove_directories.push(path)
  }
  for (const [path, { ignored, mode }] of target.directories) {
    const is = present.entries.get(path)
    const here = is?.kind === "directory"
    if (ignored && !isTouched(path)) continue
    if (!here) make_directories.push(path)
    if (!here || is.mode !== mode) directory_modes.set(path, mode)
  }
  // Made on the way to an ignored file, they come back as they were.
  for (const { path } of write) {
    for (const at of above(path)) {
      const kept = target.directories.get(at)
      if (kept !== undefined && present.entries.get(at)?.kind !== "directory") directory_modes.set(at, kept.mode)
    }
  }
  return {
    remove: remove.sort(),
    remove_directories: remove_directories.sort(deepestFirst),
    make_directories: make_directories.sort((a, b) => deepestFirst(b, a)),
    write: write.sort((a, b) => a.path < b.path ? -1 : 1),
    modes,
    directory_modes: new Map([...directory_modes].sort(([a], [b]) => deepestFirst(a, b))),
    changes: changes.sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0)
  }
}

type Known = Pick<Entry, "kind" | "oid" | "mode" | "ignored">

/** Ignored paths that are another thing in the second than in the first, as far as both hold them. @since 0.1.0 @category combinators */
export const ignoredChanges = (
  first: { readonly entries: ReadonlyMap<string, Known>; readonly left: ReadonlySet<string> },
  second: { readonly entries: ReadonlyMap<string, Known>; readonly left: ReadonlySet<string> }
): ReadonlyArray<string> => {
  const out: Array<string> = []
  const look = (path: string, a: Known | undefined, b: Known | undefined): void => {
    if (a?.kind === b?.kind && a?.oid === b?.oid && a?.mode === b?.mode) return
    if (!isBelow(path, first.left) && !isBelow(path, second.left)) out.push(path)
  }
  for (const [path, entry] of second.entries) {
    const before = first.entries.get(path)
    if (entry.ignored || before?.ignored === true) look(path, before, entry)
  }
  for (const [path, entry] of first.entries) {
    if (entry.ignored && !second.entries.has(path)) look(path, entry, undefined)
  }
  return out
}

/**
 * Paths that rules match in one of two looks and not in the other. What is not ignored is put back whatever has changed it:
 * from here on they are such, or have been.
 *
 * @since 0.1.0
 * @category combinators
 */
export const crossings = (
  first: ReadonlyMap<string, Pick<Entry, "ignored">>,
  second: ReadonlyMap<string, Pick<Entry, "ignored">>
): ReadonlyArray<string> =>
  [...second].flatMap(([path, { ignored }]) => {
    const before = first.get(path)
    return before === undefined || before.ignored === ignored ? [] : [path]
  })
