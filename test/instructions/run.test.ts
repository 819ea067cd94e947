/** Commands, skills and instruction files in whole runs: real tools, rules, hooks and files, a scripted model. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent, type RunInput } from "../../src/agent/Agent.ts"
import { layerProcess, layerWorkspace } from "../../src/app/Runtime.ts"
import type { AgentEvent } from "../../src/domain/AgentEvent.ts"
import type { PermissionPrompterService } from "../../src/domain/PermissionPrompter.ts"
import { Instructions } from "../../src/instructions/Instructions.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import type { Conversation } from "../../src/provider/Conversation.ts"
import { make, type TurnInput } from "../../src/provider/Scenario.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { type World, world } from "./support.ts"

interface Setting {
  readonly settings?: Record<string, unknown>
  readonly turns: ReadonlyArray<TurnInput>
  readonly asked?: Array<string>
  readonly answer?: "allow" | "deny"
  /** Nobody can be asked. */
  readonly alone?: boolean
}

const inWorld = <A, E>(
  made: World,
  setting: Setting,
  use: Effect.Effect<A, E, Agent | Instructions | SessionStore>
) => {
  const user: PermissionPrompterService = {
    name: "user",
    requestPermission: (name, _, { subject }) =>
      Effect.sync(() => {
        setting.asked?.push(`${name} ${subject ?? ""}`)
        return setting.answer === "deny" ? { decision: "deny", reason: "no" } : { decision: "allow" }
      })
  }
  const dirs = Dirs.layerTest(made.top)
  return Effect.gen(function*() {
    const { config } = yield* Effect.provide(Dirs, dirs)
    fs.mkdirSync(config, { recursive: true })
    fs.writeFileSync(path.join(config, "settings.json"), JSON.stringify({ model: "scripted/i", ...setting.settings }))
    const runtime = layerWorkspace({
      directory: made.root,
      trust: "all",
      scenarios: [make({ name: "i", turns: setting.turns })],
      prompters: setting.alone === true ? [] : [user]
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
        dirs,
        Logger.remove(Logger.defaultLogger)
      ))
    )
    return yield* Effect.provide(use, runtime)
  })
}

const run = (input: RunInput) =>
  Effect.flatMap(Agent, (agent) => Effect.map(Stream.runCollect(agent.run(input)), Chunk.toReadonlyArray))

const typed = (prompt: string, more: Partial<RunInput> = {}) =>
  Effect.gen(function*() {
    const command = yield* (yield* Instructions).invocation(prompt)
    if (command === null || "refusal" in command) throw new Error(JSON.stringify(command))
    return yield* run({
      prompt,
      command,
      ...(command.agent === null ? {} : { delegate: { agent: command.agent } }),
      ...more
    })
  })

const end = (events: ReadonlyArray<AgentEvent>) => {
  const last = events.at(-1)
  return last?.type === "run.failed"
    ? { code: last.error.code, exit_code: last.exit_code, message: last.error.message }
    : last?.type === "run.completed"
    ? { code: "", exit_code: last.exit_code, message: last.result }
    : assert.fail(`the run ended with ${last?.type}`)
}

const decided = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) =>
    event.type === "permission.decided" ? [`${event.tool} ${event.mode} ${event.decided_by}`] : []
  )

/** What the model is told last, for a scripted answer. */
const echo: TurnInput = {
  text: (conversation: Conversation) => {
    const message = conversation.messages.findLast(({ role }) => role === "user")
    return typeof message?.content === "string"
      ? message.content
      : (message?.content ?? []).map((part) => part.type === "text" ? part.text : `[${part.type}]`).join("")
  }
}

const system: TurnInput = {
  text: (conversation: Conversation) =>
    conversation.messages.filter(({ role }) => role === "system").map(({ content }) =>
      typeof content === "string" ? content : JSON.stringify(content)
    ).join("\n")
}

const front = (text: string, body: string): string => `---\n${text}\n---\n${body}\n`

