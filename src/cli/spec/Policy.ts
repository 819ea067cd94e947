/**
 * `hanzo-dev hooks ...`, `permissions ...`, `sandbox ...`: what tools may do.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const hooksList = {
  path: ["hooks", "list"],
  summary: "List the hooks in force, in the order in which they run.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const hooksTest = {
  path: ["hooks", "test"],
  summary: "Run the hooks of an event and show what they say. Exit code 1 when they do not allow.",
  options: [
    {
      kind: "text",
      name: "output",
      value: "TEXT",
      may_be_empty: true,
      description: "What the tool gave, for post_tool_use."
    },
    directory,
    json
  ],
  args: [
    { name: "event", description: "pre_tool_use, post_tool_use, user_prompt_submit, ..." },
    { name: "tool", optional: true, description: "Name of the tool, for the two tool events only." },
    { name: "json", optional: true, description: "The tool's input, or what the event is about: one JSON object." }
  ]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const permissionsExplain = {
  path: ["permissions", "explain"],
  summary: "Say which rule decides a call, and why: every rule, every part of a command line.",
  options: [directory, json],
  args: [
    { name: "tool", description: "Name of the tool, for example bash or write." },
    { name: "subject", optional: true, description: "What it is about: the command line, the path, the address." }
  ],
  too_many: "put the subject in quotes"
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const permissionsList = {
  path: ["permissions", "list"],
  summary: "List the rules in the order in which they are tried.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const permissionsAudit = {
  path: ["permissions", "audit"],
  summary: "Show what was decided about calls, the oldest first.",
  options: [
    {
      kind: "text",
      name: "session",
      value: "ID",
      description: "Only of this session; a beginning of its id is enough."
    },
    { kind: "text", name: "tool", value: "PATTERN", description: "Only of these tools, for example 'mcp__*'." },
    {
      kind: "text",
      name: "since",
      value: "WHEN",
      description: "Only from then on: 30m, 12h, 7d, or a date such as 2026-11-29 or 2026-11-29T18:05:00Z."
    },
    json
  ],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sandboxStatus = {
  path: ["sandbox", "status"],
  summary: "Show what of the sandbox is in force here, and why it is not more.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sandboxExec = {
  path: ["sandbox", "exec"],
  summary: "Run a command as a tool would run it. The exit code is the command's.",
  options: [directory],
  args: [{ name: "cmd", rest: true, description: "The command and its arguments, behind --." }]
} as const satisfies CommandSpec
