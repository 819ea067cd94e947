import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Config } from "../../src/config/Config.ts"
import type { ToolResult } from "../../src/domain/Tool.ts"
import { failure, success } from "../../src/domain/ToolExecutor.ts"
import { knownSecrets } from "../../src/platform/ChildEnvironment.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { defineTool } from "../../src/tools/Define.ts"
import * as Mask from "../../src/tools/Mask.ts"
import type { OutputFilesService } from "../../src/tools/OutputFiles.ts"
import { makeRecorder } from "../../src/tools/Recorder.ts"
import { ToolFailure } from "../../src/tools/Tool.ts"
import { allowAll, execute, layerTools, recordingContext } from "../support/tools.ts"

describe("known secrets (G2)", () => {
  it("credential variables, named variables, values of the settings; no words and no paths", () => {
    const vars = {
      ANTHROPIC_API_KEY: "sk-ant-0123456789\n",
      UP: "named-by-settings",
      DB_PASSWORD: "short",
      SSH_KEY: "/home/user/.ssh/id_rsa",
      AWS_SECRET_ACCESS_KEY: "/abcdefghijklmnopqrstuvwxyz/012345678901",
      PATH: "/usr/bin:/bin",
      EDITOR: "vim -u something"
    }
    assert.deepStrictEqual(knownSecrets(Object.entries(vars), { names: ["UP"], values: ["from-config", "", "x"] }), [
      "/abcdefghijklmnopqrstuvwxyz/012345678901",
      "sk-ant-0123456789",
      "named-by-settings",
      "from-config"
    ])
  })
})

describe("masking", () => {
  const mask = Mask.make(["abcdefgh", "abcdefghij", "a.c(d[e]+"])

  it("the longest secret that fits, characters as they are", () => {
    assert.strictEqual(
      mask.text("xabcdefghijx abcdefgh! a.c(d[e]+ abc(d[e]+"),
      "x[redacted]x [redacted]! [redacted] abc(d[e]+"
    )
    assert.strictEqual(Mask.make([]).text("abc"), "abc")
  })

  it("every text of a result, nothing else of it", () => {
    const result: ToolResult = {
      ...failure("no abcdefgh", "out abcdefgh"),
      parts: [{ type: "text", text: "abcdefgh" }]
    }
    assert.deepStrictEqual(mask.result(result), {
      output: "out [redacted]",
      error: "no [redacted]",
      is_error: true,
      parts: [{ type: "text", text: "[redacted]" }]
    })
    assert.deepStrictEqual(mask.result(success("fine")), success("fine"))
  })

  it("what cannot become a secret is shown at once", () => {
    const stream = mask.stream()
    assert.strictEqual(stream.push("hello abc"), "hello ")
    assert.strictEqual(stream.push("x"), "abcx")
    assert.strictEqual(stream.push("abcdefgh"), "")
    assert.strictEqual(stream.flush(), "[redacted]")
  })

  it.prop("in pieces as in one", [
    FastCheck.uniqueArray(
      FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 }),
      {
        minLength: 1,
        maxLength: 4
      }
    ),
    FastCheck.array(FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "c", "d"), maxLength: 6 }), {
      maxLength: 12
    })
  ], ([secrets, pieces]) => {
    const made = Mask.make(secrets)
    const stream = made.stream()
    const shown = pieces.map(stream.push).join("") + stream.flush()
    assert.strictEqual(shown, made.text(pieces.join("")))
  }, { fastCheck: { numRuns: 2000 } })
})

describe("the Guard hands no known secret on (G2)", () => {
  const key = "sk-live-0123456789"
  const of_settings = "settings-key-0123"
  const tool = defineTool({
    name: "leak",
    description: "",
    input: Schema.Struct({ fails: Schema.Boolean }),
    kind: "execute",
    read_only: false,
    prepare: ({ fails }) =>
      Effect.succeed({
        subjects: [],
        inside_workspace: false,
        run: (run) =>
          Effect.gen(function*() {
            for (const piece of ["say sk-li", "ve-01234", "56789 done"]) yield* run.emit(piece)
            if (fails) return yield* new ToolFailure({ message: `no ${key}`, output: of_settings })
            return success(`KEY=${key}\0${of_settings}`)
          })
      })
  })
  const layer = layerTools(
    [tool],
    allowAll,
    Layer.merge(
      Environment.layerTest({ vars: { UP_KEY: key } }),
      Config.layerText(JSON.stringify({ providers: { up: { api_key: of_settings } } }))
    )
  )

  it.effect("neither in the result nor in live output, also when the tool fails", () =>
    Effect.gen(function*() {
      const { context, shown } = recordingContext()
      assert.deepStrictEqual(yield* execute("leak", { fails: false }, context), success("KEY=[redacted]\0[redacted]"))
      assert.strictEqual(shown(), "say [redacted] done")
      assert.deepStrictEqual(yield* execute("leak", { fails: true }), failure("no [redacted]", "[redacted]"))
    }).pipe(Effect.provide(layer)))
})

describe("what a call keeps (G2)", () => {
  const limits = { max_bytes: 60, max_lines: 2_000 }
  const secret = "s3cr3t-0123456789"

  it.effect.prop(
    "a long output has no secret, neither in what is kept of it nor in its file, wherever it was cut",
    [
      FastCheck.array(FastCheck.constantFrom(secret, "s3cr3t", "-", "é\n", "0123456789", "plain ")),
      FastCheck.infiniteStream(FastCheck.integer({ min: 1, max: 9 }))
    ],
    ([parts, cuts]) =>
      Effect.scoped(Effect.gen(function*() {
        const whole = new TextEncoder().encode(`${parts.join("")}${secret}${"x".repeat(60)}`)
        const written: Array<Uint8Array> = []
        const files: OutputFilesService = {
          create: () =>
            Effect.succeedSome({
              path: "/kept",
              write: (bytes) => Effect.sync(() => void written.push(bytes.slice())),
              problem: Effect.succeed(undefined)
            })
        }
        const recorder = yield* makeRecorder(files, { call_id: "call", mask: Mask.make([secret]) }, limits)
        let shown = ""
        for (let at = 0; at < whole.length;) {
          const { value } = cuts.next()
          const size = typeof value === "number" ? value : 1
          shown += yield* recorder.push(whole.subarray(at, at + size))
          at += size
        }
        shown += yield* recorder.end
        const { output } = yield* recorder.result
        const kept = Buffer.concat(written).toString()
        const expected = new TextDecoder().decode(whole).replaceAll(secret, "[redacted]")
        assert.deepStrictEqual([shown, kept], [expected, expected])
        assert.notInclude(output, secret)
      }))
  )

  it.effect("without secrets the file is the bytes themselves", () =>
    Effect.scoped(Effect.gen(function*() {
      const written: Array<Uint8Array> = []
      const files: OutputFilesService = {
        create: () =>
          Effect.succeedSome({
            path: "/kept",
            write: (bytes) => Effect.sync(() => void written.push(bytes.slice())),
            problem: Effect.succeed(undefined)
          })
      }
      const recorder = yield* makeRecorder(files, { call_id: "call" }, limits)
      const bytes = Uint8Array.from({ length: 300 }, (_, at) => at % 256)
      yield* recorder.push(bytes)
      yield* recorder.end
      assert.deepStrictEqual(new Uint8Array(Buffer.concat(written)), bytes)
    })))
})
