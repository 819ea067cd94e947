/**
 * HTTP/1.1 over Node's own client: separate limits for connecting, for the answer's head and for silence in its body,
 * interruption that closes the socket at once in every phase, one element a network read.
 *
 * Nothing is loaded before the first request. Connections are pooled and belong to the layer's scope. Redirects are
 * followed only when asked; a key therefore never leaves the origin it was sent to.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as NodeHttp from "node:http"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { Environment } from "./Environment.ts"
import * as Connect from "./HttpConnect.ts"
import { type Breakage, decoderFor, Exchange, fromNode } from "./HttpExchange.ts"
import * as Proxy from "./HttpProxy.ts"

/**
 * `message` names method, origin and what went wrong; path, query, headers and bodies never appear in it.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `dns` | the host name does not resolve |
 * | `refused` | no connection, or the proxy did not open one |
 * | `reset` | the connection was lost, before or in the answer |
 * | `tls` | no secure connection: certificate, host name, protocol |
 * | `connect_timeout`, `headers_timeout`, `idle_timeout` | the limit of that phase passed |
 * | `aborted` | the client was closed meanwhile |
 * | `invalid_url` | no http or https address, or a proxy variable that holds none |
 * | `protocol` | what came is not HTTP, or its body does not decompress; what was to go out is not allowed in HTTP |
 * | `blocked` | the caller's `allowAddress` approved none of the host's addresses |
 *
 * @since 0.1.0
 * @category errors
 */
export class HttpError extends TaggedError("@hanzo/dev/platform/HttpError")("HttpError", () => ({
  reason: Schema.Literal(
    "dns",
    "refused",
    "reset",
    "tls",
    "connect_timeout",
    "headers_timeout",
    "idle_timeout",
    "aborted",
    "invalid_url",
    "protocol",
    "blocked"
  ),
  message: Schema.String,
  code: Schema.optional(Schema.String)
})) {}

/** Milliseconds, 0 or absent = off. @since 0.1.0 @category models */
export interface HttpLimits {
  /** Name look-up, connection, proxy tunnel and TLS handshake together. */
  readonly connect_ms?: number
  /** From the connection to the head of the answer. */
  readonly headers_ms?: number
  /** Between two reads of the body while someone waits for it; every byte starts it again. */
  readonly idle_ms?: number
}

/** @since 0.1.0 @category models */
export interface HttpRequest {
  readonly method: string
  readonly url: string
  /** Any spelling; `content-length` is added. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly limits?: HttpLimits
  /**
   * Only addresses it approves are connected to (IPv4 in an IPv6 notation comes as plain IPv4); such a request has its
   * own connection. Behind a proxy every address of the host must be approved, and a host that does not resolve here
   * is refused.
   */
  readonly allowAddress?: (ip: string) => boolean
  /** Takes a connection of its own instead of a pooled one. */
  readonly fresh?: boolean
  /** Never goes out twice: a pooled connection that dies before the answer is an error, the other side may have read it. */
  readonly once?: boolean
  /**
   * Follows 301, 302, 303, 307 and 308, at most `limit` times, where `approve` says yes to the next address; otherwise
   * the redirect itself is the answer. Headers of identity stay behind when the origin changes.
   */
  readonly follow?: {
    readonly limit: number
    readonly approve: (to: string, from: string) => Effect.Effect<boolean>
  }
}

