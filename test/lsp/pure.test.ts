/** Positions, texts, addresses and what the model is told: plain functions (readings 8.1, 8.2, 8.10). */
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { definitionsOf, directoriesUp, languageId, serves } from "../../src/lsp/Definitions.ts"
import { contextBlock, diff, editText, maxBlockBytes, worst } from "../../src/lsp/Enrichment.ts"
import { knownServers } from "../../src/lsp/KnownServers.ts"
import { fromServer, Lines, toServer } from "../../src/lsp/Positions.ts"
import * as Results from "../../src/lsp/Results.ts"
import { section } from "../../src/lsp/ServerRequests.ts"
import { applyEdits, changedLines, replacement } from "../../src/lsp/TextChanges.ts"
import type { Diagnostic, PositionEncoding, Severity } from "../../src/lsp/Types.ts"
import { pathOf, uriOf } from "../../src/lsp/Uri.ts"

const texts = FastCheck.array(FastCheck.constantFrom("a", "é", "😀", "\n", "\r\n", "\r", "\t", " ", "BAD", "中"), {
  maxLength: 40
}).map((parts) => parts.join(""))
const encodings: ReadonlyArray<PositionEncoding> = ["utf-8", "utf-16", "utf-32"]

describe("8.2 file: URIs", () => {
  it.prop("a path comes back as it was", [FastCheck.string({ unit: "grapheme" })], ([name]) => {
    const path = `/${name.replaceAll("\0", "")}`
    assert.strictEqual(pathOf(uriOf(path)), path)
  })

  it("spellings of servers; decoded once", () => {
    assert.strictEqual(uriOf("/a b/100%/#?ü😀.ts"), "file:///a%20b/100%25/%23%3F%C3%BC%F0%9F%98%80.ts")
    assert.strictEqual(pathOf("file:///a%20b/100%2525"), "/a b/100%25")
    assert.strictEqual(pathOf("file://localhost/a"), "/a")
    assert.strictEqual(pathOf("FILE:/a%zz"), "/a%zz")
    assert.strictEqual(pathOf("file:///a(b)!'*"), "/a(b)!'*")
    for (const other of ["jdt://x/y", "untitled:1", "file://server/share/x", "file:///a%00b"]) {
      assert.isNull(pathOf(other))
    }
  })
})

describe("8.1 positions", () => {
  it.prop("offsets and positions agree, whatever ends the lines", [texts, FastCheck.nat()], ([text, n]) => {
    const lines = new Lines(text)
    const offset = n % (text.length + 1)
    const position = lines.position(offset)
    const inLine = position.character <= lines.line(position.line).length
    if (inLine) assert.strictEqual(lines.offset(position), offset)
    assert.strictEqual(lines.starts.length, text.split(/\r\n|\n|\r/).length)
    assert.deepStrictEqual(
      Array.from({ length: lines.count }, (_, line) => lines.line(line)),
      text.split(/\r\n|\n|\r/)
    )
  })

  it.prop(
    "to the server's units and back",
    [texts, FastCheck.nat(), FastCheck.constantFrom(...encodings)],
    ([text, n, encoding]) => {
      const [line = ""] = text.split(/\r\n|\n|\r/)
      const boundaries = [0]
      for (const one of line) boundaries.push((boundaries.at(-1) ?? 0) + one.length)
      const at = boundaries[n % boundaries.length] ?? 0
      const there = toServer(encoding, line, at)
      const before = line.slice(0, at)
      assert.strictEqual(
        there,
        encoding === "utf-8" ? new TextEncoder().encode(before).length : encoding === "utf-32" ? [...before].length : at
      )
      assert.strictEqual(fromServer(encoding, line, there), at)
    }
  )
})

