import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Limits from "../../src/agent/Limits.ts"
import { costOf } from "../../src/provider/Cost.ts"
import * as ToolRuns from "../../src/agent/ToolRuns.ts"
import * as TurnMachine from "../../src/agent/TurnMachine.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { call } from "./support.ts"

const machine = () => {
  let n = 0
  return TurnMachine.make({ nextItemId: () => `i${n++}`, claimCallId: (id) => id })
}

describe("turn machine", () => {
  it("closes an item where the kind changes and keeps the order of the parts", () => {
    const m = machine()
    const step = m.push([
      { type: "reasoning_delta", text: "hm" },
      { type: "reasoning_delta", text: "", replay: { origin: "o", signature: "s" } },
      { type: "content_delta", text: "a" },
      { type: "content_delta", text: "b" },
      call("c1", "bash"),
      { type: "content_delta", text: "after" },
      { type: "message_stop", stop_reason: "tool_use" }
    ])
    assert.deepStrictEqual(step.items.map((item) => [item.key, item.part.type]), [
      ["item:i0", "reasoning"],
      ["item:i1", "text"],
      ["assistant:c1", "tool_call"],
      ["item:i3", "text"]
    ])
    assert.deepStrictEqual(step.events.map((e) => e.type), [
      "reasoning.delta",
      "item.completed",
      "text.delta",
      "text.delta",
      "item.completed",
      "item.completed",
      "text.delta",
      "item.completed"
    ])
    assert.strictEqual(m.text(), "abafter")
  })

  it("ignores what comes after the terminal", () => {
    const m = machine()
    m.push([{ type: "message_stop", stop_reason: "end_turn" }])
    assert.deepStrictEqual(m.push([{ type: "content_delta", text: "late" }]), { events: [], items: [] })
  })

  it("an error leaves the open item unfinished but names it as shown", () => {
    const m = machine()
    const step = m.push([
      { type: "content_delta", text: "half" },
      { type: "error", code: "dropped", message: "gone", retryable: true }
    ])
    assert.deepStrictEqual(step.items, [])
    assert.deepStrictEqual(m.shown(), { item_ids: ["i0"], keys: [] })
  })

  it("a cut keeps text and drops unfinished reasoning", () => {
    const a = machine()
    a.push([{ type: "content_delta", text: "half" }])
    assert.deepStrictEqual(a.cut().items.map((i) => i.part), [{ type: "text", text: "half" }])
    const b = machine()
    b.push([{ type: "reasoning_delta", text: "half" }])
    assert.deepStrictEqual(b.cut(), { events: [], items: [] })
  })

  const event: FastCheck.Arbitrary<StreamEvent> = FastCheck.oneof(
    FastCheck.string().map((text): StreamEvent => ({ type: "content_delta", text })),
    FastCheck.string().map((text): StreamEvent => ({ type: "reasoning_delta", text })),
    FastCheck.constant<StreamEvent>({ type: "reasoning_delta", text: "", replay: { origin: "o" } }),
    FastCheck.nat(9).map((n) => call(`c${n}`, "bash"))
  )

  it("any split of the events gives the same events and items", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(event), FastCheck.array(FastCheck.nat(5)), (events, cuts) => {
        const all: ReadonlyArray<StreamEvent> = [...events, { type: "message_stop", stop_reason: "end_turn" }]
        const whole = machine().push(all)
        const m = machine()
        const parts: Array<TurnMachine.TurnStep> = []
        let at = 0
        for (const cut of cuts) {
          parts.push(m.push(all.slice(at, at + cut)))
          at += cut
        }
        parts.push(m.push(all.slice(at)))
        assert.deepStrictEqual(parts.flatMap((p) => p.events), [...whole.events])
        assert.deepStrictEqual(parts.flatMap((p) => p.items), [...whole.items])
        const deltas = whole.events.flatMap((e) => e.type === "text.delta" ? [e.text] : []).join("")
        const items = whole.items.flatMap((i) => i.part.type === "text" ? [i.part.text] : []).join("")
        assert.strictEqual(items, deltas)
      })
    )
  })
})

describe("limits", () => {
  const settled = (args: string, output: string): ToolRuns.Settled => ({
    call: { id: "x", name: "bash", arguments: args, input: {} },
    result: { output, error: null, is_error: false }
  })

  it("counts the same call with the same result running (2.8)", () => {
    const three = [settled("{}", "a"), settled("{}", "a"), settled("{}", "a")]
    assert.strictEqual(Limits.observe(Limits.noRepetition, three).count, 3)
    assert.strictEqual(Limits.observe(Limits.noRepetition, [settled("{}", "a"), settled("{}", "b")]).count, 1)
    assert.strictEqual(Limits.observe(Limits.noRepetition, [...three, settled("{\"x\":1}", "a")]).count, 1)
  })

  it("prices cached tokens apart and has no cost without a price", () => {
    const usage = {
      input_tokens: 1_000_000,
      output_tokens: 500_000,
      cache_read_tokens: 1_000_000,
      cache_write_tokens: 0
    }
    assert.strictEqual(costOf(usage, { input: 3, output: 10, cache_read: 0.5 }), 8.5)
    assert.strictEqual(costOf(usage, null), null)
  })

  it("groups neighbouring read-only calls and keeps the rest in order (2.7)", () => {
    const calls = ["r1", "r2", "w1", "r3", "w2"].map((id) => ({ id, name: id, arguments: "", input: {} }))
    assert.deepStrictEqual(
      ToolRuns.groups(calls, (c) => c.name.startsWith("r")).map((g) => g.map((c) => c.id)),
      [["r1", "r2"], ["w1"], ["r3"], ["w2"]]
    )
  })
})
