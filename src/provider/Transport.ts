/**
 * One upstream attempt: a request out, canonical events in, one terminal (protocols, section 11).
 *
 * What fails before the answer has begun (connection, status, a body that is no stream) fails the stream with an
 * ApiError; what fails later is the terminal event of the response. Nothing is retried here, but for the one immediate
 * retry after the response-header limit (reading 2.6) and a pooled connection that had died (`platform/Http`).
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { ApiError, ApiErrorReason } from "../domain/Failure.ts"
import type { ResponseError, ResponseEvent } from "../domain/ResponseEvent.ts"
import * as Streams from "../domain/Streams.ts"
import { Http, type HttpError, type HttpResponse, readAll } from "../platform/Http.ts"
import { isMarkup, sanitise } from "../protocol/ErrorText.ts"
import type { DecodeOptions, EncodedRequest, Protocol } from "../protocol/Protocol.ts"
import * as AnswerMask from "./AnswerMask.ts"
import type { Endpoint } from "./EndpointResolver.ts"
import { makeLocalStop } from "./LocalStop.ts"
import type { Limits } from "./Models.ts"
import { hasAuthHeader, isAuthHeader } from "./Providers.ts"
import { amend, makeScrub, type Scrub, scrubError, scrubEvent, secretsOf } from "./Secrets.ts"
import { type Fault, makeStreamReader, type StreamReader } from "./StreamReader.ts"

/** What a request is sent with. @since 0.1.0 @category models */
export interface RequestKey {
  readonly key: Redacted.Redacted
  readonly bearer: boolean
  readonly key_source: string
}

/** @since 0.1.0 @category models */
export interface UpstreamRequest {
  readonly protocol: Protocol
  readonly provider: string
  readonly endpoint: Endpoint
  /** Headers of the settings; an identity among them takes the place of the key. */
  readonly headers: Readonly<Record<string, string>>
  readonly key: Option.Option<Redacted.Redacted>
  /** The key is an access token and goes out as one, whatever header the keys of the protocol or host take. */
  readonly bearer?: boolean
  /** Where the key came from, in words for the user. */
  readonly key_source?: string
  /** Asked once, when the answer to the key is 401; with another key the request is sent once more (reading 13.5). */
  readonly renew?: (key: Redacted.Redacted) => Effect.Effect<Option.Option<RequestKey>, ApiError>
  readonly encoded: EncodedRequest
  /** Must say what `encoded.body` asks for. */
  readonly stream: boolean
  readonly decode: DecodeOptions
  readonly limits: Limits
  /** One more try, at once, when the answer's head did not come in time. */
  readonly retry_headers: boolean
}

/** @since 0.1.0 @category models */
export interface Transport {
  /**
   * Ends at the terminal without waiting for the end of the body. One chunk a network read that holds an event; the
   * socket is paused while nobody pulls, and closed when the stream is left early.
   */
  /** The same without a stream around it, for whoever makes one of its own. Closing the scope closes the connection. */
  readonly open: (request: UpstreamRequest) => Effect.Effect<Pull, ApiError, Scope.Scope>
  readonly events: (request: UpstreamRequest) => Stream.Stream<ResponseEvent, ApiError>
}

const maxErrorBytes = 65_536
const maxWholeBytes = 64 * 1024 * 1024
/** How long counts may still come after the provider named its finish. */
const settleMillis = 2_000

/** Reasons that a failed connection has before and in an answer. */
const before: Readonly<Record<HttpError["reason"], readonly [ApiErrorReason, boolean]>> = {
  dns: ["network", true],
  refused: ["network", true],
  reset: ["network", true],
  tls: ["network", true],
  connect_timeout: ["timeout", true],
  headers_timeout: ["timeout", true],
  idle_timeout: ["stalled", true],
  aborted: ["network", false],
  invalid_url: ["bad_request", false],
  protocol: ["invalid_response", false],
  blocked: ["network", false]
}

const unsendable = new Set(["ERR_INVALID_CHAR", "ERR_INVALID_HTTP_TOKEN", "ERR_UNESCAPED_CHARACTERS"])

const within = (error: HttpError): ApiErrorReason =>
  error.reason === "idle_timeout" ? "stalled" : error.reason === "protocol" ? "invalid_response" : "dropped"

/** The address without what may be secret in it: query, user and password. */
const addressOf = ({ endpoint }: Pick<UpstreamRequest, "endpoint">): string =>
  URL.canParse(endpoint.url) ? `${endpoint.origin}${new URL(endpoint.url).pathname}` : endpoint.origin

/** The platform names the origin alone; a request to a provider may name its path too. */
const placed = (request: Pick<UpstreamRequest, "endpoint">, message: string): string =>
  message.replace(`${request.endpoint.origin}: `, `${addressOf(request)}: `)

