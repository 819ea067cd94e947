/**
 * What stands for what was compacted away.
 *
 * @since 0.1.0
 */

/** HIP-301, section 5. @since 0.1.0 @category constants */
export const placeholder = "[compacted]"

/** Tokens of a message that holds the placeholder and nothing else. @since 0.1.0 @category constants */
export const placeholderTokens = 4
