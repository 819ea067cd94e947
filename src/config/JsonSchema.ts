/**
 * The JSON Schema (2020-12) of a settings file, made from the Schema of the settings, for editors and validators.
 *
 * It is that of a file, not of the merged result: no key is required, `null` stands for "not here" everywhere, rules may
 * be an object or an array. Keys it does not know are allowed, as the program warns of them and goes on.
 *
 * @since 0.1.0
 */
import * as JSONSchema from "effect/JSONSchema"
import { plain } from "./Checked.ts"
import { HanzoConfig } from "./Schema.ts"
import { defaults } from "./Tiers.ts"

type Json = Readonly<Record<string, unknown>>

const descriptions: Readonly<Record<string, string>> = {
  api_key: "API key of the provider hanzo. Counts in the user's settings only.",
  api_key_command: "Command that prints the API key of the provider hanzo. Counts in the user's settings only.",
  oauth_credentials: "A stored login of the provider hanzo, read only. Counts in the user's settings only.",
  model: "Model to use: provider/model, or a model of the provider in force.",
  providers: "Model providers by name. From a project they count once the workspace is trusted.",
  mcp_servers: "MCP servers by name: command or url defines one, neither adjusts another tier's. " +
    "From a project, definitions count once the workspace is trusted.",
  permissions: "Rules in order, the first match decides: an object of pattern to mode, or an array of rules. " +
    "From a project, allow counts once the workspace is trusted.",
  hooks: "Commands that run at events. They add up over the tiers; from a project they count once it is trusted.",
  sandbox: "What tools may touch. From a project, anything that loosens it counts once the workspace is trusted.",
  lsp: "Language servers.",
  auth: "Endpoints and client ids of logins. Counts in the user's settings only.",
  limits: "US dollars that may be spent. The lowest number of all tiers counts.",
  telemetry: "Where spans and metrics go (OTLP over HTTP). Counts in the user's and the managed settings only.",
  env: "Variables of commands that tools run. From a project they count once the workspace is trusted.",
  custom_instructions: "Text added to the system prompt.",
  input_mode: "How the input line is edited.",
  theme: "Colours of the terminal.",
  max_tokens: "Tokens a conversation may take; it is compacted before. 0 = never; null = the window of the model.",
  reserve_recent: "Latest turns that compaction leaves alone.",
  vim_timeout_ms: "Milliseconds a pending Vim command waits; 0 = for ever.",
  auto_max_rounds: "How often what the review of /auto finds goes back to the code.",
  session_titles: "Where the title of a new session comes from: the first words of its first prompt, or the model.",
  session_retention: "How long sessions are kept: days since they were active last, and room for all of them. " +
    "Archived ones are kept. Counts in the user's settings only.",
  checkpoints: "Keep the files as they were before each message changes them, for /rewind and /undo. null = in the " +
    "conversation, and not in `run`. Counts in the user's settings only.",
  checkpoint_days: "Days for which checkpoints are kept; 0 = for ever. Counts in the user's settings only.",
  checkpoint_max_mb:
    "Room for the checkpoints of one workspace, in MB; the oldest go first; 0 = no limit. Counts in the " +
    "user's settings only.",
  audit_required: "Deny tools while the audit cannot be written. Counts in the user's settings only."
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** `null` is as good as no value at all (reading 4.3). */
const orNull = (schema: unknown): unknown => {
  if (!isObject(schema)) return schema
  const { anyOf, type } = schema
  if (Array.isArray(schema["enum"])) {
    const { type: _type, enum: choices, ...rest } = schema
    return { ...rest, enum: [...choices as ReadonlyArray<unknown>, null] }
  }
  if (typeof type === "string") return { ...schema, type: [type, "null"] }
  if (Array.isArray(anyOf)) {
    return anyOf.some((member) => isObject(member) && member["type"] === "null")
      ? schema
      : { ...schema, anyOf: [...anyOf as ReadonlyArray<unknown>, { type: "null" }] }
  }
  return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] }
}

const isEmpty = (key: string, value: unknown): boolean =>
  (key === "required" && Array.isArray(value) && value.length === 0) ||
  (key === "properties" && isObject(value) && Object.keys(value).length === 0)

const optional = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(optional)
  if (!isObject(schema)) return schema
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$id" || key === "title" || isEmpty(key, value)) continue
    if (key === "properties" && isObject(value)) {
      const required = Array.isArray(schema["required"]) ? schema["required"] as ReadonlyArray<unknown> : []
      result[key] = Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          required.includes(name) ? optional(member) : orNull(optional(member))
        ])
      )
    } else if (key === "additionalProperties" && isObject(value)) result[key] = orNull(optional(value))
    else result[key] = optional(value)
  }
  return result
}

const permissions: Json = {
  anyOf: [
    { type: "object", additionalProperties: { enum: ["allow", "deny", "prompt"] } },
    {
      type: "array",
      items: {
        type: "object",
        required: ["tool_pattern", "mode"],
        properties: {
          tool_pattern: { type: "string" },
          mode: { enum: ["allow", "deny", "prompt"] },
          reason: { type: ["string", "null"] },
          match: { type: ["array", "null"], items: { type: "string" } },
          not_match: { type: ["array", "null"], items: { type: "string" } }
        }
      }
    },
    { type: "null" }
  ]
}

/** The schema as a plain value. @since 0.1.0 @category constructors */
export const settingsSchema = (): Json => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const body = JSONSchema.fromAST(HanzoConfig.ast, {
    definitions,
    additionalPropertiesStrategy: "allow",
    target: "jsonSchema2020-12"
  })
  const whole = optional(JSON.parse(JSON.stringify(body))) as Json
  const properties = isObject(whole["properties"]) ? whole["properties"] : {}
  const named = Object.fromEntries(
    Object.entries(properties).map(([key, schema]) => {
      const fallback = defaults.values.get(key)
      return [key, {
        ...(descriptions[key] === undefined ? {} : { description: descriptions[key] }),
        ...(fallback === undefined ? {} : { default: plain(fallback) }),
        ...(key === "permissions" ? permissions : { ...orNull(withoutRequired(key, schema)) as Json })
      }]
    })
  )
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Settings of hanzo-dev",
    description: "settings.json of the user, .hanzo/settings.json and .hanzo/settings.local.json of a project.",
    type: "object",
    properties: { $schema: { type: "string" }, ...named },
    additionalProperties: true,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: optional(JSON.parse(JSON.stringify(definitions))) })
  }
}

/** `lsp` and `auth` need none of their keys: the defaults have them. */
const withoutRequired = (key: string, schema: unknown): unknown => {
  if ((key !== "lsp" && key !== "auth") || !isObject(schema)) return schema
  const { required: _required, ...rest } = schema
  return rest
}

/** The text that `config schema` prints and `docs/schema/settings.schema.json` holds. @since 0.1.0 @category encoding */
export const settingsSchemaText = (): string => `${JSON.stringify(settingsSchema(), null, 2)}\n`
