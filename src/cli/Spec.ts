/**
 * The command line as data: every command, its options and arguments (architecture section 5).
 *
 * One table serves the check before parsing, the parser's own definitions, help and completions. It imports nothing, so
 * that help, or a slip on the command line, is answered without loading the program.
 *
 * @since 0.1.0
 */

interface OptionBase {
  /** Without the dashes. */
  readonly name: string
  /** One letter. */
  readonly alias?: string
  readonly description: string
  /** May stand several times. */
  readonly repeat?: true
  /** Not built yet: the option is known and refused with this. */
  readonly later?: true
}

/** @since 0.1.0 @category models */
export type OptionSpec =
  | (OptionBase & { readonly kind: "flag" })
  | (OptionBase & { readonly kind: "text"; readonly value: string; readonly may_be_empty?: true })
  | (OptionBase & { readonly kind: "choice"; readonly choices: ReadonlyArray<string> })
  | (OptionBase & { readonly kind: "integer"; readonly min: number; readonly max: number })
  | (OptionBase & { readonly kind: "number"; readonly min: number })

/** @since 0.1.0 @category models */
export interface ArgumentSpec {
  readonly name: string
  readonly description: string
  readonly optional?: true
  /** The last one: whatever stands behind `--`, at least one word. */
  readonly rest?: true
}

/** @since 0.1.0 @category models */
export interface CommandSpec {
  /** Words after the program's name; empty for the command without one. */
  readonly path: ReadonlyArray<string>
  readonly summary: string
  readonly options: ReadonlyArray<OptionSpec>
  readonly args: ReadonlyArray<ArgumentSpec>
  /** Pairs of options that exclude each other. */
  readonly excludes?: ReadonlyArray<readonly [string, string]>
  /** Works, but is not listed. */
  readonly hidden?: true
  /** What to say about an argument too many. */
  readonly too_many?: string
}

type Single<O extends OptionSpec> = O extends { readonly kind: "flag" } ? boolean
  : O extends { readonly kind: "text" } ? string
  : O extends { readonly kind: "choice"; readonly choices: ReadonlyArray<infer C> } ? C
  : number

type Value<O extends OptionSpec> = O extends { readonly kind: "flag" } ? boolean
  : O extends { readonly repeat: true } ? ReadonlyArray<Single<O>>
  : Single<O> | undefined

/** The values of a command's options by name, and its arguments in order. @since 0.1.0 @category models */
export type Values<S extends CommandSpec> =
  & { readonly [O in S["options"][number] as O["name"]]: Value<O> }
  & { readonly args: ReadonlyArray<string> }

/** @since 0.1.0 @category constants */
export const program = "hanzo-dev"

const model = {
  kind: "text",
  name: "model",
  alias: "m",
  value: "MODEL",
  description: "Model to use: provider/model, or a model of the provider in force."
} as const

const directory = {
  kind: "text",
  name: "directory",
  alias: "C",
  value: "DIR",
  description: "Work in this directory instead of the current one."
} as const

const json = { kind: "flag", name: "json", description: "Print one JSON document." } as const

/** Options of everything that runs the agent. */
const agent = [
  model,
  directory,
  { kind: "flag", name: "continue", description: "Go on with the latest session of this project." },
  {
    kind: "text",
    name: "session",
    value: "ID",
    description: "Go on with this session; a unique beginning of its id is enough."
  },
  { kind: "text", name: "fork", value: "ID", description: "Go on with a copy of a session.", later: true },
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
    name: "trust-workspace",
    description: "Trust what this project's settings bring, for this run only."
  },
  { kind: "text", name: "scenario", value: "FILE", description: "Scenario of the embedded scripted model." },
  { kind: "text", name: "record", value: "FILE", description: "Record the run.", later: true },
  { kind: "text", name: "replay", value: "FILE", description: "Replay a recorded run.", later: true }
] as const satisfies ReadonlyArray<OptionSpec>

const agentExcludes = [
  ["continue", "session"],
  ["continue", "no-session"],
  ["session", "no-session"]
] as const

