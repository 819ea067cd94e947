/**
 * What carries the messages of an MCP connection: the pipes of a child process (`StdioMcpTransport`) or HTTP
 * (`HttpMcpTransport`). Eras, versions and methods are the connection's; a transport only moves messages and says, for
 * each, what its wire wants to know.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { JsonRpcObject } from "../codec/JsonRpc.ts"
import type { JsonRpcDuplex } from "../rpc/Duplex.ts"
import type { McpError } from "./McpError.ts"

/** `modern` = 2026-07-28 and later (stateless), `legacy` = with an initialize handshake (1.2). @since 0.1.0 @category models */
export type McpEra = "modern" | "legacy"

/**
 * What one message means to the wire.
 *
 * - `version`: the protocol version this message is under, for the header `MCP-Protocol-Version`; null before a legacy
 *   handshake has settled one.
 * - `method`: the method of the request or notification; for an answer of ours the method it answers.
 * - `name`: `params.name` or `params.uri` where the revision mirrors it (`Mcp-Name`).
 * - `input_schema`: of the tool that is called, as the server sent it: the source of `Mcp-Param-*`.
 * - `probe`: the first message of an attempt to find out the era: 4xx means something else here.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendContext {
  readonly era: McpEra
  readonly version: string | null
  readonly method: string
  readonly name?: string | undefined
  readonly input_schema?: JsonRpcObject | undefined
  readonly probe?: boolean | undefined
}

/** What to know about a transport when something went wrong. @since 0.1.0 @category models */
export interface TransportReport {
  /** The last 64 KiB of a child's stderr, made safe for a terminal; empty for HTTP. */
  readonly stderr: string
  /** Of the child, and of its process group. */
  readonly pid: number | null
  /** Where the child's stderr is kept. */
  readonly log_file: string | null
}

/**
 * An open connection at the level of messages. `send` and `incoming` are those of `JsonRpcDuplex`; for HTTP that says:
 *
 * - `send` of a request runs until its response stream has ended; all its messages go into `incoming` with `on` = its id.
 *   A stream that ended without the answer makes `send` fail with `stream_lost` (legacy: after resumption by GET was
 *   tried). Interrupting `send` closes the stream, which in the modern era is the cancellation.
 * - A JSON-RPC error in the body of any status is put into `incoming`, under the request's id if it names none. A status
 *   without such a body makes `send` fail with `http_status`, 404 on a session with `session_expired`, 401 and 403 that a login
 *   settles with `needs_login`.
 * - `incoming` ends only when the transport is closed or beyond repair.
 *
 * Everything is released with the Scope it was opened in.
 *
 * @since 0.1.0
 * @category models
 */
export interface OpenTransport extends JsonRpcDuplex<McpError, SendContext> {
  /**
   * The handshake is done, or the era is known: called once (again after `resetSession`), before the next message. Legacy
   * HTTP sends the version header from here on and opens its GET stream once `notifications/initialized` is through.
   */
  readonly negotiated: (negotiated: { readonly era: McpEra; readonly version: string }) => Effect.Effect<void>
  /** Legacy HTTP: forget the session id, a new `initialize` follows. Nothing elsewhere. */
  readonly resetSession: Effect.Effect<void>
  /**
   * How the wire cancels a request in this era: by the notification `notifications/cancelled`, or by closing its stream,
   * which interrupting `send` does.
   */
  readonly cancelsBy: (era: McpEra) => "notification" | "stream"
  /**
   * Why the wire cannot carry calls of a tool with this input schema (a bad `x-mcp-header`); null = it can. Such a tool is
   * left out of listings with a warning (1.2).
   */
  readonly refusesTool: (era: McpEra, input_schema: JsonRpcObject) => string | null
  readonly report: Effect.Effect<TransportReport>
  /**
   * What there is to say of a message that could not be sent, where that takes a moment to find out: the end of a process
   * shows in its pipes before it is one. Waits for a bounded time; keeps `sent`. Absent = errors say all there is.
   */
  readonly explain?: (error: McpError) => Effect.Effect<McpError>
}

/** What connections to one origin have found out. @since 0.1.0 @category models */
export interface EraMemory {
  readonly get: () => McpEra | undefined
  readonly set: (era: McpEra) => void
}

/**
 * A way to reach one server. `open` may be used again: after a probe that ended the child, and to reconnect.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpTransport {
  readonly kind: "stdio" | "http" | "sse"
  /** The server's name in the settings, for messages and logs. */
  readonly server: string
  readonly open: Effect.Effect<OpenTransport, McpError, Scope.Scope>
  /** Silence of the probe for so long means a legacy server (stdio: 2 s); null = silence means nothing. */
  readonly probe_silence: Duration.Duration | null
  /** What is known of the era of its origin, and where to keep what is found out (HTTP; 1.2: cached per origin). */
  readonly eras?: EraMemory | undefined
  /** Used when a legacy `initialize` fails with status 400, 404 or 405 (D18: HTTP+SSE). */
  readonly fallback?: McpTransport | undefined
}
