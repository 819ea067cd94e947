import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as fs from "node:fs"
import * as path from "node:path"
import { replace } from "../../src/tools/edit/Replace.ts"
import { unifiedDiff } from "../../src/tools/edit/UnifiedDiff.ts"
import { failing, world } from "./workspace.ts"

const edit = (text: string, old_string: string, new_string: string, replace_all = false) =>
  replace(text, { old_string, new_string, replace_all })

const right = (text: string, old_string: string, new_string: string, replace_all = false): string =>
  Either.getOrThrowWith(edit(text, old_string, new_string, replace_all), (message) => new Error(message)).text

const left = (text: string, old_string: string, new_string: string, replace_all = false): string =>
  Either.match(edit(text, old_string, new_string, replace_all), {
    onLeft: (message) => message,
    onRight: (done) => `changed to ${JSON.stringify(done.text)}`
  })

/** Text of few different pieces, so that there are repetitions, with one kind of line ending. */
const piece = fc.constantFrom("a", "b", "ab", " ", "\t", "é", "😀", "x = 1;", "}", "\n", "\n\n")
const lfText = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(""))

describe("edit core", () => {
  it("an edit and its inverse restore the text, with LF and with CRLF", () => {
    fc.assert(
      fc.property(lfText, fc.nat(), fc.nat(), lfText, fc.boolean(), (base, from, length, next, crlf) => {
        const text = crlf ? base.replaceAll("\n", "\r\n") : base
        const start = from % (base.length + 1)
        const old = base.slice(start, start + 1 + length % 12)
        const there = edit(text, old, next)
        if (Either.isLeft(there)) return true
        // A text without any line break left no longer says which ones it had.
        if (crlf && old.includes("\n") && !there.right.text.includes("\n")) return true
        const back = edit(there.right.text, next, old)
        return Either.isLeft(back) || back.right.text === text
      }),
      { numRuns: 1000 }
    )
  })

  it("only the match changes; counts and places are true; nothing throws", () => {
    fc.assert(
      fc.property(lfText, lfText, lfText, fc.boolean(), (text, old, next, all) => {
        const result = edit(text, old, next, all)
        if (Either.isLeft(result)) return result.left.length > 0
        if (old === "") return text === "" && result.right.text === next
        const parts = text.split(old)
        return result.right.text === parts.join(next) && result.right.count === parts.length - 1 &&
          (all || result.right.count === 1)
      }),
      { numRuns: 1000 }
    )
  })

  it("random text of any kind never throws", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.string({ unit: "binary" }),
        fc.string(),
        fc.boolean(),
        (a, b, c, all) => {
          edit(a, b, c, all)
          edit(a + b + a, b, c, all)
          return true
        }
      ),
      { numRuns: 100 }
    )
  })

  it("line endings: LF strings edit CRLF files, what is put in gets the file's endings", () => {
    assert.strictEqual(right("a\r\nb\r\nc\r\n", "a\nb\n", "1\n2\n3\n"), "1\r\n2\r\n3\r\nc\r\n")
    assert.strictEqual(right("a\r\nb\r\nc", "b", "x\ny"), "a\r\nx\r\ny\r\nc")
    assert.strictEqual(right("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n")
    assert.strictEqual(right("\nb\r\n", "b", "c\nd"), "\nc\r\nd\r\n")
    assert.strictEqual(right("a\r\nb", "b", "c\nd"), "a\r\nc\r\nd")
    assert.strictEqual(right("a\r\nb\r\n", "\n", "", true), "ab")
    // Both kinds in one file: untouched lines stay, the exact form tells places apart.
    assert.strictEqual(right("x\ny\r\nz\n", "z", "w"), "x\ny\r\nw\n")
    assert.strictEqual(right("a\nb\r\n--a\r\nb", "a\nb", "c\nd"), "c\nd\r\n--a\r\nb")
    assert.match(left("a\r\nb", "a\r\nb", "a\nb"), /only in line endings/u)
    assert.strictEqual(right("a\rb\r\n", "a\rb", "c"), "c\r\n")
  })

  it("a missing final line break stays missing", () => {
    assert.strictEqual(right("a\nb", "b", "c"), "a\nc")
    assert.match(left("a\nb", "b\n", "c\n"), /ends without a line break; leave the last line break/u)
  })

  it("several matches: how many, on which lines, overlapping ones too", () => {
    assert.match(left("x\ny\nx\nx\n", "x", "z"), /occurs 3 times, on lines 1, 3, 4\..*replace_all/u)
    assert.match(left("aaa", "aa", "b"), /occurs 2 times/u)
    assert.strictEqual(right("aaa", "aa", "b", true), "ba")
    assert.match(left("x\n".repeat(50), "x", "z"), /occurs 50 times, on lines 1, .*, 20, \.\.\.\./u)
  })

  it("no match: the nearest places with a diff, or what the matter is", () => {
    const text = "function add(a, b) {\n  return a + b\n}\n\nfunction sub(a, b) {\n  return a - b\n}\n"
    const near = left(text, "function add(a, b) {\n  return a+b\n}", "x")
    assert.match(near, /not found/u)
    assert.include(near, "Nearest: lines 1-3; - is old_string, + is the file:")
    assert.include(near, "-  return a+b\n+  return a + b")
    assert.include(left(text, "    return a + b", "x"), "Nearest: line 2 (differs in white space only)")
    assert.include(left(text, "     1\tfunction add(a, b) {\n     2\t  return a + b", "x"), "contain the line numbers")
    assert.include(left(text, "class Zoo extends Park", "x"), "Nothing like it is there. Read the file again")
    assert.include(left("", "a", "b"), "not found")
  })

  it("nothing to do and nothing to look for are told", () => {
    assert.match(left("a", "a", "a"), /the same: there is nothing to change/u)
    assert.match(left("a", "", "b"), /old_string is empty.*use write/u)
    assert.strictEqual(right("", "", "new"), "new")
  })

  it("a large file and a large miss take little time", () => {
    const text = Array.from({ length: 60_000 }, (_, i) => `line ${i} with some words ${i % 97}`).join("\n")
    const wanted = Array.from({ length: 200 }, (_, i) => `line ${i + 30_000} with  other words ${i % 97}`).join("\n")
    const began = performance.now()
    assert.match(left(text, wanted, "x"), /not found/u)
    assert.isBelow(performance.now() - began, 5_000)
  })
})

describe("unified diff", () => {
  it("counts and shows; CR is not shown; long ones are cut", () => {
    assert.deepStrictEqual(unifiedDiff("a\nb\n", "a\nc\nd\n"), {
      text: "@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d",
      added: 2,
      removed: 1
    })
    assert.strictEqual(unifiedDiff("a\r\nb\r\n", "a\r\nc\r\n").text, "@@ -1,2 +1,2 @@\n a\n-b\n+c")
    assert.deepStrictEqual(unifiedDiff("same", "same"), { text: "", added: 0, removed: 0 })
    const [before, after] = [0, 1].map((n) => Array.from({ length: 9_000 }, (_, i) => `${n}-${i}`).join("\n"))
    assert.match(unifiedDiff(before ?? "", after ?? "").text, /too many changes to show: 9000 lines before/u)
    assert.match(unifiedDiff("a\n", "b\n".repeat(500), { max_lines: 10 }).text, /\.\.\. 492 more lines of diff$/u)
  })
})

describe("edit", () => {
  it.scoped("changes one place, keeps mode, mark and encoding, shows the diff", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      fs.chmodSync(put("run.sh", "#!/bin/sh\necho one\n"), 0o755)
      const done = yield* call("edit", { path: "run.sh", old_string: "one", new_string: "two" })
      assert.strictEqual(
        done.output,
        "Edited run.sh: 1 replacement, +1 -1.\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo one\n+echo two"
      )
      assert.strictEqual(fs.statSync(path.join(root, "run.sh")).mode & 0o777, 0o755)
      put("bom.cs", "\uFEFFa\r\nb")
      yield* call("edit", { path: "bom.cs", old_string: "a\n", new_string: "x\ny\n" })
      assert.strictEqual(text("bom.cs"), "\uFEFFx\r\ny\r\nb")
      put("wide.txt", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("grün\n", "utf16le")]))
      yield* call("edit", { path: "wide.txt", old_string: "grün", new_string: "😀" })
      assert.strictEqual(fs.readFileSync(path.join(root, "wide.txt")).toString("utf16le"), "\uFEFF😀\n")
      put("old.txt", Buffer.from("\xe9t\xe9 \x93x\n", "latin1"))
      yield* call("edit", { path: "old.txt", old_string: "x", new_string: "ü" })
      assert.strictEqual(fs.readFileSync(path.join(root, "old.txt"), "latin1"), "\xe9t\xe9 \x93\xfc\n")
      assert.match(
        yield* failing(call("edit", { path: "old.txt", old_string: "ü", new_string: "€" })),
        /beyond Latin-1/u
      )
      const all = yield* call("edit", { path: "run.sh", old_string: "o", new_string: "0", replace_all: true })
      assert.match(all.output, /2 replacements/u)
    }))

  it.scoped("refuses what changed since it was read, binary and missing files; needs no read before", () =>
    Effect.gen(function*() {
      const { call, put, text } = yield* world()
      put("f", "a\n")
      yield* call("edit", { path: "f", old_string: "a", new_string: "b" })
      yield* call("edit", { path: "f", old_string: "b", new_string: "c" })
      put("f", "c, and more\n")
      assert.match(yield* failing(call("edit", { path: "f", old_string: "c", new_string: "d" })), /changed on disk/u)
      assert.strictEqual(text("f"), "c, and more\n")
      put("bin", new Uint8Array([0, 1, 2]))
      assert.match(yield* failing(call("edit", { path: "bin", old_string: "a", new_string: "b" })), /is not text/u)
      assert.match(
        yield* failing(call("edit", { path: "g", old_string: "a", new_string: "b" })),
        /To create a file use write/u
      )
      assert.match(yield* failing(call("edit", { path: ".", old_string: "a", new_string: "b" })), /is a directory/u)
      assert.match(yield* failing(call("edit", { path: "f", old_string: "zzz", new_string: "b" })), /changed on disk/u)
      yield* call("read", { path: "f" })
      assert.match(
        yield* failing(call("edit", { path: "f", old_string: "zzz", new_string: "b" })),
        /^f: old_string was not found/u
      )
      assert.match(yield* failing(call("edit", { path: "f", old: "zzz", new_string: "b" })), /old_string/u)
    }))
})
