/**
 * `hanzo-dev config ...`.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

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
