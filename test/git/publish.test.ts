import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Git } from "../../src/git/Git.ts"
import type { GitError } from "../../src/git/GitError.ts"
import type { PullRequestInput } from "../../src/git/Publish.ts"
import { at, inPlace, type Place } from "./support.ts"

const destination = Effect.flatMap(Git, (git) => git.destination)
const push = Effect.flatMap(Git, (git) => Effect.flatMap(git.destination, git.push))
const input: PullRequestInput = { title: "feat: --title\nx", body: "why\n# kept", draft: false }
const pullRequest = (given: PullRequestInput = input) =>
  Effect.flatMap(Git, (git) => Effect.flatMap(git.destination, (to) => git.pullRequest(to, given)))
const refused = <A>(effect: Effect.Effect<A, GitError, Git>) => Effect.flip(effect)

const onBranch = (here: Place, name = "feat/x"): void => {
  here.git("checkout", "-q", "--no-track", "-b", name)
  here.write("a.txt", "two\n")
  here.git("commit", "-qam", "feat: two")
}

/** `origin` has an address of GitHub over ssh; the bytes go to the bare repository of the place. */
const asGitHub = (here: Place): void => {
  here.program(
    "fake-ssh",
    `for last; do :; done\ncase "$last" in\n*upload-pack*) exec git upload-pack '${here.remote}';;\n` +
      `*) exec git receive-pack '${here.remote}';;\nesac`
  )
  here.git("config", "core.sshCommand", `'${path.join(here.bin, "fake-ssh")}'`)
  here.git("config", "ssh.variant", "ssh")
  here.git("remote", "set-url", "origin", "git@github.com:o/r.git")
}

/** A `gh` that keeps what it was called with, in `gh.log` and `gh.body`. */
const gh = (here: Place, script: { readonly auth?: string; readonly list?: string; readonly create?: string }): void =>
  here.program(
    "gh",
    [
      `printf '%s\\0' "$@" >> '${here.root}/gh.log'; printf '\\n' >> '${here.root}/gh.log'`,
      "case \"$1 $2\" in",
      `'auth status') ${script.auth ?? "exit 0"};;`,
      `'pr list') ${script.list ?? "echo '[]'"};;`,
      `'pr create') cat > '${here.root}/gh.body'; env > '${here.root}/gh.env'; ${
        script.create ?? "echo https://github.com/o/r/pull/7"
      };;`,
      "esac"
    ].join("\n")
  )

const calls = (here: Place): ReadonlyArray<ReadonlyArray<string>> =>
  fs.readFileSync(path.join(here.root, "gh.log"), "utf8").split("\0\n").filter((text) => text !== "").map((text) =>
    text.split("\0")
  )

