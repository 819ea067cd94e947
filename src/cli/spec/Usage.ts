/**
 * `hanzo-dev usage`.
 *
 * @since 0.1.0
 */
import { directory, json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const usage = {
  path: ["usage"],
  summary: "Show what models were used for: tokens and money.",
  options: [
    {
      kind: "choice",
      name: "by",
      choices: ["turn", "session", "day", "model", "kind"],
      description: "What a line is about (default day)."
    },
    {
      kind: "text",
      name: "since",
      value: "TIME",
      description: "From then on: 2026-11-30, 2026-11-30T14:00, 7d, today, yesterday."
    },
    { kind: "text", name: "until", value: "TIME", description: "Up to then; a day is part of it." },
    { kind: "text", name: "session", value: "ID", description: "Of this session and its subagents alone." },
    { kind: "flag", name: "all", alias: "a", description: "Of every project." },
    directory,
    json
  ],
  args: [],
  excludes: [["session", "all"]]
} as const satisfies CommandSpec
