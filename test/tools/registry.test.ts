import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Ids } from "../../src/domain/Ids.ts"
import type { ToolResult } from "../../src/domain/Tool.ts"
import { success, ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { defineTool } from "../../src/tools/Define.ts"
import { layerExecutor } from "../../src/tools/Layers.ts"
import { McpTools } from "../../src/tools/McpTools.ts"
import { NativeTools } from "../../src/tools/Registry.ts"
import { ToolHooks, ToolSandbox } from "../../src/tools/Slots.ts"
import { type NativeTool, ToolFailure } from "../../src/tools/Tool.ts"
import { allowAll, execute, layerNoSecrets, layerTools } from "../support/tools.ts"

const tool = (
  name: string,
  run: (
    input: { readonly text: string; readonly count?: number | undefined }
  ) => Effect.Effect<ToolResult, ToolFailure>,
  more: Partial<Pick<NativeTool, "read_only">> = {}
): NativeTool =>
  defineTool({
    name,
    description: `The ${name} tool.`,
    input: Schema.Struct({
      text: Schema.NonEmptyString.annotations({ description: "Some text." }),
      count: Schema.optional(Schema.Int.pipe(Schema.between(1, 9))),
      nested: Schema.optional(Schema.Array(Schema.Struct({ kind: Schema.Literal("a", "b") })))
    }),
    kind: "other",
    read_only: more.read_only === true,
    prepare: (input) => Effect.succeed({ subjects: [], inside_workspace: false, run: () => run(input) })
  })

const echo = tool("echo", ({ count, text }) => Effect.succeed(success(text.repeat(count ?? 1))), { read_only: true })
const layer = layerTools([echo, tool("shout", ({ text }) => Effect.succeed(success(text.toUpperCase())))])

const mcp = tool("mcp__files__read", ({ text }) => Effect.succeed(success(`mcp ${text}`)))
const impostor = tool("echo", () => Effect.succeed(success("from a server")))

describe("Registry", () => {
  it.effect("definitions are JSON Schemas of type object, without references", () =>
    Effect.gen(function*() {
      const definitions = yield* (yield* ToolExecutor).definitions
      assert.deepStrictEqual(definitions.map((d) => d.name), ["echo", "shout"])
      assert.deepStrictEqual(definitions[0]?.input_schema, {
        type: "object",
        required: ["text"],
        properties: {
          text: { type: "string", description: "Some text.", minLength: 1 },
          count: { type: "integer", description: "a number between 1 and 9", minimum: 1, maximum: 9 },
          nested: {
            type: "array",
            items: {
              type: "object",
              required: ["kind"],
              properties: { kind: { type: "string", enum: ["a", "b"] } },
              additionalProperties: false
            }
          }
        },
        additionalProperties: false
      })
      assert.strictEqual(definitions[0]?.input_schema, definitions[0]?.input_schema)
    }).pipe(Effect.provide(layer)))

  it.effect("2.2: bad input is told field by field, and nothing runs", () =>
    Effect.gen(function*() {
      const complaint = (input: Record<string, unknown>) => Effect.map(execute("echo", input), (r) => r.error)
      assert.strictEqual(
        yield* complaint({}),
        "invalid input for echo: \"text\" is missing: expected a string (at least 1 long)"
      )
      assert.strictEqual(
        yield* complaint({ text: 5 }),
        "invalid input for echo: \"text\": expected a string (at least 1 long), got 5 (number)"
      )
      assert.strictEqual(
        yield* complaint({ text: "a", count: 12, nested: [{ kind: "c" }] }),
        "invalid input for echo:\n" +
          "- \"count\": expected an integer (at least 1 and at most 9), got 12 (number)\n" +
          "- \"nested[0].kind\": expected one of \"a\", \"b\", got \"c\" (string)"
      )
      assert.strictEqual(
        yield* complaint({ txet: "a", text: "b" }),
        "invalid input for echo: unknown field \"txet\": did you mean \"text\"?"
      )
      assert.strictEqual(
        yield* complaint({ zzzzzz: 1, text: "b" }),
        "invalid input for echo: unknown field \"zzzzzz\": known fields: text, count, nested"
      )
      const long = yield* complaint({ text: "a", count: "x".repeat(5_000) })
      assert.isBelow((long ?? "").length, 300)
    }).pipe(Effect.provide(layer)))

  it.effect("null in place of an optional field counts as absent", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* execute("echo", { text: "a", count: null }), success("a"))
      assert.isTrue((yield* execute("echo", { text: null })).is_error)
    }).pipe(Effect.provide(layer)))

  it.effect("an unknown tool is an error result with the nearest names", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* execute("ecoh", {})).error, "there is no tool \"ecoh\"; did you mean echo?")
      assert.strictEqual((yield* execute("Echo", {})).error, "there is no tool \"Echo\"; did you mean echo?")
      assert.strictEqual(
        (yield* execute("zzzzzz", {})).error,
        "there is no tool \"zzzzzz\"; the tools are: echo, shout"
      )
      for (const name of ["__proto__", "constructor", "", "toString"]) {
        assert.isTrue((yield* execute(name, {})).is_error)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("2.7: read-only is a property of the tool; unknown names are not", () =>
    Effect.gen(function*() {
      const { isReadOnly } = yield* ToolExecutor
      assert.deepStrictEqual(["echo", "shout", "nothing", "mcp__x__y"].map((n) => isReadOnly(n, {})), [
        true,
        false,
        false,
        false
      ])
    }).pipe(Effect.provide(layer)))

  const broken: ReadonlyArray<readonly [string, Effect.Effect<ToolResult, ToolFailure>, string]> = [
    [
      "throws",
      Effect.sync(() => {
        throw new TypeError("oops")
      }),
      "TypeError: oops"
    ],
    ["dies with a string", Effect.die("plain"), "plain"],
    ["dies with nothing", Effect.die(undefined), "undefined"],
    ["fails", Effect.fail(new ToolFailure({ message: "no such thing", output: "half" })), "no such thing"],
    ["interrupts itself", Effect.interrupt, "stopped itself"],
    ["returns nothing", Effect.succeed(undefined as unknown as ToolResult), "no result"],
    ["says error without a reason", Effect.succeed({ output: "x", error: null, is_error: true }), "failed"],
    ["says error with an empty reason", Effect.succeed({ output: "x", error: "", is_error: true }), "failed"]
  ]
  for (const [what, run, words] of broken) {
    it.effect(`2.1, 2.2: a tool that ${what} gives an error result`, () =>
      Effect.gen(function*() {
        const result = yield* execute("t", { text: "x" })
        assert.isTrue(result.is_error)
        assert.include(result.error ?? "", words)
        if (what === "fails") assert.strictEqual(result.output, "half")
      }).pipe(Effect.provide(layerTools([tool("t", () => run)]))))
  }

  it.effect("2.1: a success has no error", () =>
    Effect.gen(function*() {
      const result = yield* execute("t", { text: "x" })
      assert.deepStrictEqual(result, { output: "x", error: null, is_error: false })
    }).pipe(
      Effect.provide(layerTools([tool("t", () => Effect.succeed({ output: "x", error: "ignored", is_error: false }))]))
    ))

  it.effect("a tool whose prepare throws gives an error result", () =>
    Effect.gen(function*() {
      const result = yield* execute("t", { text: "x" })
      assert.include(result.error ?? "", "prepare broke")
    }).pipe(Effect.provide(layerTools([{
      ...tool("t", () => Effect.never),
      prepare: () => {
        throw new Error("prepare broke")
      }
    }]))))

  it.effect("names with mcp__ go to servers, all others to native tools", () =>
    Effect.gen(function*() {
      const tools = yield* ToolExecutor
      assert.deepStrictEqual((yield* tools.definitions).map((d) => d.name), ["echo", "mcp__files__read"])
      assert.strictEqual((yield* execute("mcp__files__read", { text: "x" })).output, "mcp x")
      assert.strictEqual((yield* execute("echo", { text: "x" })).output, "x")
      assert.include((yield* execute("mcp__files__raed", {})).error ?? "", "did you mean mcp__files__read?")
      assert.isTrue(tools.isReadOnly("mcp__files__read", {}))
    }).pipe(Effect.provide(layerExecutor.pipe(Layer.provide([
      Layer.succeed(NativeTools, [echo]),
      Layer.succeed(McpTools, {
        tools: Effect.succeed([mcp, impostor]),
        isReadOnly: (name) => name === "mcp__files__read"
      }),
      allowAll,
      ToolHooks.layerNoop,
      ToolSandbox.layerNoop,
      Ids.layerCounting,
      layerNoSecrets
    ])))))

  it.effect("two tools of one name and reserved names are refused when the program is put together", () =>
    Effect.gen(function*() {
      const build = (tools: ReadonlyArray<NativeTool>) => Effect.flip(Effect.scoped(Layer.build(layerTools(tools))))
      assert.strictEqual((yield* build([echo, echo])).reason, "duplicate_name")
      assert.strictEqual((yield* build([mcp])).reason, "invalid_name")
      assert.strictEqual((yield* build([tool("a b", () => Effect.never)])).reason, "invalid_name")
    }))

  it.effect("an embedder's tool stands beside ours", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* execute("mine", { text: "x" })).output, "mine")
    }).pipe(Effect.provide(layerExecutor.pipe(Layer.provide([
      NativeTools.layerOf([
        Effect.succeed([echo]),
        Effect.succeed([tool("mine", () => Effect.succeed(success("mine")))])
      ]),
      McpTools.layerEmpty,
      allowAll,
      ToolHooks.layerNoop,
      ToolSandbox.layerNoop,
      Ids.layerCounting,
      layerNoSecrets
    ])))))

  it.effect.prop("2.1, 2.2: whatever the input, there is exactly one lawful result", [
    FastCheck.constantFrom("echo", "shout", "nope"),
    FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue())
  ], ([name, input]) =>
    Effect.gen(function*() {
      const result = yield* execute(name, input)
      assert.strictEqual(result.is_error, result.error !== null)
      if (result.is_error) assert.notStrictEqual(result.error, "")
    }).pipe(Effect.provide(layer)), { fastCheck: { numRuns: 40 } })
})
