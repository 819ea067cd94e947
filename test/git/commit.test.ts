import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Git } from "../../src/git/Git.ts"
import type { GitError } from "../../src/git/GitError.ts"
import { alive, eventually } from "../support/processes.ts"
import { at, inPlace, type Place, place } from "./support.ts"

const programs = { keygen: "ssh-keygen", gpg: "gpg", gpgconf: "gpgconf" }

const reasonOf = <A>(effect: Effect.Effect<A, GitError, Git>) =>
  Effect.map(Effect.either(effect), (result) => Either.isLeft(result) ? result.left.reason : "done")

const prepare = Effect.flatMap(Git, (git) => git.prepare)
const commitAll = (message: string) =>
  Effect.flatMap(Git, (git) => Effect.flatMap(git.prepare, (prepared) => git.commit(prepared, message)))

describe("12 /commit: what goes in", () => {
  it.live("tracked files only; untracked secrets are never staged, neither looking nor committing", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        here.write(".env", "API_KEY=f81d4fae7dec11d0a76500a0c91e6bf6\n")
        here.write("sub/ü n\nl.txt", "new\n")
        const before = here.index()
        const prepared = yield* prepare
        assert.strictEqual(here.index(), before)
        assert.deepEqual(prepared.files.map((file) => [file.path, file.staged]), [["a.txt", "M"]])
        assert.deepEqual(prepared.untracked, [".env", "sub/"])
        const done = yield* Effect.flatMap(Git, (git) => git.commit(prepared, "fix: a\n\nbody # 1\n# kept"))
        assert.strictEqual(done.subject, "fix: a")
        assert.strictEqual(done.branch, "main")
        assert.isFalse(done.changed_by_hook)
        assert.strictEqual(here.git("log", "-1", "--format=%B"), "fix: a\n\nbody # 1\n# kept")
        assert.strictEqual(here.git("show", "--name-only", "--format=", "HEAD"), "a.txt")
        assert.strictEqual(here.git("status", "--porcelain", "-z"), "?? .env\0?? sub/\0")
      })))

  it.live("what was staged before stays staged: a new file, a part of a file, a rename, a removal", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write("b.txt", "moves\nas\nit\nis\n")
        here.git("commit", "-qam", "fix: b")
        here.write("new.txt", "staged\n")
        here.git("add", "new.txt")
        here.write("part.txt", "1\n")
        here.git("add", "part.txt")
        here.write("part.txt", "1\n2\n")
        here.git("mv", "b.txt", "c d.txt")
        fs.rmSync(path.join(here.repo, "a.txt"))
        const prepared = yield* prepare
        assert.deepEqual(
          prepared.files.map((file) => [file.staged, file.path, file.from]).sort(),
          [["A", "new.txt", null], ["A", "part.txt", null], ["D", "a.txt", null], ["R", "c d.txt", "b.txt"]].sort()
        )
        assert.deepEqual(prepared.partly, ["part.txt"])
        yield* Effect.flatMap(Git, (git) => git.commit(prepared, "feat: x"))
        assert.strictEqual(here.git("show", "HEAD:part.txt"), "1\n2")
        assert.strictEqual(here.git("status", "--porcelain"), "")
      })))

  it.live("an index with a part of a file staged is as it was, byte for byte, when nobody says yes (D16)", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "staged\n")
        here.git("add", "a.txt")
        here.write("a.txt", "staged\nnot\n")
        here.write("b.txt", "changed\n")
        const before = here.index()
        yield* prepare
        assert.strictEqual(here.index(), before)
        assert.strictEqual(here.git("show", ":a.txt"), "staged")
        assert.strictEqual(here.git("status", "--porcelain"), "MM a.txt\n M b.txt")
      })))

  it.live("on an unborn branch; nothing to commit; likely secrets are told with their place", () =>
    inPlace({ start: "unborn" }, (here) =>
      Effect.gen(function*() {
        assert.deepEqual((yield* prepare).files, [])
        here.write("a.txt", "x = 1\npassword = \"tr0ub4dor&3\"\n")
        assert.deepEqual((yield* prepare).files, [])
        here.git("add", "a.txt")
        const prepared = yield* prepare
        assert.deepEqual([prepared.head, prepared.branch], [null, "main"])
        assert.deepEqual(prepared.secrets, [{ path: "a.txt", line: 2, what: "a value for \"password\"" }])
        const done = yield* Effect.flatMap(Git, (git) => git.commit(prepared, "feat: begin"))
        assert.strictEqual(done.id, here.head())
        assert.deepEqual((yield* prepare).files, [])
      })))

  it.live("a change within the second of the last look at the file is seen", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        for (const letter of "abcdef") {
          here.write("a.txt", `${letter}${letter}${letter}\n`)
          yield* commitAll(`fix: ${letter}`)
          assert.strictEqual(here.git("show", "HEAD:a.txt"), letter.repeat(3))
          here.write("a.txt", `${letter}${letter}!\n`)
          assert.strictEqual(here.git("status", "--porcelain"), " M a.txt")
        }
      })))

  it.live("from a folder below the top: all of the repository", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place()
      here.write("sub/c.txt", "1\n")
      here.git("add", "-A")
      here.git("commit", "-qm", "feat: c")
      here.write("sub/c.txt", "2\n")
      here.write("a.txt", "2\n")
      const prepared = yield* Effect.provide(prepare, at(here, path.join(here.repo, "sub")))
      assert.deepEqual(prepared.files.map((file) => file.path), ["a.txt", "sub/c.txt"])
    })))
})

