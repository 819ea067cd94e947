import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { lateMap } from "../../src/domain/LateMap.ts"

describe("lateMap", () => {
  it("is made once, and not for what is known", () => {
    let made = 0
    const whole = new Map([["a", 1], ["b", 2]])
    const map = lateMap(() => {
      made++
      return whole
    }, new Map([["a", 1]]))
    assert.deepStrictEqual([map.get("a"), map.has("a"), made], [1, true, 0])
    assert.deepStrictEqual([map.get("b"), map.has("c"), map.size, made], [2, false, 2, 1])
    const seen: Array<unknown> = []
    map.forEach((value, key, all) => seen.push([key, value, all === map]))
    assert.deepStrictEqual(seen, [["a", 1, true], ["b", 2, true]])
    assert.strictEqual(made, 1)
  })

  it.prop("is the map it makes", [FastCheck.dictionary(FastCheck.string(), FastCheck.integer())], ([object]) => {
    const whole = new Map(Object.entries(object))
    const map = lateMap(() => whole)
    assert.deepStrictEqual([...map], [...whole])
    assert.deepStrictEqual([...map.entries()], [...whole])
    assert.deepStrictEqual([...map.keys()], [...whole.keys()])
    assert.deepStrictEqual([...map.values()], [...whole.values()])
  })
})
