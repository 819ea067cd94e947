/** Agents of their own (HIP-301 section 14, readings 14.1 to 14.6): real tools, rules and sandbox, a scripted model. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import type { PermissionPrompterService, PermissionRequestContext } from "../../src/domain/PermissionPrompter.ts"
import { makeGate } from "../../src/testing/Gate.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { alive, eventually } from "../support/processes.ts"
import { call, children, inWorld, run, unsettled } from "./subagentsSupport.ts"

const said = (text: string) => ({ text })

/** Everything that reads and nothing that writes or runs (reading 2.10). */
const readOnly = ["read", "glob", "grep", "bash_output", "fetch", "todo"]
const writing = ["write", "edit", "apply_patch", "bash", "bash_kill"]

describe("14.1: tools are limited in the executor", () => {
  it.live("/plan is offered none, and what it calls all the same is refused", () =>
    inWorld(
      { files: { a: "secret of a\n" }, script: { plan: [call("read", { path: "a" }), said("a plan")] } },
      (world) =>
        Effect.gen(function*() {
          const { below, terminal } = yield* run({ prompt: "plan it", delegate: { agent: "plan" } })
          assert.strictEqual(terminal.result, "a plan")
          assert.deepStrictEqual(world.asked.map(({ role, tools }) => [role, tools]), [["plan", []], ["plan", []]])
          assert.include(world.asked[1]?.results.join(), "it has no tools; it was not run")
          assert.notInclude(JSON.stringify(world.asked), "secret of a")
          assert.deepStrictEqual(below.filter(({ event }) => event.type === "permission.decided"), [])
        })
    ))

  it.live("/solve is offered read-only tools without bash; a write is refused whatever the rules allow", () =>
    inWorld({
      files: { a: "one\n" },
      script: {
        solve: [
          call("read", { path: "a" }),
          call("write", { path: "b", content: "x" }),
          call("bash", { command: "touch c" }),
          said("solved")
        ]
      }
    }, (world) =>
      Effect.gen(function*() {
        const { terminal } = yield* run({ prompt: "why", delegate: { agent: "solve" } })
        assert.strictEqual(terminal.result, "solved")
        const { tools } = world.asked[0] ?? { tools: [] }
        for (const name of readOnly) assert.include(tools, name)
        for (const name of writing) assert.notInclude(tools, name)
        const results = world.asked.at(-1)?.results ?? []
        assert.include(results[0], "one")
        assert.include(results[1], "read-only tools only; it was not run")
        assert.include(results[2], "read-only tools only; it was not run")
        assert.isFalse(fs.existsSync(path.join(world.root, "b")) || fs.existsSync(path.join(world.root, "c")))
      })))

  it.live("/code has all tools of the parent", () =>
    inWorld({
      script: { main: [said("hello")], code: [call("write", { path: "b", content: "x" }), said("written")] }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "hello" })
        const { terminal } = yield* run({ prompt: "write b", delegate: { agent: "code" } })
        assert.strictEqual(terminal.result, "written")
        assert.strictEqual(fs.readFileSync(path.join(world.root, "b"), "utf8"), "x")
        assert.deepStrictEqual(world.of("code")[0]?.tools, world.of("main")[0]?.tools)
      })))
})

