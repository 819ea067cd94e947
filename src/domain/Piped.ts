/**
 * A prompt with what was piped into the program behind it. What was piped nobody has typed: a name behind an `@` in it, of a
 * file or of a server's resource, asks for nothing. Pure.
 *
 * @since 0.1.0
 */

const opening = "\n\n<stdin>\n"

/** What was typed first, then what was piped, marked. @since 0.1.0 @category constructors */
export const combine = (typed: string, piped: string): string =>
  piped.trim() === "" ? typed : `${typed}${opening}${piped.replace(/\n$/, "")}\n</stdin>`

/** What of a prompt was typed; a mark that stands there too cuts it short. @since 0.1.0 @category combinators */
export const typedIn = (prompt: string): string => {
  const at = prompt.indexOf(opening)
  return at < 0 ? prompt : prompt.slice(0, at)
}
