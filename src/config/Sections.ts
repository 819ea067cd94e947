/**
 * The Schemas of the settings file, section by section: each is made when it is first asked for, since most settings use
 * few of them and every start of the program checks its settings. `Schema.ts` has all of them as values.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { JsonObject } from "../domain/Json.ts"
import { once } from "../domain/Once.ts"
import { PermissionRule } from "../domain/Permission.ts"

const common = once(() => {
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
  const textByName = Schema.Record({ key: Schema.String, value: Schema.String })
  /** What may be absent: one Schema for each kind, since making them all anew is most of what this takes. */
  const maybe = {
    text: Schema.optional(Schema.String),
    flag: Schema.optional(Schema.Boolean),
    count: Schema.optional(count),
    positive: Schema.optional(positive),
    dollars: Schema.optional(dollars),
    port: Schema.optional(port),
    name: Schema.optional(name),
    texts: Schema.optional(Schema.Array(Schema.String)),
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
  /** As which client a token is asked for, and how it shows that: a secret, or a private key in PEM or as a JWK. */
  const clientFields = {
    client_id: maybe.name,
    client_secret_env: maybe.name,
    client_key_file: maybe.name,
    client_key_env: maybe.name,
    client_key_id: maybe.name
  }
  return { count, positive, dollars, port, name, textByName, maybe, rates, clientFields }
})

/** @since 0.1.0 @category schemas */
export const price = once(() => {
  const { positive, rates } = common()
  return Schema.Struct({
    ...rates,
    tiers: Schema.optional(Schema.Array(Schema.Struct({ above: positive, ...rates })))
  })
})

/** @since 0.1.0 @category schemas */
export const modelConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    context_window: maybe.positive,
    max_output_tokens: maybe.positive,
    price: Schema.optional(price()),
    reasoning: maybe.flag,
    images: maybe.flag
  })
})

/** @since 0.1.0 @category schemas */
export const providerConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    protocol: Schema.optional(Schema.Literal("anthropic", "responses", "chat")),
    base_url: maybe.text,
    root: Schema.optional(Schema.Literal("auto", "exact")),
    api_key: maybe.text,
    api_key_env: maybe.text,
    headers: maybe.textByName,
    models: Schema.optional(Schema.Record({ key: Schema.String, value: modelConfig() })),
    effort: Schema.optional(Schema.Literal("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    connect_ms: maybe.count,
    headers_ms: maybe.count,
    idle_ms: maybe.count,
    max_retries: maybe.count,
    retry_base_ms: maybe.count,
    retry_max_ms: maybe.count,
    retry_after_cap_ms: maybe.count
  })
})

/** @since 0.1.0 @category schemas */
export const isolationMode = once(() => Schema.Literal("off", "workspace", "allowlist"))

/** @since 0.1.0 @category schemas */
export const sandboxConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    mode: Schema.optional(Schema.Literal("off", "workspace", "allowlist", "workspace-only", "allow-list")),
    allowed_paths: maybe.texts,
    network: Schema.optional(
      Schema.Union(Schema.Literal("on", "off"), Schema.Struct({ allow: Schema.Array(Schema.String) }))
    ),
    private_tmp: maybe.flag,
    require_enforcement: maybe.flag,
    deny_hard_linked_writes: maybe.flag
  })
})

/** @since 0.1.0 @category schemas */
export const hookEvent = once(() =>
  Schema.Literal(
    "pre_tool_use",
    "post_tool_use",
    "session_start",
    "user_prompt_submit",
    "pre_compact",
    "stop",
    "notification"
  )
)

/** @since 0.1.0 @category schemas */
export const hookConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    event: hookEvent(),
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
})

/** @since 0.1.0 @category schemas */
export const serverCommand = once(() => {
  const { name } = common()
  return Schema.Union(
    name,
    Schema.Array(Schema.String).pipe(Schema.minItems(1)).annotations({
      description: "a text, or an array with at least the program's name"
    })
  )
})

/** @since 0.1.0 @category schemas */
export const mcpLoginConfig = once(() => {
  const { maybe, clientFields } = common()
  return Schema.Struct({
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
})

/** @since 0.1.0 @category schemas */
export const mcpServerConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    type: Schema.optional(Schema.Literal("stdio", "http", "sse")),
    command: Schema.optional(serverCommand()),
    args: maybe.texts,
    env: maybe.textByName,
    cwd: maybe.name,
    url: maybe.name,
    headers: maybe.textByName,
    oauth: Schema.optional(mcpLoginConfig()),
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
})

/** @since 0.1.0 @category schemas */
export const lspServerConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    command: Schema.optional(serverCommand()),
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
})

/** @since 0.1.0 @category schemas */
export const lspConfig = once(() =>
  Schema.Struct({
    servers: Schema.Record({ key: Schema.String, value: lspServerConfig() })
  })
)

/** @since 0.1.0 @category schemas */
export const authProviderConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
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
})

/** @since 0.1.0 @category schemas */
export const authConfig = once(() =>
  Schema.Struct({
    providers: Schema.Record({ key: Schema.String, value: authProviderConfig() })
  })
)

/** @since 0.1.0 @category schemas */
export const limitsConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    max_cost_per_session: maybe.dollars,
    max_cost_per_day: maybe.dollars
  })
})

/** @since 0.1.0 @category schemas */
export const telemetryConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    enabled: maybe.flag,
    endpoint: maybe.name,
    traces_endpoint: maybe.name,
    metrics_endpoint: maybe.name,
    headers: maybe.textByName,
    service_name: maybe.name,
    resource_attributes: maybe.textByName,
    capture_content: maybe.flag
  })
})

/** @since 0.1.0 @category schemas */
export const retentionConfig = once(() => {
  const { maybe } = common()
  return Schema.Struct({
    max_age_days: maybe.positive,
    max_megabytes: maybe.positive
  })
})

const text = () => Schema.String

/** The keys of the file and what each holds. @since 0.1.0 @category schemas */
export const fields = {
  api_key: () => Schema.NullOr(Schema.String),
  api_key_command: () => Schema.NullOr(Schema.String),
  oauth_credentials: () => Schema.NullOr(JsonObject),
  model: text,
  providers: () => Schema.Record({ key: Schema.String, value: providerConfig() }),
  mcp_servers: () => Schema.Record({ key: Schema.String, value: mcpServerConfig() }),
  permissions: () => Schema.Array(PermissionRule),
  hooks: () => Schema.Array(hookConfig()),
  sandbox: sandboxConfig,
  lsp: lspConfig,
  auth: authConfig,
  limits: limitsConfig,
  telemetry: telemetryConfig,
  env: () => common().textByName,
  custom_instructions: text,
  input_mode: () => Schema.Literal("vim", "emacs", "default"),
  theme: text,
  /** Null = not said; 0 = never compacted. */
  max_tokens: () => Schema.NullOr(common().count),
  reserve_recent: () => common().count,
  vim_timeout_ms: () => common().count,
  auto_max_rounds: () => common().count,
  /** `words`: the first words of the first prompt. `model`: asked of the model beside the first answer. */
  session_titles: () => Schema.Literal("words", "model"),
  session_retention: retentionConfig,
  /** Null = not said: on in the conversation, off elsewhere. */
  checkpoints: () => Schema.NullOr(Schema.Boolean),
  /** 0 = kept whatever their age, or their size. */
  checkpoint_days: () => common().count,
  checkpoint_max_mb: () => common().count,
  audit_required: () => Schema.Boolean
} as const