describe("14.2, 14.3: what a subagent is told", () => {
  it.live("role first, then the task; the parent's system prompt; nothing of the parent's conversation", () =>
    inWorld({
      git: true,
      files: { "a.txt": "old\n", "named.txt": "the named content\n" },
      script: {
        main: [call("edit", { path: "a.txt", old_string: "old", new_string: "new" }), said("SECRET WORD of the talk")],
        code: [said("done")]
      }
    }, (world) =>
      Effect.gen(function*() {
        const first = yield* run({ prompt: "change a" })
        const { session_id } = first.terminal
        yield* run({ prompt: "go on", session_id, delegate: { agent: "code" } })
        const [asked] = world.of("code")
        assert.match(asked?.prompt ?? "", /^You are a coding agent[\s\S]+\n\ngo on\n\n/)
        assert.strictEqual(asked?.system, world.of("main")[0]?.system)
        assert.notInclude(JSON.stringify(asked), "SECRET WORD")
        // paths, no contents
        assert.include(asked?.prompt, "- a.txt")
        assert.include(asked?.prompt, `Workspace root: ${world.root}`)
        assert.include(asked?.prompt, " M a.txt")
        assert.notInclude(asked?.prompt, "new")

        yield* run({ prompt: "look at @named.txt and @nothing", session_id, delegate: { agent: "code" } })
        const second = world.of("code").at(-1)
        assert.include(second?.prompt, "the named content")
        assert.notInclude(second?.prompt, "- a.txt")
      })))

  it.live("a file that a rule denies is not attached, and the user is told", () =>
    inWorld({
      settings: { permissions: { "read(private*)": "deny", "*": "allow" } },
      files: { "private.txt": "the private content\n" },
      script: { plan: [said("done")] }
    }, (world) =>
      Effect.gen(function*() {
        const { events } = yield* run({ prompt: "see @private.txt", delegate: { agent: "plan" } })
        assert.notInclude(JSON.stringify(world.asked), "the private content")
        const notices = events.flatMap((event) => event.type === "notice" ? [event.message] : [])
        assert.include(notices.join(), "@private.txt was not attached: a rule denies reading it")
      })))
})

/** Answers everything with "for this session", and notes who asks and how many at once. */
const person = () => {
  const asked: Array<PermissionRequestContext> = []
  let open = 0
  let most = 0
  const prompter: PermissionPrompterService = {
    name: "user",
    requestPermission: (_, __, context) =>
      Effect.gen(function*() {
        asked.push(context)
        most = Math.max(most, ++open)
        yield* Effect.repeatN(Effect.yieldNow(), 50)
        open--
        return { decision: "allow", scope: "session" } as const
      })
  }
  return { asked, most: () => most, prompter }
}

const tasks = (...agents: ReadonlyArray<readonly [string, string]>) => ({
  calls: agents.map(([agent, prompt]) => ({ name: "task", arguments: { agent, prompt } }))
})

describe("14.4: shared with the parent", () => {
  it.live("grants of the session; questions carry the name and come one after another", () => {
    const { asked, most, prompter } = person()
    return inWorld({
      settings: { permissions: { task: "allow" } },
      prompters: [prompter],
      files: { a: "1\n" },
      script: {
        main: [tasks(["solve", "one"], ["solve", "two"]), call("read", { path: "a" }), said("all")],
        solve: [
          { calls: [{ name: "read", arguments: { path: "a" } }, { name: "grep", arguments: { pattern: "1" } }] },
          said("s")
        ]
      }
    }, () =>
      Effect.gen(function*() {
        const { terminal } = yield* run({ prompt: "go" })
        assert.strictEqual(terminal.result, "all")
        // two agents call read and grep each, the session's own agent reads: each is asked about once
        assert.deepStrictEqual(asked.map(({ agent }) => agent), ["solve", "solve"])
        assert.strictEqual(most(), 1)
      }))
  })

  it.live("the permission mode is never looser, and hooks hold", () =>
    inWorld({
      settings: {
        hooks: [{ event: "pre_tool_use", tool_pattern: "read", command: "echo hooked >&2; exit 2" }]
      },
      files: { a: "1\n" },
      script: { code: [call("write", { path: "b", content: "x" }), call("read", { path: "a" }), said("done")] }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "go", delegate: { agent: "code" }, permission_mode: "plan" })
        const results = world.asked.at(-1)?.results ?? []
        assert.include(results[0], "plan mode")
        assert.include(results[1], "hooked")
        assert.isFalse(fs.existsSync(path.join(world.root, "b")))
      })))

  it.live("agents start agents two deep; the third has no `task`, and it is refused", () =>
    inWorld({
      script: {
        main: [tasks(["code", "first"]), said("main done")],
        code: [tasks(["code", "below"]), said("code done")]
      }
    }, (world) =>
      Effect.gen(function*() {
        const { events } = yield* run({ prompt: "go" })
        const started = events.flatMap((event) => event.type === "subagent.started" ? [[event.agent, event.depth]] : [])
        assert.deepStrictEqual(started, [["code", 1], ["code/code", 2]])
        const offers = new Map(world.asked.map(({ session_id, tools }) => [session_id, tools.includes("task")]))
        assert.deepStrictEqual([...offers.values()], [true, true, false])
        assert.include(JSON.stringify(world.asked), "agents of agents of agents are not started")
      })))

  it.live("the cost limit of the run is one for all of them", () =>
    inWorld({
      settings: { providers: { scripted: { models: { roles: { price: { input: 1_000_000, output: 0 } } } } } },
      script: { main: [tasks(["code", "spend"]), said("done")], code: [call("glob", { pattern: "*" }), said("spent")] }
    }, () =>
      Effect.gen(function*() {
        const { terminal } = yield* run({ prompt: "go", max_cost_usd: 0.000001 })
        assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : terminal.type, "max_cost")
        assert.strictEqual(terminal.exit_code, 4)
      })))

  it.live("headless nobody is asked, and the run says so: exit code 3", () =>
    inWorld({
      settings: { permissions: {} },
      files: { a: "1\n" },
      script: { solve: [call("read", { path: "a" }), said("could not")] }
    }, () =>
      Effect.gen(function*() {
        const { terminal } = yield* run({ prompt: "go", delegate: { agent: "solve" } })
        assert.strictEqual(terminal.exit_code, 3)
      })))
})

