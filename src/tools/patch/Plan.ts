/**
 * What a patch makes of the files it names, before anything is written: every change is worked out in memory, so that a
 * patch is applied whole or not at all.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { type BinaryKind, isText, type TextFile } from "../edit/Text.ts"
import { applyHunks } from "./Apply.ts"
import type { FileChange, Patch } from "./Patch.ts"

/** `mode` = permission bits; absent for a new file = the default. @since 0.1.0 @category models */
export interface FileVersion {
  readonly content: TextFile | BinaryKind
  readonly mode?: number
}

/** `null` = no file. Paths are canonical. @since 0.1.0 @category models */
export interface Outcome {
  readonly path: string
  readonly before: FileVersion | null
  readonly after: FileVersion | null
}

/** @since 0.1.0 @category models */
export interface Plan {
  /** Only files that change, in the order in which the patch names them first. */
  readonly outcomes: ReadonlyArray<Outcome>
  readonly moves: ReadonlyArray<{ readonly from: string; readonly to: string; readonly copy: boolean }>
  readonly notes: ReadonlyArray<string>
}

const same = (a: FileVersion | null, b: FileVersion | null): boolean =>
  a === b || (a !== null && b !== null && a.mode === b.mode && isText(a.content) && isText(b.content) &&
    a.content.text === b.content.text && a.content.encoding === b.content.encoding && a.content.bom === b.content.bom)

/** As git does: of a mode only the right to execute counts, for everybody who may read. */
const withExecute = (current = 0o644, wanted: number): number =>
  (wanted & 0o100) === 0 ? current & ~0o111 : current | ((current & 0o444) >> 2)

/**
 * `resolve` gives the canonical path for a path of the patch, `before` the file at a canonical path. Left: all problems,
 * each with the file as the patch names it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const planPatch = (
  patch: Patch,
  resolve: (path: string) => string,
  before: ReadonlyMap<string, FileVersion | null>
): Either.Either<Plan, ReadonlyArray<string>> => {
  const now = new Map<string, FileVersion | null>()
  const errors: Array<string> = []
  const notes: Array<string> = [...patch.notes]
  const moves: Array<Plan["moves"][number]> = []
  const get = (path: string): FileVersion | null => {
    const known = now.get(path)
    return known === undefined ? before.get(path) ?? null : known
  }

  const apply = (
    change: Exclude<FileChange, { readonly kind: "add" }>,
    version: FileVersion
  ): FileVersion | undefined => {
    if (change.hunks.length === 0) return version
    if (!isText(version.content)) {
      errors.push(`${change.path}: it is ${version.content.name}, not text`)
      return undefined
    }
    const result = applyHunks(version.content.text, change.hunks, patch.format)
    if (Either.isLeft(result)) {
      for (const message of result.left) errors.push(`${change.path}: ${message}`)
      return undefined
    }
    for (const note of result.right.notes) notes.push(`${change.path}: ${note}`)
    return { ...version, content: { ...version.content, text: result.right.text } }
  }

  for (const change of patch.changes) {
    const path = resolve(change.path)
    const at = `${change.path}: line ${change.patch_line} of the patch`
    const current = get(path)
    switch (change.kind) {
      case "add": {
        if (current !== null) {
          errors.push(`${at} adds the file, but it exists already; update it, or delete it first in the same patch`)
          break
        }
        now.set(path, {
          content: { text: change.content, encoding: "utf-8", bom: false },
          // Only the right to execute comes from a patch; the rest is the default of new files.
          ...(change.mode !== undefined && (change.mode & 0o100) !== 0 ? { mode: 0o755 } : {})
        })
        break
      }
      case "delete": {
        if (current === null) {
          errors.push(`${at} deletes the file, but it does not exist`)
          break
        }
        const left = apply(change, current)
        if (left === undefined) break
        if (change.hunks.length > 0 && isText(left.content) && left.content.text !== "") {
          errors.push(`${at} deletes the file, but it has lines that the patch does not know`)
          break
        }
        now.set(path, null)
        break
      }
      case "update": {
        if (current === null) {
          errors.push(`${at} updates the file, but it does not exist`)
          break
        }
        const next = apply(change, current)
        if (next === undefined) break
        const result = change.mode === undefined ? next : { ...next, mode: withExecute(next.mode, change.mode) }
        const to = change.move_to === undefined ? path : resolve(change.move_to)
        if (to !== path) {
          if (get(to) !== null) {
            errors.push(`${at} moves the file to ${change.move_to}, which exists already`)
            break
          }
          moves.push({ from: path, to, copy: change.copy })
          if (!change.copy) now.set(path, null)
        }
        now.set(to, result)
      }
    }
  }
  if (errors.length > 0) return Either.left(errors)
  const outcomes: Array<Outcome> = []
  for (const [path, after] of now) {
    const first = before.get(path) ?? null
    if (!same(first, after)) outcomes.push({ path, before: first, after })
  }
  return outcomes.length === 0
    ? Either.left(["the patch changes nothing: every file is already as it would leave it"])
    : Either.right({ outcomes, moves, notes })
}
