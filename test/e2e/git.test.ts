/** The git commands of the built program, without a person and on a terminal of their own (script(1)). */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { Ajv } from "ajv"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { type Place, place } from "../git/support.ts"
import { alive } from "../support/processes.ts"
import { eventually, type Finished, type Home, makeHome, orphans, program, run, start } from "./support.ts"

interface Here extends Place {
  readonly home: Home
  readonly scenario: (turns: ReadonlyArray<object>) => string
  readonly hanzo: (...args: ReadonlyArray<string>) => Promise<Finished>
}

const withPlace = async (options: Parameters<typeof place>[0], use: (here: Here) => Promise<void>): Promise<void> => {
  const scope = await Effect.runPromise(Scope.make())
  const made = makeHome()
  try {
    const here = await Effect.runPromise(Scope.extend(place(options), scope))
    const home: Home = { ...made, project: here.repo, env: { ...made.env, ...here.vars, HOME: made.dir } }
    const file = path.join(made.dir, "messages.json")
    await use({
      ...here,
      home,
      scenario: (turns) => {
        fs.writeFileSync(file, JSON.stringify({ turns }))
        return file
      },
      hanzo: (...args) => run(home, args)
    })
    assert.deepStrictEqual(orphans(home), [])
  } finally {
    made.remove()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** The document on stdout, which its published schema takes. */
const json = ({ stdout }: Finished, name: string): Record<string, unknown> => {
  const schemas = fileURLToPath(new URL("../../docs/schema", import.meta.url))
  const schema = JSON.parse(fs.readFileSync(path.join(schemas, `git-${name}.schema.json`), "utf8")) as object
  const value = JSON.parse(stdout) as Record<string, unknown>
  const validate = new Ajv({ strict: false, allErrors: true }).compile(schema)
  assert.isTrue(validate(value), JSON.stringify(validate.errors))
  return value
}

describe("hanzo-dev git", () => {
  it("commit: proposes and ends with 3, commits with --yes; the model is on the record of spending (12)", async () => {
    await withPlace({}, async (here) => {
      here.write("a.txt", "two\n")
      here.write("-rf \u00fc", "new\n")
      here.write(".env", "KEY=1\n")
      const before = here.index()
      const scenario = here.scenario([{ text: "no message" }, { text: "```\nfix(a): say two\n\nwhy\n```" }])
      const proposed = await here.hanzo("git", "commit", "--scenario", scenario)
      assert.deepStrictEqual([proposed.code, proposed.stdout], [3, "fix(a): say two\n\nwhy\n"], proposed.stderr)
      assert.include(proposed.stderr, "not included, because untracked:\n  -rf \u00fc\n  .env\n")
      assert.strictEqual(here.index(), before)
      const done = await here.hanzo("git", "commit", "--scenario", scenario, "--yes", "--json")
      assert.strictEqual(done.code, 0, done.stderr)
      assert.deepInclude(json(done, "commit"), {
        status: "committed",
        source: "model",
        untracked: ["-rf \u00fc", ".env"]
      })
      assert.strictEqual(here.git("log", "-1", "--format=%B"), "fix(a): say two\n\nwhy")
      assert.strictEqual(here.git("show", "--name-only", "--format=", "HEAD"), "a.txt")
      const usage = await here.hanzo("usage", "--json")
      assert.include(usage.stdout, "commit_message")
      const nothing = await here.hanzo("git", "commit", "--yes", "--json")
      assert.deepStrictEqual([nothing.code, json(nothing, "commit")["status"]], [1, "nothing"])
    })
  })

  it("commit: without any provider, with settings that are broken, with a message of another form", async () => {
    await withPlace({}, async (here) => {
      here.write("a.txt", "two\n")
      const bad = await here.hanzo("git", "commit", "--yes", "-m", "did things")
      assert.strictEqual(bad.code, 2)
      assert.include(bad.stderr, "is not of the form")
      fs.writeFileSync(path.join(here.home.env["HANZO_CONFIG_HOME"] ?? "", "settings.json"), "{ broken")
      const drafted = await here.hanzo("git", "commit", "--yes", "--json")
      assert.strictEqual(drafted.code, 0, drafted.stderr)
      assert.deepInclude(json(drafted, "commit"), { source: "draft", message: "docs: update a.txt" })
      assert.match(String(json(drafted, "commit")["model_problem"]), /settings have errors/u)
      here.write("a.txt", "three\n")
      assert.strictEqual((await here.hanzo("git", "commit", "--yes", "-m", "did things", "--any-form")).code, 0)
      here.write("a.txt", "four\n")
      assert.strictEqual((await here.hanzo("git", "commit", "-y", "--no-model")).code, 0)
      assert.strictEqual(here.git("log", "-2", "--format=%s"), "docs: update a.txt\ndid things")
    })
  })

  it("commit: a signal in the middle ends it in order, the index as it was, nothing left running", async () => {
    await withPlace({}, async (here) => {
      const mark = path.join(here.root, "mark")
      here.hook("pre-commit", `echo > "${mark}"; exec sleep 600`)
      here.write("a.txt", "staged\n")
      here.git("add", "a.txt")
      here.write("a.txt", "staged\nnot\n")
      const before = here.index()
      for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
        fs.rmSync(mark, { force: true })
        const running = start(here.home, ["git", "commit", "--yes", "-m", "fix: a"])
        await eventually("the hook", () => fs.existsSync(mark), 20_000)
        running.child.kill(signal)
        assert.strictEqual((await running.done).code, code)
        assert.strictEqual(here.index(), before)
        assert.isFalse(fs.existsSync(path.join(here.repo, ".git/index.lock")))
        assert.deepStrictEqual(orphans(here.home), [])
      }
      assert.strictEqual(here.git("log", "--oneline").split("\n").length, 1)
    })
  })

  it("commit-push-pr: refused, committed, pushed, opened; secrets are not published unasked", async () => {
    await withPlace({ remote: true, vars: { GH_TOKEN: "ghp_0123456789abcdefghij" } }, async (here) => {
      here.program(
        "gh",
        "case \"$1 $2\" in 'pr create') cat >/dev/null; echo https://github.com/o/r/pull/7;; 'pr list') echo '[]';; esac"
      )
      here.write("a.txt", "two\n")
      const main = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: a")
      assert.strictEqual(main.code, 1)
      assert.include(main.stderr, "is the default branch of origin")
      assert.strictEqual(here.git("log", "--oneline").split("\n").length, 1)

      assert.strictEqual((await here.hanzo("git", "branch", "feat/x")).code, 0)
      const opened = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: a")
      assert.deepStrictEqual([opened.code, opened.stdout], [0, "https://github.com/o/r/pull/7\n"], opened.stderr)
      assert.strictEqual(here.gitIn(here.remote, "rev-parse", "feat/x"), here.head())

      here.write("a.txt", "password = \"tr0ub4dor&3\"\n")
      const held = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: b")
      assert.strictEqual(held.code, 1)
      assert.include(held.stderr, "a.txt:1")
      assert.notInclude(held.stderr, "tr0ub4dor")
      // also one that was committed before, alone or below another commit
      assert.strictEqual((await here.hanzo("git", "commit", "--yes", "-m", "fix: b")).code, 0)
      for (const text of ["password = \"tr0ub4dor&3\"\n", "taken back\n"]) {
        here.write("a.txt", text)
        const late = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: c", "--json")
        assert.strictEqual(late.code, 1, late.stderr)
        assert.match(late.stderr, /a\.txt:1: a value for "password" \(in commit [0-9a-f]{7}\)/u)
        assert.notInclude(late.stdout + late.stderr, "tr0ub4dor")
        const told = json(late, "commit-push-pr")
        assert.deepInclude(told, { status: "failed", pushed: false, commit: null })
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: b")
      }
      assert.notStrictEqual(here.gitIn(here.remote, "rev-parse", "feat/x"), here.head())
      here.git("reset", "-q", "--hard", "HEAD~1")
      here.write("a.txt", "three\n")
      here.program(
        "gh",
        "case \"$1 $2\" in 'pr list') echo '[]';; 'pr create') echo \"no $GH_TOKEN\" >&2; exit 1;; esac"
      )
      const failed = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: b", "--json")
      assert.strictEqual(failed.code, 1)
      assert.deepInclude(json(failed, "commit-push-pr"), { status: "failed", pushed: true, pull_request: null })
      assert.include(failed.stderr, "no [redacted]")
      assert.match(failed.stderr, /committed [0-9a-f]{7}, pushed feat\/x, gh pr create failed/u)

      here.git("remote", "set-url", "origin", "https://me:t0k3n-5ecret@127.0.0.1:1/o/r.git")
      here.write("a.txt", "four\n")
      const unreachable = await here.hanzo("git", "commit-push-pr", "--yes", "-m", "fix: c", "--json")
      assert.strictEqual(unreachable.code, 1)
      assert.include(unreachable.stderr, "https://127.0.0.1:1/o/r.git")
      assert.notInclude(unreachable.stdout + unreachable.stderr, "t0k3n")
    })
  })

  it("branch, worktree, diff, stash; outside a repository", async () => {
    await withPlace({}, async (here) => {
      assert.strictEqual((await here.hanzo("git", "branch", "--", "-x")).code, 2)
      const made = await here.hanzo("git", "worktree", "add", "w/1")
      assert.deepStrictEqual([made.code, made.stdout], [0, `${here.repo}-w-1\n`])
      assert.strictEqual((await here.hanzo("git", "worktree", "w/1")).code, 1)
      const gone = await here.hanzo("git", "worktree", "remove", "w/1", "--json")
      assert.strictEqual(json(gone, "worktree")["removed"], `${here.repo}-w-1`)
      assert.strictEqual(json(await here.hanzo("git", "branch", "--json"), "branch")["current"], "main")
      here.write("a.txt", "two\n")
      assert.include((await here.hanzo("git", "diff")).stdout, "-one\n+two\n")
      assert.deepInclude(json(await here.hanzo("git", "diff", "--json"), "diff"), { files: ["a.txt"], cut: false })
      assert.strictEqual((await here.hanzo("git", "stash")).code, 0)
      assert.strictEqual((await here.hanzo("git", "stash")).code, 1)
      assert.deepInclude(json(await here.hanzo("git", "stash", "pop", "--json"), "stash"), { stashes: [] })
      assert.include(
        (await here.hanzo("git", "diff", "-C", path.join(here.repo, ".git"))).stderr,
        "no working tree here"
      )
      const outside = await run(here.home, ["git", "diff"], { cwd: here.root })
      assert.strictEqual(outside.code, 2)
      assert.include(outside.stderr, "this is no git repository")
    })
  })
})

/** A person takes longer to answer than a line that was typed before the question: such a one is no answer. */
const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300))

