/**
 * `hanzo-dev sessions ...`.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

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