const fromHttpError = (request: Pick<UpstreamRequest, "endpoint" | "provider">, error: HttpError): ApiError => {
  // A key or header that cannot be sent is a fault of the request, not of the answer.
  const [reason, retryable] = error.code !== undefined && unsendable.has(error.code)
    ? (["bad_request", false] as const)
    : before[error.reason]
  return new ApiError({
    reason,
    message: placed(request, error.message),
    retryable,
    provider: request.provider,
    ...(error.code === undefined ? {} : { code: error.code })
  })
}

const isReason = (reason: string): reason is ApiErrorReason =>
  (ApiErrorReason.literals as ReadonlyArray<string>).includes(reason)

/** The failure of a response as an error of the request, when nothing of it was shown. @since 0.1.0 @category combinators */
export const fromResponseError = (error: ResponseError, provider?: string): ApiError =>
  new ApiError({
    reason: isReason(error.reason) ? error.reason : "stream_error",
    message: error.message,
    retryable: error.retryable,
    ...(provider === undefined ? {} : { provider }),
    code: error.code,
    ...(error.status === undefined ? {} : { status: error.status }),
    ...(error.retry_after_ms === undefined ? {} : { retry_after_ms: error.retry_after_ms }),
    ...(error.request_id === undefined ? {} : { request_id: error.request_id })
  })

/**
 * The headers of a request. Exactly one identity: the settings' own, else the key in the protocol's or the host's
 * header.
 */
const headersOf = (
  request: Pick<UpstreamRequest, "protocol" | "endpoint" | "headers" | "key" | "bearer" | "stream">
): Readonly<Record<string, string>> => {
  const own = hasAuthHeader(request.headers)
  const key = own ? null : Option.match(request.key, { onNone: () => null, onSome: Redacted.value })
  const headers: Record<string, string> = {}
  const bearer = request.bearer === true
  for (const [name, value] of Object.entries(request.protocol.headers(bearer ? null : key))) {
    const lower = name.toLowerCase()
    if (!(isAuthHeader(lower) && request.endpoint.auth !== undefined)) headers[lower] = value
  }
  if (key !== null && bearer) headers["authorization"] = `Bearer ${key}`
  else if (key !== null && request.endpoint.auth !== undefined) headers[request.endpoint.auth] = key
  headers["content-type"] = "application/json"
  headers["accept"] = request.stream ? "text/event-stream" : "application/json"
  // Events are small and come one by one: compressing them costs a delay and gains nothing.
  if (request.stream) headers["accept-encoding"] = "identity"
  for (const [name, value] of Object.entries(request.headers)) headers[name.toLowerCase()] = value
  return headers
}

/** What a body is, by its first character: neither a JSON text nor markup can begin an event stream. */
const kindOf = (text: string): "json" | "markup" | "events" | "blank" => {
  const start = text.trimStart()
  if (start === "") return "blank"
  return start.startsWith("{") || start.startsWith("[") ? "json" : start.startsWith("<") ? "markup" : "events"
}

const isEventStream = (response: HttpResponse): boolean =>
  /^\s*text\/event-stream\b/i.test(response.headers["content-type"] ?? "")

const ends = (events: ReadonlyArray<ResponseEvent>): boolean => {
  const last = events.at(-1)
  // By name, not by the Schema: that one is built only where a whole event is decoded.
  return last?.type === "response.completed" || last?.type === "response.incomplete" || last?.type === "response.failed"
}

const settingsOf = (request: UpstreamRequest): string => `providers.${request.provider}`

/** 401, 403 and 404 with what was asked of whom, and what can be done. The provider's own words stand in the middle. */
const told = (request: UpstreamRequest, error: ApiError): ApiError => {
  const { status } = error
  const known = (error.reason === "auth" && (status === 401 || status === 403)) ||
    (error.reason === "not_found" && status === 404)
  if (!known) return error
  const { provider } = request
  const { model } = request.decode
  const words = error.message.replace(/[\s.;]+$/u, "")
  const own = hasAuthHeader(request.headers)
  const source = own ? `${settingsOf(request)}.headers` : request.key_source
  const key = source === undefined
    ? `set ${settingsOf(request)}.api_key_env or ${settingsOf(request)}.api_key`
    : `check ${source}`
  const message = status === 404
    ? `model ${model} of ${provider} not found at ${
      addressOf(request)
    } (404): ${words}; check the name (-m ${provider}/MODEL, ` +
      `${settingsOf(request)}.models) and ${settingsOf(request)}.base_url`
    : status === 403
    ? `${provider} does not let this key use model ${model} (403): ${words}; ${key}, or name another model with -m`
    : source === undefined
    ? `${provider} wants a key for model ${model} (401): ${words}; ${key}`
    : `${provider} refused the key for model ${model} (401): ${words}; ${key}`
  return amend(error, { message })
}

