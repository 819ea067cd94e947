/**
 * The index as this process knows it, and the file that all processes share. A few changes go behind what is in the file;
 * now and then, and when there are many, it is written anew.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Kept from "../platform/KeptFiles.ts"
import * as IndexFile from "./Index.ts"
import type { Index } from "./Index.ts"
import { attempt } from "./Repository.ts"
import type { SnapshotError } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface IndexCache {
  readonly file: string
  /** What the file says; null = there is none, or none that can be read. */
  readonly load: () => Index | null
  /** What has to be written for the next one: the paths that changed and those that are gone, or all of it. */
  readonly encode: (
    index: Omit<Index, "tree">,
    changed: ReadonlyArray<string>,
    gone: ReadonlyArray<string>
  ) => IndexFile.Encoded
  readonly save: (index: Index, encoded: IndexFile.Encoded) => Effect.Effect<void, SnapshotError>
  /** That of the last snapshot that this process took; null = it took none. */
  readonly last: () => Index | null
  /** Removes the file too. */
  readonly forget: () => void
}

/** Lines behind the whole index. */
const maxAppended = 50
/** Changed and gone paths in one of them. */
const maxChanges = 200

/** @since 0.1.0 @category constructors */
export const make = (file: string): IndexCache => {
  let memory: {
    readonly stamp: string
    readonly index: Index
    /** Lines can go behind what is there. */
    readonly appendable: boolean
    readonly appended: number
  } | null = null
  let last: Index | null = null

  const worthAppending = (changes: number): boolean =>
    memory !== null && memory.appendable && memory.appended < maxAppended && changes < maxChanges

  return {
    file,
    load: () => {
      const stamp = Kept.stampOf(file)
      if (stamp === "") return null
      if (memory?.stamp === stamp) return memory.index
      const text = Kept.readText(file)
      const read = text === null ? null : IndexFile.decode(text)
      memory = read === null ? null : { stamp, index: read.index, appendable: read.intact, appended: 0 }
      return memory?.index ?? null
    },
    encode: (index, changed, gone) =>
      worthAppending(changed.length + gone.length) ? IndexFile.delta(index, changed, gone) : IndexFile.whole(index),
    save: (index, { text, whole }) => {
      const lines = text(index.tree)
      return Effect.map(attempt(() => whole ? Kept.replaceText(file, lines) : Kept.appendText(file, lines)), () => {
        memory = {
          stamp: Kept.stampOf(file),
          index,
          appendable: true,
          appended: whole ? 0 : (memory?.appended ?? 0) + 1
        }
        last = index
      })
    },
    last: () => last,
    forget: () => {
      Kept.forget(file)
      memory = null
      last = null
    }
  }
}
