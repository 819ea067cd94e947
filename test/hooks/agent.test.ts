/** Hooks in a whole run: the runtime as it is composed, the scripted model, real tools, real scripts. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Agent } from "../../src/agent/Agent.ts"
import { layerProcess, layerWorkspace } from "../../src/app/Runtime.ts"
import type { HookConfig } from "../../src/config/Schema.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import type { Message } from "../../src/domain/Message.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import type { PermissionDecision } from "../../src/domain/PermissionPrompter.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { make, type TurnInput } from "../../src/provider/Scenario.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { eventually } from "../support/processes.ts"
import { post, pre } from "./support.ts"

interface World {
  readonly hooks: ReadonlyArray<HookConfig>
  readonly turns: ReadonlyArray<TurnInput>
  readonly permissions?: Readonly<Record<string, string>>
  /** Absent = nobody can be asked. */
  readonly answer?: (root: string) => Effect.Effect<PermissionDecision>
}

const withAgent = <A, E, R>(world: World, test: (root: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "hooks-agent-")))
      fs.mkdirSync(path.join(home, "work"))
      return home
    }),
    (home) => {
      const root = path.join(home, "work")
      const { answer } = world
      const runtime = layerWorkspace({
        directory: root,
        settings: JSON.stringify({
          model: "scripted/hooks",
          hooks: world.hooks,
          permissions: world.permissions ?? { "*": "allow" },
          sandbox: { mode: "off" }
        }),
        scenarios: [make({ name: "hooks", turns: world.turns })],
        prompters: answer === undefined
          ? []
          : [{ name: "user", requestPermission: () => answer(root) }]
      }).pipe(
        Layer.provideMerge(layerProcess({ memory: true })),
        Layer.provide(Layer.mergeAll(
          NodeFileSystem.layer,
          NodePath.layer,
          Environment.layerTest({ cwd: root, vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" } }),
          Dirs.layerTest(home),
          Logger.remove(Logger.defaultLogger)
        ))
      )
      return Effect.provide(test(root), runtime)
    },
    (home) => Effect.sync(() => fs.rmSync(home, { recursive: true, force: true }))
  )

const run = (prompt: string, session_id?: string) =>
  Effect.flatMap(Agent, (agent) =>
    Effect.map(
      Stream.runCollect(agent.run({ prompt, ...(session_id === undefined ? {} : { session_id }) })),
      Chunk.toReadonlyArray
    ))

const history = (session_id: string) => Effect.flatMap(SessionStore, (store) => store.history(session_id))

const textsOf = (messages: ReadonlyArray<Message>, role: Message["role"]): ReadonlyArray<string> =>
  messages.filter((message) => message.role === role).map(textOf)

/** The course of the calls: what happened, in order. */
const course = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) =>
    event.type === "hook.completed"
      ? [`${event.event}: ${event.decision}`]
      : event.type === "permission.decided" && event.mode !== "prompt"
      ? [`${event.type}: ${event.mode}`]
      : event.type === "tool.output"
      ? [`output: ${event.text.trim()}`]
      : event.type === "tool.completed"
      ? [`${event.type}: ${event.result.error ?? "ok"}`]
      : event.type === "tool.started" || event.type === "permission.asked" || event.type.startsWith("run.")
      ? [event.type]
      : []
  )

const bash = (command: string): TurnInput => ({ calls: [{ name: "bash", arguments: { command } }] })

const done: TurnInput = { text: "done" }

const allow = () => Effect.succeed<PermissionDecision>({ decision: "allow" })

const read = (root: string, name: string): string => fs.readFileSync(path.join(root, name), "utf8")