/** One read of the network at a time. @since 0.1.0 @category models */
export type Pull = Streams.Pull<ResponseEvent, ApiError>

/** The stream of an answer that is opened with it and closed with it. @since 0.1.0 @category constructors */
export const streamOf = (
  open: Effect.Effect<Pull, ApiError, Scope.Scope>
): Stream.Stream<ResponseEvent, ApiError> => Streams.fromPull(open)

const once = (events: ReadonlyArray<ResponseEvent>): Pull => {
  let given = false
  return Effect.suspend(() => {
    if (given) return Effect.fail(Option.none())
    given = true
    return Effect.succeed(Chunk.unsafeFromArray(events))
  })
}

/** @since 0.1.0 @category constructors */
export const make: Effect.Effect<Transport, never, Http> = Effect.map(Http, (http) => {
  const send = (
    request: UpstreamRequest,
    headers: Readonly<Record<string, string>>
  ): Effect.Effect<HttpResponse, ApiError, Scope.Scope> => {
    const post = (fresh: boolean) =>
      http.request({
        method: "POST",
        url: request.endpoint.url,
        headers,
        body: JSON.stringify(request.encoded.body),
        limits: request.limits,
        fresh
      })
    const first = post(false)
    return Effect.mapError(
      request.retry_headers
        ? Effect.catchIf(first, (error) => error.reason === "headers_timeout", () => post(true))
        : first,
      (error) => fromHttpError(request, error)
    )
  }

  const refusal = (
    request: UpstreamRequest,
    response: HttpResponse,
    body: string,
    scrub: Scrub
  ): Effect.Effect<ApiError> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const { headers, status } = response
      const error = status >= 300 && status < 400
        ? new ApiError({
          reason: "not_found",
          message:
            `${request.endpoint.origin} answers with a redirect (${status}), which is not followed with a key; ` +
            `set the base URL of ${request.provider} to where it leads`,
          retryable: false,
          status
        })
        : told(request, request.protocol.decodeError({ status, headers, body: scrub(body), now }))
      return scrubError(scrub, amend(error, { provider: request.provider }))
    })

  const invalid = (request: UpstreamRequest, response: HttpResponse, message: string): ApiError =>
    new ApiError({
      reason: "invalid_response",
      message: `${addressOf(request)} ${message}`,
      retryable: false,
      provider: request.provider,
      status: response.status
    })

  /** A body in one piece: an answer that was not streamed, or an error that came with status 200. */
  const whole = (
    request: UpstreamRequest,
    response: HttpResponse,
    head: ReadonlyArray<Uint8Array>,
    scrub: Scrub
  ): Effect.Effect<ReadonlyArray<ResponseEvent>, ApiError> =>
    Effect.gen(function*() {
      const rest = yield* readAll(response, maxWholeBytes).pipe(
        Effect.mapError((error) =>
          amend(fromHttpError(request, error), { reason: within(error), status: response.status })
        )
      )
      const decoder = new TextDecoder()
      const text = [...head, rest.bytes].reduce((all, bytes) => all + decoder.decode(bytes, { stream: true }), "") +
        decoder.decode()
      if (rest.truncated) return yield* invalid(request, response, "answers with more than 64 MiB")
      if (kindOf(text) === "markup") {
        const words = sanitise(isMarkup(text) ? text : `<html>${text}`).slice(0, 80)
        return yield* invalid(
          request,
          response,
          `answers ${response.status} with a web page${
            words === "" ? "" : ` (${scrub(words)})`
          }, not with the API of a ` +
            `model; check the base_url of ${request.provider}`
        )
      }
      if (kindOf(text) === "blank") {
        return yield* invalid(request, response, `answers ${response.status} with an empty body; check the base URL`)
      }
      const events = request.protocol.decodeResponse(text, request.decode)
      const last = events.at(-1)
      if (last?.type === "response.failed" && last.response.output.length === 0 && last.response.error !== null) {
        return yield* scrubError(scrub, fromResponseError(last.response.error, request.provider))
      }
      return events
    })

  /** Reads until the first character that is neither blank nor a byte order mark. */
  const sniff = (
    response: HttpResponse
  ): Effect.Effect<
    { readonly kind: ReturnType<typeof kindOf>; readonly head: ReadonlyArray<Uint8Array>; readonly fault?: HttpError }
  > =>
    Effect.gen(function*() {
      const head: Array<Uint8Array> = []
      const decoder = new TextDecoder()
      for (;;) {
        const next = yield* Effect.either(response.read)
        if (next._tag === "Left") return { kind: "blank", head, fault: next.left }
        if (Option.isNone(next.right)) return { kind: "blank", head }
        const bytes = next.right.value
        head.push(bytes)
        const kind = kindOf(decoder.decode(bytes, { stream: true }))
        if (kind !== "blank") return { kind, head }
      }
    })

  const faultOf = (request: UpstreamRequest, error: HttpError): Fault => ({
    reason: within(error),
    message: placed(request, error.message)
  })

  /** The events of a stream, read by read. */
  const pullFrom = (
    request: UpstreamRequest,
    response: HttpResponse,
    reader: StreamReader,
    shape: (
      events: ReadonlyArray<ResponseEvent>
    ) => { readonly events: ReadonlyArray<ResponseEvent>; readonly cut: boolean },
    first: Effect.Effect<ReadonlyArray<ResponseEvent>>
  ): Pull => {
    let finished = false
    let head: Effect.Effect<ReadonlyArray<ResponseEvent>> | null = first
    const read: Effect.Effect<ReadonlyArray<ResponseEvent>> = Effect.suspend(() => {
      if (head !== null) {
        const given = head
        head = null
        return given
      }
      const one = response.read.pipe(
        Effect.match({
          onFailure: (error) => reader.end(faultOf(request, error)),
          onSuccess: Option.match({ onNone: () => reader.end(), onSome: reader.feed })
        })
      )
      return reader.settled()
        ? Effect.raceFirst(one, Effect.map(Effect.sleep(settleMillis), () => reader.end()))
        : one
    })
    const pull: Pull = Effect.suspend(() => {
      if (finished) return Effect.fail(Option.none())
      return Effect.flatMap(read, (raw) => {
        const { cut, events } = shape(raw)
        finished = cut || ends(events)
        if (events.length === 0) return pull
        const chunk = Chunk.unsafeFromArray(events)
        // The terminal suffices. A cut answer is still being written: leaving it closes the connection.
        return finished && !cut ? Effect.as(response.release, chunk) : Effect.succeed(chunk)
      })
    })
    return pull
  }

  /** The same for all requests with one key. */
  let masked: { readonly of: string; readonly make: ReturnType<typeof AnswerMask.make> } | undefined
  const masks = (secrets: ReadonlyArray<string>) => {
    const of = secrets.join("\n")
    if (masked?.of !== of) masked = { of, make: AnswerMask.make(secrets) }
    return masked.make
  }

  const open = (request: UpstreamRequest): Effect.Effect<Pull, ApiError, Scope.Scope> =>
    Effect.gen(function*() {
      const headers = headersOf(request)
      const secrets = secretsOf(headers, request.endpoint.query)
      const scrub = makeScrub(secrets)
      if (request.encoded.dropped.length > 0) {
        yield* Effect.logDebug(`not carried by ${request.protocol.name}: ${request.encoded.dropped.join("; ")}`)
      }
      const response = yield* send(request, headers)
      if (response.status < 200 || response.status > 299) {
        const body = yield* readAll(response, maxErrorBytes).pipe(
          Effect.match({ onFailure: () => "", onSuccess: ({ bytes }) => new TextDecoder().decode(bytes) })
        )
        const refused = yield* refusal(request, response, body, scrub)
        const { key, renew } = request
        if (response.status !== 401 || renew === undefined || Option.isNone(key) || hasAuthHeader(request.headers)) {
          return yield* refused
        }
        // Nothing of an answer has begun. Once: the request that is sent now has no second key.
        const { renew: _, ...again } = request
        const next = yield* renew(key.value)
        if (Option.isNone(next)) return yield* refused
        yield* response.release
        return yield* open({ ...again, ...next.value, key: Option.some(next.value.key) })
      }
      const stop = makeLocalStop(request.encoded.local_stop)
      const mask = masks(secrets)?.() ?? null
      const shape = (events: ReadonlyArray<ResponseEvent>) => {
        const cut = stop === null ? events : stop.push(events)
        const shaped = mask === null ? cut : mask.push(cut)
        return { events: shaped.map((event) => scrubEvent(scrub, event)), cut: stop?.hit() ?? false }
      }
      const { fault, head, kind } = yield* sniff(response)
      const streamed = isEventStream(response)
      if (kind === "json" || kind === "markup" || (kind === "blank" && fault === undefined && !streamed)) {
        const { events } = shape(yield* whole(request, response, head, scrub))
        return once(events)
      }
      const reader = makeStreamReader(request.protocol.streamDecoder(request.decode))
      const first = Effect.sync(() => {
        const events = head.flatMap(reader.feed)
        if (kind !== "blank" || reader.done()) return events
        return [...events, ...reader.end(fault === undefined ? undefined : faultOf(request, fault))]
      })
      return pullFrom(request, response, reader, shape, first)
    })

  return { open, events: (request) => streamOf(open(request)) }
})
