import { assert, describe, it } from "@effect/vitest"
import { createPatch, createTwoFilesPatch } from "diff"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { TextFile } from "../../src/tools/edit/Text.ts"
import { parsePatch } from "../../src/tools/patch/Parse.ts"
import type { Patch } from "../../src/tools/patch/Patch.ts"
import { type FileVersion, planPatch } from "../../src/tools/patch/Plan.ts"
import { failing, world } from "./workspace.ts"

const parsed = (text: string): Patch => Either.getOrThrowWith(parsePatch(text), (message) => new Error(message))
const complaint = (text: string): string =>
  Either.match(parsePatch(text), { onLeft: (m) => m, onRight: (p) => `parsed: ${JSON.stringify(p)}` })

const version = (text: string): FileVersion => ({ content: { text, encoding: "utf-8", bom: false }, mode: 0o644 })
const textOf = (v: FileVersion | null | undefined): string | null =>
  v === null || v === undefined ? null : (v.content as TextFile).text

/** Files after the patch, as a plain record. */
const applied = (patch: string, before: Record<string, string>): Record<string, string> | string => {
  const files = new Map(Object.entries(before).map(([name, text]) => [name, version(text)]))
  const plan = planPatch(parsed(patch), (name) => name, files)
  if (Either.isLeft(plan)) return plan.left.join("\n")
  const after = new Map(Object.entries(before))
  for (const outcome of plan.right.outcomes) {
    const text = textOf(outcome.after)
    if (text === null) after.delete(outcome.path)
    else after.set(outcome.path, text)
  }
  return Object.fromEntries(after)
}

const notes = (patch: string, before: Record<string, string>): ReadonlyArray<string> => {
  const files = new Map(Object.entries(before).map(([name, text]) => [name, version(text)]))
  return Either.getOrThrowWith(planPatch(parsed(patch), (name) => name, files), (m) => new Error(m.join("\n"))).notes
}

const begin = (...lines: ReadonlyArray<string>): string => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n")

/** Lines with repetitions, both line endings, unicode, with and without a final line break. */
const anyLine = fc.constantFrom(
  "a",
  "b",
  "c",
  "",
  " ",
  "  x",
  "é😀",
  "-- y",
  "++ z",
  "\\ no",
  "@@ -1 +1 @@",
  "*** End Patch",
  "--- a/f",
  "+++ b/f",
  "diff --git a b",
  "\t"
)
const ending = fc.constantFrom("\n", "\n", "\n", "\r\n")
const anyText = fc.tuple(
  fc.array(fc.tuple(anyLine, ending), { maxLength: 25 }),
  fc.option(anyLine.filter((l) => l !== ""))
)
  .map(([lines, last]) => lines.map(([line, end]) => line + end).join("") + (last ?? ""))
/** A text and a changed form of it: some lines dropped, doubled or replaced. */
const pair = fc.tuple(anyText, fc.array(fc.tuple(fc.nat(), fc.nat(3), anyLine), { maxLength: 6 })).map(
  ([before, changes]) => {
    const lines = before.split(/(?<=\n)/u)
    for (const [at, kind, line] of changes) {
      const i = at % (lines.length + 1)
      if (kind === 0) lines.splice(i, 1)
      else if (kind === 1) lines.splice(i, 0, `${line}\n`)
      else if (kind === 2) lines.splice(i, 1, `${line}\r\n`)
      else lines.splice(i, 0, lines[i] ?? "")
    }
    // Only the last line may lack its line break.
    const after = lines.map((line, i) =>
      i < lines.length - 1 && !line.endsWith("\n") && line !== "" ? `${line}\n` : line
    ).join("")
    return [before, after] as const
  }
)

