/**
 * MCP servers from files of other clients: JSON in the shapes that are in use. Pure. What cannot be taken over is named;
 * nothing is guessed.
 *
 * | file | shape |
 * | --- | --- |
 * | `.mcp.json`, `claude.json`, Claude Desktop, Cursor, Windsurf, Gemini | `mcpServers: {NAME: {command, args, env, url}}` |
 * | VS Code `mcp.json`, `settings.json` | `servers: {...}`, `mcp: {servers: {...}}` |
 * | opencode | `mcp: {NAME: {type: "local", command: [...], environment}}` |
 * | Zed | `context_servers: {NAME: {command: {path, args, env}}}` |
 *
 * @since 0.1.0
 */
import * as Document from "../config/Document.ts"
import type { McpServerConfig } from "../config/Schema.ts"

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
  "enabled"
])

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
  const env = record(isFields(inner) ? member(inner, "env") : member(given, "env") ?? member(given, "environment"))
  const url = text(member(given, "url")) ?? text(member(given, "httpUrl")) ?? text(member(given, "serverUrl"))
  const type = member(given, "type")
  const disabled = member(given, "disabled") === true || member(given, "enabled") === false
  const ignored = Object.keys(given).filter((key) => !known.has(key))
  const rest = disabled ? { disabled: true } : {}
  if (url !== undefined && single === undefined && argv === undefined) {
    const headers = record(member(given, "headers"))
    return {
      ok: {
        ...(type === "sse" ? { type: "sse" } as const : {}),
        url: variables(url),
        ...(headers === undefined || Object.keys(headers).length === 0
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
      ...(env === undefined || Object.keys(env).length === 0
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
    member(document, "servers"),
    member(document, "context_servers"),
    member(member(document, "mcp"), "servers"),
    member(document, "mcp"),
    member(member(member(document, "projects"), root), "mcpServers")
  ].filter(isFields)

/**
 * The servers of a file; `root` picks those of one project where a file has several. Null when the file is no JSON or
 * has no servers.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = (source: string, root: string): Imported | { readonly problem: string } => {
  const parsed = Document.parse(source)
  if (parsed.problem !== null || parsed.root === null) {
    return {
      problem: /^\s*\[[A-Za-z_"][\w."-]*\]\s*$/m.test(source)
        ? "this is TOML; only JSON files of other clients are read"
        : `this is no JSON${parsed.problem === null ? "" : `: ${parsed.problem.message}`}`
    }
  }
  const document = Document.toValue(parsed.root)
  const servers = new Map<string, McpServerConfig>()
  const left_out: Array<string> = []
  for (const place of places(document, root)) {
    for (const [name, given] of Object.entries(place)) {
      if (!isFields(given)) continue
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
    ? { problem: "the file has no MCP servers (mcpServers, servers, context_servers or mcp)" }
    : { servers, left_out }
}