describe("hooks of tools in a run", () => {
  it.live("2.3: permission, prompt, pre hooks, the tool, post hooks, in this order", () =>
    withAgent({
      hooks: [post("echo post >> order"), pre("echo pre >> order")],
      permissions: { bash: "prompt" },
      answer: (root) =>
        Effect.sync(() => {
          fs.appendFileSync(path.join(root, "order"), "prompt\n")
          return { decision: "allow" }
        }),
      turns: [bash("echo run >> order; echo hello"), done]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        assert.deepStrictEqual(course(events), [
          "run.started",
          "tool.started",
          "permission.asked",
          "permission.decided: allow",
          "pre_tool_use: allow",
          "output: hello",
          "post_tool_use: allow",
          "tool.completed: ok",
          "run.completed"
        ])
        assert.strictEqual(read(root, "order"), "prompt\npre\nrun\npost\n")
      })))

  it.live("9.3: what a pre hook denies does not run, and the model reads why", () =>
    withAgent({
      hooks: [pre("echo 'ask a human first' >&2; exit 2"), post("touch post")],
      turns: [bash("touch ran"), done]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        assert.deepStrictEqual(course(events).slice(-4), [
          "permission.decided: allow",
          "pre_tool_use: deny",
          "tool.completed: ask a human first",
          "run.completed"
        ])
        const session_id = events[0]?.session_id ?? ""
        const messages = yield* history(session_id)
        const [result] = messages.filter((message) => message.role === "tool")
        assert.deepStrictEqual([result?.is_error, result === undefined ? "" : textOf(result)], [
          true,
          "ask a human first"
        ])
        assert.isFalse(fs.existsSync(path.join(root, "ran")))
        assert.isFalse(fs.existsSync(path.join(root, "post")))
      })))

  it.live("9.8: a hook's yes does not lift a denial of the permissions: it is not even asked", () =>
    withAgent({
      hooks: [pre("touch asked; echo '{\"decision\": \"allow\"}'; exit 0")],
      permissions: { bash: "deny" },
      turns: [bash("touch ran"), done]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        assert.isFalse(events.some((event) => event.type === "hook.completed"))
        assert.isTrue(events.some((event) => event.type === "tool.completed" && event.result.is_error))
        assert.deepStrictEqual(fs.readdirSync(root), [])
      })))

  it.live("9.4: additional_context goes to the model beside the result; a post hook changes nothing else", () =>
    withAgent({
      hooks: [
        pre("echo '{\"additional_context\": \"from pre\", \"tool_input\": {\"command\": \"touch other\"}}'"),
        post("cat > seen; echo '{\"additional_context\": \"from post\", \"tool_output\": \"other\"}'"),
        post("echo no >&2; exit 2")
      ],
      turns: [bash("echo hello; exit 3"), done]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        const completed = events.find((event) => event.type === "tool.completed")
        assert.isTrue(completed?.type === "tool.completed")
        if (completed?.type === "tool.completed") {
          assert.isTrue(completed.result.is_error)
          assert.match(completed.result.output, /^hello\n[\s\S]*\n\nfrom pre\n\nfrom post$/)
        }
        const seen = JSON.parse(read(root, "seen"))
        assert.deepStrictEqual([seen.tool_name, seen.tool_is_error], ["bash", true])
        assert.match(seen.tool_output, /^hello\n/)
        assert.deepStrictEqual(fs.readdirSync(root), ["seen"])
      })))

  it.live("9.3, G9: an interrupt during a pre hook settles the call, and the tool does not run", () =>
    withAgent({
      hooks: [pre("touch waiting; sleep 60")],
      turns: [bash("touch ran"), done]
    }, (root) =>
      Effect.gen(function*() {
        const agent = yield* Agent
        const seen: Array<AgentEvent> = []
        const fiber = yield* Effect.fork(
          Stream.runForEach(agent.run({ prompt: "go" }), (event) => Effect.sync(() => void seen.push(event)))
        )
        assert.isTrue(yield* eventually(() => fs.existsSync(path.join(root, "waiting"))))
        yield* agent.interrupt(seen[0]?.session_id ?? "")
        yield* Fiber.join(fiber)
        const [settled, terminal] = course(seen).slice(-2)
        assert.match(settled ?? "", /^tool\.completed: interrupted/)
        assert.strictEqual(terminal, "run.cancelled")
        assert.isFalse(fs.existsSync(path.join(root, "ran")))
      })))
})

