/**
 * Why a model's name does not lead to a model.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * Exit code 2 for all of these: `no_credential`, `unknown_provider`, `unknown_model`, `bad_url`,
 * `protocol_not_offered`, `unknown_scenario`, `bad_scenario`.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModelError extends TaggedError("@hanzo/dev/provider/ModelError")("ModelError", () => ({
  reason: Schema.Literal(
    "no_credential",
    "unknown_provider",
    "unknown_model",
    "bad_url",
    "protocol_not_offered",
    "unknown_scenario",
    "bad_scenario"
  ),
  message: Schema.String
})) {}