/** @since 0.1.0 @category constants */
export const conversation = {
  path: [],
  summary: "A coding agent for the terminal. Without a command: a conversation.",
  options: agent,
  args: [],
  excludes: agentExcludes
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const run = {
  path: ["run"],
  summary: "Run one prompt to its end, without questions, and print the answer.",
  options: [
    ...agent,
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
export const sessionsList = {
  path: ["sessions", "list"],
  summary: "List the sessions of this project, the latest first.",
  options: [
    { kind: "flag", name: "all", alias: "a", description: "List the sessions of every project." },
    {
      kind: "integer",
      name: "limit",
      alias: "n",
      min: 1,
      max: 100_000,
      description: "At most this many (default 50)."
    },
    directory,
    json
  ],
  args: []
} as const satisfies CommandSpec

const sessionId = { name: "id", description: "Id of the session, or a unique beginning of it." } as const

/** @since 0.1.0 @category constants */
export const sessionsShow = {
  path: ["sessions", "show"],
  summary: "Show a session: its counters, its runs, what was said.",
  options: [json],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsExport = {
  path: ["sessions", "export"],
  summary: "Print a whole session.",
  options: [{
    kind: "choice",
    name: "format",
    choices: ["jsonl", "markdown", "md"],
    description: "jsonl: everything stored, one JSON object a line (default). markdown or md: to read."
  }],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsDelete = {
  path: ["sessions", "delete"],
  summary: "Delete a session for good.",
  options: [{ kind: "flag", name: "yes", alias: "y", description: "Do not ask." }],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configShow = {
  path: ["config", "show"],
  summary: "Print the settings in force. Secrets show only as set.",
  options: [
    { kind: "flag", name: "origin", description: "Say where each value comes from and what it hides." },
    directory,
    json
  ],
  args: []
} as const satisfies CommandSpec

const tier = {
  kind: "choice",
  name: "tier",
  choices: ["user", "project", "local"],
  description: "Whose settings: yours (default), the project's, or yours for this project."
} as const

const key = {
  name: "key",
  description: "Setting, for example max_tokens, providers.fake.base_url, 'permissions.bash(git status*)'."
} as const

/** @since 0.1.0 @category constants */
export const configGet = {
  path: ["config", "get"],
  summary: "Print one setting in force. Secrets show only as set.",
  options: [directory, json],
  args: [key]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configSet = {
  path: ["config", "set"],
  summary: "Write one setting; comments, order and unknown keys of the file stay.",
  options: [tier, directory],
  args: [key, { name: "value", description: "Text or JSON; null takes the setting back, - reads it from stdin." }],
  too_many: "put the value in quotes"
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configPath = {
  path: ["config", "path"],
  summary: "Print the path of the settings file.",
  options: [tier, directory],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configEdit = {
  path: ["config", "edit"],
  summary: "Open the settings file in $VISUAL or $EDITOR, and check it afterwards.",
  options: [tier, directory],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configValidate = {
  path: ["config", "validate"],
  summary: "Check the settings of every tier. Exit code 2 when they have errors.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configSchema = {
  path: ["config", "schema"],
  summary: "Print the JSON Schema of the settings.",
  options: [],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const configTrust = {
  path: ["config", "trust"],
  summary: "Trust what this project's settings bring: commands, servers, rules. Shows it and asks.",
  options: [
    { kind: "flag", name: "show", description: "Only show what there is and whether it is trusted." },
    { kind: "flag", name: "yes", alias: "y", description: "Trust it without asking." },
    { kind: "flag", name: "revoke", description: "Trust it no longer." },
    directory,
    json
  ],
  args: [],
  excludes: [["show", "yes"], ["show", "revoke"], ["yes", "revoke"]]
} as const satisfies CommandSpec

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
export const start = {
  path: ["start"],
  summary: "The conversation where a provider is configured and a terminal is attached, else the demo.",
  options: agent,
  args: [],
  excludes: agentExcludes,
  hidden: true
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const vectorsEval = {
  path: ["vectors", "eval"],
  summary: "Answer conformance cases: one JSON line a case on stdin, one a result on stdout.",
  options: [],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const vectorsCheck = {
  path: ["vectors", "check"],
  summary: "Run the conformance vectors against this program or another one.",
  options: [
    {
      kind: "text",
      name: "adapter",
      value: "CMD",
      description: "Command of the implementation to check (through sh -c)."
    },
    { kind: "text", name: "domain", value: "NAME", repeat: true, description: "Only this domain." },
    { kind: "text", name: "tag", value: "TAG", repeat: true, description: "Only cases with this tag." },
    {
      kind: "integer",
      name: "timeout-ms",
      min: 1,
      max: 86_400_000,
      description: "Limit of one case in milliseconds (default 10000)."
    },
    json
  ],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const completions = {
  path: ["completions"],
  summary: "Print a completion script for a shell.",
  options: [],
  args: [{ name: "shell", description: "bash, zsh or fish." }]
} as const satisfies CommandSpec

/** Every command, in the order of the help. @since 0.1.0 @category constants */
export const commands: ReadonlyArray<CommandSpec> = [
  conversation,
  run,
  sessionsList,
  sessionsShow,
  sessionsExport,
  sessionsDelete,
  doctor,
  demo,
  start,
  configShow,
  configGet,
  configSet,
  configPath,
  configEdit,
  configValidate,
  configSchema,
  configTrust,
  hooksList,
  hooksTest,
  permissionsExplain,
  permissionsList,
  permissionsAudit,
  sandboxStatus,
  sandboxExec,
  vectorsEval,
  vectorsCheck,
  completions
]

/** Groups of commands and what they are about. @since 0.1.0 @category constants */
export const groups: Readonly<Record<string, string>> = {
  sessions: "The record of sessions.",
  config: "The settings.",
  hooks: "Commands of the settings that run before and after tools.",
  permissions: "The rules of what tools may do.",
  sandbox: "What tools may touch, and what the system enforces of it.",
  vectors: "The conformance vectors of HIP-301."
}

/** Commands that come with a later version: known by name, refused. @since 0.1.0 @category constants */
export const later: ReadonlyArray<ReadonlyArray<string>> = [
  ["acp"],
  ["mcp"],
  ["proxy"],
  ["auth"],
  ["lsp"]
]