describe("`task`: work for agents of their own", () => {
  it.live("read-only ones of one answer work side by side; the final texts come back in order, and nothing else", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* makeGate, yield* makeGate]
      yield* inWorld({
        script: {
          main: [tasks(["solve", "one"], ["plan", "two"]), said("both")],
          solve: [{ content: [{ text: "answer one" }, one.piece] }],
          plan: [{ content: [{ text: "answer two" }, two.piece] }]
        }
      }, (world) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.fork(run({ prompt: "go" }))
          yield* one.reached
          yield* two.reached
          yield* two.open
          yield* one.open
          const { events, terminal } = yield* Fiber.join(fiber)
          assert.strictEqual(terminal.result, "both")
          assert.deepStrictEqual(world.of("main").at(-1)?.results, ["answer one", "answer two"])
          const order = events.flatMap((event) => event.type === "subagent.completed" ? [event.agent] : [])
          assert.deepStrictEqual(order.toSorted(), ["plan", "solve"])
        }))
    }))

  it.live("an unknown name is answered with all there are; an agent that fails is an error with what it said", () =>
    inWorld({
      script: {
        main: [tasks(["coder", "x"]), tasks(["solve", "y"]), said("seen")],
        solve: [{ fault: { kind: "api_error", reason: "bad_request", message: "broken" } }]
      }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "go" })
        const [unknown, failed] = world.of("main").at(-1)?.results ?? []
        assert.match(unknown ?? "", /there is no agent "coder"; did you mean code\?.*plan \(/)
        assert.include(failed, "the agent solve has not finished")
      })))

  it.live("a rule for the agent's name decides: task(code) denied, task(solve) allowed", () =>
    inWorld({
      settings: { permissions: { "task(code)": "deny", "*": "allow" } },
      script: { main: [tasks(["code", "x"]), tasks(["solve", "y"]), said("seen")], solve: [said("fine")] }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "go" })
        const results = world.of("main").at(-1)?.results ?? []
        assert.include(results[0], "denied by rule")
        assert.strictEqual(results[1], "fine")
        assert.lengthOf(world.of("code"), 0)
        const { terminal } = yield* run({ prompt: "go", delegate: { agent: "code" } })
        assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : "", "agent_denied")
      })))
})

const pass = said("All there.\n\nVERDICT: PASS")
const findings = said("Not yet: a.\n\nVERDICT: FINDINGS")

