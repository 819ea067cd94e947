import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { SseError, SseFrameBuffer } from "../../src/codec/Sse.ts"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { naiveSse, naiveUtf8 } from "../support/naiveSse.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Read {
  readonly frames: ReadonlyArray<SseFrame>
  readonly counts: ReadonlyArray<number>
  readonly last_event_id: string
  readonly reconnect_ms: number | null
  readonly failed: string | null
}

const readAll = (
  chunks: ReadonlyArray<Uint8Array | string>,
  options: { readonly finish?: boolean; readonly max_frame_bytes?: number } = {}
): Read => {
  const buffer = new SseFrameBuffer(
    options.max_frame_bytes === undefined ? {} : { max_frame_bytes: options.max_frame_bytes }
  )
  const frames: Array<SseFrame> = []
  const counts: Array<number> = []
  for (const chunk of chunks) {
    if (buffer.failure !== null) break
    frames.push(...buffer.feed(chunk))
    counts.push(frames.length)
  }
  if (options.finish === true && buffer.failure === null) frames.push(...buffer.finish())
  return {
    frames,
    counts,
    last_event_id: buffer.last_event_id,
    reconnect_ms: buffer.reconnect_ms,
    failed: buffer.failure === null ? null : buffer.failure.reason
  }
}

const frame = (data: string, rest: Partial<SseFrame> = {}): SseFrame => ({
  event: null,
  data,
  id: null,
  retry: null,
  ...rest
})

const cut = (stream: Uint8Array, points: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const at = [...new Set([0, ...points.map((point) => point % (stream.length + 1)), stream.length])].sort((a, b) =>
    a - b
  )
  return at.slice(1).map((end, i) => stream.slice(at[i], end))
}

/** Streams made of the pieces that matter to the grammar, so that random ones are rich in cases. */
const piece = FastCheck.oneof(
  FastCheck.constantFrom(
    ..."\n|\r|\r\n|\n\n|\r\r|\r\n\r\n|:| |data|data:|data: |event:|id:|id|retry:|retry: |: comment|\0|\uFEFF|\u2028|\u0085|\u000b|\u000c|\u001c|é|漢|👍|0|42|9007199254740991|9007199254740992|x"
      .split("|").map(bytes)
  ),
  FastCheck.constantFrom([0xef], [0xbb], [0xbf], [0xff], [0xe2, 0x82], [0xf0, 0x9f], [0xc0, 0x80], [0xed, 0xa0, 0x80])
    .map((list) => new Uint8Array(list)),
  FastCheck.integer({ min: 1, max: 400 }).map((n) => bytes("abcdefgh ".repeat(n).slice(0, n))),
  FastCheck.integer({ min: 1, max: 200 }).map((n) => bytes("aé漢👍 ".repeat(n)))
)
const stream = FastCheck.array(piece, { maxLength: 60 }).map((pieces) =>
  new Uint8Array(pieces.flatMap((part) => [...part]))
)

