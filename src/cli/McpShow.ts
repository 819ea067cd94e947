/**
 * `hanzo-dev mcp list|get|logs`: what the settings say about MCP servers, and what those have written. Nothing is
 * connected.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { nearest } from "../codec/Distance.ts"
import * as Sha256 from "../codec/Sha256.ts"
import { line, neutralise } from "../codec/TerminalText.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import { definitionText } from "../config/Definitions.ts"
import { isSecretName } from "../config/Secrets.ts"
import { ExitCode } from "../domain/Failure.ts"
import { undefinedReason, untrustedReason } from "../mcp/Definition.ts"
import * as ServerLog from "../mcp/ServerLog.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { anyConfig, columns, print, printJson, stdoutStyle } from "./Output.ts"
import type { McpGet, McpList } from "./McpSchemas.ts"
import type * as Spec from "./Spec.ts"

type ServerEntry = McpList["servers"][number]

const kindOf = (value: unknown): ServerEntry["kind"] => {
  if (typeof value !== "object" || value === null) return null
  if ("command" in value) return "stdio"
  if (!("url" in value)) return null
  return "type" in value && value.type === "sse" ? "sse" : "http"
}

/** Every server that any settings define, by name. @since 0.1.0 @category encoding */
export const entriesOf = (config: ConfigService): ReadonlyArray<ServerEntry> => {
  const active = new Set(config.mcp_servers)
  const overlays = new Map(
    config.warnings.flatMap((warning) =>
      warning.code === "overlay_without_definition" ? [[warning.key, warning] as const] : []
    )
  )
  const counted = Object.entries(config.config.mcp_servers).map(([name, value]): ServerEntry => {
    const overlay = overlays.get(`mcp_servers.${name}`)
    const source = ["command", "url", "disabled"].flatMap((key) =>
      config.sources.get(`mcp_servers.${name}.${key}`) ?? config.sources.get(`mcp_servers.${name}.${key}.0`) ?? []
    )[0] ?? overlay
    const defined = value.command !== undefined || value.url !== undefined
    const status = active.has(name)
      ? "enabled"
      : value.disabled === true
      ? "disabled"
      : defined
      ? "invalid"
      : "undefined"
    return {
      name,
      kind: kindOf(value),
      status,
      required: value.required === true,
      runs: definitionText({ kind: "mcp_server", tier: "local", key: "", line: null, value: shown(value) }),
      tier: source?.tier ?? null,
      file: source?.file ?? null,
      line: source?.line ?? null,
      reason: status === "undefined" ? undefinedReason : null
    }
  })
  const known = new Set(counted.filter(({ status }) => status !== "undefined").map(({ name }) => name))
  const waiting = config.trust.status !== "untrusted" ? [] : config.trust.definitions.flatMap((definition) => {
    const name = definition.key.slice("mcp_servers.".length)
    return definition.kind !== "mcp_server" || known.has(name) || kindOf(definition.value) === null ? [] : [
      {
        name,
        kind: kindOf(definition.value),
        status: "untrusted",
        required: false,
        runs: definitionText(definition),
        tier: definition.tier,
        file: config.files[definition.tier],
        line: definition.line,
        reason: untrustedReason
      } satisfies ServerEntry
    ]
  })
  const seen = new Set(waiting.map(({ name }) => name))
  return [...counted.filter(({ name }) => !seen.has(name)), ...waiting].toSorted((a, b) => a.name < b.name ? -1 : 1)
}

const isReference = (word: string): boolean => /^\$\{[^}]*\}$/.test(word)

