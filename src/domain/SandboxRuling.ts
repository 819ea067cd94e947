/**
 * What the sandbox says to one tool call (readings 2.3, 10.4), as events and the record of permissions carry it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** The isolation mode in force (HIP-301 section 10). @since 0.1.0 @category schemas */
export const SandboxMode = Schema.Literal("workspace", "allowlist", "off")
/** @since 0.1.0 @category models */
export type SandboxMode = typeof SandboxMode.Type

/**
 * What holds a call to the policy.
 *
 * | value | meaning |
 * | --- | --- |
 * | `bubblewrap`, `unshare` | the kernel: the processes of the call run inside a sandbox of this kind |
 * | `path_check` | canonical paths, compared before the call and again when they are opened |
 * | `host_check` | names and ports of the network |
 * | `none` | nothing: the sandbox has no part in this tool, or this system offers none for its processes |
 * | `off` | nothing: the mode is `off` |
 *
 * @since 0.1.0
 * @category schemas
 */
export const SandboxEnforcement = Schema.Literal(
  "bubblewrap",
  "unshare",
  "path_check",
  "host_check",
  "none",
  "off"
)
/** @since 0.1.0 @category models */
export type SandboxEnforcement = typeof SandboxEnforcement.Type

/** @since 0.1.0 @category schemas */
export const SandboxDecision = Schema.Literal("allowed", "refused")
/** @since 0.1.0 @category models */
export type SandboxDecision = typeof SandboxDecision.Type
