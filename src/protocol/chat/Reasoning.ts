/**
 * Reasoning fields of Chat Completions servers: which field the text came in, and the structured details that some of
 * them want back unchanged.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../../domain/Json.ts"
import { asArray, asText, isObject } from "../Json.ts"

/** Fields that hold reasoning as text, the first that is filled counts. @since 0.1.0 @category constants */
export const textFields = ["reasoning_content", "reasoning", "reasoning_text", "thinking"] as const

/** The field of structured reasoning. @since 0.1.0 @category constants */
export const detailsField = "reasoning_details"

/** The mark of a signature that belongs to a tool call rather than to text. @since 0.1.0 @category constants */
export const callSignatureField = "thought_signature"

/** @since 0.1.0 @category models */
export interface Thought {
  readonly text: string
  readonly field: string | undefined
  readonly details: ReadonlyArray<JsonObject>
}

const detailText = (detail: JsonObject): string => asText(detail["text"]) ?? asText(detail["summary"]) ?? ""

/** `undefined` when the delta holds no reasoning. @since 0.1.0 @category decoding */
export const thoughtOf = (delta: JsonObject): Thought | undefined => {
  const details = delta[detailsField] === undefined ? [] : asArray(delta[detailsField]).filter(isObject)
  for (const field of textFields) {
    const text = asText(delta[field])
    if (text !== undefined) return { text, field, details }
  }
  if (details.length === 0) return undefined
  return { text: details.map(detailText).join(""), field: undefined, details }
}

const joined = ["text", "summary", "data"] as const

/** Pieces of one detail follow each other; text grows, everything else is taken over when it comes. @since 0.1.0 @category combinators */
export const mergeDetails = (all: Array<JsonObject>, more: ReadonlyArray<JsonObject>): void => {
  for (const piece of more) {
    const last = all[all.length - 1]
    if (last === undefined || last["type"] !== piece["type"] || last["index"] !== piece["index"]) {
      all.push(piece)
      continue
    }
    const merged: Record<string, unknown> = { ...last }
    for (const [key, value] of Object.entries(piece)) {
      if (value === null || value === undefined) continue
      const before = last[key]
      merged[key] =
        (joined as ReadonlyArray<string>).includes(key) && typeof value === "string" && typeof before === "string"
          ? before + value
          : value
    }
    all[all.length - 1] = merged
  }
}
