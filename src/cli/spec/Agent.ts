/**
 * The commands that run the agent.
 *
 * @since 0.1.0
 */
import { directory } from "./Shared.ts"
import type { CommandSpec, OptionSpec } from "./Types.ts"

const model = {
  kind: "text",
  name: "model",
  alias: "m",
  value: "MODEL",
  description: "Model to use: provider/model, or a model of the provider in force."
} as const

/** Options of everything that runs the agent. @since 0.1.0 @category constants */
export const agent = [
  model,
  directory,
  { kind: "flag", name: "continue", description: "Go on with the latest session of this project." },
  {
    kind: "text",
    name: "session",
    value: "ID",
    description: "Go on with this session; a unique beginning of its id is enough."
  },
  {
    kind: "text",
    name: "fork",
    value: "ID",
    description: "Go on with a copy of this session, which stays as it is."
  },
  {
    kind: "flag",
    name: "takeover",
    description: "Take the session from another process that runs it, which is asked to stop."
  },
  {
    kind: "integer",
    name: "max-turns",
    min: 1,
    max: 100_000,
    description: "Stop after this many model requests a prompt (default 100)."
  },
  { kind: "number", name: "max-cost", min: 0, description: "Stop when a prompt has cost this many US dollars." },
  {
    kind: "choice",
    name: "permission-mode",
    choices: ["default", "plan", "accept-edits", "bypass"],
    description: "What happens to calls that no rule settles."
  },
  {
    kind: "text",
    name: "allow",
    value: "RULE",
    repeat: true,
    description: "Allow what this pattern matches, for example 'bash(git status*)'."
  },
  {
    kind: "text",
    name: "deny",
    value: "RULE",
    repeat: true,
    description: "Deny what this pattern matches; goes before every --allow."
  },
  {
    kind: "text",
    name: "system-prompt-append",
    value: "TEXT",
    may_be_empty: true,
    description: "Add this text to the system prompt."
  },
  { kind: "flag", name: "no-session", description: "Keep no record of the session." },
  {
    kind: "flag",
    name: "checkpoints",
    description: "Keep the files as they were before each message changes them (default in the conversation)."
  },
  { kind: "flag", name: "no-checkpoints", description: "Keep no files." },
  {
    kind: "flag",
    name: "trust-workspace",
    description: "Trust what this project's settings bring, for this run only."
  },
  { kind: "text", name: "scenario", value: "FILE", description: "Scenario of the embedded scripted model." },
  { kind: "text", name: "record", value: "FILE", description: "Record the run.", later: true },
  { kind: "text", name: "replay", value: "FILE", description: "Replay a recorded run.", later: true }
] as const satisfies ReadonlyArray<OptionSpec>

const resume = {
  kind: "flag",
  name: "resume",
  alias: "r",
  description: "Choose from a list the session to go on with."
} as const satisfies OptionSpec

/** @since 0.1.0 @category constants */
export const agentExcludes = [
  ["checkpoints", "no-checkpoints"],
  ["continue", "session"],
  ["continue", "fork"],
  ["session", "fork"],
  ["continue", "no-session"],
  ["session", "no-session"],
  ["fork", "no-session"],
  ["takeover", "no-session"],
  ["takeover", "fork"]
] as const

const conversationExcludes = [
  ...agentExcludes,
  ["resume", "continue"],
  ["resume", "session"],
  ["resume", "fork"],
  ["resume", "no-session"]
] as const

/** @since 0.1.0 @category constants */
export const conversation = {
  path: [],
  summary: "A coding agent for the terminal. Without a command: a conversation.",
  options: [...agent, resume],
  args: [],
  excludes: conversationExcludes
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const run = {
  path: ["run"],
  summary: "Run one prompt to its end, without questions, and print the answer.",
  options: [
    ...agent,
    {
      kind: "text",
      name: "command",
      value: "NAME",
      description: "The prompt holds the arguments of this command of your own (.hanzo/commands/NAME.md)."
    },
    {
      kind: "choice",
      name: "output-format",
      choices: ["text", "json", "stream-json"],
      description: "text: the answer. json: one object at the end. stream-json: one line an event."
    },
    {
      kind: "choice",
      name: "input-format",
      choices: ["text", "stream-json"],
      description: "stream-json: one JSON line a prompt on stdin, {\"type\":\"user\",\"content\":\"...\"}."
    }
  ],
  args: [{
    name: "prompt",
    optional: true,
    description: "What to do. Absent or - reads it from stdin; with both, stdin follows the prompt as context."
  }],
  excludes: agentExcludes,
  too_many: "put the prompt in quotes"
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const start = {
  path: ["start"],
  summary: "The conversation where a provider is configured and a terminal is attached, else the demo.",
  options: [...agent, resume],
  args: [],
  excludes: conversationExcludes,
  hidden: true
} as const satisfies CommandSpec
