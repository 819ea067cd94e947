import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { nothingTyped, type Typed, typed } from "../../src/platform/SecretInput.ts"

const all = (pieces: ReadonlyArray<string>): Typed => pieces.reduce(typed, nothingTyped)

describe("a secret that is typed", () => {
  it("Enter ends it; backspace takes a character, Ctrl-U and Ctrl-W all of it", () => {
    assert.deepStrictEqual(all(["sk-1\u007f2\r"]).done, { type: "line", text: "sk-2" })
    assert.deepStrictEqual(all(["a\u{1F600}\b\n"]).done, { type: "line", text: "a" })
    assert.deepStrictEqual(all(["wrong\u0015right\r"]).done, { type: "line", text: "right" })
    assert.deepStrictEqual(all(["wrong\u0017right\r"]).done, { type: "line", text: "right" })
    assert.deepStrictEqual(all(["\u007f\r"]).done, { type: "line", text: "" })
  })

  it("Ctrl-C interrupts, Ctrl-D on nothing is the end and on something nothing", () => {
    assert.deepStrictEqual(all(["abc\u0003"]).done, { type: "interrupt" })
    assert.deepStrictEqual(all(["\u0004"]).done, { type: "end" })
    assert.deepStrictEqual(all(["a\u0004b\r"]).done, { type: "line", text: "ab" })
  })

  it("what ends it leaves nothing of it behind, and what comes later is not read", () => {
    const done = all(["secret\rmore", "and more\r"])
    assert.deepStrictEqual(done, { text: "", pending: "", done: { type: "line", text: "secret" } })
  })

  it("arrows, marks of a paste and other escape sequences are no part of it", () => {
    assert.deepStrictEqual(all(["\u001b[200~sk-12\u001b[201~\u001b[D\u001bOA\u001bx\t3\r"]).done, {
      type: "line",
      text: "sk-123"
    })
  })

  const keys = FastCheck.array(
    FastCheck.constantFrom(
      "a",
      "sk-",
      "é",
      "\u{1F600}",
      "\u007f",
      "\u0015",
      "\u001b[200~",
      "\u001b[1;5D",
      "\u001bOP",
      "\u001bz",
      "\t"
    ),
    { maxLength: 30 }
  )

  it.prop(
    "however the keys come in pieces, the answer is the same",
    [keys, FastCheck.array(FastCheck.nat(60))],
    ([parts, cuts]) => {
      const whole = `${parts.join("")}\r`
      const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length])].sort((a, b) =>
        a - b
      )
      // no terminal cuts a character in two: the bytes are decoded before
      const sound = places.filter((at) => !/[\uDC00-\uDFFF]/u.test(whole.charAt(at)))
      const pieces = sound.slice(1).map((end, at) => whole.slice(sound[at], end))
      assert.deepStrictEqual(all(pieces).done, all([whole]).done)
      assert.strictEqual(all([whole]).done?.type, "line")
    }
  )
})
