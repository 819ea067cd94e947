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

/** HIP-301 section 10. @since 0.1.0 @category schemas */
export const IsolationMode = Schema.Literal("off", "workspace", "allowlist")
/** @since 0.1.0 @category models */
export type IsolationMode = typeof IsolationMode.Type

/**
 * What tools may touch (reading 10). No `mode` = `workspace`, or `off` inside a container; `workspace-only` and
 * `allow-list` are read as `workspace` and `allowlist`. `allowed_paths` belong to `allowlist`: relative to the workspace,
 * `~/` expanded. `network: {allow}` names domains: `example.com` is that name alone, `*.example.com` the names below it.
 * Defaults: `allowed_paths` [], `network` "on", `private_tmp` true, `require_enforcement` and
 * `deny_hard_linked_writes` false.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SandboxConfig = Schema.Struct({
  mode: Schema.optional(Schema.Literal("off", "workspace", "allowlist", "workspace-only", "allow-list")),
  allowed_paths: Schema.optional(Schema.Array(Schema.String)),
  network: Schema.optional(
    Schema.Union(Schema.Literal("on", "off"), Schema.Struct({ allow: Schema.Array(Schema.String) }))
  ),
  private_tmp: Schema.optional(Schema.Boolean),
  require_enforcement: Schema.optional(Schema.Boolean),
  deny_hard_linked_writes: Schema.optional(Schema.Boolean)
})
/** @since 0.1.0 @category models */
export type SandboxConfig = typeof SandboxConfig.Type

/** When a hook runs (reading 9): before and after a tool, and around sessions, prompts and questions. @since 0.1.0 @category schemas */
export const HookEvent = Schema.Literal(
  "pre_tool_use",
  "post_tool_use",
  "session_start",
  "user_prompt_submit",
  "pre_compact",
  "stop",
  "notification"
)
/** @since 0.1.0 @category models */
export type HookEvent = typeof HookEvent.Type

/**
 * HIP-301 section 9. `command` is a line for `/bin/sh -c`; `tool_pattern` is a glob over tool names (reading 7.3), there
 * for the two tool events and only there (`HookRules`); `timeout_ms` counts from its start, default 5000.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HookConfig = Schema.Struct({
  event: HookEvent,
  command: Schema.String.pipe(Schema.pattern(/\S/u)).annotations({
    description: "a command line for /bin/sh, not blank"
  }),
  tool_pattern: Schema.optional(Schema.String),
  timeout_ms: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(1, 600_000)).annotations({
      description: "a whole number of milliseconds from 1 to 600000"
    })
  )
})
/** @since 0.1.0 @category models */
export type HookConfig = typeof HookConfig.Type

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
  hooks: Schema.Array(HookConfig),
  sandbox: SandboxConfig,
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