describe("unified diffs", () => {
  it("a diff made by the diff library gives the target", () => {
    fc.assert(
      fc.property(pair, fc.constantFrom(0, 1, 3), ([before, after], context) => {
        // Without context nothing tells a lone LF in a CRLF file from a patch that was made with LF.
        if (before === after || (context === 0 && /\r/u.test(before + after))) return true
        const patch = createTwoFilesPatch("a/f", "b/f", before, after, undefined, undefined, { context })
        const result = applied(patch, { f: before })
        return typeof result !== "string" && result["f"] === after
      }),
      { numRuns: 600 }
    )
  })

  it("a diff made by git gives the target, for many files at once", () => {
    const base = fs.mkdtempSync(path.join(os.tmpdir(), "patch-"))
    try {
      const pairs = fc.sample(pair, { numRuns: 250, seed: 7 }).filter(([a, b]) => a !== b)
      const names = ["plain", "with blank", "ümlaut", "tab\tname", "quo\"te", "back\\slash", "a/b/c", "-dash"]
      fs.mkdirSync(path.join(base, "a"))
      fs.mkdirSync(path.join(base, "b"))
      const before: Record<string, string> = {}
      const after: Record<string, string> = {}
      pairs.forEach(([from, to], i) => {
        const name = `${names[i % names.length] ?? ""}${i}`
        const put = (side: string, text: string) => {
          const at = path.join(base, side, name)
          fs.mkdirSync(path.dirname(at), { recursive: true })
          fs.writeFileSync(at, text)
        }
        if (i % 11 !== 3) {
          put("a", from)
          before[name] = from
        }
        if (i % 13 !== 5 || !(name in before)) {
          put("b", to)
          after[name] = to
        }
      })
      for (const args of [[], ["-U1"], ["--minimal", "-U5"]]) {
        const run = childProcess.spawnSync("git", ["diff", "--no-index", "--no-renames", ...args, "a", "b"], {
          cwd: base,
          encoding: "utf8",
          maxBuffer: 1 << 28
        })
        const patch = run.stdout.replaceAll(/^(diff --git "?a\/|--- "?a\/|\+\+\+ "?b\/)[ab]\//gmu, "$1")
          .replaceAll(/^(diff --git (?:"(?:[^"\\]|\\.)*"|\S.*?) "?b\/)[ab]\//gmu, "$1")
        assert.deepStrictEqual(applied(patch, before), after)
      }
    } finally {
      fs.rmSync(base, { recursive: true })
    }
  })

  it("git's renames, copies, modes, empty files", () => {
    const base = fs.mkdtempSync(path.join(os.tmpdir(), "patch-"))
    const git = (...args: ReadonlyArray<string>): string =>
      childProcess.execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@e", ...args], {
        cwd: base,
        encoding: "utf8"
      })
    try {
      git("init", "-q")
      const body = Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join("")
      fs.writeFileSync(path.join(base, "old name"), body)
      fs.writeFileSync(path.join(base, "tool"), "#!/bin/sh\n")
      fs.writeFileSync(path.join(base, "gone"), "")
      fs.writeFileSync(path.join(base, "kept"), body + "kept\n")
      git("add", "-A")
      git("commit", "-qm", "one")
      git("mv", "old name", "new name")
      fs.writeFileSync(path.join(base, "new name"), body.replace("line 15", "LINE 15"))
      fs.chmodSync(path.join(base, "tool"), 0o755)
      fs.unlinkSync(path.join(base, "gone"))
      fs.writeFileSync(path.join(base, "fresh"), "")
      fs.writeFileSync(path.join(base, "kept"), body + "kept!\n")
      fs.writeFileSync(path.join(base, "copy"), body + "kept\n")
      git("add", "-A")
      const patch = git("diff", "--cached", "-M", "-C", "--find-copies-harder")
      assert.include(patch, "rename from")
      assert.include(patch, "copy from")
      const before = { "old name": body, tool: "#!/bin/sh\n", gone: "", kept: body + "kept\n" }
      assert.deepStrictEqual(applied(patch, before), {
        tool: "#!/bin/sh\n",
        kept: body + "kept!\n",
        "new name": body.replace("line 15", "LINE 15"),
        fresh: "",
        copy: body + "kept\n"
      })
      const mode = parsed(patch).changes.find((change) => change.path === "tool")
      assert.strictEqual(mode?.kind === "update" ? mode.mode : undefined, 0o755)
      git("commit", "-qm", "two")
      assert.deepStrictEqual(
        applied(git("format-patch", "--stdout", "-M", "-C", "HEAD~1"), before),
        applied(patch, before)
      )
      assert.deepStrictEqual(
        applied(git("-c", "diff.noprefix=true", "diff", "HEAD~1", "-M"), before),
        applied(patch, before)
      )
    } finally {
      fs.rmSync(base, { recursive: true })
    }
  })

  it("wrong line numbers and counts are put right and said; ambiguous places are refused", () => {
    const file = { f: "a\nb\nc\nd\ne\nf\n" }
    const off = "--- f\n+++ f\n@@ -40,2 +40,2 @@\n c\n-d\n+D\n"
    assert.deepStrictEqual(applied(off, file), { f: "a\nb\nc\nD\ne\nf\n" })
    assert.match(notes(off, file).join(), /found at line 3, not 40/u)
    const count = "--- f\n+++ f\n@@ -3,9 +3,1 @@\n c\n-d\n+D\n"
    assert.deepStrictEqual(applied(count, file), { f: "a\nb\nc\nD\ne\nf\n" })
    assert.match(notes(count, file).join(), /counts in the hunk header at line 3 .* were wrong/u)
    const short = "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n+A\n b\n\n-c\n+C\n"
    assert.match(String(applied(short, file)), /hunk 1/u, "lines beyond the counts are not dropped")
    const bare = "--- a/f\n+++ b/f\n@@ ... @@\n c\n-d\n+D\n"
    assert.deepStrictEqual(applied(bare, file), { f: "a\nb\nc\nD\ne\nf\n" })
    const twice = { f: "x\ny\nx\ny\nx\n" }
    assert.match(String(applied("--- f\n+++ f\n@@ -9 +9 @@\n-x\n+z\n", twice)), /fits at lines 1, 3, 5; add context/u)
    assert.deepStrictEqual(applied("--- f\n+++ f\n@@ -3 +3 @@\n-x\n+z\n", twice), { f: "x\ny\nz\ny\nx\n" })
    const context = "--- f\n+++ f\n@@ -3,2 +3,2 @@\n   c\n-d\n+D\n"
    assert.deepStrictEqual(applied(context, file), { f: "a\nb\nc\nD\ne\nf\n" })
    assert.match(
      notes(context, file).join(),
      /f: hunk 1 \(line 3 of the patch\): context matched except for white space/u
    )
    assert.match(String(applied("--- f\n+++ f\n@@ -4 +4 @@\n-  d\n+D\n", file)), /hunk 1 .* does not fit/u)
  })

  it("line endings: an LF patch edits a CRLF file, a CRLF patch an LF file", () => {
    const patch = createPatch("f", "a\nb\nc\n", "a\nB\nX\nc\n")
    assert.deepStrictEqual(applied(patch, { f: "a\r\nb\r\nc\r\n" }), { f: "a\r\nB\r\nX\r\nc\r\n" })
    assert.deepStrictEqual(applied(patch.replaceAll("\n", "\r\n"), { f: "a\nb\nc\n" }), { f: "a\nB\nX\nc\n" })
    assert.deepStrictEqual(applied(patch.replaceAll("\n", "\r\n"), { f: "a\r\nb\r\nc\r\n" }), {
      f: "a\r\nB\r\nX\r\nc\r\n"
    })
  })

  it("a patch that knows nothing of a missing final line break keeps it missing", () => {
    assert.deepStrictEqual(applied("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", { f: "a\nb" }), { f: "a\nc" })
    assert.deepStrictEqual(
      applied("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", { f: "a\nb" }),
      { f: "a\nc\n" }
    )
  })

  it("says what it cannot do", () => {
    assert.match(complaint("--- a/f\n+++ b/f\n"), /f has no hunk/u)
    assert.match(complaint("@@ -1 +1 @@\n-a\n+b\n"), /a hunk without a file/u)
    assert.match(
      complaint("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n"),
      /symbolic links/u
    )
    assert.match(complaint("diff --git a/i b/i\nindex 1..2 100644\nGIT binary patch\n"), /binary patches/u)
    assert.match(complaint("diff --git a/i b/i\nBinary files a/i and b/i differ\n"), /binary patches/u)
  })
})