/** @since 0.1.0 @category models */
export interface HttpResponse {
  /** The address that answered, after redirects. */
  readonly url: string
  readonly status: number
  /** Names in lower case; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  /** One network read, decompressed; `None` at the end of the body. Nothing is read ahead of it. */
  readonly read: Effect.Effect<Option.Option<Uint8Array>, HttpError>
  /** The same as a stream: one chunk of one element a read. */
  readonly body: Stream.Stream<Uint8Array, HttpError>
  /**
   * The caller has what it needs: the rest of the body is read in the background, at most 64 KiB and one second, so
   * that the connection can serve the next request. Without it, leaving the scope closes the connection.
   */
  readonly release: Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface HttpService {
  /** The answer's head; the connection lives until the scope closes or the body has ended. */
  readonly request: (request: HttpRequest) => Effect.Effect<HttpResponse, HttpError, Scope.Scope>
}

const longestTimer = 2_147_483_647

/** Waits by the Clock; a wait longer than a timer takes is cut into pieces (G7). @since 0.1.0 @category combinators */
export const waitMillis = (ms: number): Effect.Effect<void> =>
  ms <= longestTimer
    ? Effect.sleep(ms)
    : Effect.flatMap(Clock.currentTimeMillis, (start) => {
      const rest: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const left = start + ms - now
        return left <= 0 ? Effect.void : Effect.zipRight(Effect.sleep(Math.min(left, longestTimer)), rest)
      })
      return rest
    })

const seconds = (ms: number | undefined): string => `${(ms ?? 0) / 1000} s`

const toRecord = (headers: NodeHttp.IncomingHttpHeaders): Readonly<Record<string, string>> => {
  const record: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) record[name] = typeof value === "string" ? value : value.join(", ")
  }
  return record
}

const releaseBytes = 65_536
const releaseMillis = 1000

const identityHeaders = new Set(["authorization", "cookie", "x-api-key", "api-key", "proxy-authorization"])

const redirects = new Set([301, 302, 303, 307, 308])

/**
 * The request that a redirect asks for; `null` = the answer is none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const redirected = (
  request: HttpRequest,
  response: Pick<HttpResponse, "status" | "headers">
): HttpRequest | null => {
  const location = response.headers["location"]
  if (!redirects.has(response.status) || location === undefined || !URL.canParse(location, request.url)) return null
  const from = new URL(request.url)
  const to = new URL(location, from)
  if (to.hash === "") to.hash = from.hash
  // RFC 9110, section 15.4: 303 becomes GET, 301 and 302 do so for POST, 307 and 308 repeat the request.
  const asGet = (response.status === 303 && request.method !== "HEAD") ||
    ((response.status === 301 || response.status === 302) && request.method === "POST")
  const headers = Object.entries(request.headers ?? {}).filter(([name]) => {
    const lower = name.toLowerCase()
    return !(asGet && lower.startsWith("content-")) && !(to.origin !== from.origin && identityHeaders.has(lower))
  })
  const { body, ...rest } = request
  return {
    ...rest,
    url: to.href,
    headers: Object.fromEntries(headers),
    ...(asGet ? { method: "GET" } : body === undefined ? {} : { body })
  }
}

const headersOf = (request: HttpRequest, size: number | undefined): Readonly<Record<string, string | number>> => {
  const headers: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value
  headers["accept-encoding"] ??= "gzip, br, deflate"
  headers["accept"] ??= "*/*"
  headers["user-agent"] ??= "hanzo-dev"
  if (size !== undefined) headers["content-length"] = size
  return headers
}

/** A limit in milliseconds; off = without end. */
const limitOf = (ms: number | undefined): number => ms === undefined || ms <= 0 ? Number.POSITIVE_INFINITY : ms

/** When the phase of an exchange is over, and what to say then; ms of Clock. */
const deadlineOf = (x: Exchange, limits: HttpLimits, now: number): { readonly at: number; readonly passed: Breakage } =>
  x.connected_at === undefined
    ? {
      at: x.started_at + limitOf(limits.connect_ms),
      passed: { reason: "connect_timeout", text: `no connection within ${seconds(limits.connect_ms)} (connect_ms)` }
    }
    : x.response === undefined
    ? {
      at: x.connected_at + limitOf(limits.headers_ms),
      passed: { reason: "headers_timeout", text: `no answer within ${seconds(limits.headers_ms)} (headers_ms)` }
    }
    : {
      at: (x.quiet_since ?? now) + limitOf(limits.idle_ms),
      passed: { reason: "idle_timeout", text: `nothing came for ${seconds(limits.idle_ms)} (idle_ms)` }
    }

