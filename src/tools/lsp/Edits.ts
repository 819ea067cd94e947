/**
 * Edits of a language server over files as they are: worked out before anyone is asked, applied to exactly that.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { applyEdits } from "../../lsp/TextChanges.ts"
import type { WorkspaceEdit } from "../../lsp/Types.ts"
import { pathOf } from "../../lsp/Uri.ts"
import type { FileContent } from "../../platform/Files.ts"
import type { ChangesService } from "../Changes.ts"
import { decode, encode, isText } from "../edit/Text.ts"
import { unifiedDiff } from "../edit/UnifiedDiff.ts"
import type { PathsService, ResolvedPath } from "../Paths.ts"
import { ToolFailure } from "../Tool.ts"

/** One file that is to be written. @since 0.1.0 @category models */
export interface PlannedFile {
  readonly target: ResolvedPath
  readonly before: FileContent
  readonly bytes: Uint8Array
  readonly diff: { readonly text: string; readonly added: number; readonly removed: number }
}

/** Files of one edit. */
const maxFiles = 500
/** Diff lines of one answer. */
const maxDiffLines = 200

/** Changes nothing. Fails when a file cannot be changed as the server wants: then none is. @since 0.1.0 @category constructors */
export const plan = (
  edit: WorkspaceEdit,
  { changes, paths }: { readonly changes: ChangesService; readonly paths: PathsService }
): Effect.Effect<ReadonlyArray<PlannedFile>, ToolFailure> =>
  Effect.gen(function*() {
    const fail = (message: string) => new ToolFailure({ message: `${message} Nothing was changed.` })
    if (edit.unsupported !== null) {
      return yield* fail(`This change cannot be applied: ${edit.unsupported}. Make it with the file tools.`)
    }
    if (edit.files.length > maxFiles) {
      return yield* fail(`This change touches ${edit.files.length} files, more than ${maxFiles}.`)
    }
    let left = maxDiffLines
    const planned = new Map<string, PlannedFile>()
    for (const { edits, text: meant, uri } of edit.files) {
      const path = pathOf(uri)
      if (path === null) return yield* fail(`This change touches ${uri}, which is no file.`)
      const target = yield* paths.resolve(path)
      const before = yield* changes.load(target.path)
      if (before === null) return yield* fail(`This change touches ${target.display}, which does not exist.`)
      if (planned.has(target.path)) return yield* fail(`This change names ${target.display} twice.`)
      const file = decode(before.bytes)
      if (!isText(file)) return yield* fail(`This change touches ${target.display}, which is not text.`)
      if (meant !== null && meant !== file.text) {
        return yield* fail(
          `${target.display} is not the text that the server's edits are for: it has changed meanwhile, or it is not ` +
            "UTF-8. Ask again."
        )
      }
      const text = applyEdits(file.text, edits)
      if (text === null) return yield* fail(`The server's edits of ${target.display} overlap.`)
      if (text === file.text) continue
      const bytes = encode({ ...file, text })
      if (bytes === undefined) {
        return yield* fail(`The new text of ${target.display} cannot be written in its encoding (${file.encoding}).`)
      }
      const diff = unifiedDiff(file.text, text, { max_lines: Math.max(1, left) })
      left -= diff.text.split("\n").length
      planned.set(target.path, { target, before, bytes, diff })
    }
    return [...planned.values()]
  })

/** @since 0.1.0 @category encoding */
export const report = (what: string, files: ReadonlyArray<PlannedFile>): string =>
  [
    `${what} in ${files.length === 1 ? "1 file" : `${files.length} files`}:`,
    ...files.map(({ diff, target }) => `M ${target.display} (+${diff.added} -${diff.removed})`),
    ...files.flatMap(({ diff, target }) => diff.text === "" ? [] : [`--- ${target.display}\n${diff.text}`])
  ].join("\n")

/**
 * Writes all or none: what was written is taken back when a later file cannot be. A file that has changed since the edit
 * was worked out stops it before anything is written.
 *
 * @since 0.1.0
 * @category combinators
 */
export const apply = (
  session_id: string,
  files: ReadonlyArray<PlannedFile>,
  changes: ChangesService
): Effect.Effect<void, ToolFailure> =>
  Effect.gen(function*() {
    for (const { before, target } of files) {
      yield* changes.check(session_id, target.path, before, false)
      const now = yield* changes.load(target.path)
      if (now === null || now.sha256 !== before.sha256) {
        return yield* new ToolFailure({
          message: `${target.display} has changed since the server was asked. Nothing was changed; ask again.`
        })
      }
    }
    const done: Array<PlannedFile> = []
    yield* Effect.uninterruptible(
      Effect.forEach(files, (file) =>
        Effect.map(
          changes.write(session_id, file.target.path, file.bytes, file.before, "part"),
          () => void done.push(file)
        ), { discard: true }).pipe(
          Effect.catchAll((error) =>
            Effect.gen(function*() {
              const left: Array<string> = []
              for (const { before, target } of done.reverse()) {
                const back = yield* Effect.either(Effect.flatMap(
                  changes.load(target.path),
                  (current) => changes.write(session_id, target.path, before.bytes, current, "part", before.stamp.mode)
                ))
                if (back._tag === "Left") left.push(`${target.display}: ${back.left.message}`)
              }
              return yield* new ToolFailure({
                message: left.length === 0
                  ? `The change was not applied; nothing was changed. ${error.message}`
                  : `The change failed: ${error.message}\nNot everything could be taken back:\n${left.join("\n")}`
              })
            })
          )
        )
    )
  })
