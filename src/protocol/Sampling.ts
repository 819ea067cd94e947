/**
 * Temperature and top_p for Chat Completions and Responses.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../domain/Json.ts"
import type { Lossiness } from "./Lossiness.ts"
import type { EncodeInput } from "./Protocol.ts"

const clamp = (name: string, value: number, high: number, lossiness: Lossiness): number => {
  const clamped = Math.min(high, Math.max(0, value))
  if (clamped !== value) lossiness.drop(name, `${value} clamped to 0..${high}`)
  return clamped
}

/** Clamped to 0..2 and 0..1; a model that reasons takes neither. @since 0.1.0 @category encoding */
export const sampling = (input: EncodeInput, lossiness: Lossiness): JsonObject => {
  const { temperature, top_p } = input
  if (input.traits.reasoning === true && input.effort !== "none") {
    if (temperature !== undefined) lossiness.drop("temperature", "not taken by a model that reasons")
    if (top_p !== undefined) lossiness.drop("top_p", "not taken by a model that reasons")
    return {}
  }
  return {
    ...(temperature === undefined ? {} : { temperature: clamp("temperature", temperature, 2, lossiness) }),
    ...(top_p === undefined ? {} : { top_p: clamp("top_p", top_p, 1, lossiness) })
  }
}
