import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { createHash } from "node:crypto"
import { canonicalName, catalogue, isAmbiguousServer, McpNameError, normalise } from "../../src/mcp/Names.ts"

const part = FastCheck.oneof(
  FastCheck.fullUnicodeString({ minLength: 1 }),
  FastCheck.string16bits({ minLength: 1 }),
  FastCheck.constantFrom("a", "a b", "a.b", "a_b", "claude.ai A", "mcp__x", "b__c")
)
const tools = FastCheck.array(FastCheck.record({ server: part, tool: part }), { maxLength: 12 })

describe("names of MCP tools", () => {
  it.prop("1.6: one underscore a code point, and nothing else changes", [part], ([text]) => {
    const points = [...text]
    const normal = normalise(text)
    assert.strictEqual(normal.length, points.length)
    points.forEach((point, i) => assert.strictEqual(normal[i], /^[A-Za-z0-9_-]$/.test(point) ? point : "_"))
  })

  it("1.6: empty parts are errors that say which", () => {
    for (
      const [server, tool, reason] of [["", "x", "empty_server"], ["x", "", "empty_tool"], [
        "",
        "",
        "empty_server"
      ]] as const
    ) {
      try {
        canonicalName(server, tool)
        assert.fail("no error")
      } catch (error) {
        assert.instanceOf(error, McpNameError)
        if (error instanceof McpNameError) assert.strictEqual(error.reason, reason)
      }
    }
  })

  it.prop("1.8: names do not depend on the order of arrival", [tools, FastCheck.integer()], ([given, seed]) => {
    const order = given.map((_, i) => i).toSorted((a, b) => ((a * 7919 + seed) % 13) - ((b * 7919 + seed) % 13))
    const straight = catalogue(given).names
    const turned = catalogue(order.flatMap((i) => given[i] ?? [])).names
    order.forEach((i, at) => assert.strictEqual(turned[at], straight[i]))
  })

  it.prop("1.8: different tools never share a name, and no shared name is bound", [tools], ([given]) => {
    const { collisions, names } = catalogue(given)
    const bound = new Map<string, string>()
    names.forEach((name, i) => {
      // what no UTF-8 can tell apart is one tool
      const pair = Buffer.from(`${given[i]?.server}\0${given[i]?.tool}`).toString("hex")
      assert.strictEqual(bound.get(name) ?? pair, pair)
      bound.set(name, pair)
    })
    for (const { name, tools: members } of collisions) {
      assert.isAtLeast(members.length, 2)
      for (const i of members) {
        const tool = given[i]
        const hash = createHash("sha256").update(`${tool?.server}\0${tool?.tool}`).digest("hex")
        assert.include([`${name}_${hash.slice(0, 8)}`, `${name}_${hash.slice(0, 16)}`], names[i])
      }
      assert.notInclude(names, name)
    }
  })

  it("1.8: servers whose names can be read in two ways", () => {
    for (const server of ["a__b", "_a", "a_", "a. b", ".a"]) assert.isTrue(isAmbiguousServer(server), server)
    for (const server of ["a", "a_b", "claude.ai  A ", "a-b"]) assert.isFalse(isAmbiguousServer(server), server)
  })
})
