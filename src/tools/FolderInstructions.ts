/**
 * File tools that enter a folder bring its instruction files along: behind the result of the first call that works there.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { JsonObject } from "../domain/Json.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { Workspace, type WorkspaceService } from "../domain/Workspace.ts"
import { Instructions, type InstructionsService } from "../instructions/Instructions.ts"
import { ReadRules } from "../instructions/ReadRules.ts"
import { pathOfSubject } from "./FileAwareness.ts"
import * as Layers from "../domain/Layers.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { pathSubject } from "../permissions/Shell.ts"
import type { NativeTool, PreparedCall, ToolRun } from "./Tool.ts"

/** Rules that deny `read` hold for files that no tool reads too. @since 0.1.0 @category layers */
export const layerReadRules: Layer.Layer<ReadRules, never, Permissions | Workspace> = Layers.effect(
  ReadRules,
  Effect.gen(function*() {
    const permissions = yield* Permissions
    const { root } = yield* Workspace
    return { denies: (path) => permissions.evaluate("read", pathSubject(path, root)).mode === "deny" }
  })
)

const onFiles: ReadonlySet<string> = new Set(["read", "write", "edit", "apply_patch"])
/** Their subject may be a folder itself. */
const onFolders: ReadonlySet<string> = new Set(["glob", "grep"])

const noted = (instructions: InstructionsService, workspace: WorkspaceService, tool: NativeTool): NativeTool => {
  const { name } = tool.definition
  const withNotes = (call: PreparedCall) => (run: ToolRun) =>
    Effect.gen(function*() {
      const result: ToolResult = yield* call.run(run)
      if (result.is_error) return result
      const paths = call.subjects.map((subject) => pathOfSubject(workspace, subject))
      const { notices, text } = yield* instructions.touched(
        run.session_id,
        // what lies in a folder is meant too
        onFolders.has(name) ? paths.flatMap((path) => [path, `${path}/.`]) : paths
      )
      yield* Effect.forEach(
        notices,
        (message) => run.report?.({ type: "notice", code: "instructions", message }) ?? Effect.void,
        { discard: true }
      )
      return text === "" ? result : { ...result, output: `${result.output}\n\n${text}` }
    })
  return {
    ...tool,
    // a getter, made when it is first asked for
    definition: tool.definition,
    prepare: (input: JsonObject) =>
      Effect.map(tool.prepare(input), (call) => call.inside_workspace ? { ...call, run: withNotes(call) } : call)
  }
}

/**
 * The tools with those that touch files telling the instructions of the folders they enter.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withFolderInstructions = <E, R>(
  makers: Effect.Effect<ReadonlyArray<NativeTool>, E, R>
): Effect.Effect<ReadonlyArray<NativeTool>, E, R | Instructions | Workspace> =>
  Effect.gen(function*() {
    const instructions = yield* Instructions
    const workspace = yield* Workspace
    return (yield* makers).map((tool) => {
      const { name } = tool.definition
      return onFiles.has(name) || onFolders.has(name) ? noted(instructions, workspace, tool) : tool
    })
  })