describe("hooks of sessions, prompts, questions and ends", () => {
  it.live("session_start once a session in this process, its context goes to the model with the first prompt", () =>
    withAgent({
      hooks: [
        {
          event: "session_start",
          command: "cat >> starts; echo >> starts; echo '{\"additional_context\": \"it rains\"}'"
        },
        { event: "user_prompt_submit", command: "cat >> prompts; echo >> prompts" }
      ],
      turns: [done, done, done]
    }, (root) =>
      Effect.gen(function*() {
        const first = yield* run("one")
        assert.deepStrictEqual(course(first), [
          "run.started",
          "session_start: allow",
          "user_prompt_submit: allow",
          "run.completed"
        ])
        const session_id = first[0]?.session_id ?? ""
        yield* run("two", session_id)
        assert.deepStrictEqual(textsOf(yield* history(session_id), "user"), [
          "one\n\n[context given by a hook]\nit rains",
          "two"
        ])
        const starts = read(root, "starts").trim().split("\n").map((line) => JSON.parse(line))
        assert.deepStrictEqual(starts, [{
          hook_event_name: "session_start",
          session_id,
          cwd: root,
          source: "new",
          model: "scripted/hooks"
        }])
        const prompts = read(root, "prompts").trim().split("\n").map((line) => JSON.parse(line).prompt)
        assert.deepStrictEqual(prompts, ["one", "two"])
      })))

  for (
    const [how, command, reason] of [
      ["denies", "echo 'no secrets please' >&2; exit 2", "no secrets please"],
      ["breaks", "exit 7", "denied by hook 0 (user_prompt_submit): it ended with exit code 7"],
      ["hangs", "sleep 60", "denied by hook 0 (user_prompt_submit): it did not end within 1500 ms"]
    ] as const
  ) {
    it.live(`a prompt hook that ${how} ends the run with prompt_denied; nothing of the prompt is recorded`, () =>
      withAgent({
        hooks: [
          { event: "user_prompt_submit", command: `if grep -q password; then ${command}; fi`, timeout_ms: 1_500 }
        ],
        turns: [done]
      }, () =>
        Effect.gen(function*() {
          const events = yield* run("my password is x")
          const last = events.at(-1)
          assert.isTrue(last?.type === "run.failed")
          if (last?.type !== "run.failed") return
          assert.deepStrictEqual([last.error.code, last.exit_code, last.turns], ["prompt_denied", 1, 0])
          assert.include(last.error.message, reason)
          assert.deepStrictEqual(yield* history(last.session_id), [])
          const store = yield* SessionStore
          const [recorded] = yield* store.runs(last.session_id)
          assert.deepStrictEqual([recorded?.status, recorded?.error_code], ["failed", "prompt_denied"])
          assert.notInclude(JSON.stringify(recorded), "password")
          // The session is not broken by it.
          assert.strictEqual((yield* run("hello", last.session_id)).at(-1)?.type, "run.completed")
        })))
  }

  it.live("what is said during a run is a prompt too", () =>
    withAgent({
      hooks: [{ event: "user_prompt_submit", command: "if grep -q password; then exit 2; fi" }],
      turns: [{ ...done, delay_ms: 200 }, done]
    }, () =>
      Effect.gen(function*() {
        const agent = yield* Agent
        const seen: Array<AgentEvent> = []
        yield* Stream.runForEach(agent.run({ prompt: "go" }), (event) => {
          seen.push(event)
          return event.type === "turn.started"
            ? agent.send(event.session_id, "the password is x", "follow_up")
            : Effect.void
        })
        const last = seen.at(-1)
        assert.isTrue(last?.type === "run.failed" && last.error.code === "prompt_denied")
        assert.deepStrictEqual(textsOf(yield* history(last?.session_id ?? ""), "user"), ["go"])
      })))

  it.live("stop runs at the end of a run, before its terminal event, and changes nothing", () =>
    withAgent({
      hooks: [{ event: "stop", command: "cat > stop; exit 2" }],
      turns: [{ text: "the answer" }]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        assert.deepStrictEqual(course(events), ["run.started", "stop: deny", "run.completed"])
        const told = JSON.parse(read(root, "stop"))
        assert.deepStrictEqual([told.hook_event_name, told.status, told.exit_code, told.result], [
          "stop",
          "completed",
          0,
          "the answer"
        ])
      })))

  it.live("a notification tells of a question and keeps nobody waiting", () =>
    withAgent({
      hooks: [{ event: "notification", command: "cat > told; sleep 1.5" }],
      permissions: { bash: "prompt" },
      answer: allow,
      turns: [bash("echo hello"), done]
    }, (root) =>
      Effect.gen(function*() {
        const events = yield* run("go")
        const line = course(events)
        assert.isAbove(line.indexOf("notification: allow"), line.indexOf("output: hello"))
        assert.strictEqual(line.at(-1), "run.completed")
        const told = JSON.parse(read(root, "told"))
        assert.deepStrictEqual([told.hook_event_name, told.kind, told.tool_name], [
          "notification",
          "permission",
          "bash"
        ])
        assert.include(told.message, "echo hello")
      })))

  it.live("an interrupted run waits for no notification; its stop hook still runs", () =>
    withAgent({
      hooks: [
        { event: "notification", command: "touch told; sleep 60", timeout_ms: 60_000 },
        { event: "stop", command: "cat > stop" }
      ],
      permissions: { bash: "prompt" },
      answer: () => Effect.never,
      turns: [bash("touch ran"), done]
    }, (root) =>
      Effect.gen(function*() {
        const agent = yield* Agent
        const seen: Array<AgentEvent> = []
        const fiber = yield* Effect.fork(
          Stream.runForEach(agent.run({ prompt: "go" }), (event) => Effect.sync(() => void seen.push(event)))
        )
        assert.isTrue(yield* eventually(() => fs.existsSync(path.join(root, "told"))))
        const began = performance.now()
        yield* agent.interrupt(seen[0]?.session_id ?? "")
        yield* Fiber.join(fiber)
        assert.isBelow(performance.now() - began, 5_000)
        assert.deepStrictEqual(course(seen).slice(-2), ["stop: allow", "run.cancelled"])
        assert.strictEqual(JSON.parse(read(root, "stop")).status, "cancelled")
      })))
})
