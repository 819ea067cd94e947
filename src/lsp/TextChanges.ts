/**
 * Changes between two texts: what an incremental `didChange` says, which lines an edit touched, and edits applied.
 *
 * @since 0.1.0
 */
import { Lines } from "./Positions.ts"
import { comparePositions, type Range, type TextEdit } from "./Types.ts"

/** `from` and `to` are UTF-16 offsets of the old text. @since 0.1.0 @category models */
export interface Replacement {
  readonly from: number
  readonly to: number
  readonly text: string
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000

/**
 * The one stretch in which two texts differ, never cutting a surrogate pair or a CRLF; null = they are equal.
 *
 * @since 0.1.0
 * @category constructors
 */
export const replacement = (before: string, after: string): Replacement | null => {
  if (before === after) return null
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head++
  let tail = 0
  while (
    tail < shorter - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) tail++
  const last = before.charCodeAt(head - 1)
  if (head > 0 && (isHigh(last) || last === 13)) head--
  const next = before.charCodeAt(before.length - tail)
  if (tail > 0 && (isLow(next) || next === 10)) tail--
  return { from: head, to: before.length - tail, text: after.slice(head, after.length - tail) }
}

/** Lines of the new text that an edit touched, from 0, `last` included; null = nothing changed. @since 0.1.0 @category constructors */
export const changedLines = (
  before: string,
  after: string
): { readonly first: number; readonly last: number } | null => {
  const change = replacement(before, after)
  if (change === null) return null
  const lines = new Lines(after)
  return {
    first: lines.position(change.from).line,
    last: lines.position(Math.max(change.from, change.from + change.text.length - 1)).line
  }
}

/**
 * Edits over one text, all meant for it as it stands. Null = two of them overlap; what a server inserts at one place
 * stays in its order.
 *
 * @since 0.1.0
 * @category combinators
 */
export const applyEdits = (text: string, edits: ReadonlyArray<TextEdit>): string | null => {
  const lines = new Lines(text)
  const sorted = edits.map((edit, index) => ({
    from: lines.offset(edit.range.start),
    to: lines.offset(edit.range.end),
    text: edit.new_text,
    index
  })).sort((a, b) => a.from - b.from || a.to - b.to || a.index - b.index)
  let out = ""
  let at = 0
  for (const { from, text: put, to } of sorted) {
    if (from < at || to < from) return null
    out += text.slice(at, from) + put
    at = to
  }
  return out + text.slice(at)
}

/** @since 0.1.0 @category combinators */
export const contains = (range: Range, first: number, last: number): boolean =>
  range.start.line <= last && range.end.line >= first

/** The inner ones first. @since 0.1.0 @category combinators */
export const byInnermost = (a: { readonly range: Range }, b: { readonly range: Range }): number =>
  (a.range.end.line - a.range.start.line) - (b.range.end.line - b.range.start.line) ||
  comparePositions(a.range.start, b.range.start)
