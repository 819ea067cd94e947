/**
 * One member put into an object, or one item into an array, of a text: before all others or behind them. Every other byte
 * stays, but for one comma, and no comment moves from one neighbour to another (reading 4.10). Pure: text in, text out.
 *
 * @since 0.1.0
 */
import { blockAbove, breaksIn, type Child, isFirst, type Parts, partsOf, skipBlanks, skipBlanksBack } from "./Layout.ts"

/** How lines of the file are indented and ended. @since 0.1.0 @category models */
export interface Style {
  readonly indent: string
  readonly eol: string
}

/** What is put there; an item has no key. @since 0.1.0 @category models */
export interface Content {
  readonly key?: string
  readonly value: unknown
}

/** Longer ones get lines of their own. */
const longestInline = 60

const flat = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(flat).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${flat(member)}`)
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`
}

/** On one line, with blanks as people write them. */
const inline = ({ key, value }: Content): string =>
  `${key === undefined ? "" : `${JSON.stringify(key)}: `}${flat(JSON.parse(JSON.stringify(value)))}`

const lines = ({ key, value }: Content, { eol, indent }: Style, margin: string): string =>
  `${key === undefined ? "" : `${JSON.stringify(key)}: `}${
    JSON.stringify(value, null, indent).replaceAll("\n", `${eol}${margin}`)
  }`

const marginOf = (text: string, at: number): string => {
  let start = at
  while (start > 0 && text[start - 1] !== "\n" && text[start - 1] !== "\r") start -= 1
  return text.slice(start, skipBlanks(text, start))
}

/** Where the rest of the line begins, behind what is said there of what ends at `from`. */
const restOfLine = (text: string, { close, comments }: Parts, from: number): number => {
  let last = from
  while (true) {
    const at = skipBlanks(text, last)
    const comment = comments.find(({ start }) => start === at)
    if (comment === undefined || comment.end > close) return last
    last = comment.end
    if (breaksIn(text.slice(comment.start, comment.end)) > 0) return last
  }
}

const spliced = (text: string, at: number, piece: string, until = at): string =>
  `${text.slice(0, at)}${piece}${text.slice(until)}`

/** Into one that holds nothing but blanks and comments. */
const only = (text: string, open: number, parts: Parts, content: Content, style: Style): string => {
  const outer = marginOf(text, open)
  const margin = outer + style.indent
  const said = parts.comments.at(-1)?.end ?? open + 1
  const piece = `${style.eol}${margin}${lines(content, style, margin)}`
  // what closes it stands on a line of its own already, or gets one
  return skipBlanksBack(text, parts.close) > said && isFirst(text, parts.close)
    ? spliced(text, said, piece)
    : spliced(text, said, `${piece}${style.eol}${outer}`, parts.close)
}

const behind = (text: string, open: number, parts: Parts, last: Child, content: Content, style: Style): string => {
  const { close } = parts
  const comma = last.comma === null ? "" : ","
  const at = restOfLine(text, parts, last.comma === null ? last.end : last.comma + 1)
  const outer = marginOf(text, open)
  const several = breaksIn(text.slice(open, close)) > 0
  const short = inline(content)
  const put = (piece: string, until?: number): string => {
    const made = spliced(text, at, piece, until)
    return last.comma === null ? spliced(made, last.end, ",") : made
  }
  if (!several && short.length <= longestInline) return put(` ${short}${comma}`)
  const margin = isFirst(text, last.start) ? marginOf(text, last.start) : outer + style.indent
  const piece = `${style.eol}${margin}${lines(content, style, margin)}${comma}`
  return several ? put(piece) : put(`${piece}${style.eol}${outer}`, close)
}

/**
 * `open` is where the object or array begins in a text that is JSONC without a byte order mark.
 *
 * @since 0.1.0
 * @category combinators
 */
export const append = (text: string, open: number, content: Content, style: Style): string => {
  const parts = partsOf(text, open)
  const last = parts.children.at(-1)
  return last === undefined ? only(text, open, parts, content, style) : behind(text, open, parts, last, content, style)
}

/** Before all others, and before the comments that are the first one's own. @since 0.1.0 @category combinators */
export const prepend = (text: string, open: number, content: Content, style: Style): string => {
  const parts = partsOf(text, open)
  const [first] = parts.children
  if (first === undefined) return only(text, open, parts, content, style)
  if (!isFirst(text, first.start)) return spliced(text, first.start, `${inline(content)}, `)
  const margin = marginOf(text, first.start)
  const at = blockAbove(text, parts.comments.filter(({ end }) => end <= first.start), first.start)
  return spliced(text, at, `${lines(content, style, margin)},${style.eol}${margin}`)
}
