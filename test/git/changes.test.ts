import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Git } from "../../src/git/Git.ts"
import type { GitError } from "../../src/git/GitError.ts"
import { eventually } from "../support/processes.ts"
import { at, inPlace, type Place, place } from "./support.ts"

const reasonOf = <A>(effect: Effect.Effect<A, GitError, Git>) =>
  Effect.merge(Effect.mapBoth(effect, { onFailure: (error) => error.reason, onSuccess: () => "done" }))
const branches = Effect.flatMap(Git, (git) => git.branches)
const create = (name: string) => Effect.flatMap(Git, (git) => git.createBranch(name))
const worktrees = Effect.flatMap(Git, (git) => git.worktrees)
const add = (name: string) => Effect.flatMap(Git, (git) => git.addWorktree(name))
const remove = (name: string) => Effect.flatMap(Git, (git) => git.removeWorktree(name))
const diff = Effect.flatMap(Git, (git) => git.diff)
const stash = Effect.flatMap(Git, (git) => git.stash)
const pop = Effect.flatMap(Git, (git) => git.popStash)
const stashes = Effect.flatMap(Git, (git) => git.stashes)

describe("12 /branch", () => {
  it.live("from HEAD with what has changed, following nothing; the list has the latest first", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        here.git("config", "branch.autoSetupMerge", "always")
        here.write("a.txt", "two\n")
        assert.include(yield* create("feat/日本"), "feat/日本")
        assert.strictEqual(here.git("symbolic-ref", "HEAD"), "refs/heads/feat/日本")
        assert.strictEqual(here.git("status", "--porcelain"), " M a.txt")
        assert.strictEqual(here.gitCode("rev-parse", "@{u}"), 128)
        here.git("commit", "-qam", "fix: a", "--date", "2030-01-01T00:00:00Z")
        here.git("branch", "-q", "-u", "origin/main", "main")
        const { branches: all, current } = yield* branches
        assert.strictEqual(current, "feat/日本")
        assert.deepEqual(
          all.map(({ current, name, subject, upstream }) => [name, current, subject, upstream]).sort(),
          [["feat/日本", true, "fix: a", null], ["main", false, "feat: begin", "origin/main"]]
        )
        here.git("checkout", "-q", "--detach")
        assert.isNull((yield* branches).current)
        assert.include(yield* create("from-detached"), "from-detached")
        assert.strictEqual(yield* reasonOf(create("main")), "exists")
      })))

  it.live("a bad name is refused before anything runs; an unborn branch takes another name", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place({ start: "unborn" })
      const without: Place = { ...here, vars: { ...here.vars, PATH: here.bin } }
      for (const name of ["", "-x", "--orphan", "a b", "a..b", "@{-1}", "x.lock", "a\nb", "HEAD"]) {
        assert.strictEqual(yield* Effect.provide(reasonOf(create(name)), at(without)), "bad_name", name)
        assert.strictEqual(yield* Effect.provide(reasonOf(add(name)), at(without)), "bad_name", name)
      }
      yield* Effect.provide(create("other"), at(here))
      assert.deepEqual(yield* Effect.provide(branches, at(here)), { current: "other", branches: [] })
    })))
})

