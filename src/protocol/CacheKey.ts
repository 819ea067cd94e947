/**
 * The prompt cache key of a session.
 *
 * @since 0.1.0
 */
import { sha256Hex } from "../codec/Sha256.ts"

/** At most 64 characters; a longer id is hashed whole, since a plain cut may collide. @since 0.1.0 @category encoding */
export const cacheKey = (session_id: string | undefined): string | undefined =>
  session_id === undefined || session_id === ""
    ? undefined
    : session_id.length <= 64
    ? session_id
    : sha256Hex(session_id)
