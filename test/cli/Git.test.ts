/** The git commands of the conversation on real repositories, with a scripted model and a person who answers. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { check } from "../../src/cli/Check.ts"
import * as Conversation from "../../src/cli/Conversation.ts"
import type { CliExit } from "../../src/cli/Exit.ts"
import * as GitPublish from "../../src/cli/GitPublish.ts"
import * as GitText from "../../src/cli/GitText.ts"
import * as GitWords from "../../src/cli/GitWords.ts"
import * as Parser from "../../src/cli/Parser.ts"
import * as Prompter from "../../src/cli/Prompter.ts"
import * as Spec from "../../src/cli/Spec.ts"
import { colourless } from "../../src/cli/Style.ts"
import { ApiClient, type SendOptions } from "../../src/domain/ApiClient.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import type { Message } from "../../src/domain/Message.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import type { Line } from "../../src/platform/Terminal.ts"
import { inPlaceOf, type Place } from "../git/support.ts"
import { eventually } from "../support/processes.ts"
import { bench } from "./support.ts"

interface Talked {
  readonly out: string
  readonly err: string
  readonly asked: ReadonlyArray<string>
  readonly prompts: ReadonlyArray<string>
  readonly requests: ReadonlyArray<{ readonly messages: ReadonlyArray<Message>; readonly options?: SendOptions }>
}

type Typed = string | Line | (() => string)

/** What is typed line by line, then Ctrl-D; `answers` are the model's, the last one repeats; null = it fails. */
const talk = (
  here: Place,
  typed: ReadonlyArray<Typed>,
  answers: ReadonlyArray<string | null> = [null],
  more: { readonly during?: (raise: Effect.Effect<void>) => Effect.Effect<void>; readonly cwd?: string } = {}
): Effect.Effect<Talked> =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    const requests: Array<{ readonly messages: ReadonlyArray<Message>; readonly options?: SendOptions }> = []
    let next = 0
    const on = bench({
      environment: {
        stdin_is_tty: true,
        stdout_is_tty: true,
        stderr_is_tty: true,
        cwd: here.repo,
        home: here.root,
        vars: { ...here.vars, NO_COLOR: "1" }
      },
      terminal: {
        readLine: (prompt): Effect.Effect<Line> =>
          Effect.sync(() => {
            asked.push(prompt)
            const line = typed[next]
            next += 1
            return line === undefined
              ? { type: "end" }
              : typeof line === "object"
              ? line
              : { type: "line", text: typeof line === "function" ? line() : line }
          })
      }
    })
    const api = Layer.succeed(ApiClient, {
      sendMessage: (messages, _, options) => {
        requests.push({ messages, ...(options === undefined ? {} : { options }) })
        const answer = answers[Math.min(requests.length, answers.length) - 1]
        return answer === null || answer === undefined
          ? Stream.fail(new ApiError({ reason: "network", message: "cannot reach it", retryable: true }))
          : Stream.fromIterable<StreamEvent>([
            { type: "content_delta", text: answer },
            { type: "message_stop", stop_reason: "end_turn" }
          ])
      }
    })
    const checked = check([])
    if (checked.kind !== "command") throw new Error("no conversation")
    const shared = yield* Prompter.shared
    const values = yield* Effect.orDie(Parser.parse(Spec.conversation, checked.argv))
    const cwd = more.cwd ?? here.repo
    const fiber = yield* Effect.fork(
      Conversation.execute(values, shared).pipe(
        Effect.catchAll((exit: CliExit) => Effect.succeed(exit.exit_code)),
        Effect.provide(Layer.mergeAll(on.layer, Layer.succeed(Workspace, { root: cwd, cwd }), api))
      )
    )
    if (more.during !== undefined) yield* more.during(Effect.suspend(() => on.raise("SIGINT")))
    assert.strictEqual(yield* Fiber.join(fiber), 0)
    return {
      out: on.out.join(""),
      err: on.err.join(""),
      asked,
      prompts: on.inputs.map(({ prompt }) => typeof prompt === "string" ? prompt : JSON.stringify(prompt)),
      requests
    }
  })

