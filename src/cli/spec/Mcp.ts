/**
 * `hanzo-dev mcp ...` on the command line.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

const tier = {
  kind: "choice",
  name: "tier",
  choices: ["user", "project", "local"],
  description: "Whose settings to change: yours, the project's, or yours for this project."
} as const

const tool = {
  kind: "text",
  name: "tool",
  value: "TOOL",
  repeat: true,
  description: "Only this tool, by the server's own name for it; a pattern such as 'write_*' names several."
} as const

const server = { name: "name", description: "Name of the server in the settings." } as const

/** @since 0.1.0 @category constants */
export const mcpAdd = {
  path: ["mcp", "add"],
  summary: "Add an MCP server to the settings: a program behind --, an address with --url, or another client's file.",
  options: [
    { kind: "text", name: "url", value: "URL", description: "Address of a server over HTTP." },
    {
      kind: "choice",
      name: "type",
      choices: ["stdio", "http", "sse"],
      description: "How it is spoken to (default: a program by stdio, an address by http)."
    },
    {
      kind: "text",
      name: "env",
      value: "NAME=VALUE",
      repeat: true,
      description: "Variable for the program; write ${NAME} for one of your own, so that no secret is in the file."
    },
    { kind: "text", name: "header", value: "NAME: VALUE", repeat: true, description: "Header for the address." },
    { kind: "text", name: "cwd", value: "PATH", description: "Where the program starts (default: the project root)." },
    {
      kind: "text",
      name: "from",
      value: "FILE",
      description:
        "Take the servers of this file of another client: .mcp.json, claude.json, mcp.json of an editor, config.toml of Codex."
    },
    { kind: "flag", name: "replace", description: "Replace servers that are there already." },
    tier,
    directory
  ],
  args: [
    { name: "name", optional: true, description: "Name of the server; with --from only this one." },
    { name: "cmd", rest: true, optional: true, description: "The program and its arguments, behind --." }
  ],
  excludes: [["url", "env"], ["url", "cwd"], ["from", "url"], ["from", "env"], ["from", "header"], ["from", "cwd"], [
    "from",
    "type"
  ]]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpList = {
  path: ["mcp", "list"],
  summary: "List the MCP servers of the settings; nothing is connected.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpGet = {
  path: ["mcp", "get"],
  summary: "Show an MCP server: what it runs, whose settings it comes from, where its log is.",
  options: [directory, json],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpRemove = {
  path: ["mcp", "remove"],
  summary: "Remove an MCP server from the settings.",
  options: [tier, directory],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpEnable = {
  path: ["mcp", "enable"],
  summary: "Switch an MCP server on, or with --tool a tool of it.",
  options: [tool, tier, directory],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpDisable = {
  path: ["mcp", "disable"],
  summary: "Switch an MCP server off, or with --tool a tool of it; its definition stays.",
  options: [tool, tier, directory],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpStatus = {
  path: ["mcp", "status"],
  summary:
    "Connect to all MCP servers, show what became of each and which names clash. Exit code 1 when one is not ready or names clash.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpTest = {
  path: ["mcp", "test"],
  summary: "Connect to an MCP server and show what it offers. Exit code 1 when that fails.",
  options: [directory, json],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpLogs = {
  path: ["mcp", "logs"],
  summary: "Print what an MCP server has written to stderr, the latest last.",
  options: [
    {
      kind: "integer",
      name: "lines",
      alias: "n",
      min: 1,
      max: 100_000,
      description: "At most this many lines (default 200)."
    },
    directory
  ],
  args: [server]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const mcpServe = {
  path: ["mcp", "serve"],
  summary: "Offer the tools of this program to another agent, as an MCP server on stdin and stdout.",
  options: [
    {
      kind: "choice",
      name: "permission-mode",
      choices: ["default", "plan", "accept-edits", "bypass"],
      description: "What happens to calls that no rule settles (default: they are denied, nobody can be asked)."
    },
    {
      kind: "text",
      name: "allow",
      value: "RULE",
      repeat: true,
      description: "Allow what this pattern matches, for example 'read' or 'bash(git status*)'."
    },
    {
      kind: "text",
      name: "deny",
      value: "RULE",
      repeat: true,
      description: "Deny what this pattern matches; goes before every --allow."
    },
    {
      kind: "flag",
      name: "trust-workspace",
      description: "Trust what this project's settings bring, as long as this runs."
    },
    directory
  ],
  args: []
} as const satisfies CommandSpec