describe("12 /commit: in the middle of other things", () => {
  it.live("detached HEAD", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.git("checkout", "-q", "--detach")
        here.write("a.txt", "two\n")
        assert.isNull((yield* commitAll("fix: a")).branch)
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: a")
      })))

  const conflict = (here: Place): void => {
    here.git("checkout", "-qb", "other")
    here.write("a.txt", "other\n")
    here.git("commit", "-qam", "fix: other")
    here.git("checkout", "-q", "main")
    here.write("a.txt", "main\n")
    here.git("commit", "-qam", "fix: main")
  }

  it.live("a merge: unmerged files are refused and stay unmerged; resolved, its own message is ready", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        conflict(here)
        assert.strictEqual(here.gitCode("merge", "other"), 1)
        const before = here.index()
        assert.strictEqual(yield* reasonOf(prepare), "state")
        assert.strictEqual(here.index(), before)
        here.write("a.txt", "both\n")
        here.git("add", "a.txt")
        const prepared = yield* prepare
        assert.strictEqual(prepared.progress, "merge")
        assert.deepEqual(prepared.ready, { message: "Merge branch 'other'", source: "git" })
        yield* Effect.flatMap(Git, (git) => git.commit(prepared, "Merge branch 'other'"))
        assert.strictEqual(here.git("rev-list", "--parents", "-1", "HEAD").split(" ").length, 3)
      })))

  it.live("a rebase is refused, and goes on as if nobody had asked", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        conflict(here)
        assert.strictEqual(here.gitCode("rebase", "other"), 1)
        const before = here.index()
        const refused = yield* Effect.flip(prepare)
        assert.strictEqual(refused.reason, "state")
        assert.include(refused.message, "git rebase --continue")
        assert.strictEqual(here.index(), before)
        here.write("a.txt", "both\n")
        here.git("add", "a.txt")
        assert.strictEqual(yield* reasonOf(prepare), "state")
        here.git("-c", "core.editor=:", "rebase", "--continue")
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: main")
      })))

  it.live("a cherry-pick keeps its author", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        conflict(here)
        here.git("-c", "user.name=Else", "commit", "--amend", "-q", "--reset-author", "--no-edit")
        here.git("checkout", "-q", "other")
        assert.strictEqual(here.gitCode("cherry-pick", "main"), 1)
        here.write("a.txt", "both\n")
        here.git("add", "a.txt")
        const prepared = yield* prepare
        assert.strictEqual(prepared.ready?.message, "fix: main")
        yield* Effect.flatMap(Git, (git) => git.commit(prepared, "fix: main"))
        assert.strictEqual(here.git("log", "-1", "--format=%an"), "Else")
      })))

  it.live("no repository, a bare one, the inside of .git, a repository of another owner", () =>
    Effect.scoped(Effect.gen(function*() {
      const none = yield* place({ start: "none" })
      assert.strictEqual(yield* Effect.provide(reasonOf(prepare), at(none)), "not_a_repository")
      const here = yield* place({ remote: true })
      assert.strictEqual(yield* Effect.provide(reasonOf(prepare), at(here, here.remote)), "no_worktree")
      assert.strictEqual(
        yield* Effect.provide(reasonOf(prepare), at(here, path.join(here.repo, ".git"))),
        "no_worktree"
      )
      const foreign: Place = { ...here, vars: { ...here.vars, GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" } }
      const refused = yield* Effect.provide(Effect.flip(prepare), at(foreign))
      assert.strictEqual(refused.reason, "unsafe")
      assert.include(refused.stderr, "safe.directory")
    })))

  it.live("inside a linked worktree and inside a submodule", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place({ remote: true })
      const linked = path.join(here.root, "linked")
      here.git("worktree", "add", "-q", "-b", "side", linked)
      fs.writeFileSync(path.join(linked, "a.txt"), "linked\n")
      const main = here.index()
      const done = yield* Effect.provide(commitAll("fix: linked"), at(here, linked))
      assert.strictEqual(done.branch, "side")
      assert.strictEqual(here.index(), main)
      assert.strictEqual(here.git("log", "-1", "--format=%s", "side"), "fix: linked")

      here.git("submodule", "--quiet", "add", here.remote, "inner")
      here.git("commit", "-qm", "feat: inner")
      const inner = path.join(here.repo, "inner")
      fs.writeFileSync(path.join(inner, "a.txt"), "inner\n")
      yield* Effect.provide(commitAll("fix: inner"), at(here, inner))
      assert.strictEqual(here.gitIn(inner, "log", "-1", "--format=%s"), "fix: inner")
      const outer = yield* Effect.provide(commitAll("build: inner"), at(here))
      assert.strictEqual(outer.subject, "build: inner")
      assert.strictEqual(here.git("rev-parse", "HEAD:inner"), here.gitIn(inner, "rev-parse", "HEAD"))
    })))
})

