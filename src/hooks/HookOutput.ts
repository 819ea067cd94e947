/**
 * What a hook's end means (readings 9.3, 9.4). The exit code alone decides; output gives the reason and, as a JSON
 * object, context for the model. Pure.
 *
 * | end | decision |
 * | --- | --- |
 * | exit code 0 | `allow` |
 * | exit code 2 | `deny` |
 * | any other code, a signal, no start, no end in time | `error`, which blocks like a denial |
 *
 * @since 0.1.0
 */
import type { HookConfig } from "../config/Schema.ts"
import { fitting } from "./HookInput.ts"

/**
 * HIP-301 section 9. `hook` is its number in the settings in force, from 0, as in the key `hooks.0`; -1 when none
 * matched. `reason` is empty when it allows. `additional_context` is for the model.
 *
 * @since 0.1.0
 * @category models
 */
export interface HookResult {
  readonly decision: "allow" | "deny" | "error"
  readonly reason: string
  readonly hook: number
  readonly exit_code: number | null
  readonly signal: string | null
  readonly timed_out: boolean
  readonly additional_context?: string
}

/** Kept of each stream, in bytes; the rest is read and dropped. @since 0.1.0 @category constants */
export const capturedBytes = 65_536

/** Shown of a reason, in bytes. @since 0.1.0 @category constants */
export const shownBytes = 4_096

/** How a hook ended, or why it did not start. @since 0.1.0 @category models */
export type HookEnd =
  | {
    readonly code: number | null
    readonly signal: string | null
    readonly timed_out: boolean
    readonly stdout: Uint8Array
    readonly stderr: Uint8Array
  }
  | { readonly not_started: string }

const decoder = new TextDecoder("utf-8")

const trimmed = (bytes: Uint8Array): string => decoder.decode(bytes).trim()

const shown = (text: string): string => {
  const cut = fitting(text, shownBytes)
  return cut.length === text.length ? text : `${fitting(text, shownBytes - 3)}\u2026`
}

/** A JSON object on stdout; one that did not fit is an object still, whose members are not known. */
const objectOf = (stdout: string, complete: boolean): Readonly<Record<string, unknown>> | null => {
  if (!stdout.startsWith("{")) return null
  try {
    const value: unknown = JSON.parse(stdout)
    return typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : null
  } catch {
    return complete ? null : {}
  }
}

/** What a hook is for: its pattern, or its event when it is about no tool. @since 0.1.0 @category combinators */
export const aimOf = (hook: HookConfig): string => hook.tool_pattern ?? hook.event

const fault = (end: Extract<HookEnd, { readonly code: number | null }>, timeout_ms: number): string =>
  end.timed_out
    ? `it did not end within ${timeout_ms} ms`
    : end.code === null
    ? `it was ended by ${end.signal ?? "a signal"}`
    : `it ended with exit code ${end.code}, which is neither 0 (allow) nor 2 (deny)`

/** @since 0.1.0 @category decoding */
export const judge = (hook: HookConfig, number: number, timeout_ms: number, end: HookEnd): HookResult => {
  const denied = `denied by hook ${number} (${aimOf(hook)})`
  if ("not_started" in end) {
    return {
      decision: "error",
      reason: `${denied}: ${end.not_started}`,
      hook: number,
      exit_code: null,
      signal: null,
      timed_out: false
    }
  }
  const told = { hook: number, exit_code: end.code, signal: end.signal, timed_out: end.timed_out }
  const stdout = trimmed(end.stdout)
  const object = objectOf(stdout, end.stdout.byteLength < capturedBytes)
  if (end.code === 0 && !end.timed_out) {
    const context = object?.["additional_context"]
    return {
      decision: "allow",
      reason: "",
      ...told,
      ...(typeof context === "string" && context.trim() !== "" ? { additional_context: context } : {})
    }
  }
  const stderr = trimmed(end.stderr)
  const said = shown(stderr !== "" ? stderr : object === null ? stdout : "")
  if (end.code === 2 && !end.timed_out) return { decision: "deny", reason: said === "" ? denied : said, ...told }
  const why = `${denied}: ${fault(end, timeout_ms)}`
  return { decision: "error", reason: said === "" ? why : `${why}: ${said}`, ...told }
}
