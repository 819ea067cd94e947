/** The way of a call, step by step, in the events of a run and in the record: real tools, hooks, rules and sandbox. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import { layerProcess, layerWorkspace } from "../../src/app/Runtime.ts"
import type { HookConfig } from "../../src/config/Schema.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import type { PermissionPrompterService } from "../../src/domain/PermissionPrompter.ts"
import type { StepRecord } from "../../src/permissions/Steps.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { make, type TurnInput } from "../../src/provider/Scenario.ts"
import { Enforcement } from "../../src/sandbox/Enforcement.ts"
import { FileTools } from "../../src/tools/FileTools.ts"
import { Guard } from "../../src/tools/Guard.ts"
import { NativeTools } from "../../src/tools/Registry.ts"
import { eventually } from "../support/processes.ts"

const hooks: ReadonlyArray<HookConfig> = [
  {
    event: "pre_tool_use",
    tool_pattern: "*",
    command: "case \"$HANZO_TOOL_INPUT\" in *forbidden*) echo 'the hook says SECRET' >&2; exit 2;; esac"
  },
  { event: "pre_tool_use", tool_pattern: "bash", command: "true" },
  { event: "post_tool_use", tool_pattern: "*", command: "exit 1" }
]

const permissions = { "bash(rm *)": "deny", "bash(ask *)": "prompt", "bash(say *)": "prompt", "*": "allow" }

interface World {
  readonly home: string
  readonly root: string
  readonly outside: string
  readonly audit: string
}

interface Setting {
  readonly mode: "workspace" | "off"
  readonly turns: (world: World) => ReadonlyArray<TurnInput>
  readonly alone?: boolean
}

const user: PermissionPrompterService = {
  name: "user",
  requestPermission: (_, __, { subject }) =>
    Effect.succeed(
      subject?.startsWith("ask") === true
        ? { decision: "deny", reason: "rather not" } as const
        : { decision: "allow" } as const
    )
}

/** Not below /tmp, which a command in the sandbox does not see. */
const inWorld = <A, E>(
  { alone, mode, turns }: Setting,
  test: (world: World) => Effect.Effect<A, E, Agent | Enforcement>
) =>
  Effect.acquireUseRelease(
    Effect.sync((): World => {
      const home = fs.realpathSync(fs.mkdtempSync("/var/tmp/order-"))
      const world = { home, root: path.join(home, "work"), outside: path.join(home, "outside"), audit: "" }
      fs.mkdirSync(world.root)
      fs.mkdirSync(world.outside)
      fs.writeFileSync(path.join(world.root, "text"), "content SECRET\n")
      return world
    }),
    (made) => {
      const directories = Dirs.layerTest(made.home)
      const runtime = layerWorkspace({
        directory: made.root,
        settings: JSON.stringify({ model: "scripted/order", hooks, permissions, sandbox: { mode } }),
        scenarios: [make({ name: "order", turns: [...turns(made), { text: "done" }] })],
        prompters: alone === true ? [] : [user]
      }).pipe(
        Layer.provideMerge(layerProcess({ memory: true })),
        Layer.provideMerge(Layer.mergeAll(
          NodeFileSystem.layer,
          NodePath.layer,
          Environment.layerTest({
            cwd: made.root,
            vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
            pid: process.pid
          }),
          directories,
          Logger.remove(Logger.defaultLogger)
        ))
      )
      return Effect.gen(function*() {
        const { state } = yield* Dirs
        return yield* test({ ...made, audit: path.join(state, "audit", "permissions.jsonl") })
      }).pipe(Effect.provide(runtime))
    },
    ({ home }) => Effect.sync(() => fs.rmSync(home, { recursive: true, force: true }))
  )

const call = (name: string, args: Record<string, unknown>): TurnInput => ({ calls: [{ name, arguments: args }] })
const bash = (command: string): TurnInput => call("bash", { command })

const run = Effect.flatMap(
  Agent,
  (agent) => Effect.map(Stream.runCollect(agent.run({ prompt: "go" })), Chunk.toReadonlyArray)
)

/** What holds commands on this machine. */
const held = Effect.flatMap(
  Enforcement,
  (enforcement) => Effect.map(enforcement.available(false), ({ method }) => method?.kind ?? "none")
)

const saying = (event: AgentEvent): string | null => {
  switch (event.type) {
    case "tool.started":
    case "permission.asked":
      return event.type
    case "permission.decided":
      return `${event.type} ${event.mode} ${event.decided_by}`
    case "hook.completed":
      return `${event.type} ${event.event} ${event.hook} ${event.decision}`
    case "sandbox.decided":
      return `${event.type} ${event.decision} ${event.mode} ${event.enforcement} ${event.rule}`
    case "tool.output":
      return event.type
    case "tool.ran":
      return `${event.type} ${event.outcome}`
    case "tool.completed":
      return `${event.type} ${event.interrupted === true ? "interrupted" : event.result.is_error ? "error" : "ok"}`
    default:
      return null
  }
}

