/**
 * Language servers: the time to the first diagnostics against a client of a page of code on the same server, a thousand
 * diagnostics to the block of the system prompt, and what a start costs that uses none of it.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { Config } from "../src/config/Config.ts"
import { Workspace } from "../src/domain/Workspace.ts"
import { contextBlock } from "../src/lsp/Enrichment.ts"
import { Lsp } from "../src/lsp/Lsp.ts"
import { LspClient } from "../src/lsp/LspClient.ts"
import * as Reader from "../src/lsp/Reader.ts"
import { ServerSpawner } from "../src/lsp/ServerSpawner.ts"
import type { Diagnostic } from "../src/lsp/Types.ts"
import { uriOf } from "../src/lsp/Uri.ts"
import { Environment } from "../src/platform/Environment.ts"
import { Files } from "../src/platform/Files.ts"
import { Processes } from "../src/platform/Processes.ts"
import { type BenchResult, interleaved, median, result } from "./Bench.ts"

interface Bench {
  readonly root: string
  readonly skip: (what: string) => void
}

interface Subject {
  readonly name: string
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  readonly language_id: string
  readonly file: string
  /** Of the minimal client: it asks, or it waits to be told. */
  readonly pull: boolean
}

const rounds = 9

/** From the spawn to the first diagnostics of one file, by the shortest client that gets them. */
const minimal = (subject: Subject, folder: string, env: NodeJS.ProcessEnv): Promise<number> =>
  new Promise((resolve, reject) => {
    const started = performance.now()
    const [program, ...args] = subject.argv
    const child = spawn(program, args, { cwd: folder, env, stdio: ["pipe", "pipe", "ignore"] })
    child.on("error", reject)
    const uri = pathToFileURL(subject.file).href
    const send = (message: object): void => {
      const body = JSON.stringify({ jsonrpc: "2.0", ...message })
      child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    }
    let took = 0
    const found = (diagnostics: unknown): void => {
      if (!Array.isArray(diagnostics) || diagnostics.length === 0 || took > 0) return
      took = performance.now() - started
      send({ id: 3, method: "shutdown" })
    }
    const take = (message: {
      readonly id?: number | string
      readonly method?: string
      readonly params?: { readonly items?: ReadonlyArray<unknown>; readonly diagnostics?: unknown }
      readonly result?: { readonly items?: unknown }
    }): void => {
      if (message.method !== undefined) {
        if (message.id !== undefined) {
          send({ id: message.id, result: message.params?.items?.map(() => null) ?? null })
        } else if (message.method === "textDocument/publishDiagnostics") found(message.params?.diagnostics)
      } else if (message.id === 1) {
        send({ method: "initialized", params: {} })
        const text = fs.readFileSync(subject.file, "utf8")
        send({
          method: "textDocument/didOpen",
          params: { textDocument: { uri, languageId: subject.language_id, version: 1, text } }
        })
        if (subject.pull) send({ id: 2, method: "textDocument/diagnostic", params: { textDocument: { uri } } })
      } else if (message.id === 2) found(message.result?.items)
      else if (message.id === 3) send({ method: "exit" })
    }
    let held = Buffer.alloc(0)
    child.stdout.on("data", (bytes: Buffer) => {
      held = Buffer.concat([held, bytes])
      for (;;) {
        const end = held.indexOf("\r\n\r\n")
        if (end < 0) return
        const length = Number(/Content-Length: (\d+)/iu.exec(held.subarray(0, end).toString())?.[1])
        if (held.length < end + 4 + length) return
        const body = held.subarray(end + 4, end + 4 + length).toString()
        held = held.subarray(end + 4 + length)
        take(JSON.parse(body))
      }
    })
    child.on("exit", () => resolve(took))
    send({
      id: 1,
      method: "initialize",
      params: {
        processId: process.pid,
        rootUri: pathToFileURL(folder).href,
        workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "bench" }],
        capabilities: {
          workspace: { configuration: true, workspaceFolders: true },
          textDocument: { publishDiagnostics: {}, ...(subject.pull ? { diagnostic: {} } : {}) }
        }
      }
    })
  })

const runtime = ManagedRuntime.make(Layer.mergeAll(Processes.layer, Files.layer, Logger.minimumLogLevel(LogLevel.None)))

const ours = (subject: Subject, folder: string, env: NodeJS.ProcessEnv): Promise<number> =>
  runtime.runPromise(Effect.scoped(Effect.gen(function*() {
    const processes = yield* Processes
    const reader = Reader.make(yield* Files)
    const started = performance.now()
    const client = yield* LspClient.start({
      server: subject.name,
      argv: subject.argv,
      cwd: folder,
      root: folder,
      env: new Map(Object.entries(env).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])),
      language_id: () => subject.language_id
    }, { processes, reader })
    const { diagnostics, ready } = yield* client.diagnostics(uriOf(subject.file), 60_000)
    const took = performance.now() - started
    if (!ready || diagnostics.length === 0) return yield* Effect.dieMessage(`${subject.name} said nothing`)
    return took
  })))

