/**
 * From an effect Schema to a tool: the JSON Schema for the model, made once when it is first asked for, and decoding
 * with complaints a model can act on (reading 2.2).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { ToolDef } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { ToolKind } from "../permissions/Permissions.ts"
import { nearest } from "./Nearest.ts"
import { type NativeTool, type PreparedCall, ToolFailure } from "./Tool.ts"

/**
 * `input` is a struct; describe each field with `annotations({ description })`, the model reads it. Optional fields are
 * `Schema.optional(...)`; a `null` in their place counts as absent.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolSpec<A, I> {
  readonly name: string
  readonly description: string
  /** Or what makes it: a program that starts has no use for the schemas of tools that nobody calls. */
  readonly input: Schema.Schema<A, I> | (() => Schema.Schema<A, I>)
  readonly kind: ToolKind
  readonly read_only: boolean
  /** Resolves what the call touches, without side effects; `run` of the result acts on exactly that. */
  readonly prepare: (input: A) => Effect.Effect<PreparedCall, ToolFailure>
}

/** Of the program's own tools, by name, made when it was built; not there in the library. */
declare const __HANZO_INPUT_SCHEMAS__: Readonly<Record<string, JsonObject>> | undefined

const builtSchema = (name: string): JsonObject | undefined =>
  typeof __HANZO_INPUT_SCHEMAS__ === "object" && Object.hasOwn(__HANZO_INPUT_SCHEMAS__, name)
    ? __HANZO_INPUT_SCHEMAS__[name]
    : undefined

/** A schema is a class, so that it may be a function too. */
const isLate = <A, I>(input: ToolSpec<A, I>["input"]): input is () => Schema.Schema<A, I> => !("ast" in input)

/**
 * A tool from its parts. The schema is compiled on first use, not at load.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defineTool = <A, I>(spec: ToolSpec<A, I>): NativeTool => {
  const input = (): Schema.Schema<A, I> => isLate(spec.input) ? spec.input() : spec.input
  let schema: JsonObject | undefined
  const definition: ToolDef = {
    name: spec.name,
    description: spec.description,
    get input_schema() {
      return schema ??= builtSchema(spec.name) ?? jsonSchemaOf(input())
    }
  }
  let decoder: Decoder<A> | undefined
  return {
    definition,
    kind: spec.kind,
    read_only: spec.read_only,
    prepare: (given) =>
      Effect.suspend(() => {
        const decoded = (decoder ??= inputDecoder(spec.name, input()))(given)
        return Either.isRight(decoded)
          ? spec.prepare(decoded.right)
          : Effect.fail(new ToolFailure({ message: decoded.left }))
      })
  }
}

const isObject = (u: unknown): u is Readonly<Record<string, unknown>> =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** Nothing a model needs: the dialect, and titles, which repeat the name of the refinement. */
const noise: ReadonlySet<string> = new Set(["$schema", "$defs", "title"])

/** Replaces references by what they name; a schema that contains itself keeps its `$defs`. */
const inline = (root: Readonly<Record<string, unknown>>): JsonObject => {
  const defs = isObject(root["$defs"]) ? root["$defs"] : {}
  let recursive = false
  const visit = (node: unknown, open: ReadonlyArray<string>): unknown => {
    if (Array.isArray(node)) return node.map((item) => visit(item, open))
    if (!isObject(node)) return node
    const ref = node["$ref"]
    if (typeof ref === "string" && ref.startsWith("#/$defs/")) {
      const name = decodeURIComponent(ref.slice("#/$defs/".length))
      if (open.includes(name)) {
        recursive = true
        return node
      }
      const target = visit(defs[name], [...open, name])
      const own = Object.entries(node).filter(([key]) => key !== "$ref" && !noise.has(key))
      return { ...(isObject(target) ? target : {}), ...Object.fromEntries(own) }
    }
    return Object.fromEntries(
      Object.entries(node).filter(([key]) => !noise.has(key)).map(([key, value]) => [
        key,
        key === "properties" && isObject(value)
          ? Object.fromEntries(Object.entries(value).map(([field, type]) => [field, visit(type, open)]))
          : visit(value, open)
      ])
    )
  }
  const inlined = visit(root, [])
  const { $schema: _, ...kept } = root
  return recursive || !isObject(inlined) ? kept : inlined
}

/**
 * JSON Schema of what goes in, without `$schema` and references, so that every provider takes it.
 */
const jsonSchemaOf = <A, I>(schema: Schema.Schema<A, I>): JsonObject => {
  const made: unknown = JSONSchema.make(schema)
  return isObject(made) ? inline(made) : { type: "object" }
}

