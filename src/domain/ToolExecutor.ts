/**
 * HIP-301's ToolExecutor protocol (section 2), and the results that it gives.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AgentEventBody } from "./AgentEvent.ts"
import type { Part } from "./Message.ts"
import type { RunPermissionMode } from "./Permission.ts"
import type { ToolDef, ToolResult } from "./Tool.ts"
import type { JsonObject } from "./Json.ts"

/** @since 0.1.0 @category constructors */
export const success = (
  output: string,
  extra: { readonly parts?: ReadonlyArray<Part>; readonly truncated?: ToolResult["truncated"] } = {}
): ToolResult => ({
  output,
  error: null,
  is_error: false,
  ...extra
})

/** @since 0.1.0 @category constructors */
export const failure = (error: string, output = ""): ToolResult => ({
  output,
  error: error === "" ? "failed" : error,
  is_error: true
})

/** The result as one text: the output, and what went wrong unless the output says it already. @since 0.1.0 @category combinators */
export const resultText = ({ error, is_error, output }: ToolResult): string =>
  !is_error || error === null || output.includes(error) ? output : output === "" ? error : `${output}\n${error}`

/**
 * What a call knows of the run it belongs to. `report` takes the events that happen inside a call (`tool.output`,
 * `permission.asked`, `permission.decided`, `hook.completed`, `sandbox.decided`, `tool.ran`); it never fails and applies
 * back-pressure.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolCallContext {
  readonly call_id: string
  /** How this run treats what no rule has settled; absent = default. */
  readonly permission_mode?: RunPermissionMode
  /** The subagent that calls; absent = the session's own agent. Questions carry it. */
  readonly agent?: string
  /** The session whose answers "for this session" hold for the call too, beside the call's own; absent = no other. */
  readonly grants_session_id?: string
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/**
 * Executes a tool by name. Never fails: a failure is a result with `is_error` (reading 2). Interruption stops what the
 * call started and is the caller's to settle.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolExecutorService {
  readonly execute: (
    name: string,
    input: JsonObject,
    session_id: string,
    context?: ToolCallContext
  ) => Effect.Effect<ToolResult>
  /** What is offered to the model now. */
  readonly definitions: Effect.Effect<ReadonlyArray<ToolDef>>
  /** Read-only tools of one answer run side by side (reading 2.7). Unknown names are not read-only. */
  readonly isReadOnly: (name: string, input: JsonObject) => boolean
  /** Before `isReadOnly` is asked about calls of these tools: whatever it must know is made known. Absent = it knows. */
  readonly ready?: (names: ReadonlyArray<string>) => Effect.Effect<void>
  /** Ends what calls of a session have left running: the session is over. Absent = nothing is ever left. */
  readonly release?: (session_id: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category services */
export class ToolExecutor extends Context.Tag("@hanzo/dev/domain/ToolExecutor")<ToolExecutor, ToolExecutorService>() {}
