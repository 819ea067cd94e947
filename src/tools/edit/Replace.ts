/**
 * Exact replacement of one text by another inside a file's text.
 *
 * Only line endings are not taken literally: models write LF, files may have CRLF. What is looked for matches either
 * form, what is put in gets the form of its surroundings, and everything else stays byte for byte.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { candidates } from "./Candidates.ts"
import { lineAt, lineEndings, linesOf } from "./Text.ts"
import { unifiedDiff } from "./UnifiedDiff.ts"

/** @since 0.1.0 @category models */
export interface Replacement {
  readonly old_string: string
  readonly new_string: string
  readonly replace_all: boolean
}

/** @since 0.1.0 @category models */
export interface Replaced {
  readonly text: string
  readonly count: number
}

const toLf = (text: string): string => text.replaceAll("\r\n", "\n")

/** A text with LF only, and for an index of it the index in the original. */
const normalise = (text: string): { readonly text: string; readonly origin: (index: number) => number } => {
  if (!text.includes("\r\n")) return { text, origin: (index) => index }
  // Positions, in the LF text, of the line breaks that were two characters.
  const breaks: Array<number> = []
  for (let at = text.indexOf("\r\n"); at !== -1; at = text.indexOf("\r\n", at + 2)) breaks.push(at - breaks.length)
  const before = (index: number): number => {
    let [low, high] = [0, breaks.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((breaks[middle] ?? 0) < index) low = middle + 1
      else high = middle
    }
    return low
  }
  return { text: toLf(text), origin: (index) => index + before(index) }
}

/** Start of every occurrence, overlapping ones too. */
const occurrences = (text: string, wanted: string): Array<number> => {
  const found: Array<number> = []
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at)
  return found
}

const max_places = 20

const places = (text: string, found: ReadonlyArray<number>): string =>
  found.slice(0, max_places).map((at) => lineAt(text, at)).join(", ") + (found.length > max_places ? ", ..." : "")

/** The line ending that belongs at a place: of the replaced text, else of the line before, else of the file. */
const endingAt = (text: string, from: number, to: number): "\n" | "\r\n" => {
  const within = lineEndings(text.slice(from, to))
  if (within === "crlf") return "\r\n"
  if (within !== "none") return "\n"
  const next = text.indexOf("\n", to)
  const at = next === -1 ? text.lastIndexOf("\n", from - 1) : next
  return at > 0 && text.charCodeAt(at - 1) === 13 ? "\r\n" : "\n"
}

const numbered = /^\s*\d+(?:\t|\u2192)/u

const notFound = (text: string, wanted: string): string => {
  const lines = linesOf(text)
  const wantedLines = linesOf(wanted)
  const hints: Array<string> = []
  if (wantedLines.length > 0 && wantedLines.every((line) => numbered.test(line))) {
    hints.push("old_string seems to contain the line numbers that read shows; leave them out.")
  }
  if (wanted.endsWith("\n") && !text.endsWith("\n") && text.endsWith(wanted.slice(0, -1))) {
    hints.push("The file ends without a line break; leave the last line break of old_string out.")
  }
  const found = hints.length > 0 ? [] : candidates(lines, wanted)
  for (const { line, lines: near, score } of found) {
    const last = line + near.length - 1
    const where = last > line ? `lines ${line}-${last}` : `line ${line}`
    const same = score > 0.9999 ? " (differs in white space only)" : ""
    const diff = unifiedDiff(`${wantedLines.join("\n")}\n`, `${near.join("\n")}\n`, { context: 1, max_lines: 24 })
    hints.push(`Nearest: ${where}${same}; - is old_string, + is the file:\n${diff.text || near.join("\n")}`)
  }
  if (hints.length === 0) hints.push("Nothing like it is there. Read the file again and copy the text exactly.")
  return `old_string was not found.\n${hints.join("\n")}`
}

/**
 * Replaces the one occurrence of `old_string`, or with `replace_all` every one (from the front, not overlapping). Left
 * is a message: how often and on which lines it occurs when that is more than once; what comes nearest when it is nowhere.
 *
 * @since 0.1.0
 * @category combinators
 */
export const replace = (text: string, request: Replacement): Either.Either<Replaced, string> => {
  const wanted = toLf(request.old_string)
  const given = toLf(request.new_string)
  if (wanted === given) {
    return Either.left(
      request.old_string === request.new_string
        ? "old_string and new_string are the same: there is nothing to change."
        : "old_string and new_string differ only in line endings, which edit keeps as they are; use write to change them."
    )
  }
  if (wanted === "") {
    return text === ""
      ? Either.right({ text: request.new_string, count: 1 })
      : Either.left("old_string is empty. Give the text to replace; to replace the whole file use write.")
  }
  const lf = normalise(text)
  let found = occurrences(lf.text, wanted)
  if (found.length === 0) return Either.left(notFound(lf.text, wanted))
  if (!request.replace_all && found.length > 1 && wanted.includes("\n")) {
    // In a file with both line endings the exact form may tell apart what the normalised one does not.
    const exact = found.filter((at) => text.startsWith(request.old_string, lf.origin(at)))
    if (exact.length === 1) found = exact
  }
  if (!request.replace_all && found.length > 1) {
    return Either.left(
      `old_string occurs ${found.length} times, on lines ${places(lf.text, found)}. ` +
        "Add lines around it until it is unique, or set replace_all to change every one."
    )
  }
  const parts: Array<string> = []
  let done = 0
  let count = 0
  let from = -1
  for (const at of found) {
    if (at < from) continue
    const [start, end] = [lf.origin(at), lf.origin(at + wanted.length)]
    const ending = endingAt(text, start, end)
    parts.push(text.slice(done, start), ending === "\n" ? given : given.replaceAll("\n", "\r\n"))
    done = end
    from = at + wanted.length
    count++
  }
  parts.push(text.slice(done))
  return Either.right({ text: parts.join(""), count })
}