const editor = (here: Place, script: string): Record<string, string> => {
  here.program("my-editor", script)
  return { EDITOR: `${path.join(here.bin, "my-editor")} --wait` }
}

describe("12 /commit in the conversation", () => {
  it.live("files, what is not included, the message of the model; yes commits exactly that", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        here.write(".env", "API_KEY=f81d4fae7dec11d0a76500a0c91e6bf6\n")
        const { err, out, requests } = yield* talk(here, ["/commit", "y"], ["fix(a): say two\n\nOne was wrong."])
        assert.strictEqual(err, "")
        assert.include(out, "1 file to commit on main\n  M a.txt\nnot included, because untracked:\n  .env\n")
        assert.include(out, "\n    fix(a): say two\n\n    One was wrong.\n")
        assert.match(out, /committed [0-9a-f]{7} on main: fix\(a\): say two\n/u)
        assert.strictEqual(here.git("log", "-1", "--format=%B"), "fix(a): say two\n\nOne was wrong.")
        assert.strictEqual(here.git("status", "--porcelain"), "?? .env")
        assert.strictEqual(requests.length, 1)
        assert.deepEqual(requests[0]?.options, { model: "fake/model", purpose: "commit_message" })
        assert.notInclude(JSON.stringify(requests), "f81d4fae")
      })))

  it.live("no, Ctrl-C and Ctrl-D cancel: the index as it was, byte for byte (D16)", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "staged\n")
        here.git("add", "a.txt")
        here.write("a.txt", "staged\nnot\n")
        const before = here.index()
        for (const answer of ["n", { type: "interrupt" }, { type: "end" }] as const) {
          const { out } = yield* talk(here, ["/commit", "what?", answer], ["fix: a"])
          assert.include(out, "nothing was committed, and the index is as it was")
          assert.strictEqual(here.index(), before)
        }
        assert.strictEqual(here.git("log", "--oneline").split("\n").length, 1)
      })))

  it.live("edited in $EDITOR; another message inline; asked again of the model", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        const vars = editor(
          here,
          `test "$1" = --wait && sed -i '1s/.*/not of the form/' "$2" && echo '# a line' >> "$2"`
        )
        const with_ = { ...here, vars: { ...here.vars, ...vars } }
        here.write("a.txt", "two\n")
        const first = yield* talk(with_, ["/commit", "e", "n"], ["fix: a"])
        assert.include(first.out, "    not of the form\n")
        assert.include(first.out, "note: the first line is not of the form")

        // what was edited is there the next time, and the model is not asked
        const second = yield* talk(with_, ["/commit", "m feat: b\n\nmore", "g", "y"], ["fix: c"])
        assert.include(second.out, "the message of an earlier try:\n\n    not of the form\n")
        assert.include(second.out, "    feat: b\n\n    more\n")
        assert.strictEqual(second.requests.length, 1)
        assert.strictEqual(here.git("log", "-1", "--format=%B"), "fix: c")

        here.write("a.txt", "three\n")
        yield* talk(with_, ["/commit feat: given", "y"])
        assert.strictEqual(here.git("log", "-1", "--format=%B"), "feat: given")
      })))

  it.live("an editor that fails changes nothing, one that leaves nothing cancels", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        const failing = { ...here, vars: { ...here.vars, ...editor(here, "echo lost > \"$2\"; exit 3") } }
        const { out } = yield* talk(failing, ["/commit", "e", "n"], ["fix: a"])
        assert.include(out, "ended with exit code 3")
        assert.notInclude(out, "lost")
        const empty = { ...here, vars: { ...here.vars, ...editor(here, ": > \"$2\"") } }
        assert.include((yield* talk(empty, ["/commit", "e"], ["fix: a"])).out, "the message is empty; nothing was")
        assert.strictEqual(here.git("log", "--oneline").split("\n").length, 1)
      })))

  it.live("a model that fails never keeps anybody from committing", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.git("mv", "a.txt", "c.ts")
        const { out, requests } = yield* talk(here, ["/commit", "y"])
        assert.strictEqual(requests.length, 2)
        assert.include(out, "no message from the model (cannot reach it); this is a plain one")
        assert.strictEqual(here.git("log", "-1", "--format=%B"), "chore: rename c.ts")
        assert.include((yield* talk(here, ["/commit"])).out, "there is nothing to commit\n")
      })))

  it.live("a hook that fails: its words, the message kept; a merge takes git's own message", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.hook("pre-commit", "printf 'lint \\033[31mred\\033[0m\\n' >&2; exit 1")
        here.write("a.txt", "two\n")
        const { err } = yield* talk(here, ["/commit", "y"], ["fix: a"])
        assert.include(err, "error: git commit failed (exit code 1)")
        assert.include(err, "  lint ␛[31mred")
        fs.rmSync(path.join(here.repo, ".git/hooks/pre-commit"))
        const again = yield* talk(here, ["/commit", "y"])
        assert.include(again.out, "the message of an earlier try")
        assert.strictEqual(again.requests.length, 0)
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: a")

        here.git("checkout", "-qb", "side", "HEAD~1")
        here.git("commit", "-q", "--allow-empty", "-m", "fix: side")
        here.git("merge", "-q", "--no-ff", "--no-commit", "main")
        const merge = yield* talk(here, ["/commit", "y"])
        assert.include(merge.out, "which ends the merge")
        assert.notInclude(merge.out, "note:")
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "Merge branch 'main' into side")
      })))

  it.live("Ctrl-C in the middle of a hook stops the command, not the conversation; the index is as it was", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        const mark = path.join(here.root, "mark")
        here.hook("pre-commit", `echo > "${mark}"; exec sleep 600`)
        here.write("a.txt", "two\n")
        const before = here.index()
        const { out } = yield* talk(here, ["/commit", "y", "/branch"], ["fix: a"], {
          during: (raise) =>
            Effect.gen(function*() {
              assert.isTrue(yield* eventually(() => fs.existsSync(mark)))
              yield* raise
            })
        })
        assert.include(out, "\nstopped\n")
        assert.include(out, "* main")
        assert.strictEqual(here.index(), before)
        assert.isFalse(fs.existsSync(path.join(here.repo, ".git/index.lock")))
      })))

  it.live("likely secrets in what would be committed are told with their place, never sent and never shown", () =>
    inPlaceOf({ vars: { MY_TOKEN: "hunter2-hunter2" } }, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "one\npassword = \"tr0ub4dor&3\"\nx hunter2-hunter2\n")
        const { out, requests } = yield* talk(here, ["/commit", "n"], ["fix: a"])
        assert.include(out, "warning: this looks like secrets:\n  a.txt:2: a value for \"password\"\n")
        const sent = requests.flatMap(({ messages }) => messages.map(textOf)).join("\n")
        assert.include(sent, "+password = \"[redacted]\"\n+x [redacted]")
        assert.notMatch(`${out}${JSON.stringify(requests)}`, /tr0ub4dor|hunter2-/u)
      })))
})

