/**
 * The commands about the program itself.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const doctor = {
  path: ["doctor"],
  summary: "Check what works here and say how to fix the rest.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const demo = {
  path: ["demo"],
  summary: "See the agent repair a failing program, with a scripted model: no account, no network.",
  options: [],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const completions = {
  path: ["completions"],
  summary: "Print a completion script for a shell.",
  options: [],
  args: [{ name: "shell", description: "bash, zsh or fish." }]
} as const satisfies CommandSpec