describe("12 /commit-push-pr: where it goes", () => {
  it.live("to its own branch, also when it follows another one and push.default would take that", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        here.git("fetch", "-q")
        here.git("checkout", "-q", "-b", "ä/日本", "--track", "origin/main")
        here.git("config", "push.default", "upstream")
        here.git("config", "remote.origin.push", "HEAD:refs/heads/main")
        here.write("a.txt", "two\n")
        here.git("commit", "-qam", "feat: two")
        const main = here.gitIn(here.remote, "rev-parse", "main")
        assert.isFalse((yield* push).up_to_date)
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "main"), main)
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "refs/heads/ä/日本"), here.head())
        assert.strictEqual(here.git("rev-parse", "--abbrev-ref", "@{u}"), "origin/ä/日本")
        assert.isTrue((yield* push).up_to_date)
      })))

  it.live("refused before anything is done: detached, default branch, rebase, no remote, empty, gone", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        const main = yield* refused(destination)
        assert.strictEqual(main.reason, "state")
        assert.include(main.message, "/branch")
        // known from the last fetch: nobody is asked
        here.git("fetch", "-q")
        here.git("remote", "set-head", "origin", "main")
        here.git("remote", "set-url", "--push", "origin", "/nowhere")
        assert.include((yield* refused(destination)).message, "default branch")
        here.git("remote", "set-url", "--delete", "--push", "origin", "/nowhere")

        here.git("checkout", "-q", "--detach")
        const detached = yield* refused(destination)
        assert.strictEqual(detached.reason, "state")
        assert.include(detached.message, "/branch")

        onBranch(here, "side")
        assert.deepEqual(yield* destination, {
          top: here.repo,
          branch: "side",
          base: "main",
          address: here.remote,
          tip: here.git("rev-parse", "main")
        })
        fs.mkdirSync(path.join(here.repo, ".git/rebase-merge"))
        assert.strictEqual((yield* refused(destination)).reason, "state")
        fs.rmdirSync(path.join(here.repo, ".git/rebase-merge"))

        here.gitIn(here.root, "init", "-q", "--bare", "empty.git")
        here.git("remote", "set-url", "origin", path.join(here.root, "empty.git"))
        assert.strictEqual((yield* refused(destination)).reason, "no_remote")
        here.git("remote", "set-url", "origin", path.join(here.root, "gone.git"))
        assert.strictEqual((yield* refused(destination)).reason, "refused")
        here.git("remote", "remove", "origin")
        const none = yield* refused(destination)
        assert.strictEqual(none.reason, "no_remote")
        assert.include(none.message, "git remote add origin")
      })))

  it.live("a branch that has moved at the remote, and a hook there that says no", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        onBranch(here)
        here.git("push", "-q", "origin", "HEAD~1:refs/heads/feat/x")
        here.gitIn(here.root, "clone", "-q", "-b", "feat/x", here.remote, "other")
        here.gitIn(path.join(here.root, "other"), "commit", "-q", "--allow-empty", "-m", "fix: elsewhere")
        here.gitIn(path.join(here.root, "other"), "push", "-q")
        const theirs = here.gitIn(here.remote, "rev-parse", "feat/x")
        const behind = yield* refused(push)
        assert.strictEqual(behind.reason, "refused")
        assert.include(behind.message, "git pull --rebase origin feat/x")
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "feat/x"), theirs)

        here.git("pull", "-q", "--rebase", "origin", "feat/x")
        const hook = path.join(here.remote, "hooks/pre-receive")
        fs.writeFileSync(hook, "#!/bin/sh\necho 'only signed work' >&2\nexit 1\n", { mode: 0o755 })
        const declined = yield* refused(push)
        assert.include(declined.message, "pre-receive hook declined")
        assert.include(declined.stderr, "only signed work")
        fs.rmSync(hook)
        here.hook("pre-push", "echo 'tests fail' >&2; exit 1")
        const own = yield* refused(push)
        assert.include(own.stderr, "tests fail")
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "feat/x"), theirs)
      })))

  it.live("user and password of an address are in nothing that is told", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        onBranch(here)
        here.git("remote", "set-url", "origin", "https://me:t0k3n-5ecret@127.0.0.1:1/o/r.git")
        const failure = yield* refused(destination)
        assert.include(failure.stderr, "https://127.0.0.1:1/o/r.git")
        assert.notInclude(`${failure.message} ${failure.stderr}`, "t0k3n")
        here.git("remote", "set-url", "origin", here.remote)
        here.git("remote", "set-url", "--push", "origin", "https://me:t0k3n-5ecret@127.0.0.1:1/o/r.git")
        const to = yield* destination
        assert.strictEqual(to.address, "https://127.0.0.1:1/o/r.git")
        const git = yield* Git
        const unpushed = yield* refused(git.push(to))
        assert.notInclude(`${unpushed.message} ${unpushed.stderr}`, "t0k3n")
      })))
})

