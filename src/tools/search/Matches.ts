/**
 * Found lines, from ripgrep's JSON or from our own search, and the one form in which both are shown.
 *
 * @since 0.1.0
 */
import * as Encoding from "effect/Encoding"
import * as Either from "effect/Either"
import { cutLine, decodeLoosely } from "../edit/Text.ts"
import { utf8Length } from "../Output.ts"

/** `file` relative to the starting directory, `line` from 1, `text` without its line break. @since 0.1.0 @category models */
export interface Match {
  readonly file: string
  readonly line: number
  readonly text: string
}

/** Lines of one answer. */
const maxMatches = 200
/** UTF-8 bytes of one answer. */
const maxBytes = 30_000
/** Characters of one line. */
const maxLineLength = 500

const isObject = (u: unknown): u is Readonly<Record<string, unknown>> => typeof u === "object" && u !== null

/** ripgrep says text, or bytes in base64 where it is not UTF-8. */
const textOf = (value: unknown): string | undefined => {
  if (!isObject(value)) return undefined
  if (typeof value["text"] === "string") return value["text"]
  const bytes = typeof value["bytes"] === "string" ? Encoding.decodeBase64(value["bytes"]) : undefined
  return bytes !== undefined && Either.isRight(bytes) ? decodeLoosely(bytes.right) : undefined
}

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/**
 * The matches in the output of `rg --json`. Files that turned out to be binary are left out, a last line that was cut off
 * too.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromRipgrep = (output: string): ReadonlyArray<Match> => {
  const matches: Array<Match> = []
  const binary = new Set<string>()
  for (const line of output.split("\n")) {
    const event = line === "" ? undefined : parse(line)
    if (!isObject(event) || !isObject(event["data"])) continue
    const { data, type } = event
    const file = textOf(isObject(data) ? data["path"] : undefined)?.replace(/^\.\//u, "")
    if (file === undefined || !isObject(data)) continue
    if (type === "end" && typeof data["binary_offset"] === "number") binary.add(file)
    if (type !== "match") continue
    const text = textOf(data["lines"])
    const number = data["line_number"]
    if (text !== undefined && typeof number === "number") {
      matches.push({ file, line: number, text: text.replace(/\r?\n$/u, "") })
    }
  }
  return binary.size === 0 ? matches : matches.filter((match) => !binary.has(match.file))
}

/**
 * `PATH:LINE:TEXT` in the order of path and line, at most 200 lines and 30,000 bytes, then what is missing.
 *
 * @since 0.1.0
 * @category encoding
 */
export const renderMatches = (
  matches: ReadonlyArray<Match>,
  display: (file: string) => string,
  incomplete: boolean
): string => {
  const sorted = [...matches].sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line)
  const shown: Array<string> = []
  let bytes = 0
  for (const { file, line, text } of sorted.slice(0, maxMatches)) {
    const out = `${display(file)}:${line}:${cutLine(text, maxLineLength)}`
    bytes += utf8Length(out) + 1
    if (bytes > maxBytes && shown.length > 0) break
    shown.push(out)
  }
  const in_files = new Set(sorted.map((match) => match.file)).size
  const total = `${sorted.length}${incomplete ? " or more" : ""} matching lines in ${in_files} files`
  if (shown.length < sorted.length || incomplete) {
    shown.push(`[the first ${shown.length} of ${total}; narrow the pattern, the path or the glob to see others]`)
  }
  return shown.join("\n")
}
