/**
 * Looking into JSON that came over the wire: checks by hand, no schema in the hot path.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../domain/Tool.ts"

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