describe("14.5: /auto is plan, code, review", () => {
  const auto = { prompt: "make a", delegate: { agent: "auto" } }

  it.live("each stage is given what came before; the review sees plan and diff", () =>
    inWorld({
      git: true,
      files: { "a.txt": "before\n" },
      script: {
        plan: [said("THE PLAN")],
        code: [call("bash", { command: "echo after > a.txt" }), said("CHANGED IT")],
        review: [pass]
      }
    }, (world) =>
      Effect.gen(function*() {
        const { events, terminal } = yield* run(auto)
        assert.strictEqual(terminal.exit_code, 0)
        assert.deepStrictEqual(
          events.flatMap((event) => event.type === "subagent.completed" ? [event.agent] : []),
          ["auto/plan", "auto/code", "auto/solve"]
        )
        assert.strictEqual(
          terminal.result,
          "## Plan\n\nTHE PLAN\n\n## Changes\n\nCHANGED IT\n\n## Review\n\nAll there.\n\nVERDICT: PASS"
        )
        assert.include(world.of("code")[0]?.prompt, "THE PLAN")
        const [review] = world.of("review")
        for (const text of ["THE PLAN", "CHANGED IT", "-before", "+after"]) assert.include(review?.prompt, text)
        assert.deepStrictEqual(world.of("plan")[0]?.tools, [])
        for (const name of writing) assert.notInclude(review?.tools ?? [], name)
      })))

  it.live("outside of a repository the review sees the diff too", () =>
    inWorld({
      files: { "a.txt": "before\n" },
      script: {
        plan: [said("p")],
        code: [call("bash", { command: "echo after > a.txt" }), said("c")],
        review: [pass]
      }
    }, (world) =>
      Effect.gen(function*() {
        yield* run(auto)
        assert.include(world.of("review")[0]?.prompt, "+after")
        assert.isFalse(fs.existsSync(path.join(world.root, ".git")))
      })))

  for (const [rounds, times] of [[undefined, 2], [0, 1], [3, 4]] as const) {
    it.live(`findings go back ${rounds ?? "one time when nothing is set"}: ${times} times code, then it stops`, () =>
      inWorld({
        settings: rounds === undefined ? {} : { auto_max_rounds: rounds },
        script: { plan: [said("p")], code: [said("c")], review: [findings] }
      }, (world) =>
        Effect.gen(function*() {
          const { terminal } = yield* run(auto)
          assert.lengthOf(world.of("code"), times)
          assert.lengthOf(world.of("review"), times)
          if (times > 1) assert.include(world.of("code")[1]?.prompt, "Not yet: a.")
          assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : "", "review_findings")
          assert.strictEqual(terminal.exit_code, 1)
          assert.include(terminal.result, "Not yet: a.")
        })))
  }

  const broken = { fault: { kind: "api_error", reason: "bad_request", message: "broken" } } as const

  for (const stage of ["plan", "code", "review"] as const) {
    const good = { plan: [said("THE PLAN")], code: [said("THE CODE")], review: [pass] }

    it.live(`a ${stage} that fails stops the chain; the report names it and keeps what was done`, () =>
      inWorld({ script: { ...good, [stage]: [broken] } }, (world) =>
        Effect.gen(function*() {
          const { terminal } = yield* run(auto)
          const error = terminal.type === "run.failed" ? terminal.error : null
          assert.strictEqual(error?.code, "stage_failed")
          assert.include(error?.message, `auto stopped in the stage ${stage}:`)
          assert.include(terminal.result, `## Stopped in the stage ${stage}`)
          assert.strictEqual(terminal.exit_code, 5)
          assert.strictEqual(terminal.result.includes("THE PLAN"), stage !== "plan")
          assert.strictEqual(terminal.result.includes("THE CODE"), stage === "review")
          assert.strictEqual(world.of("review").length > 0, stage === "review")
          assert.strictEqual(world.of("code").length > 0, stage !== "plan")
        })))

    it.live(`a ${stage} that a rule denies does not begin`, () => {
      const name = stage === "review" ? "solve" : stage
      return inWorld({
        settings: { permissions: { [`task(${name})`]: "deny", "*": "allow" } },
        script: good
      }, (world) =>
        Effect.gen(function*() {
          const { terminal } = yield* run(auto)
          assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : "", "stage_denied")
          assert.lengthOf(world.of(stage), 0)
          assert.include(terminal.result, `## Stopped in the stage ${stage}`)
        }))
    })
  }

  for (const stage of ["code", "review"] as const) {
    const reads = [call("read", { path: "a" }), stage === "code" ? said("could not") : pass]
    const script = { plan: [said("p")], code: [said("c")], review: [pass], [stage]: reads }

    it.live(`a policy that denies inside ${stage} stops the chain there`, () =>
      inWorld({
        settings: { permissions: { read: "deny", "*": "allow" } },
        files: { a: "1\n" },
        script
      }, () =>
        Effect.gen(function*() {
          const { terminal } = yield* run(auto)
          assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : "", "stage_denied")
          assert.include(terminal.result, `## Stopped in the stage ${stage}`)
          assert.include(terminal.result, "read: denied by rule")
        })))

    it.live(`a limit that ${stage} hits stops the chain there: exit code 4`, () =>
      inWorld({
        files: { a: "1\n" },
        script: { ...script, [stage]: [call("glob", { pattern: "*" }), call("read", { path: "a" })] }
      }, () =>
        Effect.gen(function*() {
          const { terminal } = yield* run({ ...auto, max_turns: 2 })
          assert.strictEqual(terminal.type === "run.failed" ? terminal.error.code : "", "stage_limit")
          assert.strictEqual(terminal.exit_code, 4)
          assert.include(terminal.result, `## Stopped in the stage ${stage}`)
        })))
  }
})