describe("12 /commit: hooks, locks and ends", () => {
  it.live("a hook that fails is shown; index and message are kept, and the next time begins with them", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.hook("pre-commit", "echo to-out; echo nope >&2; exit 1")
        here.write("a.txt", "two\n")
        const head = here.head()
        const refused = yield* Effect.flip(commitAll("fix: a\n\nbody"))
        assert.strictEqual(refused.reason, "refused")
        assert.include(refused.stderr, "nope")
        assert.strictEqual(here.head(), head)
        assert.strictEqual(here.git("diff", "--cached", "--name-only"), "a.txt")
        fs.rmSync(path.join(here.repo, ".git/hooks/pre-commit"))
        const prepared = yield* prepare
        assert.deepEqual(prepared.ready, { message: "fix: a\n\nbody", source: "kept" })
        yield* Effect.flatMap(Git, (git) => git.commit(prepared, "fix: a"))
        here.write("a.txt", "three\n")
        assert.isNull((yield* prepare).ready)
      })))

  it.live("a kept message is of no use on another commit", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.hook("commit-msg", "exit 1")
        here.write("a.txt", "two\n")
        yield* Effect.flip(commitAll("fix: a"))
        fs.rmSync(path.join(here.repo, ".git/hooks/commit-msg"))
        here.git("commit", "-qm", "by hand")
        here.write("a.txt", "three\n")
        assert.isNull((yield* prepare).ready)
      })))

  it.live("a hook that changes the commit, and one that changes files, are told", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.hook("pre-commit", "echo formatted > a.txt; git add a.txt; echo left > b.txt")
        here.write("a.txt", "two\n")
        const done = yield* commitAll("fix: a")
        assert.isTrue(done.changed_by_hook)
        assert.deepEqual(done.left, ["b.txt"])
        assert.strictEqual(here.git("show", "HEAD:a.txt"), "formatted")
      })))

  it.live("an index.lock that somebody holds: told, nothing changed", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        const before = here.index()
        fs.writeFileSync(path.join(here.repo, ".git/index.lock"), "")
        const refused = yield* Effect.flip(commitAll("fix: a"))
        assert.strictEqual(refused.reason, "locked")
        assert.include(refused.message, "index.lock")
        assert.strictEqual(here.index(), before)
        assert.isTrue(fs.existsSync(path.join(here.repo, ".git/index.lock")))
      })))

  it.live("what was shown is what is committed: another index or HEAD since then is refused", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const git = yield* Git
        here.write("a.txt", "two\n")
        const prepared = yield* prepare
        here.write("a.txt", "later\n")
        yield* git.commit(prepared, "fix: a")
        assert.strictEqual(here.git("show", "HEAD:a.txt"), "two")
        assert.strictEqual(here.git("status", "--porcelain"), " M a.txt")

        const second = yield* prepare
        here.write("b.txt", "two\n")
        here.git("add", "b.txt")
        const before = here.index()
        assert.strictEqual(yield* reasonOf(git.commit(second, "fix: b")), "changed")
        assert.strictEqual(here.index(), before)

        const third = yield* prepare
        here.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
        assert.strictEqual(yield* reasonOf(git.commit(third, "fix: c")), "changed")
      })))

  it.live("interrupted in a hook: the former index, byte for byte; the message kept; no process left", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const mark = path.join(here.root, "mark")
        here.hook("pre-commit", `echo $$ > "${mark}"; sleep 600`)
        here.write("a.txt", "staged\n")
        here.git("add", "a.txt")
        here.write("a.txt", "staged\nmore\n")
        const before = here.index()
        const head = here.head()
        const fiber = yield* Effect.fork(commitAll("fix: a"))
        assert.isTrue(yield* eventually(() => fs.existsSync(mark) && fs.readFileSync(mark, "utf8").endsWith("\n")))
        const hook = Number(fs.readFileSync(mark, "utf8"))
        const group = Number(execFileSync("ps", ["-o", "pgid=", "-p", String(hook)], { encoding: "utf8" }))
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(here.index(), before)
        assert.strictEqual(here.head(), head)
        assert.isFalse(fs.existsSync(path.join(here.repo, ".git/index.lock")))
        assert.deepEqual(alive(group), [])
        assert.strictEqual((yield* prepare).ready?.message, "fix: a")
      })))

  it.live("interrupted behind the commit: the commit stands", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const mark = path.join(here.root, "mark")
        here.hook("post-commit", `echo > "${mark}"; sleep 600`)
        here.write("a.txt", "two\n")
        const fiber = yield* Effect.fork(commitAll("fix: a"))
        assert.isTrue(yield* eventually(() => fs.existsSync(mark)))
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: a")
        assert.strictEqual(here.git("status", "--porcelain"), "")
      })))

  it.live("a message with what git would read: comments, an option, unicode", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        here.git("config", "commit.cleanup", "strip")
        here.git("config", "i18n.commitEncoding", "ISO-8859-1")
        here.git("config", "i18n.logOutputEncoding", "ISO-8859-1")
        here.write("a.txt", "two\n")
        const done = yield* commitAll("--amend ü\n\n#1 is kept\nüñí \u{1f600}")
        assert.strictEqual(done.subject, "--amend ü")
        const stored = here.git("cat-file", "commit", "HEAD")
        assert.strictEqual(stored.slice(stored.indexOf("\n\n") + 2), "--amend ü\n\n#1 is kept\nüñí \u{1f600}")
        assert.notInclude(stored, "\nencoding ")
      })))

  it.live("a signed commit, with a key of ssh; and a key that is not there", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        const key = path.join(here.root, "key")
        execFileSync(programs.keygen, ["-q", "-t", "ed25519", "-N", "", "-f", key])
        fs.writeFileSync(path.join(here.root, "signers"), `test@example.com ${fs.readFileSync(`${key}.pub`, "utf8")}`)
        here.git("config", "gpg.format", "ssh")
        here.git("config", "user.signingKey", key)
        here.git("config", "commit.gpgSign", "true")
        here.git("config", "gpg.ssh.allowedSignersFile", path.join(here.root, "signers"))
        here.git("config", "log.showSignature", "true")
        here.write("a.txt", "two\n")
        const done = yield* commitAll("fix: a")
        assert.strictEqual(done.id, here.git("rev-parse", "HEAD"))
        here.git("verify-commit", "HEAD")
        here.git("config", "user.signingKey", path.join(here.root, "nothing"))
        here.write("a.txt", "three\n")
        const refused = yield* Effect.flip(commitAll("fix: b"))
        assert.strictEqual(refused.reason, "refused")
        assert.strictEqual((yield* prepare).ready?.message, "fix: b")
      })))

  it.live("a signed commit, with a key of gpg", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place()
      // a short path: the agent's socket must fit into 108 bytes
      const home = fs.mkdtempSync("/tmp/hzgpg-")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          spawnSync(programs.gpgconf, ["--kill", "all"], { env: { ...here.vars, GNUPGHOME: home } })
          fs.rmSync(home, { recursive: true, force: true })
        })
      )
      fs.chmodSync(home, 0o700)
      const env = { ...here.vars, GNUPGHOME: home }
      const made = ["--batch", "--passphrase", "", "--quick-generate-key", "Test <test@example.com>", "ed25519", "sign"]
      execFileSync(programs.gpg, made, { env, stdio: "ignore" })
      here.git("config", "commit.gpgSign", "true")
      here.write("a.txt", "two\n")
      const done = yield* Effect.provide(commitAll("fix: a"), at({ ...here, vars: env }))
      assert.strictEqual(done.subject, "fix: a")
      execFileSync("git", ["verify-commit", "HEAD"], { cwd: here.repo, env, stdio: "ignore" })
      here.git("config", "user.signingKey", "0000000000000000")
      here.write("a.txt", "three\n")
      const refused = yield* Effect.provide(Effect.flip(commitAll("fix: b")), at({ ...here, vars: env }))
      assert.include(refused.stderr, "gpg failed to sign")
      assert.strictEqual(here.git("diff", "--cached", "--name-only"), "a.txt")
    })))

  it.live("nobody to name as author: git's own words, nothing lost", () =>
    inPlace({}, (here) =>
      Effect.gen(function*() {
        fs.writeFileSync(path.join(here.root, "gitconfig"), "[user]\n\tuseConfigOnly = true\n")
        here.write("a.txt", "two\n")
        const refused = yield* Effect.flip(commitAll("fix: a"))
        assert.include(refused.stderr, "user.email")
        assert.strictEqual(here.read("a.txt"), "two\n")
      })))
})

