/**
 * HIP-301's permission types (sections 2 and 7).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { JsonObject } from "./Tool.ts"

/** @since 0.1.0 @category schemas */
export const PermissionMode = Schema.Literal("allow", "deny", "prompt")
/** @since 0.1.0 @category models */
export type PermissionMode = typeof PermissionMode.Type

/** `tool_pattern` is an fnmatch glob over the whole tool name, or `tool(subject)`. @since 0.1.0 @category schemas */
export const PermissionRule = Schema.Struct({
  tool_pattern: Schema.String,
  mode: PermissionMode,
  reason: Schema.optional(Schema.NullOr(Schema.String))
})
/** @since 0.1.0 @category models */
export type PermissionRule = typeof PermissionRule.Type

/** How a run treats what no rule has settled (reading 7.4). @since 0.1.0 @category schemas */
export const RunPermissionMode = Schema.Literal("default", "plan", "accept-edits", "bypass")
/** @since 0.1.0 @category models */
export type RunPermissionMode = typeof RunPermissionMode.Type

/** `rule_index` counts in the list evaluated; null when the default decided. @since 0.1.0 @category models */
export interface Verdict {
  readonly mode: PermissionMode
  readonly rule_index: number | null
  readonly rule_matched: string | null
  readonly reason: string | null
  readonly tier?: string
}

/** @since 0.1.0 @category models */
export type PermissionDecision =
  | { readonly decision: "allow"; readonly scope?: "once" | "session" | "always" }
  | { readonly decision: "deny"; readonly reason: string }
  | { readonly decision: "escalate" }

/** @since 0.1.0 @category models */
export interface PermissionRequestContext {
  readonly session_id: string
  readonly call_id?: string
  readonly subject?: string
  readonly rule?: string
}

/** @since 0.1.0 @category models */
export interface PermissionPrompterService {
  /** Name in the audit (`prompter:<name>`; `user` for a person). */
  readonly name: string
  readonly requestPermission: (
    tool_name: string,
    input: JsonObject,
    context: PermissionRequestContext
  ) => Effect.Effect<PermissionDecision>
}

/**
 * The prompters of this program, asked in order; `escalate` passes to the next, none left = deny (reading 2.4). An
 * empty chain is the headless case: deny at once with reason `no_prompter`.
 *
 * @since 0.1.0
 * @category services
 */
export class PermissionPrompter extends Context.Tag("@hanzo/dev/domain/PermissionPrompter")<
  PermissionPrompter,
  ReadonlyArray<PermissionPrompterService>
>() {}
