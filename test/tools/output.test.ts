import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Output from "../../src/tools/Output.ts"

const small: Output.Limits = { max_bytes: 40, max_lines: 6 }
const bytes = (text: string): number => new TextEncoder().encode(text).length
const note = /\[\.\.\. ([\d,]+) bytes, ([\d,]+) lines left out(; [^\]]*)? \.\.\.\]\n/u

const prose = FastCheck.string({
  unit: FastCheck.constantFrom("a", "b", " ", "\n", "\n", "\r", "é", "€", "😀", "\u0000", "\u001b"),
  maxLength: 200
})

describe("Output", () => {
  it("short text stays what it is", () => {
    for (const text of ["", "a", "a\n", "\n\n", "é".repeat(20)]) {
      assert.deepStrictEqual(Output.truncate(text, small), { text, omitted_bytes: 0, omitted_lines: 0 })
    }
  })

  it("long text keeps whole lines of both ends and says what is missing, and where it is", () => {
    const text = Array.from({ length: 100 }, (_, i) => `line ${i}\n`).join("")
    const cut = Output.truncate(text, { max_bytes: 60, max_lines: 50 }, "full output: /x")
    assert.strictEqual(
      cut.text,
      `line 0\nline 1\nline 2\nline 3\n[... 738 bytes, 93 lines left out; full output: /x ...]\nline 97\nline 98\nline 99\n`
    )
    assert.deepStrictEqual([cut.omitted_bytes, cut.omitted_lines], [738, 93])
  })

  it("too many short lines are cut by their number", () => {
    const cut = Output.truncate("x\n".repeat(1000), { max_bytes: 30_000, max_lines: 10 })
    assert.strictEqual(cut.text, `${"x\n".repeat(5)}[... 1,980 bytes, 990 lines left out ...]\n${"x\n".repeat(5)}`)
  })

  it("one endless line is cut between characters", () => {
    const cut = Output.truncate("😀".repeat(1000), { max_bytes: 42, max_lines: 10 })
    assert.strictEqual(cut.text, `${"😀".repeat(5)}\n[... 3,960 bytes, 0 lines left out ...]\n${"😀".repeat(5)}`)
  })

  it.prop("the kept ends are ends of the text, within the limits, and the counts add up", [prose], ([text]) => {
    const cut = Output.truncate(text, small)
    const found = note.exec(cut.text)
    if (found === null) return assert.strictEqual(cut.text, text)
    const tail = cut.text.slice(found.index + found[0].length)
    const before = cut.text.slice(0, found.index)
    const head = text.startsWith(before) && bytes(before) <= 20 ? before : before.slice(0, -1)
    assert.isTrue(text.startsWith(head) && text.endsWith(tail))
    assert.isAtMost(bytes(head), 20)
    assert.isAtMost(bytes(tail), 20)
    assert.strictEqual(bytes(text) - bytes(tail) - cut.omitted_bytes, bytes(head))
    assert.isFalse(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(cut.text))
  })

  it.prop("any split of the bytes gives the same", [prose, FastCheck.array(FastCheck.nat(800))], ([text, cuts]) => {
    const all = new TextEncoder().encode(text)
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    let window = Output.emptyWindow(small)
    let at = 0
    for (const cut of [...cuts.sort((a, b) => a - b), all.length]) {
      const end = Math.min(Math.max(cut, at), all.length)
      window = Output.push(window, decoder.decode(all.subarray(at, end), { stream: true }))
      at = end
    }
    window = Output.push(window, decoder.decode())
    assert.deepStrictEqual(Output.render(window), Output.truncate(text, small))
  })

  it("memory stays bounded over a long stream", () => {
    let window = Output.emptyWindow()
    for (let i = 0; i < 5_000; i++) window = Output.push(window, `${"x".repeat(99)}\n`)
    assert.isAtMost(window.head.length + window.tail.length, 4 * Output.defaultLimits.max_bytes)
    assert.strictEqual(window.bytes, 500_000)
    assert.strictEqual(Output.lines(window), 5_000)
  })
})