describe("12 /commit-push-pr in the conversation", () => {
  it.live("commits, pushes, opens; each step told; what fails after a step says what is done", () =>
    inPlaceOf({ remote: true }, (here) =>
      Effect.gen(function*() {
        assert.include((yield* talk(here, ["/commit-push-pr"])).err, "make a branch with /branch NAME")
        here.git("fetch", "-q")
        const { out: none } = yield* talk(here, ["/branch f", "/commit-push-pr"])
        assert.include(none, "f has no commit of its own: nothing was pushed")
        here.program(
          "gh",
          "case \"$1 $2\" in 'pr create') echo https://github.com/o/r/pull/7;; 'pr list') echo '[]';; esac"
        )
        here.write("a.txt", "two\n")
        const { err, out } = yield* talk(here, ["/commit-push-pr", "y"], ["fix: a"])
        assert.strictEqual(err, "")
        assert.match(out, /committed [0-9a-f]{7} on f: fix: a\n/u)
        assert.include(out, "pushed f to origin")
        assert.include(out, "pull request: https://github.com/o/r/pull/7\n")
        assert.strictEqual(here.gitIn(here.remote, "rev-parse", "f"), here.head())

        here.write("a.txt", "password = \"tr0ub4dor&3\"\n")
        here.git("commit", "-qam", "fix: secret")
        for (const text of ["password = \"tr0ub4dor&3\"\n", "three\n"]) {
          here.write("a.txt", text)
          const warned = yield* talk(here, ["/commit-push-pr", "n"], ["fix: c"])
          assert.match(warned.out, /warning: this looks like secrets:\n {2}a\.txt:1: .* \(in commit [0-9a-f]{7}\)\n/u)
          assert.notInclude(warned.out, "pushed f")
        }
        here.git("reset", "-q", "--hard", "HEAD~1")

        here.program("gh", "case \"$1\" in auth) exit 0;; pr) echo nope >&2; exit 1;; esac")
        const published = yield* talk(here, ["/commit-push-pr", "y"])
        assert.include(published.out, "f was at origin already")
        assert.include(published.err, "error: pushed f, gh pr create failed (exit code 1)")

        fs.writeFileSync(path.join(here.remote, "hooks/pre-receive"), "#!/bin/sh\necho never >&2\nexit 1\n", {
          mode: 0o755
        })
        here.write("a.txt", "three\n")
        const rejected = yield* talk(here, ["/commit-push-pr", "y"], ["fix: b"])
        assert.match(rejected.err, /^error: committed [0-9a-f]{7}, push failed: origin refused it/mu)
        assert.include(rejected.err, "remote: never")
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: b")
      })))
})

