/**
 * The agents behind the tool `task`. What they are made of is loaded with the first call.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layers from "../domain/Layers.ts"
import { type TaskAgents, TaskSlot } from "../tools/TaskSlot.ts"
import { ToolFailure } from "../tools/Tool.ts"
import { Agent } from "./Agent.ts"
import { type AgentDefinition, builtIns, changesNothing } from "./AgentDefinition.ts"
import { RunTree } from "./RunTree.ts"

const delegation = Effect.promise(() => import("./Delegation.ts"))
const agentFiles = Effect.promise(() => import("./AgentFiles.ts"))

const make = Effect.gen(function*() {
  const agent = yield* Agent
  const tree = yield* RunTree
  const { fill } = yield* TaskSlot
  const surroundings = yield* Effect.context<never>()
  let known: ReadonlyArray<AgentDefinition> = builtIns

  const load = Effect.provide(Effect.flatMap(agentFiles, (files) => files.load), surroundings).pipe(
    Effect.map(({ agents }) => {
      known = agents
      return agents
    })
  )
  const agents: TaskAgents = {
    isReadOnly: (name) => known.some((definition) => definition.name === name && changesNothing(definition)),
    ready: Effect.asVoid(load),
    find: (name) =>
      Effect.gen(function*() {
        const all = yield* load
        const definition = all.find((each) => each.name === name)
        if (definition === undefined) {
          const { unknownAgent } = yield* delegation
          return yield* new ToolFailure({ message: unknownAgent(name, all) })
        }
        return {
          name: definition.name,
          read_only: changesNothing(definition),
          run: (prompt, run) =>
            Effect.gen(function*() {
              const parent = tree.get(run.session_id)
              if (parent === undefined) {
                return yield* new ToolFailure({ message: "there is no run that could start it" })
              }
              const { called } = yield* delegation
              return yield* Effect.provide(
                called({
                  parent,
                  definition,
                  task: prompt,
                  parts: [],
                  typed: false,
                  call_id: run.call_id,
                  agent,
                  report: run.report ?? (() => Effect.void)
                }),
                surroundings
              )
            })
        }
      })
  }
  yield* fill(agents)
  return agents
})

/** Fills the slot of `task` for the time of its scope. @since 0.1.0 @category services */
export class Tasks extends Context.Tag("@hanzo/dev/agent/Tasks")<Tasks, TaskAgents>() {
  static readonly layer = Layers.scoped(Tasks, make)
}
