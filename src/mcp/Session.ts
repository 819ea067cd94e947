/**
 * What a connection knows while it lives, and how its requests go out: metadata of the era, time limits, errors, progress,
 * questions in between (readings 1.2 to 1.4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  isJsonObject,
  type JsonRpcId,
  type JsonRpcNotification,
  type JsonRpcObject,
  type JsonRpcRequest,
  own
} from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import { CurrentSpan } from "../domain/Telemetry.ts"
import { type JsonRpcError, type JsonRpcPeer, JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import * as Asked from "./Asked.ts"
import {
  type ConnectOptions,
  defaultLimits,
  type McpAsking,
  type McpCallInFlight,
  type McpHandlers,
  type McpLimits,
  type McpLogLevel,
  type McpProgress,
  type McpTool
} from "./Connection.ts"
import { McpError } from "./McpError.ts"
import type { McpEra, McpTransport, OpenTransport, SendContext } from "./Transport.ts"
import * as Wire from "./Wire.ts"

/** @since 0.1.0 @category models */
export type McpPeer = JsonRpcPeer<McpError, SendContext>

/** An open transport and the peer that reads it. @since 0.1.0 @category models */
export interface Link {
  readonly transport: McpTransport
  readonly open: OpenTransport
  readonly peer: McpPeer
}

/** Which limit a request is under (1.4). @since 0.1.0 @category models */
export type LimitKind = "connect" | "list" | "call"

/** @since 0.1.0 @category models */
export interface Ask {
  readonly limit: LimitKind
  /** Overrides, milliseconds. */
  readonly timeout_ms?: number | undefined
  readonly max_ms?: number | undefined
  /** No limit at all. */
  readonly endless?: boolean
  readonly name?: string | undefined
  readonly tool?: McpTool | undefined
  readonly probe?: boolean
  readonly cancellable?: boolean
  readonly onProgress?: ((progress: McpProgress) => Effect.Effect<void>) | undefined
  /** The tool call this request belongs to. */
  readonly call?: McpCallInFlight | undefined
  readonly onId?: (id: number) => void
}

/** Names of `_meta` in the modern era. @since 0.1.0 @category constants */
export const metaKeys = {
  version: "io.modelcontextprotocol/protocolVersion",
  client: "io.modelcontextprotocol/clientInfo",
  capabilities: "io.modelcontextprotocol/clientCapabilities",
  log_level: "io.modelcontextprotocol/logLevel",
  subscription: "io.modelcontextprotocol/subscriptionId",
  server: "io.modelcontextprotocol/serverInfo",
  task: "io.modelcontextprotocol/related-task"
} as const

const limitName = (kind: LimitKind, max: boolean): string =>
  kind === "call" ? max ? "call_max_ms" : "call_timeout_ms" : `${kind}_timeout_ms`

const limitReason = (kind: LimitKind, max: boolean): McpError["reason"] =>
  kind === "call" ? max ? "call_max" : "call_timeout" : `${kind}_timeout`

/** @since 0.1.0 @category models */
export class Session {
  readonly server: string
  readonly options: ConnectOptions
  readonly handlers: McpHandlers
  readonly limits: McpLimits
  /** Null until it is known. */
  era: McpEra | null = null
  version: string | null = null
  log_level: McpLogLevel | null
  /** The last listing, by name. */
  tools: ReadonlyMap<string, McpTool> = new Map()
  /** Ids of `subscriptions/listen` that are open, with what ends them here. */
  readonly listens = new Map<string, (acknowledged: JsonRpcObject | null) => Effect.Effect<void>>()
  readonly #calls = new Map<number, McpCallInFlight>()
  readonly #tasks = new Map<string, McpCallInFlight>()
  readonly #progress = new Map<string, (progress: McpProgress) => Effect.Effect<void>>()
  /** What ends the questions that were asked in a call. */
  readonly #questions = new Map<McpCallInFlight, Set<() => void>>()
  #peer: McpPeer | null = null

  readonly #transport: McpTransport["kind"]

  constructor(server: string, options: ConnectOptions, transport: McpTransport["kind"]) {
    this.server = server
    this.#transport = transport
    this.options = options
    this.handlers = options.handlers ?? {}
    this.limits = { ...defaultLimits, ...options.limits }
    this.log_level = options.log_level ?? null
  }

  attach(peer: McpPeer): void {
    this.#peer = peer
  }

  readonly pending = (): ReadonlyArray<{ readonly method: string }> => this.#peer?.pending() ?? []

