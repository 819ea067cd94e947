/**
 * `read`: a file's lines with their numbers, or an image.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import { success } from "../domain/ToolExecutor.ts"
import { type DirectoryEntry, Files, formatBytes } from "../platform/Files.ts"
import { defineTool } from "./Define.ts"
import { cutLine, decode, imageSize, isImage, isText, lineEndings, linesOf, sniff, type TextFile } from "./edit/Text.ts"
import { FileState } from "./FileState.ts"
import { utf8Length } from "./Output.ts"
import { Paths, toFailure } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

/** Lines of one call. */
const defaultLimit = 2_000
/** Characters of one line. */
const maxLineLength = 2_000
/** UTF-8 bytes of one answer. */
const maxPageBytes = 100_000
/** Bytes of a file that is read into memory. */
const maxFileBytes = 64 * 1024 * 1024
/** Bytes of an image: in base64 they stay below the 5 MiB that the protocols take. */
const maxImageBytes = 3_900_000

/** Lines count from 1. @since 0.1.0 @category models */
export interface Page {
  readonly text: string
  readonly first: number
  readonly last: number
  readonly total: number
}

/**
 * The numbered lines from `offset` on: at most `limit`, and at most as many as fit `maxPageBytes` (at least one).
 *
 * @since 0.1.0
 * @category constructors
 */
export const page = (lines: ReadonlyArray<string>, offset: number, limit: number): Page => {
  const shown: Array<string> = []
  let bytes = 0
  const end = Math.min(lines.length, offset - 1 + limit)
  for (let i = offset - 1; i < end; i++) {
    const line = `${String(i + 1).padStart(6)}\t${cutLine(lines[i] ?? "", maxLineLength)}`
    bytes += utf8Length(line) + 1
    if (bytes > maxPageBytes && shown.length > 0) break
    shown.push(line)
  }
  return { text: shown.join("\n"), first: offset, last: offset + shown.length - 1, total: lines.length }
}

/** Entries for a message: directories with a slash, links with @. */
const listing = (entries: ReadonlyArray<DirectoryEntry>, max = 50): string => {
  if (entries.length === 0) return "(empty directory)"
  const names = entries.slice(0, max).map(({ kind, name }) =>
    `  ${name}${kind === "directory" ? "/" : kind === "link" ? "@" : ""}`
  )
  return [...names, ...(entries.length > max ? [`  ... ${entries.length - max} more`] : [])].join("\n")
}

const remarks = (file: TextFile): string => {
  const said = [
    file.encoding === "latin1"
      ? "8-bit text that is not UTF-8, shown as Latin-1"
      : file.encoding === "utf-8"
      ? ""
      : file.encoding.toUpperCase(),
    file.bom && file.encoding === "utf-8" ? "byte order mark" : "",
    { crlf: "CRLF line endings", mixed: "mixed line endings", lf: "", none: "" }[lineEndings(file.text)]
  ].filter((one) => one !== "")
  return said.length === 0 ? "" : `[${said.join(", ")}]`
}

const Input = () =>
  Schema.Struct({
    path: Schema.String.annotations({ description: "File to read; relative to the working directory, absolute or ~." }),
    offset: Schema.optional(
      Schema.Int.pipe(Schema.nonNegative()).annotations({ description: "First line, counting from 1. Default 1." })
    ),
    limit: Schema.optional(
      Schema.Int.pipe(Schema.positive()).annotations({ description: `Number of lines. Default ${defaultLimit}.` })
    )
  })

/** @since 0.1.0 @category constructors */
export const makeReadTool = Effect.gen(function*() {
  const paths = yield* Paths
  const files = yield* Files
  const state = yield* FileState

  return defineTool({
    name: "read",
    description:
      "Reads a file: text with line numbers (a tab follows the number; neither is part of the file), or a PNG, JPEG, " +
      `GIF or WebP image. Long files come in pages of ${defaultLimit} lines; go on with offset.`,
    input: Input,
    kind: "read",
    read_only: true,
    prepare: ({ limit = defaultLimit, offset = 1, path }) =>
      Effect.map(paths.resolve(path), (target) => ({
        subjects: [target.subject],
        inside_workspace: target.inside,
        run: ({ denies, session_id }) =>
          Effect.gen(function*() {
            const name = target.display
            const fail = (message: string) => new ToolFailure({ message })
            const found = yield* files.stat(target.path).pipe(Effect.mapError(toFailure))
            if (found === null) return yield* fail(yield* paths.missing(target))
            if (found.kind === "directory") {
              const separator = target.path.endsWith("/") ? "" : "/"
              const entries = (yield* files.list(target.path).pipe(Effect.mapError(toFailure))).filter((entry) =>
                denies?.(paths.subject(`${target.path}${separator}${entry.name}`)) !== true
              )
              return yield* fail(
                `${name} is a directory. Its entries:\n${listing(entries)}\nRead one of them, or use glob.`
              )
            }
            const content = yield* files.read(target.path, maxFileBytes).pipe(
              Effect.mapError((error) =>
                error.reason === "too_large"
                  ? fail(`${error.message}. Use grep to find the place, or bash to cut a part out.`)
                  : toFailure(error)
              )
            )
            const { bytes } = content
            // What cannot be shown is told, which is all there is to know before it is replaced.
            const seen = state.saw(session_id, target.path, content, "whole")
            if (bytes.length === 0) {
              yield* seen
              return success(`(${name} is empty: 0 bytes)`)
            }
            const kind = sniff(bytes)
            if (kind !== undefined && isImage(kind) && !(kind.weak && isText(decode(bytes)))) {
              yield* seen
              const size = imageSize(bytes, kind)
              const pixels = size === undefined ? "" : `, ${size.width}x${size.height} pixels`
              if (bytes.length > maxImageBytes) {
                return yield* fail(
                  `${name} is a ${kind.name}${pixels}, ${formatBytes(bytes.length)}: more than the ` +
                    `${formatBytes(maxImageBytes)} that can be shown. Make a smaller copy with bash first.`
                )
              }
              return success(`${name}: ${kind.name}${pixels}, ${formatBytes(bytes.length)}`, {
                parts: [{ type: "image", media_type: kind.media_type, data: Encoding.encodeBase64(bytes) }]
              })
            }
            const text = decode(bytes)
            if (!isText(text)) {
              yield* seen
              return yield* fail(
                `${name} is not text: ${text.name} (${text.media_type}), ${formatBytes(bytes.length)}. ` +
                  "Use bash with a program that understands it."
              )
            }
            const lines = linesOf(text.text)
            const first = Math.max(1, offset)
            if (first > lines.length && lines.length > 0) {
              return yield* fail(`${name} has ${lines.length} lines; offset ${first} is beyond its end.`)
            }
            yield* seen
            const shown = page(lines, first, limit)
            const notes = [
              remarks(text),
              shown.last < shown.total
                ? `[lines ${shown.first}-${shown.last} of ${shown.total}; go on with offset ${shown.last + 1}]`
                : shown.first > 1
                ? `[lines ${shown.first}-${shown.last} of ${shown.total}; end of file]`
                : "",
              shown.last === shown.total && !text.text.endsWith("\n") ? "[no line break at the end of the file]" : ""
            ].filter((note) => note !== "")
            return success([shown.text, ...notes].join("\n"))
          })
      }))
  })
})
