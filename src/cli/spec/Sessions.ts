/**
 * `hanzo-dev sessions ...`.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec, OptionSpec } from "./Types.ts"

const yes = { kind: "flag", name: "yes", alias: "y", description: "Do not ask." } as const satisfies OptionSpec

/** @since 0.1.0 @category constants */
export const sessionsList = {
  path: ["sessions", "list"],
  summary: "List the sessions of this project, the latest first.",
  options: [
    { kind: "flag", name: "all", alias: "a", description: "List the sessions of every project." },
    { kind: "flag", name: "subagents", description: "List the sessions of subagents too." },
    { kind: "flag", name: "archived", description: "List the archived ones." },
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
    choices: ["jsonl", "markdown", "md", "html"],
    description: "jsonl: everything stored, one JSON object a line, for import (default). " +
      "markdown or md: to read. html: one page that needs nothing else."
  }],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsDelete = {
  path: ["sessions", "delete"],
  summary: "Delete a session for good.",
  options: [yes],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsImport = {
  path: ["sessions", "import"],
  summary: "Take in a session that was exported as jsonl; print its id.",
  options: [directory, json],
  args: [{ name: "file", description: "What export printed; - reads stdin." }]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsRename = {
  path: ["sessions", "rename"],
  summary: "Give a session another title.",
  options: [],
  args: [sessionId, { name: "title", description: "At most 80 characters of it are kept." }],
  too_many: "put the title in quotes"
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsFork = {
  path: ["sessions", "fork"],
  summary: "Copy a session, so that it can go on in two ways; print the id of the copy.",
  options: [
    {
      kind: "integer",
      name: "at",
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      description: "The last message of the copy, by the id that show --json gives (entries)."
    },
    json
  ],
  args: [sessionId]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsSearch = {
  path: ["sessions", "search"],
  summary: "Find sessions by what was said in them: words, \"a phrase\", begin*.",
  options: [
    { kind: "flag", name: "project", alias: "p", description: "Only in the sessions of this project." },
    { kind: "flag", name: "archived", description: "In archived sessions too." },
    {
      kind: "integer",
      name: "limit",
      alias: "n",
      min: 1,
      max: 10_000,
      description: "At most this many places (default 20)."
    },
    directory,
    json
  ],
  args: [{ name: "query", many: true, description: "What to find; all of it must be in one message." }]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsPrune = {
  path: ["sessions", "prune"],
  summary: "Delete sessions that are too old, or too much; without options by session_retention of the settings.",
  options: [
    {
      kind: "integer",
      name: "older-than",
      min: 1,
      max: 100_000,
      description: "Those not active for this many days."
    },
    {
      kind: "integer",
      name: "max-megabytes",
      min: 1,
      max: 100_000_000,
      description: "The oldest, until the record takes no more than this."
    },
    { kind: "flag", name: "dry-run", description: "Only say which ones." },
    yes,
    json
  ],
  args: []
} as const satisfies CommandSpec

const several = { ...sessionId, many: true } as const

/** @since 0.1.0 @category constants */
export const sessionsArchive = {
  path: ["sessions", "archive"],
  summary: "Put sessions away: in no list, kept for good.",
  options: [],
  args: [several]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsUnarchive = {
  path: ["sessions", "unarchive"],
  summary: "Get archived sessions back.",
  options: [],
  args: [several]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsPin = {
  path: ["sessions", "pin"],
  summary: "Keep sessions at the top of every list, and for good.",
  options: [],
  args: [several]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsUnpin = {
  path: ["sessions", "unpin"],
  summary: "Treat pinned sessions like the others again.",
  options: [],
  args: [several]
} as const satisfies CommandSpec
