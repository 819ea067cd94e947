/**
 * What holds between the keys of a hook (reading 9.1); the type of each key is the Schema's affair.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface HookComplaint {
  readonly severity: "error" | "warning"
  readonly code: "invalid_value" | "milliseconds"
  readonly key: "event" | "command" | "tool_pattern" | "timeout_ms"
  /** Follows the name of the hook, for example `hooks.0`. */
  readonly message: string
}

/** Limits below this many milliseconds are probably meant as seconds. @since 0.1.0 @category constants */
export const suspiciousTimeoutMs = 100

/**
 * `hook` holds the keys that are there with the right type, `present` those that are there at all, so that one mistake
 * is told once.
 *
 * @since 0.1.0
 * @category decoding
 */
export const hookComplaints = (
  hook: ReadonlyMap<string, unknown>,
  present: ReadonlySet<string>
): ReadonlyArray<HookComplaint> => {
  const complaints: Array<HookComplaint> = []
  const wrong = (key: HookComplaint["key"], message: string): void =>
    void complaints.push({ severity: "error", code: "invalid_value", key, message })
  const event = hook.get("event")
  if (typeof event === "string") {
    const of_tools = event === "pre_tool_use" || event === "post_tool_use"
    if (of_tools && !present.has("tool_pattern")) {
      wrong("tool_pattern", `needs the key "tool_pattern": which tools it is for, "*" for all`)
    }
    if (!of_tools && present.has("tool_pattern")) {
      wrong("tool_pattern", `must not have the key "tool_pattern": the event ${event} is about no tool`)
    }
  }
  const timeout = hook.get("timeout_ms")
  if (typeof timeout === "number" && timeout < suspiciousTimeoutMs) {
    complaints.push({
      severity: "warning",
      code: "milliseconds",
      key: "timeout_ms",
      message: `has ${timeout} milliseconds to run; if seconds were meant, write ${timeout * 1000}`
    })
  }
  return complaints
}
