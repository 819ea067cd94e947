/**
 * `hanzo-dev agent ...`: tasks for agents of their own (HIP-301 section 14).
 *
 * @since 0.1.0
 */
import { agent, agentExcludes } from "./Agent.ts"
import { directory, json } from "./Shared.ts"
import type { CommandSpec, OptionSpec } from "./Types.ts"

const options = [
  ...agent,
  {
    kind: "choice",
    name: "output-format",
    choices: ["text", "json", "stream-json"],
    description: "text: the answer. json: one object at the end. stream-json: one line an event."
  },
  { ...json, description: "The same as --output-format json." }
] as const satisfies ReadonlyArray<OptionSpec>

const excludes = [...agentExcludes, ["json", "output-format"]] as const

const task = {
  name: "task",
  optional: true,
  description: "What to do. Absent or - reads it from stdin; with both, stdin follows the task as context."
} as const

const too_many = "put the task in quotes"

/** @since 0.1.0 @category constants */
export const agentPlan = {
  path: ["agent", "plan"],
  summary: "Write a step-by-step plan of a task; no tools.",
  options,
  args: [task],
  excludes,
  too_many
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const agentSolve = {
  path: ["agent", "solve"],
  summary: "Reason through a problem with read-only tools.",
  options,
  args: [task],
  excludes,
  too_many
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const agentCode = {
  path: ["agent", "code"],
  summary: "Carry out a task with all tools.",
  options,
  args: [task],
  excludes,
  too_many
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const agentAuto = {
  path: ["agent", "auto"],
  summary: "Plan a task, carry it out and review it, one after another.",
  options,
  args: [task],
  excludes,
  too_many
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const agentRun = {
  path: ["agent", "run"],
  summary: "Give a task to any agent, also one of a file.",
  options,
  args: [{ name: "name", description: "Name of the agent; `agent list` shows them." }, task],
  excludes,
  too_many
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const agentList = {
  path: ["agent", "list"],
  summary: "List the agents that can be given a task.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec
