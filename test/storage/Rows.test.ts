import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Rows from "../../src/storage/Rows.ts"

const bytes = (value: string): number => new TextEncoder().encode(value).length
const kib = 1024

describe("shortened tool results (protocols 13)", () => {
  it("32 KiB exactly stays; a byte more becomes the first 24 KiB, a marker, the last 8 KiB", () => {
    const whole = "x".repeat(32 * kib)
    assert.strictEqual(Rows.shorten(whole), whole)
    const long = "a".repeat(24 * kib) + "b".repeat(5 * kib) + "c".repeat(8 * kib)
    assert.strictEqual(
      Rows.shorten(long),
      `${"a".repeat(24 * kib)}\n[... ${5 * kib} bytes left out ...]\n${"c".repeat(8 * kib)}`
    )
  })

  it.prop(
    "cut between characters, whatever stands at the cut",
    [FastCheck.constantFrom("ä", "€", "😀", "e\u0301"), FastCheck.integer({ min: 0, max: 7 })],
    ([unit, shift]) => {
      const long = "x".repeat(shift) + unit.repeat(Math.ceil((40 * kib) / bytes(unit)))
      const short = Rows.shorten(long)
      assert.notInclude(short, "\uFFFD")
      const [head = "", tail = ""] = short.split(/\n\[\.\.\. \d+ bytes left out \.\.\.\]\n/)
      assert.isTrue(long.startsWith(head) && long.endsWith(tail))
      assert.isAtMost(bytes(head), 24 * kib)
      assert.isAtMost(bytes(tail), 8 * kib)
      assert.isAtLeast(bytes(head), 24 * kib - 3)
      assert.isAtLeast(bytes(tail), 8 * kib - 3)
    }
  )
})

describe("columns", () => {
  it("a title is one line of at most 80 characters, or nothing", () => {
    assert.strictEqual(Rows.titleOf("  fix\n the\tbug \u001b[31m"), "fix the bug ␛[31m")
    assert.isNull(Rows.titleOf(" \n"))
    assert.strictEqual([...(Rows.titleOf("😀".repeat(100)) ?? "")].length, 80)
  })

  it("calls stand in the form other programs know, arguments byte for byte", () => {
    const columns = Rows.columnsOf({
      role: "assistant",
      content: [{ type: "text", text: "a" }, { type: "tool_call", id: "c", name: "bash", arguments: "{ \"x\" :1}" }]
    })
    assert.strictEqual(columns.content, "a")
    assert.deepStrictEqual(JSON.parse(columns.tool_calls ?? ""), [
      { id: "c", type: "function", function: { name: "bash", arguments: "{ \"x\" :1}" } }
    ])
    assert.strictEqual(columns.tool_call_count, 1)
    assert.isFalse(columns.reasoning_only)
  })

  it("attachments are named in content, a NUL is replaced there", () => {
    const columns = Rows.columnsOf({
      role: "user",
      content: [
        { type: "text", text: "see\0" },
        { type: "image", media_type: "image/png", data: "AAAA" },
        { type: "file", media_type: "application/pdf", data: "AAAA", filename: "a.pdf" }
      ]
    })
    assert.strictEqual(columns.content, "see\uFFFD\n[image image/png]\n[file a.pdf]")
    assert.include(columns.exact, "\\u0000")
  })
})
