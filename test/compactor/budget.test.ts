import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { make as gate, mayExceed } from "../../src/agent/CompactionGate.ts"
import { countOf, estimate, exceeds, hundredths, total } from "../../src/compactor/Budget.ts"
import type { CompactorService } from "../../src/compactor/Compactor.ts"
import type { Message } from "../../src/domain/Message.ts"
import { histories, said, system, user } from "./support.ts"

describe("the trigger (5.1)", () => {
  it("is nine tenths, strictly, in integers", () => {
    for (
      const [tokens, max, over] of [[900, 1000, false], [901, 1000, true], [9, 10, false], [10, 11, true]] as const
    ) {
      assert.strictEqual(exceeds(tokens, max), over)
    }
  })
})

describe("the count of a message (5.2)", () => {
  it("its own where it is a finite number from 0, else the estimate", () => {
    assert.strictEqual(countOf(user("hello", 0)), 0)
    assert.strictEqual(countOf(user("hello", 7.5)), 7.5)
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.strictEqual(countOf(user("hello", wrong)), estimate(user("hello")))
    }
  })

  it("weighs code points", () => {
    const table: ReadonlyArray<readonly [text: string, hundredths: number]> = [
      ["", 0],
      ["a", 27],
      ["abcd", 108],
      ["{}", 80],
      [" \n[1]\t", 6 * 40],
      ["{", 27],
      ["[", 27],
      ["{a", 54],
      ["é", 75],
      ["文字", 150],
      ["😀", 200],
      ["\ud83d", 75],
      ["\ude00", 75],
      ["\ud83da", 102],
      ["{\"k\": \"文😀\"}", 9 * 40 + 75 + 200]
    ]
    for (const [text, expected] of table) assert.strictEqual(hundredths(text), expected, JSON.stringify(text))
  })

  it("four for a message, its parts together, rounded up once; an image 1,600; the placeholder 4", () => {
    assert.strictEqual(estimate({ role: "user", content: "" }), 4)
    assert.strictEqual(estimate({ role: "user", content: "ab" }), 5)
    assert.strictEqual(
      estimate({
        role: "assistant",
        content: [
          { type: "text", text: "a" },
          { type: "reasoning", text: "b" },
          { type: "tool_call", id: "never counted", name: "cd", arguments: "{}" }
        ]
      }),
      4 + Math.ceil((27 + 27 + 54 + 80) / 100)
    )
    assert.strictEqual(
      estimate({ role: "user", content: [{ type: "image", media_type: "image/png", data: "x".repeat(9000) }] }),
      1604
    )
    assert.strictEqual(
      estimate({ role: "assistant", content: "a", tool_calls: [{ id: "i", name: "b", arguments: "{}" }] }),
      4 + Math.ceil((27 + 27 + 80) / 100)
    )
    assert.strictEqual(estimate({ role: "tool", tool_call_id: "a", content: "[compacted]" }), 4)
  })

  it.prop("is that of the rule read word for word", [FastCheck.string({ unit: "binary" })], ([text]) => {
    const trimmed = text.replaceAll(/^[\t-\r ]+|[\t-\r ]+$/g, "")
    const json = trimmed.length > 1 && /^[{[]/.test(trimmed) && /[}\]]$/.test(trimmed)
    let expected = 0
    for (const point of text) {
      const code = point.codePointAt(0) ?? 0
      expected += code < 128 ? (json ? 40 : 27) : code < 0x10000 ? 75 : 200
    }
    assert.strictEqual(hundredths(text), expected)
  })
})

describe("the gate before the compactor", () => {
  const compactor: CompactorService = {
    budget: () => null,
    reserve_recent: 3,
    compact: () => {
      throw new Error("not needed")
    }
  }

  it.prop(
    "never lets a conversation pass that is over the trigger",
    [histories, FastCheck.integer({ min: 1, max: 3000 }), FastCheck.option(FastCheck.nat(2000)), FastCheck.nat(20)],
    ([messages, max_tokens, tokens, at]) => {
      const on = gate(compactor, max_tokens)
      const known = tokens === null ? null : { tokens, messages: Math.min(at, messages.length) }
      on.measured = known
      const real = known === null
        ? total([system, ...messages])
        : known.tokens + total(messages.slice(known.messages))
      if (exceeds(real, max_tokens)) assert.isTrue(mayExceed(on, system, messages))
    }
  )

  it("lets a small one pass, whatever the provider counted of an earlier one", () => {
    assert.isFalse(mayExceed(gate(compactor, 1000), system, [user("hello"), said("hi")]))
    const on = gate(compactor, 1000)
    on.measured = { tokens: 900, messages: 2 }
    const messages: Array<Message> = [user("x".repeat(9000)), said("hi")]
    assert.isFalse(mayExceed(on, system, messages), "what the provider counted is not weighed again")
    messages.push(user("more"))
    assert.isTrue(mayExceed(on, system, messages))
  })
})
