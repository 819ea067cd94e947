/**
 * `hanzo-dev git ...`: branches, commits, pull requests.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

const committing = [
  { kind: "flag", name: "yes", alias: "y", description: "Do it without asking." },
  {
    kind: "text",
    name: "message",
    alias: "m",
    value: "TEXT",
    description: "The message; no model is asked."
  },
  {
    kind: "flag",
    name: "any-form",
    description: "Take a message that is not of the form \"type(scope): subject\"."
  },
  {
    kind: "flag",
    name: "no-model",
    description: "Ask no model: a plain message from the names of the files."
  },
  { kind: "text", name: "model", value: "MODEL", description: "Model that writes the message: provider/model." },
  { kind: "text", name: "scenario", value: "FILE", description: "Scenario of the embedded scripted model." },
  directory,
  json
] as const

const excludes = [["message", "no-model"], ["message", "model"], ["model", "no-model"]] as const

/** @since 0.1.0 @category constants */
export const gitBranch = {
  path: ["git", "branch"],
  summary: "Make a branch from HEAD and go there; without a name: list the branches.",
  options: [directory, json],
  args: [{ name: "name", optional: true, description: "Name of the new branch." }]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const gitCommit = {
  path: ["git", "commit"],
  summary:
    "Commit the changes of tracked files with a message made from them. Exit code 3 when nobody can be asked and --yes is missing.",
  options: committing,
  args: [],
  excludes
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const gitCommitPushPr = {
  path: ["git", "commit-push-pr"],
  summary: "Commit, push the branch to its own place at origin, and open a pull request with gh.",
  options: [
    ...committing,
    { kind: "text", name: "title", value: "TEXT", description: "Title of the pull request (default: of the commit)." },
    {
      kind: "text",
      name: "body",
      value: "TEXT",
      may_be_empty: true,
      description: "Text of the pull request (default: of the commits)."
    },
    { kind: "text", name: "base", value: "BRANCH", description: "Where it goes (default: origin's default branch)." },
    { kind: "flag", name: "draft", description: "Open it as a draft." },
    {
      kind: "flag",
      name: "allow-secrets",
      description: "With --yes: also when added lines look like secrets."
    }
  ],
  args: [],
  excludes
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const gitWorktree = {
  path: ["git", "worktree"],
  summary: "Make a working tree of a new branch beside the repository: NAME, or add NAME; list; remove NAME.",
  options: [directory, json],
  args: [
    { name: "action", optional: true, description: "add, list (default), remove, or the name of a new branch." },
    { name: "name", optional: true, description: "Name of the branch, or path of the worktree." }
  ]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const gitDiff = {
  path: ["git", "diff"],
  summary: "Show what has changed since the last commit, staged or not, at most 64 KiB, and the untracked files.",
  options: [directory, json],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const gitStash = {
  path: ["git", "stash"],
  summary: "Put the changes of tracked files away: push (default), list, pop.",
  options: [directory, json],
  args: [{ name: "action", optional: true, description: "push, list or pop." }]
} as const satisfies CommandSpec
