/**
 * The text of an instruction file, whatever its bytes are; pure.
 *
 * @since 0.1.0
 */
import { neutralise } from "../codec/TerminalText.ts"

/** What of one file goes to the model, in bytes of UTF-8. @since 0.1.0 @category constants */
export const maxFileBytes = 64 * 1024

/** `problem`: it is no text. `remark`: what a person should know of it. @since 0.1.0 @category models */
export type Decoded =
  | { readonly text: string; readonly remark: string | null }
  | { readonly problem: string }

const encoder = new TextEncoder()

/**
 * Characters of the tag block spell words that no editor shows; so do rows of selectors of variants and of blanks without
 * a width, of which one alone may stand behind a letter or in an emoji.
 */
const hidden = /[\u{e0000}-\u{e007f}]+|(?:[\u180e\u200b\u2060-\u2064\ufeff]|\p{Variation_Selector}){2,}/gu

/** Nothing in it that cannot be seen, and how many characters of it could not. @since 0.1.0 @category combinators */
export const visible = (text: string): { readonly text: string; readonly count: number } => {
  let count = 0
  const shown = neutralise(text).replaceAll(hidden, (run) => {
    const length = [...run].length
    count += length
    return `[${length} hidden characters]`
  })
  return { text: shown, count }
}

const plain = (bytes: Uint8Array): Decoded => {
  const [a, b, c] = bytes
  if (a === 0xff && b === 0xfe) return { text: new TextDecoder("utf-16le").decode(bytes), remark: null }
  if (a === 0xfe && b === 0xff) return { text: new TextDecoder("utf-16be").decode(bytes), remark: null }
  const body = a === 0xef && b === 0xbb && c === 0xbf ? bytes.subarray(3) : bytes
  if (body.includes(0)) return { problem: "is no text" }
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body), remark: null }
  } catch {
    return { text: new TextDecoder("latin1").decode(body), remark: "is not UTF-8 and was read as Latin-1" }
  }
}

/** The last character may be cut: at most three bytes of it stand at the end. */
const wholeCharacters = (bytes: Uint8Array): Uint8Array => {
  let end = bytes.length
  for (let back = 1; back <= 4 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      if (back < length) end = bytes.length - back
      break
    }
  }
  return bytes.subarray(0, end)
}

/**
 * The text with LF at the ends of its lines, nothing in it that cannot be seen. `complete` is false where only the
 * beginning of the file was read.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (bytes: Uint8Array, complete = true): Decoded => {
  const decoded = plain(complete ? bytes : wholeCharacters(bytes))
  if ("problem" in decoded) return decoded
  const { count, text: shown } = visible(decoded.text.replace(/^\ufeff/, "").replaceAll(/\r\n?/g, "\n"))
  const remarks = [
    ...(decoded.remark === null ? [] : [decoded.remark]),
    ...(count === 0 ? [] : [`has ${count} characters that no editor shows; look at it before you trust it`])
  ]
  return { text: shown.trim(), remark: remarks.length === 0 ? null : remarks.join(", and ") }
}

/** At most so many bytes of UTF-8, cut behind a line where there is one. @since 0.1.0 @category combinators */
export const cutTo = (text: string, max_bytes: number): { readonly text: string; readonly cut: boolean } => {
  if (text.length <= max_bytes && (text.length * 3 <= max_bytes || encoder.encode(text).length <= max_bytes)) {
    return { text, cut: false }
  }
  const bytes = encoder.encode(text.slice(0, max_bytes))
  const kept = new TextDecoder().decode(wholeCharacters(bytes.subarray(0, max_bytes)))
  const line = kept.lastIndexOf("\n")
  return { text: (line > 0 ? kept.slice(0, line) : kept).trimEnd(), cut: true }
}
