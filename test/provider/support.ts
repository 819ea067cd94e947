/** Small servers for the tests of this folder: each lives in the test's scope and says what it saw. */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as http from "node:http"
import * as https from "node:https"
import * as net from "node:net"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"

/** What a server received; `answer` is the test's to write. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface TestServer {
  readonly origin: string
  readonly port: number
  /** One entry a request, when its body is in. */
  readonly requests: Queue.Dequeue<Seen>
  /** One entry a closed connection, with the time by the real clock. */
  readonly closings: Queue.Dequeue<number>
  readonly connections: () => number
  /** Connections that stand now. */
  readonly open: () => number
}

export type Answer = (response: http.ServerResponse, seen: Seen, request: http.IncomingMessage) => void

const tls = {
  key: fs.readFileSync(new URL("./tls/key.pem", import.meta.url)),
  cert: fs.readFileSync(new URL("./tls/cert.pem", import.meta.url))
}

const listen = (
  server: net.Server
): Effect.Effect<Omit<TestServer, "requests" | "origin">, never, Scope.Scope> =>
  Effect.gen(function*() {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const closings = yield* Queue.unbounded<number>()
    const sockets = new Set<net.Socket>()
    let connections = 0
    server.on("connection", (socket) => {
      connections++
      sockets.add(socket)
      socket.on("error", () => {})
      socket.once("close", () => {
        sockets.delete(socket)
        runFork(Queue.offer(closings, performance.now()))
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { port, closings, connections: () => connections, open: () => sockets.size }
  })

/** An HTTP server; `secure` speaks TLS with the certificate of this folder. */
export const serve = (
  answer: Answer,
  options: { readonly secure?: boolean; readonly keepAliveTimeout?: number } = {}
): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.gen(function*() {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const requests = yield* Queue.unbounded<Seen>()
    const handler: http.RequestListener = (request, response) => {
      const parts: Array<Buffer> = []
      request.on("data", (part: Buffer) => parts.push(part))
      request.on("error", () => {})
      response.on("error", () => {})
      request.on("end", () => {
        const seen = {
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          body: Buffer.concat(parts).toString()
        }
        runFork(Queue.offer(requests, seen))
        answer(response, seen, request)
      })
    }
    const server = options.secure === true ? https.createServer(tls, handler) : http.createServer(handler)
    server.keepAliveTimeout = options.keepAliveTimeout ?? 60_000
    const basics = yield* listen(server)
    return { ...basics, requests, origin: `http${options.secure === true ? "s" : ""}://127.0.0.1:${basics.port}` }
  })

/** A bare TCP server: `onBytes` gets each read and writes what it likes. */
export const serveRaw = (
  onBytes: (socket: net.Socket, bytes: string, connection: number) => void
): Effect.Effect<TestServer & { readonly reads: Queue.Dequeue<string> }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const reads = yield* Queue.unbounded<string>()
    const requests = yield* Queue.unbounded<Seen>()
    let count = 0
    const server = net.createServer((socket) => {
      const connection = ++count
      socket.on("data", (bytes) => {
        runFork(Queue.offer(reads, bytes.toString("latin1")))
        onBytes(socket, bytes.toString("latin1"), connection)
      })
    })
    const basics = yield* listen(server)
    return { ...basics, requests, reads, origin: `http://127.0.0.1:${basics.port}` }
  })

/** A proxy that knows CONNECT and absolute addresses; all targets are led to `port` of this machine; `refuse` 0 = silence. */
export const serveProxy = (
  port: number,
  refuse?: number
): Effect.Effect<TestServer & { readonly tunnels: Queue.Dequeue<Seen> }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const requests = yield* Queue.unbounded<Seen>()
    const tunnels = yield* Queue.unbounded<Seen>()
    const server = http.createServer((request, response) => {
      runFork(
        Queue.offer(requests, {
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          body: ""
        })
      )
      response.end("through the proxy")
    })
    server.on("connect", (request: http.IncomingMessage, socket: net.Socket) => {
      runFork(
        Queue.offer(tunnels, { method: "CONNECT", url: request.url ?? "", headers: request.headers, body: "" })
      )
      if (refuse !== undefined) {
        socket.resume()
        socket.on("end", () => socket.end())
        if (refuse > 0) socket.end(`HTTP/1.1 ${refuse} No\r\n\r\n`)
        return
      }
      const onward = net.connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n")
        socket.pipe(onward)
        onward.pipe(socket)
      })
      onward.on("error", () => socket.destroy())
      socket.on("close", () => onward.destroy())
      onward.on("close", () => socket.destroy())
    })
    const basics = yield* listen(server)
    return { ...basics, requests, tunnels, origin: `http://127.0.0.1:${basics.port}` }
  })

export const httpLayer = (vars: Record<string, string> = {}): Layer.Layer<Http> =>
  Http.layer.pipe(Layer.provide(Environment.layerTest({ vars })))

/** A signal from a callback to a fiber. */
export const signal = Effect.gen(function*() {
  const runFork = Runtime.runFork(yield* Effect.runtime<never>())
  const deferred = yield* Deferred.make<void>()
  return { wait: Deferred.await(deferred), fire: () => void runFork(Deferred.succeed(deferred, undefined)) }
})

/** A port nothing listens on. */
export const freePort: Effect.Effect<number> = Effect.async((resume) => {
  const server = net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 1)))
  })
})

/** The real time that passes; TestClock stands still. */
export const elapsed = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<readonly [number, A], E, R> =>
  Effect.suspend(() => {
    const start = performance.now()
    return Effect.map(self, (value) => [performance.now() - start, value] as const)
  })

/**
 * Moves the TestClock on by `step` until the fiber is done: what a server sent arrives in real time, and a limit that
 * every byte starts again may have to pass more than once.
 */
export const drive = <A, E>(fiber: Fiber.RuntimeFiber<A, E>, step: Duration.DurationInput): Effect.Effect<A, E> =>
  Effect.gen(function*() {
    for (;;) {
      const exit = yield* Fiber.poll(fiber)
      if (Option.isSome(exit)) return yield* exit.value
      yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
      yield* TestClock.adjust(step)
    }
  })
