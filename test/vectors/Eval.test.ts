import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Stream from "effect/Stream"
import { badRequest, base64, type Registry } from "../../src/vectors/Domain.ts"
import { evalLine, evalStream } from "../../src/vectors/Eval.ts"
import { LineBuffer } from "../../src/vectors/Lines.ts"

const encoder = new TextEncoder()
interface Answered {
  readonly id: string | null
  readonly output?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}
const answer = (line: string, registry?: Registry): Answered => JSON.parse(evalLine(line, registry)) as Answered
const ask = (domain: string, input: unknown) => answer(JSON.stringify({ domain, id: "x", input }))
const good = (id: string) => JSON.stringify({ domain: "backoff", id, input: { base_ms: 1, max_ms: 8, attempts: 2 } })
const goodAnswer = (id: string) => ({ id, output: { ceilings_ms: [1, 2] } })

const run = (chunks: ReadonlyArray<Uint8Array>) =>
  Stream.fromIterable(chunks).pipe(
    Stream.rechunk(1),
    evalStream(),
    Stream.runCollect,
    Effect.map((answers) =>
      Chunk.toReadonlyArray(answers).map((bytes) => {
        const line = new TextDecoder().decode(bytes)
        assert.strictEqual(line.indexOf("\n"), line.length - 1)
        return JSON.parse(line) as Answered
      })
    )
  )

describe("evalLine", () => {
  it("18.4: answers with the id as it came", () => {
    assert.deepStrictEqual(answer(good("é \u2028\ud83d")), goodAnswer("é \u2028\ud83d"))
    assert.deepStrictEqual(answer(`  ${good("a")}\r`), goodAnswer("a"))
  })

  it("18.4: what is no request is bad_request, with its id when there is one", () => {
    const table: ReadonlyArray<readonly [string, string | null]> = [
      ["", null],
      ["{", null],
      ["[]", null],
      ["null", null],
      ["\"x\"", null],
      ["{\"id\":1,\"domain\":\"sse\",\"input\":{}}", null],
      ["{\"domain\":\"sse\",\"input\":{}}", null],
      ["\ufeff" + good("a"), null],
      ["{\"id\":\"a\"}", "a"],
      ["{\"id\":\"a\",\"domain\":1,\"input\":{}}", "a"],
      ["{\"id\":\"a\",\"domain\":\"sse\"}", "a"],
      [`{"id":"a","domain":"sse","input":${"[".repeat(300)}${"]".repeat(300)}}`, "a"]
    ]
    for (const [line, id] of table) {
      const got = answer(line)
      assert.strictEqual(got.error?.code, "bad_request", line)
      assert.strictEqual(got.id, id, line)
    }
    assert.strictEqual(answer("[".repeat(5_000_000)).error?.code, "bad_request")
    assert.deepStrictEqual(
      answer(JSON.stringify({ domain: "none", id: "[[[\"\\", input: "[".repeat(500) })).error?.code,
      "unsupported"
    )
  })

  it("18.4: unknown domains and forms are unsupported", () => {
    for (const domain of ["other", "__proto__", "constructor", "SSE", ""]) {
      assert.strictEqual(ask(domain, {}).error?.code, "unsupported", domain)
    }
    assert.strictEqual(ask("backoff", { base_ms: 1, max_ms: 2 }).error?.code, "unsupported")
  })

  it("18.4: malformed inputs are bad_request", () => {
    const bad: ReadonlyArray<readonly [string, unknown]> = [
      ["sse", null],
      ["sse", []],
      ["sse", {}],
      ["sse", { chunks: "YQ==" }],
      ["sse", { chunks: [1] }],
      ["sse", { chunks: [{ base64: "YQ==" }] }],
      ["sse", { chunks: [{ base64: "YQ==", repeat: -1 }] }],
      ["sse", { chunks: [{ base64: "YQ==", repeat: 1e12 }] }],
      ["sse", { chunks: [{ base64: "", repeat: 1e12 }] }],
      ["sse", { chunks: [], finish: 1 }],
      ["sse", { chunks: [], digest: null }],
      ["sse", { chunks: [], max_frame_bytes: "1" }],
      ["sse", { chunks: [], max_frame_bytes: -1 }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: -1 }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: 1e9 }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: [0.5] }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: 2, rng: [0.5] }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: 1, rng: [1] }],
      ["backoff", { base_ms: 1, max_ms: 1, attempts: 1, rng: [-0.1] }],
      ["backoff", { base_ms: 1, max_ms: 1, ops: ["skip"] }],
      ["backoff", { base_ms: 1, max_ms: 1, ops: {} }]
    ]
    for (const [domain, input] of bad) {
      assert.strictEqual(ask(domain, input).error?.code, "bad_request", JSON.stringify(input))
    }
  })

  it("a defect of a domain is an answer too, and no state passes from line to line", () => {
    const registry: Registry = new Map([
      ["broken", () => {
        throw new TypeError("oops")
      }],
      ["refusing", () => {
        throw badRequest("no")
      }],
      ["endless", () => ({ output: 1n })]
    ])
    assert.strictEqual(answer("{\"domain\":\"broken\",\"id\":\"1\",\"input\":0}", registry).error?.code, "internal")
    assert.strictEqual(
      answer("{\"domain\":\"refusing\",\"id\":\"1\",\"input\":0}", registry).error?.code,
      "bad_request"
    )
    assert.strictEqual(answer("{\"domain\":\"endless\",\"id\":\"1\",\"input\":0}", registry).id, "1")
    const open = JSON.stringify({
      domain: "sse",
      id: "1",
      input: { chunks: [Buffer.from("data: a\n").toString("base64")] }
    })
    assert.deepStrictEqual(answer(open), answer(open))
  })

  it("base64 is that of RFC 4648", () => {
    FastCheck.assert(FastCheck.property(FastCheck.uint8Array({ maxLength: 40 }), (bytes) => {
      assert.deepStrictEqual([...base64(Buffer.from(bytes).toString("base64"), "x")], [...bytes])
    }))
    for (const bad of ["A", "AA", "AAA", "AA=A", "====", "A===", "AAAA=", "AA A", "AA\n=", "AA-_", "é==="]) {
      assert.throws(() => base64(bad, "x"), undefined, undefined, bad)
    }
  })
})

