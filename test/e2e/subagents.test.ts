import { assert, describe, it } from "vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { alive } from "../support/processes.ts"
import { type Home, makeHome, run, start } from "./support.ts"

/** A project whose test fails. */
const failing = (home: Home): void => {
  fs.writeFileSync(path.join(home.project, "sum.js"), "exports.sum = (a, b) => a - b\n")
  fs.writeFileSync(
    path.join(home.project, "sum.test.js"),
    "const { test } = require(\"node:test\")\nconst assert = require(\"node:assert\")\n" +
      "test(\"sum\", () => assert.equal(require(\"./sum.js\").sum(2, 3), 5))\n"
  )
}

/** Whether the project's test passes, without the agent. */
const passes = (home: Home): boolean =>
  spawnSync(process.execPath, ["--test"], { cwd: home.project, env: { PATH: process.env["PATH"] ?? "" } }).status === 0

const plan = {
  when: { prompt: "You are a planning agent" },
  expect: { tools: [] },
  text: "1. In sum.js add in place of subtracting. 2. Run node --test."
}

/** Reads, repairs, runs the test, as the results come. */
const code = [
  { when: { last_tool_result: "pass 1" }, text: "sum adds now, the test passes." },
  {
    when: { last_tool_result: "fail 1" },
    calls: [{ name: "edit", arguments: { path: "sum.js", old_string: "a - b", new_string: "a + b" } }]
  },
  {
    when: { last_tool_result: "a + b" },
    calls: [{ name: "bash", arguments: { command: "node --test" } }]
  },
  { when: { last_tool_result: "a - b" }, calls: [{ name: "bash", arguments: { command: "node --test" } }] },
  {
    when: { prompt: "You are a coding agent" },
    expect: { prompt: "In sum.js add in place of subtracting", offers: ["bash", "edit"] },
    calls: [{ name: "read", arguments: { path: "sum.js" } }]
  }
]

const review = [
  {
    when: { all: [{ prompt: "You are a problem-solving agent" }, { not: { request: 1 } }] },
    text: "It is as planned.\n\nVERDICT: PASS"
  },
  {
    when: { prompt: "You are a problem-solving agent" },
    expect: {
      prompt: { contains: ["In sum.js add", "-exports.sum = (a, b) => a - b", "+exports.sum = (a, b) => a + b"] }
    },
    calls: [{ name: "read", arguments: { path: "sum.js" } }]
  }
]

const withProject = async (
  turns: ReadonlyArray<object>,
  test: (home: Home, args: ReadonlyArray<string>) => Promise<void>
): Promise<void> => {
  const home = makeHome()
  try {
    failing(home)
    const scenario = path.join(home.dir, "case.json")
    fs.writeFileSync(scenario, JSON.stringify({ order: "first_match", turns }))
    await test(home, ["--scenario", scenario])
  } finally {
    home.remove()
  }
}

