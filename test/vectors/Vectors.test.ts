import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020, type AnySchemaObject } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Environment } from "../../src/platform/Environment.ts"
import { testVectorsDirectory } from "../../src/platform/PackageFiles.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { check } from "../../src/vectors/Check.ts"
import { type Answer, compare } from "../../src/vectors/Compare.ts"
import { evalStream } from "../../src/vectors/Eval.ts"
import { files } from "../../src/vectors/VectorFile.ts"
import { naiveSse } from "../support/naiveSse.ts"

const directory = join(import.meta.dirname, "..", "..", "test-vectors")
const adapter = join(import.meta.dirname, "adapter.py")
interface Case<I, O> {
  readonly id: string
  readonly input: I
  readonly expected: { readonly output: O; readonly error?: { readonly code: string } }
}
interface SseInput {
  readonly chunks: ReadonlyArray<string | { readonly base64: string; readonly repeat: number }>
  readonly finish?: boolean
  readonly digest?: boolean
  readonly max_frame_bytes?: number
}
interface BackoffInput {
  readonly base_ms: number | string
  readonly max_ms: number | string
  readonly attempts: number | ReadonlyArray<number>
  readonly ops?: ReadonlyArray<"next" | "reset">
  readonly rng?: ReadonlyArray<number>
}
const json = <I, O>(file: string): { readonly cases: ReadonlyArray<Case<I, O>> } =>
  JSON.parse(readFileSync(join(directory, file), "utf8")) as { readonly cases: ReadonlyArray<Case<I, O>> }
const schema = (file: string): AnySchemaObject =>
  JSON.parse(readFileSync(join(directory, file), "utf8")) as AnySchemaObject
const present = readdirSync(directory).filter((file) => file.endsWith(".json") && !file.endsWith(".schema.json"))
const layer = Layer.mergeAll(NodeFileSystem.layer, Processes.layer, Environment.layer)

describe("vector files", () => {
  it("18.1: each file has its schema and is valid against it; ids are unique", () => {
    assert.includeMembers(present, ["sse-frames.json", "backoff-timing.json"])
    for (const file of present) {
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(
        schema(file.replace(/\.json$/, ".schema.json"))
      )
      const vectors = json(file)
      assert.isTrue(validate(vectors), `${file}: ${JSON.stringify(validate.errors)}`)
      const ids = vectors.cases.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length, file)
    }
  })

  it("18.1: the schemas refuse what is wrong", () => {
    for (const file of ["sse-frames", "backoff-timing", "oauth-pkce", "mcp-normalization", "session-compaction"]) {
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema(`${file}.schema.json`))
      const [first] = json(`${file}.json`).cases
      const wrap = (vector: unknown) => ({ spec: "HIP-301", version: "1.0.0", cases: [vector] })
      assert.isTrue(validate(wrap(first)))
      for (
        const bad of [
          { ...first, tags: ["other"] },
          { ...first, expected: {} },
          { ...first, expected: { error: { code: "no_such_code" } } },
          { ...first, input: {} },
          { ...first, more: 1 }
        ]
      ) assert.isFalse(validate(wrap(bad)), JSON.stringify(bad).slice(0, 200))
    }
  })

  it("18.1: as many cases as promised", () => {
    const atLeast: Record<string, number> = {
      "sse-frames.json": 60,
      "backoff-timing.json": 35,
      "oauth-pkce.json": 100,
      "mcp-normalization.json": 60,
      "session-compaction.json": 75
    }
    for (const [file, least] of Object.entries(atLeast)) assert.isAtLeast(json(file).cases.length, least)
    for (const file of present) assert.isTrue(files.some((known) => known.file === file), file)
  })

  it("the expectations of sse are those of the grammar read word for word", () => {
    for (const vector of json<SseInput, unknown>("sse-frames.json").cases) {
      const { chunks, digest = false, finish = false, max_frame_bytes } = vector.input
      if (vector.expected.error?.code === "bad_base64") continue
      const parts: ReadonlyArray<Uint8Array> = chunks.map((chunk) =>
        typeof chunk === "string"
          ? Buffer.from(chunk, "base64")
          : Buffer.concat(Array.from({ length: chunk.repeat }, () => Buffer.from(chunk.base64, "base64")))
      )
      const whole = Buffer.concat(parts)
      // The oracle holds a line as a list of numbers; the two cases at the default limit are too long for that.
      if (whole.length > 8 * 1024 * 1024) continue
      const oracle = naiveSse(whole, max_frame_bytes === undefined ? { finish } : { finish, max_frame_bytes })
      if (vector.expected.error !== undefined) {
        assert.isTrue(oracle.too_large, vector.id)
        continue
      }
      let end = 0
      const frames_after_chunk = parts.map((part) => {
        end += part.length
        return oracle.frames.filter((frame, i) => frame.unterminated !== true && (oracle.completed_at[i] ?? 0) <= end)
          .length
      })
      const output = {
        frames: oracle.frames.map(({ data, event, id, retry }) =>
          digest
            ? {
              event,
              data_bytes: Buffer.byteLength(data),
              data_sha256: createHash("sha256").update(data).digest("hex"),
              id,
              retry
            }
            : { event, data, id, retry }
        ),
        last_event_id: oracle.last_event_id,
        reconnect_ms: oracle.reconnect_ms,
        frames_after_chunk,
        flushed: oracle.frames.some((frame) => frame.unterminated === true)
      }
      assert.deepStrictEqual(vector.expected.output, output, vector.id)
    }
  })

  it("the expectations of backoff are those of exact integers", () => {
    for (
      const vector of json<BackoffInput, { ceilings_ms: ReadonlyArray<number>; delays_ms?: ReadonlyArray<number> }>(
        "backoff-timing.json"
      ).cases
    ) {
      if (vector.expected.error !== undefined) continue
      const { attempts, base_ms, max_ms, ops, rng } = vector.input
      const top = 2n ** 53n - 1n
      const amount = (value: number | string) => {
        const exact = BigInt(value)
        return exact < top ? exact : top
      }
      const indices: Array<number> = []
      if (ops === undefined) {
        indices.push(...(typeof attempts === "number" ? Array.from({ length: attempts }, (_, n) => n) : attempts))
      } else {
        let n = 0
        for (const op of ops) {
          if (op === "next") indices.push(n++)
          else n = 0
        }
      }
      const ceilings = indices.map((n) => {
        const product = amount(base_ms) << BigInt(Math.min(n, 200))
        return product < amount(max_ms) ? product : amount(max_ms)
      })
      assert.deepStrictEqual(vector.expected.output.ceilings_ms.map(BigInt), ceilings, vector.id)
      if (rng === undefined) continue
      // r is an integer over 2^53 (all these are, or are multiplied by so little that rounding cannot matter).
      const delays = ceilings.map((ceiling, i) =>
        Number(BigInt(Math.round((rng[i] ?? 0) * 2 ** 53)) * (ceiling + 1n) >> 53n)
      )
      assert.deepStrictEqual(vector.expected.output.delays_ms, delays, vector.id)
    }
  })
})

