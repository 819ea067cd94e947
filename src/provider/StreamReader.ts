/**
 * The body of a streamed answer as canonical events: bytes in, events out, one terminal. Pure.
 *
 * @since 0.1.0
 */
import { type SseFrame, SseFrameBuffer } from "../codec/Sse.ts"
import type { ApiErrorReason } from "../domain/Failure.ts"
import type { ResponseEvent } from "../domain/ResponseEvent.ts"
import type { StreamDecoder } from "../protocol/Protocol.ts"

/** How a body ended before its terminal event. @since 0.1.0 @category models */
export interface Fault {
  readonly reason: ApiErrorReason
  readonly message: string
}

/** @since 0.1.0 @category models */
export interface StreamReader {
  /** One network read. Empty when nothing in it has a meaning yet (a keep-alive, half a frame). */
  readonly feed: (bytes: Uint8Array) => ReadonlyArray<ResponseEvent>
  /** The body is over: cleanly without `fault`. Gives the terminal if there was none. */
  readonly end: (fault?: Fault) => ReadonlyArray<ResponseEvent>
  /** The terminal was given. */
  readonly done: () => boolean
  /** The provider named its finish and only counts may follow. */
  readonly settled: () => boolean
}

/** @since 0.1.0 @category constructors */
export const makeStreamReader = (decoder: StreamDecoder): StreamReader => {
  const buffer = new SseFrameBuffer()
  const decode = (frames: ReadonlyArray<SseFrame>): Array<ResponseEvent> => {
    const events: Array<ResponseEvent> = []
    for (const frame of frames) {
      // Nothing after the terminal, also not from the same read.
      if (decoder.done()) break
      for (const event of decoder.push(frame)) events.push(event)
    }
    return events
  }
  return {
    feed: (bytes) => {
      if (decoder.done()) return []
      const events = decode(buffer.feed(bytes))
      const { failure } = buffer
      if (failure !== null && !decoder.done()) {
        events.push(...decoder.end({ reason: "invalid_response", message: failure.message }))
      }
      return events
    },
    end: (fault) => {
      if (decoder.done()) return []
      // A block that a broken connection cut off is no frame; one that a clean end cut off is (D1).
      const events = fault === undefined ? decode(buffer.finish()) : []
      // What came after the provider named its finish does not undo it.
      return decoder.done() ? events : [...events, ...decoder.end(decoder.settled() ? undefined : fault)]
    },
    done: decoder.done,
    settled: decoder.settled
  }
}