const first = async ({ root, skip }: Bench): Promise<ReadonlyArray<BenchResult>> => {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "bench-lsp-")))
  const home = path.join(folder, ".home")
  fs.mkdirSync(home)
  fs.writeFileSync(path.join(folder, "tsconfig.json"), "{\"compilerOptions\":{\"strict\":true,\"noEmit\":true}}")
  fs.writeFileSync(path.join(folder, "pyrightconfig.json"), "{}")
  fs.writeFileSync(path.join(folder, "a.ts"), "export const a: number = \"x\"\n")
  fs.writeFileSync(path.join(folder, "a.py"), "a: int = \"x\"\n")
  const bin = (name: string): string => path.join(root, "node_modules", ".bin", name)
  const subjects: ReadonlyArray<Subject> = [
    {
      name: "TypeScript 7",
      argv: [bin("tsc"), "--lsp", "--stdio"],
      language_id: "typescript",
      file: path.join(folder, "a.ts"),
      pull: true
    },
    {
      name: "pyright",
      argv: [bin("pyright-langserver"), "--stdio"],
      language_id: "python",
      file: path.join(folder, "a.py"),
      pull: false
    }
  ]
  const env = { PATH: process.env["PATH"] ?? "", HOME: home }
  const results: Array<BenchResult> = []
  for (const subject of subjects) {
    if (!fs.existsSync(subject.argv[0])) {
      skip(`${subject.name}: there is no ${subject.argv[0]}`)
      continue
    }
    const ratios: Array<number> = []
    for (let round = -1; round < rounds; round++) {
      const pair = round % 2 === 0
        ? { theirs: await minimal(subject, folder, env), ours: await ours(subject, folder, env) }
        : { ours: await ours(subject, folder, env), theirs: await minimal(subject, folder, env) }
      if (round >= 0) ratios.push(pair.ours / pair.theirs)
    }
    results.push(result({
      name: `lsp, first diagnostics of ${subject.name}`,
      value: median(ratios),
      unit: "x",
      target: { at_most: 1.15 },
      peer: "a minimal client"
    }))
  }
  fs.rmSync(folder, { recursive: true, force: true })
  return results
}

const block = (): BenchResult => {
  const diagnostics = Array.from({ length: 1_000 }, (_, n): Diagnostic => ({
    uri: `file:///work/src/module${n % 10}.ts`,
    range: { start: { line: (n * 37) % 1000, character: 4 }, end: { line: (n * 37) % 1000, character: 9 } },
    severity: n % 3 === 0 ? 1 : 2,
    message: `Type 'string' is not assignable to type 'number' in the ${n}th place.`,
    source: "ts",
    code: "2322"
  }))
  const files = Array.from({ length: 10 }, (_, file) => ({
    display: `src/module${file}.ts`,
    diagnostics: diagnostics.slice(file * 100, file * 100 + 100),
    fresh: new Set(diagnostics.slice(file * 100, file * 100 + 3)),
    waiting: []
  }))
  const symbols = Array.from({ length: 12 }, (_, line) => ({
    display: "src/module1.ts",
    line,
    character: 0,
    name: "f",
    hover: "function f(value: number): number"
  }))
  const times = interleaved({ block: () => void contextBlock(files, symbols) }, 301)
  return result({
    name: "lsp, 1,000 diagnostics to the block of the prompt",
    value: median(times["block"] ?? []),
    unit: "ms",
    target: { at_most: 1 }
  })
}

/** The layer as a start builds it, over services that are not used. */
const unused = (): BenchResult => {
  const nothing = Effect.dieMessage("nothing of it is used")
  const services = Layer.mergeAll(
    Config.layerText("{}"),
    Environment.layerTest(),
    Files.layer,
    Path.layer,
    Layer.succeed(Workspace, { root: "/work", cwd: "/work" }),
    Layer.succeed(ServerSpawner, { processes: nothing, enforced: nothing })
  )
  const built = Effect.runSync(Effect.scoped(Layer.build(services)))
  const use = Effect.scoped(Layer.build(Lsp.layer)).pipe(
    Effect.map((made) => Context.get(made, Lsp)),
    Effect.provide(built)
  )
  const times = interleaved({ layer: () => void Effect.runSync(use) }, 301)
  return result({
    name: "lsp, the layer of a start that uses nothing of it",
    value: median(times["layer"] ?? []),
    unit: "ms",
    target: { at_most: 0.1 }
  })
}

/** @since 0.1.0 @category constructors */
export const run = async (bench: Bench): Promise<ReadonlyArray<BenchResult>> => {
  const measured = await first(bench)
  await runtime.dispose()
  return [...measured, block(), unused()]
}
