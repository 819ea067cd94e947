/**
 * MCP: round trips of tool calls over stdio against the clients of the official SDKs with the same server; what servers
 * that are switched off cost a start; many servers that are slow to start.
 *
 * @since 0.1.0
 */
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Scope from "effect/Scope"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Load from "../src/config/Load.ts"
import { make } from "../src/mcp/Mcp.ts"
import { StdioMcpTransport } from "../src/mcp/StdioTransport.ts"
import { AppendLog } from "../src/platform/AppendLog.ts"
import { Processes } from "../src/platform/Processes.ts"
import { type BenchResult, median, result } from "./Bench.ts"

interface Context {
  readonly root: string
  readonly skip: (what: string) => void
}

const calls = 200

/** Runs a program in a session of its own; not everywhere there. */
const session = "setsid"
const hasSessions = (): boolean => spawnSync(session, ["true"]).status === 0

/** A call of the tool `echo` of the same program, by each client in a process of its own. */
const clients = async (root: string, home: string) => {
  const everything = path.join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
  const argv: readonly [string, ...ReadonlyArray<string>] = [process.execPath, everything, "stdio"]
  const env = { PATH: process.env["PATH"] ?? "", HOME: home }
  // A server of ours has a process group, and so a session, of its own, and the scheduler of Linux gives sessions their
  // shares (autogroups): on a busy machine a pipe between two of them is slower, whoever writes into it. The clients are
  // compared here and not the scheduler, so theirs have sessions too.
  const [command, ...args] = hasSessions() ? [session, ...argv] : argv
  const params = { command, args, env, stderr: "ignore" as const }

  const runtime = ManagedRuntime.make(
    Layer.mergeAll(Processes.layer, AppendLog.layer, Logger.minimumLogLevel(LogLevel.None))
  )
  const scope = await runtime.runPromise(Scope.make())
  const mcp = await runtime.runPromise(Scope.extend(
    Effect.gen(function*() {
      const processes = yield* Processes
      const log = yield* AppendLog
      return yield* make({
        config: Load.ofText(JSON.stringify({ mcp_servers: { every: { command: argv } } })),
        root: home,
        variable: () => undefined,
        join: (from, to) => path.join(from, to),
        roots: [],
        transport: ({ server }) =>
          Effect.succeed(
            new StdioMcpTransport({ server, argv, cwd: home }, {
              processes,
              log,
              vars: new Map(Object.entries(env)),
              log_directory: path.join(home, "logs")
            })
          ),
        permissions: null,
        prompters: [],
        client_info: { name: "bench", version: "1" }
      })
    }),
    scope
  ))
  await runtime.runPromise(mcp.connect("every"))
  const context = {
    session_id: "ses_bench",
    call_id: "call_bench",
    mode: "default",
    report: () => Effect.void,
    emit: () => Effect.void
  } as const
  const own = Effect.gen(function*() {
    for (let i = 0; i < calls; i++) {
      const tool = yield* mcp.find("mcp__every__echo")
      if (tool === undefined) return yield* Effect.dieMessage("the tool is not there")
      yield* mcp.call(tool, { message: "hello" }, context)
    }
  })

  const current = new Client({ name: "bench", version: "1" })
  await current.connect(new StdioClientTransport(params))
  const old = new OldClient({ name: "bench", version: "1" })
  await old.connect(new OldTransport(params))
  const echo = { name: "echo", arguments: { message: "hello" } }
  return {
    subjects: {
      own: () => runtime.runPromise(Effect.orDie(own)),
      current: async () => {
        for (let i = 0; i < calls; i++) await current.callTool(echo)
      },
      old: async () => {
        for (let i = 0; i < calls; i++) await old.callTool(echo)
      }
    },
    close: async () => {
      await Promise.all([current.close(), old.close(), runtime.runPromise(Scope.close(scope, Exit.void))])
      await runtime.dispose()
    }
  }
}

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 9)

const inTurns = async (
  subjects: Readonly<Record<string, () => Promise<unknown>>>,
  count: number
): Promise<Readonly<Record<string, ReadonlyArray<number>>>> => {
  const times: Record<string, Array<number>> = {}
  const names = Object.keys(subjects)
  for (let round = -2; round < count; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const begin = performance.now()
      const given = await subjects[name]?.()
      const ms = typeof given === "number" ? given : performance.now() - begin
      if (round >= 0) (times[name] ??= []).push(ms)
    }
  }
  return times
}

/** Starts with and without settings of servers: the difference is looked for in the noise of whole processes. */
const pairs = 120

/** Where the median of what was sampled lies, at 95 %: by the order of the samples, whatever their distribution. */
const interval = (samples: ReadonlyArray<number>): readonly [low: number, high: number] => {
  const sorted = samples.toSorted((a, b) => a - b)
  const below = Math.max(0, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)))
  return [sorted[below] ?? Number.NaN, sorted.at(-1 - below) ?? Number.NaN]
}

