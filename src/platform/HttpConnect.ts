/**
 * How a request reaches its host: pooled connections, CONNECT tunnels through a proxy, and the check of the resolved
 * address. Node's modules are loaded when the first request needs them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as NodeDns from "node:dns"
import type * as NodeHttp from "node:http"
import type * as NodeHttps from "node:https"
import type * as NodeNet from "node:net"
import type * as NodeTls from "node:tls"
import type * as NodeZlib from "node:zlib"
import { blockedCode, type Breakage, proxyCode } from "./HttpExchange.ts"
import { hostOf, portOf, proxyAuthorization, proxyFor, type ProxySettings } from "./HttpProxy.ts"

interface NodeModules {
  readonly http: typeof NodeHttp
  /** Loaded for https targets and proxies only. */
  readonly https: typeof NodeHttps
  readonly net: typeof NodeNet
  readonly tls: typeof NodeTls
}

/** An address that is a number needs no name server; the module of them takes a millisecond to start. */
const dns = (): typeof NodeDns => process.getBuiltinModule("node:dns")

/** A module once it is needed; interruption of the first to ask does not spoil it for the next. */
const lazily = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loaded: A | undefined
  return Effect.suspend(() =>
    loaded !== undefined
      ? Effect.succeed(loaded)
      : Effect.map(Effect.promise(load), (module) => (loaded = module))
  )
}

type Plain = Pick<NodeModules, "http" | "net">

const loadPlain: Effect.Effect<Plain> = lazily(() =>
  Promise.all([import("node:http"), import("node:net")]).then(([http, net]) => ({ http, net }))
)

const loadSecure: Effect.Effect<Pick<NodeModules, "https" | "tls">> = lazily(() =>
  Promise.all([import("node:https"), import("node:tls")]).then(([https, tls]) => ({ https, tls }))
)

/** @since 0.1.0 @category constructors */
export const loadZlib: Effect.Effect<typeof NodeZlib> = lazily(() => import("node:zlib"))

/** How an exchange hears of a connection that Node has not handed to its request yet. */
interface TunnelHooks {
  /** Called with what ends the tunnel while it is being opened. */
  onTunnel?: (abort: () => void) => void
}

/** A pooled agent; connections idle for 30 s are let go. */
const agentOptions = { keepAlive: true, maxFreeSockets: 16, timeout: 30_000 } as const

const failure = (code: string, message: string): Error => Object.assign(new Error(message), { code })

/** IPv4 inside an IPv6 notation as plain IPv4, so that one rule covers both. @since 0.1.0 @category combinators */
export const plainAddress = (address: string): string => {
  const mapped = /^::ffff:(?:([0-9a-f]{1,4}):([0-9a-f]{1,4})|(\d+\.\d+\.\d+\.\d+))$/i.exec(address)
  if (mapped === null) return address
  if (mapped[3] !== undefined) return mapped[3]
  const high = Number.parseInt(mapped[1] ?? "0", 16)
  const low = Number.parseInt(mapped[2] ?? "0", 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/**
 * A resolver that hands on approved addresses only. The connection goes to one of them, so that a second answer of the
 * name server cannot slip in between check and use.
 */
const approvedLookup = (allow: (address: string) => boolean): NodeNet.LookupFunction =>
(
  hostname,
  options,
  callback
) => {
  dns().lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    const approved = addresses.filter((entry) => allow(plainAddress(entry.address)))
    const first = approved[0]
    if (first === undefined) return callback(failure(blockedCode, "no approved address"), [])
    if (options.all === true) callback(null, approved)
    else callback(null, first.address, first.family)
  })
}

