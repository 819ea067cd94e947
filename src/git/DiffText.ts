/**
 * Texts of changes within a limit of bytes, cut where everybody sees it. Pure.
 *
 * @since 0.1.0
 */

/** Bytes of a diff that goes to a model (reading 12). @since 0.1.0 @category constants */
export const limit = 64 * 1024

const encoder = new TextEncoder()

/** @since 0.1.0 @category models */
export interface Cut {
  readonly text: string
  /** Bytes of the whole. */
  readonly bytes: number
  readonly cut: boolean
}

/**
 * At most `most` bytes of UTF-8, whole lines where possible; where something is left out, a line says how much.
 *
 * @since 0.1.0
 * @category combinators
 */
export const cut = (text: string, most: number = limit): Cut => {
  const bytes = encoder.encode(text)
  if (bytes.length <= most) return { text, bytes: bytes.length, cut: false }
  let end = most
  // not inside of a character
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  const kept = new TextDecoder().decode(bytes.subarray(0, end))
  const line = kept.lastIndexOf("\n")
  const whole = line > kept.length / 2 ? kept.slice(0, line + 1) : `${kept}\n`
  const left = bytes.length - encoder.encode(whole).length
  return {
    text: `${whole}[cut here: ${Math.max(1, left)} of ${bytes.length} bytes are left out]\n`,
    bytes: bytes.length,
    cut: true
  }
}

/** A fence of Markdown that the text cannot close. @since 0.1.0 @category combinators */
export const fence = (text: string): string => {
  const longest = Math.max(2, ...(text.match(/`+/gu) ?? []).map((run) => run.length))
  return "`".repeat(longest + 1)
}

/** Names as a list, at most `most` of them. @since 0.1.0 @category encoding */
export const names = (all: ReadonlyArray<string>, most = 100): ReadonlyArray<string> =>
  all.length <= most ? all : [...all.slice(0, most), `and ${all.length - most} more`]
