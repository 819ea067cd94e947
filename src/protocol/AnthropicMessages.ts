/**
 * Anthropic Messages, from the agent to the provider.
 *
 * @since 0.1.0
 */
import { encodeRequest } from "./anthropic/Request.ts"
import { decodeResponse, streamDecoder } from "./anthropic/Stream.ts"
import { decodeError } from "./Errors.ts"
import type { Protocol } from "./Protocol.ts"

/** The version every request names. @since 0.1.0 @category constants */
export const version = "2023-06-01"

/**
 * `POST <root>/messages`. Source: https://docs.anthropic.com/en/api/messages.
 *
 * @since 0.1.0
 * @category constructors
 */
export const protocol: Protocol = {
  name: "anthropic",
  endpoint: "messages",
  encodeRequest,
  streamDecoder,
  decodeResponse,
  decodeError,
  headers: (key) => ({ "anthropic-version": version, ...(key === null ? {} : { "x-api-key": key }) })
}
