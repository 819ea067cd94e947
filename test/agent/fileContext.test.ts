/** 14.3: which files a subagent hears of. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { passes } from "../../src/agent/Auto.ts"
import { make, mentions, recentFiles } from "../../src/agent/FileContext.ts"
import type { Message } from "../../src/domain/Message.ts"
import { combine } from "../../src/domain/Piped.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"
import { Spawner } from "../../src/platform/Spawner.ts"

let id = 0
const call = (name: string, input: object, failed = false): ReadonlyArray<Message> => {
  const call_id = `c${id++}`
  return [
    { role: "assistant", content: [{ type: "tool_call", id: call_id, name, arguments: JSON.stringify(input) }] },
    { role: "tool", tool_call_id: call_id, tool_name: name, content: "", is_error: failed }
  ]
}

describe("files of the session", () => {
  it("read or changed, the latest last, each once; those of calls that failed are none", () => {
    const messages = [
      call("read", { path: "a" }),
      call("write", { path: "/work/b" }),
      call("edit", { path: "c" }, true),
      call("apply_patch", { patch: "*** Begin Patch\n*** Update File: d\n*** Move to: e\n*** End Patch" }),
      call("bash", { command: "cat f" }),
      call("read", { path: "./a" })
    ].flat()
    assert.deepStrictEqual(recentFiles(messages, "/work"), ["b", "d", "e", "a"])
  })

  it("20 at the most", () => {
    const messages = Array.from({ length: 30 }, (_, n) => call("read", { path: `f${n}` })).flat()
    assert.deepStrictEqual(recentFiles(messages, "/"), Array.from({ length: 20 }, (_, n) => `f${n + 10}`))
  })

  it.prop("arguments of any kind are no failure", [FastCheck.string(), FastCheck.anything()], ([name, input]) => {
    const [message] = call(name, {})
    if (message === undefined || typeof message.content === "string") return
    recentFiles(
      [{
        role: "assistant",
        content: [{ type: "tool_call", id: "x", name: "read", arguments: JSON.stringify(input) ?? name }]
      }],
      "/"
    )
  })
})

describe("files that are named", () => {
  it("a word behind an @, in quotes with blanks", () => {
    assert.deepStrictEqual(mentions("see @a/b.ts, @\"c d.txt\" and (@e)\n@f"), ["a/b.ts,", "c d.txt", "e)", "f"])
    assert.deepStrictEqual(mentions("me@example.org @@ @ `@x`"), ["@"])
  })

  it.prop("whatever was typed", [FastCheck.string()], ([text]) => {
    for (const each of mentions(text)) assert.include(text, each)
  })
})

describe("14.5: the word of the review", () => {
  it("the last verdict counts; none is findings", () => {
    const table: ReadonlyArray<readonly [string, boolean]> = [
      ["VERDICT: PASS", true],
      ["fine\n\n**Verdict: PASS**", true],
      ["`VERDICT: PASS`", true],
      ["VERDICT: PASS\nbut no:\nVERDICT: FINDINGS", false],
      ["VERDICT: FINDINGS", false],
      ["everything passes", false],
      ["I would not say VERDICT: PASS here", false],
      ["VERDICT: PASSABLE", false],
      ["", false]
    ]
    for (const [text, passed] of table) assert.strictEqual(passes(text), passed, text)
  })
})

describe("14.3: files that were named", () => {
  it.scoped("are attached where somebody has typed them, not where they were piped in", () =>
    Effect.gen(function*() {
      const root = yield* Effect.acquireRelease(
        Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "context-")))),
        (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
      )
      for (const name of ["typed", "piped"]) fs.writeFileSync(path.join(root, name), `of ${name}\n`)
      const { text } = yield* make([], combine("look at @typed", `a diff @piped @${root}/piped`)).pipe(Effect.provide(
        Layer.mergeAll(
          Files.layer.pipe(Layer.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer))),
          Layer.succeed(Workspace, { root, cwd: root })
        )
      ))
      assert.include(text, "of typed")
      assert.notInclude(text, "of piped")
    }))
})

describe("14.3: the state of the repository", () => {
  it.live("is told, and nothing that the repository's own settings name runs", () =>
    Effect.acquireUseRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "context-")))),
      (root) =>
        Effect.gen(function*() {
          const git = (...args: ReadonlyArray<string>): string =>
            execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b.example", ...args], {
              encoding: "utf8"
            })
          const ran = path.join(root, ".git", "ran")
          git("init", "-q", "-b", "trunk")
          for (const file of ["a", "b ü"]) fs.writeFileSync(path.join(root, file), "1\n")
          fs.writeFileSync(path.join(root, ".gitattributes"), "a filter=f\nb* filter=it=s.odd\n")
          git("add", "-A")
          git("commit", "-qm", "first")
          for (const key of ["filter.f.clean", "filter.it=s.odd.process", "core.fsmonitor"]) {
            fs.appendFileSync(
              path.join(root, ".git", "config"),
              `[${key.slice(0, key.indexOf("."))}${
                key.startsWith("filter") ? ` "${key.slice(7, key.lastIndexOf("."))}"` : ""
              }]\n\t${key.slice(key.lastIndexOf(".") + 1)} = "touch '${ran}'; cat"\n`
            )
          }
          git("config", "filter.f.required", "true")
          for (const file of ["a", "b ü"]) fs.writeFileSync(path.join(root, file), "2\n")
          const { text } = yield* make([], null).pipe(Effect.provide(
            Layer.mergeAll(
              Spawner.layerPlain.pipe(Layer.provide(Processes.layer)),
              Environment.layerTest({ vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" } }),
              Layer.succeed(Workspace, { root, cwd: root })
            )
          ))
          assert.include(text, "## trunk\n M a\n M \"b ü\"")
          assert.isFalse(fs.existsSync(ran))
        }),
      (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
    ))
})