/** The steps of each call, the calls in the order in which they began. */
const courses = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<ReadonlyArray<string>> => {
  const calls = new Map<string, Array<string>>()
  for (const event of events) {
    const said = saying(event)
    if (said === null || !("call_id" in event) || typeof event.call_id !== "string") continue
    const own = calls.get(event.call_id)
    if (own === undefined) calls.set(event.call_id, [said])
    else if (own.at(-1) !== said || said !== "tool.output") own.push(said)
  }
  return [...calls.values()]
}

const lines = (file: string): ReadonlyArray<Record<string, unknown>> =>
  fs.readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>)

/** The same of the record. */
const recorded = (file: string): ReadonlyArray<ReadonlyArray<string>> => {
  const calls = new Map<unknown, Array<string>>()
  for (const line of lines(file)) {
    const step = line as StepRecord | {
      readonly step: "permission"
      readonly mode: string
      readonly decided_by: string
    }
    const said = step.step === "permission"
      ? `permission ${step.mode} ${step.decided_by}`
      : step.step === "hook"
      ? `hook ${step.event} ${step.hook} ${step.decision}`
      : step.step === "sandbox"
      ? `sandbox ${step.decision} ${step.sandbox_mode} ${step.enforcement} ${step.rule}`
      : `run ${step.outcome}`
    const own = calls.get(line["call_id"])
    if (own === undefined) calls.set(line["call_id"], [said])
    else own.push(said)
  }
  return [...calls.values()]
}

