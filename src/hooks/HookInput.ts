/**
 * What a hook is told: one JSON object on its input, whole (reading 9.5), and variables in its environment, cut to what
 * a system takes (reading 9.6). Pure.
 *
 * @since 0.1.0
 */
import type { HookEvent } from "../config/Schema.ts"
import type { HookSubject } from "./HookSubject.ts"

/** Whose hook runs and where: `root` is its working directory, `cwd` the session's. @since 0.1.0 @category models */
export interface HookScene {
  readonly session_id: string
  readonly root: string
  readonly cwd: string
}

/** The JSON object of reading 9.5. @since 0.1.0 @category encoding */
export const inputJson = (subject: HookSubject, scene: HookScene): string => {
  const { event, ...members } = subject
  return JSON.stringify({ hook_event_name: event, session_id: scene.session_id, cwd: scene.cwd, ...members })
}

/** `NAME=value` stays under this many bytes: Linux takes no longer string. @since 0.1.0 @category constants */
export const maxVariableBytes = 131_072

/** For systems whose whole environment is smaller than a few long variables. @since 0.1.0 @category constants */
export const shortVariableBytes = 8_192

const utf8 = new TextEncoder()

/**
 * As much of a text as fits `bytes` of UTF-8, cut between code points.
 *
 * @since 0.1.0
 * @category encoding
 */
export const fitting = (text: string, bytes: number): string =>
  text.length * 3 <= bytes ? text : text.slice(0, utf8.encodeInto(text, new Uint8Array(bytes)).read)

const toolVariables = (subject: HookSubject): ReadonlyArray<readonly [name: string, value: string]> => {
  if (subject.event !== "pre_tool_use" && subject.event !== "post_tool_use") return []
  const input = JSON.stringify(subject.tool_input)
  return [
    ["TOOL_NAME", subject.tool_name],
    ["TOOL_INPUT", input],
    ...(subject.event === "post_tool_use"
      ? [["TOOL_OUTPUT", subject.tool_output], ["TOOL_IS_ERROR", subject.tool_is_error ? "true" : "false"]] as const
      : [])
  ]
}

const short = ["EVENT", "TOOL_NAME", "TOOL_INPUT", "TOOL_OUTPUT", "TOOL_IS_ERROR"]

/**
 * Every name that `variables` may give: none of them is inherited, so that a hook of an agent that a hook started sees
 * its own call only.
 *
 * @since 0.1.0
 * @category constants
 */
export const variableNames: ReadonlyArray<string> = [
  ...short.map((name) => `HANZO_${name}`.replace("HANZO_EVENT", "HANZO_HOOK_EVENT")),
  ...short.map((name) => `HOOK_${name}`),
  "HANZO_SESSION_ID",
  "HANZO_PROJECT_ROOT"
].flatMap((name) => [name, `${name}_TRUNCATED`])

/**
 * The variables of reading 9.6, with their aliases. A value that is not whole (cut, or without the NULs that no variable
 * can hold) has `<NAME>_TRUNCATED=1` beside it; the whole is on the hook's input.
 *
 * @since 0.1.0
 * @category encoding
 */
export const variables = (
  subject: HookSubject,
  scene: HookScene,
  limit: number = maxVariableBytes
): Readonly<Record<string, string>> => {
  const env: Record<string, string> = {}
  const set = (name: string, value: string): void => {
    const clean = value.includes("\0") ? value.replaceAll("\0", "") : value
    const kept = fitting(clean, limit - 2 - name.length)
    env[name] = kept
    if (kept.length < value.length) env[`${name}_TRUNCATED`] = "1"
  }
  set("HANZO_HOOK_EVENT", subject.event)
  set("HOOK_EVENT", subject.event)
  for (const [name, value] of toolVariables(subject)) {
    set(`HANZO_${name}`, value)
    set(`HOOK_${name}`, value)
  }
  set("HANZO_SESSION_ID", scene.session_id)
  set("HANZO_PROJECT_ROOT", scene.root)
  return env
}

/** Of these a hook can refuse what was about to happen; hooks of the others only see it. @since 0.1.0 @category combinators */
export const canDeny = (event: HookEvent): boolean =>
  event === "pre_tool_use" || event === "user_prompt_submit" || event === "pre_compact"
