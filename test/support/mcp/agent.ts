/** The whole agent with MCP servers of the settings: a scripted model, everything of a run in a directory of its own. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Agent, type RunInput } from "../../../src/agent/Agent.ts"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { layerProcess, layerWorkspace, type WorkspaceOptions } from "../../../src/app/Runtime.ts"
import type { AgentEvent, AgentEventBody } from "../../../src/domain/AgentEvent.ts"
import { Dirs } from "../../../src/platform/Dirs.ts"
import { Environment } from "../../../src/platform/Environment.ts"
import * as Scenario from "../../../src/provider/Scenario.ts"
import * as Servers from "./servers.ts"

export interface Setting {
  readonly servers: Readonly<Record<string, object>>
  readonly settings?: object
  readonly vars?: Readonly<Record<string, string>>
  readonly turns: ReadonlyArray<Scenario.TurnInput>
  readonly options?: Omit<WorkspaceOptions, "settings" | "scenarios">
}

export const fake = Servers.fake()

export const command = (argv: ReadonlyArray<string>, more: object = {}): object => ({ command: argv, ...more })

type Call = readonly [name: string, args?: object]

/**
 * Turns that call these tools one after another, then an end. A request without tools is one of a server (sampling) and
 * is answered with "sampled".
 */
export const calls = (...all: ReadonlyArray<Call>): ReadonlyArray<Scenario.TurnInput> => [
  { when: (conversation) => conversation.tools.length === 0, text: "sampled", repeat: "forever" },
  ...all.map(([name, args = {}], i): Scenario.TurnInput => ({
    when: (conversation) => conversation.results.length === i,
    calls: [{ name, arguments: args as Record<string, unknown> }]
  })),
  { when: (conversation) => conversation.results.length === all.length, text: "done", repeat: "forever" }
]

export const layerPlatform = (root: string, vars: Readonly<Record<string, string>>) =>
  Layer.mergeAll(
    NodeFileSystem.layer,
    NodePath.layer,
    Dirs.layerTest(path.join(root, ".home")),
    Environment.layerTest({
      cwd: root,
      home: root,
      vars: { PATH: process.env["PATH"] ?? "", HOME: root, ...vars }
    }),
    Logger.remove(Logger.defaultLogger)
  )

/** Over a process. */
export const layerWorkspaceOf = (root: string, { options, servers, settings, turns }: Omit<Setting, "vars">) =>
  layerWorkspace({
    directory: root,
    ...options,
    settings: JSON.stringify({
      model: "scripted/test",
      permissions: { "*": "allow" },
      sandbox: { mode: "off" },
      mcp_servers: servers,
      ...settings
    }),
    scenarios: [Scenario.make({ name: "test", order: "first_match", turns })]
  })

export const layerOf = (root: string, { vars, ...setting }: Setting) =>
  layerWorkspaceOf(root, setting).pipe(
    Layer.provideMerge(layerProcess({ memory: true })),
    Layer.provide(layerPlatform(root, vars ?? {}))
  )

/** A directory for a workspace. */
export const workspace = Effect.map(Servers.scratch, (root) => fs.realpathSync(root))

export const run = (input: Partial<RunInput> = {}) =>
  Effect.gen(function*() {
    const agent = yield* Agent
    return Chunk.toReadonlyArray(yield* Stream.runCollect(agent.run({ prompt: "go", ...input })))
  })

/** One run, in a workspace that ends with it. */
export const runOnce = (setting: Setting, input: Partial<RunInput> = {}) =>
  Effect.scoped(Effect.gen(function*() {
    const root = yield* workspace
    return yield* Effect.provide(run(input), layerOf(root, setting))
  }))

export const ofType = <T extends AgentEventBody["type"]>(
  events: ReadonlyArray<AgentEvent>,
  type: T
): ReadonlyArray<Extract<AgentEvent, { readonly type: T }>> =>
  events.filter((event): event is Extract<AgentEvent, { readonly type: T }> => event.type === type)

export const results = (events: ReadonlyArray<AgentEvent>) =>
  ofType(events, "tool.completed").map(({ result }) => result)
