/**
 * Which other files an instruction file names with `@path`; pure.
 *
 * @since 0.1.0
 */
import { withoutTrailing } from "../codec/Trailing.ts"

/** `line` counts from 1. @since 0.1.0 @category models */
export interface Mention {
  readonly path: string
  /** It can only be a file: one that is not there is told. Else it may be the name of a person or of a package. */
  readonly explicit: boolean
  readonly line: number
}

const fence = /^ {0,3}(`{3,}|~{3,})/

const mention = /(?:^|[\s(])@([^\s`'"<>|;,()\\]+)/g

/** Most mentions that are looked at. */
const most = 64

/**
 * The mentions of a Markdown text, each path once, in their order; code, fenced or between backticks, has none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const mentions = (text: string): ReadonlyArray<Mention> => {
  const found = new Map<string, Mention>()
  let closing = ""
  let line = 0
  for (const row of text.split("\n")) {
    line++
    const marks = fence.exec(row)?.[1]
    if (marks !== undefined) {
      if (closing === "") closing = marks
      else if (marks.startsWith(closing) && row.trim() === marks) closing = ""
      continue
    }
    if (closing !== "" || !row.includes("@")) continue
    for (const match of row.replace(/`[^`]*`/g, (code) => " ".repeat(code.length)).matchAll(mention)) {
      const path = withoutTrailing(match[1] ?? "", ".:!?*_]}")
      if (path === "" || path.includes("@") || path.includes("://") || found.has(path)) continue
      if (found.size >= most) return [...found.values()]
      found.set(path, {
        path,
        explicit: /^(?:\.{0,2}|~)\//.test(path) || /\.[A-Za-z][A-Za-z0-9]{0,7}$/.test(path),
        line
      })
    }
  }
  return [...found.values()]
}
