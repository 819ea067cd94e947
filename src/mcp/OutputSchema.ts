/**
 * Does a tool's `structuredContent` fit its output schema? The validator is loaded at the first check.
 *
 * A schema comes from a server: references to other places are never fetched, and `pattern` is not tried, because an
 * expression may be made to run for ever. A schema that cannot be checked lets everything pass, with one warning.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type { McpTool } from "./Connection.ts"
import { shown } from "./Wire.ts"

type Check = (value: unknown) => string | null

/** Characters of a schema; a larger one is not checked. */
const largestSchema = 262_144

const passes: Check = () => null

const anyText = Object.assign((_pattern: string, _flags: string) => ({ test: () => true }), { code: "() => true" })

const compile = async (schema: JsonRpcObject): Promise<Check> => {
  const text = JSON.stringify(schema)
  if (text.length > largestSchema) throw new Error("it is too large")
  if (text.includes("\"patternProperties\"")) throw new Error("it uses patternProperties")
  const dialect = own(schema, "$schema")
  const old = typeof dialect === "string" && /draft-0[467]/u.test(dialect)
  const { $schema: _dialect, ...rest } = schema
  const settings = {
    strict: false,
    validateSchema: false,
    validateFormats: false,
    addUsedSchema: false,
    logger: false,
    meta: false,
    code: { regExp: anyText }
  } as const
  const ajv = old
    ? new (await import("ajv")).Ajv(settings)
    : new (await import("ajv/dist/2020.js")).Ajv2020(settings)
  const validate = ajv.compile(rest)
  return (value) => {
    if (validate(value) === true) return null
    const error = validate.errors?.[0]
    return TerminalText.line(`${error?.instancePath || "the value"} ${error?.message ?? "does not fit"}`, 300)
  }
}

const checks = new WeakMap<JsonRpcObject, Check>()

const checkOf = (server: string, tool: McpTool, schema: JsonRpcObject): Effect.Effect<Check> => {
  const known = checks.get(schema)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.tryPromise({
    try: () => compile(schema),
    catch: (cause) => cause instanceof Error ? cause.message : String(cause)
  }).pipe(
    Effect.catchAll((why) =>
      Effect.as(
        Effect.logWarning(
          `MCP server ${server}: the output schema of ${shown(tool.name)} cannot be checked: ${
            TerminalText.line(why, 200)
          }`
        ),
        passes
      )
    ),
    Effect.tap((check) => Effect.sync(() => checks.set(schema, check)))
  )
}

/**
 * What is wrong with the structured content of a successful call, or null. A tool with an output schema must give one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const problem = (
  server: string,
  tool: McpTool,
  result: { readonly is_error: boolean; readonly structured_content?: unknown }
): Effect.Effect<string | null> => {
  const schema = tool.output_schema
  if (schema === undefined || result.is_error) return Effect.succeed(null)
  if (result.structured_content === undefined) {
    return Effect.succeed(`${shown(tool.name)} has an output schema but gave no structured content`)
  }
  return Effect.map(checkOf(server, tool, schema), (check) => {
    const found = check(result.structured_content)
    return found === null ? null : `the structured content of ${shown(tool.name)} does not fit its schema: ${found}`
  })
}
