import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { globFilter } from "../../src/tools/search/GlobFilter.ts"
import { spansLines, toJavaScript } from "../../src/tools/search/Regex.ts"
import { failing, type World, world } from "./workspace.ts"

/** Both ways to search must give the same answer; that answer. */
const both = (w: World, input: Record<string, string>) =>
  Effect.gen(function*() {
    const one = (name: string) =>
      w.call(name, input).pipe(
        Effect.map((result) => result.output),
        Effect.catchAll((error) => Effect.succeed(`failed: ${error.message.split("\n")[0]?.replace(/: .*/u, "")}`))
      )
    const [ripgrep, javascript] = [yield* one("grep"), yield* one("grep_javascript")]
    assert.strictEqual(javascript, ripgrep, JSON.stringify(input))
    return ripgrep
  })

const tree = Effect.gen(function*() {
  const w = yield* world()
  childProcess.execFileSync("git", ["init", "-q"], { cwd: w.root })
  w.put("a.ts", "const alpha = 1\nconst beta = alpha + 1\n// Alpha\n")
  w.put("src/b.ts", "alpha()\n\n  indented alpha\nlast alpha without end")
  w.put("src/crlf.ts", "alpha one\r\nbeta\r\nend alpha\r\n")
  w.put("src/deep/c.test.ts", "alpha test\n")
  w.put("docs/ü.md", "Größe alpha 12 km\nnaïve café\n")
  w.put("docs/wide.txt", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("alpha wide ü\nother\n", "utf16le")]))
  w.put("docs/bom.txt", "\uFEFFalpha after mark\n")
  w.put("docs/latin.txt", Buffer.from("caf\xe9 alpha\nnaïve\n\xff\xfe alpha\n", "latin1"))
  w.put("bin/early", Buffer.from("alpha\0alpha\n"))
  w.put("bin/late", Buffer.concat([Buffer.from("alpha\n"), Buffer.alloc(200_000, "x\n"), Buffer.from("\0alpha\n")]))
  w.put(".hidden/h.ts", "alpha hidden\n")
  w.put(".git/objects/x", "alpha in git\n")
  w.put(".gitignore", "node_modules/\n*.log\n")
  w.put("node_modules/m/i.js", "alpha module\n")
  w.put("x.log", "alpha log\n")
  w.put("src/.gitignore", "ignored.ts\n!kept.log\n")
  w.put("src/ignored.ts", "alpha ignored\n")
  w.put("src/kept.log", "alpha kept\n")
  w.put(".ignore", "a.ts\n")
  w.put("empty", "")
  w.put("lines", "\n\nalpha\n\n")
  w.put("long", `${"z".repeat(3000)} alpha ${"z".repeat(3000)}\n`)
  fs.symlinkSync("../a.ts", path.join(w.root, "src", "link.ts"))
  fs.mkdirSync(path.join(w.base, "outside"))
  fs.writeFileSync(path.join(w.base, "outside", "o.ts"), "alpha outside\n")
  fs.symlinkSync(path.join(w.base, "outside"), path.join(w.root, "out"))
  return w
})