describe("12 /worktree", () => {
  it.live("beside the repository, also from inside another one; what is there is refused", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const made = yield* add("feat/a-1")
        assert.strictEqual(made.path, `${here.repo}-feat-a-1`)
        assert.strictEqual(here.gitIn(made.path, "symbolic-ref", "--short", "HEAD"), "feat/a-1")
        const second = yield* Effect.provide(add("b"), at(here, made.path))
        assert.strictEqual(second.path, `${here.repo}-b`)
        assert.deepEqual((yield* worktrees).map((one) => [one.path, one.branch]), [
          [here.repo, "main"],
          [second.path, "b"],
          [made.path, "feat/a-1"]
        ])
        assert.strictEqual(yield* reasonOf(add("b")), "exists")
        fs.mkdirSync(`${here.repo}-c`)
        fs.writeFileSync(`${here.repo}-c/mine`, "x")
        assert.strictEqual(yield* reasonOf(add("c")), "exists")
        assert.strictEqual(here.gitCode("rev-parse", "--verify", "-q", "refs/heads/c"), 1)
        assert.strictEqual(fs.readFileSync(`${here.repo}-c/mine`, "utf8"), "x")
        fs.symlinkSync("/nowhere", `${here.repo}-d`)
        assert.strictEqual(yield* reasonOf(add("d")), "exists")
        here.git("branch", "taken")
        assert.strictEqual(yield* reasonOf(add("taken")), "exists")
      })))

  it.live("removed by branch or path, never when dirty, never the one that one is in; the branch stays", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const { path: there } = yield* add("a")
        fs.writeFileSync(path.join(there, "new.txt"), "mine\n")
        const dirty = yield* Effect.flip(remove("a"))
        assert.strictEqual(dirty.reason, "refused")
        assert.include(dirty.stderr, "modified or untracked")
        assert.isTrue(fs.existsSync(path.join(there, "new.txt")))
        fs.rmSync(path.join(there, "new.txt"))
        assert.strictEqual(yield* Effect.provide(reasonOf(remove("a")), at(here, there)), "state")
        assert.strictEqual((yield* remove("a")).branch, "a")
        assert.isFalse(fs.existsSync(there))
        assert.strictEqual(here.gitCode("rev-parse", "--verify", "-q", "refs/heads/a"), 0)
        assert.strictEqual(yield* reasonOf(remove("a")), "missing")
        assert.strictEqual(yield* reasonOf(remove("main")), "missing")
        const again = yield* Effect.zipRight(Effect.sync(() => here.git("branch", "-D", "a")), add("a"))
        assert.strictEqual((yield* remove(again.path)).path, again.path)

        const odd = yield* add("ü/b")
        fs.mkdirSync(path.join(odd.path, "sub"))
        const relative = `../${path.basename(odd.path)}`
        assert.strictEqual(yield* reasonOf(remove(`${relative}/sub`)), "missing", "a path into it is none to it")
        assert.strictEqual(yield* reasonOf(remove("..")), "missing")
        assert.strictEqual(yield* reasonOf(remove("--help")), "missing")
        assert.strictEqual(yield* Effect.provide(reasonOf(remove(".")), at(here, odd.path)), "state")
        assert.strictEqual((yield* remove(`./${relative}/`)).path, odd.path)
      })))

  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim()

  it.live("a worktree that git cannot make leaves no branch, nor one that is stopped; a hook behind it is no failure", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.program(
          "git",
          `for a; do [ "$a" = worktree ] && w=1; [ "$a" = add ] && d=1; done\n` +
            `if [ "$w$d" = 11 ] && [ -e '${here.root}/broken' ]; then\n` +
            `  for a; do case "$a" in x[0-9]) '${real}' branch "$a";; esac; done\n` +
            `  [ -e '${here.root}/slow' ] && { : > '${here.root}/begun'; exec sleep 60; }\n` +
            `  echo "fatal: no room" >&2; exit 128\nfi\nexec '${real}' "$@"`
        )
        fs.writeFileSync(path.join(here.root, "broken"), "")
        const failed = yield* Effect.flip(add("x1"))
        assert.deepEqual([failed.reason, failed.stderr], ["refused", "fatal: no room\n"])
        assert.strictEqual(here.git("branch", "--format=%(refname:short)"), "main")
        fs.writeFileSync(path.join(here.root, "slow"), "")
        const fiber = yield* Effect.fork(add("x2"))
        yield* eventually(() => fs.existsSync(path.join(here.root, "begun")))
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(here.git("branch", "--format=%(refname:short)"), "main")
        fs.rmSync(path.join(here.root, "broken"))

        here.hook("post-checkout", "echo no >&2; exit 3")
        const made = yield* add("x1")
        assert.include(made.stderr, "no\nit is done; the hook post-checkout ended with an error")
        assert.strictEqual((yield* worktrees).length, 2)
        const told = yield* Effect.flatMap(Git, (git) => git.createBranch("x2"))
        assert.include(told, "it is done; the hook post-checkout ended with an error")
        assert.strictEqual(here.git("symbolic-ref", "--short", "HEAD"), "x2")
      })))

  it.live("no commit yet; a repository whose path has spaces and unicode", () =>
    Effect.scoped(Effect.gen(function*() {
      const unborn = yield* place({ start: "unborn" })
      assert.strictEqual(yield* Effect.provide(reasonOf(add("a")), at(unborn)), "state")
      const here = yield* place()
      const odd = path.join(here.root, "ü b\n-c")
      here.gitIn(here.root, "clone", "-q", here.repo, odd)
      const made = yield* Effect.provide(add("x"), at(here, odd))
      assert.strictEqual(made.path, `${odd}-x`)
      assert.strictEqual((yield* Effect.provide(worktrees, at(here, odd)))[1]?.path, `${odd}-x`)
    })))
})