/** Arguments without the values of options whose names say that they are secrets: `--token x`, `--token=x`. */
const shownArgs = (args: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  args.map((word, n) => {
    if (typeof word !== "string") return word
    const before = args[n - 1]
    if (typeof before === "string" && /^--?[^=]+$/.test(before) && isSecretName(before) && !word.startsWith("-")) {
      return isReference(word) ? word : "***"
    }
    const [, option = "", given = ""] = /^(-*[^=]+)=([^]+)$/.exec(word) ?? []
    return isSecretName(option) && !isReference(given) ? `${option}=***` : word
  })

/** Values of variables are not for a screen, whatever their names. */
const shown = (given: object): object => {
  const value = "args" in given && Array.isArray(given.args) ? { ...given, args: shownArgs(given.args) } : given
  if (!("env" in value) || typeof value.env !== "object" || value.env === null) return value
  return {
    ...value,
    env: Object.fromEntries(
      Object.entries(value.env).map((
        [name, each]
      ) => [name, typeof each === "string" && isReference(each) ? each : "***"])
    )
  }
}

const firstLine = (text: string): string => text.split("\n")[0] ?? ""

/** @since 0.1.0 @category combinators */
export const list = Effect.fn("Cli.mcp.list")(function*(values: Spec.Values<typeof Spec.mcpList>) {
  const config = yield* anyConfig
  const style = yield* stdoutStyle
  const servers = entriesOf(config)
  if (values.json) {
    yield* printJson({ v: 1, servers } satisfies McpList)
    return ExitCode.done
  }
  if (servers.length === 0) {
    const terminal = yield* Terminal
    yield* terminal.err("there are no MCP servers; hanzo-dev mcp add adds one\n")
    return ExitCode.done
  }
  yield* print(columns(servers.map((server) => [
    line(server.name, 60),
    server.status === "enabled" ? server.status : style.yellow(server.status),
    server.tier ?? "",
    line(server.status === "undefined" ? server.reason ?? "" : firstLine(server.runs), 200)
  ])))
  return ExitCode.done
})

/** So many are named. */
const maxNamed = 20

/** What there is instead of a server that is not there. @since 0.1.0 @category encoding */
export const serversThere = (config: ConfigService): string => {
  const all = entriesOf(config).map(({ name }) => line(name, 60))
  const more = all.length - maxNamed
  return all.length === 0
    ? "there are no MCP servers; hanzo-dev mcp add adds one"
    : `there ${all.length === 1 ? "is" : "are"} ${all.slice(0, maxNamed).join(", ")}${
      more > 0 ? ` and ${more} more` : ""
    }; hanzo-dev mcp list shows them, hanzo-dev mcp add adds one`
}

/** The server of this name, or the end of the command. @since 0.1.0 @category combinators */
export const entryOf = (config: ConfigService, name: string): Effect.Effect<ServerEntry, CliExit> =>
  Effect.suspend(() => {
    const all = entriesOf(config)
    const found = all.find((server) => server.name === name)
    if (found !== undefined) return Effect.succeed(found)
    const near = nearest(name, all.map((server) => server.name))
    return usage(
      `there is no MCP server ${JSON.stringify(line(name, 60))}${
        near === undefined ? "" : `; did you mean ${line(near, 60)}?`
      }`,
      serversThere(config)
    )
  })

/** Where a server's log is, or would be. @since 0.1.0 @category combinators */
export const logFile = (name: string): Effect.Effect<string, never, Dirs | Path.Path> =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const { state } = yield* Dirs
    return path.join(state, "mcp", ServerLog.fileName(name, Sha256.sha256Hex(name)))
  })

/** @since 0.1.0 @category combinators */
export const get = Effect.fn("Cli.mcp.get")(function*(values: Spec.Values<typeof Spec.mcpGet>) {
  const config = yield* anyConfig
  const server = yield* entryOf(config, values.args[0] ?? "")
  const log_file = yield* logFile(server.name)
  if (values.json) {
    yield* printJson({ v: 1, server: { ...server, log_file } } satisfies McpGet)
    return ExitCode.done
  }
  const place = server.file === null ? server.tier : `${server.file}${server.line === null ? "" : `:${server.line}`}`
  yield* print(
    [
      `${line(server.name, 100)}  ${server.status}${server.required ? ", required" : ""}`,
      ...(server.runs === "" ? [] : neutralise(server.runs).split("\n").map((each) => `  ${each}`)),
      ...(place === null ? [] : [`  from ${line(place, 1000)}`]),
      `  log ${line(log_file, 1000)}`,
      ...(server.reason === null ? [] : [`  ${server.reason}`]),
      ""
    ].join("\n")
  )
  return ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const logs = Effect.fn("Cli.mcp.logs")(function*(values: Spec.Values<typeof Spec.mcpLogs>) {
  const config = yield* Config
  const name = values.args[0] ?? ""
  const log = yield* AppendLog
  const file = yield* logFile(name)
  const lines = yield* Effect.mapError(log.read(file, ServerLog.logFiles), (error) => failed(error.message))
  if (lines.length === 0) {
    // also of a server that is no longer there a log may be read
    yield* entryOf(config, name)
    const terminal = yield* Terminal
    yield* terminal.err(`the MCP server ${line(name, 100)} has written nothing (${line(file, 1000)})\n`)
    return ExitCode.done
  }
  yield* print(lines.slice(-(values.lines ?? 200)).map((each) => `${line(each, 4_000)}\n`).join(""))
  return ExitCode.done
})
