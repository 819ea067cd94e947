/**
 * How an object or array stands in a text of JSONC: its members or items, its commas, its comments, its lines. Pure.
 *
 * @since 0.1.0
 */
import * as jsonc from "jsonc-parser"
import { Token } from "./Document.ts"

/** From `start` up to `end`, in UTF-16 units. @since 0.1.0 @category models */
export interface Span {
  readonly start: number
  readonly end: number
}

/** `comma` is where the comma behind it stands. @since 0.1.0 @category models */
export interface Child extends Span {
  readonly comma: number | null
}

/** @since 0.1.0 @category models */
export interface Parts {
  readonly children: ReadonlyArray<Child>
  /** Also those inside of children that are no objects or arrays, such as behind a key. */
  readonly comments: ReadonlyArray<Span>
  /** Where the bracket stands that ends it all. */
  readonly close: number
}

/** Of the object or array that begins at `open`, in a text that is JSONC. @since 0.1.0 @category decoding */
export const partsOf = (text: string, open: number): Parts => {
  const scanner = jsonc.createScanner(text, false)
  scanner.setPosition(open)
  const children: Array<Child> = []
  const comments: Array<Span> = []
  let current: Span | null = null
  let depth = 0
  while (true) {
    const token: number = scanner.scan()
    const start = scanner.getTokenOffset()
    const end = start + scanner.getTokenLength()
    const closes = token === Token.closeBrace || token === Token.closeBracket
    if (token === Token.trivia || token === Token.lineBreak) continue
    if (token === Token.lineComment || token === Token.blockComment) {
      if (depth === 1) comments.push({ start, end })
      continue
    }
    if ((depth === 1 && (token === Token.comma || closes)) || token === Token.eof) {
      if (current !== null) children.push({ ...current, comma: token === Token.comma ? start : null })
      current = null
      if (token !== Token.comma) return { children, comments, close: start }
      continue
    }
    if (depth > 0) {
      const begin: number = current === null ? start : current.start
      current = { start: begin, end }
    }
    if (token === Token.openBrace || token === Token.openBracket) depth += 1
    else if (closes) depth -= 1
  }
}

const isBlank = (char: string | undefined): boolean => char === " " || char === "\t"
const isBreak = (char: string | undefined): boolean => char === "\n" || char === "\r"

/** @since 0.1.0 @category combinators */
export const skipBlanks = (text: string, from: number): number => {
  let at = from
  while (isBlank(text[at])) at += 1
  return at
}

/** @since 0.1.0 @category combinators */
export const skipBlanksBack = (text: string, from: number): number => {
  let at = from
  while (isBlank(text[at - 1])) at -= 1
  return at
}

/** So long is the line break that stands here; 0 = there is none. @since 0.1.0 @category combinators */
export const breakLength = (text: string, at: number): number =>
  text.startsWith("\r\n", at) ? 2 : isBreak(text[at]) ? 1 : 0

/** Whether nothing but blanks stands before it on its line. @since 0.1.0 @category combinators */
export const isFirst = (text: string, at: number): boolean => {
  const before = skipBlanksBack(text, at)
  return before === 0 || isBreak(text[before - 1])
}

/** @since 0.1.0 @category combinators */
export const breaksIn = (text: string): number => text.match(/\r\n?|\n/g)?.length ?? 0

/**
 * Where the block of comments begins that stands directly above `from`; `from` when there is none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const blockAbove = (text: string, comments: ReadonlyArray<Span>, from: number): number => {
  let top = from
  let below = from
  for (const comment of comments.toReversed()) {
    if (breaksIn(text.slice(comment.end, below)) > 1) break
    below = comment.start
    // one that begins behind something else on its line, belongs to that
    if (isFirst(text, comment.start)) top = comment.start
  }
  return top
}