describe("12 /commit-push-pr: the pull request", () => {
  it.live("no gh, and a gh that is not signed in: where a person opens it", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        onBranch(here)
        asGitHub(here)
        yield* push
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "feat/x"), here.head())
        const compare = "https://github.com/o/r/compare/main...feat/x?expand=1"
        const only = { ...here, vars: { ...here.vars, PATH: here.bin } }
        for (const name of ["git", "sh", "env", "cat", "printf"]) {
          const found = (here.vars["PATH"] ?? "").split(":").map((dir) => path.join(dir, name)).find((file) =>
            fs.existsSync(file)
          )
          if (found !== undefined) fs.symlinkSync(found, path.join(here.bin, name))
        }
        const none = yield* Effect.provide(pullRequest(), at(only))
        assert.deepEqual(none, { url: null, opened: false, without: "there is no gh on PATH", compare })
        gh(here, { auth: "echo 'not logged in' >&2; exit 1" })
        const signedOut = yield* pullRequest()
        assert.deepEqual(signedOut, {
          url: null,
          opened: false,
          without: "gh is not signed in; `gh auth login` does that",
          compare
        })
        assert.deepEqual(calls(here), [["auth", "status", "--hostname", "github.com"]])
      })))

  it.live("opened with title and base as one argument each, the text by stdin, nothing asked", () =>
    inPlace(
      { remote: true, vars: { GH_TOKEN: "ghp_0123456789abcdefghij", ANTHROPIC_API_KEY: "sk-ant-x" } },
      (here) =>
        Effect.gen(function*() {
          onBranch(here)
          gh(here, {})
          assert.deepEqual(yield* pullRequest({ ...input, draft: true, base: "--web" }), {
            url: "https://github.com/o/r/pull/7",
            opened: true,
            without: null,
            compare: null
          })
          assert.deepEqual(calls(here).at(-1), [
            "pr",
            "create",
            "--head=feat/x",
            "--base=--web",
            "--title=feat: --title\nx",
            "--body-file=-",
            "--draft"
          ])
          assert.strictEqual(fs.readFileSync(path.join(here.root, "gh.body"), "utf8"), "why\n# kept")
          const env = fs.readFileSync(path.join(here.root, "gh.env"), "utf8")
          assert.match(env, /^GH_TOKEN=ghp_0123456789abcdefghij$/m)
          assert.match(env, /^GH_PROMPT_DISABLED=1$/m)
          assert.notInclude(env, "sk-ant-x")
        })
    ))

  it.live("one that is there already is a success, told by the list or by gh itself", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        onBranch(here)
        gh(here, { list: "echo '[{\"url\":\"https://github.com/o/r/pull/3\"}]'" })
        assert.deepInclude(yield* pullRequest(), { url: "https://github.com/o/r/pull/3", opened: false, without: null })
        gh(here, {
          create:
            "echo 'a pull request for branch \"feat/x\" already exists:' >&2; echo https://github.com/o/r/pull/4 >&2; exit 1"
        })
        assert.deepInclude(yield* pullRequest(), { url: "https://github.com/o/r/pull/4", opened: false, without: null })
      })))

  it.live("a gh that fails: its own words without its key, and the address to do it by hand", () =>
    inPlace({ remote: true, vars: { GH_TOKEN: "ghp_0123456789abcdefghij" } }, (here) =>
      Effect.gen(function*() {
        onBranch(here)
        asGitHub(here)
        gh(here, { create: "echo \"no rights with $GH_TOKEN at https://a:b@host/\" >&2; exit 4" })
        const failure = yield* refused(pullRequest())
        assert.strictEqual(failure.reason, "refused")
        assert.include(failure.message, "exit code 4")
        assert.include(failure.message, "https://github.com/o/r/compare/main...feat/x?expand=1")
        assert.include(failure.stderr, "no rights with [redacted] at https://host/")
      })))

  it.live("what it would bring: the commits that the base has not, the latest first", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        const git = yield* Git
        here.git("fetch", "-q")
        onBranch(here)
        here.git("commit", "-q", "--allow-empty", "-m", "fix: three\n\nbecause\n\nof it")
        assert.deepEqual((yield* git.unpublished(yield* destination)).commits, [
          { subject: "fix: three", body: "because\n\nof it" },
          { subject: "feat: two", body: "" }
        ])
        here.git("update-ref", "-d", "refs/remotes/origin/main")
        assert.deepEqual((yield* git.unpublished(yield* destination)).commits.map((one) => one.subject), ["fix: three"])
      })))
})