describe("grep", () => {
  it.scoped("PATH:LINE:TEXT in order, by ripgrep and without it alike", () =>
    Effect.gen(function*() {
      const w = yield* tree
      const output = yield* both(w, { pattern: "alpha" })
      assert.deepStrictEqual(output.split("\n").map((line) => line.slice(0, 60)), [
        ".hidden/h.ts:1:alpha hidden",
        "a.ts:1:const alpha = 1",
        "a.ts:2:const beta = alpha + 1",
        "docs/bom.txt:1:alpha after mark",
        "docs/latin.txt:1:café alpha",
        "docs/latin.txt:3:ÿþ alpha",
        "docs/wide.txt:1:alpha wide ü",
        "docs/ü.md:1:Größe alpha 12 km",
        "lines:3:alpha",
        `long:1:${"z".repeat(53)}`,
        "src/b.ts:1:alpha()",
        "src/b.ts:3:  indented alpha",
        "src/b.ts:4:last alpha without end",
        "src/crlf.ts:1:alpha one",
        "src/crlf.ts:3:end alpha",
        "src/deep/c.test.ts:1:alpha test",
        "src/kept.log:1:alpha kept"
      ])
      assert.include(output, "z… [line cut: 6007 characters]")
    }))

  it.scoped("path, glob and pattern forms: equal answers", () =>
    Effect.gen(function*() {
      const w = yield* tree
      const patterns = [
        "alpha$",
        "^alpha",
        "^$",
        "(?i)ALPHA",
        "\\balpha\\b",
        "\\d+ km",
        "Gr\\w+e",
        "caf\\S$",
        "[a-c]lpha|beta",
        "na.ve",
        "\\p{Lu}\\w+",
        "[[:digit:]]+",
        "[^[:alpha:]\\s]",
        "alpha\\(\\)",
        "x{2,}y?",
        "\\x61lpha",
        "(?P<w>alpha) (one|test)",
        "a.*?a",
        "\\.",
        "]",
        "}",
        "[]a]lpha",
        "[a-c&&b-d]lpha",
        "[a-z&&[^b-z]]lpha",
        "[a-c~~b-d]lpha",
        "[\\w&&[^\\d]--z]lpha",
        "[^a-c&&b-d]lpha",
        "é",
        "\\bn",
        "end\\s",
        "[\\w--a]lpha",
        "\\W\\d",
        "a{2}",
        "\\/",
        "\\-"
      ]
      for (const pattern of patterns) yield* both(w, { pattern })
      for (
        const glob of [
          "*.ts",
          "*.{ts,md}",
          "!*.ts",
          "src/**",
          "src/*.ts",
          "/a.ts",
          "**/deep/*",
          "*.log",
          "src",
          "d*/",
          "[a-b].ts",
          "?.ts",
          ".hidden/*",
          "ü.md",
          "*.TS",
          "**/*.test.ts",
          "!src/**"
        ]
      ) {
        yield* both(w, { pattern: "alpha", glob })
      }
      for (
        const at of [
          "src",
          "src/",
          "a.ts",
          "x.log",
          "node_modules",
          "node_modules/m",
          "bin/early",
          "bin/late",
          "docs/wide.txt",
          ".",
          "out",
          "src/link.ts",
          "src/deep",
          "empty",
          "/no/such",
          "lines"
        ]
      ) {
        yield* both(w, { pattern: "alpha", path: at })
        yield* both(w, { pattern: "alpha", path: at, glob: "*.ts" })
      }
      for (
        const pattern of [
          "(",
          "[",
          "a{",
          "*",
          "a(?=b)",
          "(a)\\1",
          "\\q",
          "(?<!x)y",
          "[z-a]",
          "x{2,1}",
          "(?P<1>x)",
          "\\p{Nope}",
          "\\",
          "a\\nb",
          ")"
        ]
      ) {
        assert.match(yield* both(w, { pattern }), /^failed/u, pattern)
      }
    }), 60_000)

  it.scoped("random trees of ignore rules and random globs: equal answers", () =>
    Effect.gen(function*() {
      const w = yield* world()
      const name = fc.constantFrom("a", "b", "ab", "a.ts", "b.ts", "x.log", "dir")
      const rule = fc.constantFrom(
        "a",
        "b/",
        "/a",
        "*.ts",
        "!a.ts",
        "dir/*",
        "!dir/b",
        "**/x.log",
        "a/**",
        "dir/**/b.ts",
        "!*.log",
        "a*",
        "?b",
        "[ab].ts",
        "/dir/a.ts",
        "b.ts "
      )
      const glob = fc.constantFrom(
        undefined,
        undefined,
        "*.ts",
        "dir/*",
        "!*.log",
        "a",
        "a/**",
        "{a,b}.ts",
        "/a*",
        "dir/"
      )
      const files = fc.array(fc.array(name, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 12 })
      const rules = fc.array(fc.tuple(fc.constantFrom("", "a", "dir"), fc.array(rule, { maxLength: 4 })), {
        maxLength: 3
      })
      const samples = fc.sample(fc.record({ files, rules, glob }), { numRuns: 40, seed: 11 })
      for (const [i, sample] of samples.entries()) {
        const root = `t${i}`
        const put = (at: string, text: string): void => {
          try {
            w.put(at, text)
          } catch {
            // A file is where a directory would have to be.
          }
        }
        for (const parts of sample.files) put(`${root}/${parts.join("/")}`, "hit\n")
        for (const [at, lines] of sample.rules) put(`${root}/${at}/.gitignore`, `${lines.join("\n")}\n`)
        yield* both(w, { pattern: "hit", path: root, ...(sample.glob === undefined ? {} : { glob: sample.glob }) })
      }
    }), 60_000)

  it.scoped("caps lines and says how many there are", () =>
    Effect.gen(function*() {
      const w = yield* world()
      w.put("many", "hit\n".repeat(700))
      w.put("more", "hit\n".repeat(3))
      const output = yield* both(w, { pattern: "hit" })
      assert.strictEqual(output.split("\n").length, 201)
      assert.match(output, /\[the first 200 of 703 matching lines in 2 files; narrow/u)
      w.put("wide/f", `${"hit ".repeat(120)}\n`.repeat(150))
      const wide = yield* both(w, { pattern: "hit", path: "wide" })
      assert.match(wide, /\[the first \d\d of 150 matching lines in 1 files/u)
      assert.strictEqual(yield* both(w, { pattern: "none" }), "No line matches \"none\" in the working directory.")
    }))

  it.scoped("without ripgrep on PATH the search goes on without it; a bad pattern is told in both", () =>
    Effect.gen(function*() {
      const w = yield* world({ vars: { PATH: "/nowhere" } })
      w.put("f", "one\ntwo\n")
      assert.strictEqual((yield* w.call("grep", { pattern: "t.o" })).output, "f:2:two")
      const message = yield* failing(w.call("grep", { pattern: "a(" }))
      assert.match(message, /^pattern is not a valid regular expression: /u)
      assert.include(message, "Escape characters that are meant literally")
      const there = yield* world()
      there.put("f", "x\n")
      assert.match(
        yield* failing(there.call("grep", { pattern: "a(" })),
        /^pattern is not a valid regular expression: [^]*unclosed/u
      )
      assert.match(
        yield* failing(there.call("grep", { pattern: "a", glob: "[" })),
        /glob "\[" is not valid: a \[ is not closed/u
      )
      assert.match(yield* failing(there.call("grep", { pattern: "a", path: "g" })), /g does not exist/u)
      assert.match(yield* failing(there.call("grep", { pattern: "" })), /empty/u)
      const odd = yield* there.call("grep", { pattern: "-e x" })
      assert.match(odd.output, /No line matches/u)
    }))

  it.scoped("7.5 subject: the path that is searched", () =>
    Effect.gen(function*() {
      const { base, root, tool } = yield* world({ cwd: "pkg" })
      fs.symlinkSync(base, path.join(root, "pkg", "up"))
      const of = (input: Record<string, string>) =>
        Effect.map(tool("grep").prepare({ pattern: "x", ...input }), (p) => [...p.subjects, p.inside_workspace])
      assert.deepStrictEqual(yield* of({}), ["pkg", true])
      assert.deepStrictEqual(yield* of({ path: "up" }), [base, false])
      assert.isTrue(tool("grep").read_only)
      assert.deepStrictEqual(
        ["read", "write", "edit", "apply_patch", "glob", "grep"].map((name) =>
          `${tool(name).kind} ${tool(name).read_only}`
        ),
        ["read true", "edit false", "edit false", "edit false", "read true", "read true"]
      )
    }))
})

describe("patterns", () => {
  it("random patterns and globs never throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), (a, b) => {
        toJavaScript(a)
        toJavaScript(`[${b}]`)
        toJavaScript(`\\${b}{`)
        const filter = globFilter([a, b])
        if (Either.isRight(filter)) filter.right.choose("a/b", false)
        return true
      }),
      { numRuns: 500 }
    )
  })

  it("line breaks in patterns", () => {
    assert.isTrue(spansLines("a\\nb"))
    assert.isTrue(spansLines("a\nb"))
    assert.isTrue(spansLines("\\\\\\n"))
    assert.isFalse(spansLines("a\\\\nb"))
    assert.isFalse(spansLines("\\w"))
  })
})
