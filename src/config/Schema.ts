/**
 * The settings file (reading 4): every key, its type, its default. JSONC on disk, snake_case keys, camelCase spellings
 * of known keys accepted on read.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Sections from "./Sections.ts"

/**
 * US dollars for a million tokens. Without `cache_read` or `cache_write` such tokens cost what `input` does, without
 * `reasoning` as much as the rest of the `output`. `tiers`: what a request costs, all of it, whose prompt has more than
 * `above` tokens; of several the highest that is passed counts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Price = Sections.price()
/** @since 0.1.0 @category models */
export type Price = typeof Price.Type

/** @since 0.1.0 @category schemas */
export const ModelConfig = Sections.modelConfig()
/** @since 0.1.0 @category models */
export type ModelConfig = typeof ModelConfig.Type

/** Limits are milliseconds, 0 = off. `root: "exact"` appends endpoints directly to `base_url`. @since 0.1.0 @category schemas */
export const ProviderConfig = Sections.providerConfig()
/** @since 0.1.0 @category models */
export type ProviderConfig = typeof ProviderConfig.Type

/** HIP-301 section 10. @since 0.1.0 @category schemas */
export const IsolationMode = Sections.isolationMode()
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
export const SandboxConfig = Sections.sandboxConfig()
/** @since 0.1.0 @category models */
export type SandboxConfig = typeof SandboxConfig.Type

/** When a hook runs (reading 9): before and after a tool, and around sessions, prompts and questions. @since 0.1.0 @category schemas */
export const HookEvent = Sections.hookEvent()
/** @since 0.1.0 @category models */
export type HookEvent = typeof HookEvent.Type

/**
 * HIP-301 section 9. `command` is a line for `/bin/sh -c`; `tool_pattern` is a glob over tool names (reading 7.3), there
 * for the two tool events and only there (`HookRules`); `timeout_ms` counts from its start, default 5000.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HookConfig = Sections.hookConfig()
/** @since 0.1.0 @category models */
export type HookConfig = typeof HookConfig.Type

/** A program, alone or with its first arguments; never split at blanks (reading 1.1). @since 0.1.0 @category schemas */
export const ServerCommand = Sections.serverCommand()
/** @since 0.1.0 @category models */
export type ServerCommand = typeof ServerCommand.Type

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
export const McpLoginConfig = Sections.mcpLoginConfig()
/** @since 0.1.0 @category models */
export type McpLoginConfig = typeof McpLoginConfig.Type

/**
 * An MCP server (readings 1.1 to 1.13 and 4.8). With `command` or `url` it is a definition; with neither an overlay over
 * the definition of a lower tier. `*_ms` are milliseconds. `trust_annotations` counts in the user tier only.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpServerConfig = Sections.mcpServerConfig()
/** @since 0.1.0 @category models */
export type McpServerConfig = typeof McpServerConfig.Type

/**
 * A language server (reading 8), by name. `extensions` begin with a dot; `root_markers` are files of a project's root.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LspServerConfig = Sections.lspServerConfig()
/** @since 0.1.0 @category models */
export type LspServerConfig = typeof LspServerConfig.Type

/** @since 0.1.0 @category schemas */
export const LspConfig = Sections.lspConfig()
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
export const AuthProviderConfig = Sections.authProviderConfig()
/** @since 0.1.0 @category models */
export type AuthProviderConfig = typeof AuthProviderConfig.Type

/** Counts in the user tier only. @since 0.1.0 @category schemas */
export const AuthConfig = Sections.authConfig()
/** @since 0.1.0 @category models */
export type AuthConfig = typeof AuthConfig.Type

/**
 * What may be spent, in US dollars: a session with its subagents, a local day over all processes. Of all tiers the lowest
 * number counts, so that no checkout loosens what its user has set.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LimitsConfig = Sections.limitsConfig()
/** @since 0.1.0 @category models */
export type LimitsConfig = typeof LimitsConfig.Type

/**
 * Where spans and metrics go (OTLP over HTTP, JSON). Counts in the user's and the managed settings only. `endpoint` is a
 * base address (`/v1/traces` and `/v1/metrics` are added), the two others are taken as they stand. `headers` are secrets.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TelemetryConfig = Sections.telemetryConfig()
/** @since 0.1.0 @category models */
export type TelemetryConfig = typeof TelemetryConfig.Type

/**
 * How long sessions are kept. A limit that is absent is none; archived sessions are kept whatever it says. Counts in the
 * user tier only.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RetentionConfig = Sections.retentionConfig()
/** @since 0.1.0 @category models */
export type RetentionConfig = typeof RetentionConfig.Type

type Made = { readonly [Key in keyof typeof Sections.fields]: ReturnType<(typeof Sections.fields)[Key]> }

/**
 * The merged settings. Rooms that are not built yet read nothing from their keys; the keys are known all the same, so
 * that a settings file written for a later version is no error.
 *
 * @since 0.1.0
 * @category schemas
 */
export const HanzoConfig = Schema.Struct(
  Object.fromEntries(Object.entries(Sections.fields).map(([key, make]) => [key, make()])) as unknown as Made
)
/** @since 0.1.0 @category models */
export type HanzoConfig = typeof HanzoConfig.Type