describe("inserts of a command", () => {
  it.scoped("are calls through the Guard; what they give stands in their places", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/commands/show.md": front(
          "description: x",
          "Say $1: !`printf '%s' \"$ARGUMENTS\"`.\nMany: !`printf 'a\\nb\\n'`\nFails: !`echo out; exit 3`\nFile: @notes.txt\nGone: @gone.txt"
        ),
        "project/notes.txt": "the notes"
      })
      const asked: Array<string> = []
      const events = yield* inWorld(made, { turns: [echo], asked }, typed("/show it's `x` $(id)"))
      const { code, message } = end(events)
      assert.strictEqual(code, "")
      assert.match(message, /^\/show it's `x` \$\(id\)\n\nSay it's: /)
      assert.include(message, "it's `x` $(id)")
      assert.include(message, "Many: \n```\na\nb\n```\n")
      assert.match(message, /Fails: \n```\nout\n\[failed: .*3.*\]\n```/)
      assert.match(message, /File: notes\.txt\n```\n +1\tthe notes\n/)
      assert.match(message, /Gone: gone\.txt\n```\n\[failed: .*does not exist/)
      assert.lengthOf(asked, 5)
      const started = events.filter(({ type }) => type === "tool.started")
      assert.lengthOf(started, 5)
      assert.lengthOf(events.filter(({ type }) => type === "tool.completed"), 5)
    }))

  it.scoped("one that a rule denies stops the command: no request, nothing recorded", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/commands/bad.md": front("allowed-tools: bash", "!`echo one` !`rm -rf x`"),
        "project/.hanzo/commands/read.md": front("allowed-tools: read", "@secret.txt"),
        "project/secret.txt": "SECRET"
      })
      const settings = { permissions: { "bash(rm *)": "deny", "read(secret*)": "deny" } }
      yield* inWorld(
        made,
        { settings, turns: [echo] },
        Effect.gen(function*() {
          const store = yield* SessionStore
          for (
            const [prompt, where] of [["/bad", "bad.md:4: !`rm -rf x`"], ["/read", "read.md:4: @secret.txt"]] as const
          ) {
            const events = yield* typed(prompt)
            const { code, exit_code, message } = end(events)
            assert.strictEqual(code, "prompt_refused")
            assert.strictEqual(exit_code, 1)
            assert.include(message, `.hanzo/commands/${where} was refused`)
            assert.notInclude(JSON.stringify(events), "SECRET")
            assert.isFalse(events.some(({ type }) => type === "turn.started"))
            const session = events[0]?.session_id ?? ""
            assert.deepStrictEqual(yield* store.history(session), [])
          }
        })
      )
    }))

  it.scoped("nobody to ask is exit code 3; a person who refuses is not", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/commands/x.md": "!`echo hi`" })
      const alone = yield* inWorld(made, { turns: [echo], alone: true }, typed("/x"))
      assert.deepInclude(end(alone), { code: "prompt_refused", exit_code: 3 })
      const refused = yield* inWorld(made, { turns: [echo], answer: "deny" }, typed("/x"))
      assert.deepInclude(end(refused), { code: "prompt_refused", exit_code: 1 })
    }))

  it.scoped("plan mode changes nothing, whatever the command wants allowed", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/commands/x.md": front("allowed-tools: bash", "!`touch made`") })
      const events = yield* inWorld(made, { turns: [echo] }, typed("/x", { permission_mode: "plan" }))
      assert.strictEqual(end(events).code, "prompt_refused")
      assert.isFalse(fs.existsSync(path.join(made.root, "made")))
    }))

  it.scoped("a hook that denies the prompt comes first", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/commands/x.md": front("allowed-tools: bash", "!`touch made`") })
      const settings = { hooks: [{ event: "user_prompt_submit", command: "exit 2" }] }
      const events = yield* inWorld(made, { settings, turns: [echo] }, typed("/x"))
      assert.strictEqual(end(events).code, "prompt_denied")
      assert.isFalse(fs.existsSync(path.join(made.root, "made")))
    }))

  it.scoped("the agent of the front matter gets what the command comes to", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/.hanzo/commands/think.md": front("agent: plan\nallowed-tools: bash(echo *)", "Think of !`echo forty`.")
      })
      const events = yield* inWorld(made, { turns: [echo] }, typed("/think"))
      assert.include(end(events).message, "Think of forty.")
      assert.isTrue(events.some(({ type }) => type === "subagent.started"))
    }))
})

describe("what a command or skill wants allowed", () => {
  const skill = front("name: tool\ndescription: x\nallowed-tools: bash(echo *) bash(git *) write", "Do it")
  const calls = (...lines: ReadonlyArray<string>): TurnInput => ({
    calls: lines.map((command) => ({ name: "bash", arguments: { command } }))
  })
  const load: TurnInput = { calls: [{ name: "skill", arguments: { name: "tool" } }] }

  it.scoped("stands behind every rule: a deny and a question of a rule stay, and what cannot be read is asked about", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/skills/tool/SKILL.md": skill })
      const settings = {
        permissions: { skill: "allow", "bash(git push*)": "deny", "bash(echo ask*)": "prompt" }
      }
      const asked: Array<string> = []
      const turns = [
        calls("echo before"),
        load,
        calls("echo a", "git push", "echo ask me", "echo b; rm c", "$(cat x) y", "echo x > .hanzo/settings.json"),
        { text: "done" }
      ]
      const events = yield* inWorld(made, { settings, turns, asked, answer: "deny" }, run({ prompt: "go" }))
      assert.deepStrictEqual(decided(events), [
        "bash deny user",
        "skill allow rule",
        "bash allow extension",
        "bash deny rule",
        "bash deny user",
        "bash deny user",
        "bash deny user",
        "bash deny user"
      ])
      assert.lengthOf(asked, 5)
    }))

  it.scoped("ends with the run, and holds for no other session", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/.hanzo/skills/tool/SKILL.md": skill })
      const settings = { permissions: { skill: "allow" } }
      const turns = [load, calls("echo a"), { text: "one" }, calls("echo a"), { text: "two" }]
      yield* inWorld(
        made,
        { settings, turns, answer: "deny" },
        Effect.gen(function*() {
          const first = yield* run({ prompt: "go" })
          assert.deepStrictEqual(decided(first), ["skill allow rule", "bash allow extension"])
          const session_id = first[0]?.session_id ?? ""
          assert.deepStrictEqual(decided(yield* run({ prompt: "again", session_id })), ["bash deny user"])
        })
      )
    }))
})

