import { assert, describe, it } from "@effect/vitest"
import { compare, missing } from "../../src/vectors/Compare.ts"

const path = (expected: unknown, output: unknown, absent?: ReadonlyArray<string>) =>
  compare(absent === undefined ? { expected: { output: expected } } : { expected: { output: expected }, absent }, {
    output
  })?.path ?? null

describe("compare", () => {
  it("18.3: listed keys are equal, unlisted ones free, a listed empty object is empty", () => {
    assert.isNull(path({ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }))
    assert.isNull(path({}, {}))
    assert.strictEqual(path({ a: {} }, { a: { b: 1 } }), "output.a")
    assert.strictEqual(path({ a: { b: 1 } }, { a: { b: 2 } }), "output.a.b")
    assert.strictEqual(path({ a: 1 }, []), "output")
    assert.strictEqual(path({ a: 1 }, null), "output")
  })

  it("18.3: null differs from absent, in both directions", () => {
    assert.strictEqual(path({ a: null }, {}), "output.a")
    assert.deepStrictEqual(compare({ expected: { output: { a: null } } }, { output: {} })?.got, missing)
    assert.isNull(path({ a: null }, { a: null }))
    assert.strictEqual(path({ a: 1 }, { a: null }), "output.a")
    assert.isNull(path({ __proto__: null, toString: 1 }, JSON.parse("{\"toString\":1}")))
    assert.strictEqual(path(JSON.parse("{\"toString\":1}"), {}), "output.toString")
  })

  it("18.3: arrays member by member and of equal length; numbers and types exact", () => {
    assert.isNull(path([1, { a: 1 }], [1, { a: 1, b: 2 }]))
    assert.strictEqual(path([1, 2], [1]), "output.length")
    assert.strictEqual(path([1], [1, 2]), "output.length")
    assert.strictEqual(path([1, 2], [1, 3]), "output.1")
    assert.strictEqual(path([], {}), "output")
    assert.strictEqual(path({ a: 1 }, { a: "1" }), "output.a")
    assert.strictEqual(path({ a: 1 }, { a: true }), "output.a")
    assert.strictEqual(path({ a: 9007199254740991 }, { a: 9007199254740990 }), "output.a")
  })

  it("18.3: in errors only the code counts; an error is no output", () => {
    const expected = { error: { code: "x" } }
    assert.isNull(compare({ expected }, { error: { code: "x" } }))
    assert.strictEqual(compare({ expected }, { error: { code: "y" } })?.path, "error.code")
    assert.strictEqual(compare({ expected }, { output: {} })?.path, "error")
    assert.strictEqual(compare({ expected: { output: {} } }, { error: { code: "x" } })?.path, "output")
  })

  it("18.3: absent paths must not exist, not even as null; they go through arrays", () => {
    assert.isNull(path({ a: 1 }, { a: 1 }, ["b", "a.b", "c.d"]))
    assert.strictEqual(path({ a: 1 }, { a: 1, b: null }, ["b"]), "output.b")
    assert.strictEqual(path({}, {}, ["toString"]), null)
    assert.strictEqual(path({ a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }] }, ["a.0.c"]), "output.a.0.c")
    assert.isNull(path({ a: [1] }, { a: [1] }, ["a.1"]))
  })
})
