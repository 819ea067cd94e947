/**
 * Known secrets out of what tools say (G2): each, however it is spelled (`codec/SecretForms`), becomes `[redacted]`, in
 * whole texts and in such that come in pieces. Pure.
 *
 * @since 0.1.0
 */
import { redacted, spellingsOf } from "../codec/SecretForms.ts"
import type { ToolResult } from "../domain/Tool.ts"

/** `push` holds back what may be the beginning of a secret; `flush` gives it out. @since 0.1.0 @category models */
export interface MaskStream {
  readonly push: (piece: string) => string
  readonly flush: () => string
}

/** @since 0.1.0 @category models */
export interface Mask {
  /** Nothing is known: every text stays as it is. */
  readonly empty: boolean
  readonly text: (text: string) => string
  readonly result: (result: ToolResult) => ToolResult
  /** However a text is cut into pieces, the whole is as `text` gives it. */
  readonly stream: () => MaskStream
}

/** @since 0.1.0 @category constants */
export const nothing: Mask = {
  empty: true,
  text: (text) => text,
  result: (result) => result,
  stream: () => ({ push: (piece) => piece, flush: () => "" })
}

/** @since 0.1.0 @category constructors */
export const make = (secrets: ReadonlyArray<string>): Mask => {
  const known = spellingsOf(secrets)
  if (known.length === 0) return nothing
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
    empty: false,
    text,
    result: (result) => ({
      ...result,
      output: text(result.output),
      error: result.error === null ? null : text(result.error),
      ...(result.parts === undefined
        ? {}
        : { parts: result.parts.map((part) => part.type === "text" ? { ...part, text: text(part.text) } : part) })
    }),
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
