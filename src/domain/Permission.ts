/**
 * HIP-301's permission types (sections 2 and 7).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

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
