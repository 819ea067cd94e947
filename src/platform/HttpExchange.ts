/**
 * One request on the wire: its connection, its answer, its body read by read. A plain state holder that Node's events
 * write to and one waiter reads; the service above it adds limits and scope.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as NodeHttp from "node:http"
import type * as NodeStream from "node:stream"
import type * as NodeZlib from "node:zlib"

/** Why an exchange broke, before it has the address and method around it. @since 0.1.0 @category models */
export interface Breakage {
  readonly reason:
    | "dns"
    | "refused"
    | "reset"
    | "tls"
    | "connect_timeout"
    | "headers_timeout"
    | "idle_timeout"
    | "aborted"
    | "invalid_url"
    | "protocol"
    | "blocked"
  readonly text: string
  readonly code?: string
}

/** The caller approved none of the addresses. @since 0.1.0 @category constants */
export const blockedCode = "ERR_ADDRESS_NOT_APPROVED"
/** The proxy did not open the tunnel. @since 0.1.0 @category constants */
export const proxyCode = "ERR_PROXY_REFUSED"

const refused = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM", "ENOENT"])
const reset = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED"])
const certificate =
  /^(?:CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH|INVALID_PURPOSE)/

const codeOf = (error: Error): string => "code" in error && typeof error.code === "string" ? error.code : ""

/** Node's error by its code alone: its text and fields can hold addresses, bytes and headers. @since 0.1.0 @category combinators */
export const fromNode = (error: Error): Breakage => {
  const code = codeOf(error)
  const of = (reason: Breakage["reason"], text: string): Breakage => ({
    reason,
    text,
    ...(code === "" ? {} : { code })
  })
  if (code === "ENOTFOUND" || code.startsWith("EAI_") || code === "ENODATA") {
    return of("dns", "the host name does not resolve; check its spelling and the network")
  }
  if (refused.has(code)) return of("refused", `no connection (${code}); is the server running at this address?`)
  if (code === "ETIMEDOUT") return of("connect_timeout", "the host did not answer the connection attempt")
  if (reset.has(code)) return of("reset", "the connection was closed by the other side")
  if (code === blockedCode) return of("blocked", "the host resolves to no address that may be contacted")
  if (code === proxyCode) return of("refused", error.message)
  if (certificate.test(code)) {
    return of("tls", `no secure connection (${code}); a private certificate authority goes into NODE_EXTRA_CA_CERTS`)
  }
  if (code.startsWith("HPE_")) return of("protocol", `the answer is not HTTP (${code})`)
  if (code.startsWith("Z_") || code.startsWith("ERR_BROTLI") || code.startsWith("ERR_PADDING")) {
    return of("protocol", `the body does not decompress (${code})`)
  }
  if (code === "ERR_INVALID_CHAR" || code === "ERR_INVALID_HTTP_TOKEN" || code === "ERR_UNESCAPED_CHARACTERS") {
    return of("protocol", "a header or the path holds a character that HTTP does not allow (a line break in a key?)")
  }
  return of("protocol", code === "" ? "the connection failed" : `the connection failed (${code})`)
}

/** @since 0.1.0 @category models */
export class Exchange {
  /** When the request was made, and when a connection stood; ms of Clock. */
  readonly started_at: number
  connected_at: number | undefined
  /** The connection had served an earlier request. */
  reused = false
  response: NodeHttp.IncomingMessage | undefined
  broken: Breakage | undefined
  /** The body was read to its end; the connection belongs to the pool again. */
  ended = false
  /** The rest of the body is read in the background; the scope leaves the connection alone. */
  released = false
  /** When the waiter of the body began to wait, or the last byte came after that; ms of Clock. */
  quiet_since: number | undefined

  private readonly request: NodeHttp.ClientRequest
  private readonly clock: Clock.Clock
  private source: NodeStream.Readable | undefined
  private sniff: ((first: number) => NodeStream.Transform) | undefined
  private wake: (() => void) | undefined
  private closed = false
  private bytesBefore = 0
  private abortTunnel: (() => void) | undefined

  constructor(clock: Clock.Clock, secure: boolean, start: (x: Exchange) => NodeHttp.ClientRequest) {
    this.clock = clock
    this.started_at = clock.unsafeCurrentTimeMillis()
    this.request = start(this)
    this.request.on("error", (error) => this.break(fromNode(error)))
    this.request.once("close", () => {
      if (this.response === undefined) this.break({ reason: "reset", text: "the connection was closed" })
    })
    this.request.once("response", (response) => {
      this.response = response
      this.connected_at ??= clock.unsafeCurrentTimeMillis()
      const cut = () => {
        if (!response.complete) {
          this.break({ reason: "reset", text: "the connection was closed in the middle of the body" })
        }
      }
      response.on("error", (error) => response.complete ? this.break(fromNode(error)) : cut())
      response.once("close", cut)
      this.notify()
    })
    this.request.once("socket", (socket) => {
      this.reused = this.request.reusedSocket
      this.bytesBefore = socket.bytesRead
      // A tunnel's socket is ready when it is handed over, a pooled one was ready long ago.
      const ready = this.reused || (secure ? this.abortTunnel !== undefined : !socket.connecting)
      const onReady = () => {
        this.connected_at = clock.unsafeCurrentTimeMillis()
      }
      if (ready) onReady()
      else socket.once(secure ? "secureConnect" : "connect", onReady)
    })
  }

