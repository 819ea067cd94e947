/**
 * The commands of the conversation that have a module of their own, in the order of `/help`.
 *
 * @since 0.1.0
 */
import type { Slash } from "./Slash.ts"

/** @since 0.1.0 @category constants */
export const slashes: Readonly<Record<string, Slash>> = {
  plan: {
    help: "have a step-by-step plan written: /plan TASK",
    lines: true,
    load: async () => (await import("./Agents.ts")).named("plan")
  },
  solve: {
    help: "have a problem reasoned through, with read-only tools: /solve TASK",
    lines: true,
    load: async () => (await import("./Agents.ts")).named("solve")
  },
  code: {
    help: "have changes carried out: /code TASK",
    lines: true,
    load: async () => (await import("./Agents.ts")).named("code")
  },
  auto: {
    help: "have a task planned, carried out and reviewed: /auto TASK",
    lines: true,
    load: async () => (await import("./Agents.ts")).named("auto")
  },
  agent: {
    help: "list the agents, or give one a task: /agent [NAME TASK]",
    lines: true,
    load: async () => (await import("./Agents.ts")).agent
  },
  undo: {
    help: "take your last message back, with what it has changed",
    load: async () => (await import("./Rewind.ts")).undo
  },
  redo: {
    help: "bring back what /undo or /rewind took",
    load: async () => (await import("./Rewind.ts")).redo
  },
  rewind: {
    help: "go back to before one of your messages: /rewind [NUMBER] [both|conversation|files]",
    load: async () => (await import("./Rewind.ts")).rewind
  },
  compact: {
    help: "replace what came before by a summary: /compact [FOCUS]",
    load: async () => (await import("./Compact.ts")).compact
  },
  memory: {
    help: "show the instruction files, add a note, or edit one: /memory [add TEXT | user TEXT | edit [NUMBER]]",
    lines: true,
    load: async () => (await import("./Memory.ts")).memory
  },
  skills: {
    help: "list the skills",
    load: async () => (await import("./Skills.ts")).skills
  },
  mcp: {
    help: "show the MCP servers and their prompts: /mcp, /mcp restart SERVER",
    load: async () => (await import("./Mcp.ts")).mcp
  },
  lsp: {
    help: "show the language servers: /lsp, /lsp restart SERVER",
    load: async () => (await import("./Lsp.ts")).lsp
  },
  usage: {
    help: "show the tokens and the cost of this session: /usage [turn|session|day|model|kind]",
    load: async () => (await import("./Usage.ts")).usage
  },
  cost: {
    help: "show what this session and today have cost, and the limits",
    load: async () => (await import("./Usage.ts")).cost
  },
  diff: {
    help: "show what has changed since the last commit; it goes with your next message",
    load: async () => (await import("./Git.ts")).diff
  },
  branch: {
    help: "make a branch from HEAD and go there: /branch [NAME]",
    load: async () => (await import("./Git.ts")).branch
  },
  commit: {
    help: "commit the changes of tracked files, with a message made from them: /commit [MESSAGE]",
    load: async () => (await import("./Git.ts")).commit
  },
  "commit-push-pr": {
    help: "commit, push this branch and open a pull request: /commit-push-pr [MESSAGE]",
    load: async () => (await import("./Git.ts")).commitPushPr
  },
  worktree: {
    help: "make a working tree of a new branch: /worktree NAME, /worktree list, /worktree remove NAME",
    load: async () => (await import("./Git.ts")).worktree
  },
  stash: {
    help: "put changes away and bring them back: /stash, /stash list, /stash pop",
    load: async () => (await import("./Git.ts")).stash
  },
  sessions: {
    help: "list the latest sessions of this project, or find some: /sessions [WORDS]",
    load: async () => (await import("./Sessions.ts")).sessions
  },
  resume: {
    help: "go on with another session, chosen from a list: /resume [ID]",
    load: async () => (await import("./Sessions.ts")).resume
  },
  fork: {
    help: "go on with a copy of this session: /fork [MESSAGE]",
    load: async () => (await import("./Sessions.ts")).fork
  },
  title: {
    help: "say or set the title of this session: /title [TEXT]",
    load: async () => (await import("./Sessions.ts")).title
  },
  takeover: {
    help: "take this session from another process, with the next message",
    load: async () => (await import("./Sessions.ts")).takeover
  }
}
