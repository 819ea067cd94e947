/** Reading 1.3 (lines), LSP 3.17 base protocol (Content-Length): any cut of the bytes gives the same messages. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ContentLengthFraming from "../../src/codec/ContentLengthFraming.ts"
import type { Framed, Framing, FramingFault } from "../../src/codec/Framing.ts"
import * as LineFraming from "../../src/codec/LineFraming.ts"

const encoder = new TextEncoder()

const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(parts.flatMap((part) => [...part]))

/** The bytes cut at the given places, in pieces, some of them empty. */
const cut = (bytes: Uint8Array, cuts: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const at = [0, ...cuts.map((n) => n % (bytes.byteLength + 1)).toSorted((a, b) => a - b), bytes.byteLength]
  return at.slice(1).map((end, i) => bytes.subarray(at[i] ?? 0, end))
}

const feed = (framing: Framing, pieces: ReadonlyArray<Uint8Array>): Framed => {
  const texts: Array<string> = []
  let fault: FramingFault | null = null
  for (const each of [...pieces.map((piece) => () => framing.feed(piece)), () => framing.finish()]) {
    const framed = each()
    texts.push(...framed.texts)
    fault ??= framed.fault
  }
  return { texts, fault }
}

const message = FastCheck.oneof(
  FastCheck.string({ unit: "binary", minLength: 1, maxLength: 40 }),
  FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 40 })
).map((text) => JSON.stringify(new TextDecoder().decode(encoder.encode(text))))
const cuts = FastCheck.array(FastCheck.nat(), { maxLength: 30 })
const line = (text: string): Uint8Array => encoder.encode(text)

describe("LineFraming", () => {
  it.prop(
    "1.3 any chunking, LF or CRLF, blank lines in between",
    [FastCheck.array(FastCheck.tuple(message, FastCheck.constantFrom("\n", "\r\n", "\n\n", "\r\n\r\n"))), cuts],
    ([messages, at]) => {
      const bytes = line(messages.map(([text, end]) => text + end).join(""))
      assert.deepStrictEqual(feed(LineFraming.make(), cut(bytes, at)), {
        texts: messages.map(([text]) => text),
        fault: null
      })
    }
  )

  it.prop("1.3 what is written is read", [FastCheck.array(message), cuts], ([messages, at]) => {
    const bytes = join(messages.map(LineFraming.encode))
    assert.deepStrictEqual(feed(LineFraming.make(), cut(bytes, at)).texts, messages)
  })

  it.prop(
    "1.3 a line over the limit ends it, what came before counts",
    [FastCheck.array(message, { maxLength: 5 }), FastCheck.integer({ min: 1, max: 40 }), cuts],
    ([messages, over, at]) => {
      const limit = Math.max(1, ...messages.map((text) => encoder.encode(text).byteLength))
      const bytes = line(`${messages.map((text) => `${text}\n`).join("")}${"x".repeat(limit + over)}\nmore\n`)
      const framed = feed(LineFraming.make({ max_message_bytes: limit }), cut(bytes, at))
      assert.deepStrictEqual(framed.texts, messages)
      assert.strictEqual(framed.fault?.reason, "message_too_large")
      assert.strictEqual(framed.fault?.limit, limit)
    }
  )

  it("1.3 a line of just the limit passes, with LF, CRLF and without an end", () => {
    for (const end of ["\n", "\r\n", ""]) {
      for (const at of [[], [3], [4], [1, 2, 3, 4, 5]]) {
        const framing = LineFraming.make({ max_message_bytes: 4 })
        assert.deepStrictEqual(
          feed(framing, cut(line(`abcd${end}`), at)),
          { texts: ["abcd"], fault: null },
          `${end} ${at}`
        )
      }
    }
    assert.strictEqual(feed(LineFraming.make({ max_message_bytes: 4 }), [line("abcde\n")]).fault?.received, 5)
  })

  it("1.3 a byte order mark at the start is no text; later it is", () => {
    const bytes = join([
      new Uint8Array([0xef, 0xbb, 0xbf]),
      line("{}\n"),
      new Uint8Array([0xef, 0xbb, 0xbf]),
      line("{}\n")
    ])
    assert.deepStrictEqual(feed(LineFraming.make(), [bytes]).texts, ["{}", "\ufeff{}"])
  })

  it("1.3 after a fault nothing is taken any more", () => {
    const framing = LineFraming.make({ max_message_bytes: 2 })
    assert.strictEqual(framing.feed(line("xxxx")).fault?.reason, "message_too_large")
    assert.deepStrictEqual(framing.feed(line("\n{}\n")), { texts: [], fault: null })
    assert.deepStrictEqual(framing.finish(), { texts: [], fault: null })
  })

  it("1.3 time is linear: many small pieces of one long line, and many lines in one piece", () => {
    const work = (pieces: number): number => {
      const framing = LineFraming.make()
      const piece = line("x".repeat(16))
      const start = performance.now()
      for (let i = 0; i < pieces; i++) framing.feed(piece)
      framing.feed(line("\n"))
      framing.feed(line("{}\n".repeat(pieces)))
      return performance.now() - start
    }
    work(20_000)
    const small = Math.min(work(20_000), work(20_000))
    // Eight times the work; quadratic time would be 64 times as much.
    assert.isBelow(Math.min(work(160_000), work(160_000)), small * 32 + 50)
  })
})

