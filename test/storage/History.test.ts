import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Message } from "../../src/domain/Message.ts"
import { type HistoryEntry, joined } from "../../src/storage/History.ts"

const entry = (key: string, turn: number, message: Message, more: Partial<HistoryEntry> = {}): HistoryEntry => ({
  key,
  run_id: "run_1",
  turn,
  message,
  withdrawn: false,
  ...more
})
const text = (value: string) => ({ type: "text" as const, text: value })
const said = (value: string): Message => ({ role: "assistant", content: [text(value)] })
const asked = (value: string): Message => ({ role: "user", content: [text(value)] })
const call = (id: string) => ({ type: "tool_call" as const, id, name: "bash", arguments: "{}" })
const calls = (id: string): Message => ({ role: "assistant", content: [call(id)] })
const result = (id: string, value = id): Message => ({ role: "tool", tool_call_id: id, content: value })
const messages = (entries: ReadonlyArray<HistoryEntry>) => joined(entries).map(({ message }) => message)

describe("the conversation of the next request", () => {
  it("items of one turn become one assistant message, results follow in call order, then what the user said (2.7)", () => {
    const entries = [
      entry("user:1", 0, asked("go")),
      entry("item:1", 1, { role: "assistant", content: [{ type: "reasoning", text: "hm" }] }),
      entry("item:2", 1, said("let me look")),
      entry("assistant:a", 1, calls("a")),
      entry("assistant:b", 1, calls("b")),
      entry("tool:b", 1, result("b")),
      entry("user:2", 1, asked("faster")),
      entry("tool:a", 1, result("a")),
      entry("item:3", 2, said("done"))
    ]
    assert.deepStrictEqual(joined(entries), [
      { keys: ["user:1"], message: asked("go") },
      {
        keys: ["item:1", "item:2", "assistant:a", "assistant:b"],
        message: {
          role: "assistant",
          content: [{ type: "reasoning", text: "hm" }, text("let me look"), call("a"), call("b")]
        }
      },
      { keys: ["tool:a"], message: result("a") },
      { keys: ["tool:b"], message: result("b") },
      { keys: ["user:2"], message: asked("faster") },
      { keys: ["item:3"], message: said("done") }
    ])
  })

  it("the same turn number of another run is another turn", () => {
    assert.deepStrictEqual(
      messages([entry("a", 1, said("one")), entry("b", 1, said("two"), { run_id: "run_2" })]),
      [said("one"), said("two")]
    )
  })

  it("a withdrawn entry is left out, its successor under the same key counts", () => {
    assert.deepStrictEqual(
      messages([entry("assistant:a", 1, calls("x"), { withdrawn: true }), entry("assistant:a", 1, calls("a"))]),
      [calls("a")]
    )
  })

  it("counts are added only when every item has one; a single entry comes back as it was", () => {
    const counted = (value: string, token_count: number): Message => ({ ...said(value), token_count })
    assert.deepStrictEqual(messages([entry("a", 1, counted("x", 3)), entry("b", 1, counted("y", 4))]), [
      { role: "assistant", content: [text("x"), text("y")], token_count: 7 }
    ])
    assert.notProperty(messages([entry("a", 1, counted("x", 3)), entry("b", 1, said("y"))])[0], "token_count")
    const whole: Message = {
      role: "assistant",
      content: "as a string",
      tool_calls: [{ id: "c", name: "read", arguments: "" }]
    }
    assert.deepStrictEqual(messages([entry("a", 1, whole)]), [whole])
  })

  it("a summary takes the place of what it replaces; a later one folds it in (5.5, 5.10)", () => {
    const summary = (value: string): Message => ({ role: "assistant", content: value, kind: "summary" })
    const entries = [
      entry("u1", 0, asked("one")),
      entry("i1", 1, said("first")),
      entry("u2", 1, asked("two")),
      entry("i2", 2, said("second")),
      entry("s1", 3, summary("S1"), { replaces: ["u1", "i1"] })
    ]
    assert.deepStrictEqual(messages(entries), [summary("S1"), asked("two"), said("second")])
    const more = [
      ...entries,
      entry("u3", 3, asked("three")),
      entry("s2", 4, summary("S2"), { replaces: ["s1", "u2", "i2"] })
    ]
    assert.deepStrictEqual(messages(more), [summary("S2"), asked("three")])
  })

  it("a shortened result takes the place of the whole one in its turn (5.8)", () => {
    assert.deepStrictEqual(
      messages([
        entry("assistant:a", 1, calls("a")),
        entry("assistant:b", 1, calls("b")),
        entry("tool:a", 1, result("a", "long")),
        entry("tool:b", 1, result("b", "kept")),
        entry("item:1", 2, said("more")),
        entry("short:a", 2, result("a", "[compacted]"), { replaces: ["tool:a"] })
      ]),
      [
        { role: "assistant", content: [call("a"), call("b")] },
        result("a", "[compacted]"),
        result("b", "kept"),
        said("more")
      ]
    )
  })

  const anyEntry = FastCheck.record({
    turn: FastCheck.integer({ min: 0, max: 3 }),
    message: FastCheck.constantFrom(asked("q"), said("a"), calls("c1"), calls("c2"), result("c1"), result("c2")),
    withdrawn: FastCheck.boolean()
  })

  it.prop("every live entry is in exactly one message, whatever the order", [
    FastCheck.array(anyEntry, { maxLength: 12 })
  ], ([rows]) => {
    const entries = rows.map((row, index) => ({ ...row, key: `k${index}`, run_id: "run_1" }))
    assert.deepStrictEqual(
      joined(entries).flatMap(({ keys }) => keys).sort(),
      entries.filter((one) => !one.withdrawn).map((one) => one.key).sort()
    )
  })
})
