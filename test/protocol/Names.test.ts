import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { createHash } from "node:crypto"
import { cacheKey } from "../../src/protocol/CacheKey.ts"
import * as CallIds from "../../src/protocol/CallIds.ts"
import * as ToolNames from "../../src/protocol/ToolNames.ts"
import { fromAnthropic, fromChat, fromResponses, mergeAnthropic } from "../../src/protocol/Usage.ts"

const sha = (text: string): string => createHash("sha256").update(text).digest("hex")

describe("tool names (1.9)", () => {
  it("unchanged up to the limit", () => {
    const name = "a".repeat(64)
    assert.strictEqual(ToolNames.alias(name), name)
    assert.strictEqual(ToolNames.alias("mcp__s__t", 10), "mcp__s__t")
  })

  it("beyond it: limit - 9 characters, _, 8 hex", () => {
    const name = "mcp__server__" + "x".repeat(80)
    assert.strictEqual(ToolNames.alias(name), `${name.slice(0, 55)}_${sha(name).slice(0, 8)}`)
    assert.strictEqual(ToolNames.alias(name, 20), `${name.slice(0, 11)}_${sha(name).slice(0, 8)}`)
  })

  it("characters are code points", () => {
    const name = "😀".repeat(65)
    assert.strictEqual(ToolNames.alias(name), `${"😀".repeat(55)}_${sha(name).slice(0, 8)}`)
    assert.strictEqual(ToolNames.alias("😀".repeat(64)), "😀".repeat(64))
  })

  it("characters that no provider takes are replaced, with a mark, and mapped back", () => {
    const table = ToolNames.make(["functions.bash", "functions_bash", ""])
    const sent = `functions_bash_${sha("functions.bash").slice(0, 8)}`
    assert.strictEqual(table.wire("functions.bash"), sent)
    assert.strictEqual(table.names.get(sent), "functions.bash")
    assert.strictEqual(table.wire("functions_bash"), "functions_bash")
    assert.strictEqual(table.wire(""), "unnamed_tool")
    assert.strictEqual(table.names.get("unnamed_tool"), "")
    const taken = ToolNames.make(["", "unnamed_tool"])
    assert.strictEqual(taken.wire("unnamed_tool"), "unnamed_tool")
    assert.strictEqual(taken.wire(""), `unnamed_tool_${sha("").slice(0, 16)}`)
  })

  it("an alias that meets another name takes 16 hex, and both map back", () => {
    const long = "a".repeat(70)
    const squatter = ToolNames.alias(long)
    for (const order of [[long, squatter], [squatter, long]]) {
      const table = ToolNames.make(order)
      assert.strictEqual(table.wire(squatter), squatter)
      assert.strictEqual(table.wire(long), `${long.slice(0, 47)}_${sha(long).slice(0, 16)}`)
      assert.strictEqual(table.names.get(table.wire(long)), long)
      assert.strictEqual(table.names.size, 1)
    }
  })

  it.prop("wire names fit, are distinct and map back", [
    FastCheck.uniqueArray(FastCheck.string({ maxLength: 90 }), { maxLength: 12 }),
    FastCheck.integer({ min: 18, max: 64 })
  ], ([names, limit]) => {
    const table = ToolNames.make(names, limit)
    const sent = names.map(table.wire)
    assert.strictEqual(new Set(sent).size, names.length)
    names.forEach((name, i) => {
      const wire = sent[i] ?? ""
      assert.isAtMost([...wire].length, limit)
      assert.strictEqual(table.names.get(wire) ?? wire, name)
    })
  })
})

describe("call ids (section 4: id alphabet, duplicates)", () => {
  it("a clean id is unchanged", () => {
    assert.strictEqual(CallIds.make().next("toolu_01AbC-d"), "toolu_01AbC-d")
  })

  it("bad characters and length: cleaned with a hash", () => {
    const id = "call:1/é"
    assert.strictEqual(CallIds.make().next(id), `call_1___${sha(id).slice(0, 8)}`)
    assert.strictEqual(CallIds.make().next("x".repeat(65)), `${"x".repeat(55)}_${sha("x".repeat(65)).slice(0, 8)}`)
  })

  it("duplicates are rewritten by position, the same way each time", () => {
    const ids = () => {
      const { next } = CallIds.make()
      return ["a", "a", "a_2", "a"].map(next)
    }
    assert.deepStrictEqual(ids(), ids())
    assert.strictEqual(new Set(ids()).size, 4)
    assert.deepStrictEqual(ids().slice(0, 2), ["a", "a_2"])
  })

  it("nine letters and digits", () => {
    const { next } = CallIds.make("short")
    for (const id of [next("abcdefghi"), next("call_1"), next("call_1"), next("")]) assert.match(id, /^[A-Za-z0-9]{9}$/)
  })

  it.prop("always legal and unique", [
    FastCheck.array(FastCheck.string({ maxLength: 80 }), { maxLength: 20 }),
    FastCheck.boolean()
  ], ([ids, short]) => {
    const { next } = CallIds.make(short ? "short" : "usual")
    const sent = ids.map(next)
    assert.strictEqual(new Set(sent).size, ids.length)
    for (const id of sent) assert.match(id, short ? /^[A-Za-z0-9]{9}$/ : /^[A-Za-z0-9_-]{1,64}$/)
  })
})

describe("cache key", () => {
  it("at most 64 characters, hashed when longer", () => {
    assert.strictEqual(cacheKey("ses_1"), "ses_1")
    assert.strictEqual(cacheKey("s".repeat(65)), sha("s".repeat(65)))
    assert.isUndefined(cacheKey(""))
    assert.isUndefined(cacheKey(undefined))
  })
})

describe("usage (section 6)", () => {
  it("A: input without cached", () => {
    assert.deepStrictEqual(fromAnthropic({ input: 10, read: 20, written: 5, output: 7 }), {
      input_tokens: 35,
      output_tokens: 7,
      total_tokens: 42,
      input_tokens_details: { cached_tokens: 20, cache_write_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 0 }
    })
  })
  it("A: later values overwrite, absent, null and nonsense do not reset", () => {
    const one = mergeAnthropic({}, { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 3 })
    const two = mergeAnthropic(one, { output_tokens: 9, input_tokens: null, cache_read_input_tokens: "x" })
    assert.deepStrictEqual(two, { input: 10, output: 9, read: 3 })
  })
  it("C: DeepSeek's cache fields", () => {
    assert.strictEqual(
      fromChat({ prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 })
        ?.input_tokens_details.cached_tokens,
      6
    )
  })
  it("C: more cached than asked means that the upstream excludes it already", () => {
    assert.strictEqual(
      fromChat({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 90 } })?.input_tokens,
      100
    )
  })
  it("R: cache writes of new servers", () => {
    assert.strictEqual(
      fromResponses({
        input_tokens: 10,
        output_tokens: 1,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 }
      })?.input_tokens_details.cache_write_tokens,
      3
    )
  })
  it("nothing reported is null", () => {
    for (const read of [fromChat, fromResponses]) {
      for (const usage of [null, undefined, {}, "x", { input_tokens: -1, prompt_tokens: -1 }]) {
        assert.isNull(read(usage))
      }
    }
    assert.isNull(fromAnthropic(mergeAnthropic({}, null)))
  })
})
