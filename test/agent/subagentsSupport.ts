/** A project in a directory of its own with real tools, rules and sandbox; a scripted model that writes down what it is asked. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent, type RunInput } from "../../src/agent/Agent.ts"
import { layerProcess, layerWorkspace } from "../../src/app/Runtime.ts"
import type { AgentEvent, AgentEventBody, TerminalEvent } from "../../src/domain/AgentEvent.ts"
import type { AgentError } from "../../src/domain/Failure.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import type { PermissionPrompterService } from "../../src/domain/PermissionPrompter.ts"
import { isTerminal } from "../../src/domain/RunEnd.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import type { Conversation } from "../../src/provider/Conversation.ts"
import { make, type TurnInput } from "../../src/provider/Scenario.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"

/** Which agent a request is from, by the words its prompt begins with. */
export type Role = "main" | "plan" | "code" | "review" | "solve" | "other"

export interface Asked {
  readonly role: Role
  readonly session_id: string
  readonly system: string
  readonly prompt: string
  readonly tools: ReadonlyArray<string>
  readonly results: ReadonlyArray<string>
}

export const roleOf = ({ messages }: Conversation): Role => {
  const first = messages.find((message) => message.role === "user")
  const said = first === undefined ? "" : textOf(first)
  return said.startsWith("You are a planning agent")
    ? "plan"
    : said.startsWith("You are a coding agent")
    ? "code"
    : said.startsWith("You are a problem-solving agent")
    ? said.includes("VERDICT") ? "review" : "solve"
    : said.startsWith("You are")
    ? "other"
    : "main"
}

/** What each role says, request by request; the last one answers all that come after it. */
export type Script = Partial<Record<Role, ReadonlyArray<TurnInput>>>

export const call = (name: string, args: Record<string, unknown>): TurnInput => ({ calls: [{ name, arguments: args }] })

export interface Options {
  readonly script: Script
  readonly settings?: Record<string, unknown>
  readonly prompters?: ReadonlyArray<PermissionPrompterService>
  readonly files?: Readonly<Record<string, string>>
  /** Of the user: below the configuration's directory. */
  readonly own?: Readonly<Record<string, string>>
  readonly git?: boolean
}

export interface World {
  readonly root: string
  readonly home: string
  readonly asked: Array<Asked>
  readonly of: (role: Role) => ReadonlyArray<Asked>
}

export const inWorld = <A, E>(
  options: Options,
  test: (world: World) => Effect.Effect<A, E, Agent | SessionStore>
) =>
  Effect.acquireUseRelease(
    Effect.sync((): World => {
      const home = fs.realpathSync(fs.mkdtempSync("/var/tmp/subagents-"))
      const root = path.join(home, "work")
      fs.mkdirSync(root)
      const write = (base: string, files: Readonly<Record<string, string>> = {}): void => {
        for (const [name, content] of Object.entries(files)) {
          fs.mkdirSync(path.dirname(path.join(base, name)), { recursive: true })
          fs.writeFileSync(path.join(base, name), content)
        }
      }
      write(root, options.files)
      if (options.git === true) {
        const git = (...args: ReadonlyArray<string>) => execFileSync("git", ["-C", root, ...args], { stdio: "ignore" })
        git("init", "-q")
        git("add", "-A")
        git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "first")
      }
      const asked: Array<Asked> = []
      return { home, root, asked, of: (role) => asked.filter((each) => each.role === role) }
    }),
    (world) => {
      const given = new Map<string, number>()
      const turns = Object.entries(options.script).flatMap(([role, said]) =>
        said.map((turn, index): TurnInput => ({
          ...turn,
          when: (conversation) => {
            const key = conversation.options.session_id ?? ""
            if (roleOf(conversation) !== role) return false
            const at = given.get(`${key} ${conversation.request}`) ?? -1
            return at === index || (index === said.length - 1 && at > index)
          }
        }))
      )
      const seen: TurnInput = {
        when: (conversation) => {
          const session_id = conversation.options.session_id ?? ""
          given.set(`${session_id} ${conversation.request}`, conversation.request - 1)
          world.asked.push({
            role: roleOf(conversation),
            session_id,
            system: conversation.system,
            prompt: conversation.prompt,
            tools: conversation.tools.map(({ name }) => name),
            results: conversation.results.map(({ text }) => text)
          })
          return false
        },
        text: "never"
      }
      const directories = Dirs.layerTest(world.home)
      const runtime = layerWorkspace({
        directory: world.root,
        settings: JSON.stringify({ model: "scripted/roles", permissions: { "*": "allow" }, ...options.settings }),
        scenarios: [make({ name: "roles", order: "first_match", turns: [seen, ...turns] })],
        prompters: options.prompters ?? []
      }).pipe(
        Layer.provideMerge(layerProcess({ memory: true })),
        Layer.provideMerge(Layer.mergeAll(
          NodeFileSystem.layer,
          NodePath.layer,
          Environment.layerTest({
            cwd: world.root,
            vars: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
            pid: process.pid
          }),
          directories,
          Logger.remove(Logger.defaultLogger)
        ))
      )
      return Effect.gen(function*() {
        const { config } = yield* Dirs
        for (const [name, content] of Object.entries(options.own ?? {})) {
          fs.mkdirSync(path.dirname(path.join(config, name)), { recursive: true })
          fs.writeFileSync(path.join(config, name), content)
        }
        return yield* Effect.provide(test(world), runtime)
      }).pipe(Effect.provide(directories))
    },
    ({ home }) => Effect.sync(() => fs.rmSync(home, { recursive: true, force: true }))
  )

export interface Ran {
  readonly events: ReadonlyArray<AgentEvent>
  readonly terminal: TerminalEvent
  /** What subagents said, with whose it is. */
  readonly below: ReadonlyArray<{ readonly agent: string; readonly event: AgentEventBody }>
}

export const run = (input: RunInput): Effect.Effect<Ran, AgentError, Agent> =>
  Effect.gen(function*() {
    const agent = yield* Agent
    const events = Chunk.toReadonlyArray(yield* Stream.runCollect(agent.run(input)))
    const terminal = events.at(-1)
    if (terminal === undefined || !isTerminal(terminal)) return yield* Effect.die(new Error("no terminal event"))
    return {
      events,
      terminal,
      below: events.flatMap((event) =>
        event.type === "subagent.event" ? [{ agent: event.agent, event: event.event }] : []
      )
    }
  })

/** The sessions of subagents, oldest first. */
export const children = Effect.gen(function*() {
  const store = yield* SessionStore
  const all = yield* store.list({ subagents: true })
  return all.filter((session) => session.parent_session_id !== null).toSorted((a, b) => a.id < b.id ? -1 : 1)
})

/** Every call in the record of a session has exactly one result. */
export const unsettled = (session_id: string) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const messages = yield* store.history(session_id)
    const calls = messages.flatMap((message) =>
      message.role === "assistant" && typeof message.content !== "string"
        ? message.content.flatMap((part) => part.type === "tool_call" ? [part.id] : [])
        : []
    )
    const results = messages.flatMap((message) => message.role === "tool" ? [message.tool_call_id] : [])
    return calls.filter((id) => results.filter((each) => each === id).length !== 1)
  })
