/**
 * Paths and `file:` URIs (reading 8.2: percent-decoded once; targets of other schemes are kept).
 *
 * @since 0.1.0
 */

/** What stands in a path as it is; everything else is percent-encoded as UTF-8. */
const encodeSegment = (segment: string): string =>
  encodeURIComponent(segment).replace(
    /[!'()*]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )

/** Of an absolute path. @since 0.1.0 @category encoding */
export const uriOf = (path: string): string => {
  const whole = path.toWellFormed()
  return `file://${whole.startsWith("/") ? "" : "/"}${whole.split("/").map(encodeSegment).join("/")}`
}

/** The absolute path of a `file:` URI; null = another scheme or another host. @since 0.1.0 @category decoding */
export const pathOf = (uri: string): string | null => {
  const match = /^file:(?:\/\/([^/?#]*))?(\/[^?#]*)/iu.exec(uri)
  if (match === null) return null
  const [, host = "", path = ""] = match
  if (host !== "" && host.toLowerCase() !== "localhost") return null
  let decoded: string
  try {
    decoded = decodeURIComponent(path)
  } catch {
    // a stray `%`: the server did not encode it
    decoded = path
  }
  return decoded.includes("\0") ? null : decoded.replace(/^\/([A-Za-z]:)(?=\/|$)/u, "$1")
}

/** One name for all spellings of a URI: servers encode differently. @since 0.1.0 @category combinators */
export const keyOf = (uri: string): string => pathOf(uri) ?? uri
