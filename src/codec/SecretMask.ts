/**
 * Known secrets out of a text, also of one that comes in pieces (reading G2): each, however it is spelled
 * (`SecretForms`), becomes `[redacted]`. Pure.
 *
 * @since 0.1.0
 */
import { redacted, spellings, spellingsOf } from "./SecretForms.ts"

/** `push` holds back what may be the beginning of a secret; `flush` gives it out. @since 0.1.0 @category models */
export interface MaskStream {
  readonly push: (piece: string) => string
  readonly flush: () => string
}

/** @since 0.1.0 @category models */
export interface SecretMask {
  readonly text: (text: string) => string
  /** However a text is cut into pieces, the whole is as `text` gives it. */
  readonly stream: () => MaskStream
}

/** Null = there is nothing to look for. `of` gives the spellings to look for. @since 0.1.0 @category constructors */
export const make = (secrets: Iterable<string>, of = spellings): SecretMask | null => {
  const known = spellingsOf(secrets, of)
  if (known.length === 0) return null
  const pattern = new RegExp(known.map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&")).join("|"), "g")
  const text = (whole: string): string => whole.replace(pattern, redacted)

  const byFirst = new Map<string | undefined, Array<string>>()
  for (const form of known) {
    const others = byFirst.get(form[0])
    if (others === undefined) byFirst.set(form[0], [form])
    else others.push(form)
  }
  const begins = (end: string): boolean =>
    byFirst.get(end[0])?.some((form) => form.length > end.length && form.startsWith(end)) ?? false
  const longest = (known[0]?.length ?? 1) - 1

  /** Where the end begins that more text could make a secret; the length when there is none. */
  const openFrom = (whole: string, from: number): number => {
    for (let at = Math.max(from, whole.length - longest); at < whole.length; at++) {
      if (begins(whole.slice(at))) return at
    }
    return whole.length
  }

  return {
    text,
    stream: () => {
      let held = ""
      return {
        push: (piece) => {
          const whole = held + piece
          let out = ""
          let from = 0
          for (;;) {
            pattern.lastIndex = from
            const match = pattern.exec(whole)
            const open = openFrom(whole, from)
            // what is still open before the match ends may become a longer secret that begins earlier
            if (match === null || open <= match.index) {
              out += whole.slice(from, open)
              held = whole.slice(open)
              return out
            }
            out += whole.slice(from, match.index) + redacted
            from = match.index + match[0].length
          }
        },
        flush: () => {
          const rest = text(held)
          held = ""
          return rest
        }
      }
    }
  }
}
