/**
 * MCP servers from files of other clients: JSON and TOML in the shapes that are in use. Pure. What cannot be taken over is named;
 * nothing is guessed.
 *
 * | file | shape |
 * | --- | --- |
 * | `.mcp.json`, `claude.json`, Claude Desktop, Cursor, Windsurf, Gemini | `mcpServers: {NAME: {command, args, env, url}}` |
 * | VS Code `mcp.json`, `settings.json` | `servers: {...}`, `mcp: {servers: {...}}` |
 * | opencode | `mcp: {NAME: {type: "local", command: [...], environment}}` |
 * | Zed | `context_servers: {NAME: {command: {path, args, env}}}` |
 * | Codex `config.toml` | `[mcp_servers.NAME]` with command, args, env, env_vars, url, http_headers, limits in seconds |
 *
 * @since 0.1.0
 */
import * as Toml from "../codec/Toml.ts"
import * as Document from "../config/Document.ts"
import type { McpServerConfig } from "../config/Schema.ts"
import { mayBeAddress } from "../config/ServerCheck.ts"

/** @since 0.1.0 @category models */
export interface Imported {
  readonly servers: ReadonlyMap<string, McpServerConfig>
  /** Servers and keys that were left out, with why, one line each. */
  readonly left_out: ReadonlyArray<string>
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const member = (value: unknown, key: string): unknown =>
  isFields(value) && Object.hasOwn(value, key) ? value[key] : undefined

const texts = (value: unknown): ReadonlyArray<string> | undefined =>
  Array.isArray(value) && value.every((each) => typeof each === "string") ? value : undefined

const record = (value: unknown): Readonly<Record<string, string>> | undefined => {
  if (!isFields(value)) return undefined
  const entries = Object.entries(value).flatMap(([name, each]): ReadonlyArray<readonly [string, string]> =>
    typeof each === "string" || typeof each === "number" || typeof each === "boolean" ? [[name, String(each)]] : []
  )
  return Object.fromEntries(entries)
}

const text = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

/** `${env:NAME}` of editors is `${NAME}` here. */
const variables = (value: string): string =>
  value.replaceAll(/\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g, "${$1}").replaceAll(/\$\{workspaceFolder\}/g, ".")

const known = new Set([
  "type",
  "command",
  "args",
  "env",
  "environment",
  "cwd",
  "url",
  "httpUrl",
  "serverUrl",
  "headers",
  "disabled",
  "enabled",
  "env_vars",
  "http_headers",
  "env_http_headers",
  "bearer_token_env_var",
  "startup_timeout_sec",
  "startup_timeout_ms",
  "tool_timeout_sec",
  "enabled_tools",
  "disabled_tools"
])

/** `NAME` as a reference to the variable of that name. */
const referenced = (name: string): string => `\${${name}}`

const millis = (value: unknown, unit: number): number | undefined => {
  const found = typeof value === "number" ? Math.round(value * unit) : 0
  return found > 0 && Number.isSafeInteger(found) ? found : undefined
}

/** What the definitions of Codex have besides; in other files these keys mean the same or are not there. */
const limitsOf = (given: Fields): Partial<McpServerConfig> => {
  const connect_timeout_ms = millis(member(given, "startup_timeout_sec"), 1_000) ??
    millis(member(given, "startup_timeout_ms"), 1)
  const call_timeout_ms = millis(member(given, "tool_timeout_sec"), 1_000)
  const include_tools = texts(member(given, "enabled_tools"))
  const exclude_tools = texts(member(given, "disabled_tools"))
  return {
    ...(connect_timeout_ms === undefined ? {} : { connect_timeout_ms }),
    ...(call_timeout_ms === undefined ? {} : { call_timeout_ms }),
    ...(include_tools === undefined ? {} : { include_tools }),
    ...(exclude_tools === undefined ? {} : { exclude_tools })
  }
}

const headersOf = (given: Fields): Readonly<Record<string, string>> => {
  const bearer = text(member(given, "bearer_token_env_var"))
  return {
    ...record(member(given, "headers")),
    ...record(member(given, "http_headers")),
    ...Object.fromEntries(
      Object.entries(record(member(given, "env_http_headers")) ?? {}).map(([name, from]) => [name, referenced(from)])
    ),
    ...(bearer === undefined ? {} : { Authorization: `Bearer ${referenced(bearer)}` })
  }
}

const isAsked = (value: unknown): boolean => JSON.stringify(value ?? null).includes("${input:")

const serverOf = (
  given: Fields
): { readonly ok: McpServerConfig; readonly ignored: ReadonlyArray<string> } | { readonly why: string } => {
  if (isAsked(given)) return { why: "it asks for values (${input:...}) when it starts; put them into variables" }
  const inner = member(given, "command")
  // Zed: the program in an object of its own
  const program = isFields(inner) ? member(inner, "path") : inner
  const argv = texts(program)
  const single = text(program)
  const args = texts(isFields(inner) ? member(inner, "args") : member(given, "args"))
  const passed = (texts(member(given, "env_vars")) ?? []).map((name) => [name, `\${${name}:-}`] as const)
  const env = {
    ...Object.fromEntries(passed),
    ...record(isFields(inner) ? member(inner, "env") : member(given, "env") ?? member(given, "environment"))
  }
  const url = text(member(given, "url")) ?? text(member(given, "httpUrl")) ?? text(member(given, "serverUrl"))
  const type = member(given, "type")
  const disabled = member(given, "disabled") === true || member(given, "enabled") === false
  const ignored = Object.keys(given).filter((key) => !known.has(key))
  const rest = { ...limitsOf(given), ...(disabled ? { disabled: true } : {}) }
  if (url !== undefined && single === undefined && argv === undefined) {
    const address = variables(url)
    if (!mayBeAddress(address)) return { why: "its address is no http or https address" }
    const headers = headersOf(given)
    return {
      ok: {
        ...(type === "sse" ? { type: "sse" } as const : {}),
        url: address,
        ...(Object.keys(headers).length === 0
          ? {}
          : { headers: Object.fromEntries(Object.entries(headers).map(([name, each]) => [name, variables(each)])) }),
        ...rest
      },
      ignored
    }
  }
  const command = single ?? argv
  if (command === undefined || command.length === 0) return { why: "it has neither a command nor an address" }
  const cwd = text(member(given, "cwd"))
  return {
    ok: {
      command: typeof command === "string" ? variables(command) : command.map(variables),
      ...(args === undefined || args.length === 0 ? {} : { args: args.map(variables) }),
      ...(Object.keys(env).length === 0
        ? {}
        : { env: Object.fromEntries(Object.entries(env).map(([name, each]) => [name, variables(each)])) }),
      ...(cwd === undefined ? {} : { cwd: variables(cwd) }),
      ...rest
    },
    ignored
  }
}

/** Where servers stand in a document; later ones win. */
const places = (document: unknown, root: string): ReadonlyArray<Fields> =>
  [
    member(document, "mcpServers"),
    member(document, "mcp_servers"),
    member(document, "servers"),
    member(document, "context_servers"),
    member(member(document, "mcp"), "servers"),
    member(document, "mcp"),
    member(member(member(document, "projects"), root), "mcpServers")
  ].filter(isFields)

/** A line that only TOML has: the name of a table, or a key with its value. */
const tomlLine = /^[ \t]*(?:\[\[?[\w."' -]+\]\]?[ \t]*$|[\w."'-]+[ \t]*=)/m

const lineAt = (source: string, offset: number): number => source.slice(0, offset).split("\n").length

const documentOf = (source: string): { readonly document: unknown } | { readonly problem: string } => {
  const { problem, root } = Document.parse(source)
  if (root !== null) return { document: Document.toValue(root) }
  const toml = Toml.parse(source)
  if ("ok" in toml && Object.keys(toml.ok).length > 0) return { document: toml.ok }
  return {
    problem: "problem" in toml && tomlLine.test(source) && !/^\s*[{[]\s*(?:$|["}\]/])/.test(source)
      ? `this is no TOML: line ${lineAt(source, toml.offset)}: ${toml.problem}`
      : `this is no JSON${problem === null ? "" : `: line ${lineAt(source, problem.offset)}: ${problem.message}`}`
  }
}

/**
 * The servers of a file; `root` picks those of one project where a file has several. A problem when the file is neither JSON
 * nor TOML, or has no servers.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = (source: string, root: string): Imported | { readonly problem: string } => {
  const found = documentOf(source)
  if ("problem" in found) return found
  const { document } = found
  const servers = new Map<string, McpServerConfig>()
  const left_out: Array<string> = []
  for (const place of places(document, root)) {
    for (const [name, given] of Object.entries(place)) {
      if (!isFields(given)) {
        if (place !== member(document, "mcp")) left_out.push(`${name}: it is no definition`)
        continue
      }
      if (place === member(document, "mcp") && name === "servers" && !("command" in given) && !("url" in given)) {
        continue
      }
      const found = name === "" ? { why: "it has no name" } : serverOf(given)
      if ("why" in found) {
        left_out.push(`${name}: ${found.why}`)
        continue
      }
      servers.set(name, found.ok)
      if (found.ignored.length > 0) left_out.push(`${name}: the keys ${found.ignored.join(", ")} mean nothing here`)
    }
  }
  return servers.size === 0 && left_out.length === 0
    ? { problem: "the file has no MCP servers (mcpServers, mcp_servers, servers, context_servers or mcp)" }
    : { servers, left_out }
}
