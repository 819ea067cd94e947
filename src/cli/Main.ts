/**
 * Runs a checked command: its module is loaded when it is called, and nothing of the others.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { runMain } from "../platform/NodePlatform.ts"
import { type Main, settled } from "./Entry.ts"
import type { CommandSpec } from "./Spec.ts"

const modules: Readonly<Record<string, () => Promise<Main>>> = {
  "": async () => (await import("./commands/Conversation.ts")).main,
  "run": async () => (await import("./commands/Run.ts")).main,
  "agent plan": async () => (await import("./commands/AgentTasks.ts")).plan,
  "agent solve": async () => (await import("./commands/AgentTasks.ts")).solve,
  "agent code": async () => (await import("./commands/AgentTasks.ts")).code,
  "agent auto": async () => (await import("./commands/AgentTasks.ts")).auto,
  "agent run": async () => (await import("./commands/AgentTasks.ts")).run,
  "agent list": async () => (await import("./commands/AgentTasks.ts")).list,
  "sessions list": async () => (await import("./commands/Sessions.ts")).list,
  "sessions show": async () => (await import("./commands/Sessions.ts")).show,
  "sessions export": async () => (await import("./commands/Sessions.ts")).exportSession,
  "sessions import": async () => (await import("./commands/Sessions.ts")).importSession,
  "sessions search": async () => (await import("./commands/Sessions.ts")).search,
  "sessions rename": async () => (await import("./commands/Sessions.ts")).rename,
  "sessions fork": async () => (await import("./commands/Sessions.ts")).fork,
  "sessions archive": async () => (await import("./commands/Sessions.ts")).archive,
  "sessions unarchive": async () => (await import("./commands/Sessions.ts")).unarchive,
  "sessions pin": async () => (await import("./commands/Sessions.ts")).pin,
  "sessions unpin": async () => (await import("./commands/Sessions.ts")).unpin,
  "sessions prune": async () => (await import("./commands/Sessions.ts")).prune,
  "sessions checkpoints": async () => (await import("./commands/Checkpoints.ts")).checkpoints,
  "sessions rewind": async () => (await import("./commands/Checkpoints.ts")).rewind,
  "sessions delete": async () => (await import("./commands/Sessions.ts")).remove,
  "usage": async () => (await import("./commands/Usage.ts")).main,
  "git branch": async () => (await import("./commands/Git.ts")).branch,
  "git commit": async () => (await import("./commands/Git.ts")).commit,
  "git commit-push-pr": async () => (await import("./commands/Git.ts")).commitPushPr,
  "git worktree": async () => (await import("./commands/Git.ts")).worktree,
  "git diff": async () => (await import("./commands/Git.ts")).diff,
  "git stash": async () => (await import("./commands/Git.ts")).stash,
  "agent prompt": async () => (await import("./commands/AgentPrompt.ts")).main,
  "doctor": async () => (await import("./commands/Doctor.ts")).main,
  "demo": async () => (await import("./commands/Demo.ts")).main,
  "start": async () => (await import("./commands/Start.ts")).main,
  "config show": async () => (await import("./commands/Config.ts")).show,
  "config get": async () => (await import("./commands/Config.ts")).get,
  "config set": async () => (await import("./commands/Config.ts")).set,
  "config path": async () => (await import("./commands/Config.ts")).path,
  "config edit": async () => (await import("./commands/Config.ts")).edit,
  "config validate": async () => (await import("./commands/Config.ts")).validate,
  "config schema": async () => (await import("./commands/Config.ts")).schema,
  "config trust": async () => (await import("./commands/Config.ts")).trust,
  "hooks list": async () => (await import("./commands/Hooks.ts")).list,
  "hooks test": async () => (await import("./commands/Hooks.ts")).test,
  "permissions explain": async () => (await import("./commands/Permissions.ts")).explain,
  "permissions list": async () => (await import("./commands/Permissions.ts")).list,
  "permissions audit": async () => (await import("./commands/Permissions.ts")).audit,
  "sandbox status": async () => (await import("./commands/Sandbox.ts")).status,
  "sandbox exec": async () => (await import("./commands/Sandbox.ts")).exec,
  "auth login": async () => (await import("./commands/Auth.ts")).login,
  "auth logout": async () => (await import("./commands/Auth.ts")).logout,
  "auth status": async () => (await import("./commands/Auth.ts")).status,
  "auth refresh": async () => (await import("./commands/Auth.ts")).refresh,
  "auth token": async () => (await import("./commands/Auth.ts")).token,
  "lsp diagnostics": async () => (await import("./commands/Lsp.ts")).diagnostics,
  "lsp definition": async () => (await import("./commands/Lsp.ts")).definition,
  "lsp references": async () => (await import("./commands/Lsp.ts")).references,
  "lsp hover": async () => (await import("./commands/Lsp.ts")).hover,
  "lsp symbols": async () => (await import("./commands/Lsp.ts")).symbols,
  "lsp rename": async () => (await import("./commands/Lsp.ts")).rename,
  "lsp status": async () => (await import("./commands/Lsp.ts")).status,
  "lsp doctor": async () => (await import("./commands/Lsp.ts")).doctor,
  "mcp add": async () => (await import("./commands/Mcp.ts")).add,
  "mcp list": async () => (await import("./commands/Mcp.ts")).list,
  "mcp get": async () => (await import("./commands/Mcp.ts")).get,
  "mcp remove": async () => (await import("./commands/Mcp.ts")).remove,
  "mcp enable": async () => (await import("./commands/Mcp.ts")).enable,
  "mcp disable": async () => (await import("./commands/Mcp.ts")).disable,
  "mcp status": async () => (await import("./commands/Mcp.ts")).status,
  "mcp test": async () => (await import("./commands/Mcp.ts")).test,
  "mcp auth": async () => (await import("./commands/McpAuth.ts")).auth,
  "mcp logs": async () => (await import("./commands/Mcp.ts")).logs,
  "mcp serve": async () => (await import("./commands/Mcp.ts")).serve,
  "vectors eval": async () => (await import("./commands/Vectors.ts")).evaluate,
  "vectors check": async () => (await import("./commands/Vectors.ts")).check,
  "completions": async () => (await import("./commands/Completions.ts")).main
}

/** The commands that have a module. @since 0.1.0 @category constants */
export const modulePaths: ReadonlyArray<string> = Object.keys(modules)

/** Never returns: the process ends with the command's exit code. @since 0.1.0 @category constructors */
export const run = (command: CommandSpec, argv: ReadonlyArray<string>): void => {
  const load = modules[command.path.join(" ")]
  if (load === undefined) throw new Error(`no module for ${command.path.join(" ")}`)
  runMain(settled(Effect.flatMap(Effect.promise(load), (main) => main(argv))))
}
