/**
 * The JSON Canonicalization Scheme (RFC 8785): one text for one value, to be hashed.
 *
 * @since 0.1.0
 */

/**
 * Keys are ordered by their UTF-16 units; numbers and texts are written as ECMAScript writes them, which is what the RFC
 * asks for. Members that are `undefined` are left out. Lone surrogates, which the RFC forbids, are escaped, so that two
 * different texts never give the same result.
 *
 * @since 0.1.0
 * @category encoding
 */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .toSorted(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`
  }
  return JSON.stringify(value) ?? "null"
}
