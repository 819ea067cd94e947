/**
 * `hanzo-dev agent prompt`.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const agentPrompt = {
  path: ["agent", "prompt"],
  summary: "Print the system prompt exactly as it is sent.",
  options: [
    {
      kind: "choice",
      name: "permission-mode",
      choices: ["default", "plan", "accept-edits", "bypass"],
      description: "As a run in this mode is told."
    },
    {
      kind: "text",
      name: "system-prompt-append",
      value: "TEXT",
      may_be_empty: true,
      description: "Add this text to the system prompt."
    },
    {
      kind: "flag",
      name: "trust-workspace",
      description: "Trust what this project brings, for this once only."
    },
    directory,
    json
  ],
  args: []
} as const satisfies CommandSpec
