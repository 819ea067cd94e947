/**
 * The header `WWW-Authenticate` of a refusal (RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9449, section 7.1;
 * RFC 9728, section 5.1): what its Bearer and DPoP challenges say. Pure; never throws.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 @category models */
export interface Challenge {
  /** Such as `invalid_token` or `insufficient_scope`. */
  readonly error: string | null
  readonly error_description: string | null
  /** Null = the server names none. */
  readonly scopes: ReadonlyArray<string> | null
  /** Where the metadata of the resource lie. */
  readonly resource_metadata: string | null
  /** Tokens that are bound to a key: `only` where no others are taken. */
  readonly dpop: "only" | "offered" | "no"
}

/** @since 0.1.0 @category constants */
export const none: Challenge = {
  error: null,
  error_description: null,
  scopes: null,
  resource_metadata: null,
  dpop: "no"
}

/** The server wants its newest nonce in the proof (RFC 9449, section 9). @since 0.1.0 @category constants */
export const nonceWanted = "use_dpop_nonce"

const tokenAt = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/uy
const blanksAt = /[ \t]*/uy
const quotedAt = /"((?:[^"\\]|\\.)*)"/suy
/** What some schemes have instead of parameters. */
const token68At = /[A-Za-z0-9\-._~+/]+=*/uy

interface Scheme {
  readonly name: string
  readonly parameters: Map<string, string>
}

const parse = (header: string): ReadonlyArray<Scheme> => {
  const schemes: Array<Scheme> = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(header)
    if (found !== null) at += found[0].length
    return found
  }
  while (at < header.length) {
    match(blanksAt)
    const word = match(tokenAt)
    if (word === null) {
      // A comma, or something that stands in no grammar.
      at++
      continue
    }
    const after = at
    match(blanksAt)
    if (header[at] === "=" && schemes.length > 0) {
      at++
      match(blanksAt)
      const quoted = match(quotedAt)
      const value = quoted === null
        ? match(tokenAt)?.[0] ?? match(token68At)?.[0] ?? ""
        : (quoted[1] ?? "").replaceAll(/\\(.)/gsu, "$1")
      const { parameters } = schemes.at(-1) ?? { parameters: new Map<string, string>() }
      const name = word[0].toLowerCase()
      if (!parameters.has(name)) parameters.set(name, value)
    } else {
      at = after
      schemes.push({ name: word[0].toLowerCase(), parameters: new Map() })
    }
  }
  return schemes
}

/**
 * The first Bearer and the first DPoP challenge, taken together; without either everything is null.
 *
 * @since 0.1.0
 * @category decoding
 */
export const read = (header: string | undefined): Challenge => {
  if (header === undefined) return none
  const schemes = parse(header)
  const bearer = schemes.find(({ name }) => name === "bearer")
  const dpop = schemes.find(({ name }) => name === "dpop")
  if (bearer === undefined && dpop === undefined) return none
  const text = (name: string): string | null => bearer?.parameters.get(name) || dpop?.parameters.get(name) || null
  return {
    error: dpop?.parameters.get("error") === nonceWanted ? nonceWanted : text("error"),
    error_description: text("error_description"),
    scopes: text("scope")?.split(/\s+/u).filter((scope) => scope !== "") ?? null,
    resource_metadata: text("resource_metadata"),
    dpop: dpop === undefined ? "no" : bearer === undefined ? "only" : "offered"
  }
}
