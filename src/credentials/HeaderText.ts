/**
 * What a header can carry of a key or token. Pure.
 *
 * @since 0.1.0
 */

/** Printable ASCII without blanks around it (RFC 6749, appendix A.12): nothing else is the same at the other end. */
const carried = /^[!-~](?:[ -~]*[!-~])?$/u

/** @since 0.1.0 @category combinators */
export const isCarried = (text: string): boolean => carried.test(text)

/** Why it cannot be sent, in words that hold nothing of it; null = it can. @since 0.1.0 @category combinators */
export const headerFault = (text: string): string | null =>
  isCarried(text)
    ? null
    : text.trim() === ""
    ? "is blank"
    : /[\r\n]/u.test(text)
    ? "has a line break in it, which no header carries"
    : "has characters in it that no header carries"
