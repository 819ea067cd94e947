/** MCP servers over HTTP on 127.0.0.1 for tests: real ones in this process, real programs, and played ones. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { createMcpHandler } from "@modelcontextprotocol/server"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as http from "node:http"
import { createRequire } from "node:module"
import * as net from "node:net"
import { isJsonObject, type JsonRpcObject } from "../../../src/codec/JsonRpc.ts"
import type { McpAuthorizer } from "../../../src/mcp/Authorizer.ts"
import type { ConnectOptions, McpConnection } from "../../../src/mcp/Connection.ts"
import { HttpMcpTransport } from "../../../src/mcp/HttpTransport.ts"
import type { HttpDefinition } from "../../../src/mcp/HttpWire.ts"
import type { McpError } from "../../../src/mcp/McpError.ts"
import { SseMcpTransport } from "../../../src/mcp/SseTransport.ts"
import { Environment } from "../../../src/platform/Environment.ts"
import { Http } from "../../../src/platform/Http.ts"
import { make as makeLegacy } from "./legacyServer.mjs"
import { make as makeModern } from "./modernServer.mjs"
import { client } from "./servers.ts"

const require = createRequire(import.meta.url)

export const layer = Http.layer.pipe(Layer.provide(Environment.layerTest()))

export interface Listening {
  readonly url: string
  readonly origin: string
  /** Connections that are open now. */
  readonly open: () => number
  /** Ends them all, as a machine does that loses its power. */
  readonly cut: () => void
}

export const listen = (handler: http.RequestListener): Effect.Effect<Listening, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<net.Socket>()
      const server = http.createServer(handler)
      server.on("connection", (socket) => {
        sockets.add(socket)
        socket.on("error", () => undefined)
        socket.once("close", () => sockets.delete(socket))
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      const origin = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
      const cut = () => {
        for (const socket of sockets) socket.destroy()
      }
      return { server, listening: { url: `${origin}/mcp`, origin, open: () => sockets.size, cut } }
    }),
    ({ listening, server }) =>
      Effect.promise(async () => {
        listening.cut()
        server.close()
        await once(server, "close")
      })
  ).pipe(Effect.map(({ listening }) => listening))

export const bodyOf = async (request: http.IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** Sdk 1.32.2: sessions, event streams or JSON. */
export const legacy = (version: string, json = false): Effect.Effect<Listening, never, Scope.Scope> => {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  return listen(async (request, response) => {
    const id = request.headers["mcp-session-id"]
    const known = typeof id === "string" ? sessions.get(id) : undefined
    if (id !== undefined && known === undefined) return void response.writeHead(404).end()
    if (known !== undefined) return known.handleRequest(request, response)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => `session-${sessions.size}`,
      enableJsonResponse: json,
      onsessioninitialized: (session: string) => void sessions.set(session, transport)
    })
    await makeLegacy(version).connect(transport)
    await transport.handleRequest(request, response)
  })
}

/** Server 2.4.0: both eras, or `reject` a legacy opening. */
export const modern = (
  opening: "stateless" | "reject" = "stateless"
): Effect.Effect<Listening & { readonly notify: ReturnType<typeof createMcpHandler>["notify"] }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const handler = createMcpHandler(makeModern, { legacy: opening })
    const listening = yield* listen(async (request, response) => {
      const abort = new AbortController()
      response.once("close", () => abort.abort())
      const body = await bodyOf(request)
      const answer = await handler.fetch(
        new Request(`http://127.0.0.1${request.url}`, {
          method: request.method ?? "GET",
          headers: Object.entries(request.headers).flatMap(([name, value]): Array<[string, string]> =>
            typeof value === "string" ? [[name, value]] : []
          ),
          ...(body === "" ? {} : { body }),
          signal: abort.signal
        })
      )
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.flushHeaders()
      try {
        for await (const part of answer.body ?? []) response.write(part)
      } catch {
        // the client has gone
      }
      response.end()
    })
    yield* Effect.addFinalizer(() => Effect.promise(() => handler.close()))
    return { ...listening, notify: handler.notify }
  })

const freePort = async (): Promise<number> => {
  const server = net.createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}