describe("SseFrameBuffer", () => {
  it("3.1, 3.12: any split of any bytes gives the frames of the grammar, as each becomes complete", () => {
    FastCheck.assert(
      FastCheck.property(
        stream,
        FastCheck.array(FastCheck.nat(), { maxLength: 12 }),
        FastCheck.boolean(),
        FastCheck.option(FastCheck.integer({ min: 0, max: 60 }), { nil: undefined }),
        (whole, points, finish, max) => {
          const options = max === undefined ? { finish } : { finish, max_frame_bytes: max }
          const oracle = naiveSse(whole, options)
          const chunks = cut(whole, points)
          const got = readAll(chunks, options)
          assert.deepStrictEqual(got.frames, oracle.frames)
          assert.strictEqual(got.failed, oracle.too_large ? "frame_too_large" : null)
          if (!oracle.too_large) {
            assert.strictEqual(got.last_event_id, oracle.last_event_id)
            assert.strictEqual(got.reconnect_ms, oracle.reconnect_ms)
          }
          let end = 0
          got.counts.forEach((count, i) => {
            end += chunks[i]?.length ?? 0
            const complete = oracle.frames.filter((f, k) =>
              f.unterminated !== true && (oracle.completed_at[k] ?? 0) <= end
            )
            assert.strictEqual(count, complete.length)
          })
        }
      ),
      { numRuns: 1500 }
    )
  })

  it("3.1: byte by byte, and as one chunk", () => {
    FastCheck.assert(
      FastCheck.property(stream, (whole) => {
        const oracle = naiveSse(whole, { finish: true })
        const singly = readAll([...whole].map((byte) => new Uint8Array([byte])), { finish: true })
        assert.deepStrictEqual(singly.frames, oracle.frames)
        assert.deepStrictEqual(readAll([whole], { finish: true }).frames, oracle.frames)
        assert.strictEqual(singly.last_event_id, oracle.last_event_id)
      }),
      { numRuns: 300 }
    )
  })

  it("3.1: every cut point of a stream with all line ends, a mark and long characters", () => {
    const whole = bytes("\uFEFFid: é👍\r\ndata: 漢\rdata:b\n\r\n: c\ndata\n\nretry: 5\r\revent: e\ndata: z\r\n\r\n")
    const oracle = naiveSse(whole)
    assert.deepStrictEqual(oracle.frames, [
      frame("漢\nb", { id: "é👍" }),
      frame(""),
      frame("z", { event: "e" })
    ])
    for (let a = 0; a <= whole.length; a++) {
      for (let b = a; b <= whole.length; b += 3) {
        assert.deepStrictEqual(
          readAll([whole.slice(0, a), whole.slice(a, b), whole.slice(b)]).frames,
          oracle.frames
        )
      }
    }
  })

  it("3.1: a string chunk counts as its UTF-8 encoding", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.oneof(
            FastCheck.fullUnicodeString(),
            FastCheck.string16bits(),
            FastCheck.constantFrom("data: a", "\n", "\r", "\r\n", "\n\n", "id: é", "\uFEFF", "\ud83d", "\udc4d")
          )
        ),
        (texts) => {
          assert.deepStrictEqual(readAll(texts, { finish: true }), readAll(texts.map(bytes), { finish: true }))
        }
      ),
      { numRuns: 500 }
    )
  })

  it("3.1: long reads with wide text and broken sequences at every offset of the window", () => {
    const event = new Uint8Array([...bytes("event: e\r\ndata: naïve 漢字 "), 0xe2, 0x82, ...bytes("\ndata: 👍\n\n")])
    const count = 4000
    const whole = new Uint8Array(event.length * count)
    for (let i = 0; i < count; i++) whole.set(event, i * event.length)
    const expected = frame("naïve 漢字 \uFFFD\n👍", { event: "e" })
    for (const size of [193, 1000, 16_384, 65_536, 65_537, whole.length]) {
      const chunks: Array<Uint8Array> = []
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.subarray(at, at + size))
      const { frames } = readAll(chunks)
      assert.strictEqual(frames.length, count)
      for (const got of frames) assert.deepStrictEqual(got, expected)
    }
  })

  it("3.1, 3.11, 3.12: long reads of text that is not ASCII, cut in lines, characters and line ends", () => {
    const wide = FastCheck.oneof(
      FastCheck.integer({ min: 20, max: 120 }).map((n) => bytes("data: " + "aé漢👍 ".repeat(n))),
      FastCheck.integer({ min: 1, max: 60 }).map((n) => bytes("漢字: naïve ".repeat(n))),
      FastCheck.constantFrom("\n", "\n\n", "\r", "\r\n\r\n", "\ndata: é\n", "\n: é", ":", "::漢\n", "\nid: é\n", "\0")
        .map(bytes),
      FastCheck.constantFrom([0xe2, 0x82], [0xf0, 0x9f, 0x92], [0xff], [0xed, 0xa0, 0x80], [0xe2, 0x82, 0x0a]).map((
        list
      ) => new Uint8Array(list)),
      FastCheck.uint8Array({ maxLength: 8 })
    )
    const start = bytes(`data: ${"漢".repeat(100)}\n\n`)
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(wide, { minLength: 3, maxLength: 60 }),
        FastCheck.array(FastCheck.integer({ min: 1, max: 3000 }), { maxLength: 6 }),
        FastCheck.option(FastCheck.integer({ min: 310, max: 4000 }), { nil: undefined }),
        (parts, sizes, max) => {
          const whole = new Uint8Array([start, ...parts].flatMap((part) => [...part]))
          const options = max === undefined ? { finish: true } : { finish: true, max_frame_bytes: max }
          const oracle = naiveSse(whole, options)
          // The first read ends with the start, so that the reads after it meet a stream that is known not to be ASCII.
          let sum = start.length
          const got = readAll(cut(whole, [sum, ...sizes.map((size) => sum += size)]), options)
          assert.deepStrictEqual(got.frames, oracle.frames)
          assert.strictEqual(got.failed, oracle.too_large ? "frame_too_large" : null)
          if (!oracle.too_large) assert.strictEqual(got.last_event_id, oracle.last_event_id)
        }
      ),
      { numRuns: 1000 }
    )
  })

  it("3.3: one long read, its parts cut between CR and LF", () => {
    for (const filler of ["a", "é"]) {
      for (let extra = -12; extra <= 2; extra++) {
        for (const part of [32_760, 65_536]) {
          const start = `data: ${filler.repeat(200)}\n\n`
          const long = filler.repeat(Math.floor((part + extra) / bytes(filler).length))
          const line = long + "a".repeat((part + extra) % bytes(filler).length)
          const { frames } = readAll([start, `data: ${line}\r\ndata: b\r\n\r\n`])
          assert.strictEqual(frames.length, 2)
          assert.isTrue(frames[1]?.data === line + "\nb")
        }
      }
    }
  })

  it("3.11: the size counts bytes, also of a line that came in two long reads and whose second half begins with a colon", () => {
    const start = `data: ${"漢".repeat(100)}\n\n`
    const first = `data: ${"é".repeat(150)}`
    const second = `:${"é".repeat(150)}`
    const size = bytes(first + second).length
    const chunks = [start, first, second + "\n", "data: 1\n\n"]
    assert.strictEqual(readAll(chunks, { max_frame_bytes: size + 7 }).frames.length, 2)
    assert.strictEqual(readAll(chunks, { max_frame_bytes: size + 6 }).failed, "frame_too_large")
  })

  it("3.12: a line of many megabytes that is not ASCII, among short ones", () => {
    const long = "漢é👍".repeat(400_000)
    const whole = bytes(`data: ${"é".repeat(200)}\n\ndata: ${long}\n\n` + "data: ü\n\n".repeat(5000))
    for (const size of [1024, 16_384, whole.length]) {
      const chunks: Array<Uint8Array> = []
      for (let at = 0; at < whole.length; at += size) chunks.push(whole.subarray(at, at + size))
      const { frames } = readAll(chunks)
      assert.strictEqual(frames.length, 5002)
      assert.isTrue(frames[1]?.data === long)
      assert.isTrue(frames.slice(2).every((got) => got.data === "ü"))
    }
  })

  it("3.1: keeps no reference to a chunk", () => {
    const buffer = new SseFrameBuffer()
    const chunk = bytes("data: kept")
    buffer.feed(chunk)
    chunk.fill(0x21)
    assert.deepStrictEqual(buffer.feed("\n\n"), [frame("kept")])
  })

  it("3.2: one leading mark is dropped, whatever comes before it is empty; later ones are characters", () => {
    assert.deepStrictEqual(readAll(["", new Uint8Array(0), "\uFEFFdata: a\n\n\uFEFFdata: b\n\n"]).frames, [frame("a")])
    assert.deepStrictEqual(readAll(["\uFEFF\uFEFFdata: a\n\ndata: b\n\n"]).frames, [frame("b")])
    assert.deepStrictEqual(readAll([new Uint8Array([0xef, 0xbb]), bytes("data: a\n\ndata: b\n\n")]).frames, [
      frame("b")
    ])
  })

  it("3.3: a frame is out at the CR, and the LF of a later chunk is swallowed", () => {
    const buffer = new SseFrameBuffer()
    assert.deepStrictEqual(buffer.feed("data: a\r\n\r"), [frame("a")])
    assert.deepStrictEqual(buffer.feed("\ndata: b\n\n"), [frame("b")])
  })

  it("3.6, 3.7, 3.8: what resets and what sticks", () => {
    const buffer = new SseFrameBuffer()
    assert.deepStrictEqual(buffer.feed("id: 1\nretry: 7\nevent: e\n\n"), [])
    assert.strictEqual(buffer.last_event_id, "1")
    assert.strictEqual(buffer.reconnect_ms, 7)
    assert.deepStrictEqual(buffer.feed("data: a\n\nid: 2\ndata: b\n"), [frame("a")])
    assert.strictEqual(buffer.last_event_id, "1")
    assert.deepStrictEqual(buffer.feed("\nid\ndata: c\nretry: 010\n\n"), [
      frame("b", { id: "2" }),
      frame("c", { id: "", retry: 10 })
    ])
    assert.strictEqual(buffer.last_event_id, "")
    assert.strictEqual(buffer.reconnect_ms, 10)
  })

  it("3.8: no sign, no exponent, no space, no other digits, nothing above 2^53-1", () => {
    for (const bad of ["-1", "+1", "1e3", "1 ", "", "٣", "0x10", "1.0", "9007199254740992", "9".repeat(400)]) {
      assert.strictEqual(readAll([`retry:${bad}\n`]).reconnect_ms, null, bad)
    }
    assert.strictEqual(readAll([`retry: ${"0".repeat(400)}9007199254740991\n`]).reconnect_ms, Number.MAX_SAFE_INTEGER)
  })

  it("3.9, D1: finish hands out the open block once, flagged; a block without data is dropped", () => {
    const buffer = new SseFrameBuffer()
    assert.deepStrictEqual(buffer.feed("id: 9\ndata: a\nretry: 3"), [])
    assert.deepStrictEqual(buffer.finish(), [frame("a", { id: "9", retry: 3, unterminated: true })])
    assert.strictEqual(buffer.last_event_id, "9")
    assert.deepStrictEqual(buffer.finish(), [])
    const thrown = ((): unknown => {
      try {
        return buffer.feed("")
      } catch (error) {
        return error
      }
    })()
    assert.instanceOf(thrown, SseError)
    assert.strictEqual((thrown as SseError).reason, "buffer_finished")
    const idle = readAll(["id: 4\nevent: x"], { finish: true })
    assert.deepStrictEqual(idle.frames, [])
    assert.strictEqual(idle.last_event_id, "")
  })

  it("3.11: the frames before the oversize one are delivered; then the buffer is dead", () => {
    const buffer = new SseFrameBuffer({ max_frame_bytes: 10 })
    assert.deepStrictEqual(buffer.feed("data: 1234\n\ndata: 12345\n\ndata: c\n\n"), [frame("1234")])
    const failure = buffer.failure
    assert.strictEqual(failure?.reason, "frame_too_large")
    assert.strictEqual(failure?.limit, 10)
    assert.strictEqual(failure?.received, 11)
    assert.throws(() => buffer.feed("data: d\n\n"), SseError)
    assert.throws(() => buffer.finish(), SseError)
  })

  it("3.11: comments do not count, however long; the rest of the block does", () => {
    const comments = `:${"x".repeat(5000)}\n`.repeat(20)
    assert.deepStrictEqual(
      readAll([comments, "data: 1\n", comments, "data: 2\n", comments, "\n"], {
        max_frame_bytes: 14
      }).frames,
      [frame("1\n2")]
    )
    assert.strictEqual(readAll(["data: 1\nnoise: 1\n"], { max_frame_bytes: 14 }).failed, "frame_too_large")
  })

  it("3.11: a limit that is none is refused", () => {
    for (const max_frame_bytes of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => new SseFrameBuffer({ max_frame_bytes }), SseError)
    }
  })

  it("3.12: many short data lines", () => {
    const lines = 100_000
    const text = "data: a\n".repeat(lines)
    const { frames } = readAll([text.slice(0, 12_345), text.slice(12_345), "\n"])
    assert.deepStrictEqual(frames, [frame(Array.from({ length: lines }, () => "a").join("\n"))])
  })

  it("3.12: one large event costs the same in small reads as in large ones", () => {
    const megabytes = 8
    const cost = (size: number): number => {
      const line = bytes("x".repeat(size))
      const times: Array<number> = []
      for (let round = 0; round < 3; round++) {
        const buffer = new SseFrameBuffer()
        const start = performance.now()
        buffer.feed("data: ")
        for (let i = 0; i < megabytes * 1024 * 1024 / size; i++) buffer.feed(line)
        const [got] = buffer.feed("\n\n")
        times.push(performance.now() - start)
        assert.strictEqual(got?.data.length, megabytes * 1024 * 1024)
      }
      return Math.min(...times)
    }
    // 64 times as many reads: quadratic work would show as a factor near 64. The bound leaves room for a busy machine.
    cost(65_536)
    assert.isBelow(cost(1024), 12 * cost(65_536))
  })

  it("the oracle's own UTF-8 decoder agrees with the platform's", () => {
    FastCheck.assert(
      FastCheck.property(stream, (whole) => {
        assert.strictEqual(naiveUtf8([...whole]), new TextDecoder("utf-8", { ignoreBOM: true }).decode(whole))
      })
    )
  })
})
