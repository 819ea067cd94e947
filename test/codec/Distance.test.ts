import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { distance, nearest } from "../../src/codec/Distance.ts"

describe("nearest name", () => {
  it("counts insert, delete, replace and swap as one", () => {
    const table: ReadonlyArray<readonly [string, string, number]> = [
      ["", "", 0],
      ["abc", "abc", 0],
      ["abc", "abd", 1],
      ["abc", "ab", 1],
      ["abc", "acb", 1],
      ["modle", "model", 1],
      ["", "abc", 3],
      ["kitten", "sitting", 3]
    ]
    for (const [a, b, expected] of table) assert.strictEqual(distance(a, b), expected)
  })

  it("finds slips and unfinished words, and nothing far away", () => {
    const names = ["--model", "--max-turns", "--max-cost", "--allow", "--deny"]
    assert.strictEqual(nearest("--modle", names), "--model")
    assert.strictEqual(nearest("--MODEL", names), "--model")
    assert.strictEqual(nearest("--max-turn", names), "--max-turns")
    assert.strictEqual(nearest("--xyzzy-plugh", names), undefined)
    assert.strictEqual(nearest("", names), undefined)
  })

  it.prop("is symmetric and zero only for equal words", [
    FastCheck.string({ maxLength: 8 }),
    FastCheck.string({ maxLength: 8 })
  ], ([
    a,
    b
  ]) => {
    assert.strictEqual(distance(a, b), distance(b, a))
    assert.strictEqual(distance(a, b) === 0, a === b)
  })
})