describe("*** Begin Patch", () => {
  const file = {
    "src/a.py": "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"
  }

  it("adds, deletes, updates, moves", () => {
    assert.deepStrictEqual(
      applied(
        begin(
          "*** Add File: new/x.txt",
          "+one",
          "+",
          "+two",
          "*** Delete File: old.txt",
          "*** Update File: m.txt",
          "*** Move to: n.txt",
          "@@",
          " keep",
          "-gone",
          "+here",
          "*** Update File: p.txt",
          "*** Move to: q.txt"
        ),
        { "old.txt": "o\n", "m.txt": "keep\ngone\n", "p.txt": "same" }
      ),
      { "new/x.txt": "one\n\ntwo\n", "n.txt": "keep\nhere\n", "q.txt": "same" }
    )
  })

  it("anchors choose among equal places", () => {
    const hunk = ["     def f(self):", "-        return 1", "+        return 2"]
    assert.match(
      String(applied(begin("*** Update File: src/a.py", "@@", ...hunk), file)),
      /fits at lines 2, 6; .*anchor/u
    )
    const second = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n"
    for (
      const anchors of [["@@ class B:"], ["@@ class B:", "@@     def f(self):"], ["@@ class B: @@"], ["@@ class B"]]
    ) {
      const lines = anchors.length === 2 ? hunk.slice(1) : hunk
      assert.deepStrictEqual(applied(begin("*** Update File: src/a.py", ...anchors, ...lines), file), {
        "src/a.py": second
      })
    }
    assert.match(
      String(applied(begin("*** Update File: src/a.py", "@@ class C:", ...hunk), file)),
      /anchor "class C:" is not in the file/u
    )
  })

  it("several hunks in order; out of order is told", () => {
    const text = { f: "1\n2\n3\n4\n5\n6\n" }
    const two = ["@@", "-2", "+two", "@@", "-5", "+five"]
    assert.deepStrictEqual(applied(begin("*** Update File: f", ...two), text), { f: "1\ntwo\n3\n4\nfive\n6\n" })
    assert.deepStrictEqual(applied(begin("*** Update File: f", ...two.slice(1)), text), {
      f: "1\ntwo\n3\n4\nfive\n6\n"
    })
    assert.match(
      String(applied(begin("*** Update File: f", "@@", "-5", "+five", "@@", "-2", "+two"), text)),
      /hunk 2 .*fits at line 2, which is before or inside the hunk above it/u
    )
  })

  it("end of file, pure additions, blank lines without their leading blank", () => {
    assert.deepStrictEqual(applied(begin("*** Update File: f", "@@", "+end", "*** End of File"), { f: "x\n" }), {
      f: "x\nend\n"
    })
    assert.deepStrictEqual(
      applied(begin("*** Update File: f", "@@", " x", "-y", "+z", "*** End of File"), { f: "x\ny\nx\ny\n" }),
      { f: "x\ny\nx\nz\n" }
    )
    assert.match(String(applied(begin("*** Update File: f", "@@", "+end"), { f: "x\n" })), /nothing says where/u)
    assert.deepStrictEqual(applied(begin("*** Update File: f", "@@ x", "+after"), { f: "x\ny\n" }), {
      f: "x\nafter\ny\n"
    })
    assert.deepStrictEqual(applied(begin("*** Update File: f", "@@", "+first"), { f: "" }), { f: "first\n" })
    assert.deepStrictEqual(
      applied(begin("*** Update File: f", "@@", " a", "", "-b", "+c", "", "*** Update File: g", "@@", "-1", "+2"), {
        f: "a\n\nb\n",
        g: "1\n"
      }),
      { f: "a\n\nc\n", g: "2\n" }
    )
  })

  it("keeps CRLF and a missing final line break", () => {
    const update = begin("*** Update File: f", "@@", " a", "-b", "+c", "+d")
    assert.deepStrictEqual(applied(update, { f: "a\r\nb\r\n" }), { f: "a\r\nc\r\nd\r\n" })
    assert.deepStrictEqual(applied(update, { f: "a\nb" }), { f: "a\nc\nd" })
    assert.deepStrictEqual(applied(update, { f: "a\r\nb" }), { f: "a\r\nc\r\nd" })
    assert.deepStrictEqual(applied(begin("*** Update File: f", "@@", " b", "+c"), { f: "a\r\nb" }), {
      f: "a\r\nb\r\nc"
    })
  })

  it("may come in a fence or a here-document, with CRLF", () => {
    const body = begin("*** Add File: f", "+x")
    for (
      const text of [
        `\`\`\`\n${body}\n\`\`\``,
        `apply_patch <<'EOF'\n${body}\nEOF\n`,
        body.replaceAll("\n", "\r\n") + "\r\n"
      ]
    ) {
      assert.deepStrictEqual(applied(text, {}), { f: "x\n" })
    }
  })

  it("names the line of the patch and what is there", () => {
    assert.match(complaint("*** Begin Patch\n*** Add File: f\n+x\n"), /End Patch is missing/u)
    assert.match(
      complaint(begin("*** Add File: f", "x")),
      /^line 3 of the patch: every line of a new file must begin with \+, found "x" in f/u
    )
    assert.match(complaint(begin("*** Update File: f", "@@", "bad")), /line 4 of the patch: .*found "bad" in f/u)
    assert.match(complaint(begin("*** Update File: f", "@@", " only")), /line 3 .*no line that begins with - or \+/u)
    assert.match(complaint(begin("*** Update File: f")), /f has no hunk/u)
    assert.match(complaint(begin("*** Rename File: f")), /expected \*\*\* Add File/u)
    assert.match(complaint(begin()), /changes no file/u)
    assert.match(complaint(begin("*** Update File:")), /path is missing/u)
    assert.match(complaint(""), /empty/u)
    assert.match(complaint("hello"), /not understood/u)
    const miss = String(
      applied(begin("*** Update File: f", "@@", " alpha", "-beta", "+x"), { f: "one\nalpha\nbata\n" })
    )
    assert.include(
      miss,
      "f: hunk 1 (line 3 of the patch) does not fit: nearest: lines 2-3 of the file, first difference at line 3"
    )
    assert.include(miss, "-beta\n+bata")
  })

  it("all problems of all files at once", () => {
    const result = String(
      applied(
        begin(
          "*** Update File: none",
          "@@",
          "-a",
          "+b",
          "*** Add File: f",
          "+x",
          "*** Delete File: gone",
          "*** Update File: f",
          "@@",
          "-zzz",
          "+b"
        ),
        { f: "x\n" }
      )
    )
    assert.strictEqual(result.split("\n").filter((line) => /^(none|f|gone): /u.test(line)).length, 4)
  })
})

