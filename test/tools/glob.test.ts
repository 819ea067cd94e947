import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as childProcess from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { splitGlob } from "../../src/tools/Glob.ts"
import { failing, world } from "./workspace.ts"

const files = (output: string): Array<string> => output.split("\n").sort()

describe("glob", () => {
  it("moves what leads away into the path that rules see", () => {
    assert.deepStrictEqual(splitGlob("src/*.ts"), { base: "", rest: "src/*.ts" })
    assert.deepStrictEqual(splitGlob("./a/./b*"), { base: "", rest: "a/b*" })
    assert.deepStrictEqual(splitGlob("/etc/*.conf"), { base: "/etc", rest: "*.conf" })
    assert.deepStrictEqual(splitGlob("/*"), { base: "/", rest: "*" })
    assert.deepStrictEqual(splitGlob("../x/**/*.ts"), { base: "../x", rest: "**/*.ts" })
    assert.deepStrictEqual(splitGlob("a/../../b/*"), { base: "a/../../b", rest: "*" })
    assert.deepStrictEqual(splitGlob("~/n/*.md"), { base: "~/n", rest: "*.md" })
    assert.isUndefined(splitGlob("*/../x"))
    assert.isUndefined(splitGlob("{a,..}/../b"))
  })

  it.scoped("newest first; * stays in its directory; hidden files count, .git does not", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      const at = (name: string, seconds: number) => fs.utimesSync(put(name, ""), seconds, seconds)
      at("a.ts", 100)
      at("b.ts", 300)
      at("src/c.ts", 200)
      at("src/deep/d.tsx", 50)
      at(".github/e.ts", 10)
      at(".git/f.ts", 400)
      assert.strictEqual((yield* call("glob", { pattern: "*.ts" })).output, "b.ts\na.ts")
      assert.strictEqual(
        (yield* call("glob", { pattern: "**/*.{ts,tsx}" })).output,
        "b.ts\nsrc/c.ts\na.ts\nsrc/deep/d.tsx\n.github/e.ts"
      )
      assert.strictEqual((yield* call("glob", { pattern: "**/*.ts", path: "src" })).output, "src/c.ts")
      assert.strictEqual((yield* call("glob", { pattern: "src/**" })).output, "src/c.ts\nsrc/deep/d.tsx")
      assert.strictEqual(
        (yield* call("glob", { pattern: "*.md" })).output,
        "No file matches *.md below the working directory. For any depth write **/*.md."
      )
    }))

  it.scoped(".gitignore, nested ones, negation, a nested repository: as git says", () =>
    Effect.gen(function*() {
      const { call, put, root } = yield* world()
      childProcess.execFileSync("git", ["init", "-q"], { cwd: root })
      put(
        ".gitignore",
        "node_modules/\n*.log\n/build\n!keep.log\ndoc/*.txt\nsub/inner\n# comment\n\\#hash\ntrailing \nspace\\ \n"
      )
      put("pkg/.gitignore", "*.tmp\n!important.log\n/only-here\n")
      put("pkg/deep/.gitignore", "!x.tmp\n")
      for (
        const name of [
          "a.js",
          "x.log",
          "keep.log",
          "node_modules/m/i.js",
          "pkg/node_modules/m.js",
          "build/o.js",
          "pkg/build/o.js",
          "doc/a.txt",
          "doc/b/c.txt",
          "pkg/t.tmp",
          "pkg/deep/x.tmp",
          "pkg/deep/y.tmp",
          "pkg/important.log",
          "pkg/other.log",
          "pkg/only-here",
          "only-here",
          "pkg/sub/inner",
          "sub/inner",
          "#hash",
          "trailing",
          "t.tmp",
          "ä/ö.log",
          "ä/ö.js"
        ]
      ) put(name, "")
      const expected = childProcess.execFileSync("git", [
        "-c",
        "core.quotePath=false",
        "ls-files",
        "-co",
        "--exclude-standard"
      ], {
        cwd: root,
        encoding: "utf8"
      }).trim().split("\n").sort()
      assert.deepStrictEqual(files((yield* call("glob", { pattern: "**" })).output), expected)
      const below = files((yield* call("glob", { pattern: "**/*", path: "pkg" })).output)
      assert.deepStrictEqual(below, expected.filter((name) => name.startsWith("pkg/")))
      // A directory that is named itself is shown, ignored or not.
      assert.strictEqual(
        (yield* call("glob", { pattern: "**/*.js", path: "node_modules" })).output,
        "node_modules/m/i.js"
      )
      assert.match((yield* call("glob", { pattern: "node_modules/**/*.js" })).output, /^No file matches/u)
      put("nested/.gitignore", "local\n")
      for (const name of ["nested/a.log", "nested/local"]) put(name, "")
      childProcess.execFileSync("git", ["init", "-q", "nested"], { cwd: root })
      assert.deepStrictEqual(files((yield* call("glob", { pattern: "nested/**" })).output), [
        "nested/.gitignore",
        "nested/a.log"
      ])
    }))

  it.scoped("links are not followed, out of the workspace least of all", () =>
    Effect.gen(function*() {
      const { base, call, put, root } = yield* world()
      fs.mkdirSync(path.join(base, "outside"))
      fs.writeFileSync(path.join(base, "outside", "secret.ts"), "")
      fs.symlinkSync(path.join(base, "outside"), path.join(root, "link"))
      fs.symlinkSync(path.join(base, "outside", "secret.ts"), path.join(root, "alias.ts"))
      fs.symlinkSync("..", path.join(root, "circle"))
      put("a.ts", "")
      assert.strictEqual((yield* call("glob", { pattern: "**/*.ts" })).output, "a.ts")
      assert.match((yield* call("glob", { pattern: "link/*.ts" })).output, /^No file/u)
    }))

  it.scoped("subjects: the directory that is searched, also when the pattern names it", () =>
    Effect.gen(function*() {
      const { base, put, root, tool } = yield* world({ cwd: "pkg" })
      put("pkg/src/a.ts", "")
      fs.symlinkSync(base, path.join(root, "pkg", "up"))
      const of = (input: Record<string, string>) =>
        Effect.map(tool("glob").prepare(input), (p) => [...p.subjects, p.inside_workspace])
      assert.deepStrictEqual(yield* of({ pattern: "**" }), ["pkg", true])
      assert.deepStrictEqual(yield* of({ pattern: "*.ts", path: "src" }), ["pkg/src", true])
      assert.deepStrictEqual(yield* of({ pattern: "../*.ts" }), [".", true])
      assert.deepStrictEqual(yield* of({ pattern: "/etc/*" }), ["/etc", false])
      assert.deepStrictEqual(yield* of({ pattern: "*", path: "up" }), [base, false])
      assert.deepStrictEqual(yield* of({ pattern: "up/../*" }), [path.dirname(base), false])
      assert.match(yield* failing(tool("glob").prepare({ pattern: "*/../x" })), /\.\. after a wildcard/u)
      assert.match(yield* failing(tool("glob").prepare({ pattern: "" })), /empty/u)
      assert.match(yield* failing(tool("glob").prepare({ pattern: "src/" })), /directory only|empty/u)
    }))

  it.scoped("caps the list and says how many there are; missing and wrong starting points", () =>
    Effect.gen(function*() {
      const { call, put } = yield* world()
      for (let i = 0; i < 250; i++) put(`d/${i}`, "")
      const { output } = yield* call("glob", { pattern: "d/*" })
      assert.strictEqual(output.split("\n").length, 201)
      assert.match(output, /\[the newest 200 of 250 files; narrow the pattern to see others\]$/u)
      assert.match(yield* failing(call("glob", { pattern: "*", path: "e" })), /e does not exist/u)
      assert.match(yield* failing(call("glob", { pattern: "*", path: "d/1" })), /is not a directory/u)
    }))
})
