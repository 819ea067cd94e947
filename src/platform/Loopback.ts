/**
 * A small HTTP server on the loopback addresses for one visitor: the browser that comes back from a login (RFC 8252,
 * section 7.3). It lives in a scope and knows nothing of what it serves.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as NodeHttp from "node:http"
import type { Socket } from "node:net"
import { TaggedError } from "../domain/TaggedError.ts"

/** `in_use`: somebody else listens there; `failed`: the system refused. @since 0.1.0 @category errors */
export class LoopbackError extends TaggedError("@hanzo/dev/platform/LoopbackError")("LoopbackError", () => ({
  reason: Schema.Literal("in_use", "failed"),
  message: Schema.String
})) {}

/** @since 0.1.0 @category models */
export interface LoopbackRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly target: string
  /** The header `host`, null without one. */
  readonly host: string | null
  /** The port it came to. */
  readonly port: number
}

/** @since 0.1.0 @category models */
export interface LoopbackAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Called once, when the answer is out or the visitor gone: before that the server should not be closed. */
  readonly sent?: () => void
}

/** @since 0.1.0 @category models */
export interface LoopbackOptions {
  /** `localhost` listens on 127.0.0.1 and, where there is one, on ::1. */
  readonly host: "127.0.0.1" | "localhost"
  /** Absent = any free one. */
  readonly port?: number
  readonly answer: (request: LoopbackRequest) => LoopbackAnswer
}

/** @since 0.1.0 @category models */
export interface LoopbackService {
  /** Listens from now on until the scope closes; then every connection ends too. */
  readonly listen: (
    options: LoopbackOptions
  ) => Effect.Effect<{ readonly port: number }, LoopbackError, Scope.Scope>
}

const requestMillis = 10_000

interface Listening {
  readonly port: number
  readonly close: () => void
}

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""

const bind = (
  node: typeof NodeHttp,
  address: string,
  port: number,
  answer: LoopbackOptions["answer"]
): Promise<Listening> =>
  new Promise((resolve, reject) => {
    const sockets = new Set<Socket>()
    const server = node.createServer((request, response) => {
      const { body, headers, sent, status } = answer({
        method: request.method ?? "",
        target: request.url ?? "",
        host: request.headers.host ?? null,
        port: request.socket.localPort ?? 0
      })
      request.resume()
      response.on("error", () => undefined)
      if (sent !== undefined) response.once("close", sent)
      response.writeHead(status, {
        ...headers,
        "content-length": new TextEncoder().encode(body).length,
        connection: "close"
      })
      response.end(request.method === "HEAD" ? undefined : body)
    })
    server.requestTimeout = requestMillis
    server.headersTimeout = requestMillis
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.once("close", () => sockets.delete(socket))
    })
    server.on("clientError", (_, socket) => socket.destroy())
    server.once("error", reject)
    server.listen({ host: address, port, ipv6Only: true, exclusive: true }, () => {
      server.removeListener("error", reject)
      server.on("error", () => undefined)
      const bound = server.address()
      resolve({
        port: typeof bound === "object" && bound !== null ? bound.port : port,
        close: () => {
          server.close()
          for (const socket of sockets) socket.destroy()
        }
      })
    })
  })

/** Systems without IPv6 say so in these ways. */
const noSuchFamily = new Set(["EAFNOSUPPORT", "EADDRNOTAVAIL", "EINVAL", "EPROTONOSUPPORT"])

const attempts = 10

const listen = async (node: typeof NodeHttp, options: LoopbackOptions): Promise<Listening> => {
  for (let attempt = 1;; attempt++) {
    const first = await bind(node, "127.0.0.1", options.port ?? 0, options.answer)
    if (options.host === "127.0.0.1") return first
    try {
      const second = await bind(node, "::1", first.port, options.answer)
      return {
        port: first.port,
        close: () => {
          first.close()
          second.close()
        }
      }
    } catch (cause) {
      if (noSuchFamily.has(codeOf(cause))) return first
      first.close()
      // The free port of one family may be taken in the other.
      if (codeOf(cause) !== "EADDRINUSE" || options.port !== undefined || attempt === attempts) throw cause
    }
  }
}

const toError = (options: LoopbackOptions, cause: unknown): LoopbackError => {
  const code = codeOf(cause)
  const place = `${options.host}${options.port === undefined ? "" : `:${options.port}`}`
  return code === "EADDRINUSE"
    ? new LoopbackError({ reason: "in_use", message: `another program listens on ${place}` })
    : new LoopbackError({
      reason: "failed",
      message: `cannot listen on ${place}: ${
        code === "EACCES" ? "not allowed (ports below 1024 need privileges)" : "the system refused"
      }${code === "" ? "" : ` [${code}]`}`
    })
}

/** @since 0.1.0 @category services */
export class Loopback extends Context.Tag("@hanzo/dev/platform/Loopback")<Loopback, LoopbackService>() {
  static readonly layer: Layer.Layer<Loopback> = Layer.succeed(Loopback, {
    listen: (options) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.flatMap(
            Effect.promise(() => import("node:http")),
            (node) => Effect.tryPromise({ try: () => listen(node, options), catch: (cause) => toError(options, cause) })
          ),
          ({ close }) => Effect.sync(close)
        ),
        ({ port }) => ({ port })
      )
  })
}
