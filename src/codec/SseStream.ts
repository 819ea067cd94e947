/**
 * A stream of bytes as a stream of server-sent events: one network read in, one chunk of frames out.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Channel from "effect/Channel"
import * as Stream from "effect/Stream"
import { SseError, SseFrameBuffer } from "./Sse.ts"
import type { SseFrame, SseOptions } from "./Sse.ts"

/**
 * `unterminated` says what becomes of a last block without its blank line: `keep` (default; for model streams, which do
 * not resume) hands it out flagged, `drop` (for streams that resume by their last event id) discards it.
 *
 * @since 0.1.0
 * @category models
 */
export interface SseStreamOptions extends SseOptions {
  readonly unterminated?: "keep" | "drop"
}

const asSseError = (cause: unknown): SseError => {
  if (cause instanceof SseError) return cause
  throw cause
}

/**
 * Feeds a buffer of the caller, who can then read `last_event_id` and `reconnect_ms` at any time, also after the stream
 * has failed. The buffer is finished with the stream; a stream that fails leaves its unfinished block alone.
 *
 * Order and end: frames in the order of their blank lines; the frames before an error come before it. Fails with
 * {@link SseError} `frame_too_large` besides the errors of the input. Nothing is buffered but the open block.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeWith =
  (buffer: SseFrameBuffer, options: Pick<SseStreamOptions, "unterminated"> = {}) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<SseFrame, E | SseError, R> => {
    type Reader = Channel.Channel<Chunk.Chunk<SseFrame>, Chunk.Chunk<Uint8Array>, E | SseError, E, void, unknown, R>

    const feed = (reads: Chunk.Chunk<Uint8Array>): ReadonlyArray<SseFrame> => {
      if (reads.length === 1) return buffer.feed(Chunk.unsafeHead(reads))
      const frames: Array<SseFrame> = []
      for (const read of reads) {
        for (const frame of buffer.feed(read)) frames.push(frame)
        if (buffer.failure !== null) break
      }
      return frames
    }

    const emit = (frames: ReadonlyArray<SseFrame>, next: Reader): Reader =>
      frames.length === 0 ? next : Channel.zipRight(Channel.write(Chunk.unsafeFromArray(frames)), next)

    const guarded = (run: () => Reader): Reader => {
      try {
        return run()
      } catch (cause) {
        return Channel.fail(asSseError(cause))
      }
    }

    const reader: Reader = Channel.readWith({
      onInput: (reads: Chunk.Chunk<Uint8Array>) =>
        guarded(() => emit(feed(reads), buffer.failure === null ? reader : Channel.fail(buffer.failure))),
      onFailure: (error: E) => Channel.fail(error),
      onDone: () =>
        guarded(() => {
          const last = buffer.finish()
          return emit(options.unterminated === "drop" ? [] : last, Channel.void)
        })
    })

    return Stream.pipeThroughChannel(bytes, reader)
  }

/**
 * The frames of one event stream; each run of the result has its own buffer. Fails as {@link decodeWith} does, and with
 * `invalid_limit`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode =
  (options: SseStreamOptions = {}) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<SseFrame, E | SseError, R> =>
    Stream.suspend(() => {
      try {
        return decodeWith(new SseFrameBuffer(options), options)(bytes)
      } catch (cause) {
        return Stream.fail(asSseError(cause))
      }
    })
