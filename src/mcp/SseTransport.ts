/**
 * MCP over HTTP+SSE, the transport of 2024-11-05 (readings 1.2, D18): one GET stream brings everything, its first event
 * names the address that messages are posted to, which must have the origin of the stream.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { SseFrame } from "../codec/Sse.ts"
import type { HttpResponse } from "../platform/Http.ts"
import type { Inbound } from "../rpc/Duplex.ts"
import { connect } from "./Connect.ts"
import type { ConnectOptions, McpConnection } from "./Connection.ts"
import * as Exchanges from "./HttpExchanges.ts"
import {
  contentTypeOf,
  eventStreamType,
  fault,
  type HttpDefinition,
  inboundOf,
  jsonType,
  network,
  shown,
  stateHeaders
} from "./HttpWire.ts"
import type { McpError } from "./McpError.ts"
import type { McpTransport, OpenTransport } from "./Transport.ts"

const queueCapacity = 128

/** @since 0.1.0 @category models */
export class SseMcpTransport implements McpTransport {
  readonly kind = "sse"
  readonly server: string
  readonly probe_silence = null
  readonly open: Effect.Effect<OpenTransport, McpError, Scope.Scope>

  constructor(definition: HttpDefinition, services: Exchanges.HttpServices) {
    this.server = definition.server
    this.open = open(Exchanges.make(definition, services))
  }

  /** A server of this kind is a legacy one: it is not asked. Everything ends with the scope. */
  connect(options: ConnectOptions): Effect.Effect<McpConnection, McpError, Scope.Scope> {
    return connect(this, { ...options, protocol: "legacy" })
  }
}

const open = (exchanges: Exchanges.Exchanges): Effect.Effect<OpenTransport, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const { definition } = exchanges
    const mailbox = yield* Mailbox.make<Inbound, McpError>({ capacity: queueCapacity })
    const endpoint = yield* Deferred.make<string, McpError>()
    let version: string | null = null
    const fail = (reason: McpError["reason"], message: string, status?: number) =>
      Effect.fail(fault(definition, reason, message, status === undefined ? {} : { status }))

    const response: HttpResponse = yield* exchanges.request({
      method: "GET",
      url: definition.url,
      headers: { accept: eventStreamType },
      limits: { connect_ms: Exchanges.connectMillis }
    })
    if (response.status !== 200) {
      return yield* fail("http_status", `it opens no stream (status ${response.status})`, response.status)
    }
    if (contentTypeOf(response.headers) !== eventStreamType) {
      return yield* fail("protocol", "what it sends is no event stream")
    }

    const settle = (data: string): Effect.Effect<void, McpError> => {
      const address = URL.canParse(data, definition.url) ? new URL(data, definition.url) : null
      return address === null
        ? fail("protocol", "its endpoint event holds no address")
        : address.origin !== new URL(definition.url).origin
        ? fail(
          "protocol",
          `it wants messages at another origin (${shown(address.href)}); nothing is sent there`
        )
        : Effect.asVoid(Deferred.succeed(endpoint, address.href))
    }

    const takeFrames = (frames: ReadonlyArray<SseFrame>): Effect.Effect<boolean, McpError> =>
      Effect.gen(function*() {
        const items: Array<Inbound> = []
        for (const { data, event } of frames) {
          if (event === "endpoint") yield* settle(data)
          else if (data !== "" && (event === null || event === "message")) items.push(...inboundOf(data, null).items)
        }
        if (items.length > 0) yield* mailbox.offerAll(items)
        return false
      })

    // The stream is the connection: its end is the end, with what it was.
    const reader = Exchanges.readEvents(exchanges, response, takeFrames).pipe(
      Effect.flatMap((end) =>
        Effect.fail(
          end._tag === "Ended" && end.error !== null
            ? network(definition, end.error)
            : fault(definition, "closed", "it closed the stream")
        )
      ),
      Effect.catchAll((error: McpError) => Effect.zipRight(Deferred.fail(endpoint, error), mailbox.fail(error)))
    )
    yield* Effect.forkScoped(Effect.interruptible(reader))
    yield* Effect.addFinalizer(() => mailbox.shutdown)
    const address = yield* Deferred.await(endpoint)

    return {
      incoming: Mailbox.toStream(mailbox),
      send: (message) =>
        Effect.scoped(Effect.gen(function*() {
          const posted = yield* exchanges.request({
            method: "POST",
            url: address,
            headers: { "content-type": jsonType, ...stateHeaders({ era: "legacy", version, session: null }) },
            body: JsonRpc.print(message),
            limits: Exchanges.promptLimits,
            ..."method" in message && message.method === "tools/call" ? { once: true } : {}
          })
          const { status } = posted
          if (status >= 200 && status < 300) return yield* posted.release
          return yield* fail("http_status", `it does not take a message (status ${status})`, status)
        })).pipe(
          // Where nothing can be posted any more, the stream that seems open is one whose other end is gone.
          Effect.tapError((error) =>
            error.reason === "network" || error.status === 404 ? mailbox.fail(error) : Effect.void
          )
        ),
      negotiated: (agreed) =>
        Effect.sync(() => {
          version = agreed.version
        }),
      resetSession: Effect.void,
      cancelsBy: () => "notification",
      refusesTool: () => null,
      report: Effect.succeed({ stderr: "", pid: null, log_file: null })
    }
  })
