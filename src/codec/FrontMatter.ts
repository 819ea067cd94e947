/**
 * The block between two lines `---` at the head of a Markdown file: a part of YAML that can be read without surprises.
 * Pure; the time is linear in the text.
 *
 * | form | read as |
 * | --- | --- |
 * | `key: value`, `'single'`, `"double\n"` | a text; nothing is taken for a number, a date, a boolean or null |
 * | `key: [a, "b"]`, or lines `- a` below it | a list of texts |
 * | `key: {a: b}`, or lines `a: b` below it | a map of texts, one level |
 * | `key: \|`, `key: >`, with `-`, `+` and an indentation | a block of text, as it stands or folded |
 * | lines that go on, further in | the same text, joined by blanks |
 * | anything deeper | `other`: known to be there, not read |
 *
 * Anchors, aliases, tags and directives are refused, a key stands once. What YAML itself refuses and people write all the
 * same is a text: a colon in it, words behind a bracket (`[file] [line]`).
 *
 * @since 0.1.0
 */
import * as YamlBlock from "./YamlBlock.ts"
import { Broken, withoutComment } from "./YamlScalar.ts"

/** `line` is that of the key, from 1 in the file. @since 0.1.0 @category models */
export type FrontValue =
  | { readonly kind: "text"; readonly text: string; readonly line: number }
  | { readonly kind: "list"; readonly items: ReadonlyArray<string>; readonly line: number }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, string>; readonly line: number }
  | { readonly kind: "other"; readonly line: number }

/** `body_line` is where the body begins, from 1. @since 0.1.0 @category models */
export interface FrontMatter {
  readonly data: ReadonlyMap<string, FrontValue>
  readonly body: string
  readonly body_line: number
}

/** Why it cannot be read, and where. @since 0.1.0 @category models */
export interface FrontProblem {
  readonly problem: string
  readonly line: number
}

/** Largest front matter, in UTF-16 units. @since 0.1.0 @category constants */
export const maxFrontUnits = 64 * 1024

const fence = /^---[ \t]*$/
const fenceEnd = /^(?:---|\.\.\.)[ \t]*$/

/**
 * The front matter of a text and what stands behind it. A text that does not begin with a line `---` has none. A byte order
 * mark is dropped; lines end in LF or CRLF.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (given: string): FrontMatter | FrontProblem => {
  const text = (given.charCodeAt(0) === 0xfeff ? given.slice(1) : given).replaceAll("\r\n", "\n")
  const firstEnd = text.indexOf("\n")
  if (!fence.test(firstEnd < 0 ? text : text.slice(0, firstEnd))) return { data: new Map(), body: text, body_line: 1 }
  const lines: Array<YamlBlock.Line> = []
  let number = 1
  try {
    for (let from = firstEnd < 0 ? text.length + 1 : firstEnd + 1; from <= text.length;) {
      const end = text.indexOf("\n", from)
      const raw = text.slice(from, end < 0 ? text.length : end)
      number++
      if (fenceEnd.test(raw)) {
        const body = end < 0 ? "" : text.slice(end + 1)
        return { data: YamlBlock.read(lines), body, body_line: number + 1 }
      }
      if (from > maxFrontUnits) {
        return { problem: `the front matter is longer than ${maxFrontUnits / 1024} KiB, or does not end`, line: 1 }
      }
      const lead = /^[ \t]*/.exec(raw)?.[0] ?? ""
      if (lead.includes("\t") && raw.trim() !== "") {
        return { problem: "a line begins with a tab; use blanks", line: number }
      }
      lines.push({ raw, text: withoutComment(raw.slice(lead.length)), indent: lead.length, number })
      if (end < 0) break
      from = end + 1
    }
  } catch (error) {
    if (error instanceof Broken) return { problem: error.problem, line: error.line }
    throw error
  }
  return { problem: "the front matter does not end: a line `---` is missing", line: 1 }
}

/** The text of a name; undefined = it is not there, or is no text. @since 0.1.0 @category combinators */
export const textOf = ({ data }: Pick<FrontMatter, "data">, key: string): string | undefined => {
  const value = data.get(key)
  return value?.kind === "text" ? value.text : undefined
}
