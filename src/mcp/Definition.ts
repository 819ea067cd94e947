/**
 * From an entry of `mcp_servers` to what can be connected to (readings 1.1, 1.4): variables expanded, paths absolute,
 * limits filled in. Pure.
 *
 * @since 0.1.0
 */
import { fnmatchcase } from "../codec/Fnmatch.ts"
import type { ConfigService } from "../config/Config.ts"
import type { McpServerConfig } from "../config/Schema.ts"
import { defaultLimits, type McpLimits } from "./Connection.ts"
import { McpError } from "./McpError.ts"
import type { McpServerStatus } from "./ServerState.ts"

/** @since 0.1.0 @category models */
export type ServerWay =
  | {
    readonly kind: "stdio"
    readonly argv: readonly [string, ...ReadonlyArray<string>]
    /** Absolute. */
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
    /** Under the policy of the tools, not plain. */
    readonly sandbox: boolean
  }
  | {
    /** `sse`: the HTTP+SSE transport alone, which the definition asks for. */
    readonly kind: "http" | "sse"
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly oauth: McpServerConfig["oauth"]
  }

/** A server that can be connected to. @since 0.1.0 @category models */
export interface ServerDefinition {
  /** Its name in the settings. */
  readonly server: string
  readonly way: ServerWay
  readonly protocol: "auto" | "legacy" | "2026-07-28"
  readonly limits: McpLimits
  readonly max_message_bytes: number | null
  /** Without it the start fails. */
  readonly required: boolean
  /** Its `readOnlyHint`s count (2.10); only the user's own settings can say so. */
  readonly trust_annotations: boolean
  readonly offers: (raw_name: string) => boolean
  /** By raw name. */
  readonly tool_names: ReadonlyMap<string, string>
}

/** `${NAME}` and `${NAME:-default}`. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

/**
 * Expands references to variables; an empty variable counts as unset. Fails with reason `config`, naming the server and
 * the variable.
 *
 * @since 0.1.0
 * @category combinators
 */
export const expand = (
  text: string,
  where: { readonly server: string; readonly key: string },
  variable: (name: string) => string | undefined
): string =>
  text.replaceAll(reference, (_all, name: string, otherwise: string | undefined) => {
    const value = variable(name)
    if (value !== undefined && value !== "") return value
    if (otherwise !== undefined) return otherwise
    throw new McpError({
      reason: "config",
      server: where.server,
      sent: false,
      message:
        `MCP server ${where.server}: ${where.key} needs the variable ${name}, which is not set; set it, or write ` +
        `\${${name}:-default}`
    })
  })

const words = (command: McpServerConfig["command"]): ReadonlyArray<string> =>
  command === undefined ? [] : typeof command === "string" ? [command] : command

const offersOf = ({ exclude_tools, include_tools }: McpServerConfig) => (raw_name: string): boolean => {
  const named = (list: ReadonlyArray<string>): boolean =>
    list.some((pattern) => pattern === raw_name || fnmatchcase(raw_name, pattern))
  return (include_tools === undefined || named(include_tools)) && !(exclude_tools !== undefined && named(exclude_tools))
}

/** @since 0.1.0 @category models */
export interface DefinitionContext {
  /** Absolute; where relative paths of a definition start. */
  readonly root: string
  readonly variable: (name: string) => string | undefined
  readonly join: (root: string, path: string) => string
}

