/**
 * One side of a JSON-RPC 2.0 conversation over any duplex: requests and their answers, notifications, cancellation, both
 * ways (readings 1.3, 1.4). MCP, LSP and ACP stand on it; it knows none of their methods.
 *
 * - Ids are integers from 1. Answers are told apart by id, never by order; one to an unknown id is logged and dropped; a
 *   string that spells a pending integer is taken, with one warning.
 * - What comes in is handled in order. Notifications are handled in place; requests get a fiber each, so that answers to
 *   our own requests never wait for them.
 * - Interrupting a call, or its time limit, gives the request up: the other side is told, late answers are dropped, the
 *   peer goes on.
 * - When the duplex ends, every call in flight fails with the reason, and later calls fail at once.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import type {
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcNotification,
  JsonRpcParams,
  JsonRpcRequest
} from "../codec/JsonRpc.ts"

/**
 * Why a call has no result, beside the duplex's own errors.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `remote` | the other side answered with an error: `code`, `data`, and its words as `message` |
 * | `timeout` | `limit_ms` passed without an answer or a sign of life |
 * | `max_timeout` | `limit_ms` passed in all, signs of life or not |
 * | `invalid_response` | what came for this id is no JSON-RPC response |
 * | `closed` | the connection has ended |
 *
 * @since 0.1.0
 * @category errors
 */
export class JsonRpcError extends TaggedError("@hanzo/dev/rpc/JsonRpcError")("JsonRpcError", () => ({
  reason: Schema.Literal("remote", "timeout", "max_timeout", "invalid_response", "closed"),
  method: Schema.String,
  message: Schema.String,
  code: Schema.optional(Schema.Number),
  data: Schema.optional(Schema.Unknown),
  limit_ms: Schema.optional(Schema.Number)
})) {}

/**
 * How a handler refuses: it becomes the error of the answer as it stands.
 *
 * @since 0.1.0
 * @category errors
 */
export class JsonRpcRefusal extends TaggedError("@hanzo/dev/rpc/JsonRpcRefusal")("JsonRpcRefusal", () => ({
  code: Schema.Number,
  message: Schema.String,
  data: Schema.optional(Schema.Unknown)
})) {}

/** Where a request or notification came from. @since 0.1.0 @category models */
export interface InboundContext {
  /** The request of ours on whose response stream it came, on duplexes that have such. */
  readonly on: JsonRpcId | null
}

/** @since 0.1.0 @category models */
export interface JsonRpcHandlers {
  /** Runs in a fiber of its own; interrupted when the request is cancelled or the peer closes. A defect is answered as an internal error. */
  readonly onRequest: (request: JsonRpcRequest, context: InboundContext) => Effect.Effect<unknown, JsonRpcRefusal>
  /** Runs in place and holds up what comes next: it must not wait for the other side. */
  readonly onNotification: (notification: JsonRpcNotification, context: InboundContext) => Effect.Effect<void>
  /** An error that names no request. Default: it is logged. */
  readonly onStrayError?: (error: JsonRpcErrorObject) => Effect.Effect<void>
}

/** What is told to the other side when a request of ours is given up. @since 0.1.0 @category models */
export interface GivenUp {
  readonly id: number
  readonly method: string
  readonly why: "interrupted" | "timeout"
}

/** @since 0.1.0 @category models */
export interface JsonRpcPeerOptions<C> {
  /** For the log: what is at the other end. */
  readonly name: string
  /** The notification that cancels a request; null = closing the exchange says it already. */
  readonly cancel: (
    given: GivenUp
  ) => { readonly method: string; readonly params: JsonRpcParams; readonly context?: C } | null
  /** The answer to a request of theirs that they cancelled; null (default) = none. */
  readonly cancelled_answer?: JsonRpcErrorObject | null
  /** Requests of theirs at work at one time; more are refused. Default 256. */
  readonly max_inbound?: number
  /** What is done with words about what the other end does wrong and nobody suffers from. Default: a warning in the log. */
  readonly warn?: (text: string) => Effect.Effect<void>
  /** What to tell the duplex about an answer of ours to a request of theirs. */
  readonly answer_context?: (request: JsonRpcRequest) => C | undefined
}

/** @since 0.1.0 @category models */
export interface RequestOptions<C> {
  /** Without an answer or a `touch`; absent = none. */
  readonly timeout?: Duration.Duration | undefined
  /** In all; absent = none. */
  readonly max_timeout?: Duration.Duration | undefined
  /** False: giving it up is not told to the other side. Default true. */
  readonly cancellable?: boolean
  readonly context?: C | undefined
  /** Called with the id before the request is sent. */
  readonly onId?: (id: number) => void
  /**
   * Called once, when the request is over in any way, before its outcome is seen. `given_up`: by us, by interruption or a
   * time limit.
   */
  readonly onEnd?: (given_up: boolean) => void
}

/** @since 0.1.0 @category models */
export interface JsonRpcPeer<E, C = undefined> {
  /** Sends a request and waits for its result. `params` may depend on the id. */
  readonly request: (
    method: string,
    params?: JsonRpcParams | ((id: number) => JsonRpcParams),
    options?: RequestOptions<C>
  ) => Effect.Effect<unknown, JsonRpcError | E>
  readonly notify: (method: string, params?: JsonRpcParams, context?: C) => Effect.Effect<void, JsonRpcError | E>
  /** A sign of life: the time limit of the pending request `id` starts anew. False = nothing pends under that id. */
  readonly touch: (id: JsonRpcId) => boolean
  /**
   * The other side waits for us before it can answer `id`: until the returned function is called, the time does not count
   * towards its limits. Calls nest.
   */
  readonly hold: (id: JsonRpcId) => () => void
  /** The other side no longer wants the answer to its request `id`. */
  readonly cancelInbound: (id: JsonRpcId) => Effect.Effect<void>
  /** Requests of ours without an answer. */
  readonly pending: () => ReadonlyArray<{ readonly id: number; readonly method: string }>
  /** The connection has ended: what is asked now fails at once, and goes nowhere. */
  readonly ended: () => boolean
  /** Returns when the connection has ended: with the duplex's error, or null for a plain end. */
  readonly closed: Effect.Effect<E | null>
  /** Ends it: all calls in flight fail with `error` (null = `closed`). The duplex's owner closes the duplex. */
  readonly close: (error: E | null) => Effect.Effect<void>
}