  /** Sends the request with its body; Node holds it back until the connection stands. */
  send(body: Uint8Array | undefined): void {
    this.request.end(body)
  }

  /** For CONNECT tunnels: what ends one that is still being opened. */
  readonly onTunnel = (abort: () => void): void => {
    this.abortTunnel = abort
    if (this.closed) abort()
  }

  /** A pooled connection died before it gave one byte of an answer: the request may be sent again. */
  get stale(): boolean {
    const socket = this.request.socket
    return this.reused && this.response === undefined && this.broken?.reason === "reset" &&
      (socket === null || socket.bytesRead === this.bytesBefore)
  }

  break(breakage: Breakage): void {
    if (this.broken !== undefined || this.ended) return
    this.broken = breakage
    this.notify()
  }

  /** Ends the connection at once, in every phase. */
  close(): void {
    if (this.closed || this.ended || this.released) return
    this.closed = true
    this.abortTunnel?.()
    this.source?.destroy()
    this.response?.destroy()
    this.request.destroy()
  }

  private notify(): void {
    const wake = this.wake
    this.wake = undefined
    wake?.()
  }

  /** Waits until `read` gives something; what broke the exchange comes after what was received before. */
  until<A>(read: () => A | undefined): Effect.Effect<A, Breakage> {
    return Effect.async((resume) => {
      const check = () => {
        const value = read()
        if (value !== undefined) resume(Effect.succeed(value))
        else if (this.broken !== undefined) resume(Effect.fail(this.broken))
        else this.wake = check
      }
      check()
      return Effect.sync(() => {
        this.wake = undefined
        this.quiet_since = undefined
      })
    })
  }

  private heard = (): void => {
    if (this.quiet_since !== undefined) this.quiet_since = this.clock.unsafeCurrentTimeMillis()
  }

  private available = (): void => {
    this.heard()
    this.notify()
  }

  /** Listens to the body; `sniff` picks the decoder of its content-encoding from the first byte. */
  open(response: NodeHttp.IncomingMessage, sniff: ((first: number) => NodeStream.Transform) | undefined): void {
    this.sniff = sniff
    this.listen(response)
  }

  private listen(source: NodeStream.Readable): void {
    this.source = source
    source.on("readable", this.available)
    source.once("end", this.finish)
  }

  private readonly finish = (): void => {
    this.ended = true
    this.notify()
  }

  private decodeWith(response: NodeHttp.IncomingMessage, decoder: NodeStream.Transform): void {
    response.removeListener("readable", this.available)
    response.removeListener("end", this.finish)
    decoder.on("error", (error) => this.break(fromNode(error)))
    this.listen(decoder)
    response.on("data", this.heard)
    response.pipe(decoder)
  }

  /** What one network read brought; `null` = the body has ended. */
  readonly next: Effect.Effect<Uint8Array | null, Breakage> = Effect.suspend(() => {
    const ready = this.poll()
    if (ready !== undefined) return Effect.succeed(ready)
    this.quiet_since = this.clock.unsafeCurrentTimeMillis()
    return Effect.map(this.until(this.poll), (value) => {
      this.quiet_since = undefined
      return value
    })
  })

  private readonly poll = (): Uint8Array | null | undefined => {
    const bytes: unknown = this.source?.read()
    if (!(bytes instanceof Uint8Array)) return this.ended || this.source === undefined ? null : undefined
    const { response, sniff } = this
    if (sniff === undefined || response === undefined) return bytes
    this.sniff = undefined
    response.unshift(bytes)
    this.decodeWith(response, sniff(bytes[0] ?? 0))
    return undefined
  }

  /** Lets the rest of the body come in, up to `limit` bytes, so that the connection can serve again. */
  release(limit: number): boolean {
    const { response, source } = this
    if (this.ended || this.closed || response === undefined || source !== response) return false
    this.released = true
    let seen = 0
    response.removeListener("readable", this.available)
    response.on("data", (bytes: Uint8Array) => {
      seen += bytes.length
      if (seen > limit) this.cutOff()
    })
    response.resume()
    return true
  }

  /** Ends a released exchange that did not finish by itself. */
  cutOff(): void {
    if (this.ended) return
    this.released = false
    this.close()
  }
}

/**
 * The decompressor of a content-encoding, `undefined` when the encoding is not known. A `deflate` body is zlib-wrapped
 * or raw (RFC 9110, section 8.4.1.2, knows both in the wild), which its first byte tells.
 *
 * @since 0.1.0
 * @category combinators
 */
export const decoderFor = (
  zlib: typeof NodeZlib,
  encoding: string
): ((first: number) => NodeStream.Transform) | undefined => {
  // A cut at the end of the compressed data is told by the framing of the message, not by the decompressor.
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  if (encoding === "gzip" || encoding === "x-gzip") return () => zlib.createGunzip(flush)
  if (encoding === "deflate") {
    return (first) => (first & 0x0f) === 8 ? zlib.createInflate(flush) : zlib.createInflateRaw(flush)
  }
  if (encoding === "br") {
    const operation = zlib.constants.BROTLI_OPERATION_FLUSH
    return () => zlib.createBrotliDecompress({ flush: operation, finishFlush: operation })
  }
  return undefined
}