describe("vectors check", () => {
  it.live("18.7: ours passes every case it answers for, in process", () =>
    Effect.gen(function*() {
      const report = yield* check({ directory })
      assert.deepStrictEqual(report.failures, [])
      for (const { cases, domain, passed } of report.domains) {
        if (["sse", "names", "compaction", "backoff", "pkce", "config"].includes(domain)) {
          assert.strictEqual(passed, cases, domain)
        }
      }
      assert.strictEqual(report.exit_code, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("18.7: and through the stream that eval is", () =>
    Effect.gen(function*() {
      for (const { domain, file } of files.filter((known) => present.includes(known.file))) {
        const { cases } = json<unknown, unknown>(file)
        const lines = cases.map(({ id, input }) => JSON.stringify({ domain, id, input }) + "\n").join("")
        const answers = yield* Stream.make(new TextEncoder().encode(lines)).pipe(
          evalStream(),
          Stream.decodeText(),
          Stream.splitLines,
          Stream.runCollect
        )
        assert.strictEqual(answers.length, cases.length, file)
        for (const [i, line] of [...answers].entries()) {
          const answer = JSON.parse(line) as Answer & { readonly id: string }
          const vector = cases[i]
          assert.strictEqual(answer.id, vector?.id)
          if (vector === undefined || ("error" in answer && answer.error.code === "unsupported")) continue
          assert.isNull(compare(vector, answer), `${file} ${vector.id}`)
        }
      }
    }))

  it.live("18.7: an independent adapter in Python passes them too", () =>
    Effect.gen(function*() {
      const report = yield* check({
        directory,
        adapter: `python3 '${adapter}'`,
        domains: ["sse", "names", "compaction", "backoff", "pkce", "config"]
      })
      assert.deepStrictEqual(report.failures, [])
      assert.strictEqual(report.skipped, 0)
      assert.strictEqual(report.passed, report.domains.reduce((sum, { cases }) => sum + cases, 0))
    }).pipe(Effect.provide(layer)))

  it.effect("the vectors are found from the code", () =>
    Effect.map(testVectorsDirectory, (found) => assert.strictEqual(found, directory)))
})
