/**
 * The answer of a login as the user pastes it: the address that the browser ended at, its query, or, where no browser was
 * opened from here, the code alone (reading 6.5).
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { type ExpectedResponse, isAnswer, readResponse } from "./AuthorizationResponse.ts"
import type { OAuthError } from "./OAuthClient.ts"

/** `again` = what was pasted is no answer; it says what to paste. @since 0.1.0 @category models */
export type Pasted = { readonly again: string } | { readonly result: Either.Either<string, OAuthError> }

const wholeAddress = "paste the whole address that the browser shows after the login"

/**
 * Whatever carries a state has it checked. A code alone has none: it is taken only with `allow_code`, and PKCE binds it
 * to this login. `CODE#STATE`, as some servers show it, is checked like an address.
 *
 * @since 0.1.0
 * @category decoding
 */
export const readPasted = (text: string, expected: ExpectedResponse, allow_code: boolean): Pasted => {
  const pasted = text.trim()
  if (pasted === "") return { again: wholeAddress }
  if (/^[a-z][a-z0-9+.-]*:\/\//iu.test(pasted)) {
    const query = URL.canParse(pasted) ? new URL(pasted).search.slice(1) : ""
    return isAnswer(query)
      ? { result: readResponse(query, expected) }
      : { again: `this address has neither a code nor an error; ${wholeAddress}` }
  }
  const query = pasted.replace(/^\/?(?:callback)?\?/u, "")
  if (/(?:^|&)(?:code|error|state|iss)=/u.test(query)) {
    return isAnswer(query)
      ? { result: readResponse(query, expected) }
      : { again: `this has neither a code nor an error; ${wholeAddress}` }
  }
  if (/\s/u.test(pasted)) return { again: `this is neither an address nor a code; ${wholeAddress}` }
  const mark = pasted.indexOf("#")
  if (mark > 0) {
    const parameters = new URLSearchParams({ code: pasted.slice(0, mark), state: pasted.slice(mark + 1) })
    return { result: readResponse(parameters.toString(), { ...expected, iss_supported: false }) }
  }
  return allow_code
    ? { result: Either.right(pasted) }
    : { again: `a code alone is not enough here; ${wholeAddress}` }
}