describe("evalStream", () => {
  it.effect("18.4: answers in the order of the lines; the last one needs no LF", () =>
    Effect.gen(function*() {
      const bytes = encoder.encode(`${good("1")}\nnonsense\n${good("2")}\n\n${good("3")}`)
      const got = yield* run([bytes])
      assert.deepStrictEqual(got.map(({ id }) => id), ["1", null, "2", null, "3"])
      assert.deepStrictEqual(got[4], goodAnswer("3"))
      assert.deepStrictEqual(yield* run([]), [])
    }))

  it.effect("any split of the bytes gives the same answers", () =>
    Effect.gen(function*() {
      const bytes = encoder.encode(`${good("é👍")}\n${good("2")}\n{\n`)
      for (let at = 0; at <= bytes.length; at += 5) {
        const got = yield* run([bytes.slice(0, at), new Uint8Array(0), bytes.slice(at)])
        assert.deepStrictEqual(got.map(({ id }) => id), ["é👍", "2", null])
      }
    }))

  it.effect("a line that is not UTF-8, or too long, is bad_request; the process goes on", () =>
    Effect.gen(function*() {
      const part = new Uint8Array(1024 * 1024).fill(0x20)
      const got = yield* run([
        new Uint8Array([0x22, 0xff, 0x22, 0x0a]),
        ...Array.from({ length: 66 }, () => part),
        encoder.encode(`\n${good("after")}\n`)
      ])
      assert.deepStrictEqual(got.map(({ error, id }) => [id, error?.code]), [
        [null, "bad_request"],
        [null, "bad_request"],
        ["after", undefined]
      ])
    }))

  it.effect("an error of the input passes", () =>
    Effect.gen(function*() {
      const broken = Stream.concat(Stream.make(encoder.encode(`${good("1")}\n`)), Stream.fail("gone" as const))
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(evalStream()(broken))), "gone")
    }))
})

describe("LineBuffer", () => {
  it("18.4: cuts at LF only, at any split, and keeps no line over the limit", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.constantFrom("a", "\r", "\n", "é", "👍", "abcdefg"), { maxLength: 40 }),
        FastCheck.array(FastCheck.nat({ max: 80 }), { maxLength: 6 }),
        (parts, points) => {
          const text = parts.join("")
          const bytes = encoder.encode(text)
          const expected = text.split("\n").map((line, i, all) =>
            encoder.encode(line).length > 12 ? { bad: "too_long" } : i === all.length - 1 && line === "" ? null : line
          ).filter((line) => line !== null)
          const buffer = new LineBuffer(12)
          const cuts = [0, ...points.map((point) => Math.min(point, bytes.length)).sort((a, b) => a - b), bytes.length]
          const got = cuts.slice(1).flatMap((end, i) => buffer.feed(bytes.slice(cuts[i], end)))
          assert.deepStrictEqual([...got, ...buffer.finish()], expected as typeof got)
        }
      ),
      { numRuns: 500 }
    )
  })
})
