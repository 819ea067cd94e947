/**
 * `hanzo-dev vectors ...`.
 *
 * @since 0.1.0
 */
import { json } from "./Shared.ts"
import type { CommandSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const vectorsEval = {
  path: ["vectors", "eval"],
  summary: "Answer conformance cases: one JSON line a case on stdin, one a result on stdout.",
  options: [],
  args: []
} as const satisfies CommandSpec

/** @since 0.1.0 @category constants */
export const vectorsCheck = {
  path: ["vectors", "check"],
  summary: "Run the conformance vectors against this program or another one.",
  options: [
    {
      kind: "text",
      name: "adapter",
      value: "CMD",
      description: "Command of the implementation to check (through sh -c)."
    },
    { kind: "text", name: "domain", value: "NAME", repeat: true, description: "Only this domain." },
    { kind: "text", name: "tag", value: "TAG", repeat: true, description: "Only cases with this tag." },
    {
      kind: "integer",
      name: "timeout-ms",
      min: 1,
      max: 86_400_000,
      description: "Limit of one case in milliseconds (default 10000)."
    },
    json
  ],
  args: []
} as const satisfies CommandSpec
