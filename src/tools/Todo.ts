/**
 * `todo`: the plan of a session, replaced as a whole by every call (reading 2.10).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Layers from "../domain/Layers.ts"
import { success } from "../domain/ToolExecutor.ts"
import { defineTool } from "./Define.ts"

const TodoItem = () =>
  Schema.Struct({
    content: Schema.NonEmptyString.annotations({ description: "What is to be done, in one line." }),
    status: Schema.Literal("pending", "in_progress", "completed")
  })
type TodoItem = ReturnType<typeof TodoItem>["Type"]

/** @since 0.1.0 @category models */
export interface TodosService {
  /** The list as it stands; empty for a session without one. */
  readonly get: (session_id: string) => Effect.Effect<ReadonlyArray<TodoItem>>
  readonly set: (session_id: string, items: ReadonlyArray<TodoItem>) => Effect.Effect<void>
}

/** @since 0.1.0 @category services */
export class Todos extends Context.Tag("@hanzo/dev/tools/Todos")<Todos, TodosService>() {
  /** Kept for the workspace's life; a resumed session finds its list in the transcript. */
  static readonly layer: Layer.Layer<Todos> = Layers.sync(Todos, () => {
    const lists = new Map<string, ReadonlyArray<TodoItem>>()
    return {
      get: (session_id) => Effect.sync(() => lists.get(session_id) ?? []),
      set: (session_id, items) =>
        Effect.sync(() => {
          if (items.length === 0) lists.delete(session_id)
          else lists.set(session_id, items)
        })
    }
  })
}

const mark: Readonly<Record<TodoItem["status"], string>> = { pending: "[ ]", in_progress: "[>]", completed: "[x]" }

/** One line an item: `[ ]` pending, `[>]` in progress, `[x]` completed. */
const renderTodos = (items: ReadonlyArray<TodoItem>): string => {
  if (items.length === 0) return "the list is empty"
  const done = items.filter((item) => item.status === "completed").length
  const lines = items.map((item) => `${mark[item.status]} ${item.content.replaceAll(/\s*\n\s*/gu, " ")}`)
  return `${lines.join("\n")}\n${done} of ${items.length} completed`
}

/** @since 0.1.0 @category constructors */
export const makeTodoTool = Effect.map(Todos, (todos) =>
  defineTool({
    name: "todo",
    description:
      "Keeps the task list of this session; every call gives the whole list anew. Use it for work of three or more steps: " +
      "one item in_progress at a time, completed as soon as it is done.",
    input: () =>
      Schema.Struct({
        items: Schema.Array(TodoItem()).annotations({ description: "The whole list, in order." })
      }),
    kind: "read",
    read_only: true,
    prepare: ({ items }) =>
      Effect.succeed({
        subjects: [],
        inside_workspace: false,
        run: ({ session_id }) => Effect.as(todos.set(session_id, items), success(renderTodos(items)))
      })
  }))
