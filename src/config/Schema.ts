/**
 * The settings file (reading 4): every key, its type, its default. JSONC on disk, snake_case keys, camelCase spellings
 * of known keys accepted on read.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { PermissionRule } from "../domain/Permission.ts"
import { JsonObject } from "../domain/Json.ts"

const count = Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({
  description: "a whole number, 0 or more"
})

const positive = Schema.Number.pipe(Schema.int(), Schema.positive()).annotations({
  description: "a whole number over 0"
})

const dollars = Schema.Number.pipe(Schema.nonNegative()).annotations({ description: "a number, 0 or more" })

const port = Schema.Number.pipe(Schema.int(), Schema.between(1, 65_535)).annotations({
  description: "a port number, 1 to 65535"
})

const name = Schema.NonEmptyString.annotations({ description: "a text that is not empty" })

const texts = Schema.Array(Schema.String)

const textByName = Schema.Record({ key: Schema.String, value: Schema.String })

/** What may be absent: one schema for each kind, since making them all anew is most of what loading this module takes. */
const maybe = {
  text: Schema.optional(Schema.String),
  flag: Schema.optional(Schema.Boolean),
  count: Schema.optional(count),
  positive: Schema.optional(positive),
  dollars: Schema.optional(dollars),
  port: Schema.optional(port),
  name: Schema.optional(name),
  texts: Schema.optional(texts),
  textByName: Schema.optional(textByName),
  object: Schema.optional(JsonObject)
}

const rates = {
  input: dollars,
  output: dollars,
  cache_read: maybe.dollars,
  cache_write: maybe.dollars,
  reasoning: maybe.dollars
}

/**
 * US dollars for a million tokens. Without `cache_read` or `cache_write` such tokens cost what `input` does, without
 * `reasoning` as much as the rest of the `output`. `tiers`: what a request costs, all of it, whose prompt has more than
 * `above` tokens; of several the highest that is passed counts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Price = Schema.Struct({
  ...rates,
  tiers: Schema.optional(Schema.Array(Schema.Struct({ above: positive, ...rates })))
})
/** @since 0.1.0 @category models */
export type Price = typeof Price.Type

/** @since 0.1.0 @category schemas */
export const ModelConfig = Schema.Struct({
  context_window: maybe.positive,
  max_output_tokens: maybe.positive,
  price: Schema.optional(Price),
  reasoning: maybe.flag,
  images: maybe.flag
})
/** @since 0.1.0 @category models */
export type ModelConfig = typeof ModelConfig.Type

/** Limits are milliseconds, 0 = off. `root: "exact"` appends endpoints directly to `base_url`. @since 0.1.0 @category schemas */
export const ProviderConfig = Schema.Struct({
  protocol: Schema.optional(Schema.Literal("anthropic", "responses", "chat")),
  base_url: maybe.text,
  root: Schema.optional(Schema.Literal("auto", "exact")),
  api_key: maybe.text,
  api_key_env: maybe.text,
  headers: maybe.textByName,
  models: Schema.optional(Schema.Record({ key: Schema.String, value: ModelConfig })),
  effort: Schema.optional(Schema.Literal("none", "minimal", "low", "medium", "high", "xhigh", "max")),
  connect_ms: maybe.count,
  headers_ms: maybe.count,
  idle_ms: maybe.count,
  max_retries: maybe.count,
  retry_base_ms: maybe.count,
  retry_max_ms: maybe.count,
  retry_after_cap_ms: maybe.count
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
  allowed_paths: maybe.texts,
  network: Schema.optional(
    Schema.Union(Schema.Literal("on", "off"), Schema.Struct({ allow: Schema.Array(Schema.String) }))
  ),
  private_tmp: maybe.flag,
  require_enforcement: maybe.flag,
  deny_hard_linked_writes: maybe.flag
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
  tool_pattern: maybe.text,
  timeout_ms: Schema.optional(
    Schema.Number.pipe(Schema.int(), Schema.between(1, 600_000)).annotations({
      description: "a whole number of milliseconds from 1 to 600000"
    })
  )
})
/** @since 0.1.0 @category models */
export type HookConfig = typeof HookConfig.Type

