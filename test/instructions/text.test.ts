import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { patternsOf } from "../../src/instructions/AllowedTools.ts"
import { mentions } from "../../src/instructions/Mentions.ts"
import { appended } from "../../src/instructions/Notes.ts"
import { foldersTo, nestedFolders } from "../../src/instructions/Places.ts"
import { cutTo, decode } from "../../src/instructions/Text.ts"
import { skillsText } from "../../src/instructions/Wording.ts"

describe("text", () => {
  it.prop("any bytes are text without control characters, or said to be none", [
    FastCheck.uint8Array({ maxLength: 200 })
  ], ([bytes]) => {
    const decoded = decode(bytes)
    if ("problem" in decoded) return
    assert.notMatch(decoded.text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    assert.strictEqual(decoded.text, decoded.text.trim())
  })

  it("letters that no editor shows are counted where they stand, those of emoji and names stay", () => {
    const shown = (text: string) => {
      const decoded = decode(new TextEncoder().encode(text))
      return "problem" in decoded ? null : decoded
    }
    for (const run of ["\u{e0041}\u{e0042}", "\u{e0101}\u{e0155}", "\u200b\u200b", "\ufe00\ufe01", "\u2060\u{e0100}"]) {
      assert.strictEqual(shown(`a${run}b`)?.text, "a[2 hidden characters]b")
      assert.include(shown(`a${run}b`)?.remark ?? "", "2 characters that no editor shows")
    }
    for (const text of ["\u2764\ufe0f", "\u845b\u{e0100}", "\u{1f468}\u200d\u{1f469}", "a\u200cb"]) {
      assert.deepStrictEqual(shown(text), { text, remark: null })
    }
  })

  it.prop("a beginning that was cut in a character has no broken one", [
    FastCheck.string({ unit: "grapheme", maxLength: 80 }),
    FastCheck.nat()
  ], ([text, at]) => {
    const bytes = new TextEncoder().encode(text)
    const decoded = decode(bytes.subarray(0, at % (bytes.length + 1)), false)
    const whole = decode(bytes)
    if ("problem" in decoded || "problem" in whole || text.includes("\ufffd")) return
    assert.notInclude(decoded.text, "\ufffd")
    assert.strictEqual(decoded.remark?.includes("Latin-1") ?? false, false)
  })

  it.prop("a cut is the beginning and fits", [
    FastCheck.string({ unit: "grapheme", maxLength: 200 }),
    FastCheck.integer({ min: 1, max: 300 })
  ], ([text, most]) => {
    const { cut, text: kept } = cutTo(text, most)
    assert.isTrue(text.startsWith(kept))
    assert.isAtMost(new TextEncoder().encode(kept).length, most)
    if (!cut) assert.strictEqual(kept, text)
  })

  it("mentions are paths, not people, packages in code or addresses", () => {
    assert.deepStrictEqual(
      mentions("see @a/b.md, (@./c) and @x. @~/d me@e.org `@no.md` @https://x.y/z @@f @scope/pkg").map((each) => [
        each.path,
        each.explicit
      ]),
      [["a/b.md", true], ["./c", true], ["x", false], ["~/d", true], ["scope/pkg", false]]
    )
  })

  it.prop("mentions never come out of fenced code", [
    FastCheck.array(FastCheck.constantFrom("@a.md", "text", "", "    @b.md"))
  ], ([lines]) => {
    assert.deepStrictEqual(mentions(["```", ...lines, "```"].join("\n")), [])
  })

  it("folders on the way", () => {
    assert.deepStrictEqual(foldersTo("/r", "/r/a/b"), ["/r/a", "/r/a/b"])
    assert.deepStrictEqual(foldersTo("/r", "/rx/a"), [])
    assert.deepStrictEqual(foldersTo("/", "/a"), ["/a"])
    assert.deepStrictEqual(nestedFolders({ root: "/r", cwd: "/r/a" }, "/r/a/b/c.ts"), ["/r/a/b"])
    assert.deepStrictEqual(nestedFolders({ root: "/r", cwd: "/r" }, "/r/vendor/b/c.ts"), [])
  })

  it("skills have room for so many names, and say what is missing", () => {
    const skills = Array.from({ length: 500 }, (_, n) => ({ name: `s${n}`, description: "d".repeat(2000), own: false }))
    const text = skillsText(skills)
    assert.isBelow(text.length, 26 * 1024)
    assert.match(text, /and \d+ more, which have no room here$/)
    assert.strictEqual(skillsText([]), "")
  })
})

describe("allowed-tools", () => {
  it("is read as other agents write it, and never wider than it is written", () => {
    assert.deepStrictEqual(patternsOf("Bash(git add:*)"), ["bash(git add)", "bash(git add *)"])
    assert.deepStrictEqual(patternsOf("bash(npm run *)"), ["bash(npm run *)"])
    assert.deepStrictEqual(patternsOf("Read"), ["read"])
    assert.deepStrictEqual(patternsOf("Edit"), ["edit", "apply_patch"])
    assert.deepStrictEqual(patternsOf("mcp__github__list"), ["mcp__github__list"])
    for (const wide of ["*", "**", "b*(x)", "bash(x", "", "*(git *)", "mcp__*"]) {
      assert.deepStrictEqual(patternsOf(wide), [], wide)
    }
  })
})

describe("notes", () => {
  it.prop("a note keeps every byte before it and ends as the file does", [
    FastCheck.string({ maxLength: 60 }).map((text) => text.replaceAll("\0", "")),
    FastCheck.string({ minLength: 1, maxLength: 40 }).map((text) => text.replaceAll("\0", ""))
  ], ([before, note]) => {
    const bytes = new TextEncoder().encode(before)
    const made = appended(bytes, note)
    if ("problem" in made) return assert.fail(made.problem)
    assert.deepStrictEqual(made.bytes.subarray(0, bytes.length), bytes)
    assert.match(new TextDecoder().decode(made.bytes.subarray(bytes.length)), /- [\s\S]*\n$/)
  })

  it("lists go on, paragraphs get a line between, CRLF stays", () => {
    const after = (before: string, note: string): string => {
      const made = appended(new TextEncoder().encode(before), note)
      return "problem" in made ? made.problem : new TextDecoder("utf-8", { ignoreBOM: true }).decode(made.bytes)
    }
    assert.strictEqual(after("", "a"), "- a\n")
    assert.strictEqual(after("- x\n", "a"), "- x\n- a\n")
    assert.strictEqual(after("# T\ntext", "a\nb"), "# T\ntext\n\n- a\n  b\n")
    assert.strictEqual(after("x\r\n", "a"), "x\r\n\r\n- a\r\n")
    assert.strictEqual(after("\ufeff", "a"), "\ufeff- a\n")
    assert.deepStrictEqual(appended(new Uint8Array([0xff, 0xfe, 0]), "a"), { problem: "is not UTF-8" })
  })
})
