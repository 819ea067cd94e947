/**
 * SHA-256 by the platform, for long texts and files; short ones in pure code have `codec/Sha256`.
 *
 * @since 0.1.0
 */
import { createHash } from "node:crypto"

/** 64 lower-case hexadecimal digits; a string is hashed as UTF-8. @since 0.1.0 @category encoding */
export const sha256Hex = (input: string | Uint8Array): string => createHash("sha256").update(input).digest("hex")
