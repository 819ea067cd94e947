/**
 * The shape of a native tool. A call goes in two steps, so that what was approved is what runs (reading 2.3):
 * `prepare` decodes the input and resolves paths without side effects, the Guard decides, `run` acts on exactly that.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import type { ToolDef, ToolResult } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { ToolKind } from "../permissions/Permissions.ts"
import type { Mask } from "./Mask.ts"

/**
 * Why a call failed, in words for the model: what was wrong and what to do. `output` is what came before.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolFailure extends TaggedError("@hanzo/dev/tools/ToolFailure")("ToolFailure", () => ({
  message: Schema.String,
  output: Schema.optional(Schema.String)
})) {}

/** @since 0.1.0 @category models */
export interface ToolRun {
  readonly session_id: string
  readonly call_id: string
  /** Live output for the user, in order; never fails. */
  readonly emit: (text: string) => Effect.Effect<void>
  /** Known secrets out of what the call keeps by itself; results are masked anyway. Absent = there are none. */
  readonly mask?: Mask
  /** Of the run; absent = default. */
  readonly mode?: RunPermissionMode
  /** Takes the events that the call brings beside its output; absent = nobody listens. */
  readonly report?: (event: AgentEventBody) => Effect.Effect<void>
  /** A rule denies this tool the subject: what it finds there is left out. Absent = no rule does. */
  readonly denies?: (subject: string) => boolean
}

/** @since 0.1.0 @category models */
export interface PreparedCall {
  /** What rules match against (reading 7.5): canonical paths, the command line, the URL; empty for tools without. */
  readonly subjects: ReadonlyArray<string>
  /** All subjects are paths inside the workspace. */
  readonly inside_workspace: boolean
  /** Of this call, where it is another than the tool's. */
  readonly kind?: ToolKind
  /** Of this call, where it is another than the tool's. */
  readonly read_only?: boolean
  readonly run: (run: ToolRun) => Effect.Effect<ToolResult, ToolFailure>
}

/** @since 0.1.0 @category models */
export interface NativeTool {
  readonly definition: ToolDef
  readonly kind: ToolKind
  readonly read_only: boolean
  /** Calls that write though the tool is read-only. */
  readonly writes?: (input: JsonObject) => boolean
  /** Makes known what `writes` goes by, before it is asked. */
  readonly ready?: Effect.Effect<void>
  /** Ends what calls of a session have left running. */
  readonly release?: (session_id: string) => Effect.Effect<void>
  /** Whether there is such a tool now; absent = always. */
  readonly offered?: () => boolean
  /** Rules for these names hold too; the strictest verdict decides (reading 1.8). */
  readonly other_names?: ReadonlyArray<string>
  /** Fails with what is wrong in the input; the message names the field. */
  readonly prepare: (input: JsonObject) => Effect.Effect<PreparedCall, ToolFailure>
}