describe("robustness", () => {
  it("random text, and patches with random damage, never crash", () => {
    const good = begin("*** Update File: f", "@@ x", " a", "-b", "+c", "*** Add File: g", "+x", "*** Delete File: h")
    const unified = createPatch("f", "a\nb\nc\n", "a\nB\nc\n")
    const damage = fc.tuple(
      fc.constantFrom(good, unified, `diff --git a/f b/f\n${unified}`),
      fc.nat(),
      fc.nat(8),
      fc.string({ maxLength: 8 })
    )
      .map(([text, at, length, put]) => {
        const i = at % text.length
        return text.slice(0, i) + put + text.slice(i + length)
      })
    fc.assert(
      fc.property(
        fc.oneof(damage, fc.string({ unit: "binary" }), fc.string().map((s) => `*** Begin Patch\n${s}\n*** End Patch`)),
        (text) => {
          const result = parsePatch(text)
          if (Either.isLeft(result)) return result.left.length > 0
          planPatch(result.right, (name) => name, new Map([["f", version("a\nb\nc\n")], ["h", version("")]]))
          return true
        }
      ),
      { numRuns: 800 }
    )
  })
})

describe("apply_patch", () => {
  it.scoped("applies to the disk, reports each file, gives all subjects", () =>
    Effect.gen(function*() {
      const { base, call, put, root, text, tool } = yield* world()
      put("a.ts", "one\ntwo\n")
      put("b.ts", "b\n")
      fs.chmodSync(put("run", "old\nsame\n"), 0o755)
      const patch = begin(
        "*** Update File: a.ts",
        "@@",
        "-one",
        "+1",
        "*** Add File: deep/er/c.ts",
        "+c",
        "*** Delete File: b.ts",
        "*** Update File: run",
        "*** Move to: bin/run",
        "@@",
        "-old",
        "+new"
      )
      const prepared = yield* tool("apply_patch").prepare({ patch })
      assert.deepStrictEqual(prepared.subjects, ["a.ts", "deep/er/c.ts", "b.ts", "run", "bin/run"])
      assert.isTrue(prepared.inside_workspace)
      const { output } = yield* call("apply_patch", { patch })
      assert.include(output, "Applied the patch to 4 files:\n")
      for (const line of ["M a.ts (+1 -1)", "A deep/er/c.ts (+1)", "D b.ts", "R run -> bin/run (+1 -1)"]) {
        assert.include(output, line)
      }
      assert.include(output, "--- a.ts\n@@ -1,2 +1,2 @@\n-one\n+1\n two")
      assert.deepStrictEqual([text("a.ts"), text("deep/er/c.ts"), text("bin/run")], ["1\ntwo\n", "c\n", "new\nsame\n"])
      assert.strictEqual(fs.statSync(path.join(root, "bin/run")).mode & 0o777, 0o755)
      assert.isFalse(fs.existsSync(path.join(root, "b.ts")) || fs.existsSync(path.join(root, "run")))
      const outside = yield* tool("apply_patch").prepare({
        patch: begin("*** Add File: x", "+", `*** Add File: ${base}/y`, "+")
      })
      assert.deepStrictEqual([outside.subjects, outside.inside_workspace], [["x", `${base}/y`], false])
    }))

  it.scoped("all or nothing: one hunk that does not fit leaves every file as it was", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      put("a", "1\n")
      put("b", "2\n")
      const patch = begin(
        "*** Update File: a",
        "@@",
        "-1",
        "+x",
        "*** Add File: c",
        "+c",
        "*** Update File: b",
        "@@",
        "-3",
        "+x"
      )
      const message = yield* failing(call("apply_patch", { patch }))
      assert.match(
        message,
        /^The patch was not applied; nothing was changed\.\n- b: hunk 1 \(line 9 of the patch\) does not fit/u
      )
      assert.deepStrictEqual([text("a"), text("b"), fs.existsSync(path.join(root, "c"))], ["1\n", "2\n", false])
    }))

  it.scoped("all or nothing: what fails while writing is taken back", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      fs.chmodSync(put("a", "1\n"), 0o640)
      put("b", "2\n")
      // The parent of the last file cannot be made: its name is too long for the file system.
      const long = "n".repeat(300)
      const patch = begin(
        "*** Update File: a",
        "@@",
        "-1",
        "+x",
        "*** Add File: new/dir/c",
        "+c",
        `*** Add File: x/${"y/".repeat(3)}d`,
        "+d",
        "*** Delete File: b",
        `*** Add File: w/${long}`,
        "+w"
      )
      const message = yield* failing(call("apply_patch", { patch }))
      assert.match(message, /nothing was changed/u)
      assert.deepStrictEqual([text("a"), text("b")], ["1\n", "2\n"])
      assert.strictEqual(fs.statSync(path.join(root, "a")).mode & 0o777, 0o640)
      assert.deepStrictEqual(fs.readdirSync(root).sort(), ["a", "b"])
    }))

  it.scoped("refuses files that changed since they were read, links to delete, binary files", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      put("f", "1\n2\n")
      yield* call("read", { path: "f" })
      put("f", "1\n2\n3\n")
      const update = begin("*** Update File: f", "@@", "-1", "+x")
      assert.match(yield* failing(call("apply_patch", { patch: update })), /changed on disk since it was read/u)
      assert.match(yield* failing(call("apply_patch", { patch: begin("*** Delete File: f") })), /changed on disk/u)
      yield* call("read", { path: "f" })
      yield* call("apply_patch", { patch: update })
      assert.strictEqual(text("f"), "x\n2\n3\n")
      yield* call("edit", { path: "f", old_string: "x", new_string: "y" })
      fs.symlinkSync("f", path.join(root, "l"))
      assert.match(
        yield* failing(call("apply_patch", { patch: begin("*** Delete File: l") })),
        /l is a symbolic link to f/u
      )
      put("bin", new Uint8Array([0, 1]))
      assert.match(
        yield* failing(call("apply_patch", { patch: begin("*** Update File: bin", "@@", "-1", "+x") })),
        /bin: it is binary data/u
      )
      yield* call("apply_patch", { patch: begin("*** Update File: bin", "*** Move to: moved") })
      assert.deepStrictEqual([...fs.readFileSync(path.join(root, "moved"))], [0, 1])
      assert.match(
        yield* failing(call("apply_patch", { patch: begin("*** Add File: f", "+x") })),
        /f: .*exists already/u
      )
      assert.match(yield* failing(call("apply_patch", { patch: begin("*** Add File: f\0", "+x") })), /NUL/u)
    }))

  it.scoped("one file under two names is one file; several updates of it add up", () =>
    Effect.gen(function*() {
      const { call, put, root, text } = yield* world()
      put("f", "1\n2\n")
      yield* call("apply_patch", {
        patch: begin(
          "*** Update File: f",
          "@@",
          "-1",
          "+one",
          `*** Update File: ${root}/./f`,
          "@@",
          " one",
          "-2",
          "+two"
        )
      })
      assert.strictEqual(text("f"), "one\ntwo\n")
      yield* call("apply_patch", { patch: begin("*** Delete File: f", "*** Add File: f", "+new") })
      assert.strictEqual(text("f"), "new\n")
    }))
})