  readonly calls = (): ReadonlyArray<McpCallInFlight> => [...new Set(this.#calls.values())]

  error(
    reason: McpError["reason"],
    message: string,
    more: { readonly code?: number; readonly data?: unknown; readonly limit_ms?: number; readonly sent?: false } = {}
  ): McpError {
    return new McpError({ reason, server: this.server, message: `MCP server ${this.server}: ${message}`, ...more })
  }

  readonly toMcpError = (error: JsonRpcError | McpError, kind: LimitKind): McpError => {
    if (error instanceof McpError) return error
    switch (error.reason) {
      case "remote":
        return this.error("rpc", TerminalText.line(`${error.method}: ${error.message} (${error.code})`, 2_000), {
          ...(error.code === undefined ? {} : { code: error.code }),
          ...(error.data === undefined ? {} : { data: error.data })
        })
      case "timeout":
      case "max_timeout": {
        const max = error.reason === "max_timeout"
        return this.error(limitReason(kind, max), `${error.message}; raise ${limitName(kind, max)} if it needs more`, {
          limit_ms: error.limit_ms ?? 0
        })
      }
      case "invalid_response":
        return this.error("protocol", error.message)
      case "closed":
        return this.error("closed", "the connection is closed")
    }
  }

  context(method: string, ask?: Ask): SendContext {
    return {
      era: this.era ?? (ask?.probe === true ? "modern" : "legacy"),
      version: this.version,
      method,
      name: ask?.name,
      input_schema: ask?.tool?.input_schema,
      probe: ask?.probe
    }
  }

  /** `_meta` of a request under `version`. */
  meta(version: string): JsonRpcObject {
    return {
      [metaKeys.version]: version,
      [metaKeys.client]: this.options.client_info,
      [metaKeys.capabilities]: Asked.capabilities(this.handlers, false),
      ...(this.log_level === null ? {} : { [metaKeys.log_level]: this.log_level })
    }
  }

  /** Params as they go out in the era in force. */
  #params(params: JsonRpcObject, ask: Ask, id: number, traceparent: string | null): JsonRpcObject {
    const given = own(params, "_meta")
    const meta: Record<string, unknown> = {
      ...(isJsonObject(given) ? given : undefined),
      ...(this.era === "modern" && this.version !== null ? this.meta(this.version) : undefined)
    }
    // A token of the caller's own could be that of another request.
    if (ask.onProgress !== undefined || ask.call !== undefined || "progressToken" in meta) meta["progressToken"] = id
    if (traceparent !== null) meta["traceparent"] = traceparent
    return Object.keys(meta).length === 0 ? params : { ...params, _meta: meta }
  }

  /** A request with a span of its own where the work around it has one; `send` gets its `traceparent`. */
  spanned<A, E extends { readonly reason: string }>(
    method: string,
    target: string | null,
    send: (traceparent: string | null) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> {
    return Effect.withFiberRuntime((fiber) => {
      const span = Context.getOption(fiber.currentContext, CurrentSpan)
      return Option.isNone(span)
        ? send(null)
        : span.value.recorder.mcp(
          { server: this.server, method, target, version: this.version, transport: this.#transport },
          send
        )
    })
  }

  /** One request, once, over `peer`; its result as it came. Where the work around it has a span, so has the request. */
  readonly send = (
    peer: McpPeer,
    method: string,
    params: JsonRpcObject,
    ask: Ask
  ): Effect.Effect<unknown, JsonRpcError | McpError> =>
    ask.endless === true
      ? Effect.suspend(() => this.#send(peer, method, params, ask, null))
      : this.spanned(
        method,
        ask.tool?.name ?? ask.name ?? null,
        (traceparent) => this.#send(peer, method, params, ask, traceparent)
      )

  /** For one run. */
  #send(
    peer: McpPeer,
    method: string,
    params: JsonRpcObject,
    ask: Ask,
    traceparent: string | null
  ): Effect.Effect<unknown, JsonRpcError | McpError> {
    if (peer.ended()) {
      return Effect.mapError(peer.request(method), (error) => {
        const { message, reason } = this.toMcpError(error, ask.limit)
        return new McpError({ reason, server: this.server, message, sent: false })
      })
    }
    let own_id = 0
    const { call, onProgress } = ask
    const idle = ask.timeout_ms ?? this.limits[`${ask.limit}_timeout_ms`]
    const max = ask.limit === "call" ? ask.max_ms ?? this.limits.call_max_ms : undefined
    return peer.request(method, (id) => this.#params(params, ask, id, traceparent), {
      timeout: ask.endless === true ? undefined : Duration.millis(idle),
      max_timeout: ask.endless === true || max === undefined ? undefined : Duration.millis(max),
      cancellable: ask.cancellable ?? true,
      context: this.context(method, ask),
      onId: (id) => {
        own_id = id
        if (call !== undefined) this.#calls.set(id, call)
        if (onProgress !== undefined) this.#progress.set(String(id), onProgress)
        ask.onId?.(id)
      },
      onEnd: (given_up) => {
        if (call !== undefined) {
          this.#calls.delete(own_id)
          if (given_up) this.giveUp(call)
        }
        if (onProgress !== undefined && this.#progress.get(String(own_id)) === onProgress) {
          this.#progress.delete(String(own_id))
        }
      }
    })
  }

  /** Nobody waits for the call any more: what its server asked in it is not asked any longer. */
  giveUp(call: McpCallInFlight): void {
    for (const end of this.#questions.get(call) ?? []) end()
  }

  /** The answer to a question whose call is given up, when that happens. */
  #unwanted(method: string, call: McpCallInFlight): Effect.Effect<unknown, JsonRpcRefusal> {
    return Effect.async((resume) => {
      const end = (): void =>
        resume(
          method === "elicitation/create"
            ? Effect.succeed({ action: "cancel" })
            : Effect.fail(new JsonRpcRefusal({ code: -1, message: "the call in which this was asked was given up" }))
        )
      const all = this.#questions.get(call) ?? new Set()
      this.#questions.set(call, all.add(end))
      return Effect.sync(() => {
        all.delete(end)
        if (all.size === 0 && this.#questions.get(call) === all) this.#questions.delete(call)
      })
    })
  }

  /** A task goes on after its first answer: its progress and its questions still belong to the call. */
  keepTask(
    task: string,
    token: number,
    ask: Pick<Ask, "call" | "onProgress">
  ): () => void {
    if (ask.call !== undefined) this.#tasks.set(task, ask.call)
    if (ask.onProgress !== undefined) this.#progress.set(String(token), ask.onProgress)
    return () => {
      this.#tasks.delete(task)
      this.#progress.delete(String(token))
    }
  }

  asking(call: McpCallInFlight | null): McpAsking {
    return {
      server: this.server,
      era: this.era ?? "legacy",
      version: this.version ?? "",
      call,
      calls: this.calls()
    }
  }

  /** The call a question belongs to, as far as that is certain. */
  #callOf(request: JsonRpcRequest, on: JsonRpcId | null): McpCallInFlight | null {
    const params = isJsonObject(request.params) ? request.params : {}
    const task = Wire.at(params, "_meta", metaKeys.task)
    const byTask = task === undefined ? undefined : this.#tasks.get(Wire.text(task, "taskId") ?? "")
    if (byTask !== undefined) return byTask
    const byStream = on === null ? undefined : this.#calls.get(Number(on))
    if (byStream !== undefined) return byStream
    const all = this.calls()
    return all.length === 1 ? all[0] ?? null : null
  }

  /** A request of the server. While we answer, the clocks of the calls it may belong to stand still. */
  readonly onRequest = (
    request: JsonRpcRequest,
    { on }: { readonly on: JsonRpcId | null }
  ): Effect.Effect<unknown, JsonRpcRefusal> =>
    Effect.suspend((): Effect.Effect<unknown, JsonRpcRefusal> => {
      const peer = this.#peer
      if (this.era === "modern" && peer !== null) {
        // This era has no requests of servers, and a client must not answer any.
        return Effect.logWarning(
          `MCP server ${this.server}: it sent a request (${
            Wire.shown(request.method)
          }), which ${this.version} forbids; dropped`
        ).pipe(Effect.zipRight(peer.cancelInbound(request.id)), Effect.zipRight(Effect.never))
      }
      if (request.method === "ping" || peer === null) {
        return Asked.answer(request.method, request.params, this.handlers, this.asking(null))
      }
      const call = this.#callOf(request, on)
      const held = [...this.#calls].filter(([, each]) => call === null || each === call)
      const release = held.map(([id]) => peer.hold(id))
      const answer = Asked.answer(request.method, request.params, this.handlers, this.asking(call))
      return Effect.ensuring(
        call === null ? answer : Effect.raceFirst(answer, this.#unwanted(request.method, call)),
        Effect.sync(() => {
          for (const each of release) each()
        })
      )
    })

  /** A notification of the server, in the order of the wire. */
  readonly onNotification = (notification: JsonRpcNotification): Effect.Effect<void> => {
    const params = isJsonObject(notification.params) ? notification.params : {}
    const { handlers } = this
    const kind = Wire.listChanged.get(notification.method)
    if (kind !== undefined) return handlers.onListChanged?.(kind) ?? Effect.void
    switch (notification.method) {
      case "notifications/progress": {
        const token = own(params, "progressToken")
        if (typeof token !== "number" && typeof token !== "string") return Effect.void
        this.#peer?.touch(token)
        return this.#progress.get(String(token))?.(Wire.readProgress(params)) ?? Effect.void
      }
      case "notifications/message":
        return handlers.onLog?.(Wire.readLog(params)) ?? Effect.void
      case "notifications/resources/updated": {
        const uri = Wire.text(params, "uri")
        return uri === undefined ? Effect.void : handlers.onResourceUpdated?.(uri) ?? Effect.void
      }
      case "notifications/cancelled": {
        const id = own(params, "requestId")
        if (typeof id !== "number" && typeof id !== "string") return Effect.void
        if (this.era === "modern") return this.listens.get(String(id))?.(null) ?? Effect.void
        return this.#peer?.cancelInbound(id) ?? Effect.void
      }
      case "notifications/elicitation/complete": {
        const id = Wire.text(params, "elicitationId")
        return id === undefined ? Effect.void : handlers.onElicitationComplete?.(id) ?? Effect.void
      }
      case "notifications/subscriptions/acknowledged": {
        const id = Wire.at(params, "_meta")?.[metaKeys.subscription]
        return this.listens.get(String(id))?.(Wire.object(params, "notifications") ?? {}) ?? Effect.void
      }
      default:
        return Effect.logDebug(`MCP server ${this.server}: ${Wire.shown(notification.method)} is not known here`)
    }
  }
}
