/** The whole agent with language servers of the settings: a scripted model, a workspace and a home of their own. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as path from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { Agent, type RunInput } from "../../../src/agent/Agent.ts"
import { layerProcess, layerWorkspace } from "../../../src/app/Runtime.ts"
import type { AgentEvent } from "../../../src/domain/AgentEvent.ts"
import type { LspOptions } from "../../../src/lsp/Lsp.ts"
import { Dirs } from "../../../src/platform/Dirs.ts"
import { Environment } from "../../../src/platform/Environment.ts"
import * as Scenario from "../../../src/provider/Scenario.ts"

export interface Setting {
  readonly servers: Readonly<Record<string, object>>
  readonly settings?: object
  readonly turns: ReadonlyArray<Scenario.TurnInput>
  readonly limits?: LspOptions
}

export const layerOf = (root: string, { limits, servers, settings, turns }: Setting) =>
  layerWorkspace({
    directory: root,
    // the machine may be busy: what a test waits for are answers
    lsp: limits ?? { first_answer_ms: 120_000, settle_ms: 60_000 },
    settings: JSON.stringify({
      model: "scripted/test",
      permissions: { "*": "allow" },
      sandbox: { mode: "off" },
      lsp: { servers },
      ...settings
    }),
    scenarios: [Scenario.make({ name: "test", turns })]
  }).pipe(
    Layer.provideMerge(layerProcess({ memory: true })),
    Layer.provide(Layer.mergeAll(
      NodeFileSystem.layer,
      NodePath.layer,
      Dirs.layerTest(path.join(path.dirname(root), "home")),
      Environment.layerTest({
        cwd: root,
        home: path.dirname(root),
        vars: { PATH: process.env["PATH"] ?? "", HOME: path.dirname(root), LANG: "C.UTF-8" }
      })
    )),
    Layer.provide(Logger.remove(Logger.defaultLogger))
  )

/** All events of one run; the workspace, and with it every server, ends before they are given. */
export const run = (
  root: string,
  setting: Setting,
  input: Partial<RunInput> = {}
) =>
  Effect.flatMap(Agent, (agent) => Stream.runCollect(agent.run({ prompt: "go", ...input }))).pipe(
    Effect.provide(layerOf(root, setting)),
    Effect.map(Chunk.toReadonlyArray)
  )

export const outputs = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) =>
    event.type === "tool.completed" ? [event.result.is_error ? `ERROR ${event.result.error}` : event.result.output] : []
  )

export const notices = (events: ReadonlyArray<AgentEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => event.type === "notice" && event.code === "language_server" ? [event.message] : [])

export const end = (events: ReadonlyArray<AgentEvent>): AgentEvent | undefined => events.at(-1)
