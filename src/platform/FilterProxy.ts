/**
 * A forward proxy on a Unix socket that reaches approved names only (reading 10.5): CONNECT tunnels and plain `http:`
 * requests (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2). Names are resolved here and the connection goes to the
 * address that was approved, so that a second answer of the name server changes nothing. What runs inside a tunnel is
 * not looked at.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as dns from "node:dns"
import { unlink } from "node:fs/promises"
import * as http from "node:http"
import * as net from "node:net"
import type { Duplex } from "node:stream"
import { type FileError, fromCause } from "./FileError.ts"
import { plainAddress } from "./HttpConnect.ts"

/** @since 0.1.0 @category models */
export interface FilterProxyOptions {
  /** Path of the socket, at most 107 bytes. */
  readonly socket: string
  /** Why this name and port are refused; null = allowed. `host` is lower case, without brackets and final dot. */
  readonly refusal: (host: string, port: number) => string | null
  /** May a connection go to this address? IPv4 inside IPv6 is given as IPv4. */
  readonly mayConnect: (address: string) => boolean
  /** All addresses of a name; the system's resolver when absent. */
  readonly resolve?: (host: string) => Promise<ReadonlyArray<string>>
}

const systemResolve = (host: string): Promise<ReadonlyArray<string>> =>
  dns.promises.lookup(host, { all: true }).then((found) => found.map((entry) => entry.address))

const connect_ms = 10_000
const idle_ms = 300_000

class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const statusOf = (cause: unknown): number => cause instanceof Refusal ? cause.status : 502
const textOf = (cause: unknown): string => cause instanceof Error ? cause.message : "the connection failed"

const bare = (host: string): string => host.replace(/^\[(.*)\]$/su, "$1").replace(/\.$/u, "").toLowerCase()

/** Headers that belong to one connection (RFC 9110, section 7.6.1), those it names itself, and those meant for us. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const forwarded = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders => {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopByHop.has(name) && !named.includes(name))
  )
}

const open = async (options: FilterProxyOptions, host: string, port: number): Promise<net.Socket> => {
  const refused = options.refusal(host, port)
  if (refused !== null) throw new Refusal(403, refused)
  const addresses = net.isIP(host) === 0
    ? await (options.resolve ?? systemResolve)(host).catch(() => [])
    : [host]
  if (addresses.length === 0) throw new Refusal(502, `${host} cannot be resolved`)
  const approved = addresses.map(plainAddress).filter(options.mayConnect)
  if (approved.length === 0) throw new Refusal(403, `${host} is at a private, local or reserved address`)
  let last: unknown
  for (const address of approved) {
    try {
      return await new Promise<net.Socket>((resolve, reject) => {
        const socket = net.connect({ host: address, port, timeout: connect_ms })
        socket.once("timeout", () => socket.destroy(new Refusal(504, `${host} did not answer`)))
        socket.once("error", reject)
        socket.once("connect", () => {
          socket.removeAllListeners()
          socket.on("error", () => undefined)
          socket.setTimeout(idle_ms, () => socket.destroy())
          resolve(socket)
        })
      })
    } catch (cause) {
      last = cause
    }
  }
  throw last instanceof Refusal ? last : new Refusal(502, `${host}:${port} cannot be reached`)
}

const refuseSocket = (socket: Duplex, cause: unknown): void => {
  const body = `${textOf(cause)}\n`
  const status = statusOf(cause)
  socket.end(
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? "Error"}\r\nContent-Type: text/plain\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  )
}

const authority = (text: string): { readonly host: string; readonly port: number } | undefined => {
  const found = /^(\[[0-9a-f:.]+\]|[^:/?#@\s]+):(\d{1,5})$/iu.exec(text)
  const port = Number(found?.[2])
  return found?.[1] === undefined || port < 1 || port > 65_535 ? undefined : { host: bare(found[1]), port }
}

const makeServer = (options: FilterProxyOptions): { readonly server: http.Server; readonly close: () => void } => {
  const sockets = new Set<Duplex>()
  const own = <S extends Duplex>(socket: S): S => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
    return socket
  }

  const server = http.createServer((request, response) => {
    const refuse = (cause: unknown): void => {
      if (response.headersSent) return void response.destroy()
      response.writeHead(statusOf(cause), { "content-type": "text/plain", connection: "close" })
      response.end(`${textOf(cause)}\n`)
      request.resume()
    }
    const target = request.url ?? ""
    if (!/^http:\/\//iu.test(target) || !URL.canParse(target)) {
      return refuse(new Refusal(400, "this is a proxy: send an absolute http: address, or CONNECT for https:"))
    }
    const url = new URL(target)
    const port = url.port === "" ? 80 : Number(url.port)
    open(options, bare(url.hostname), port).then((upstream) => {
      own(upstream)
      const outgoing = http.request({
        createConnection: () => upstream,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        // The name that was approved is the one that is asked for.
        headers: { ...forwarded(request.headers), host: url.host, connection: "close" }
      })
      outgoing.once("error", () => refuse(new Refusal(502, `${url.host} broke the connection`)))
      outgoing.once("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers))
        answer.pipe(response)
        answer.once("error", () => response.destroy())
      })
      response.once("close", () => upstream.destroy())
      request.pipe(outgoing)
    }, refuse)
  })

  server.on("connection", own)
  server.on("connect", (request: http.IncomingMessage, client: Duplex, head: Buffer) => {
    client.on("error", () => undefined)
    const target = authority(request.url ?? "")
    if (target === undefined) return refuseSocket(client, new Refusal(400, "CONNECT needs NAME:PORT"))
    open(options, target.host, target.port).then((upstream) => {
      own(upstream)
      if (client.destroyed) return void upstream.destroy()
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      if (head.length > 0) upstream.write(head)
      upstream.pipe(client)
      client.pipe(upstream)
      upstream.once("close", () => client.destroy())
      client.once("close", () => upstream.destroy())
    }, (cause: unknown) => refuseSocket(client, cause))
  })
  server.on("clientError", (_, socket) => refuseSocket(socket, new Refusal(400, "this is no HTTP request")))

  return {
    server,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** Listens until the scope closes; then every connection ends. @since 0.1.0 @category constructors */
export const makeFilterProxy = (options: FilterProxyOptions): Effect.Effect<void, FileError, Scope.Scope> =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.async<() => void, FileError>((resume) => {
      const { close, server } = makeServer(options)
      server.once("error", (cause) => resume(Effect.fail(fromCause("listen on", options.socket, cause))))
      server.listen(options.socket, () => {
        // The program lives as long as its own work, not as long as this server.
        server.unref()
        resume(Effect.succeed(close))
      })
    }),
    (close) => Effect.zipRight(Effect.sync(close), Effect.promise(() => unlink(options.socket).catch(() => undefined)))
  ))
