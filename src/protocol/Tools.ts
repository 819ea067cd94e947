/**
 * Tool definitions as providers accept them.
 *
 * @since 0.1.0
 */
import type { ToolDef } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Call, History } from "./History.ts"
import { asArray, asObject, isBlank } from "./Json.ts"
import type { Lossiness } from "./Lossiness.ts"
import type { EncodeInput } from "./Protocol.ts"
import * as ToolNames from "./ToolNames.ts"

const combinators = ["anyOf", "oneOf", "allOf"] as const

/**
 * A schema that every provider takes: of type object, with properties, without a combinator at the top (whose branches'
 * properties become optional ones). All other keys stay as they are.
 *
 * @since 0.1.0
 * @category combinators
 */
export const repairSchema = (schema: JsonObject, tool: string, lossiness: Lossiness): JsonObject => {
  const found = combinators.filter((key) => Array.isArray(schema[key]))
  const own = asObject(schema["properties"])
  if (schema["type"] === "object" && own !== undefined && found.length === 0) return schema
  let properties: JsonObject = own ?? {}
  const rest: Record<string, unknown> = { ...schema }
  for (const key of found) {
    delete rest[key]
    for (const branch of asArray(schema[key])) {
      properties = { ...asObject(asObject(branch)?.["properties"]), ...properties }
    }
    lossiness.drop(`tools.${tool}.input_schema.${key}`, "not taken at the top of a schema, its properties merged")
  }
  return { ...rest, type: "object", properties }
}

/** The names of one request: of its tools, its history and its choice. @since 0.1.0 @category constructors */
export const namesOf = (input: EncodeInput, history: History): ToolNames.ToolNames => {
  const names = new Set(input.tools.map((tool) => tool.name))
  for (const entry of history.entries) {
    if (entry.kind !== "assistant") continue
    for (const part of entry.parts) if (part.type === "tool_call") names.add(part.name)
  }
  if (typeof input.tool_choice === "object") names.add(input.tool_choice.name)
  return ToolNames.make(names, input.traits.tool_name_limit ?? ToolNames.defaultLimit)
}

/** The tools to send, the first of two with one name. @since 0.1.0 @category combinators */
export const unique = (tools: ReadonlyArray<ToolDef>, lossiness: Lossiness): ReadonlyArray<ToolDef> => {
  const seen = new Set<string>()
  return tools.filter((tool) => {
    if (!seen.has(tool.name)) return seen.add(tool.name)
    lossiness.drop(`tools.${tool.name}`, "defined twice, the first one is sent")
    return false
  })
}

/** Argument text for protocols that keep it as text: byte for byte, but never empty (invariant 6). @since 0.1.0 @category encoding */
export const argumentText = (call: Call): string => isBlank(call.arguments) ? "{}" : call.arguments

/** A failed result where the protocol has no flag for it. @since 0.1.0 @category encoding */
export const errorText = (text: string, isError: boolean): string =>
  isError && !text.startsWith("Error:") ? `Error: ${text === "" ? "failed" : text}` : text
