/**
 * Why a compaction was not even tried. Everything that goes wrong later falls back to a digest (reading 5.6).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/** `invalid_input`: a budget or a number of turns that is negative or no whole number. @since 0.1.0 @category errors */
export class CompactionError extends TaggedError("@hanzo/dev/compactor/CompactionError")("CompactionError", () => ({
  reason: Schema.Literal("invalid_input"),
  message: Schema.String
})) {}
