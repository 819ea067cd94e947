/**
 * Looking into JSON that came over the wire: checks by hand, no schema in the hot path.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../domain/Json.ts"

/** @since 0.1.0 @category combinators */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** @since 0.1.0 @category combinators */
export const asObject = (value: unknown): JsonObject | undefined => isObject(value) ? value : undefined

/** @since 0.1.0 @category combinators */
export const asArray = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** A string that is not empty. @since 0.1.0 @category combinators */
export const asText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

/** A finite number. @since 0.1.0 @category combinators */
export const asNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/** An index of a stream: an integer from 0. @since 0.1.0 @category combinators */
export const asIndex = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined

/** `undefined` when the text is not JSON (no JSON text has that value). @since 0.1.0 @category decoding */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Is the text one whole JSON object? @since 0.1.0 @category combinators */
export const isWholeObject = (text: string): boolean => {
  const last = text.trimEnd()
  return last.endsWith("}") && isObject(parse(last))
}

/** Is there nothing but white space? @since 0.1.0 @category combinators */
export const isBlank = (text: string): boolean => text.trim() === ""

/**
 * Watches one JSON object grow, piece by piece, in time linear in its length: is it closed, with nothing but white
 * space around it? It follows strings and brackets only; whoever needs certainty parses the text once it is closed.
 *
 * @since 0.1.0
 * @category models
 */
export class ObjectWatch {
  #depth = 0
  #inString = false
  #escaped = false
  #closed = false
  #broken = false

  feed(piece: string): void {
    if (this.#broken) return
    for (let i = 0; i < piece.length; i++) {
      const c = piece.charCodeAt(i)
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (c === 0x5c) this.#escaped = true
        else if (c === 0x22) this.#inString = false
        continue
      }
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) continue
      if (this.#closed || (this.#depth === 0 && c !== 0x7b)) {
        this.#broken = true
        return
      }
      if (c === 0x22) this.#inString = true
      else if (c === 0x7b || c === 0x5b) this.#depth++
      else if ((c === 0x7d || c === 0x5d) && --this.#depth === 0) this.#closed = true
    }
  }

  /** The outermost bracket was closed and nothing else came. */
  get closed(): boolean {
    return this.#closed && !this.#broken
  }
}
