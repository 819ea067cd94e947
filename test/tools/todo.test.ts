import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { makeTodoTool, Todos } from "../../src/tools/Todo.ts"
import { layerTools } from "../support/tools.ts"

const layer = Layer.unwrapEffect(Effect.map(makeTodoTool, (tool) => layerTools([tool]))).pipe(
  Layer.provideMerge(Todos.layer)
)

describe("todo", () => {
  it.effect("keeps one list a session, replaced as a whole, and shows it", () =>
    Effect.gen(function*() {
      const tools = yield* ToolExecutor
      const todos = yield* Todos
      const items = [
        { content: "read the\n  code", status: "completed" },
        { content: "fix it", status: "in_progress" },
        { content: "test it", status: "pending" }
      ] as const
      const result = yield* tools.execute("todo", { items }, "ses_a")
      assert.strictEqual(result.output, "[x] read the code\n[>] fix it\n[ ] test it\n1 of 3 completed")
      assert.deepStrictEqual(yield* todos.get("ses_a"), items)
      assert.deepStrictEqual(yield* todos.get("ses_b"), [])
      yield* tools.execute("todo", { items: [] }, "ses_b")
      assert.strictEqual((yield* todos.get("ses_a")).length, 3)
      const cleared = yield* tools.execute("todo", { items: [] }, "ses_a")
      assert.strictEqual(cleared.output, "the list is empty")
      assert.deepStrictEqual(yield* todos.get("ses_a"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("a bad item changes nothing", () =>
    Effect.gen(function*() {
      const tools = yield* ToolExecutor
      yield* tools.execute("todo", { items: [{ content: "a", status: "pending" }] }, "s")
      const result = yield* tools.execute("todo", { items: [{ content: "b", status: "done" }] }, "s")
      assert.include(
        result.error ?? "",
        "\"items[0].status\": expected one of \"pending\", \"in_progress\", \"completed\""
      )
      assert.deepStrictEqual(yield* (yield* Todos).get("s"), [{ content: "a", status: "pending" }])
    }).pipe(Effect.provide(layer)))
})
