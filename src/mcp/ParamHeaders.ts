/**
 * Arguments of a tool call that go into headers too (revision 2026-07-28, `x-mcp-header`; reading 1.2): which ones a schema
 * names, whether it does so as allowed, and how values are written. Pure.
 *
 * @since 0.1.0
 */
import * as Encoding from "effect/Encoding"
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"

/** The argument at `path` goes into `Mcp-Param-<name>`. @since 0.1.0 @category models */
export interface ParamHeader {
  readonly name: string
  readonly path: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export type ParamHeaders = { readonly ok: ReadonlyArray<ParamHeader> } | { readonly why: string }

const annotation = "x-mcp-header"
/** RFC 9110, section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u
const primitive = new Set(["string", "integer", "boolean"])

/** Keywords of JSON Schema whose value is a schema, a list of them, or schemas by name. */
const inner = {
  one: new Set([
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema"
  ]),
  many: new Set(["items", "prefixItems", "allOf", "anyOf", "oneOf"]),
  named: new Set(["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"])
}

const shown = (text: string): string => TerminalText.line(JSON.stringify(text), 80)

/** Every schema below this one that is not reached by `properties` alone. */
const aside = (schema: JsonRpcObject): ReadonlyArray<unknown> =>
  Object.entries(schema).flatMap(([key, value]) =>
    Array.isArray(value)
      ? inner.many.has(key) ? value : []
      : inner.one.has(key)
      ? [value]
      : inner.named.has(key) && isJsonObject(value)
      ? Object.values(value)
      : []
  )

const isAnnotated = (value: unknown): boolean =>
  isJsonObject(value) && (Object.hasOwn(value, annotation) || aside(value).some(isAnnotated) ||
    (isJsonObject(value["properties"]) && Object.values(value["properties"]).some(isAnnotated)))

const scan = (schema: JsonRpcObject): ParamHeaders => {
  const found: Array<ParamHeader> = []
  const names = new Map<string, string>()
  const walk = (value: unknown, path: ReadonlyArray<string>): string | null => {
    if (!isJsonObject(value)) return null
    const place = path.length === 0 ? "the schema itself" : `the parameter ${shown(path.join("."))}`
    if (Object.hasOwn(value, annotation)) {
      const name = value[annotation]
      const type = own(value, "type")
      if (path.length === 0) return `${place} has ${annotation}, which is for parameters`
      if (typeof name !== "string" || !token.test(name)) {
        return `${place} has ${annotation} ${
          shown(typeof name === "string" ? name : String(name))
        }, no name of a header`
      }
      if (typeof type !== "string" || !primitive.has(type)) {
        return `${place} has ${annotation} and is neither string, integer nor boolean`
      }
      const other = names.get(name.toLowerCase())
      if (other !== undefined) return `${place} has the same ${annotation} as ${other}`
      names.set(name.toLowerCase(), place)
      found.push({ name, path })
    }
    if (aside(value).some(isAnnotated)) {
      return `below ${place} a schema has ${annotation} that is not reached by properties alone`
    }
    const properties = own(value, "properties")
    for (const [key, property] of isJsonObject(properties) ? Object.entries(properties) : []) {
      const why = walk(property, [...path, key])
      if (why !== null) return why
    }
    return null
  }
  const why = walk(schema, [])
  return why === null ? { ok: found } : { why }
}

const known = new WeakMap<JsonRpcObject, ParamHeaders>()

/**
 * What a tool's input schema mirrors; `why` = the annotations break the rules, such a tool is left out. An annotation is a
 * header name of its own, on a string, integer or boolean that is reached from the top by `properties` alone.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = (input_schema: JsonRpcObject): ParamHeaders => {
  const found = known.get(input_schema) ?? scan(input_schema)
  known.set(input_schema, found)
  return found
}

/** Values that look like an encoded one are encoded too. */
const sentinel = /^=\?base64\?.*\?=$/su
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/u

/** A text as the value of a header: itself, or in Base64 of its UTF-8 between marks. @since 0.1.0 @category encoding */
export const headerValue = (text: string): string =>
  text === "" || (plain.test(text) && !sentinel.test(text)) ? text : `=?base64?${Encoding.encodeBase64(text)}?=`

const valueOf = (value: unknown): string | null =>
  typeof value === "string"
    ? headerValue(value)
    : typeof value === "boolean" || (typeof value === "number" && Number.isInteger(value))
    ? String(value)
    : null

/** The headers of one call; arguments that are null or not there have none. @since 0.1.0 @category encoding */
export const write = (
  headers: ReadonlyArray<ParamHeader>,
  args: unknown
): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.flatMap(({ name, path }) => {
    const value = valueOf(
      path.reduce<unknown>((from, key) => isJsonObject(from) ? own(from, key) : undefined, args)
    )
    return value === null ? [] : [[`mcp-param-${name.toLowerCase()}`, value] as const]
  }))
