/**
 * Where the agents behind the tool `task` come in. They stand above the tools; whoever composes a program fills the slot,
 * and without it there is no such tool.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { ToolFailure, ToolRun } from "./Tool.ts"

/** An agent that can be given a task. @since 0.1.0 @category models */
export interface TaskAgent {
  readonly name: string
  /** It can change nothing, so that several of its kind may work side by side. */
  readonly read_only: boolean
  /** Works on a task to its end; the result is its final text. Interruption stops all it has started. */
  readonly run: (prompt: string, run: ToolRun) => Effect.Effect<ToolResult, ToolFailure>
}

/** @since 0.1.0 @category models */
export interface TaskAgents {
  /** Whether an agent of this name can change nothing; of one that is not known (yet) it is not said. */
  readonly isReadOnly: (name: string) => boolean
  /** Makes the agents known that stand in files. */
  readonly ready: Effect.Effect<void>
  /** Fails with the names that there are. */
  readonly find: (name: string) => Effect.Effect<TaskAgent, ToolFailure>
}

/** @since 0.1.0 @category models */
export interface TaskSlotService {
  /** Null while nobody has filled it. */
  readonly agents: () => TaskAgents | null
  /** For the time of the scope. */
  readonly fill: (agents: TaskAgents) => Effect.Effect<void, never, Scope.Scope>
}

/** @since 0.1.0 @category services */
export class TaskSlot extends Context.Tag("@hanzo/dev/tools/TaskSlot")<TaskSlot, TaskSlotService>() {
  static readonly layer: Layer.Layer<TaskSlot> = Layers.sync(TaskSlot, () => {
    let filled: TaskAgents | null = null
    return {
      agents: () => filled,
      fill: (agents) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            filled = agents
          }),
          () =>
            Effect.sync(() => {
              if (filled === agents) filled = null
            })
        )
    }
  })
}