describe("8.4 changes", () => {
  it.prop("one replacement makes the new text, and cuts no character", [texts, texts], ([before, after]) => {
    const change = replacement(before, after)
    if (change === null) {
      assert.strictEqual(before, after)
      return
    }
    assert.strictEqual(before.slice(0, change.from) + change.text + before.slice(change.to), after)
    for (const part of [before.slice(0, change.from), change.text, before.slice(change.to)]) {
      assert.notMatch(part, /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/u)
    }
    const touched = changedLines(before, after)
    assert.isNotNull(touched)
  })

  it.prop("edits of one text, in any order", [
    texts,
    FastCheck.array(FastCheck.tuple(FastCheck.nat(), texts), { maxLength: 5 })
  ], ([text, raw]) => {
    const lines = new Lines(text)
    // apart from each other: one edit for each of some different lines
    const byLine = new Map(raw.map(([n, put]) => [n % lines.count, put]))
    const edits = [...byLine].map(([line, new_text]) => ({
      range: { start: { line, character: 0 }, end: { line, character: lines.line(line).length } },
      new_text
    }))
    const expected = Array.from({ length: lines.count }, (_, line) => {
      const from = lines.starts[line] ?? 0
      const whole = text.slice(from, lines.starts[line + 1] ?? text.length)
      return (byLine.get(line) ?? lines.line(line)) + whole.slice(lines.line(line).length)
    }).join("")
    assert.strictEqual(applyEdits(text, edits), expected)
    assert.strictEqual(applyEdits(text, edits.toReversed()), expected)
  })

  it("overlapping edits are refused; insertions at one place keep their order", () => {
    const at = (start: number, end: number, new_text: string) => ({
      range: { start: { line: 0, character: start }, end: { line: 0, character: end } },
      new_text
    })
    assert.isNull(applyEdits("abcdef", [at(0, 3, "x"), at(2, 4, "y")]))
    assert.isNull(applyEdits("abcdef", [at(4, 2, "x")]))
    assert.strictEqual(applyEdits("ab", [at(1, 1, "1"), at(1, 1, "2")]), "a12b")
  })
})

describe("answers that are nonsense", () => {
  it.prop("nothing throws", [FastCheck.anything()], ([value]) => {
    Results.readLocations(value)
    Results.readHover(value)
    Results.readDiagnostics("file:///a", value, 10)
    Results.readSymbols("file:///a", value, 10)
    Results.readWorkspaceEdit(value)
    Results.readReport(value)
    Results.readItem(value)
  })

  it("8.2 hovers: escapes and entities of Markdown, never those of code or plain text", () => {
    const hover = (contents: unknown) => Results.readHover({ contents })
    assert.strictEqual(hover("How large\\. a \\*b\\* &lt;T&gt; `x\\.y &lt;`"), "How large. a *b* <T> `x\\.y &lt;`")
    assert.strictEqual(hover({ kind: "markdown", value: "```c\r\na\\.b\r\n```\r\n\r\n\r\n\r\nc\\_d" }), "a\\.b\n\nc_d")
    assert.strictEqual(hover({ kind: "plaintext", value: "a\\.b ```" }), "a\\.b ```")
    assert.strictEqual(hover([{ language: "c", value: "a\\.b" }, "c\\.d", { value: "" }]), "a\\.b\n\nc.d")
    let deep: unknown = "x"
    for (let n = 0; n < 50_000; n++) deep = [deep]
    assert.isNull(hover(deep))
  })

  it("an edit of which a part cannot be read is none", () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } }
    assert.isNull(Results.readWorkspaceEdit({ changes: { "file:///a": [{ range, newText: "x" }, { range }] } }))
    assert.strictEqual(
      Results.readWorkspaceEdit({ documentChanges: [{ kind: "delete", uri: "file:///a" }] })?.unsupported,
      "it would delete file:///a"
    )
  })

  it("8.6 sections of settings by dotted names", () => {
    const settings = { python: { analysis: { mode: "x" } }, "a.b": 1 }
    assert.strictEqual(section(settings, "python.analysis.mode"), "x")
    assert.strictEqual(section(settings, "a.b"), 1)
    assert.strictEqual(section(settings, "__proto__"), null)
    assert.strictEqual(section(settings, "python.nothing"), null)
    assert.strictEqual(section(settings, undefined), settings)
  })
})