/** All addresses of a name, for a check ahead of a proxy. */
const addressesOf = (host: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.async((resume) => {
    dns().lookup(host, { all: true }, (error, addresses) => {
      resume(Effect.succeed(error === null ? addresses.map((entry) => plainAddress(entry.address)) : []))
    })
  })

/**
 * An https agent whose connections run through a proxy by CONNECT (RFC 9110, section 9.3.6). A socket is handed over
 * once its TLS handshake is done.
 */
const tunnelAgent = (node: NodeModules, proxy: URL, keepAlive: boolean): NodeHttps.Agent => {
  const agent = new node.https.Agent(keepAlive ? agentOptions : {})
  const createConnection = (
    options: NodeTls.ConnectionOptions & TunnelHooks & { readonly host: string; readonly port: number | string },
    done: (error: Error | null, socket?: NodeTls.TLSSocket) => void
  ): undefined => {
    const target = `${node.net.isIPv6(options.host) ? `[${options.host}]` : options.host}:${options.port}`
    const authorization = proxyAuthorization(proxy)
    let settled = false
    let secure: NodeTls.TLSSocket | undefined
    const settle = (error: Error | null, socket?: NodeTls.TLSSocket) => {
      if (settled) return
      settled = true
      done(error, socket)
    }
    const opening = (proxy.protocol === "https:" ? node.https : node.http).request({
      host: hostOf(proxy),
      port: portOf(proxy),
      method: "CONNECT",
      path: target,
      agent: false,
      headers: { host: target, ...(authorization === null ? {} : { "proxy-authorization": authorization }) }
    })
    options.onTunnel?.(() => {
      opening.destroy()
      secure?.destroy()
      settle(failure("ECONNRESET", "aborted"))
    })
    opening.once("error", (error) => settle(error))
    opening.once("connect", (response, socket) => {
      if (response.statusCode === undefined || response.statusCode < 200 || response.statusCode > 299) {
        socket.destroy()
        return settle(failure(proxyCode, `the proxy answered ${response.statusCode ?? "nothing"}`))
      }
      secure = node.tls.connect({
        ...options,
        socket,
        servername: options.servername ?? (node.net.isIP(options.host) === 0 ? options.host : "")
      })
      secure.once("error", (error) => settle(error))
      secure.once("secureConnect", () => settle(null, secure))
    })
    opening.end()
    return undefined
  }
  return Object.assign(agent, { createConnection })
}

/** What a connection needs to know of a request. */
interface ConnectRequest {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | number>>
  readonly allowAddress: ((ip: string) => boolean) | undefined
  /** A connection of its own in place of a pooled one. */
  readonly own: boolean
}

/** `start` begins the request; `secure` = the connection to the first hop is TLS. */
interface Route {
  readonly secure: boolean
  readonly start: (hooks: { readonly onTunnel: (abort: () => void) => void }) => NodeHttp.ClientRequest
}

/** @since 0.1.0 @category models */
export interface Connector {
  readonly route: (request: ConnectRequest) => Effect.Effect<Route, Breakage>
  /** Closes every pooled connection. */
  readonly close: () => void
}

/** @since 0.1.0 @category constructors */
export const makeConnector = (proxies: ProxySettings): Connector => {
  const agents = new Map<string, NodeHttp.Agent>()
  const pooled = (key: string, build: () => NodeHttp.Agent): NodeHttp.Agent => {
    const known = agents.get(key)
    if (known !== undefined) return known
    const agent = build()
    agents.set(key, agent)
    return agent
  }

  const approve = (request: ConnectRequest, plain: Plain, proxied: boolean): Effect.Effect<boolean> => {
    const { allowAddress } = request
    if (allowAddress === undefined) return Effect.succeed(true)
    const host = hostOf(request.url)
    if (plain.net.isIP(host) !== 0) return Effect.succeed(allowAddress(plainAddress(host)))
    // Without a proxy the look-up of the connection itself is what checks.
    if (!proxied) return Effect.succeed(true)
    return Effect.map(
      addressesOf(host),
      (addresses) => addresses.length > 0 && addresses.every((address) => allowAddress(address))
    )
  }

  return {
    close: () => {
      for (const agent of agents.values()) agent.destroy()
      agents.clear()
    },
    route: (request) =>
      Effect.gen(function*() {
        const { allowAddress, own, url } = request
        const plain = yield* loadPlain
        const secure = url.protocol === "https:"
        const proxy = proxyFor(proxies, url)
        if (proxy !== null && "problem" in proxy) {
          return yield* Effect.fail<Breakage>({ reason: "invalid_url", text: proxy.problem })
        }
        const throughTls = secure || proxy?.protocol === "https:"
        const node = throughTls ? { ...plain, ...(yield* loadSecure) } : null
        if (!(yield* approve(request, plain, proxy !== null))) {
          return yield* Effect.fail<Breakage>({
            reason: "blocked",
            text: "the address of this host may not be contacted"
          })
        }
        const headers = { host: url.host, ...request.headers }
        const path = url.pathname + url.search
        const base: NodeHttps.RequestOptions = { method: request.method, maxHeaderSize: 65_536, agent: false }
        const target = { ...base, host: hostOf(url), port: portOf(url), path, headers }

        const start: Route["start"] = ({ onTunnel }) => {
          if (proxy !== null && node !== null && secure) {
            const agent = own
              ? tunnelAgent(node, proxy, false)
              : pooled(`tunnel ${proxy.href}`, () => tunnelAgent(node, proxy, true))
            const options: NodeHttps.RequestOptions & TunnelHooks = { ...target, agent, onTunnel }
            return node.https.request(options)
          }
          const options: NodeHttps.RequestOptions = proxy === null
            ? {
              ...target,
              ...(allowAddress === undefined ? {} : { lookup: approvedLookup(allowAddress) })
            }
            : { ...base, host: hostOf(proxy), port: portOf(proxy), path: url.origin + path, headers }
          const authorization = proxy === null ? null : proxyAuthorization(proxy)
          if (authorization !== null) options.headers = { ...headers, "proxy-authorization": authorization }
          if (node !== null) {
            if (!own) options.agent = pooled("https", () => new node.https.Agent(agentOptions))
            return node.https.request(options)
          }
          if (!own) options.agent = pooled("http", () => new plain.http.Agent(agentOptions))
          return plain.http.request(options)
        }
        return { secure: throughTls, start }
      })
  }
}