/**
 * Ends an exchange that takes too long in one of its phases. It sleeps on its own and looks at when the phase began:
 * neither a timer nor a fiber a wait. It never oversleeps a later phase, which begins at this moment at the earliest.
 */
const watch = (x: Exchange, clock: Clock.Clock, limits: HttpLimits): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (x.ended || x.broken !== undefined) return Effect.void
    const now = clock.unsafeCurrentTimeMillis()
    const { at, passed } = deadlineOf(x, limits, now)
    if (at <= now) {
      x.break(passed)
      x.close()
      return Effect.void
    }
    const later = x.response !== undefined
      ? Number.POSITIVE_INFINITY
      : now + Math.min(limitOf(limits.headers_ms), limitOf(limits.idle_ms))
    const wake = Math.min(at, later)
    return wake === Number.POSITIVE_INFINITY
      ? Effect.void
      : Effect.zipRight(waitMillis(wake - now), watch(x, clock, limits))
  })

type Fail = (breakage: Breakage) => HttpError

/** From the connection to the head of the answer; `stale` = a pooled connection had died meanwhile. */
const awaitHead = (x: Exchange, own: boolean, fail: Fail) =>
  Effect.mapError(
    x.until(() => x.response),
    (breakage) => !own && x.stale ? "stale" as const : fail(breakage)
  )

const decoderOf = (answer: NodeHttp.IncomingMessage, fail: Fail) =>
  Effect.gen(function*() {
    const encoding = (answer.headers["content-encoding"] ?? "").trim().toLowerCase()
    if (encoding === "identity" || encoding === "") return undefined
    const decoder = decoderFor(yield* Connect.loadZlib, encoding)
    return decoder ??
      (yield* fail({ reason: "protocol", text: "the answer has a content-encoding that was not asked for" }))
  })

const responseOf = (
  x: Exchange,
  answer: NodeHttp.IncomingMessage,
  url: URL,
  watching: Fiber.RuntimeFiber<void>,
  layerScope: Scope.Scope,
  fail: Fail
): HttpResponse => {
  const stopWatching = Effect.flatMap(Effect.fiberId, (id) => Fiber.interruptAsFork(watching, id))
  const read = x.next.pipe(
    Effect.mapError(fail),
    Effect.flatMap((bytes) =>
      bytes === null ? Effect.as(stopWatching, Option.none()) : Effect.succeed(Option.some(bytes))
    )
  )
  return {
    url: url.href,
    status: answer.statusCode ?? 0,
    headers: toRecord(answer.headers),
    read,
    body: Stream.repeatEffectChunkOption(
      Effect.flatMap(
        Effect.mapError(read, Option.some),
        Option.match({ onNone: () => Effect.fail(Option.none()), onSome: (bytes) => Effect.succeed(Chunk.of(bytes)) })
      )
    ),
    release: Effect.suspend(() => {
      if (!x.release(releaseBytes)) return Effect.void
      // nothing of one that has ended by then is cut
      const finish = Effect.sleep(releaseMillis).pipe(
        Effect.ensuring(Effect.sync(() => x.cutOff())),
        Effect.interruptible,
        Effect.forkIn(layerScope)
      )
      return Effect.zipRight(stopWatching, Effect.asVoid(finish))
    })
  }
}

