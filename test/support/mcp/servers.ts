/** Real MCP servers over stdio for tests, and a look at what is left of them. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import type { ConnectOptions, McpConnection } from "../../../src/mcp/Connection.ts"
import type { McpError } from "../../../src/mcp/McpError.ts"
import { type StdioDefinition, StdioMcpTransport } from "../../../src/mcp/StdioTransport.ts"
import { AppendLog } from "../../../src/platform/AppendLog.ts"
import { Processes, type RunningProcess } from "../../../src/platform/Processes.ts"

const here = path.dirname(fileURLToPath(import.meta.url))
const require = createRequire(import.meta.url)

const node = (
  file: string,
  ...args: ReadonlyArray<string>
): StdioDefinition["argv"] => [process.execPath, file, ...args]

export const fake = (options: object = {}) => node(path.join(here, "fake.mjs"), JSON.stringify(options))
export const legacy = (version: string) => node(path.join(here, "legacy.mjs"), version)
export const modern = (opening: "serve" | "reject" = "serve") => node(path.join(here, "modern.mjs"), opening)
export const everything = node(require.resolve("@modelcontextprotocol/server-everything/dist/index.js"), "stdio")
export const filesystem = (...roots: ReadonlyArray<string>) =>
  node(require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"), ...roots)
export const memory = node(require.resolve("@modelcontextprotocol/server-memory/dist/index.js"))

export const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "mcp-"))),
  (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
)

export const client: ConnectOptions = { client_info: { name: "hanzo-dev", version: "0.1.0" } }

interface More extends Partial<StdioDefinition> {
  readonly vars?: ReadonlyMap<string, string>
  /** Where the log goes; default: a directory of its own. */
  readonly logs?: string
  /** How the process is dealt with, over what it is. */
  readonly spawned?: (running: RunningProcess) => RunningProcess
}

/** A transport to a server, with plain processes and its log in a directory of its own. */
export const transport = (
  argv: StdioDefinition["argv"],
  more: More = {}
): Effect.Effect<StdioMcpTransport, never, Processes | AppendLog | Scope.Scope> =>
  Effect.gen(function*() {
    const root = yield* scratch
    const { logs, spawned, vars, ...definition } = more
    const processes = yield* Processes
    return new StdioMcpTransport({ server: "test", argv, cwd: root, ...definition }, {
      processes: spawned === undefined
        ? processes
        : { ...processes, spawn: (input) => Effect.map(processes.spawn(input), spawned) },
      log: yield* AppendLog,
      vars: vars ??
        new Map(Object.entries(process.env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])),
      log_directory: logs ?? path.join(root, "logs")
    })
  })

export const connectTo = (
  argv: StdioDefinition["argv"],
  options: Partial<ConnectOptions> = {},
  more: More = {}
): Effect.Effect<McpConnection, McpError, Processes | AppendLog | Scope.Scope> =>
  Effect.flatMap(transport(argv, more), (way) => way.connect({ ...client, ...options }))

/** The text of a result. */
export const textOf = (
  result: { readonly content: ReadonlyArray<{ readonly type: string; readonly text?: unknown }> }
): string => result.content.map((block) => String(block.text ?? "")).join("\n")