export const run = async ({ root }: Context): Promise<ReadonlyArray<BenchResult>> => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-bench-mcp-"))
  const config = path.join(home, "config")
  const none = path.join(home, "none")
  for (const dir of [config, none, path.join(home, "project")]) fs.mkdirSync(dir)
  const own = path.join(root, "dist", "bin", "hanzo-dev.js")
  const sleepy = path.join(root, "test/support/mcp/sleepy.mjs")

  /** Milliseconds of a whole run, or to its first line. */
  const process_ = (config_home: string, until: "end" | "started"): Promise<number> =>
    new Promise((resolve, reject) => {
      const begin = performance.now()
      const child = spawn(
        process.execPath,
        [own, "run", "-m", "scripted/echo", "--no-session", "--output-format", "stream-json", "go"],
        {
          cwd: path.join(home, "project"),
          env: {
            PATH: process.env["PATH"] ?? "",
            HOME: home,
            LANG: "C.UTF-8",
            HANZO_CONFIG_HOME: config_home,
            HANZO_DATA_HOME: path.join(home, "data"),
            HANZO_STATE_HOME: path.join(home, "state"),
            HANZO_CACHE_HOME: path.join(home, "cache")
          },
          stdio: ["ignore", "pipe", "pipe"]
        }
      )
      let started: number | null = null
      child.stdout.on("data", () => {
        started ??= performance.now() - begin
      })
      child.stderr.resume()
      child.on("error", reject)
      child.on("close", (code) => {
        if (code !== 0) return reject(new Error(`exit ${code}`))
        resolve(until === "end" ? performance.now() - begin : started ?? Number.NaN)
      })
    })
  const settings = (dir: string, mcp_servers: object): void =>
    fs.writeFileSync(path.join(dir, "settings.json"), JSON.stringify({ mcp_servers }))
  const many = <A>(count: number, one: (i: number) => A): Record<string, A> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`server-${i}`, one(i)]))

  try {
    const trips = await clients(root, home)
    const times = await inTurns(trips.subjects, rounds * 7).finally(() => trips.close())
    const ratio = (of: Readonly<Record<string, ReadonlyArray<number>>>, a: string, b: string): number =>
      median((of[a] ?? []).map((value, i) => value / (of[b]?.[i] ?? Number.NaN)))
    const each = (name: string): number => median(times[name] ?? []) / calls

    settings(none, {})
    settings(config, many(200, (i) => ({ command: ["server", `--number=${i}`], env: { A: "1" }, disabled: true })))
    const starts = await inTurns({
      none: () => process_(none, "end"),
      disabled: () => process_(config, "end")
    }, pairs)
    const extra = (starts["disabled"] ?? []).map((ms, i) => ms - (starts["none"]?.[i] ?? Number.NaN))
    const [low, high] = interval(extra)

    const [one, twenty] = [path.join(home, "one"), path.join(home, "twenty")]
    for (const [dir, count] of [[one, 1], [twenty, 20]] as const) {
      fs.mkdirSync(dir)
      settings(dir, many(count, () => ({ command: [process.execPath, sleepy, "1000"] })))
    }
    const sleeping = await inTurns({
      one: () => process_(one, "started"),
      twenty: () => process_(twenty, "started")
    }, 3)
    const late = median((sleeping["twenty"] ?? []).map((ms, i) => ms - (sleeping["one"]?.[i] ?? Number.NaN)))

    return [
      result({
        name: "tool call over stdio, of @modelcontextprotocol/client's time",
        value: ratio(times, "own", "current"),
        unit: "x",
        target: { at_most: 1.3 },
        peer: `@modelcontextprotocol/client 2.4.0 (${each("current").toFixed(3)} ms)`
      }),
      result({
        name: "tool call over stdio, of @modelcontextprotocol/sdk's time",
        value: ratio(times, "own", "old"),
        unit: "x",
        target: { at_most: 1.3 },
        peer: `@modelcontextprotocol/sdk 1.32.2 (${each("old").toFixed(3)} ms)`
      }),
      result({ name: "tool call over stdio", value: each("own"), unit: "ms", target: { at_most: 5 } }),
      result({
        name: "a start with 200 disabled servers, over one with none",
        value: median(extra),
        unit: "ms",
        target: { at_most: 2 },
        peer: `a start of ${median(starts["none"] ?? []).toFixed(0)} ms; 95 % interval ${low.toFixed(1)} to ${
          high.toFixed(1)
        }`
      }),
      result({
        name: "20 servers that answer after 1 s ready, over one alone",
        value: late,
        unit: "ms",
        target: { at_most: 1_500 }
      })
    ]
  } finally {
    fs.rmSync(home, { recursive: true, force: true })
  }
}