describe("2.3: permission, prompt, pre hooks, sandbox, run, post hooks", () => {
  it.live("every step of every course is seen in the events and in the record, in this order", () =>
    inWorld({
      mode: "workspace",
      turns: ({ outside }) => [
        bash("echo allowed"),
        bash("say() { echo prompted; }; say x"),
        bash("rm -r denied-by-rule"),
        bash("ask me"),
        bash("echo forbidden"),
        call("write", { path: path.join(outside, "refused"), content: "x" }),
        bash("echo broken; exit 3"),
        call("read", { path: "text" }),
        call("todo", { items: [] })
      ]
    }, ({ audit, outside, root }) =>
      Effect.gen(function*() {
        const by = yield* held
        const events = yield* run
        const pre = ["hook.completed pre_tool_use 0 allow", "hook.completed pre_tool_use 1 allow"]
        const post = "hook.completed post_tool_use 2 error"
        const allowed = `sandbox.decided allowed workspace ${by} null`
        const said = courses(events)
        assert.deepStrictEqual(said[0], [
          "tool.started",
          "permission.decided allow rule",
          ...pre,
          allowed,
          "tool.output",
          "tool.ran ok",
          post,
          "tool.completed ok"
        ], "allowed")
        assert.deepStrictEqual(said[1], [
          "tool.started",
          "permission.asked",
          "permission.decided allow user",
          ...pre,
          allowed,
          "tool.output",
          "tool.ran ok",
          post,
          "tool.completed ok"
        ], "prompted")
        assert.deepStrictEqual(said[2], [
          "tool.started",
          "permission.decided deny rule",
          "tool.completed error"
        ], "denied by a rule")
        assert.deepStrictEqual(said[3], [
          "tool.started",
          "permission.asked",
          "permission.decided deny user",
          "tool.completed error"
        ], "denied by the user")
        assert.deepStrictEqual(said[4], [
          "tool.started",
          "permission.decided allow rule",
          "hook.completed pre_tool_use 0 deny",
          "tool.completed error"
        ], "denied by a hook")
        assert.deepStrictEqual(said[5], [
          "tool.started",
          "permission.decided allow rule",
          "hook.completed pre_tool_use 0 allow",
          "sandbox.decided refused workspace path_check outside",
          "tool.completed error"
        ], "refused by the sandbox")
        assert.deepStrictEqual(said[6], [
          "tool.started",
          "permission.decided allow rule",
          ...pre,
          allowed,
          "tool.output",
          "tool.ran error",
          post,
          "tool.completed error"
        ], "failed")
        assert.deepStrictEqual(said.slice(7).map((course) => course[3]), [
          "sandbox.decided allowed workspace path_check null",
          "sandbox.decided allowed workspace none null"
        ], "file tools by their paths, others not at all")

        const refused = events.find((event) => event.type === "sandbox.decided" && event.decision === "refused")
        assert.strictEqual(refused?.type === "sandbox.decided" ? refused.path : null, path.join(outside, "refused"))
        assert.include(refused?.type === "sandbox.decided" ? refused.reason : null, "rule outside")
        assert.deepStrictEqual([fs.readdirSync(outside), fs.readdirSync(root).sort()], [[], ["text"]])

        const hooksBefore = ["hook pre_tool_use 0 allow", "hook pre_tool_use 1 allow"]
        const sandbox = `sandbox allowed workspace ${by} null`
        const after = "hook post_tool_use 2 error"
        assert.deepStrictEqual(recorded(audit), [
          ["permission allow rule", ...hooksBefore, sandbox, "run ok", after],
          ["permission prompt rule", "permission allow user", ...hooksBefore, sandbox, "run ok", after],
          ["permission deny rule"],
          ["permission prompt rule", "permission deny user"],
          ["permission allow rule", "hook pre_tool_use 0 deny"],
          [
            "permission allow rule",
            "hook pre_tool_use 0 allow",
            "sandbox refused workspace path_check outside"
          ],
          ["permission allow rule", ...hooksBefore, sandbox, "run error", after],
          [
            "permission allow rule",
            "hook pre_tool_use 0 allow",
            "sandbox allowed workspace path_check null",
            "run ok",
            after
          ],
          ["permission allow rule", "hook pre_tool_use 0 allow", "sandbox allowed workspace none null", "run ok", after]
        ])
        // Not what the tool was given, not what it gave back, not what a hook said.
        const text = fs.readFileSync(audit, "utf8")
        for (const word of ["SECRET", "echo", "forbidden", "refused\"", outside, "text", "content", "broken"]) {
          assert.notInclude(text.replaceAll("\"decision\":\"refused\"", ""), word)
        }
        assert.strictEqual(fs.statSync(audit).mode & 0o777, 0o600)
      })))

  it.live("mode off is said as such; nobody to ask is a denial without further steps", () =>
    inWorld({
      mode: "off",
      alone: true,
      turns: ({ root }) => [
        bash("true"),
        call("read", { path: "text" }),
        call("write", { path: path.join(root, ".hanzo", "settings.json"), content: "{}" }),
        bash("ask me")
      ]
    }, ({ audit }) =>
      Effect.gen(function*() {
        const said = courses(yield* run)
        const ruled = said.map((course) => course.find((step) => step.startsWith("sandbox.decided")) ?? "none")
        assert.deepStrictEqual(ruled, [
          "sandbox.decided allowed off off null",
          "sandbox.decided allowed off off null",
          "sandbox.decided refused off path_check protected",
          "none"
        ])
        assert.deepStrictEqual(said[3], [
          "tool.started",
          "permission.decided deny no_prompter",
          "tool.completed error"
        ])
        assert.deepStrictEqual(recorded(audit)[3], ["permission prompt rule", "permission deny no_prompter"])
      })))

  it.live("the decision is in the record before the tool runs, the rest in one piece after it", () => {
    let seen: ReadonlyArray<Record<string, unknown>> = []
    return inWorld({
      mode: "off",
      // What the tool sees of the record while it runs.
      turns: ({ home, root }) => [bash(`cp "$(find ${home} -name permissions.jsonl)" ${root}/seen`)]
    }, ({ audit, root }) =>
      Effect.gen(function*() {
        yield* run
        seen = lines(path.join(root, "seen"))
        assert.deepStrictEqual(seen.map((line) => line["step"]), ["permission"])
        assert.deepStrictEqual(lines(audit).map((line) => line["step"]), [
          "permission",
          "hook",
          "hook",
          "sandbox",
          "run",
          "hook"
        ])
        assert.isTrue(lines(audit).every((line) => line["call_id"] === seen[0]?.["call_id"]))
      }))
  })

  it.live("G9: what was interrupted is in the record as that; the hooks after it did not run", () =>
    inWorld({ mode: "off", turns: () => [bash("touch begun; sleep 60")] }, ({ audit, root }) =>
      Effect.gen(function*() {
        const agent = yield* Agent
        const events: Array<AgentEvent> = []
        const fiber = yield* Effect.fork(
          Stream.runForEach(agent.run({ prompt: "go" }), (event) => Effect.sync(() => void events.push(event)))
        )
        assert.isTrue(yield* eventually(() => fs.existsSync(path.join(root, "begun"))))
        yield* agent.interrupt(events[0]?.session_id ?? "")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(courses(events)[0]?.slice(-2), [
          "sandbox.decided allowed off off null",
          "tool.completed interrupted"
        ])
        assert.deepStrictEqual(recorded(audit)[0], [
          "permission allow rule",
          "hook pre_tool_use 0 allow",
          "hook pre_tool_use 1 allow",
          "sandbox allowed off off null",
          "run interrupted"
        ])
      })))

  it.live("the runtime hands out no tool and no part of the way", () =>
    inWorld({ mode: "off", turns: () => [] }, () =>
      Effect.gen(function*() {
        const context = yield* Effect.context<never>()
        for (const tag of [NativeTools, FileTools, Guard]) {
          assert.isTrue(Context.getOption(context as Context.Context<unknown>, tag as never)._tag === "None", tag.key)
        }
        assert.isTrue(Context.getOption(context as Context.Context<unknown>, Agent as never)._tag === "Some")
      })))
})
