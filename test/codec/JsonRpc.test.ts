/** JSON-RPC 2.0; readings 1.3, D2, G3. */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as JsonRpc from "../../src/codec/JsonRpc.ts"

const id = FastCheck.oneof(FastCheck.string(), FastCheck.integer())
const params = FastCheck.option(
  FastCheck.oneof(
    FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue()),
    FastCheck.array(FastCheck.jsonValue())
  ),
  { nil: undefined }
)
const message: FastCheck.Arbitrary<JsonRpc.JsonRpcMessage> = FastCheck.oneof(
  FastCheck.tuple(id, FastCheck.string(), params).map(([i, m, p]) => JsonRpc.request(i, m, p)),
  FastCheck.tuple(FastCheck.string(), params).map(([m, p]) => JsonRpc.notification(m, p)),
  FastCheck.tuple(id, FastCheck.jsonValue()).map(([i, r]) => JsonRpc.success(i, r)),
  FastCheck.tuple(FastCheck.option(id), FastCheck.integer(), FastCheck.string()).map(([i, code, m]) =>
    JsonRpc.failure(i, { code, message: m })
  )
)

const only = (text: string): JsonRpc.JsonRpcItem => {
  const { items } = JsonRpc.parse(text)
  assert.strictEqual(items.length, 1)
  return items[0] ?? JsonRpc.notification("none")
}

describe("JsonRpc", () => {
  it.prop("D2 what is printed is read, on one line", [message], ([given]) => {
    const text = JsonRpc.print(given)
    assert.notInclude(text, "\n")
    assert.deepStrictEqual(JsonRpc.parse(text), { items: [JSON.parse(text) as JsonRpc.JsonRpcItem], batch: false })
  })

  it.prop("1.3 a batch is its messages, in order", [FastCheck.array(message, { minLength: 1 })], ([given]) => {
    const parsed = JsonRpc.parse(`[${given.map(JsonRpc.print).join(",")}]`)
    assert.deepStrictEqual(parsed, {
      items: given.map((each) => JSON.parse(JsonRpc.print(each)) as JsonRpc.JsonRpcItem),
      batch: true
    })
  })

  it.prop(
    "any text is read without an exception",
    [FastCheck.oneof(FastCheck.string(), FastCheck.json())],
    ([text]) => {
      assert.isAbove(JsonRpc.parse(text).items.length, 0)
    }
  )

  const invalid: ReadonlyArray<readonly [string, string, Omit<JsonRpc.JsonRpcInvalid, "_tag">]> = [
    ["no JSON", "hello", { why: "not_json", id: null, answer: false }],
    ["a number", "1", { why: "not_a_message", id: null, answer: false }],
    ["an empty batch", "[]", { why: "empty_batch", id: null, answer: false }],
    ["an empty object", "{}", { why: "not_a_message", id: null, answer: false }],
    ["another version", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", {
      why: "not_a_message",
      id: 1,
      answer: false
    }],
    ["an id that is none", "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", {
      why: "not_a_message",
      id: null,
      answer: false
    }],
    ["params that are none", "{\"id\":\"a\",\"method\":\"m\",\"params\":3}", {
      why: "not_a_message",
      id: "a",
      answer: false
    }],
    ["an error that is none", "{\"id\":7,\"error\":\"no\"}", { why: "not_a_message", id: 7, answer: true }],
    ["a result without an id", "{\"result\":1}", { why: "not_a_message", id: null, answer: true }],
    ["an id alone", "{\"jsonrpc\":\"2.0\",\"id\":7}", { why: "neither", id: 7, answer: false }],
    ["an id and a method that is none", "{\"id\":7,\"method\":1}", { why: "not_a_message", id: 7, answer: false }]
  ]
  for (const [name, text, expected] of invalid) {
    it(`1.3 ${name} is told apart`, () => {
      assert.deepStrictEqual(only(text), { _tag: "Invalid", ...expected })
    })
  }

  it("1.3 an error without an id, both members, params null, no version: taken as they are meant", () => {
    const error = { code: -1, message: "m" }
    assert.deepStrictEqual(only(JSON.stringify({ error })), { jsonrpc: "2.0", id: null, error })
    assert.deepStrictEqual(only("{\"id\":1,\"result\":{},\"error\":null}"), { jsonrpc: "2.0", id: 1, result: {} })
    assert.deepStrictEqual(only("{\"id\":1,\"result\":null,\"error\":{\"code\":-1,\"message\":\"m\"}}"), {
      jsonrpc: "2.0",
      id: 1,
      error
    })
    assert.deepStrictEqual(only("{\"method\":\"m\",\"params\":null}"), { jsonrpc: "2.0", method: "m" })
  })

  it("G3 names of prototypes are ordinary keys", () => {
    const item = only("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"__proto__\":{\"a\":1},\"constructor\":2}}")
    assert.isTrue("result" in item && JsonRpc.isJsonObject(item.result) && Object.hasOwn(item.result, "__proto__"))
    assert.strictEqual(Reflect.get({}, "a"), undefined)
    assert.deepStrictEqual(only("{\"__proto__\":{\"method\":\"m\"}}"), {
      _tag: "Invalid",
      why: "not_a_message",
      id: null,
      answer: false
    })
  })

  it("G3 nesting up to 200 passes, 201 does not; brackets in strings do not count", () => {
    const nested = (depth: number): string => `{"id":1,"result":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`
    assert.isFalse(JsonRpc.isInvalid(only(nested(200))))
    assert.deepStrictEqual(only(nested(201)), { _tag: "Invalid", why: "too_deep", id: 1, answer: true })
    assert.deepStrictEqual(only(nested(100_000)), { _tag: "Invalid", why: "too_deep", id: 1, answer: true })
    assert.isFalse(JsonRpc.isInvalid(only(JSON.stringify({ id: 1, result: `\\"${"[".repeat(500)}` }))))
  })
})