const diagnostic = (line: number, message: string, severity: Severity = 1): Diagnostic => ({
  uri: "file:///w/a.ts",
  range: { start: { line, character: 4 }, end: { line, character: 5 } },
  severity,
  message,
  source: "ts",
  code: "2322"
})

describe("8.10 what the model is told", () => {
  const view = (diagnostics: ReadonlyArray<Diagnostic>, fresh: ReadonlyArray<Diagnostic> = []) => ({
    display: "a.ts",
    diagnostics,
    fresh: new Set(fresh),
    waiting: []
  })

  it("nothing when there is nothing; hints are nothing", () => {
    assert.strictEqual(contextBlock([], []), "")
    assert.strictEqual(contextBlock([view([])], []), "")
    assert.strictEqual(contextBlock([view([diagnostic(1, "x", 4)])], []), "")
    assert.strictEqual(editText([{ display: "a.ts", known_before: true, diff: diff([], []), waiting: [] }]), "")
  })

  it("lines from 1, errors before warnings, new ones marked", () => {
    const [warning, error] = [diagnostic(0, "unused", 2), diagnostic(7, "no\nnumber")]
    const block = contextBlock([view([warning, error], [error])], [
      { display: "a.ts", line: 2, character: 6, name: "f", hover: "function f(): void\nmore" }
    ])
    assert.deepStrictEqual(block.split("\n").slice(1), [
      "Diagnostics of the files you work on (1 error, 1 warning):",
      "- a.ts:8:5 error 2322: no number [ts] (new)",
      "- a.ts:1:5 warning 2322: unused [ts]",
      "Symbols you touched:",
      "- a.ts:3:7 function f(): void more"
    ])
  })

  it("at most 12 diagnostics, 12 symbols and 4 KiB, and how many more there are", () => {
    const many = Array.from({ length: 1_000 }, (_, n) => diagnostic(n, `${n} ${"😀".repeat(n % 400)}`))
    const symbols = Array.from({ length: 40 }, (_, line) => ({
      display: "a.ts",
      line,
      character: 0,
      name: "f",
      hover: "h".repeat(500)
    }))
    const block = contextBlock([view(many)], symbols)
    assert.isAtMost(new TextEncoder().encode(block).length, maxBlockBytes)
    const lines = block.split("\n")
    assert.isAtMost(lines.filter((line) => /^- a\.ts:\d+:\d+ error/.test(line)).length, 12)
    assert.isTrue(lines.some((line) => /^- \d+ more diagnostics: use lsp diagnostics$/.test(line)))
    const edited = editText([{ display: "a.ts", known_before: true, diff: diff([], many), waiting: [] }])
    assert.isAtMost(new TextEncoder().encode(edited).length, maxBlockBytes)
    assert.include(edited, "988 more")
  })

  it("G8: no control sequences in what servers say", () => {
    const block = contextBlock([view([diagnostic(0, "red \u001b[31m \u202e end")])], [])
    assert.notMatch(block, /[\u001b\u202e]/)
  })

  it("new ones are told from old ones that have moved", () => {
    const [old, second, fresh] = [diagnostic(9, "old"), diagnostic(5, "same"), diagnostic(3, "fresh")]
    const before = [diagnostic(1, "same"), diagnostic(5, "same"), old]
    const after = [diagnostic(4, "same"), second, diagnostic(8, "same"), fresh]
    const beforeLines = ["", "x = 1", "", "", "", "y = 2"]
    const afterLines = ["", "", "", "", "x = 1", "z = 3", "", "", "y = 2"]
    const { introduced, removed, unchanged } = diff(before, after, {
      before: (line) => beforeLines[line] ?? "",
      after: (line) => afterLines[line] ?? ""
    })
    assert.deepStrictEqual(introduced, [second, fresh])
    assert.deepStrictEqual(removed, [old])
    assert.strictEqual(unchanged, 2)
  })

  it.prop("every diagnostic is new, gone or unchanged", [
    FastCheck.array(FastCheck.tuple(FastCheck.nat(5), FastCheck.constantFrom("a", "b", "c"))),
    FastCheck.array(FastCheck.tuple(FastCheck.nat(5), FastCheck.constantFrom("a", "b", "c")))
  ], ([first, second]) => {
    const before = first.map(([line, message]) => diagnostic(line, message))
    const after = second.map(([line, message]) => diagnostic(line, message))
    const { introduced, removed, unchanged } = diff(before, after)
    assert.strictEqual(introduced.length + unchanged, after.length)
    assert.strictEqual(removed.length + unchanged, before.length)
    const count = (all: ReadonlyArray<Diagnostic>, message: string) =>
      all.filter((one) => one.message === message).length
    for (const message of ["a", "b", "c"]) {
      assert.strictEqual(
        count(introduced, message),
        Math.max(0, count(after, message) - count(before, message))
      )
    }
  })

  it.prop("the worst first, the same as sorting all", [
    FastCheck.array(FastCheck.tuple(FastCheck.nat(50), FastCheck.constantFrom<Severity>(1, 2, 3, 4)), {
      maxLength: 100
    }),
    FastCheck.nat(20)
  ], ([raw, most]) => {
    const all = raw.map(([line, severity]) => ({ one: diagnostic(line, "m", severity) }))
    const sorted = all.map((each, index) => ({ each, index })).sort((a, b) =>
      a.each.one.severity - b.each.one.severity || a.each.one.range.start.line - b.each.one.range.start.line ||
      a.index - b.index
    ).slice(0, most).map(({ each }) => each)
    assert.deepStrictEqual(worst(all, most), sorted)
  })
})