describe("the system prompt", () => {
  it.scoped("holds files, skills and custom_instructions in order, and what is wrong is told once", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/AGENTS.md": "of the project, @./gone.md",
        "project/.hanzo/skills/tool/SKILL.md": front("name: tool\ndescription: For tools", "BODY")
      })
      yield* inWorld(
        made,
        { settings: { custom_instructions: "of the settings" }, turns: [system, system] },
        Effect.gen(function*() {
          const events = yield* run({ prompt: "go", system_prompt_append: "of the option" })
          const { message } = end(events)
          const places = ["Project root:", "of the project", "- tool: For tools", "of the settings", "of the option"]
            .map(
              (text) => message.indexOf(text)
            )
          assert.deepStrictEqual(places, places.toSorted((a, b) => a - b))
          assert.notInclude(places, -1)
          assert.notInclude(message, "BODY")
          const notices = (all: ReadonlyArray<AgentEvent>) =>
            all.flatMap((event) => event.type === "notice" && event.code === "instructions" ? [event.message] : [])
          assert.deepStrictEqual(notices(events), ["AGENTS.md:1: @./gone.md is not there"])
          assert.deepStrictEqual(notices(yield* run({ prompt: "again" })), [])
        })
      )
    }))

  it.scoped("a folder's file comes with the first result from there; `read` that is denied brings none", () =>
    Effect.gen(function*() {
      const made = yield* world({
        "project/a/AGENTS.md": "RULES OF A",
        "project/a/x.txt": "x",
        "project/b/AGENTS.md": "RULES OF B",
        "project/b/x.txt": "x"
      })
      const settings = { permissions: { "read(b/AGENTS.md)": "deny", "*": "allow" } }
      const reads = (file: string): TurnInput => ({ calls: [{ name: "read", arguments: { path: file } }] })
      const turns = [
        reads("a/x.txt"),
        { calls: [{ name: "grep", arguments: { pattern: "x", path: "a" } }] },
        reads("b/x.txt"),
        { text: "done" }
      ]
      const events = yield* inWorld(made, { settings, turns }, run({ prompt: "go" }))
      const outputs = events.flatMap((event) => event.type === "tool.completed" ? [event.result.output] : [])
      assert.include(outputs[0] ?? "", "RULES OF A")
      assert.notInclude(outputs[1] ?? "", "RULES OF A")
      assert.notInclude(outputs[2] ?? "", "RULES OF B")
      assert.isTrue(
        events.some((event) => event.type === "notice" && event.message.includes("a rule denies read of b/AGENTS.md"))
      )
    }))

  it.scoped("5.7: what came with a folder moves into the prompt when its result was summarised", () =>
    Effect.gen(function*() {
      const made = yield* world({ "project/a/AGENTS.md": "RULES OF A", "project/a/x.txt": "x\n".repeat(2000) })
      const turns = [
        { calls: [{ name: "read", arguments: { path: "a/x.txt" } }] },
        { text: "seen" },
        { text: "two" },
        { text: "three" },
        { text: "## Goal\nread the file\n## Next step\nnone" },
        system
      ]
      yield* inWorld(
        made,
        { settings: { permissions: { "*": "allow" }, max_tokens: 100_000, reserve_recent: 1 }, turns },
        Effect.gen(function*() {
          const first = yield* run({ prompt: "read it" })
          const session_id = first[0]?.session_id ?? ""
          for (const prompt of ["b", "c"]) yield* run({ prompt, session_id })
          const compacted = yield* run({ prompt: "", session_id, compact: { focus: "" } })
          assert.isTrue(compacted.some((event) => event.type === "compaction" && event.compacted_count > 0))
          const { message } = end(yield* run({ prompt: "what now", session_id }))
          assert.include(message, "from=\"a/AGENTS.md\"")
        })
      )
    }))
})