/** A program, alone or with its first arguments; never split at blanks (reading 1.1). @since 0.1.0 @category schemas */
export const ServerCommand = Schema.Union(
  name,
  Schema.Array(Schema.String).pipe(Schema.minItems(1)).annotations({
    description: "a text, or an array with at least the program's name"
  })
)
/** @since 0.1.0 @category models */
export type ServerCommand = typeof ServerCommand.Type

/** As which client a token is asked for, and how it shows that: a secret, or a private key in PEM or as a JWK. */
const clientFields = {
  client_id: maybe.name,
  client_secret_env: maybe.name,
  client_key_file: maybe.name,
  client_key_env: maybe.name,
  client_key_id: maybe.name
}

/**
 * How tokens for a server over HTTP are had. `grant`: `authorization_code` (default) by a person; `client_credentials` as
 * the client alone; `jwt_bearer` for an assertion that somebody else has signed, such as a workload's identity;
 * `enterprise` for an identity token that the `identity_provider` exchanges for such an assertion. Assertions and tokens
 * of identity come from a file, a variable, or what a command prints. `issuer`: the only authorization server that gets
 * any of this. `dpop`: tokens are bound to a key (RFC 9449); absent = where the server offers it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpLoginConfig = Schema.Struct({
  grant: Schema.optional(Schema.Literal("authorization_code", "client_credentials", "jwt_bearer", "enterprise")),
  issuer: maybe.name,
  ...clientFields,
  client_metadata_url: maybe.name,
  assertion_file: maybe.name,
  assertion_env: maybe.name,
  assertion_command: maybe.name,
  identity_provider: Schema.optional(Schema.Struct({
    issuer: maybe.name,
    token_endpoint: maybe.name,
    ...clientFields
  })),
  dpop: maybe.flag,
  scopes: maybe.texts,
  callback_port: maybe.port
})
/** @since 0.1.0 @category models */
export type McpLoginConfig = typeof McpLoginConfig.Type

/**
 * An MCP server (readings 1.1 to 1.13 and 4.8). With `command` or `url` it is a definition; with neither an overlay over
 * the definition of a lower tier. `*_ms` are milliseconds. `trust_annotations` counts in the user tier only.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpServerConfig = Schema.Struct({
  type: Schema.optional(Schema.Literal("stdio", "http", "sse")),
  command: Schema.optional(ServerCommand),
  args: maybe.texts,
  env: maybe.textByName,
  cwd: maybe.name,
  url: maybe.name,
  headers: maybe.textByName,
  oauth: Schema.optional(McpLoginConfig),
  protocol: Schema.optional(Schema.Literal("auto", "legacy", "2026-07-28")),
  disabled: maybe.flag,
  required: maybe.flag,
  include_tools: maybe.texts,
  exclude_tools: maybe.texts,
  tool_names: maybe.textByName,
  connect_timeout_ms: maybe.positive,
  list_timeout_ms: maybe.positive,
  call_timeout_ms: maybe.positive,
  call_max_ms: maybe.positive,
  max_message_bytes: maybe.positive,
  trust_annotations: maybe.flag,
  sandbox: maybe.flag
})
/** @since 0.1.0 @category models */
export type McpServerConfig = typeof McpServerConfig.Type

/**
 * A language server (reading 8), by name. `extensions` begin with a dot; `root_markers` are files of a project's root.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LspServerConfig = Schema.Struct({
  command: Schema.optional(ServerCommand),
  args: maybe.texts,
  env: maybe.textByName,
  extensions: maybe.texts,
  language_ids: maybe.textByName,
  root_markers: maybe.texts,
  initialization_options: maybe.object,
  settings: maybe.object,
  disabled: maybe.flag,
  initialize_timeout_ms: maybe.positive,
  request_timeout_ms: maybe.positive
})
/** @since 0.1.0 @category models */
export type LspServerConfig = typeof LspServerConfig.Type

/** @since 0.1.0 @category schemas */
export const LspConfig = Schema.Struct({
  servers: Schema.Record({ key: Schema.String, value: LspServerConfig })
})
/** @since 0.1.0 @category models */
export type LspConfig = typeof LspConfig.Type

