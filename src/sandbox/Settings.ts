/**
 * The sandbox settings in force: spellings brought together, defaults filled in, the mode decided (reading 10.1).
 *
 * @since 0.1.0
 */
import type { IsolationMode, SandboxConfig } from "../config/Schema.ts"
import { uselessPattern } from "./Network.ts"
import type { FoundContainer } from "./Detect.ts"

/** @since 0.1.0 @category models */
export type NetworkPolicy = "on" | "off" | { readonly allow: ReadonlyArray<string> }

/** @since 0.1.0 @category models */
export interface SandboxSettings {
  /** null = the settings name none. */
  readonly requested_mode: IsolationMode | null
  readonly mode: IsolationMode
  /** Why the mode is another one than asked for or expected. */
  readonly reason: string | null
  readonly allowed_paths: ReadonlyArray<string>
  readonly network: NetworkPolicy
  readonly private_tmp: boolean
  readonly require_enforcement: boolean
  readonly deny_hard_linked_writes: boolean
  readonly warnings: ReadonlyArray<string>
}

const modes: Readonly<Record<NonNullable<SandboxConfig["mode"]>, IsolationMode>> = {
  off: "off",
  workspace: "workspace",
  allowlist: "allowlist",
  "workspace-only": "workspace",
  "allow-list": "allowlist"
}

/** @since 0.1.0 @category constructors */
export const settle = (config: SandboxConfig, container: FoundContainer | null): SandboxSettings => {
  const requested_mode = config.mode === undefined ? null : modes[config.mode]
  const mode = requested_mode ?? (container === null ? "workspace" : "off")
  const allowed_paths = config.allowed_paths ?? []
  const warnings: Array<string> = []
  const allowed = typeof config.network === "object" && mode !== "off" ? config.network.allow : []
  if (allowed_paths.length > 0 && mode !== "allowlist") {
    warnings.push(`sandbox.allowed_paths counts only in mode "allowlist"; the mode is "${mode}"`)
  }
  if (mode === "off" && config.require_enforcement === true) {
    warnings.push("sandbox.require_enforcement has no effect while the mode is \"off\"; set sandbox.mode")
  }
  for (const pattern of allowed) {
    const why = uselessPattern(pattern)
    if (why !== null) warnings.push(`sandbox.network.allow: ${JSON.stringify(pattern)} has no effect: ${why}`)
  }
  return {
    requested_mode,
    mode,
    reason: requested_mode === null && container !== null
      ? `inside a container (${container.kind}, says ${container.probe}); set sandbox.mode to isolate tools here too`
      : null,
    allowed_paths: mode === "allowlist" ? allowed_paths : [],
    network: config.network ?? "on",
    private_tmp: config.private_tmp ?? true,
    require_enforcement: config.require_enforcement ?? false,
    deny_hard_linked_writes: config.deny_hard_linked_writes ?? false,
    warnings
  }
}