describe("ContentLengthFraming", () => {
  const header = FastCheck.constantFrom(
    (n: number) => `Content-Length: ${n}\r\n\r\n`,
    (n: number) => `Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: ${n}\r\n\r\n`,
    (n: number) => `content-length:${n}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n`,
    (n: number) => `X-Other: 1\r\nContent-Length: ${n}\r\nContent-Length: ${n}\r\n\r\n`,
    (n: number) => `CONTENT-LENGTH: ${n}\n\n`
  )

  it.prop(
    "any chunking, headers cut anywhere, several headers",
    [FastCheck.array(FastCheck.tuple(message, header)), cuts],
    ([messages, at]) => {
      const bytes = join(messages.flatMap(([text, head]) => {
        const body = encoder.encode(text)
        return [line(head(body.byteLength)), body]
      }))
      assert.deepStrictEqual(feed(ContentLengthFraming.make(), cut(bytes, at)), {
        texts: messages.map(([text]) => text),
        fault: null
      })
    }
  )

  it.prop("what is written is read", [FastCheck.array(message), cuts], ([messages, at]) => {
    const bytes = join(messages.map(ContentLengthFraming.encode))
    assert.deepStrictEqual(feed(ContentLengthFraming.make(), cut(bytes, at)).texts, messages)
  })

  it("an empty message is one", () => {
    assert.deepStrictEqual(
      feed(ContentLengthFraming.make(), [line("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}")]),
      {
        texts: ["", "{}"],
        fault: null
      }
    )
  })

  const broken: ReadonlyArray<readonly [string, string, FramingFault["reason"]]> = [
    ["no length", "Content-Type: x\r\n\r\n{}", "bad_header"],
    ["no header at all", "hello world\r\n\r\n", "bad_header"],
    ["no number", "Content-Length: two\r\n\r\n{}", "bad_header"],
    ["negative", "Content-Length: -2\r\n\r\n{}", "bad_header"],
    ["hexadecimal", "Content-Length: 0x2\r\n\r\n{}", "bad_header"],
    ["two lengths", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "bad_header"],
    ["another charset", "Content-Length: 2\r\nContent-Type: x; charset=utf-16\r\n\r\n{}", "bad_header"],
    ["a header without end", `X: ${"y".repeat(20_000)}`, "bad_header"],
    ["too many headers", `${"X: y\r\n".repeat(5_000)}\r\n`, "bad_header"],
    ["over the limit", "Content-Length: 101\r\n\r\n", "message_too_large"],
    ["far over the limit", "Content-Length: 999999999999999\r\n\r\n", "message_too_large"],
    ["the end inside a header", "Content-Len", "unfinished"],
    ["the end inside a body", "Content-Length: 5\r\n\r\n{}", "unfinished"]
  ]
  for (const [name, text, reason] of broken) {
    it(`${name}: ${reason}, whatever the cut`, () => {
      for (const size of [1, 7, text.length]) {
        const framing = ContentLengthFraming.make({ max_message_bytes: 100 })
        const bytes = join([ContentLengthFraming.encode("{\"ok\":1}"), line(text)])
        const pieces = Array.from(
          { length: Math.ceil(bytes.byteLength / size) },
          (_, i) => bytes.subarray(i * size, (i + 1) * size)
        )
        const framed = feed(framing, pieces)
        assert.deepStrictEqual(framed.texts, ["{\"ok\":1}"])
        assert.strictEqual(framed.fault?.reason, reason)
      }
    })
  }
})

it("1.3 a cut through a character: the rest is waited for", () => {
  assert.deepStrictEqual(feed(LineFraming.make(), cut(line("\"\u{1f600}\"\n"), [2, 3, 4])).texts, ["\"\u{1f600}\""])
})