describe("14.6: the tree is stopped and settled as one", () => {
  for (const stage of ["plan", "code", "review"] as const) {
    for (const how of ["interrupt", "close"] as const) {
      it.live(`${how} in the stage ${stage}: every session is ended, every call settled, what was done is kept`, () =>
        Effect.gen(function*() {
          const gate = yield* makeGate
          const held = { content: [{ text: "half" }, gate.piece] }
          yield* inWorld({
            files: { a: "1\n" },
            script: {
              plan: [stage === "plan" ? held : said("THE PLAN")],
              code: [call("read", { path: "a" }), stage === "code" ? held : said("c")],
              review: [held]
            }
          }, () =>
            Effect.gen(function*() {
              const agent = yield* Agent
              const store = yield* SessionStore
              let session_id = ""
              const fiber = yield* Effect.fork(Stream.runForEach(
                agent.run({ prompt: "make a", delegate: { agent: "auto" } }),
                (event) => Effect.sync(() => void (session_id = event.session_id))
              ))
              yield* gate.reached
              assert.isFalse(yield* agent.send(session_id, "nobody would read it", "steer"))
              yield* how === "interrupt" ? agent.interrupt(session_id) : Fiber.interrupt(fiber)
              const all = [session_id, ...(yield* children).map(({ id }) => id)]
              assert.lengthOf(all, { plan: 2, code: 3, review: 4 }[stage])
              for (const id of all) {
                const runs = yield* store.runs(id)
                assert.notInclude(runs.map(({ status }) => status), "running")
                assert.deepStrictEqual(yield* unsettled(id), [])
              }
              const last = (yield* store.runs(all.at(-1) ?? "")).at(-1)
              assert.strictEqual(last?.status, "cancelled")
              const kept = JSON.stringify(yield* store.history(session_id))
              assert.strictEqual(kept.includes("THE PLAN"), stage !== "plan")
            }))
        }))
    }
  }

  it.live("a command that runs, and one in the background, end with their agent", () =>
    inWorld({
      script: {
        main: [tasks(["code", "run"]), said("done")],
        code: [
          call("bash", { command: "echo $$ > back; exec sleep 600", background: true }),
          call("bash", { command: "echo $$ > front; exec sleep 600" })
        ]
      }
    }, (world) =>
      Effect.gen(function*() {
        const agent = yield* Agent
        let session_id = ""
        const fiber = yield* Effect.fork(Stream.runForEach(
          agent.run({ prompt: "go" }),
          (event) => Effect.sync(() => void (session_id = event.session_id))
        ))
        const pid = (name: string): number => {
          const file = path.join(world.root, name)
          return fs.existsSync(file) ? Number(fs.readFileSync(file, "utf8")) : 0
        }
        assert.isTrue(yield* eventually(() => pid("back") > 0 && pid("front") > 0, 15_000))
        yield* agent.interrupt(session_id)
        yield* Fiber.await(fiber)
        for (const name of ["back", "front"]) {
          const group = pid(name)
          assert.isTrue(yield* eventually(() => alive(group).length === 0), name)
        }
        for (const id of [session_id, ...(yield* children).map((each) => each.id)]) {
          assert.deepStrictEqual(yield* unsettled(id), [])
        }
      })))

  it.live("one final text, the usage added to the parent's, the transcript with the parent's id", () =>
    inWorld({
      settings: { providers: { scripted: { models: { roles: { price: { input: 1, output: 1 } } } } } },
      script: {
        plan: [{ text: "the plan", usage: { input_tokens: 100, output_tokens: 10 } }],
        main: [{ text: "and on", usage: { input_tokens: 7, output_tokens: 1 } }]
      }
    }, (world) =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const { terminal } = yield* run({ prompt: "plan it", delegate: { agent: "plan" } })
        assert.strictEqual(terminal.usage.input_tokens, 100)
        assert.strictEqual(terminal.usage.output_tokens, 10)
        const { session_id } = terminal
        const [child] = yield* children
        assert.strictEqual(child?.parent_session_id, session_id)
        assert.include(child?.title, "plan: plan it")
        assert.include(JSON.stringify(yield* store.history(child?.id ?? "")), "You are a planning agent")
        const history = yield* store.history(session_id)
        assert.deepStrictEqual(history.map(({ role }) => role), ["user", "assistant"])
        assert.include(JSON.stringify(history[0]), "/plan ")
        assert.notInclude(JSON.stringify(history), "You are a planning agent")
        // the conversation goes on from the result
        yield* run({ prompt: "and now", session_id })
        assert.strictEqual(world.of("main")[0]?.session_id, session_id)
        const latest = yield* store.latest(world.root)
        assert.strictEqual(latest._tag === "Some" ? latest.value.id : "", session_id)
        // it is no session of its own in a list, and goes with its parent
        assert.deepStrictEqual((yield* store.list({})).map(({ id }) => id), [session_id])
        yield* store.delete(session_id)
        assert.deepStrictEqual(yield* store.list({ subagents: true }), [])
      })))

  it.live("no instruction, or an agent that there is not: nothing is spawned, nothing recorded", () =>
    inWorld({ script: {} }, (world) =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        for (const [prompt, agent] of [[" \n", "plan"], ["x", "nobody"]] as const) {
          const ended = yield* Effect.either(run({ prompt, delegate: { agent } }))
          assert.strictEqual(ended._tag, "Left")
        }
        assert.deepStrictEqual(yield* store.list({ subagents: true }), [])
        assert.deepStrictEqual(world.asked, [])
      })))
})

