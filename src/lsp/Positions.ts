/**
 * Lines of a text, and characters in the units of a server (LSP 3.17, position encodings).
 *
 * @since 0.1.0
 */
import type { Position, PositionEncoding, Range } from "./Types.ts"

/** Offsets at which the lines begin; lines end at LF, CRLF or CR. @since 0.1.0 @category constructors */
export const lineStarts = (text: string): ReadonlyArray<number> => {
  const starts = [0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 13 && text.charCodeAt(at + 1) === 10) at++
    if (code === 10 || code === 13) starts.push(at + 1)
  }
  return starts
}

/** A text and its lines. @since 0.1.0 @category models */
export class Lines {
  readonly text: string
  readonly starts: ReadonlyArray<number>

  constructor(text: string) {
    this.text = text
    this.starts = lineStarts(text)
  }

  get count(): number {
    return this.starts.length
  }

  /** A line without its end; "" beyond the text. */
  line(index: number): string {
    const from = this.starts[index]
    if (from === undefined) return ""
    let to = this.starts[index + 1] ?? this.text.length
    while (to > from && (this.text.charCodeAt(to - 1) === 10 || this.text.charCodeAt(to - 1) === 13)) to--
    return this.text.slice(from, to)
  }

  /** UTF-16 offset; a position beyond its line or the text is its end. */
  offset({ character, line }: Position): number {
    const from = this.starts[line]
    if (line < 0) return 0
    if (from === undefined) return this.text.length
    return from + Math.min(Math.max(0, character), this.line(line).length)
  }

  position(offset: number): Position {
    let low = 0
    let high = this.starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low, character: offset - (this.starts[low] ?? 0) }
  }
}

const bytesOf = (point: number): number => point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4

/** UTF-16 units to the server's. A position inside a character is its beginning. @since 0.1.0 @category encoding */
export const toServer = (encoding: PositionEncoding, line: string, character: number): number => {
  if (encoding === "utf-16") return character
  let units = 0
  let out = 0
  for (const one of line) {
    if (units + one.length > character) break
    units += one.length
    out += encoding === "utf-32" ? 1 : bytesOf(one.codePointAt(0) ?? 0)
  }
  return out
}

/** The server's units to UTF-16; never beyond the line. @since 0.1.0 @category decoding */
export const fromServer = (encoding: PositionEncoding, line: string, character: number): number => {
  if (encoding === "utf-16") return character
  let units = 0
  let seen = 0
  for (const one of line) {
    const width = encoding === "utf-32" ? 1 : bytesOf(one.codePointAt(0) ?? 0)
    if (seen + width > character) break
    seen += width
    units += one.length
  }
  return units
}

const mapPosition = (
  convert: typeof toServer,
  encoding: PositionEncoding,
  lines: Lines,
  { character, line }: Position
): Position => ({ line, character: convert(encoding, lines.line(line), character) })

/** @since 0.1.0 @category encoding */
export const positionToServer = (encoding: PositionEncoding, lines: Lines, position: Position): Position =>
  encoding === "utf-16" ? position : mapPosition(toServer, encoding, lines, position)

/** @since 0.1.0 @category decoding */
export const rangeFromServer = (encoding: PositionEncoding, lines: Lines, { end, start }: Range): Range => ({
  start: mapPosition(fromServer, encoding, lines, start),
  end: mapPosition(fromServer, encoding, lines, end)
})

/** @since 0.1.0 @category encoding */
export const rangeToServer = (encoding: PositionEncoding, lines: Lines, { end, start }: Range): Range => ({
  start: positionToServer(encoding, lines, start),
  end: positionToServer(encoding, lines, end)
})
