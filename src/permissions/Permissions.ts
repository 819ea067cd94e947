/**
 * What a tool may do: rules, modes and the chain of prompters (readings 2.3, 2.4, 7).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { Config } from "../config/Config.ts"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { RunPermissionMode, Verdict } from "../domain/Permission.ts"
import type { PermissionPrompter } from "../domain/PermissionPrompter.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { Workspace } from "../domain/Workspace.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Files } from "../platform/Files.ts"
import { ShellGrammar } from "../platform/ShellGrammar.ts"
import { PermissionAudit } from "./Audit.ts"
import * as PermissionsLive from "./PermissionsLive.ts"
import type { PermissionRuleError } from "./Rules.ts"
import type { CallStep, StepCall } from "./Steps.ts"

/** What `accept-edits` and `plan` look at. @since 0.1.0 @category models */
export type ToolKind = "read" | "edit" | "execute" | "network" | "other"

/** @since 0.1.0 @category models */
export interface PermissionRequest {
  readonly tool_name: string
  /** Rules for these names hold too; the strictest verdict decides (reading 1.8). */
  readonly other_names?: ReadonlyArray<string>
  readonly input: JsonObject
  /** Canonical subjects (paths, the command line, the URL); every one of them must be allowed. */
  readonly subjects: ReadonlyArray<string>
  readonly kind: ToolKind
  readonly read_only: boolean
  /** All subjects are paths inside the workspace. */
  readonly inside_workspace: boolean
  readonly session_id: string
  readonly call_id: string
  readonly mode: RunPermissionMode
  /** The subagent that asks; absent = the session's own agent. */
  readonly agent?: string
  /** Answers for that session hold too, and an answer for a session is given to it; absent = the session's own. */
  readonly grants_session_id?: string
  /** Takes known secrets out of a text for the record; absent = texts stay as they are. */
  readonly safe?: (text: string) => string
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export type Authorization =
  | { readonly allowed: true; readonly decided_by: string }
  | { readonly allowed: false; readonly decided_by: string; readonly reason: string }

/** @since 0.1.0 @category models */
export interface PermissionsService {
  /** Evaluates, asks when it must, reports `permission.asked` and `permission.decided`. Never fails; a defect denies. */
  readonly authorize: (request: PermissionRequest) => Effect.Effect<Authorization>
  /**
   * The rules alone, without mode and prompter. A command line is read with the grammar only after `authorize` has
   * loaded it; before that no rule allows one of more than plain words.
   */
  readonly evaluate: (tool_name: string, subject?: string) => Verdict
  /**
   * Puts into the record what became of a call that `authorize` has let through; all steps at once, when it has ended.
   * Never fails: what cannot be written is warned of.
   */
  readonly recordSteps: (call: StepCall, steps: ReadonlyArray<CallStep>) => Effect.Effect<void>
}

/** What the service stands on. @since 0.1.0 @category models */
export type PermissionsNeeds = Config | PermissionPrompter | Workspace | Files

/** @since 0.1.0 @category services */
export class Permissions extends Context.Tag("@hanzo/dev/permissions/Permissions")<Permissions, PermissionsService>() {
  /** With a grammar and a record of the caller's choice. */
  static readonly layerOver: Layer.Layer<
    Permissions,
    PermissionRuleError,
    PermissionsNeeds | ShellGrammar | PermissionAudit
  > = Layers.effect(Permissions, PermissionsLive.make)

  /** The record is `<state>/audit/permissions.jsonl`. */
  static readonly layer: Layer.Layer<Permissions, PermissionRuleError, PermissionsNeeds | Dirs> = Layer.provide(
    Permissions.layerOver,
    Layer.merge(ShellGrammar.layer, PermissionAudit.layer)
  )
}
