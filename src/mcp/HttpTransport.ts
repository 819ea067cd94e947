/**
 * MCP over Streamable HTTP (HIP-301 section 1: `HttpMcpTransport`; readings 1.2 to 1.5, D18), legacy and modern.
 *
 * Every message is a POST of its own; a request's answer is a JSON body or an event stream. In the legacy era there are
 * also a session, a standing GET stream for what the server says by itself, streams that are resumed, and a DELETE at
 * the end; in the modern era a lost stream is lost, and closing one cancels its request.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import type { JsonRpcId, JsonRpcMessage } from "../codec/JsonRpc.ts"
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { SseFrame } from "../codec/Sse.ts"
import { ceiling, sleep } from "../domain/Backoff.ts"
import type { HttpResponse } from "../platform/Http.ts"
import type { Inbound } from "../rpc/Duplex.ts"
import { connect } from "./Connect.ts"
import type { ConnectOptions, McpConnection } from "./Connection.ts"
import * as Exchanges from "./HttpExchanges.ts"
import {
  contentTypeOf,
  errorIn,
  eventStreamType,
  fault,
  type HttpDefinition,
  inboundOf,
  isSessionId,
  jsonType,
  messageHeaders,
  stateHeaders,
  type WireState
} from "./HttpWire.ts"
import { McpError } from "./McpError.ts"
import * as ParamHeaders from "./ParamHeaders.ts"
import { SseMcpTransport } from "./SseTransport.ts"
import type { EraMemory, McpEra, McpTransport, OpenTransport, SendContext } from "./Transport.ts"

/** @since 0.1.0 @category models */
export interface HttpTransportServices extends Exchanges.HttpServices {
  /** What is known of the origins of this process (1.2: cached per origin); given to several transports it is shared. */
  readonly eras?: Map<string, McpEra>
}

/** Messages that wait for the reader; then the server waits. */
const queueCapacity = 128
/** When a server names no `retry`. */
const reconnectMillis = 1_000
/** A standing stream that says nothing for so long is opened anew: its other end may be gone. */
const silentMillis = 300_000
const silentListenMillis = 900_000
const maxResumeFailures = 5
const longestBackoffMillis = 30_000
const refusalBytes = 65_536

/** @since 0.1.0 @category models */
export class HttpMcpTransport implements McpTransport {
  readonly kind = "http"
  readonly server: string
  readonly probe_silence = null
  readonly open: Effect.Effect<OpenTransport, McpError, Scope.Scope>
  readonly fallback: McpTransport
  readonly eras: EraMemory

  constructor(definition: HttpDefinition, services: HttpTransportServices) {
    this.server = definition.server
    this.open = open(Exchanges.make(definition, services))
    this.fallback = new SseMcpTransport(definition, services)
    const known = services.eras ?? new Map<string, McpEra>()
    const origin = URL.canParse(definition.url) ? new URL(definition.url).origin : definition.url
    this.eras = { get: () => known.get(origin), set: (era) => void known.set(origin, era) }
  }

  /** Finds out the era, unless it is known of this origin, and shakes hands. Everything ends with the scope. */
  connect(options: ConnectOptions): Effect.Effect<McpConnection, McpError, Scope.Scope> {
    return connect(this, options)
  }
}

const idOf = (message: JsonRpcMessage): JsonRpcId | null => "method" in message && "id" in message ? message.id : null

/** How many servers say what the specification says with 404. */
const saysNoSession = ({ code, message }: JsonRpc.JsonRpcErrorObject): boolean =>
  (code === -32_000 || code === -32_001) && /\bsession\b/iu.test(message)