describe("12 /commit-push-pr: what a push would take along", () => {
  const key = "api_key = \"f81d4fae7dec11d0a765\"\n"
  const found = Effect.gen(function*() {
    const git = yield* Git
    return (yield* git.outgoingSecrets(yield* git.destination)).map(({ line, path, what }) => [path, line, what])
  })

  it.live("lines of commits that origin has not, also of one that a later commit takes back, of a merge, of a file's name", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        here.git("fetch", "-q")
        onBranch(here)
        assert.deepEqual(yield* found, [])
        here.write("a b.txt", `x\n${key}`)
        here.git("add", "-A")
        here.git("commit", "-qm", "feat: with it")
        const commit = here.git("rev-parse", "--short", "HEAD")
        here.write("a b.txt", "x\n")
        here.git("commit", "-qam", "fix: without it")
        const earlier = ["a b.txt", 2, `a value for "api_key" (in commit ${commit})`]
        assert.deepEqual(yield* found, [earlier])

        here.git("checkout", "-q", "-b", "other", "HEAD~1")
        here.write("a b.txt", "y\n")
        here.git("commit", "-qam", "feat: other")
        here.git("checkout", "-q", "feat/x")
        here.gitCode("merge", "-q", "other")
        here.write("a b.txt", "x\ny\npassword = \"tr0ub4dor&3\"\n")
        here.write("-ü\n.pem", "\0")
        here.git("add", "-A")
        here.git("commit", "-qm", "chore: merge")
        const merge = here.git("rev-parse", "--short", "HEAD")
        assert.deepEqual(yield* found, [
          ["-ü\n.pem", null, "a file that usually holds secrets"],
          ["a b.txt", 3, `a value for "password" (in commit ${merge})`],
          earlier
        ])

        here.git("push", "-q", "origin", "HEAD:refs/heads/elsewhere")
        assert.deepEqual(yield* found, [], "it is out already")
        here.git("update-ref", "-d", "refs/remotes/origin/elsewhere")
        assert.strictEqual((yield* found).length, 3)
      })))

  it.live("settings of git that change how a diff looks change nothing; without a fetch the remote's own word counts", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        here.git("update-ref", "-d", "refs/remotes/origin/main")
        onBranch(here)
        here.write("a.txt", key)
        here.git("commit", "-qam", "feat: key")
        for (
          const [name, value] of [
            ["color.ui", "always"],
            ["color.diff", "always"],
            ["diff.noprefix", "true"],
            ["diff.mnemonicPrefix", "true"],
            ["diff.external", "true"],
            ["log.showSignature", "true"],
            ["log.diffMerges", "off"],
            ["log.showRoot", "false"],
            ["log.decorate", "full"],
            ["format.pretty", "oneline"],
            ["core.quotePath", "true"]
          ] as const
        ) here.git("config", name, value)
        assert.deepEqual((yield* found).map(([file, line]) => [file, line]), [["a.txt", 1]])
        here.git("checkout", "-q", "--orphan", "root")
        here.git("commit", "-qm", "feat: root")
        assert.deepEqual((yield* found).map(([file, line]) => [file, line]), [["a.txt", 1]])
      })))

  it.live(
    "what is too long to be looked at is told, in a commit and in what would be committed",
    () =>
      inPlace({ remote: true }, (here) =>
        Effect.gen(function*() {
          here.git("fetch", "-q")
          here.git("checkout", "-q", "--no-track", "-b", "big")
          here.write("a.txt", "plain words of text\n".repeat(900_000))
          here.write("z.txt", key)
          here.git("add", "-A")
          const prepared = yield* Effect.flatMap(Git, (git) => git.prepare)
          assert.deepEqual(prepared.secrets.map(({ line, path }) => [path, line]), [["a.txt", null]])
          assert.include(prepared.secrets[0]?.what ?? "", "too long")
          here.git("commit", "-qm", "feat: big")
          assert.deepEqual((yield* found).map(([file, line]) => [file, line]), [["a.txt", null]])
        })),
    30_000
  )

  it.live("a history of thousands of commits is looked at as far as that goes, and the rest is told", () =>
    inPlace({ remote: true }, (here) =>
      Effect.gen(function*() {
        here.git("update-ref", "-d", "refs/remotes/origin/main")
        here.git("checkout", "-q", "--orphan", "long")
        const commit = (text: string) =>
          `commit refs/heads/long\ncommitter T <t@x> 1700000000 +0000\ndata 1\nx\nM 100644 inline f\ndata ${text.length}\n${text}\n`
        const all = Array.from({ length: 1200 }, (_, index) => commit(index === 3 ? key : `${index}\n`)).join("")
        execFileSync("git", ["fast-import", "--quiet", "--force"], { cwd: here.repo, env: here.vars, input: all })
        const [only, ...others] = yield* found
        assert.deepEqual([only?.slice(0, 2), others], [["f", null], []])
        assert.include(String(only?.[2]), "too long")
      })))
})
