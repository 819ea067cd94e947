/**
 * Chat Completions, from the agent to the provider.
 *
 * @since 0.1.0
 */
import { encodeRequest } from "./chat/Request.ts"
import { decodeResponse, streamDecoder } from "./chat/Stream.ts"
import { decodeError } from "./Errors.ts"
import type { Protocol } from "./Protocol.ts"

/**
 * `POST <root>/chat/completions`. Source: https://platform.openai.com/docs/api-reference/chat.
 *
 * @since 0.1.0
 * @category constructors
 */
export const protocol: Protocol = {
  name: "chat",
  endpoint: "chat/completions",
  encodeRequest,
  streamDecoder,
  decodeResponse,
  decodeError,
  headers: (key): Readonly<Record<string, string>> => key === null ? {} : { authorization: `Bearer ${key}` }
}