const open = (exchanges: Exchanges.Exchanges): Effect.Effect<OpenTransport, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const { definition } = exchanges
    const { url } = definition
    const scope = yield* Effect.scope
    const mailbox = yield* Mailbox.make<Inbound, McpError>({ capacity: queueCapacity })
    let state: WireState = { era: null, version: null, session: null }
    let listener: Fiber.RuntimeFiber<void> | null = null
    const fail = (reason: McpError["reason"], message: string, more: Parameters<typeof fault>[3] = {}) =>
      Effect.fail(fault(definition, reason, message, more))

    const offer = (items: ReadonlyArray<Inbound>): Effect.Effect<unknown> =>
      items.length === 0 ? Effect.void : mailbox.offerAll(items)

    /** True = the answer to `on` was among them. The connection is let go before the answer is known of. */
    const takeFrames = (response: HttpResponse, on: JsonRpcId | null) => (frames: ReadonlyArray<SseFrame>) =>
      Effect.gen(function*() {
        const items: Array<Inbound> = []
        let answered = false
        for (const { data, event } of frames) {
          if (data === "" || (event !== null && event !== "message")) continue
          const found = inboundOf(data, on)
          if (found.noise) {
            yield* Effect.logDebug(`MCP server ${definition.server}: an event that is no message; dropped`)
          }
          items.push(...found.items)
          answered = answered || found.answered
        }
        if (answered) yield* response.release
        yield* offer(items)
        return answered
      })

    const get = (last_event_id: string) =>
      exchanges.request({
        method: "GET",
        url,
        headers: {
          accept: eventStreamType,
          ...stateHeaders(state),
          ...(last_event_id === "" ? {} : { "last-event-id": last_event_id })
        },
        // No limit for the head: some servers send it with the first event.
        limits: { connect_ms: Exchanges.connectMillis, idle_ms: silentMillis }
      })

    const isStream = (response: HttpResponse): boolean =>
      response.status === 200 && contentTypeOf(response.headers) === eventStreamType

    const lost = (method: string, why: string) =>
      fail("stream_lost", `the stream of ${method} ended without its answer (${why}); the request may have run`)

    /** Legacy: the stream goes on where it ended, by GET, after exactly the time the server asked for. */
    const resume = (
      method: string,
      on: JsonRpcId,
      from: string,
      retry: number | null,
      failures: number
    ): Effect.Effect<void, McpError> =>
      Effect.gen(function*() {
        const pause = retry ?? reconnectMillis
        yield* sleep(failures === 0 ? pause : Math.max(pause, ceiling(reconnectMillis, longestBackoffMillis, failures)))
        const end = yield* Effect.either(Effect.scoped(Effect.flatMap(get(from), (response) =>
          isStream(response)
            ? Exchanges.readEvents(exchanges, response, takeFrames(response, on))
            : fail("http_status", `status ${response.status}`, { status: response.status }))))
        if (end._tag === "Left") {
          const { message, reason, status } = end.left
          const passing = reason === "network" || (reason === "http_status" && (status ?? 0) >= 500)
          return passing && failures < maxResumeFailures
            ? yield* resume(method, on, from, retry, failures + 1)
            : reason === "http_status" || reason === "network"
            ? yield* lost(method, `and it cannot be resumed: ${message}`)
            : yield* end.left
        }
        if (end.right._tag === "Done") return
        const { heard, last_event_id, reconnect_ms } = end.right
        return yield* resume(
          method,
          on,
          last_event_id === "" ? from : last_event_id,
          reconnect_ms ?? retry,
          heard || failures >= maxResumeFailures ? 0 : failures
        )
      })

    /** A status that is no success. */
    const refuse = (
      response: HttpResponse,
      message: JsonRpcMessage,
      context: SendContext | undefined,
      session: string | null
    ): Effect.Effect<void, McpError> =>
      Effect.gen(function*() {
        const { status } = response
        const id = idOf(message)
        const type = contentTypeOf(response.headers)
        const text = type === jsonType || type === "" || type.endsWith("+json")
          ? yield* Effect.orElseSucceed(exchanges.readText(response, refusalBytes), () => "")
          : ""
        const error = errorIn(text)
        const mine = error !== undefined && id !== null && (error.id === null || String(error.id) === String(id))
        const inSession = session !== null && context?.era !== "modern"
        // An answer under the id of the request comes from a session that lives.
        const gone = status === 404 && !(mine && error.id !== null)
        if (inSession && (gone || (status === 400 && error !== undefined && saysNoSession(error.error)))) {
          return yield* fail("session_expired", `it no longer knows the session (status ${status})`, {
            status,
            sent: false
          })
        }
        if (mine) return void (yield* offer([{ item: JsonRpc.failure(id, error.error), on: id }]))
        const what = "method" in message ? message.method : "an answer"
        return yield* fail("http_status", `it answered ${what} with status ${status}`, { status })
      })

    const readAnswer = (
      response: HttpResponse,
      method: string,
      id: JsonRpcId,
      context: SendContext | undefined
    ): Effect.Effect<void, McpError> =>
      Effect.gen(function*() {
        const type = contentTypeOf(response.headers)
        if (type === eventStreamType) {
          const end = yield* Exchanges.readEvents(exchanges, response, takeFrames(response, id))
          if (end._tag === "Done") return
          const { error, last_event_id, reconnect_ms } = end
          const why = error === null ? "it was closed" : error.message
          return context?.era === "modern" || last_event_id === ""
            ? yield* lost(method, why)
            : yield* resume(method, id, last_event_id, reconnect_ms, 0)
        }
        if (type !== jsonType) {
          return yield* fail(
            "protocol",
            `it answered ${method} with ${
              type === "" ? "no content type" : JSON.stringify(type)
            }, neither JSON nor an event stream (status ${response.status})`
          )
        }
        const found = inboundOf(yield* exchanges.readText(response), id)
        yield* offer(found.items)
        if (!found.answered) yield* fail("protocol", `it answered ${method} with JSON that is no answer to it`)
      })

    /** What the server says by itself, until it says that it has no such stream. */
    const listen: Effect.Effect<void> = Effect.gen(function*() {
      let last = ""
      let retry: number | null = null
      let quiet = 0
      for (;;) {
        const end = yield* Effect.either(Effect.scoped(Effect.flatMap(get(last), (response) =>
          isStream(response)
            ? Exchanges.readEvents(exchanges, response, takeFrames(response, null))
            : fail("http_status", `status ${response.status}`, { status: response.status }))))
        let asked: number | null = null
        if (end._tag === "Left") {
          const { message, reason, status } = end.left
          if (!(reason === "network" || (reason === "http_status" && (status ?? 0) >= 500 && status !== 501))) {
            return yield* Effect.logDebug(
              `MCP server ${definition.server}: no standing stream${status === 405 ? "" : `: ${message}`}`
            )
          }
          quiet++
        } else if (end.right._tag === "Ended") {
          const { heard, last_event_id, reconnect_ms } = end.right
          if (last_event_id !== "") last = last_event_id
          retry = reconnect_ms ?? retry
          asked = reconnect_ms
          quiet = heard ? 0 : quiet + 1
        }
        const pause = retry ?? reconnectMillis
        yield* sleep(
          asked !== null || quiet === 0 ? pause : Math.max(pause, ceiling(reconnectMillis, longestBackoffMillis, quiet))
        )
      }
    })

    const stopListening = Effect.suspend(() => {
      const fiber = listener
      listener = null
      return fiber === null ? Effect.void : Effect.asVoid(Fiber.interrupt(fiber))
    })

    const startListening = Effect.zipRight(
      stopListening,
      Effect.map(Effect.forkIn(Effect.interruptible(listen), scope), (fiber) => {
        listener = fiber
      })
    )

    const begun = (response: HttpResponse): Effect.Effect<void, McpError> => {
      const id = response.headers["mcp-session-id"]
      if (id === undefined) return Effect.void
      if (!isSessionId(id)) return fail("protocol", "its session id has characters that it must not have")
      state = { ...state, session: id }
      return Effect.void
    }

    const send: OpenTransport["send"] = (message, context) =>
      Effect.scoped(Effect.gen(function*() {
        const id = idOf(message)
        const method = "method" in message ? message.method : "an answer"
        const { session } = state
        const response = yield* exchanges.request({
          method: "POST",
          url,
          headers: messageHeaders(state, message, context),
          body: JsonRpc.print(message),
          // How long a request may take is its caller's matter.
          limits: id === null
            ? Exchanges.promptLimits
            : {
              connect_ms: Exchanges.connectMillis,
              ...(method === "subscriptions/listen" ? { idle_ms: silentListenMillis } : {})
            },
          ...(method === "tools/call" ? { once: true } : {})
        })
        if (response.status < 200 || response.status > 299) return yield* refuse(response, message, context, session)
        if (id !== null) {
          if (method === "initialize") yield* begun(response)
          return yield* readAnswer(response, method, id, context)
        }
        yield* response.release
        if (method === "notifications/initialized" && context?.era === "legacy") yield* startListening
      })).pipe(Effect.mapError((error) =>
        "method" in message && message.method === "tools/call" && error.reason === "network" && error.sent !== false
          ? new McpError({
            reason: error.reason,
            server: error.server,
            message: `${error.message}; the call may have run, and is not sent again`
          })
          : error
      ))

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() =>
        state.session === null || state.era === "modern"
          ? Effect.void
          : exchanges.tell({ method: "DELETE", url, headers: stateHeaders(state) })
      )
    )
    // Registered last, so that they run first: no stream outlives the session, and nobody waits for a reader that is gone.
    yield* Effect.addFinalizer(() => stopListening)
    yield* Effect.addFinalizer(() => mailbox.shutdown)

    return {
      send,
      incoming: Mailbox.toStream(mailbox),
      negotiated: ({ era, version }) =>
        Effect.sync(() => {
          state = { ...state, era, version }
        }),
      resetSession: Effect.zipRight(
        stopListening,
        Effect.sync(() => {
          state = { ...state, version: null, session: null }
        })
      ),
      cancelsBy: (era) => era === "modern" ? "stream" : "notification",
      refusesTool: (era, input_schema) => {
        if (era !== "modern") return null
        const found = ParamHeaders.read(input_schema)
        return "why" in found ? found.why : null
      },
      report: Effect.succeed({ stderr: "", pid: null, log_file: null })
    }
  })
