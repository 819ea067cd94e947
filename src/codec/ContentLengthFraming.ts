/**
 * Messages behind a header block with `Content-Length` (LSP 3.17, base protocol): lengths in bytes, UTF-8, any cut, any
 * number of headers. Names are read in any case; `utf8` is taken for `utf-8`; LF alone ends a header line too.
 *
 * @since 0.1.0
 */
import { ByteBuffer, decode, largestText } from "./ByteBuffer.ts"
import { defaultMaxMessageBytes, type Framed, type Framing, type FramingFault, type FramingOptions } from "./Framing.ts"

/** Bytes of one header block. @since 0.1.0 @category constants */
export const maxHeaderBytes = 16_384

const LF = 10
const encoder = new TextEncoder()

const nothing: Framed = { texts: [], fault: null }

/** The text with its header block. @since 0.1.0 @category encoding */
export const encode = (text: string): Uint8Array => {
  const body = encoder.encode(text)
  const head = encoder.encode(`Content-Length: ${body.byteLength}\r\n\r\n`)
  const whole = new Uint8Array(head.byteLength + body.byteLength)
  whole.set(head)
  whole.set(body, head.byteLength)
  return whole
}

const isUtf8 = (contentType: string): boolean => {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/iu.exec(contentType)?.[1]
  return charset === undefined || /^utf-?8$/iu.test(charset)
}

/** @since 0.1.0 @category constructors */
export const make = (options: FramingOptions = {}): Framing => {
  const limit = Math.min(options.max_message_bytes ?? defaultMaxMessageBytes, largestText)
  const held = new ByteBuffer()
  let headerBytes = 0
  /** Of the block that is being read; null = no `Content-Length` yet. */
  let length: number | null = null
  let headers = 0
  let inBody = false
  let dead = false

  const die = (reason: FramingFault["reason"], message: string, received: number, of = limit): FramingFault => {
    dead = true
    held.clear()
    return { reason, message, limit: of, received }
  }
  const badHeader = (message: string): FramingFault => die("bad_header", message, headerBytes, maxHeaderBytes)

  /** One header line without its end; a fault if it cannot be used. */
  const readHeader = (line: string): FramingFault | null => {
    if (line === "") {
      // Blank lines between messages are let pass.
      if (headers === 0) return null
      if (length === null) return badHeader("a header block without Content-Length")
      if (length > limit) {
        return die("message_too_large", `a message of ${length} bytes, ${limit} are allowed`, length)
      }
      inBody = true
      return null
    }
    headers++
    const colon = line.indexOf(":")
    if (colon < 1) return badHeader("something other than a header where one was due; is it all on stdout?")
    const name = line.slice(0, colon).trim().toLowerCase()
    const value = line.slice(colon + 1).trim()
    if (name === "content-type" && !isUtf8(value)) return badHeader("a Content-Type with another charset than UTF-8")
    if (name !== "content-length") return null
    if (!/^\d{1,15}$/u.test(value)) return badHeader("a Content-Length that is no number of bytes")
    const given = Number(value)
    if (length !== null && length !== given) return badHeader("two different values of Content-Length")
    length = given
    return null
  }

  const endBody = (): string => {
    const text = decode(held.view())
    held.clear()
    length = null
    headers = 0
    headerBytes = 0
    inBody = false
    return text
  }

  return {
    feed: (bytes) => {
      if (dead) return nothing
      const texts: Array<string> = []
      let from = 0
      while (from < bytes.byteLength) {
        if (inBody) {
          const piece = bytes.subarray(from, from + (length ?? 0) - held.size)
          held.append(piece)
          from += piece.byteLength
        } else {
          const at = bytes.indexOf(LF, from)
          const piece = bytes.subarray(from, at === -1 ? bytes.byteLength : at)
          headerBytes += piece.byteLength + (at === -1 ? 0 : 1)
          if (headerBytes > maxHeaderBytes) {
            return { texts, fault: badHeader(`a header block of more than ${maxHeaderBytes} bytes`) }
          }
          held.append(piece)
          if (at === -1) break
          from = at + 1
          const line = decode(held.view())
          held.clear()
          const fault = readHeader(line.endsWith("\r") ? line.slice(0, -1) : line)
          if (fault !== null) return { texts, fault }
          if (headers === 0) headerBytes = 0
        }
        if (inBody && held.size === length) texts.push(endBody())
      }
      return { texts, fault: null }
    },
    finish: () => {
      if (dead || (held.size === 0 && headers === 0)) return nothing
      return { texts: [], fault: die("unfinished", "the stream ended inside a message", held.size) }
    }
  }
}
