/**
 * The system prompt as a run of a new session would send it, without a run: no model is asked, nothing is recorded, no
 * hook is heard. Servers of tools are connected, since what they say of themselves is in it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunPermissionMode } from "../domain/Permission.ts"
import { Ids } from "../domain/Ids.ts"
import type { ToolDef } from "../domain/Tool.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import { McpAccess } from "../tools/McpAccess.ts"
import * as Prompting from "./Prompting.ts"

/** A piece and who has written it; `path` is the file it comes from. @since 0.1.0 @category models */
export interface PreviewPart {
  readonly origin: string
  readonly path: string | null
  readonly text: string
}

/** The parts, joined by an empty line, are the text. @since 0.1.0 @category models */
export interface PromptPreview {
  readonly text: string
  readonly parts: ReadonlyArray<PreviewPart>
  readonly tools: ReadonlyArray<ToolDef>
  /** What is left out of it, and why. */
  readonly notices: ReadonlyArray<string>
}

/** @since 0.1.0 @category constructors */
export const preview = (
  input: { readonly permission_mode: RunPermissionMode; readonly append: string }
) =>
  Effect.scoped(Effect.gen(function*() {
    const { append, permission_mode } = input
    const prompting = yield* Prompting.make
    const tools = yield* ToolExecutor
    const servers = Option.getOrNull(yield* Effect.serviceOption(McpAccess))
    const session_id = yield* (yield* Ids).session
    const attendance = servers === null
      ? { refusal: null, instructions: "" }
      : yield* servers.attend({ session_id, mode: permission_mode, report: () => Effect.void })
    const definitions = yield* tools.definitions
    const made = yield* prompting.make({
      session_id,
      permission_mode,
      tools: definitions.map(({ name }) => name),
      servers: attendance.instructions,
      append
    })
    const preview: PromptPreview = {
      text: made.text,
      parts: made.sections.flatMap(({ origin, text }): ReadonlyArray<PreviewPart> =>
        origin === "instructions" ? made.instructions : [{ origin, path: null, text }]
      ),
      tools: definitions,
      notices: [...(attendance.refusal === null ? [] : [attendance.refusal]), ...made.notices]
    }
    return preview
  }))
