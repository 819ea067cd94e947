/**
 * Single HTTP exchanges with one MCP server: the settings' headers, tokens, refusals, redirects, and event streams read
 * frame by frame (readings 1.2, 1.13). Credentials go to the origin of the definition's `url` and to no other.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { defaultMaxMessageBytes } from "../codec/Framing.ts"
import { type SseFrame, SseFrameBuffer } from "../codec/Sse.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import {
  type HttpError,
  type HttpLimits,
  type HttpRequest,
  type HttpResponse,
  type HttpService,
  readAll
} from "../platform/Http.ts"
import type { McpAuthorizer } from "./Authorizer.ts"
import { addressProblem, fault, type HttpDefinition, network, shown } from "./HttpWire.ts"
import type { McpError } from "./McpError.ts"

/** @since 0.1.0 @category models */
export interface HttpServices {
  readonly http: HttpService
  /** Absent = 401 is an error. Not asked when the definition's own headers hold an authorization. */
  readonly authorizer?: McpAuthorizer
}

/** @since 0.1.0 @category models */
export interface ExchangeInput {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly limits: HttpLimits
  /** Must not go out twice (see `HttpRequest.once`). */
  readonly once?: boolean
}

/** @since 0.1.0 @category models */
export interface Exchanges {
  readonly definition: HttpDefinition
  readonly max_message_bytes: number
  /** The answer's head, whatever its status but redirects and what a login settles. */
  readonly request: (input: ExchangeInput) => Effect.Effect<HttpResponse, McpError, Scope.Scope>
  readonly readText: (response: HttpResponse, max_bytes?: number) => Effect.Effect<string, McpError>
  /** Closes what the server keeps for us; never fails, never takes longer than its limit. */
  readonly tell: (input: Omit<ExchangeInput, "limits" | "once">) => Effect.Effect<void>
}

/** @since 0.1.0 @category constants */
export const connectMillis = 10_000
/** For answers that need no work: an acknowledgement, the head of a refusal. */
const promptMillis = 30_000
const tellMillis = 2_000
const maxRedirects = 3
const maxRefusals = 5
const repeating = new Set([307, 308])
const redirecting = new Set([301, 302, 303, 307, 308])

/** Limits of a request that is answered without work. @since 0.1.0 @category constants */
export const promptLimits: HttpLimits = {
  connect_ms: connectMillis,
  headers_ms: promptMillis,
  idle_ms: promptMillis
}

const lowerCased = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const decoder = new TextDecoder()

