/**
 * The settings file (reading 4): every key, its type, its default. JSONC on disk, snake_case keys, camelCase spellings
 * of known keys accepted on read.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { PermissionRule } from "../domain/Permission.ts"
import { JsonObject } from "../domain/Tool.ts"

const count = Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({
  description: "a whole number, 0 or more"
})

const positive = Schema.Number.pipe(Schema.int(), Schema.positive()).annotations({
  description: "a whole number over 0"
})

const dollars = Schema.Number.pipe(Schema.nonNegative()).annotations({ description: "a number, 0 or more" })

/** US dollars for a million tokens. @since 0.1.0 @category schemas */
export const Price = Schema.Struct({
  input: dollars,
  output: dollars,
  cache_read: Schema.optional(dollars),
  cache_write: Schema.optional(dollars)
})
/** @since 0.1.0 @category models */
export type Price = typeof Price.Type

/** @since 0.1.0 @category schemas */
export const ModelConfig = Schema.Struct({
  context_window: Schema.optional(positive),
  max_output_tokens: Schema.optional(positive),
  price: Schema.optional(Price),
  reasoning: Schema.optional(Schema.Boolean),
  images: Schema.optional(Schema.Boolean)
})
/** @since 0.1.0 @category models */
export type ModelConfig = typeof ModelConfig.Type

/** Limits are milliseconds, 0 = off. `root: "exact"` appends endpoints directly to `base_url`. @since 0.1.0 @category schemas */
export const ProviderConfig = Schema.Struct({
  protocol: Schema.optional(Schema.Literal("anthropic", "responses", "chat")),
  base_url: Schema.optional(Schema.String),
  root: Schema.optional(Schema.Literal("auto", "exact")),
  api_key: Schema.optional(Schema.String),
  api_key_env: Schema.optional(Schema.String),
  headers: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  models: Schema.optional(Schema.Record({ key: Schema.String, value: ModelConfig })),
  effort: Schema.optional(Schema.Literal("none", "minimal", "low", "medium", "high", "xhigh", "max")),
  connect_ms: Schema.optional(count),
  headers_ms: Schema.optional(count),
  idle_ms: Schema.optional(count),
  max_retries: Schema.optional(count),
  retry_base_ms: Schema.optional(count),
  retry_max_ms: Schema.optional(count),
  retry_after_cap_ms: Schema.optional(count)
})
/** @since 0.1.0 @category models */
export type ProviderConfig = typeof ProviderConfig.Type

/**
 * The merged settings. Rooms that are not built yet read nothing from their keys; the keys are known all the same, so
 * that a settings file written for a later version is no error.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HanzoConfig = Schema.Struct({
  api_key: Schema.NullOr(Schema.String),
  api_key_command: Schema.NullOr(Schema.String),
  oauth_credentials: Schema.NullOr(JsonObject),
  model: Schema.String,
  providers: Schema.Record({ key: Schema.String, value: ProviderConfig }),
  mcp_servers: Schema.Record({ key: Schema.String, value: JsonObject }),
  permissions: Schema.Array(PermissionRule),
  hooks: Schema.Array(JsonObject),
  sandbox: JsonObject,
  lsp: JsonObject,
  auth: JsonObject,
  env: Schema.Record({ key: Schema.String, value: Schema.String }),
  custom_instructions: Schema.String,
  input_mode: Schema.Literal("vim", "emacs", "default"),
  theme: Schema.String,
  max_tokens: Schema.NullOr(positive),
  reserve_recent: count,
  vim_timeout_ms: count,
  auto_max_rounds: count,
  audit_required: Schema.Boolean
})
/** @since 0.1.0 @category models */
export type HanzoConfig = typeof HanzoConfig.Type
