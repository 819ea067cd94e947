/**
 * What is another in the tree than it was in the snapshot before, as the commit of the next one says it. Pure.
 *
 * @since 0.1.0
 */
import type { Commit } from "./Import.ts"
import type { Entry, Index } from "./Index.ts"
import { isProgram } from "./Manifest.ts"
import type { Scanned } from "./Scan.ts"

/** @since 0.1.0 @category models */
export interface TreeChanges extends Pick<Commit, "removed" | "set"> {
  /** Paths that the index had and has no more, directories among them. */
  readonly gone: ReadonlyArray<string>
  /** Files that are not as they were, those of another mode among them. */
  readonly count: number
  /** Nothing but contents has changed. */
  readonly alike: boolean
}

/** Modes as git has them. */
const modeOf = (entry: Pick<Entry, "kind" | "mode">): "100644" | "100755" | "120000" =>
  entry.kind === "link" ? "120000" : isProgram(entry.mode) ? "100755" : "100644"

/** `vanished`: something went from the entries after the look had counted them. @since 0.1.0 @category constructors */
export const treeChanges = (
  previous: Index | null,
  seen: Pick<Scanned, "entries" | "changed" | "kept">,
  vanished: boolean
): TreeChanges => {
  const { entries } = seen
  const removed: Array<string> = []
  const gone: Array<string> = []
  const set: Array<Commit["set"][number]> = []
  const whole = previous !== null && !vanished && seen.kept === previous.entries.size
  for (const [path, old] of whole ? [] : previous?.entries ?? []) {
    if (!entries.has(path)) gone.push(path)
    if (old.kind === "directory") continue
    const now = entries.get(path)
    if (now === undefined || now.kind === "directory") removed.push(path)
  }
  let alike = whole
  let modes = 0
  for (const path of seen.changed) {
    const now = entries.get(path)
    const old = previous?.entries.get(path)
    if (now === undefined || old?.kind !== now.kind || old.mode !== now.mode || old.ignored !== now.ignored) {
      alike = false
    }
    if (now === undefined || now.kind === "directory") continue
    if (old === undefined || old.oid !== now.oid || modeOf(old) !== modeOf(now) || old.kind === "directory") {
      set.push({ path, mode: modeOf(now), oid: now.oid })
    } else if (old.mode !== now.mode) modes++
  }
  return { removed, set, gone, count: removed.length + set.length + modes, alike }
}
