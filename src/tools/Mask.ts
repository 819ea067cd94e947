/**
 * Known secrets out of what tools say (G2): each, however it is spelled (`codec/SecretForms`), becomes `[redacted]`, in
 * whole texts and in such that come in pieces. Pure.
 *
 * @since 0.1.0
 */
import * as SecretMask from "../codec/SecretMask.ts"
import type { ToolResult } from "../domain/Tool.ts"

/** @since 0.1.0 @category models */
export interface Mask {
  /** Nothing is known: every text stays as it is. */
  readonly empty: boolean
  readonly text: (text: string) => string
  readonly result: (result: ToolResult) => ToolResult
  /** However a text is cut into pieces, the whole is as `text` gives it. */
  readonly stream: () => SecretMask.MaskStream
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
  const mask = SecretMask.make(secrets)
  if (mask === null) return nothing
  const { stream, text } = mask
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
    stream
  }
}