const script = "script"

/** The conversation on a terminal of its own; `type` waits until something is shown. */
const onTerminal = (here: Here, args: ReadonlyArray<string>, env: Record<string, string> = {}) => {
  // without the shell in between, which would die of the Ctrl-C that is meant for the program
  const command = `exec ${[process.execPath, program, ...args].map((arg) => `'${arg}'`).join(" ")}`
  const child = spawn(script, ["-qefc", command, "/dev/null"], {
    cwd: here.repo,
    env: { ...here.home.env, TERM: "dumb", ...env },
    stdio: ["pipe", "pipe", "inherit"]
  })
  let shown = ""
  let seen = 0
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text
  })
  const done = new Promise<number | null>((resolve) => child.once("close", resolve))
  const see = (text: string): Promise<void> =>
    eventually(JSON.stringify(text), () => {
      const at = shown.indexOf(text, seen)
      if (at >= 0) seen = at + text.length
      return at >= 0
    }, 20_000).catch((error: unknown) => {
      throw new Error(`not shown: ${JSON.stringify(shown.slice(seen))}`, { cause: error })
    })
  const type = (text: string): boolean => child.stdin.write(text)
  return { child, done, see, type }
}

describe("the conversation", () => {
  it("/commit on a terminal: the message of the model, edited, committed; Ctrl-C is the editor's while it runs", async () => {
    await withPlace({}, async (here) => {
      const mark = path.join(here.root, "editing")
      here.program(
        "my-editor",
        `n=0; trap 'n=$((n+1)); [ $n = 3 ] && { echo "fix: by hand" > "$1"; exit 0; }; echo $n > "${mark}"' INT\n` +
          `echo 0 > "${mark}"; while :; do sleep 0.05; done`
      )
      const scenario = here.scenario([{ text: "fix: by the model" }])
      here.write("a.txt", "two\n")
      const { child, done, see, type } = onTerminal(here, ["--scenario", scenario], {
        EDITOR: path.join(here.bin, "my-editor")
      })
      try {
        await see("> ")
        type("/commit\r")
        await see("    fix: by the model")
        await see("n no > ")
        await quiet()
        type("e\r")
        for (const n of ["0", "1", "2"]) {
          await eventually(
            `the editor at ${n}`,
            () => fs.existsSync(mark) && fs.readFileSync(mark, "utf8") === `${n}\n`
          )
          type("\u0003")
        }
        await see("    fix: by hand")
        await see("n no > ")
        await quiet()
        type("y\r")
        await see("committed ")
        await see("> ")
        type("hi\r")
        await see("fix: by the model")
        await see("> ")
        type("\u0004")
        assert.strictEqual(await done, 0)
        assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: by hand")
      } finally {
        child.kill("SIGKILL")
      }
    })
  })

  it("hanzo-dev git commit on a terminal asks as the conversation does; no is exit code 1 and changes nothing", async () => {
    await withPlace({}, async (here) => {
      here.write("a.txt", "two\n")
      const before = here.index()
      const scenario = here.scenario([{ text: "fix: by the model" }])
      for (const [answer, code] of [["n", 1], ["\u0003", 1], ["\u0004", 1], ["y", 0]] as const) {
        assert.strictEqual(here.index(), before)
        const { child, done, see, type } = onTerminal(here, ["git", "commit", "--scenario", scenario])
        try {
          await see("    fix: by the model")
          await see("n no > ")
          await quiet()
          type(answer.length === 1 && answer < " " ? answer : `${answer}\r`)
          assert.strictEqual(await done, code)
        } finally {
          child.kill("SIGKILL")
        }
      }
      assert.strictEqual(here.git("log", "-1", "--format=%s"), "fix: by the model")
    })
  })

  it("Ctrl-C stops one command after the other, each time as the first one", async () => {
    await withPlace({}, async (here) => {
      const mark = path.join(here.root, "mark")
      here.hook("pre-commit", `echo > "${mark}"; exec sleep 600`)
      here.write("a.txt", "two\n")
      const before = here.index()
      const { child, done, see, type } = onTerminal(here, ["--scenario", here.scenario([{ text: "not asked" }])])
      try {
        await see("> ")
        for (let i = 0; i < 3; i++) {
          fs.rmSync(mark, { force: true })
          type("/commit fix: a\r")
          await see("n no > ")
          await quiet()
          type("y\r")
          await eventually("the hook", () => fs.existsSync(mark), 20_000)
          type("\u0003")
          await see("stopped")
          await see("> ")
          assert.strictEqual(here.index(), before)
        }
        // longer than an end by force takes to come
        await new Promise((resolve) => setTimeout(resolve, 2_300))
        type("/branch\r")
        await see("* main")
        await see("> ")
        type("\u0004")
        assert.strictEqual(await done, 0)
      } finally {
        child.kill("SIGKILL")
      }
    })
  })

  it("a terminal that goes away ends the program in order, also in the middle of a command", async () => {
    await withPlace({ remote: true }, async (here) => {
      here.git("checkout", "-qb", "f")
      here.git("remote", "set-url", "origin", "git@example.invalid:o/r.git")
      here.git("config", "core.sshCommand", `: > '${here.root}/asked'; sleep 60 #`)
      here.write("a.txt", "two\n")
      const before = here.index()
      for (const typed of ["", "/commit-push-pr fix: a"]) {
        const group = path.join(here.root, "group")
        const errors = path.join(here.root, "errors")
        const quoted = [process.execPath, program, "--scenario", here.scenario([{ text: "x" }])].map((arg) =>
          `'${arg}'`
        )
        const command = `echo $$ > '${group}'; exec ${quoted.join(" ")} 2> '${errors}'`
        const child = spawn(script, ["-qefc", command, "/dev/null"], {
          cwd: here.repo,
          env: { ...here.home.env, TERM: "dumb", SHELL: "/bin/sh" },
          stdio: ["pipe", "pipe", "inherit"]
        })
        let shown = ""
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          shown += text
        })
        await eventually("the prompt", () => shown.includes("> "), 20_000)
        if (typed !== "") {
          child.stdin.write(`${typed}\r`)
          await eventually("ssh", () => fs.existsSync(path.join(here.root, "asked")), 20_000)
        }
        child.kill("SIGKILL")
        const leader = Number(fs.readFileSync(group, "utf8"))
        await eventually("the end", () => alive(leader).length === 0, 20_000)
        // Node itself aborts when it puts back the mode of a terminal that has gone
        assert.notMatch(fs.readFileSync(errors, "utf8"), /Assertion|node:|^ {4}at /mu)
        assert.strictEqual(here.index(), before)
      }
    })
  })
})
