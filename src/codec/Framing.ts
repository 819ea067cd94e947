/**
 * How messages lie in a stream of bytes: bytes in, texts out, whatever the cuts. The framings are `LineFraming` (MCP, ACP)
 * and `ContentLengthFraming` (LSP).
 *
 * @since 0.1.0
 */

/** Bytes. 32 MiB (reading 1.3). @since 0.1.0 @category constants */
export const defaultMaxMessageBytes = 33_554_432

/**
 * Why a stream cannot go on; the framing takes nothing more after it.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `message_too_large` | a message over `limit` bytes; `received` is what is known of its size |
 * | `bad_header` | a header block that gives no usable length |
 * | `unfinished` | the stream ended inside a message (only from `finish`) |
 *
 * @since 0.1.0
 * @category models
 */
export interface FramingFault {
  readonly reason: "message_too_large" | "bad_header" | "unfinished"
  readonly message: string
  /** Bytes. */
  readonly limit: number
  /** Bytes. */
  readonly received: number
}

/** What a piece of the stream brought: whole texts in order, then perhaps the fault that ends it. @since 0.1.0 @category models */
export interface Framed {
  readonly texts: ReadonlyArray<string>
  readonly fault: FramingFault | null
}

/** Time is linear in the bytes, memory is bounded by the limit. @since 0.1.0 @category models */
export interface Framing {
  readonly feed: (bytes: Uint8Array) => Framed
  /** The stream has ended. */
  readonly finish: () => Framed
}

/** Whole texts to bytes. @since 0.1.0 @category models */
export interface FramingOptions {
  /** Of one message, without what frames it; default {@link defaultMaxMessageBytes}. */
  readonly max_message_bytes?: number
}
