/**
 * `hanzo-dev sessions checkpoints`, `hanzo-dev sessions rewind`.
 *
 * @since 0.1.0
 */
import { json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

const session = { name: "id", description: "Id of the session, or a unique beginning of it." } as const

/** @since 0.1.0 @category constants */
export const sessionsCheckpoints = {
  path: ["sessions", "checkpoints"],
  summary: "List the messages that a session can go back to, and the files that are kept for them.",
  options: [json],
  args: [session]
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const sessionsRewind = {
  path: ["sessions", "rewind"],
  summary: "Go back to before a message, in the conversation and in the files.",
  options: [
    {
      kind: "integer",
      name: "to",
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
      description: "Go back to before the message with this id (see sessions checkpoints; default: the last one)."
    },
    { kind: "flag", name: "files", description: "Only the files; the conversation stays." },
    { kind: "flag", name: "conversation", description: "Only the conversation; the files stay." },
    { kind: "flag", name: "redo", description: "Bring back what the last rewind took." },
    { kind: "flag", name: "dry-run", description: "Say what would happen to the files, and change nothing." },
    json
  ],
  args: [session],
  excludes: [["files", "conversation"], ["redo", "to"], ["redo", "files"], ["redo", "conversation"]]
} as const satisfies CommandSpec
