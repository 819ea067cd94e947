/**
 * Text from models, tools, servers and files made safe for a terminal (G8): no escape sequence, control character or
 * bidirectional override reaches it. Everything is kept visible, nothing is silently dropped but the CR of a CRLF.
 *
 * | input | shown as |
 * | --- | --- |
 * | LF, TAB | as they are |
 * | CRLF | LF |
 * | other C0 controls, DEL (ESC too) | its control picture, U+2400 to U+2421 |
 * | C1 controls (U+0080 to U+009F), bidi controls U+202A to U+202E and U+2066 to U+2069, U+2028, U+2029 | `<U+009B>` |
 *
 * @since 0.1.0
 */

const unsafe = /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const picture = (found: string): string => {
  if (found === "\r\n") return "\n"
  const code = found.charCodeAt(0)
  return code < 0x20
    ? String.fromCharCode(0x2400 + code)
    : code === 0x7f
    ? "\u2421"
    : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`
}

/** A whole text. Applying it twice is applying it once. @since 0.1.0 @category encoding */
export const neutralise = (text: string): string => text.replace(unsafe, picture)

/**
 * The same for a text that comes in pieces: any cut gives the same whole. `push` holds back a CR at the end of a piece
 * until the next one shows whether an LF follows; `flush` gives it out.
 *
 * @since 0.1.0
 * @category models
 */
export interface Neutraliser {
  readonly push: (piece: string) => string
  readonly flush: () => string
}

/** @since 0.1.0 @category constructors */
export const make = (): Neutraliser => {
  let held = ""
  return {
    push: (piece) => {
      const text = held + piece
      held = text.endsWith("\r") ? "\r" : ""
      return neutralise(held === "" ? text : text.slice(0, -1))
    },
    flush: () => {
      const rest = neutralise(held)
      held = ""
      return rest
    }
  }
}

/**
 * One line of at most `limit` code points: safe, white space runs as one space, an ellipsis where it was cut.
 *
 * @since 0.1.0
 * @category encoding
 */
export const line = (text: string, limit: number): string => {
  const flat = neutralise(text).replaceAll(/\s+/g, " ").trim()
  const points = [...flat]
  return points.length <= limit ? flat : `${points.slice(0, Math.max(0, limit - 1)).join("")}\u2026`
}
