/**
 * What goes wrong with keys and stored logins.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * Messages name the file, the place and the remedy; never a key or token, nor what a command printed.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `corrupt` | the file is no JSON, or an entry of it is no login; nothing is overwritten |
 * | `insecure` | others may read the file and its mode cannot be changed |
 * | `unreadable`, `unwritable` | the file system says no |
 * | `busy` | another process holds the lock |
 * | `not_found` | there is no login to refresh |
 * | `needs_login` | the login is no longer good and cannot be refreshed |
 * | `not_configured` | where to refresh is not known; the message says which key sets it |
 * | `unavailable` | the authorization server cannot be reached or refuses for another reason; trying later may help |
 * | `invalid_name` | no login can be kept under this name |
 * | `command_failed` | `api_key_command` gave no key |
 *
 * @since 0.1.0
 * @category errors
 */
export class CredentialError extends TaggedError("@hanzo/dev/credentials/CredentialError")("CredentialError", () => ({
  reason: Schema.Literal(
    "corrupt",
    "insecure",
    "unreadable",
    "unwritable",
    "busy",
    "not_found",
    "needs_login",
    "not_configured",
    "unavailable",
    "invalid_name",
    "command_failed"
  ),
  message: Schema.String,
  provider: Schema.optional(Schema.String)
})) {}
