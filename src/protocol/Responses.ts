/**
 * OpenAI Responses, from the agent to the provider.
 *
 * @since 0.1.0
 */
import { decodeError } from "./Errors.ts"
import type { Protocol } from "./Protocol.ts"
import { encodeRequest } from "./responses/Request.ts"
import { decodeResponse, streamDecoder } from "./responses/Stream.ts"

/**
 * `POST <root>/responses`. Source: https://platform.openai.com/docs/api-reference/responses.
 *
 * @since 0.1.0
 * @category constructors
 */
export const protocol: Protocol = {
  name: "responses",
  endpoint: "responses",
  encodeRequest,
  streamDecoder,
  decodeResponse,
  decodeError,
  headers: (key): Readonly<Record<string, string>> => key === null ? {} : { authorization: `Bearer ${key}` }
}
