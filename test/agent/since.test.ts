/** 14.5: the diff since the start, against real repositories; the project's own repository stays as it is. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Since from "../../src/agent/Since.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"
import { Processes } from "../../src/platform/Processes.ts"

const platform = Layer.mergeAll(Processes.layer, Files.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(
    NodeFileSystem.layer,
    NodePath.layer,
    Environment.layerTest({ vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }, pid: process.pid })
  ))
)

const inDirectory = <A, E, R>(test: (root: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync("/var/tmp/since-"))),
    (root) => Effect.provide(Effect.scoped(test(root)), platform),
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true, force: true }))
  )

const git = (root: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b.example", ...args], { encoding: "utf8" })

/** Every file below, with its content. */
const everything = (root: string): ReadonlyArray<string> =>
  fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => {
    const file = path.join(entry.parentPath, entry.name)
    return `${file} ${fs.readFileSync(file).toString("base64")}`
  }).toSorted()

describe("what has changed since the start", () => {
  it.live("in a repository with a dirty index: only what came after, and nothing of the repository changes", () =>
    inDirectory((root) =>
      Effect.gen(function*() {
        git(root, "init", "-q")
        fs.writeFileSync(path.join(root, "a"), "1\n")
        fs.writeFileSync(path.join(root, "gone"), "1\n")
        fs.writeFileSync(path.join(root, ".gitignore"), "ignored\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "first")
        fs.writeFileSync(path.join(root, "staged"), "before the start\n")
        git(root, "add", "staged")
        fs.writeFileSync(path.join(root, "a"), "1\nbefore the start\n")
        // whatever its settings would run
        git(root, "config", "core.fsmonitor", "touch ran-fsmonitor")
        git(root, "config", "filter.f.clean", "touch ran-filter; cat")
        fs.writeFileSync(path.join(root, ".gitattributes"), "* filter=f\n")
        const before = everything(path.join(root, ".git"))

        const since = yield* Since.begin(root)
        fs.appendFileSync(path.join(root, "a"), "after\n")
        fs.writeFileSync(path.join(root, "new ü"), "made\n")
        fs.writeFileSync(path.join(root, "ignored"), "x\n")
        fs.rmSync(path.join(root, "gone"))
        const diff = yield* since.diff
        assert.include(diff, "+after")
        assert.include(diff, "b/new ü")
        assert.include(diff, "deleted file mode 100644")
        assert.notInclude(diff, "+before the start")
        assert.notInclude(diff, "ignored")
        assert.isFalse(fs.existsSync(path.join(root, "ran-fsmonitor")) || fs.existsSync(path.join(root, "ran-filter")))
        assert.deepStrictEqual(everything(path.join(root, ".git")), before)
      })
    ))

  it.live("repositories within are not asked: nothing that their settings name runs", () =>
    inDirectory((root) =>
      Effect.gen(function*() {
        const sub = path.join(root, "sub ü")
        const ran = path.join(root, ".git", "ran")
        fs.mkdirSync(sub)
        for (const each of [root, sub]) {
          git(each, "init", "-q")
          fs.writeFileSync(path.join(each, ".gitattributes"), "* filter=f\n")
          fs.writeFileSync(path.join(each, "a"), "1\n")
          git(each, "add", "-A")
          git(each, "commit", "-qm", "first")
          for (const key of ["filter.f.clean", "core.fsmonitor"]) git(each, "config", key, `touch '${ran}'; cat`)
        }
        for (const each of [root, sub]) fs.writeFileSync(path.join(each, "a"), "2\n")
        const since = yield* Since.begin(root)
        fs.writeFileSync(path.join(root, "b"), "new\n")
        fs.writeFileSync(path.join(sub, "a"), "3\n")
        assert.include(yield* since.diff, "+new")
        assert.include(yield* since.diff, "+new")
        assert.isFalse(fs.existsSync(ran))
      })
    ))

  it.live("outside of any repository, and where there is none afterwards", () =>
    inDirectory((root) =>
      Effect.gen(function*() {
        fs.writeFileSync(path.join(root, "a"), "1\n")
        const since = yield* Since.begin(root)
        assert.strictEqual(yield* since.diff, "")
        fs.writeFileSync(path.join(root, "a"), "2\n")
        assert.include(yield* since.diff, "-1\n+2\n")
        assert.deepStrictEqual(fs.readdirSync(root), ["a"])
      })
    ))

  it.live("a worktree, whose .git is a file", () =>
    inDirectory((home) =>
      Effect.gen(function*() {
        const main = path.join(home, "main")
        fs.mkdirSync(main)
        git(main, "init", "-q")
        fs.writeFileSync(path.join(main, "a"), "1\n")
        git(main, "add", "-A")
        git(main, "commit", "-qm", "first")
        const root = path.join(home, "tree")
        git(main, "worktree", "add", "-q", root)
        const since = yield* Since.begin(root)
        fs.writeFileSync(path.join(root, "a"), "2\n")
        assert.include(yield* since.diff, "-1\n+2\n")
        assert.strictEqual(git(root, "status", "--short"), " M a\n")
      })
    ))
})