/** The reference server as a program of its own. */
export const everything = (
  mode: "streamableHttp" | "sse"
): Effect.Effect<{ readonly url: string }, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const port = await freePort()
        const file = require.resolve("@modelcontextprotocol/server-everything/dist/index.js")
        const child = spawn(process.execPath, [file, mode], {
          env: { ...process.env, PORT: String(port) },
          stdio: ["ignore", "ignore", "pipe"]
        })
        await new Promise<void>((resolve, reject) => {
          child.once("exit", () => reject(new Error("server-everything did not start")))
          child.stderr.on("data", (text: Buffer) => {
            if (/listening|running/iu.test(text.toString())) resolve()
          })
        })
        return { child, url: `http://127.0.0.1:${port}/${mode === "sse" ? "sse" : "mcp"}` }
      }),
      ({ child }) =>
        Effect.promise(async () => {
          child.kill("SIGKILL")
          if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
        })
    ),
    ({ url }) => ({ url })
  )

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly message: JsonRpcObject
}

/** What a played server says to one request; it may keep `response` open. */
export type Play = (seen: Seen, response: http.ServerResponse, count: number) => void

export interface Played extends Listening {
  readonly seen: ReadonlyArray<Seen>
  readonly methods: () => ReadonlyArray<string>
}

export const play = (on: Play): Effect.Effect<Played, never, Scope.Scope> =>
  Effect.gen(function*() {
    const seen: Array<Seen> = []
    const listening = yield* listen(async (request, response) => {
      const text = await bodyOf(request)
      const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : {}
      const one: Seen = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        message: isJsonObject(parsed) ? parsed : {}
      }
      seen.push(one)
      on(one, response, seen.filter(({ message }) => message["method"] === one.message["method"]).length)
    })
    return {
      ...listening,
      seen,
      methods: () => seen.map(({ message, method }) => method === "POST" ? String(message["method"]) : method)
    }
  })

export const json = (response: http.ServerResponse, value: unknown, status = 200, headers: object = {}): void =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value))

export const result = (seen: Seen, value: unknown): JsonRpcObject => ({
  jsonrpc: "2.0",
  id: seen.message["id"],
  result: value
})

export const events = (response: http.ServerResponse, ...blocks: ReadonlyArray<string>): void => {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
  for (const block of blocks) response.write(`${block}\n\n`)
}

export const event = (message: unknown, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(message)}`

/** Shakes hands as a legacy server with sessions `s1`, `s2`, ..., and leaves the rest to `on`. */
export const legacyPlay = (on: Play, session = true): Play => {
  let sessions = 0
  return (seen, response, count) => {
    switch (seen.method === "POST" ? seen.message["method"] : seen.method) {
      case "server/discover":
        return json(response, { jsonrpc: "2.0", id: null, error: { code: -32_000, message: "no session" } }, 400)
      case "initialize":
        return json(
          response,
          result(seen, {
            protocolVersion: "2025-11-25",
            capabilities: { tools: { listChanged: true } },
            serverInfo: { name: "played", version: "1" }
          }),
          200,
          session ? { "mcp-session-id": `s${++sessions}` } : {}
        )
      case "notifications/initialized":
        return void response.writeHead(202).end()
      case "DELETE":
        return void response.writeHead(200).end()
      case "GET":
        return seen.headers["last-event-id"] === undefined
          ? void response.writeHead(405).end()
          : on(seen, response, count)
      default:
        return on(seen, response, count)
    }
  }
}

/** Answers the discovery of a modern server, and leaves the rest to `on`. */
export const modernPlay = (on: Play): Play => (seen, response, count) =>
  seen.message["method"] === "server/discover"
    ? json(
      response,
      result(seen, {
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        _meta: { "io.modelcontextprotocol/serverInfo": { name: "played", version: "1" } }
      })
    )
    : on(seen, response, count)

export interface ConnectMore extends Partial<HttpDefinition> {
  readonly authorizer?: McpAuthorizer
  readonly sse?: boolean
}

export const connectTo = (
  url: string,
  options: Partial<ConnectOptions> = {},
  { authorizer, sse = false, ...definition }: ConnectMore = {}
): Effect.Effect<McpConnection, McpError, Http | Scope.Scope> =>
  Effect.gen(function*() {
    const services = { http: yield* Http, ...(authorizer === undefined ? {} : { authorizer }) }
    const whole = { server: "test", url, ...definition }
    const transport = sse ? new SseMcpTransport(whole, services) : new HttpMcpTransport(whole, services)
    return yield* transport.connect({ ...client, ...options })
  })
