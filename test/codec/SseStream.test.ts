import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import { SseFrameBuffer } from "../../src/codec/Sse.ts"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { decode, decodeWith } from "../../src/codec/SseStream.ts"

const encoder = new TextEncoder()
/** One element a read, each its own chunk, as a socket gives them. */
const reads = (...texts: ReadonlyArray<string>) =>
  Stream.fromChunks(...texts.map((text) => Chunk.of(encoder.encode(text))))

const frame = (data: string, rest: Partial<SseFrame> = {}): SseFrame => ({
  event: null,
  data,
  id: null,
  retry: null,
  ...rest
})

const collect = <E>(stream: Stream.Stream<SseFrame, E>) =>
  Effect.gen(function*() {
    const chunks: Array<ReadonlyArray<SseFrame>> = []
    const end = yield* Effect.either(
      Stream.runForEachChunk(stream, (chunk) => Effect.sync(() => chunks.push(Chunk.toReadonlyArray(chunk))))
    )
    return { chunks: chunks.filter((chunk) => chunk.length > 0), error: Either.isLeft(end) ? end.left : null }
  })

describe("SseStream", () => {
  it.effect("one read is one chunk of frames; the end finishes the buffer (3.9)", () =>
    Effect.gen(function*() {
      const source = reads("data: a\n\ndata: b\n\nda", "ta: c", "\n\ndata: d")
      assert.deepStrictEqual(yield* collect(decode()(source)), {
        chunks: [[frame("a"), frame("b")], [frame("c")], [frame("d", { unterminated: true })]],
        error: null
      })
      assert.deepStrictEqual((yield* collect(decode({ unterminated: "drop" })(source))).chunks, [
        [frame("a"), frame("b")],
        [frame("c")]
      ])
    }))

  it.effect("several reads in one chunk stay one chunk; each run has its own buffer", () =>
    Effect.gen(function*() {
      const source = decode()(
        Stream.fromChunk(
          Chunk.fromIterable(["data: a\n", "\ndata: b\n\n", "data: c\n"].map((text) => encoder.encode(text)))
        )
      )
      const expected = { chunks: [[frame("a"), frame("b")], [frame("c", { unterminated: true })]], error: null }
      assert.deepStrictEqual(yield* collect(source), expected)
      assert.deepStrictEqual(yield* collect(source), expected)
    }))

  it.effect("3.11: frames before the oversize one come before the error", () =>
    Effect.gen(function*() {
      const got = yield* collect(decode({ max_frame_bytes: 8 })(reads("data: a\n\ndata: 123\n\n", "data: never\n\n")))
      assert.deepStrictEqual(got.chunks, [[frame("a")]])
      assert.strictEqual(got.error?.reason, "frame_too_large")
      const refused = yield* collect(decode({ max_frame_bytes: -1 })(reads("data: a\n\n")))
      assert.strictEqual(refused.error?.reason, "invalid_limit")
    }))

  it.effect("an error of the input passes, the open block is not handed out, and the caller's buffer is readable", () =>
    Effect.gen(function*() {
      const buffer = new SseFrameBuffer()
      const broken = Stream.concat(reads("id: 1\nretry: 9\ndata: a\n\ndata: open\n"), Stream.fail("reset" as const))
      const got = yield* collect(decodeWith(buffer)(broken))
      assert.deepStrictEqual(got, { chunks: [[frame("a", { id: "1", retry: 9 })]], error: "reset" })
      assert.strictEqual(buffer.last_event_id, "1")
      assert.strictEqual(buffer.reconnect_ms, 9)
    }))
})
