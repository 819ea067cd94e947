/**
 * `lsp`: code intelligence for the model. `rename`, and `code_action` with a title, change files: their subjects are the
 * files they touch, so that the Guard decides about exactly these. What answers is loaded with the first call.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Workspace } from "../domain/Workspace.ts"
import { Lsp } from "../lsp/Lsp.ts"
import { Changes } from "./Changes.ts"
import { defineTool } from "./Define.ts"
import { FileState } from "./FileState.ts"
import { Paths } from "./Paths.ts"
import type { NativeTool } from "./Tool.ts"

/** @since 0.1.0 @category constants */
export const actions = [
  "definition",
  "implementation",
  "references",
  "hover",
  "symbols",
  "diagnostics",
  "calls",
  "rename",
  "code_action"
] as const

const Input = () =>
  Schema.Struct({
    action: Schema.Literal(...actions).annotations({
      description:
        "definition, implementation, references, hover, calls (who calls it, and whom it calls) and rename are " +
        "about the symbol at line and character; symbols and diagnostics about a file, or with a directory about the " +
        "project; code_action lists the server's fixes for a line, or applies one."
    }),
    path: Schema.String.annotations({ description: "File, or a directory for symbols and diagnostics." }),
    line: Schema.optional(
      Schema.Int.pipe(Schema.positive()).annotations({ description: "Counting from 1, as read shows." })
    ),
    character: Schema.optional(
      Schema.Int.pipe(Schema.positive()).annotations({
        description:
          "Column, counting from 1. Absent: the symbol that the line declares, else the first word of the line."
      })
    ),
    new_name: Schema.optional(
      Schema.String.annotations({
        description:
          "rename: the new name. symbols of a directory: a part of their names. code_action: the title of the " +
          "fix to apply; absent = they are listed."
      })
    )
  })

/** @since 0.1.0 @category models */
export type LspInput = ReturnType<typeof Input>["Type"]

/** @since 0.1.0 @category constructors */
export const makeLspTool: Effect.Effect<NativeTool, never, Lsp | Paths | Changes | FileState | Workspace> = Effect.gen(
  function*() {
    const services = {
      lsp: yield* Lsp,
      paths: yield* Paths,
      changes: yield* Changes,
      state: yield* FileState,
      workspace: yield* Workspace
    }
    const tool = defineTool({
      name: "lsp",
      description:
        "Asks the project's language server: where a symbol is defined, implemented or used, its type and documentation, " +
        "symbols and diagnostics of files, renames in all files, fixes. More exact than grep for names in code.",
      input: Input,
      kind: "read",
      read_only: true,
      prepare: (input) =>
        Effect.flatMap(
          Effect.promise(() => import("./lsp/Calls.ts")),
          ({ prepare }) => prepare(input, services)
        )
    })
    return {
      ...tool,
      definition: tool.definition,
      writes: ({ action, new_name }) =>
        action === "rename" || (action === "code_action" && typeof new_name === "string")
    }
  }
)
