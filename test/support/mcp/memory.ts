/** An MCP server in memory, for tests that move the clock: it is a function of what it is sent. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import type { JsonRpcMessage, JsonRpcObject } from "../../../src/codec/JsonRpc.ts"
import * as JsonRpc from "../../../src/codec/JsonRpc.ts"
import { McpError } from "../../../src/mcp/McpError.ts"
import type { McpEra, McpTransport, OpenTransport, SendContext } from "../../../src/mcp/Transport.ts"
import type { Inbound } from "../../../src/rpc/Duplex.ts"

export interface Sent {
  readonly message: JsonRpcMessage
  readonly context: SendContext | undefined
}

/** What the server does with one message; `say` puts messages on the wire, `on` the stream of a request. */
export type Play = (
  message: { readonly id: number; readonly method: string; readonly params: JsonRpcObject },
  say: (item: JsonRpcMessage, on?: number) => void,
  opening: number
) => Effect.Effect<unknown, McpError> | JsonRpcObject | undefined

export interface Memory {
  readonly transport: McpTransport
  readonly sent: ReadonlyArray<Sent>
  readonly methods: () => ReadonlyArray<string>
  /** Of the requests and notifications with this method. */
  readonly paramsOf: (method: string) => ReadonlyArray<JsonRpcObject>
  readonly answers: () => ReadonlyArray<JsonRpcMessage>
  readonly opened: () => number
  readonly closed: () => number
  readonly resets: () => number
  readonly negotiated: ReadonlyArray<{ readonly era: McpEra; readonly version: string }>
  readonly say: (item: JsonRpcMessage, on?: number) => void
  readonly end: (error: McpError) => Effect.Effect<void>
}

export const error = (reason: McpError["reason"], more: { readonly status?: number } = {}): McpError =>
  new McpError({ reason, server: "memory", message: `${reason} (played)`, ...more })

export const rpcError = (code: number, data?: unknown, message = "no"): McpError =>
  new McpError({ reason: "rpc", server: "memory", message, code, ...(data === undefined ? {} : { data }) })

/** `play` gives a result, or fails with `rpcError` (a JSON-RPC error) or another error (the exchange fails), or says nothing. */
export const make = (
  play: Play,
  options: {
    readonly kind?: McpTransport["kind"]
    readonly fallback?: McpTransport
    readonly silence?: Duration.Duration | null
    readonly refusesTool?: OpenTransport["refusesTool"]
  } = {}
): Memory => {
  const sent: Array<Sent> = []
  const negotiated: Array<{ readonly era: McpEra; readonly version: string }> = []
  const kind = options.kind ?? "stdio"
  let opened = 0
  let closed = 0
  let resets = 0
  let current: Mailbox.Mailbox<Inbound, McpError> | null = null
  const say = (item: JsonRpcMessage, on?: number): void =>
    void current?.unsafeOffer(on === undefined ? { item } : { item, on })

  const open: McpTransport["open"] = Effect.gen(function*() {
    const mailbox = yield* Mailbox.make<Inbound, McpError>()
    opened++
    const mine = opened
    current = mailbox
    yield* Effect.addFinalizer(() => Effect.sync(() => void closed++))
    return {
      incoming: Mailbox.toStream(mailbox),
      send: (message, context) =>
        Effect.suspend(() => {
          sent.push({ message, context })
          if (!("method" in message)) return Effect.void
          const id = "id" in message ? Number(message.id) : 0
          const params = JsonRpc.isJsonObject(message.params) ? message.params : {}
          const played = play({ id, method: message.method, params }, say, mine)
          const result = Effect.isEffect(played) ? played : Effect.succeed(played)
          return Effect.matchEffect(result, {
            onSuccess: (value) =>
              Effect.sync(() => value === undefined || id === 0 ? undefined : say(JsonRpc.success(id, value), id)),
            onFailure: (failure) =>
              failure.reason === "rpc"
                ? Effect.sync(() =>
                  say(
                    JsonRpc.failure(id, {
                      code: failure.code ?? 0,
                      message: failure.message,
                      ...(failure.data === undefined ? {} : { data: failure.data })
                    }),
                    id
                  )
                )
                : Effect.fail(failure)
          })
        }),
      negotiated: (given) => Effect.sync(() => void negotiated.push(given)),
      resetSession: Effect.sync(() => void resets++),
      cancelsBy: (era) => kind !== "stdio" && era === "modern" ? "stream" : "notification",
      refusesTool: options.refusesTool ?? (() => null),
      report: Effect.succeed({ stderr: "", pid: null, log_file: null })
    }
  })

  return {
    transport: {
      kind,
      server: "memory",
      open,
      probe_silence: options.silence === undefined ? kind === "stdio" ? Duration.seconds(2) : null : options.silence,
      ...(options.fallback === undefined ? {} : { fallback: options.fallback })
    },
    sent,
    methods: () => sent.flatMap(({ message }) => "method" in message ? [message.method] : []),
    paramsOf: (method) =>
      sent.flatMap(({ message }) =>
        "method" in message && message.method === method && JsonRpc.isJsonObject(message.params) ? [message.params] : []
      ),
    answers: () => sent.flatMap(({ message }) => "method" in message ? [] : [message]),
    opened: () => opened,
    closed: () => closed,
    resets: () => resets,
    negotiated,
    say,
    end: (failure) => Effect.suspend(() => current === null ? Effect.void : Effect.asVoid(current.fail(failure)))
  }
}

/** Capabilities of a server that has everything. */
export const everything = {
  tools: {},
  resources: { subscribe: true },
  prompts: {},
  completions: {},
  logging: {},
  tasks: { requests: { tools: { call: {} } } }
}

/** Answers the handshake of a legacy server, and leaves the rest to `play`. */
export const legacy =
  (play: Play, version = "2025-11-25", capabilities: JsonRpcObject = everything): Play => (message, say, opening) =>
    message.method === "server/discover"
      ? Effect.fail(rpcError(-32_601))
      : message.method === "initialize"
      ? { protocolVersion: version, capabilities, serverInfo: { name: "memory", version: "1" } }
      : play(message, say, opening)

/** Answers the discovery of a modern server, and leaves the rest to `play`. */
export const modern = (play: Play, capabilities: JsonRpcObject = everything): Play => (message, say, opening) =>
  message.method === "server/discover"
    ? { resultType: "complete", supportedVersions: ["2027-01-01", "2026-07-28"], capabilities }
    : play(message, say, opening)
