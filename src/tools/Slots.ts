/**
 * Where other rooms stand in the way of a tool call (reading 2.3). The slots are empty here; whoever fills one adapts
 * its room to the interface and nothing else in the tools changes.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { SandboxEnforcement, SandboxMode } from "../domain/SandboxRuling.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { ToolKind } from "../permissions/Permissions.ts"

/** A call that the permissions have let through; nothing of it can be changed any more. @since 0.1.0 @category models */
export interface GuardedCall {
  readonly tool_name: string
  /** Deeply frozen. */
  readonly input: JsonObject
  /** Canonical (reading 7.5). */
  readonly subjects: ReadonlyArray<string>
  readonly kind: ToolKind
  readonly read_only: boolean
  readonly inside_workspace: boolean
  readonly session_id: string
  readonly call_id: string
  /** Who let it through (`rule`, `user`, `session`, `mode`, ...); known to the sandbox check. */
  readonly decided_by?: string
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
}

/** `context` is told to the model beside the result (reading 9.4). @since 0.1.0 @category models */
export type Passage =
  | { readonly allowed: true; readonly context?: string }
  | { readonly allowed: false; readonly reason: string }

/** @since 0.1.0 @category models */
export interface ToolHooksService {
  /** All pre hooks in order; the first that does not allow decides. A defect denies. */
  readonly before: (call: GuardedCall) => Effect.Effect<Passage>
  /**
   * All post hooks, awaited; cannot change the result. Not called when the tool did not run. A text is told to the model
   * beside the result, like the `context` of a passage.
   */
  readonly after: (call: GuardedCall, result: ToolResult) => Effect.Effect<string | void>
}

const pass: Passage = { allowed: true }

/** @since 0.1.0 @category services */
export class ToolHooks extends Context.Tag("@hanzo/dev/tools/ToolHooks")<ToolHooks, ToolHooksService>() {
  static readonly layerNoop: Layer.Layer<ToolHooks> = Layer.succeed(ToolHooks, {
    before: () => Effect.succeed(pass),
    after: () => Effect.void
  })
}

/** What holds a call to which policy. @since 0.1.0 @category models */
export interface SandboxHold {
  readonly enforcement: SandboxEnforcement
  readonly mode: SandboxMode
}

/** `hold` absent: nothing is known to hold. `path` is canonical. @since 0.1.0 @category models */
export type SandboxPassage =
  | { readonly allowed: true; readonly context?: string; readonly hold?: SandboxHold }
  | {
    readonly allowed: false
    readonly reason: string
    readonly hold?: SandboxHold
    readonly path?: string
    readonly rule?: string
  }

/** @since 0.1.0 @category models */
export interface ToolSandboxService {
  /** May a tool touch this now? The last look before it runs (reading 10.4). A defect denies. */
  readonly check: (call: GuardedCall) => Effect.Effect<SandboxPassage>
  /** What the model should know beside the result: which rule stood behind a failure. null = nothing. */
  readonly remark?: (call: GuardedCall, result: ToolResult) => Effect.Effect<string | null>
}

/** @since 0.1.0 @category services */
export class ToolSandbox extends Context.Tag("@hanzo/dev/tools/ToolSandbox")<ToolSandbox, ToolSandboxService>() {
  static readonly layerNoop: Layer.Layer<ToolSandbox> = Layer.succeed(ToolSandbox, {
    check: () => Effect.succeed({ allowed: true, hold: { enforcement: "off", mode: "off" } })
  })
}

/** @since 0.1.0 @category models */
export interface ToolSecretsService {
  /**
   * Secrets beyond those of the environment and of the settings' keys, for the calls that end from now on; the same array
   * as long as nothing is new.
   */
  readonly known: Effect.Effect<ReadonlyArray<string>>
}

/** @since 0.1.0 @category services */
export class ToolSecrets extends Context.Tag("@hanzo/dev/tools/ToolSecrets")<ToolSecrets, ToolSecretsService>() {
  static readonly layerNone: Layer.Layer<ToolSecrets> = Layer.succeed(ToolSecrets, { known: Effect.succeed([]) })
}
