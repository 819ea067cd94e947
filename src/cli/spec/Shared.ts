/**
 * Options that several commands take.
 *
 * @since 0.1.0
 */
import type { OptionSpec } from "./Types.ts"

/** @since 0.1.0 @category constants */
export const directory = {
  kind: "text",
  name: "directory",
  alias: "C",
  value: "DIR",
  description: "Work in this directory instead of the current one."
} as const satisfies OptionSpec

/** @since 0.1.0 @category constants */
export const json = { kind: "flag", name: "json", description: "Print one JSON document." } as const
