/**
 * What a JSON-RPC peer speaks over: pipes with a framing, or exchanges of HTTP.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { JsonRpcId, JsonRpcItem, JsonRpcMessage } from "../codec/JsonRpc.ts"

/**
 * A message that came in. `on` is the request of ours whose own response stream carried it; absent where all messages
 * share one channel.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inbound {
  readonly item: JsonRpcItem
  readonly on?: JsonRpcId
}

/**
 * `C` is what a caller tells the transport about one message, for example what goes into headers; `E` how it fails.
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonRpcDuplex<E, C = undefined> {
  /**
   * Hands a message over, in the order of the calls. On one shared channel it succeeds when the message is on its way. Where a request has its own exchange,
   * it runs as long as that exchange does, and everything the exchange brought has been put into `incoming` before it
   * ends. Success never means that an answer came. A failure means that none will come: the request fails with it.
   * Interruption gives the exchange up (its stream is closed); on a shared channel the message goes out whole or not at
   * all. `taken_back` is called if it was interrupted and it is certain that nothing has gone out.
   */
  readonly send: (
    message: JsonRpcMessage,
    context: C | undefined,
    taken_back?: () => void
  ) => Effect.Effect<void, E>
  /**
   * All that comes in, in order, in the chunks in which it came; read once, by one reader, which pushes back while it
   * lags. The end is the end of the connection; a failure says why it ended.
   */
  readonly incoming: Stream.Stream<Inbound, E>
  /**
   * `incoming`, with a way past it: a message that comes while nothing waits for the reader is shown to `first`, in the
   * order of the wire, and is left out of the stream if `first` takes it. No fiber runs for what is taken.
   */
  readonly listen?: (first: (inbound: Inbound) => boolean) => Stream.Stream<Inbound, E>
  /**
   * `send` without a fiber, on one shared channel that has nothing else to write at the moment: false = not taken, send it.
   * `failed` is called, later, if the message does not get on its way after all.
   */
  readonly post?: (message: JsonRpcMessage, failed: (error: E) => void) => boolean
}
