/**
 * The command line as data: every command, its options and arguments (architecture section 5).
 *
 * One table serves the check before parsing, the parser's own definitions, help and completions. It imports nothing but
 * its parts, so that help, or a slip on the command line, is answered without loading the program.
 *
 * @since 0.1.0
 */

import { conversation, run, start } from "./spec/Agent.ts"
import { agentAuto, agentCode, agentList, agentPlan, agentRun, agentSolve } from "./spec/AgentTasks.ts"
import { agentPrompt } from "./spec/AgentPrompt.ts"
import { authLogin, authLogout, authRefresh, authStatus, authToken } from "./spec/Auth.ts"
import { sessionsCheckpoints, sessionsRewind } from "./spec/Checkpoints.ts"
import {
  configEdit,
  configGet,
  configPath,
  configSchema,
  configSet,
  configShow,
  configTrust,
  configValidate
} from "./spec/Config.ts"
import { gitBranch, gitCommit, gitCommitPushPr, gitDiff, gitStash, gitWorktree } from "./spec/Git.ts"
import {
  lspDefinition,
  lspDiagnostics,
  lspDoctor,
  lspHover,
  lspReferences,
  lspRename,
  lspStatus,
  lspSymbols
} from "./spec/Lsp.ts"
import {
  mcpAdd,
  mcpDisable,
  mcpEnable,
  mcpGet,
  mcpList,
  mcpLogs,
  mcpRemove,
  mcpServe,
  mcpStatus,
  mcpTest
} from "./spec/Mcp.ts"
import { mcpAuth } from "./spec/McpAuth.ts"
import {
  hooksList,
  hooksTest,
  permissionsAudit,
  permissionsExplain,
  permissionsList,
  sandboxExec,
  sandboxStatus
} from "./spec/Policy.ts"
import { completions, demo, doctor } from "./spec/Program.ts"
import {
  sessionsArchive,
  sessionsDelete,
  sessionsExport,
  sessionsFork,
  sessionsImport,
  sessionsList,
  sessionsPin,
  sessionsPrune,
  sessionsRename,
  sessionsSearch,
  sessionsShow,
  sessionsUnarchive,
  sessionsUnpin
} from "./spec/Sessions.ts"
import { usage } from "./spec/Usage.ts"
import { vectorsCheck, vectorsEval } from "./spec/Vectors.ts"
import type { CommandSpec } from "./spec/Types.ts"

export type { CommandSpec, OptionSpec, Values } from "./spec/Types.ts"
export {
  agentAuto,
  agentCode,
  agentList,
  agentPlan,
  agentPrompt,
  agentRun,
  agentSolve,
  authLogin,
  authLogout,
  authRefresh,
  authStatus,
  authToken,
  completions,
  configEdit,
  configGet,
  configPath,
  configSchema,
  configSet,
  configShow,
  configTrust,
  configValidate,
  conversation,
  demo,
  doctor,
  gitBranch,
  gitCommit,
  gitCommitPushPr,
  gitDiff,
  gitStash,
  gitWorktree,
  hooksList,
  hooksTest,
  lspDefinition,
  lspDiagnostics,
  lspDoctor,
  lspHover,
  lspReferences,
  lspRename,
  lspStatus,
  lspSymbols,
  mcpAdd,
  mcpAuth,
  mcpDisable,
  mcpEnable,
  mcpGet,
  mcpList,
  mcpLogs,
  mcpRemove,
  mcpServe,
  mcpStatus,
  mcpTest,
  permissionsAudit,
  permissionsExplain,
  permissionsList,
  run,
  sandboxExec,
  sandboxStatus,
  sessionsArchive,
  sessionsCheckpoints,
  sessionsDelete,
  sessionsExport,
  sessionsFork,
  sessionsImport,
  sessionsList,
  sessionsPin,
  sessionsPrune,
  sessionsRename,
  sessionsRewind,
  sessionsSearch,
  sessionsShow,
  sessionsUnarchive,
  sessionsUnpin,
  start,
  usage,
  vectorsCheck,
  vectorsEval
}

/** @since 0.1.0 @category constants */
export const program = "hanzo-dev"

/** Every command, in the order of the help. @since 0.1.0 @category constants */
export const commands: ReadonlyArray<CommandSpec> = [
  conversation,
  run,
  agentPlan,
  agentSolve,
  agentCode,
  agentAuto,
  agentRun,
  agentList,
  agentPrompt,
  sessionsList,
  sessionsShow,
  sessionsSearch,
  sessionsRename,
  sessionsFork,
  sessionsExport,
  sessionsImport,
  sessionsArchive,
  sessionsUnarchive,
  sessionsPin,
  sessionsUnpin,
  sessionsCheckpoints,
  sessionsRewind,
  sessionsPrune,
  sessionsDelete,
  usage,
  gitBranch,
  gitCommit,
  gitCommitPushPr,
  gitWorktree,
  gitDiff,
  gitStash,
  authLogin,
  authLogout,
  authStatus,
  authRefresh,
  authToken,
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
  lspDiagnostics,
  lspDefinition,
  lspReferences,
  lspHover,
  lspSymbols,
  lspRename,
  lspStatus,
  lspDoctor,
  mcpAdd,
  mcpList,
  mcpGet,
  mcpRemove,
  mcpEnable,
  mcpDisable,
  mcpStatus,
  mcpTest,
  mcpAuth,
  mcpLogs,
  mcpServe,
  vectorsEval,
  vectorsCheck,
  completions
]

/** Groups of commands and what they are about. @since 0.1.0 @category constants */
export const groups: Readonly<Record<string, string>> = {
  agent: "Agents that can be given a task.",
  sessions: "The record of sessions.",
  git: "Branches, commits and pull requests.",
  auth: "Keys and logins.",
  config: "The settings.",
  hooks: "Commands of the settings that run before and after tools.",
  permissions: "The rules of what tools may do.",
  sandbox: "What tools may touch, and what the system enforces of it.",
  lsp: "Language servers: what they say of a project.",
  mcp: "MCP servers: tools of other programs.",
  vectors: "The conformance vectors of HIP-301."
}

/** Commands that come with a later version: known by name, refused. @since 0.1.0 @category constants */
export const later: ReadonlyArray<ReadonlyArray<string>> = [
  ["acp"],
  ["proxy"]
]