describe("8 the table of servers", () => {
  it("names, programs and what brings them; 25 and more", () => {
    assert.isAtLeast(knownServers.length, 25)
    assert.strictEqual(new Set(knownServers.map(({ name }) => name)).size, knownServers.length)
    for (const { extensions, install } of knownServers) {
      assert.notStrictEqual(install, "")
      assert.isTrue(extensions.every((extension) => extension.startsWith(".")))
    }
    for (const name of ["typescript", "pyright", "rust-analyzer", "gopls", "clangd"]) {
      assert.isTrue(knownServers.some((one) => one.name === name))
    }
  })

  it("settings lie over it, switch it off, and come first in a family", () => {
    const all = definitionsOf({
      pyright: { disabled: true },
      "typescript-language-server": { command: ["my-tsls", "--stdio"], settings: { a: { b: 1 } } },
      gopls: { initialization_options: { staticcheck: true }, args: ["-v"], request_timeout_ms: 5 },
      mine: { command: "mine", extensions: [".mine"] },
      nothing: { extensions: [".x"] }
    })
    assert.isUndefined(all.find(({ name }) => name === "pyright"))
    assert.isUndefined(all.find(({ name }) => name === "nothing"))
    const family = all.filter((one) => one.family === "typescript").map(({ name }) => name)
    assert.strictEqual(family[0], "typescript-language-server")
    const gopls = all.find(({ name }) => name === "gopls")
    assert.deepStrictEqual(gopls?.command, ["gopls", "-v"])
    assert.deepInclude(gopls, { configured: false, request_timeout_ms: 5 })
    const mine = all.find(({ name }) => name === "mine")
    assert.isTrue(mine !== undefined && serves(mine, "/w/a.mine"))
  })

  it("kinds of files and directories up to the workspace", () => {
    const of = (name: string) => knownServers.find((one) => one.name === name) ?? assert.fail(name)
    assert.strictEqual(languageId(of("typescript"), "/w/a.TSX"), "typescriptreact")
    assert.strictEqual(languageId(of("docker"), "/w/Dockerfile"), "dockerfile")
    assert.isTrue(serves(of("docker"), "/w/Dockerfile"))
    assert.isFalse(serves(of("clangd"), "/w/a.cs"))
    assert.deepStrictEqual(directoriesUp("/w", "/w/a/b/c.ts"), ["/w/a/b", "/w/a", "/w"])
    assert.deepStrictEqual(directoriesUp("/w", "/work/c.ts"), [])
    assert.deepStrictEqual(directoriesUp("/", "/c.ts"), ["/"])
  })
})
