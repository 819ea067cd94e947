/**
 * A text without what ends it. A pattern such as `x+$` tries each place anew and takes time that grows with the square of
 * the text; this looks at the end alone. Pure.
 *
 * @since 0.1.0
 */

/** The text without those of `characters` that stand at its end. @since 0.1.0 @category combinators */
export const withoutTrailing = (text: string, characters: string): string => {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return end === text.length ? text : text.slice(0, end)
}