const reviewer = "---\ndescription: Reviews\ntools: Read, Grep\n---\nYou are a reviewer of this place.\n"

describe("agents in files", () => {
  it.live("the user's own is found by /agent and by task, with its tools alone", () =>
    inWorld({
      own: { "agents/reviewer.md": reviewer },
      files: { a: "1\n" },
      script: {
        main: [tasks(["reviewer", "look"]), said("done")],
        other: [call("write", { path: "b", content: "x" }), said("reviewed")]
      }
    }, (world) =>
      Effect.gen(function*() {
        const { terminal } = yield* run({ prompt: "look", delegate: { agent: "reviewer" } })
        assert.strictEqual(terminal.result, "reviewed")
        assert.deepStrictEqual(world.of("other")[0]?.tools.toSorted(), ["grep", "read"])
        assert.include(world.of("other")[1]?.results[0], "it is none of its tools")
        yield* run({ prompt: "go" })
        assert.deepStrictEqual(world.of("main").at(-1)?.results, ["reviewed"])
      })))

  it.live("one that names more tools than its parent has gets none of them", () =>
    inWorld({
      own: {
        "agents/outer.md": "---\ntools: read, task\n---\nYou are the outer one.\n",
        "agents/inner.md": "---\ntools: [read, write, bash]\n---\nYou are the inner one.\n"
      },
      script: {
        main: [tasks(["outer", "look"]), said("done")],
        other: [tasks(["inner", "write"]), said("end")]
      }
    }, (world) =>
      Effect.gen(function*() {
        yield* run({ prompt: "go" })
        const tools = new Map(world.of("other").map((asked) => [asked.session_id, asked.tools.toSorted()]))
        assert.deepStrictEqual([...tools.values()], [["read", "task"], ["read"]])
      })))
})
