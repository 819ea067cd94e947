import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { illegality, interruptedResult, repair } from "../../src/agent/Transcript.ts"
import type { Message } from "../../src/domain/Message.ts"

const callPart = (id: string) => ({ type: "tool_call" as const, id, name: "bash", arguments: "{}" })
const assistant = (...ids: ReadonlyArray<string>): Message => ({ role: "assistant", content: ids.map(callPart) })
const result = (id: string, text = "ok"): Message => ({ role: "tool", tool_call_id: id, content: text })
const user = (text: string): Message => ({ role: "user", content: text })

describe("a transcript becomes a legal request (2.9, G9)", () => {
  it("answers a call that has no result", () => {
    const fixed = repair([user("go"), assistant("a", "b"), result("b"), user("next")])
    assert.deepStrictEqual(fixed.map((m) => [m.role, m.tool_call_id ?? null]), [
      ["user", null],
      ["assistant", null],
      ["tool", "a"],
      ["tool", "b"],
      ["user", null]
    ])
    assert.strictEqual(fixed[2]?.content, interruptedResult)
    assert.strictEqual(fixed[2]?.is_error, true)
  })

  it("puts results into call order and text that came between behind them", () => {
    const fixed = repair([assistant("a", "b"), result("b"), user("steer"), result("a")])
    assert.deepStrictEqual(fixed.map((m) => m.tool_call_id ?? m.role), ["assistant", "a", "b", "user"])
  })

  it("keeps a result without a call as text of the user", () => {
    const fixed = repair([user("go"), result("ghost", "boo")])
    assert.strictEqual(fixed[1]?.role, "user")
    assert.include(JSON.stringify(fixed[1]?.content), "boo")
  })

  it("drops an assistant message that says nothing", () => {
    assert.deepStrictEqual(repair([user("go"), { role: "assistant", content: [] }, user("again")]).length, 2)
  })

  it("a call id that stands twice gets another one, and its result with it", () => {
    const fixed = repair([
      assistant("a", "a"),
      result("a", "one"),
      result("a", "two"),
      assistant("a"),
      result("a", "three")
    ])
    assert.strictEqual(illegality(fixed), null)
    assert.deepStrictEqual(
      fixed.filter(({ role }) => role === "tool").map(({ content, tool_call_id }) => [tool_call_id, content]),
      [["a", "one"], ["a_2", "two"], ["a_3", "three"]]
    )
  })

  it("a legal list keeps its very messages", () => {
    const legal = [user("go"), assistant("a", "b"), result("a"), result("b"), user("next")]
    for (const [n, each] of repair(legal).entries()) assert.strictEqual(each, legal[n])
  })

  const message = FastCheck.oneof(
    FastCheck.string().map(user),
    FastCheck.uniqueArray(FastCheck.constantFrom("a", "b", "c"), { maxLength: 3 }).map((ids) => assistant(...ids)),
    FastCheck.constantFrom("a", "b", "c", "z").map((id) => result(id))
  )

  it("any list, ids used again and again: legal afterwards, and repairing again changes nothing", () => {
    const again = FastCheck.oneof(
      FastCheck.string().map(user),
      FastCheck.array(FastCheck.constantFrom("a", "b"), { maxLength: 3 }).map((ids) => assistant(...ids)),
      FastCheck.constantFrom("a", "b", "z").map((id) => result(id))
    )
    FastCheck.assert(FastCheck.property(FastCheck.array(again, { maxLength: 12 }), (messages) => {
      const once = repair(messages)
      assert.strictEqual(illegality(once), null)
      assert.deepStrictEqual(repair(once), once)
    }))
  })

  it("any list of messages: legal afterwards, and repairing again changes nothing", () => {
    FastCheck.assert(FastCheck.property(FastCheck.array(message, { maxLength: 12 }), (messages) => {
      const unique = messages.map((m, i): Message =>
        m.role === "assistant" && typeof m.content !== "string"
          ? { ...m, content: m.content.map((p) => p.type === "tool_call" ? { ...p, id: `${p.id}${i}` } : p) }
          : m.role === "tool"
          ? { ...m, tool_call_id: `${m.tool_call_id ?? ""}${Math.max(0, i - 1)}` }
          : m
      )
      const once = repair(unique)
      assert.strictEqual(illegality(once), null)
      assert.deepStrictEqual(repair(once), once)
      const texts = (list: ReadonlyArray<Message>) =>
        list.filter((m) => m.role === "user" && typeof m.content === "string")
      assert.deepStrictEqual(texts(once), texts(unique), "what the user said is all there, in order")
    }))
  })
})