describe("12 /diff", () => {
  it.live("staged and unstaged against HEAD, as the files are, whatever the settings of git say", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write(".gitattributes", "*.up diff=up\n")
        here.write("x.up", "one\n")
        here.git("add", "-A")
        here.git("commit", "-qm", "chore: attributes")
        here.git("config", "diff.external", "echo EXTERNAL")
        here.git("config", "diff.up.textconv", "tr a-z A-Z <")
        here.git("config", "color.ui", "always")
        here.git("config", "diff.noprefix", "true")
        here.git("config", "core.pager", "false")
        here.write("a.txt", "staged\n")
        here.git("add", "a.txt")
        here.write("b.txt", "not staged\n")
        here.write("x.up", "two\n")
        here.write("ü \n.txt", "new\n")
        here.write("dir/deep.txt", "new\n")
        const before = here.index()
        const found = yield* diff
        assert.strictEqual(here.index(), before)
        assert.deepEqual([found.branch, found.cut, found.bytes], ["main", false, Buffer.byteLength(found.text)])
        assert.include(found.text, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+staged\n")
        assert.include(found.text, "+not staged\n")
        assert.include(found.text, "-one\n+two\n")
        assert.notMatch(found.text, /EXTERNAL|TWO|\u001b/u)
        assert.deepEqual(found.files.toSorted(), ["a.txt", "b.txt", "x.up"])
        assert.deepEqual(found.untracked.toSorted(), ["dir/deep.txt", "ü \n.txt"])
      })))

  it.live("an unborn branch, unmerged files, a change of a submodule, a diff above 64 KiB", () =>
    Effect.scoped(Effect.gen(function*() {
      const unborn = yield* place({ start: "unborn" })
      unborn.write("a.txt", "first\n")
      assert.strictEqual((yield* Effect.provide(diff, at(unborn))).text, "")
      unborn.git("add", "a.txt")
      assert.include((yield* Effect.provide(diff, at(unborn))).text, "+first\n")

      const here = yield* place({ remote: true })
      here.git("submodule", "--quiet", "add", here.remote, "inner")
      here.git("commit", "-qm", "feat: inner")
      here.gitIn(path.join(here.repo, "inner"), "commit", "-q", "--allow-empty", "-m", "fix: in it")
      here.write("b.txt", "é".repeat(70) + "\n")
      here.write("a.txt", `${"é".repeat(70)}\n`.repeat(1000))
      const found = yield* Effect.provide(diff, at(here))
      assert.isTrue(found.cut)
      assert.isBelow(Buffer.byteLength(found.text), 65_700)
      assert.isAbove(found.bytes, 140_000)
      assert.match(found.text, /\n\[cut here: \d+ of \d+ bytes are left out\]\n$/u)
      assert.notInclude(found.text, "\ufffd")
      here.git("checkout", "-q", "a.txt")
      assert.match((yield* Effect.provide(diff, at(here))).text, /-Subproject commit .*\n\+Subproject commit /u)
    })))
})

describe("12 /stash", () => {
  it.live("tracked files away under a name with the time, and back with what was staged", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        assert.strictEqual(yield* reasonOf(stash), "nothing")
        assert.strictEqual(yield* reasonOf(pop), "nothing")
        here.write("new.txt", "mine\n")
        assert.strictEqual(yield* reasonOf(stash), "nothing")
        here.write("a.txt", "staged\n")
        here.git("add", "a.txt")
        here.write("a.txt", "staged\nmore\n")
        const done = yield* stash
        assert.match(done.message, /^hanzo: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u)
        assert.deepEqual([done.files, done.untracked], [["a.txt"], ["new.txt"]])
        assert.strictEqual(here.git("status", "--porcelain"), "?? new.txt")
        const [only] = yield* stashes
        assert.strictEqual(only?.message, `On main: ${done.message}`)
        assert.strictEqual((yield* pop).message, only?.message)
        assert.strictEqual(here.git("status", "--porcelain"), "MM a.txt\n?? new.txt")
        assert.deepEqual(yield* stashes, [])
      })))

  it.live("the lock of another git is told, and nothing is lost", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        here.write(".git/index.lock", "")
        const locked = yield* Effect.flip(stash)
        assert.strictEqual(locked.reason, "locked")
        assert.include(locked.message, path.join(here.repo, ".git/index.lock"))
        assert.strictEqual(here.read("a.txt"), "two\n")
        fs.rmSync(path.join(here.repo, ".git/index.lock"))
        assert.strictEqual((yield* stash).files.length, 1)
      })))

  it.live("a conflict keeps the stash; no commit yet and unmerged files are told", () =>
    Effect.scoped(Effect.gen(function*() {
      const unborn = yield* place({ start: "unborn" })
      assert.strictEqual(yield* Effect.provide(reasonOf(stash), at(unborn)), "state")
      const here = yield* place()
      here.write("a.txt", "mine\n")
      yield* Effect.provide(stash, at(here))
      here.write("a.txt", "theirs\n")
      here.git("commit", "-qam", "fix: a")
      const conflict = yield* Effect.provide(Effect.flip(pop), at(here))
      assert.strictEqual(conflict.reason, "refused")
      assert.include(conflict.message, "the stash is kept")
      assert.include(conflict.stderr, "CONFLICT")
      assert.strictEqual((yield* Effect.provide(stashes, at(here))).length, 1)
      assert.strictEqual(yield* Effect.provide(reasonOf(stash), at(here)), "state")
    })))
})
