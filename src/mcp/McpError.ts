/**
 * How dealings with an MCP server fail (readings G1, 1.2 to 1.5).
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * | reason | meaning | what to do |
 * | --- | --- | --- |
 * | `config` | the definition cannot be used | correct the settings |
 * | `start_failed` | the program did not start | look at command, PATH, cwd |
 * | `exited` | the server's process ended | its last words are in `message` |
 * | `closed` | the connection ended | connect again |
 * | `connect_timeout` | no connection within `limit_ms` | raise `connect_timeout_ms` |
 * | `list_timeout`, `call_timeout`, `call_max` | no answer within `limit_ms`; the connection stays usable | raise the limit it names |
 * | `message_too_large` | over `max_message_bytes`; the connection is closed | raise it |
 * | `unsupported_protocol_version` | no revision in common; the message names both sides | update one |
 * | `rpc` | the server answered with a JSON-RPC error: `code`, `data` | |
 * | `protocol` | what came is not what the revision says | |
 * | `not_offered` | the server has no such feature | |
 * | `repeated_cursor`, `too_many_pages` | a listing does not end (1.11) | |
 * | `too_many_rounds` | more than 10 `input_required` rounds | |
 * | `too_large` | a resource over 8 MiB | |
 * | `network` | no HTTP connection, or lost without a word | |
 * | `http_status` | an HTTP status that is no answer: `status` | |
 * | `stream_lost` | the response stream ended without the answer; the request may have run | |
 * | `session_expired` | HTTP 404 on a session: the request did not run | |
 * | `needs_login` | HTTP 401 or 403 that a login would settle | log in |
 * | `cancelled` | a task was cancelled on the server | |
 *
 * `sent` false = the request cannot have run on the server. `message` never holds a secret.
 *
 * @since 0.1.0
 * @category errors
 */
export class McpError extends TaggedError("@hanzo/dev/mcp/McpError")("McpError", () => ({
  reason: Schema.Literal(
    "config",
    "start_failed",
    "exited",
    "closed",
    "connect_timeout",
    "list_timeout",
    "call_timeout",
    "call_max",
    "message_too_large",
    "unsupported_protocol_version",
    "rpc",
    "protocol",
    "not_offered",
    "repeated_cursor",
    "too_many_pages",
    "too_many_rounds",
    "too_large",
    "network",
    "http_status",
    "stream_lost",
    "session_expired",
    "needs_login",
    "cancelled"
  ),
  /** The server's name in the settings. */
  server: Schema.String,
  message: Schema.String,
  /** JSON-RPC error code, with `rpc`. */
  code: Schema.optional(Schema.Number),
  data: Schema.optional(Schema.Unknown),
  /** HTTP status. */
  status: Schema.optional(Schema.Number),
  limit_ms: Schema.optional(Schema.Number),
  sent: Schema.optional(Schema.Boolean)
})) {}