/**
 * Where a login goes and as whom (readings 6.11, 13.3): an `issuer` with discovery, or endpoints. `flow` is how: `code`
 * with a browser, `device` by a code typed elsewhere (RFC 8628), `device_json` the variant of it that speaks JSON and
 * ends in a code to exchange; it needs the three other `device_*` keys.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AuthProviderConfig = Schema.Struct({
  issuer: maybe.name,
  flow: Schema.optional(Schema.Literal("code", "device", "device_json")),
  authorization_endpoint: maybe.name,
  token_endpoint: maybe.name,
  device_authorization_endpoint: maybe.name,
  device_poll_endpoint: maybe.name,
  device_verification_uri: maybe.name,
  device_redirect_uri: maybe.name,
  pushed_authorization_request_endpoint: maybe.name,
  revocation_endpoint: maybe.name,
  client_id: maybe.name,
  client_secret_env: maybe.name,
  scopes: maybe.texts,
  resource: maybe.name,
  authorization_parameters: maybe.textByName,
  redirect_host: Schema.optional(Schema.Literal("127.0.0.1", "localhost")),
  redirect_port: maybe.port
})
/** @since 0.1.0 @category models */
export type AuthProviderConfig = typeof AuthProviderConfig.Type

/** Counts in the user tier only. @since 0.1.0 @category schemas */
export const AuthConfig = Schema.Struct({
  providers: Schema.Record({ key: Schema.String, value: AuthProviderConfig })
})
/** @since 0.1.0 @category models */
export type AuthConfig = typeof AuthConfig.Type

/**
 * What may be spent, in US dollars: a session with its subagents, a local day over all processes. Of all tiers the lowest
 * number counts, so that no checkout loosens what its user has set.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LimitsConfig = Schema.Struct({
  max_cost_per_session: maybe.dollars,
  max_cost_per_day: maybe.dollars
})
/** @since 0.1.0 @category models */
export type LimitsConfig = typeof LimitsConfig.Type

/**
 * Where spans and metrics go (OTLP over HTTP, JSON). Counts in the user's and the managed settings only. `endpoint` is a
 * base address (`/v1/traces` and `/v1/metrics` are added), the two others are taken as they stand. `headers` are secrets.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TelemetryConfig = Schema.Struct({
  enabled: maybe.flag,
  endpoint: maybe.name,
  traces_endpoint: maybe.name,
  metrics_endpoint: maybe.name,
  headers: maybe.textByName,
  service_name: maybe.name,
  resource_attributes: maybe.textByName,
  capture_content: maybe.flag
})
/** @since 0.1.0 @category models */
export type TelemetryConfig = typeof TelemetryConfig.Type

/**
 * How long sessions are kept. A limit that is absent is none; archived sessions are kept whatever it says. Counts in the
 * user tier only.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RetentionConfig = Schema.Struct({
  max_age_days: maybe.positive,
  max_megabytes: maybe.positive
})
/** @since 0.1.0 @category models */
export type RetentionConfig = typeof RetentionConfig.Type

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
  mcp_servers: Schema.Record({ key: Schema.String, value: McpServerConfig }),
  permissions: Schema.Array(PermissionRule),
  hooks: Schema.Array(HookConfig),
  sandbox: SandboxConfig,
  lsp: LspConfig,
  auth: AuthConfig,
  limits: LimitsConfig,
  telemetry: TelemetryConfig,
  env: textByName,
  custom_instructions: Schema.String,
  input_mode: Schema.Literal("vim", "emacs", "default"),
  theme: Schema.String,
  /** Null = not said; 0 = never compacted. */
  max_tokens: Schema.NullOr(count),
  reserve_recent: count,
  vim_timeout_ms: count,
  auto_max_rounds: count,
  /** `words`: the first words of the first prompt. `model`: asked of the model beside the first answer. */
  session_titles: Schema.Literal("words", "model"),
  session_retention: RetentionConfig,
  /** Null = not said: on in the conversation, off elsewhere. */
  checkpoints: Schema.NullOr(Schema.Boolean),
  /** 0 = kept whatever their age, or their size. */
  checkpoint_days: count,
  checkpoint_max_mb: count,
  audit_required: Schema.Boolean
})
/** @since 0.1.0 @category models */
export type HanzoConfig = typeof HanzoConfig.Type