describe("12.0 programs", () => {
  it.live("a git that is not there", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place()
      const without: Place = { ...here, vars: { ...here.vars, PATH: here.bin } }
      const refused = yield* Effect.provide(Effect.flip(prepare), at(without))
      assert.deepEqual([refused.reason, refused.message], ["no_git", "there is no git on PATH"])
    })))

  it.live("no key of a provider reaches a hook, no question is asked, the locale is C", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place({
        vars: { ANTHROPIC_API_KEY: "sk-ant-secret", GH_TOKEN: "ghp_x", MY_OWN: "1", LC_ALL: "de_DE.UTF-8" }
      })
      const out = path.join(here.root, "env")
      here.hook("pre-commit", `env > "${out}"`)
      here.write("a.txt", "two\n")
      yield* Effect.provide(commitAll("fix: a"), at(here))
      const env = fs.readFileSync(out, "utf8")
      assert.notMatch(env, /sk-ant-secret|ghp_x/)
      assert.match(env, /^MY_OWN=1$/m)
      assert.match(env, /^LC_ALL=C$/m)
      assert.match(env, /^GIT_TERMINAL_PROMPT=0$/m)
    })))

  it.effect("a hook that hangs is ended with its group after 60 s; index and message are kept", () =>
    Effect.scoped(Effect.gen(function*() {
      const here = yield* place()
      const mark = path.join(here.root, "mark")
      here.hook("pre-commit", `echo $$ > "${mark}"; exec sleep 600`)
      here.write("a.txt", "two\n")
      const fiber = yield* Effect.fork(Effect.provide(Effect.flip(commitAll("fix: a")), at(here)))
      assert.isTrue(yield* eventually(() => fs.existsSync(mark)))
      yield* TestClock.adjust("61 seconds")
      const refused = yield* Fiber.join(fiber)
      assert.strictEqual(refused.reason, "timeout")
      assert.include(refused.message, "60 s")
      assert.strictEqual(here.git("diff", "--cached", "--name-only"), "a.txt")
    })))
})
