/**
 * The answer of an authorization endpoint, as it comes back in the query of the redirect (RFC 6749, section 4.1.2;
 * RFC 9207; reading 6.4).
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { line } from "../codec/TerminalText.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import { OAuthError } from "./OAuthClient.ts"

/** @since 0.1.0 @category models */
export interface ExpectedResponse {
  readonly state: string
  /** Null = not known, then `iss` is not looked at. */
  readonly issuer: string | null
  /** The metadata promises `iss`, so that its absence is an error. */
  readonly iss_supported: boolean
}

/** The parameters that are read; others are ignored (RFC 6749, section 4.1.2). */
const known = ["state", "iss", "error", "error_description", "error_uri", "code"] as const

type Parameters = Readonly<Record<(typeof known)[number], ReadonlyArray<string>>>

/** A query without its `?`, as a form. */
const parse = (query: string): Parameters => {
  // "&" keeps a "?" at the beginning from being taken for a mark of the query.
  const parameters = new URLSearchParams(`&${query}`)
  const of = (name: keyof Parameters) => parameters.getAll(name)
  return {
    state: of("state"),
    iss: of("iss"),
    error: of("error"),
    error_description: of("error_description"),
    error_uri: of("error_uri"),
    code: of("code")
  }
}

/** A parameter without a value counts as absent (RFC 6749, section 3.1). */
const valueOf = (values: ReadonlyArray<string>): string | null => {
  const [value] = values
  return value === undefined || value === "" ? null : value
}

/**
 * Is it an answer at all? What has neither a code nor an error comes from somebody else and ends nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isAnswer = (query: string): boolean => {
  const { code, error } = parse(query)
  return [...code, ...error].some((value) => value !== "")
}

// Constant-time: digests of equal length, every digit compared; the last comparison only separates texts that UTF-8
// cannot tell apart.
const sameSecret = (left: string, right: string): boolean => {
  const a = sha256Hex(left)
  const b = sha256Hex(right)
  let difference = 0
  for (let i = 0; i < 64; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i)
  return difference === 0 && left === right
}

const fail = (reason: OAuthError["reason"], message: string, error?: string): Either.Either<never, OAuthError> =>
  Either.left(new OAuthError({ reason, message, ...(error === undefined ? {} : { error }) }))

/**
 * The code, or why there is none. `state` is checked before anything else is believed, then `iss`, then the rest; a
 * parameter that is there twice makes the answer `authorization_error` (RFC 6749, section 3.1).
 *
 * @since 0.1.0
 * @category decoding
 */
export const readResponse = (query: string, expected: ExpectedResponse): Either.Either<string, OAuthError> => {
  const parameters = parse(query)
  const repeated = (names: ReadonlyArray<keyof Parameters>) => {
    const name = names.find((name) => parameters[name].length > 1)
    return name === undefined
      ? null
      : fail("authorization_error", `the answer to the login has the parameter ${name} more than once`)
  }
  const twiceState = repeated(["state"])
  if (twiceState !== null) return twiceState
  const state = valueOf(parameters.state)
  if (state === null || !sameSecret(state, expected.state)) {
    return fail(
      "state_mismatch",
      state === null
        ? "the answer to the login has no state: it does not belong to this login"
        : "the answer to the login has another state: it does not belong to this login"
    )
  }
  const twice = repeated(known)
  if (twice !== null) return twice
  if (expected.issuer !== null) {
    const iss = valueOf(parameters.iss)
    if (iss === null && expected.iss_supported) {
      return fail("iss_missing", `the answer to the login does not say that it comes from ${expected.issuer}`)
    }
    if (iss !== null && iss !== expected.issuer) {
      return fail(
        "iss_mismatch",
        `the answer to the login comes from ${line(iss, 200)}, and ${expected.issuer} was asked`
      )
    }
  }
  const error = valueOf(parameters.error)
  if (error !== null) {
    const description = valueOf(parameters.error_description)
    const code = line(error, 100)
    return fail(
      "authorization_error",
      `the server refused the login with ${code}${description === null ? "" : `: ${line(description, 300)}`}`,
      code
    )
  }
  const code = valueOf(parameters.code)
  return code === null ? fail("missing_code", "the answer to the login has no code") : Either.right(code)
}