describe("12 the others in the conversation", () => {
  it.live("/diff goes with the next message, once, without secrets that are known here", () =>
    inPlaceOf({ vars: { MY_TOKEN: "hunter2-hunter2" } }, (here) =>
      Effect.gen(function*() {
        assert.include((yield* talk(here, ["/diff"])).out, "nothing has changed")
        here.write("a.txt", "```\nhunter2-hunter2\n")
        here.write("new\nfile", "x\n")
        const { out, prompts } = yield* talk(here, ["/diff", "look", "again"])
        assert.include(out, "+hunter2-hunter2")
        assert.include(out, "untracked, not shown:\n  \"new\\nfile\"\n")
        assert.include(prompts[0] ?? "", "````diff\ndiff --git a/a.txt b/a.txt\n")
        assert.include(prompts[0] ?? "", "+[redacted]\n````\nUntracked files, not shown:\n- \"new\\nfile\"\n\nlook")
        assert.deepEqual(prompts.slice(1), ["again"])
      })))

  it.live("/branch, /worktree, /stash; what goes wrong is told and the conversation goes on", () =>
    inPlaceOf({}, (here) =>
      Effect.gen(function*() {
        here.write("a.txt", "two\n")
        const { err, out } = yield* talk(here, [
          "/branch -x",
          "/branch a b",
          "/branch f/1",
          "/branch",
          "/worktree w/2",
          "/worktree w/2",
          "/worktree",
          "/worktree remove w/2",
          "/worktree remove",
          "/stash",
          "/stash list",
          "/stash pop",
          "/stash drop",
          "/diff all"
        ])
        assert.include(err, "error: \"-x\" is no name for a branch")
        assert.include(err, "error: \"a b\" is no name for a branch")
        assert.include(out, "* f/1")
        assert.include(out, `a conversation there: cd ${here.repo}-w-2`)
        assert.include(err, `error: ${here.repo}-w-2 is there already`)
        assert.include(out, `removed ${here.repo}-w-2; the branch w/2 stays`)
        assert.include(err, "error: remove needs a name")
        assert.match(out, /stashed 1 file as "hanzo: \d{4}-/u)
        assert.match(out, /stash@\{0\} {2}.* {2}On f\/1: hanzo: /u)
        assert.match(out, /brought back: On f\/1: hanzo: /u)
        assert.include(err, "error: /stash, /stash list or /stash pop")
        assert.strictEqual(here.git("status", "--porcelain"), " M a.txt")
      })))

  it.live("outside a repository", () =>
    inPlaceOf({ start: "none" }, (here) =>
      Effect.gen(function*() {
        for (const command of ["/branch", "/commit", "/commit-push-pr", "/worktree", "/diff", "/stash"]) {
          assert.include((yield* talk(here, [command])).err, "error: this is no git repository; `git init` makes one")
        }
      })))
})

describe("12 words and texts", () => {
  it("what is typed", () => {
    assert.deepEqual(GitWords.worktreeAction([]), { kind: "list" })
    assert.deepEqual(GitWords.worktreeAction(["add", "list"]), { kind: "add", name: "list" })
    assert.deepEqual(GitWords.worktreeAction(["x"]), { kind: "add", name: "x" })
    for (const wrong of [["x", "y"], ["add"], ["remove"], ["list", "x"], ["a", "b", "c"]]) {
      assert.strictEqual(GitWords.worktreeAction(wrong).kind, "wrong", wrong.join(" "))
    }
    assert.deepEqual(["", "push", "list", "pop", "drop"].map(GitWords.stashAction), [
      "push",
      "push",
      "list",
      "pop",
      null
    ])
    const answers: ReadonlyArray<readonly [string, GitWords.Answer | null]> = [
      ["y", { kind: "yes" }],
      [" YES ", { kind: "yes" }],
      ["e", { kind: "edit" }],
      ["g", { kind: "generate" }],
      ["no", { kind: "no" }],
      ["c", { kind: "no" }],
      ["m fix: a\n\nbody", { kind: "message", text: "fix: a\n\nbody" }],
      ["m", null],
      ["", null],
      ["yes please", null],
      ["fix: a", null]
    ]
    for (const [text, answer] of answers) assert.deepEqual(GitWords.answerOf(text), answer, text)
  })

  it.prop("no name and no word of git reaches the terminal as it is", [
    FastCheck.string({ unit: "binary", minLength: 1 })
  ], ([text]) => {
    // oxlint-disable-next-line no-control-regex
    const raw = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/u
    const shown = [
      GitText.name(text),
      ...GitText.said(text),
      GitText.messageText(text),
      GitText.branchesText({
        current: text,
        branches: [{ name: text, current: true, commit: "abc", subject: text, at: 0, upstream: text, track: text }]
      }, colourless),
      GitText.worktreesText([{ path: text, head: "abc", branch: text, bare: false, locked: text, prunable: null }]),
      GitText.stashesText([{ index: 0, commit: "a", message: text, at: 0 }]),
      GitText.diffText({ branch: null, text, bytes: 0, cut: false, files: [], untracked: [] }, colourless),
      GitText.pullRequestText({ url: text, opened: true, without: null, compare: text })
    ]
    for (const each of shown) assert.notMatch(each, raw)
    assert.notInclude(GitText.name(text), "\n")
  })

  it("a pull request is called after its latest commit, and lists them all", () => {
    const commits = [{ subject: "fix: b", body: "why" }, { subject: "feat: a", body: "" }]
    assert.deepEqual(GitPublish.pullRequestOf({ draft: false }, { commits }, "x"), {
      title: "fix: b",
      body: "why\n\n- feat: a\n- fix: b",
      draft: false
    })
    assert.deepEqual(GitPublish.pullRequestOf({ draft: true, title: "t", body: "", base: "b" }, { commits: [] }, "x"), {
      title: "t",
      body: "",
      draft: true,
      base: "b"
    })
    assert.strictEqual(GitPublish.pullRequestOf({ draft: false }, { commits: [] }, "x").title, "x")
  })
})