const make: Effect.Effect<HttpService, never, Environment | Scope.Scope> = Effect.gen(function*() {
  const connector = Connect.makeConnector(Proxy.fromVariables((yield* Environment).vars))
  const layerScope = yield* Effect.scope
  let closed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      closed = true
      connector.close()
    })
  )

  const attempt = (
    request: HttpRequest,
    url: URL,
    fresh: boolean,
    fail: Fail
  ): Effect.Effect<HttpResponse, HttpError | "stale", Scope.Scope> =>
    Effect.gen(function*() {
      const { allowAddress, limits = {} } = request
      const body = typeof request.body === "string" ? Buffer.from(request.body) : request.body
      const own = fresh || allowAddress !== undefined
      const route = yield* Effect.mapError(
        connector.route({
          method: request.method,
          url,
          headers: headersOf(request, body?.byteLength),
          allowAddress,
          own
        }),
        fail
      )
      const clock = yield* Effect.clock
      const x = yield* Effect.acquireRelease(
        Effect.try({
          try: () => new Exchange(clock, route.secure, route.start),
          catch: (error) => fail(fromNode(error instanceof Error ? error : new Error()))
        }),
        (exchange) => Effect.sync(() => exchange.close())
      )
      x.send(body)
      const watching = yield* Effect.forkScoped(watch(x, clock, limits))
      // The scope may live on after a failure (a retry runs in it): the connection does not.
      const answer = yield* Effect.onError(awaitHead(x, own, fail), () => Effect.sync(() => x.close()))
      x.open(answer, yield* decoderOf(answer, fail))
      return responseOf(x, answer, url, watching, layerScope, fail)
    })

  const once = (request: HttpRequest): Effect.Effect<HttpResponse, HttpError, Scope.Scope> =>
    Effect.suspend(() => {
      if (!URL.canParse(request.url) || !/^https?:/i.test(request.url)) {
        return Effect.fail(
          new HttpError({ reason: "invalid_url", message: `${request.method}: the address is not http or https` })
        )
      }
      const url = new URL(request.url)
      const fail: Fail = (breakage) =>
        new HttpError({
          reason: closed ? "aborted" : breakage.reason,
          message: `${request.method} ${url.origin}: ${closed ? "the client was closed" : breakage.text}`,
          ...(breakage.code === undefined ? {} : { code: breakage.code })
        })
      const gone = { reason: "reset", text: "the connection was closed by the other side" } as const
      if (closed) return Effect.fail(fail(gone))
      return attempt(request, url, request.fresh === true, fail).pipe(
        Effect.catchAll((error) =>
          error === "stale" && request.once !== true ? attempt(request, url, true, fail) : Effect.fail(error)
        ),
        Effect.mapError((error) => error === "stale" ? fail(gone) : error)
      )
    })

  const follow = (request: HttpRequest, left: number): Effect.Effect<HttpResponse, HttpError, Scope.Scope> =>
    Effect.flatMap(once(request), (response) => {
      const next = left > 0 ? redirected(request, response) : null
      if (next === null || request.follow === undefined) return Effect.succeed(response)
      return Effect.flatMap(
        request.follow.approve(next.url, request.url),
        (approved) => approved ? Effect.zipRight(response.release, follow(next, left - 1)) : Effect.succeed(response)
      )
    })

  return { request: (request) => follow(request, request.follow?.limit ?? 0) }
})

/** @since 0.1.0 @category services */
export class Http extends Context.Tag("@hanzo/dev/platform/Http")<Http, HttpService>() {
  static readonly layer: Layer.Layer<Http, never, Environment> = Layers.scoped(Http, make)
}

/**
 * The body in one piece, at most `max_bytes` of it; `truncated` says that there was more, which is then not read.
 *
 * @since 0.1.0
 * @category combinators
 */
export const readAll = (
  response: HttpResponse,
  max_bytes: number
): Effect.Effect<{ readonly bytes: Uint8Array; readonly truncated: boolean }, HttpError> =>
  Effect.gen(function*() {
    const parts: Array<Uint8Array> = []
    let size = 0
    for (;;) {
      const next = yield* response.read
      if (Option.isNone(next)) return { bytes: Buffer.concat(parts, size), truncated: false }
      const room = max_bytes - size
      parts.push(next.value.subarray(0, room))
      size += Math.min(room, next.value.length)
      if (next.value.length > room) return { bytes: Buffer.concat(parts, size), truncated: true }
    }
  })