/** @since 0.1.0 @category constructors */
export const make = (definition: HttpDefinition, services: HttpServices): Exchanges => {
  const { http } = services
  const own = lowerCased(definition.headers ?? {})
  const authorizer = "authorization" in own ? undefined : services.authorizer
  const max_message_bytes = definition.max_message_bytes ?? defaultMaxMessageBytes
  const problem = addressProblem(definition.url)

  const tooLarge = (what: string): McpError =>
    fault(
      definition,
      "message_too_large",
      `${what} is larger than ${max_message_bytes} bytes; raise max_message_bytes if it is meant to be`
    )

  const redirected = (response: HttpResponse, from: string): Effect.Effect<string, McpError> => {
    const { location } = response.headers
    const to = location !== undefined && URL.canParse(location, from) ? new URL(location, from) : null
    return to !== null && repeating.has(response.status) && to.origin === new URL(definition.url).origin
      ? Effect.succeed(to.href)
      : Effect.fail(fault(
        definition,
        "http_status",
        `it redirects (status ${response.status})${
          to === null ? "" : ` to ${shown(to.href)}`
        }, and that is not followed; if the address is right, set it as url`,
        { status: response.status, sent: false }
      ))
  }

  const attempt = (
    input: ExchangeInput,
    url: string,
    refused: number,
    redirects: number
  ): Effect.Effect<HttpResponse, McpError, Scope.Scope> =>
    Effect.gen(function*() {
      const shows = authorizer === undefined ? null : yield* authorizer.present({ method: input.method, url })
      const request: HttpRequest = {
        method: input.method,
        url,
        headers: {
          ...own,
          ...input.headers,
          ...shows?.headers
        },
        limits: input.limits,
        ...(input.body === undefined ? {} : { body: input.body }),
        ...(input.once === undefined ? {} : { once: input.once })
      }
      const response = yield* Effect.mapError(http.request(request), (error) => network(definition, error))
      const { status } = response
      authorizer?.answered?.({ method: input.method, url }, response.headers)
      if (redirecting.has(status)) {
        yield* response.release
        if (redirects === maxRedirects) {
          return yield* fault(definition, "http_status", "it redirects in a circle", { status, sent: false })
        }
        return yield* attempt(input, yield* redirected(response, url), refused, redirects + 1)
      }
      if (status !== 401 && status !== 403) return response
      if (authorizer === undefined) {
        return status === 403 ? response : yield* fault(
          definition,
          "needs_login",
          "authorization" in own
            ? "it refuses the authorization of its headers (status 401); correct mcp_servers." +
              `${TerminalText.line(definition.server, 80)}.headers`
            : "it asks for a login (status 401)",
          { status, sent: false }
        )
      }
      if (refused >= maxRefusals) {
        return yield* fault(definition, "needs_login", `it refuses every token (status ${status})`, {
          status,
          sent: false
        })
      }
      const again = yield* authorizer.refused({
        status,
        challenge: response.headers["www-authenticate"],
        used: shows?.token ?? null,
        refused
      })
      if (!again) return response
      yield* response.release
      return yield* attempt(input, url, refused + 1, redirects)
    })

  const request = (input: ExchangeInput) =>
    problem === null
      ? attempt(input, input.url, 0, 0)
      : Effect.fail(fault(definition, "config", problem, { sent: false }))

  return {
    definition,
    max_message_bytes,
    request,
    readText: (response, max_bytes = max_message_bytes) =>
      Effect.flatMap(
        Effect.mapError(readAll(response, max_bytes), (error) => network(definition, error)),
        ({ bytes, truncated }) => truncated ? Effect.fail(tooLarge("an answer")) : Effect.succeed(decoder.decode(bytes))
      ),
    tell: (input) =>
      Effect.scoped(Effect.gen(function*() {
        const shows = authorizer === undefined
          ? null
          : yield* Effect.orElseSucceed(authorizer.present({ method: input.method, url: input.url }), () => null)
        const response = yield* http.request({
          ...input,
          headers: {
            ...own,
            ...input.headers,
            ...shows?.headers
          },
          limits: promptLimits
        })
        yield* response.release
      })).pipe(
        Effect.interruptible,
        Effect.timeoutOption(tellMillis),
        Effect.ignore
      )
  }
}

/** How an event stream ended. `error`: it broke; `heard`: something came. @since 0.1.0 @category models */
export type StreamEnd =
  | { readonly _tag: "Done" }
  | {
    readonly _tag: "Ended"
    readonly error: HttpError | null
    readonly last_event_id: string
    readonly reconnect_ms: number | null
    readonly heard: boolean
  }

/**
 * Reads until `onFrames` says that it has what it wants, or the stream ends. An unfinished last event is dropped: it comes
 * again when the stream is resumed. Fails with `message_too_large`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const readEvents = (
  exchanges: Exchanges,
  response: HttpResponse,
  onFrames: (frames: ReadonlyArray<SseFrame>) => Effect.Effect<boolean, McpError>
): Effect.Effect<StreamEnd, McpError> =>
  Effect.gen(function*() {
    const { definition, max_message_bytes } = exchanges
    const buffer = new SseFrameBuffer({ max_frame_bytes: max_message_bytes })
    let heard = false
    for (;;) {
      const next = yield* Effect.either(response.read)
      if (next._tag === "Left" || Option.isNone(next.right)) {
        return {
          _tag: "Ended",
          error: next._tag === "Left" ? next.left : null,
          last_event_id: buffer.last_event_id,
          reconnect_ms: buffer.reconnect_ms,
          heard
        }
      }
      const frames = buffer.feed(next.right.value)
      if (frames.length > 0) {
        heard = true
        if (yield* onFrames(frames)) return { _tag: "Done" }
      }
      if (buffer.failure !== null) {
        return yield* fault(
          definition,
          "message_too_large",
          `an event of its stream is larger than ${max_message_bytes} bytes; raise max_message_bytes if it is meant to be`
        )
      }
    }
  })
