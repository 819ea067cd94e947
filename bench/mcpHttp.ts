/**
 * A tool call over Streamable HTTP and back, against the official client on the same server, a server of the official SDK
 * in a process of its own. Answers as event streams, which is what that server does unless told otherwise, and as JSON.
 *
 * @since 0.1.0
 */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { HttpMcpTransport } from "../src/mcp/HttpTransport.ts"
import { Environment } from "../src/platform/Environment.ts"
import { Http } from "../src/platform/Http.ts"
import { type BenchResult, median, result } from "./Bench.ts"

const calls = 20
const rounds = 60

interface Subject {
  readonly call: () => Promise<unknown>
  readonly close: () => Promise<unknown>
}

const ours = async (url: string): Promise<Subject> => {
  const scope = await Effect.runPromise(Scope.make())
  const connection = await Effect.runPromise(Scope.extend(
    Effect.gen(function*() {
      const http = Context.get(yield* Layer.build(Layer.provide(Http.layer, Environment.layer)), Http)
      return yield* new HttpMcpTransport({ server: "bench", url }, { http }).connect({
        protocol: "legacy",
        client_info: { name: "bench", version: "1" }
      })
    }),
    scope
  ))
  return {
    call: () => Effect.runPromise(connection.callTool("add", { a: 1, b: 2 })),
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

const official = async (url: string): Promise<Subject> => {
  const client = new Client({ name: "bench", version: "1" })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return { call: () => client.callTool({ name: "add", arguments: { a: 1, b: 2 } }), close: () => client.close() }
}

const timed = async ({ call }: Subject): Promise<number> => {
  const start = performance.now()
  for (let i = 0; i < calls; i++) await call()
  return (performance.now() - start) / calls
}

/** Milliseconds of one call, median over rounds that take turns. @since 0.1.0 @category combinators */
export const roundTrip = async (
  root: string,
  answers: "sse" | "json"
): Promise<{ readonly ours_ms: number; readonly official_ms: number; readonly ratio: number }> => {
  const server = fork(join(root, "bench", "mcpHttpServer.mjs"), [answers], {
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })
  try {
    const [port] = server.stdout === null ? [] : await once(server.stdout, "data") as [Buffer]
    const url = `http://127.0.0.1:${String(port).trim()}/mcp`
    const subjects = [await ours(url), await official(url)] as const
    const times: ReadonlyArray<Array<number>> = [[], []]
    for (let round = -10; round < rounds; round++) {
      for (const at of round % 2 === 0 ? [0, 1] as const : [1, 0] as const) {
        const ms = await timed(subjects[at])
        if (round >= 0) times[at]?.push(ms)
      }
    }
    for (const { close } of subjects) await close()
    const [own = [], peer = []] = times
    return {
      ours_ms: median(own),
      official_ms: median(peer),
      ratio: median(own.map((ms, round) => ms / (peer[round] ?? Number.NaN)))
    }
  } finally {
    server.disconnect()
    server.kill("SIGKILL")
  }
}

/** @since 0.1.0 @category constructors */
export const run = async ({ root }: { readonly root: string }): Promise<ReadonlyArray<BenchResult>> => {
  const results: Array<BenchResult> = []
  for (const answers of ["sse", "json"] as const) {
    const { ratio } = await roundTrip(root, answers)
    results.push(result({
      name: `tool call over HTTP, answers as ${answers === "sse" ? "event streams" : "JSON"}`,
      value: ratio,
      unit: "x",
      target: { at_most: 1.3 },
      peer: "@modelcontextprotocol/sdk 1.32.2"
    }))
  }
  return results
}
