/**
 * How asking a language server fails.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `no_server` | nothing serves this kind of file, or the file is outside the workspace |
 * | `missing` | the program is not installed; the message has the command that brings it |
 * | `held_back` | the program would run code of a workspace that is not trusted |
 * | `start_failed` | it did not start, or refused to be initialized |
 * | `initialize_timeout` | no answer to initialize within the limit |
 * | `server_exited` | it ended, or closed its output; a new one starts with the next use, after a pause |
 * | `failed` | it ended too often; it is left alone |
 * | `protocol` | what it sent cannot be read |
 * | `timeout` | no answer within the limit; the request was cancelled |
 * | `not_ready` | it has not looked at the file yet |
 * | `unsupported` | it cannot do this |
 * | `remote` | it answered with an error |
 * | `not_opened` | the file is missing, too large or no text |
 *
 * @since 0.1.0
 * @category errors
 */
export class LspError extends TaggedError("@hanzo/dev/lsp/LspError")("LspError", () => ({
  reason: Schema.Literal(
    "no_server",
    "missing",
    "held_back",
    "start_failed",
    "initialize_timeout",
    "server_exited",
    "failed",
    "protocol",
    "timeout",
    "not_ready",
    "unsupported",
    "remote",
    "not_opened"
  ),
  /** Name of the server; "" = none was found. */
  server: Schema.String,
  message: Schema.String,
  /** Of a `remote` error. */
  code: Schema.optional(Schema.Number)
})) {}
