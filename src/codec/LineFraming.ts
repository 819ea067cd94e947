/**
 * One message a line: LF, CRLF tolerated, UTF-8 (reading 1.3; the stdio transport of MCP, ACP). Empty lines are no
 * messages, a byte order mark at the very start is none either, and a last line without its LF counts.
 *
 * @since 0.1.0
 */
import { ByteBuffer, decode, largestText } from "./ByteBuffer.ts"
import { defaultMaxMessageBytes, type Framed, type Framing, type FramingFault, type FramingOptions } from "./Framing.ts"

const LF = 10
const CR = 13
const encoder = new TextEncoder()

const nothing: Framed = { texts: [], fault: null }

/** The text with its line end; it must hold none itself (JSON text never does). @since 0.1.0 @category encoding */
export const line = (text: string): string => `${text}\n`

/** {@link line} as bytes. @since 0.1.0 @category encoding */
export const encode = (text: string): Uint8Array => encoder.encode(line(text))

/** @since 0.1.0 @category constructors */
export const make = (options: FramingOptions = {}): Framing => {
  const limit = Math.min(options.max_message_bytes ?? defaultMaxMessageBytes, largestText)
  const held = new ByteBuffer()
  let first = true
  let dead = false

  const textOf = (line: Uint8Array): string => {
    const end = line.at(-1) === CR ? line.byteLength - 1 : line.byteLength
    const marked = first && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf
    first = false
    return decode(line.subarray(marked ? 3 : 0, end))
  }
  const tooLarge = (received: number): FramingFault => {
    dead = true
    held.clear()
    return {
      reason: "message_too_large",
      message: `a message of more than ${limit} bytes on one line`,
      limit,
      received
    }
  }
  /** A CR that the line end may take back does not count. */
  const exceeds = (line: Uint8Array): boolean =>
    line.byteLength > limit && (line.byteLength > limit + 1 || line.at(-1) !== CR)

  return {
    feed: (bytes) => {
      if (dead) return nothing
      const texts: Array<string> = []
      let from = 0
      while (from < bytes.byteLength) {
        const at = bytes.indexOf(LF, from)
        const piece = bytes.subarray(from, at === -1 ? bytes.byteLength : at)
        if (held.size + piece.byteLength > limit + 1) return { texts, fault: tooLarge(held.size + piece.byteLength) }
        if (at === -1 || held.size > 0) held.append(piece)
        const line = held.size > 0 ? held.view() : piece
        if (exceeds(line)) return { texts, fault: tooLarge(line.byteLength) }
        if (at === -1) break
        const text = textOf(line)
        if (text !== "") texts.push(text)
        held.clear()
        from = at + 1
      }
      return { texts, fault: null }
    },
    finish: () => {
      if (dead || held.size === 0) return nothing
      dead = true
      const text = textOf(held.view())
      held.clear()
      return text === "" ? nothing : { texts: [text], fault: null }
    }
  }
}