/** Throws McpError with reason `config`. @since 0.1.0 @category decoding */
export const define = (server: string, config: McpServerConfig, context: DefinitionContext): ServerDefinition => {
  const wrong = (message: string): McpError =>
    new McpError({ reason: "config", server, sent: false, message: `MCP server ${server}: ${message}` })
  const text = (key: string) => (value: string): string => expand(value, { server, key }, context.variable)
  const record = (key: string, values: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, text(`${key}.${name}`)(value)]))

  /** Where a file of the login lies: below the home directory, else below the root. */
  const file = (key: string, name: string): string => {
    const path = text(`oauth.${key}`)(name)
    if (path.startsWith("~/")) {
      const home = context.variable("HOME")
      if (home === undefined || home === "") throw wrong(`oauth.${key} begins with ~/, and HOME is not set`)
      return context.join(home, path.slice(2))
    }
    return context.join(context.root, path)
  }
  const keyed = <T extends { readonly client_key_file?: string | undefined }>(given: T, at: string): T =>
    given.client_key_file === undefined
      ? given
      : { ...given, client_key_file: file(`${at}client_key_file`, given.client_key_file) }

  const login = (given: McpServerConfig["oauth"]): McpServerConfig["oauth"] =>
    given === undefined ? undefined : {
      ...keyed(given, ""),
      ...(given.assertion_file === undefined ? {} : { assertion_file: file("assertion_file", given.assertion_file) }),
      ...(given.identity_provider === undefined
        ? {}
        : { identity_provider: keyed(given.identity_provider, "identity_provider.") })
    }

  const way = (): ServerWay => {
    const [program, ...first] = words(config.command)
    if (program !== undefined && config.url !== undefined) throw wrong("it has both command and url")
    if (program !== undefined) {
      return {
        kind: "stdio",
        argv: [program, ...first, ...(config.args ?? []).map(text("args"))],
        cwd: config.cwd === undefined ? context.root : context.join(context.root, config.cwd),
        env: record("env", config.env),
        sandbox: config.sandbox === true
      }
    }
    if (config.url === undefined) throw wrong("it has neither command nor url")
    const url = text("url")(config.url)
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw wrong("url must be an http or https address")
    return {
      kind: config.type === "sse" ? "sse" : "http",
      url,
      headers: record("headers", config.headers),
      oauth: login(config.oauth)
    }
  }

  return {
    server,
    way: way(),
    protocol: config.protocol ?? "auto",
    limits: {
      connect_timeout_ms: config.connect_timeout_ms ?? defaultLimits.connect_timeout_ms,
      list_timeout_ms: config.list_timeout_ms ?? defaultLimits.list_timeout_ms,
      call_timeout_ms: config.call_timeout_ms ?? defaultLimits.call_timeout_ms,
      call_max_ms: config.call_max_ms ?? defaultLimits.call_max_ms
    },
    max_message_bytes: config.max_message_bytes ?? null,
    required: config.required === true,
    trust_annotations: config.trust_annotations === true,
    offers: offersOf(config),
    tool_names: new Map(Object.entries(config.tool_names ?? {}))
  }
}

/** What a connection depends on: when this is the same, changed settings need no new one. @since 0.1.0 @category combinators */
export const connectionKey = ({ limits, max_message_bytes, protocol, way }: ServerDefinition): string =>
  JSON.stringify([way, protocol, limits, max_message_bytes])

/**
 * Servers that the settings define and that do not run: switched off, or waiting for trust (4.9).
 *
 * @since 0.1.0
 * @category combinators
 */
export const inactive = (
  config: Pick<ConfigService, "config" | "mcp_servers" | "trust">
): ReadonlyArray<{ readonly server: string; readonly phase: "disabled" | "untrusted" }> => {
  const active = new Set(config.mcp_servers)
  const disabled = Object.entries(config.config.mcp_servers).flatMap(([server, entry]) =>
    !active.has(server) && entry.disabled === true && (entry.command !== undefined || entry.url !== undefined)
      ? [{ server, phase: "disabled" } as const]
      : []
  )
  const known = new Set([...active, ...disabled.map(({ server }) => server)])
  const untrusted = config.trust.status !== "untrusted" ?
    [] :
    config.trust.definitions.flatMap(({ key, kind, value }) => {
      const server = key.slice("mcp_servers.".length)
      const defines = typeof value === "object" && value !== null && ("command" in value || "url" in value)
      return kind === "mcp_server" && defines && !known.has(server) ? [{ server, phase: "untrusted" } as const] : []
    })
  return [...disabled, ...new Map(untrusted.map((each) => [each.server, each])).values()]
}

/** What a server needs that the settings only name. @since 0.1.0 @category constants */
export const undefinedReason = "no settings define it: it needs a command or a url"

/**
 * Servers that the settings name without a command or a url, and that they do not just switch off.
 *
 * @since 0.1.0
 * @category combinators
 */
export const undefinedServers = (
  config: Pick<ConfigService, "config" | "mcp_servers" | "trust">
): ReadonlyArray<McpServerStatus> => {
  const known = new Set([...config.mcp_servers, ...inactive(config).map(({ server }) => server)])
  return Object.entries(config.config.mcp_servers).flatMap(([server, { command, disabled, required, url }]) =>
    known.has(server) || disabled === true || command !== undefined || url !== undefined ? [] : [{
      server,
      kind: null,
      required: required === true,
      phase: "failed",
      tools: 0,
      error: { code: "config", message: undefinedReason }
    }]
  )
}

/** What to do about a server that waits for trust. @since 0.1.0 @category constants */
export const untrustedReason =
  "the settings of this project are not trusted, so its servers do not start; hanzo-dev config trust shows them and asks"