/** Right = the decoded input; left = the complaint. */
type Decoder<A> = (input: JsonObject) => Either.Either<A, string>

const quote = (key: PropertyKey): string => JSON.stringify(String(key))

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((key, i) => typeof key === "number" ? `[${key}]` : i === 0 ? String(key) : `.${String(key)}`).join("")

const typeName = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : value === undefined ? "nothing" : typeof value

const show = (value: unknown): string => {
  if (value === null || value === undefined) return typeName(value)
  const text = JSON.stringify(value) ?? String(value)
  const points = Array.from(text)
  return `${points.length > 80 ? `${points.slice(0, 80).join("")}...` : text} (${typeName(value)})`
}

const at = (input: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined,
    input
  )

/** What the JSON Schema says of the value at `path`: its fields, and a short word for what is expected. */
const schemaAt = (schema: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((node, key) => {
    if (!isObject(node)) return undefined
    if (typeof key === "number") return node["items"]
    const properties = node["properties"]
    return isObject(properties) && Object.hasOwn(properties, key) ? properties[String(key)] : undefined
  }, schema)

const expected = (schema: unknown): string => {
  if (!isObject(schema)) return "a value"
  const options = schema["enum"]
  if (Array.isArray(options)) return options.length === 1 ? show(options[0]) : `one of ${options.map(quote).join(", ")}`
  const type = schema["type"]
  const limits = [
    typeof schema["minimum"] === "number" ? `at least ${schema["minimum"]}` : "",
    typeof schema["exclusiveMinimum"] === "number" ? `above ${schema["exclusiveMinimum"]}` : "",
    typeof schema["maximum"] === "number" ? `at most ${schema["maximum"]}` : "",
    typeof schema["minLength"] === "number" ? `at least ${schema["minLength"]} long` : "",
    typeof schema["minItems"] === "number" ? `at least ${schema["minItems"]} items` : ""
  ].filter((limit) => limit !== "").join(" and ")
  const word = typeof type === "string" ? (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`) : "a value"
  return limits === "" ? word : `${word} (${limits})`
}

/**
 * Decodes a tool's input. Every problem is named at once: missing fields with what they want, wrong values with what
 * came, unknown fields with the nearest known names.
 */
const inputDecoder = <A, I>(tool: string, schema: Schema.Schema<A, I>): Decoder<A> => {
  const decode = Schema.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
  const json = jsonSchemaOf(schema)
  const properties = isObject(json["properties"]) ? json["properties"] : {}
  const required = new Set(Array.isArray(json["required"]) ? json["required"] : [])
  const known = Object.keys(properties)
  const optional = (key: string): boolean => Object.hasOwn(properties, key) && !required.has(key)

  const complain = (input: JsonObject, error: ParseResult.ParseError): string => {
    const lines = new Map<string, string>()
    const issues = ParseResult.ArrayFormatter.formatErrorSync(error)
    const deeper = (path: ReadonlyArray<PropertyKey>): boolean =>
      issues.some((other) => other.path.length > path.length && path.every((key, i) => other.path[i] === key))
    for (const issue of issues) {
      const where = pathText(issue.path)
      if (lines.has(where) || deeper(issue.path)) continue
      const want = expected(schemaAt(json, issue.path))
      if (issue._tag === "Unexpected") {
        const key = String(issue.path.at(-1) ?? "")
        const parent = schemaAt(json, issue.path.slice(0, -1))
        const fields = isObject(parent) && isObject(parent["properties"]) ? Object.keys(parent["properties"]) : known
        const near = nearest(key, fields)
        const hint = near.length > 0
          ? `did you mean ${near.map(quote).join(" or ")}?`
          : fields.length > 0
          ? `known fields: ${fields.join(", ")}`
          : "the tool takes no fields"
        lines.set(where, `unknown field "${where}": ${hint}`)
      } else if (issue._tag === "Missing") {
        lines.set(where, `"${where}" is missing: expected ${want}`)
      } else {
        const came = at(input, issue.path)
        const detail = want === "a value" ? issue.message.replace(/, actual [\s\S]*$/u, "") : `expected ${want}`
        lines.set(where, `${where === "" ? "the input" : `"${where}"`}: ${detail}, got ${show(came)}`)
      }
    }
    const all = Array.from(lines.values())
    return `invalid input for ${tool}:${all.length === 1 ? ` ${all[0]}` : all.map((l) => `\n- ${l}`).join("")}`
  }

  return (input) => {
    const given = Object.fromEntries(Object.entries(input).filter(([key, value]) => value !== null || !optional(key)))
    return Either.mapLeft(decode(given), (error) => complain(given, error))
  }
}
