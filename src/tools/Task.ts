/**
 * `task`: a piece of work for an agent of its own (readings 2.10, 14). The subject of its rules is the agent's name, so
 * that `task(plan)` can be allowed or denied.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { defineTool } from "./Define.ts"
import { TaskSlot } from "./TaskSlot.ts"
import { type NativeTool, ToolFailure } from "./Tool.ts"

/** The same text at every start: what agents there are beside the built-in ones, an unknown name is answered with. */
const description =
  "Gives a piece of work to an agent of its own, which sees nothing of this conversation but the prompt and the names " +
  "of the files that were worked on; its final text is the result. Agents: plan (a step-by-step plan, no tools), solve " +
  "(looks and reasons, read-only tools), code (changes files, all tools), auto (plan, code and review), and those that " +
  "the user or the project has defined: a name that is not known is answered with all there are. Read-only agents of one " +
  "answer work side by side. Say in the prompt all that matters: goal, files, what the answer must hold."

const nobody = new ToolFailure({ message: "there are no agents here" })

/** @since 0.1.0 @category constructors */
export const makeTaskTool: Effect.Effect<NativeTool, never, TaskSlot> = Effect.map(TaskSlot, (slot) => {
  const tool = defineTool({
    name: "task",
    description,
    input: Schema.Struct({
      agent: Schema.NonEmptyString.annotations({ description: "Name of the agent." }),
      prompt: Schema.NonEmptyString.annotations({ description: "The whole task, in words." })
    }),
    kind: "other",
    read_only: true,
    prepare: ({ agent, prompt }) =>
      Effect.suspend(() => slot.agents()?.find(agent) ?? Effect.fail(nobody)).pipe(
        Effect.filterOrFail(
          () => prompt.trim() !== "",
          () => new ToolFailure({ message: "prompt is blank; say what the agent is to do" })
        ),
        Effect.map((found) => ({
          subjects: [found.name],
          inside_workspace: false,
          read_only: found.read_only,
          run: (run) => found.run(prompt, run)
        }))
      )
  })
  return {
    ...tool,
    // a getter, made when it is first asked for
    definition: tool.definition,
    offered: () => slot.agents() !== null,
    ready: Effect.suspend(() => slot.agents()?.ready ?? Effect.void),
    writes: (input) => {
      const name = input["agent"]
      return typeof name !== "string" || slot.agents()?.isReadOnly(name) !== true
    }
  }
})
