/** 14.1: what an agent may use, held by the executor; never more than whoever started it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { success, type ToolExecutorService } from "../../src/domain/ToolExecutor.ts"
import { permits, restricted, type ToolAccess, type ToolLimit } from "../../src/tools/ToolAccess.ts"

const names = ["read", "grep", "write", "bash", "task", "mcp__a__b"]
const isReadOnly = (name: string, input: object): boolean =>
  name === "read" || name === "grep" || (name === "task" && "agent" in input)

const limit: FastCheck.Arbitrary<ToolLimit> = FastCheck.oneof(
  FastCheck.constantFrom("none" as const, "read_only" as const, "no_agents" as const),
  FastCheck.array(FastCheck.constantFrom(...names, "*", "r*", "mcp__*"))
)
const access: FastCheck.Arbitrary<ToolAccess> = FastCheck.array(limit, { maxLength: 3 })

const executor = (run: Array<string>): ToolExecutorService => ({
  definitions: Effect.succeed(names.map((name) => ({ name, description: name, input_schema: {} }))),
  isReadOnly,
  execute: (name) => Effect.sync(() => (run.push(name), success("ran")))
})

describe("limits of an agent's tools", () => {
  it.prop("a further limit never gives a tool that was not there", [access, limit, FastCheck.constantFrom(...names)], (
    [before, more, name]
  ) => {
    if (permits([...before, more], name, {}, isReadOnly)) assert.isTrue(permits(before, name, {}, isReadOnly))
  })

  it.effect.prop(
    "what is not offered does not run, and what is offered does",
    [access],
    ([limits]) =>
      Effect.gen(function*() {
        const run: Array<string> = []
        const tools = restricted(executor(run), limits, "x")
        const offered = (yield* tools.definitions).map(({ name }) => name)
        for (const name of names) {
          const result = yield* tools.execute(name, {}, "s")
          assert.strictEqual(result.is_error, !offered.includes(name))
        }
        assert.deepStrictEqual(run, offered)
      })
  )

  it("read-only is of the call, not of the tool alone", () => {
    const tool = (input: object) => permits(["read_only"], "lsp", { ...input }, (_, given) => !("new_name" in given))
    assert.isTrue(tool({}))
    assert.isFalse(tool({ new_name: "x" }))
  })
})
