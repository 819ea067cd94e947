/**
 * Long output for a model: the beginning and the end, cut at lines where that costs little, never inside a character,
 * with a note of what is missing. Works on pieces as they come, in bounded memory; the pieces' borders do not matter.
 *
 * @since 0.1.0
 */

/** Of the kept text, the note not counted. @since 0.1.0 @category models */
export interface Limits {
  /** UTF-8 bytes. */
  readonly max_bytes: number
  readonly max_lines: number
}

/** About 8,000 tokens. @since 0.1.0 @category constants */
export const defaultLimits: Limits = { max_bytes: 30_000, max_lines: 2_000 }

/**
 * What was seen so far. `head` and `tail` each hold up to the limit; while all of it fits, `head` is all of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Window {
  readonly limits: Limits
  readonly head: string
  readonly tail: string
  readonly bytes: number
  readonly newlines: number
  readonly open_line: boolean
}

/** @since 0.1.0 @category models */
export interface Truncated {
  readonly text: string
  /** 0 = nothing is missing. */
  readonly omitted_bytes: number
  /** Line ends in what is missing. */
  readonly omitted_lines: number
}

/** UTF-8 bytes of the code point whose first unit is `unit`; a lone surrogate counts as U+FFFD. */
const width = (text: string, at: number): { readonly bytes: number; readonly units: number } => {
  const unit = text.charCodeAt(at)
  if (unit < 0x80) return { bytes: 1, units: 1 }
  if (unit < 0x800) return { bytes: 2, units: 1 }
  if (unit >= 0xd800 && unit < 0xdc00) {
    const next = text.charCodeAt(at + 1)
    if (next >= 0xdc00 && next < 0xe000) return { bytes: 4, units: 2 }
  }
  return { bytes: 3, units: 1 }
}

const measure = (text: string): { readonly bytes: number; readonly newlines: number } => {
  let bytes = 0
  let newlines = 0
  for (let i = 0; i < text.length;) {
    const w = width(text, i)
    if (text.charCodeAt(i) === 10) newlines++
    bytes += w.bytes
    i += w.units
  }
  return { bytes, newlines }
}

/** Length of a string in UTF-8. @since 0.1.0 @category combinators */
export const utf8Length = (text: string): number => measure(text).bytes

/** @since 0.1.0 @category constructors */
export const emptyWindow = (limits: Limits = defaultLimits): Window => ({
  limits,
  head: "",
  tail: "",
  bytes: 0,
  newlines: 0,
  open_line: false
})

/** Adds the next piece; pieces break between code points. @since 0.1.0 @category combinators */
export const push = (window: Window, text: string): Window => {
  if (text === "") return window
  const { limits } = window
  const { bytes, newlines } = measure(text)
  const room = limits.max_bytes - window.head.length
  const tail = window.tail + text
  return {
    limits,
    head: room > 0 ? window.head + text.slice(0, room) : window.head,
    // A unit is at least a byte, so the last `max_bytes` units hold the last `max_bytes` bytes.
    tail: tail.length > 2 * limits.max_bytes ? tail.slice(-limits.max_bytes) : tail,
    bytes: window.bytes + bytes,
    newlines: window.newlines + newlines,
    open_line: text.charCodeAt(text.length - 1) !== 10
  }
}

/** @since 0.1.0 @category combinators */
export const lines = (window: Window): number => window.newlines + (window.open_line ? 1 : 0)

/** @since 0.1.0 @category combinators */
export const fits = (window: Window): boolean =>
  window.bytes <= window.limits.max_bytes && lines(window) <= window.limits.max_lines

/** The longest beginning within the limits; at a line's end if that keeps at least half of the bytes. */
const takeHead = (text: string, max_bytes: number, max_lines: number): string => {
  let bytes = 0
  let seen = 0
  let end = 0
  let lineEnd = 0
  let lineBytes = 0
  while (end < text.length && seen < max_lines) {
    const w = width(text, end)
    if (bytes + w.bytes > max_bytes) break
    bytes += w.bytes
    end += w.units
    if (text.charCodeAt(end - 1) === 10) {
      seen++
      lineEnd = end
      lineBytes = bytes
    }
  }
  return text.slice(0, lineEnd === end || lineBytes * 2 >= max_bytes ? lineEnd : end)
}

/** The longest end within the limits; from a line's beginning if that keeps at least half of the bytes. */
const takeTail = (text: string, max_bytes: number, max_lines: number): string => {
  let bytes = 0
  let seen = 1
  let start = text.length
  let lineStart = text.length
  let lineBytes = 0
  while (start > 0) {
    const low = text.charCodeAt(start - 1)
    const pair = low >= 0xdc00 && low < 0xe000 && start > 1 && width(text, start - 2).units === 2
    const at = start - (pair ? 2 : 1)
    if (low === 10 && start < text.length) {
      lineStart = start
      lineBytes = bytes
      if (++seen > max_lines) break
    }
    const w = width(text, at)
    if (bytes + w.bytes > max_bytes) break
    bytes += w.bytes
    start = at
  }
  return text.slice(seen > max_lines || lineBytes * 2 >= max_bytes ? lineStart : start)
}

const count = (n: number): string => String(n).replaceAll(/\B(?=(\d{3})+$)/gu, ",")

/**
 * The text to show. `where` ends the note, for example `full output: /path`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const render = (window: Window, where = ""): Truncated => {
  if (fits(window)) return { text: window.head, omitted_bytes: 0, omitted_lines: 0 }
  const { max_bytes, max_lines } = window.limits
  const head = takeHead(window.head, Math.floor(max_bytes / 2), Math.floor(max_lines / 2))
  const tail = takeTail(window.tail, Math.floor(max_bytes / 2), Math.floor(max_lines / 2))
  const [first, last] = [measure(head), measure(tail)]
  const omitted_bytes = window.bytes - first.bytes - last.bytes
  const omitted_lines = window.newlines - first.newlines - last.newlines
  const note = `[... ${count(omitted_bytes)} bytes, ${count(omitted_lines)} lines left out${
    where === "" ? "" : `; ${where}`
  } ...]`
  const separator = head === "" || head.endsWith("\n") ? "" : "\n"
  return { text: `${head}${separator}${note}\n${tail}`, omitted_bytes, omitted_lines }
}

/** The same for a text that is all there. @since 0.1.0 @category combinators */
export const truncate = (text: string, limits: Limits = defaultLimits, where = ""): Truncated =>
  render(push(emptyWindow(limits), text), where)