describe("hanzo-dev agent auto, the whole program on a project whose test fails (14.5)", () => {
  it("plans, repairs, reviews; the test passes", () =>
    withProject([...review, plan, ...code], async (home, scenario) => {
      assert.isFalse(passes(home))
      const done = await run(home, [
        "agent",
        "auto",
        ...scenario,
        "--allow",
        "*",
        "--output-format",
        "stream-json",
        "repair the sum"
      ])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.isTrue(passes(home))
      assert.deepStrictEqual(
        done.lines.flatMap((line) => line.type === "subagent.completed" ? [[line["agent"], line["status"]]] : []),
        [["auto/plan", "completed"], ["auto/code", "completed"], ["auto/solve", "completed"]]
      )
      const result = String(done.lines.at(-1)?.["result"])
      for (const part of ["## Plan", "## Changes", "the test passes.", "## Review", "VERDICT: PASS"]) {
        assert.include(result, part)
      }
      // four sessions: what was asked for, and one a stage with its parent's id
      const listed = await run(home, ["sessions", "list", "--json"])
      const { sessions } = JSON.parse(listed.stdout) as { sessions: ReadonlyArray<{ id: string }> }
      const session_id = String(done.lines.at(-1)?.["session_id"])
      assert.deepStrictEqual(sessions.map(({ id }) => id), [session_id])
      const every = JSON.parse((await run(home, ["sessions", "list", "--subagents", "--json"])).stdout) as {
        sessions: ReadonlyArray<{ parent_session_id: string | null }>
      }
      assert.deepStrictEqual(
        every.sessions.map(({ parent_session_id }) => parent_session_id).toSorted(),
        [session_id, session_id, session_id, null].toSorted()
      )
      const stage = done.lines.find((line) => line.type === "subagent.started")?.["child_session_id"]
      const shown = await run(home, ["sessions", "show", "--json", String(stage)])
      assert.include(shown.stdout, `"parent_session_id": "${session_id}"`)
      assert.include(shown.stdout, "You are a planning agent")
    }))

  it("a plan that fails stops the chain: the report says so, nothing was changed", () =>
    withProject([
      {
        when: { prompt: "You are a planning agent" },
        fault: { kind: "api_error", reason: "bad_request", message: "the model said no" }
      },
      ...code
    ], async (home, scenario) => {
      const before = fs.readFileSync(path.join(home.project, "sum.js"), "utf8")
      const done = await run(home, ["agent", "auto", ...scenario, "--allow", "*", "--json", "repair the sum"])
      assert.strictEqual(done.code, 5)
      const answer = JSON.parse(done.stdout) as { result: string; error: { code: string; message: string } }
      assert.strictEqual(answer.error.code, "stage_failed")
      assert.match(answer.error.message, /^auto stopped in the stage plan: .*the model said no/)
      assert.include(answer.result, "## Stopped in the stage plan")
      assert.strictEqual(fs.readFileSync(path.join(home.project, "sum.js"), "utf8"), before)

      const text = await run(home, ["agent", "auto", ...scenario, "--allow", "*", "repair the sum"])
      assert.include(text.stdout, "## Stopped in the stage plan")
      assert.include(text.stderr, "auto stopped in the stage plan")
    }))

  it("nobody can be asked: the stage is denied, the chain stops, exit code 3", () =>
    withProject(
      [...review, plan, { when: { last_tool_result: "no_prompter" }, text: "I may not read." }, ...code],
      async (
        home,
        scenario
      ) => {
        const done = await run(home, ["agent", "auto", ...scenario, "--json", "repair the sum"])
        assert.strictEqual(done.code, 3)
        assert.include(done.stdout, "auto stopped in the stage code")
      }
    ))

  it("SIGINT while a stage runs a command: 130, and nothing is left running (14.6)", () =>
    withProject([
      plan,
      {
        when: { prompt: "You are a coding agent" },
        calls: [{ name: "bash", arguments: { command: "echo $$ > pid; echo standing; exec sleep 600" } }]
      }
    ], async (home, scenario) => {
      const going = start(home, [
        "agent",
        "auto",
        ...scenario,
        "--allow",
        "*",
        "--output-format",
        "stream-json",
        "repair the sum"
      ])
      await going.line((line) =>
        line.type === "subagent.event" && (line["event"] as { type: string }).type === "tool.output"
      )
      const group = Number(fs.readFileSync(path.join(home.project, "pid"), "utf8"))
      assert.isNotEmpty(alive(group))
      going.child.kill("SIGINT")
      const done = await going.done
      assert.strictEqual(done.code, 130)
      assert.deepStrictEqual(alive(group), [])
      const last = done.lines.at(-1)
      assert.strictEqual(last?.type, "run.cancelled")
      assert.include(String(last?.["result"]), "## Plan")
      const child = done.lines.findLast((line) => line.type === "subagent.completed")
      assert.strictEqual(child?.["status"], "cancelled")
    }))
})

describe("hanzo-dev agent list and run", () => {
  it("an agent of the project waits for trust, one of the user does not (4.9)", () =>
    withProject([{ when: { prompt: "You check" }, expect: { tools: ["read"] }, text: "checked" }], async (
      home,
      scenario
    ) => {
      const role = "---\ndescription: Checks\ntools: read\n---\nYou check.\n"
      fs.mkdirSync(path.join(home.project, ".hanzo", "agents"), { recursive: true })
      fs.writeFileSync(path.join(home.project, ".hanzo", "agents", "theirs.md"), role)
      fs.mkdirSync(path.join(home.dir, "config", "agents"))
      fs.writeFileSync(path.join(home.dir, "config", "agents", "mine.md"), role)

      const listed = JSON.parse((await run(home, ["agent", "list", "--json"])).stdout) as {
        agents: ReadonlyArray<{ name: string; source: string }>
        problems: ReadonlyArray<string>
      }
      assert.deepStrictEqual(
        listed.agents.map(({ name, source }) => [name, source]),
        [["plan", "built-in"], ["solve", "built-in"], ["code", "built-in"], ["auto", "built-in"], ["mine", "user"]]
      )
      assert.include(listed.problems.join(), "hanzo-dev config trust")

      const mine = await run(home, ["agent", "run", ...scenario, "mine", "look"])
      assert.deepStrictEqual([mine.code, mine.stdout], [0, "checked\n"], mine.stderr)

      const refused = await run(home, ["agent", "run", ...scenario, "theirs", "look"])
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "the project is not trusted")

      const trusted = await run(home, ["agent", "run", ...scenario, "--trust-workspace", "theirs", "look"])
      assert.deepStrictEqual([trusted.code, trusted.stdout], [0, "checked\n"], trusted.stderr)
    }))

  it("no task: usage, exit code 2, nothing is recorded (14.6)", () =>
    withProject([], async (home, scenario) => {
      for (const args of [["agent", "plan"], ["agent", "run", "code"], ["agent", "auto", "  "]]) {
        const done = await run(home, [...args, ...scenario])
        assert.strictEqual(done.code, 2, args.join(" "))
        assert.include(done.stderr, "TASK")
      }
      const listed = await run(home, ["sessions", "list", "--json"])
      assert.deepStrictEqual((JSON.parse(listed.stdout) as { sessions: ReadonlyArray<unknown> }).sessions, [])
    }))
})
