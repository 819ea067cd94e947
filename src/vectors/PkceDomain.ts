/**
 * The domain `pkce`: verifiers, octets, metadata and answers in, challenges and codes out (readings 6 and 18.6).
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { readResponse } from "../credentials/AuthorizationResponse.ts"
import type { OAuthError } from "../credentials/OAuthClient.ts"
import { PkceChallenge, requireS256 } from "../credentials/PkceChallenge.ts"
import { badRequest, base64, type Domain, type Fields, fields, flag, list, type Outcome, Refusal } from "./Domain.ts"

const outcome = <A>(result: Either.Either<A, OAuthError>, output: (value: A) => unknown): Outcome =>
  Either.match(result, {
    onLeft: ({ message, reason }) => ({ error: { code: reason, message } }),
    onRight: (value) => ({ output: output(value) })
  })

const text = (value: unknown, where: string): string => {
  if (typeof value !== "string") throw badRequest(`${where} must be a string`)
  return value
}

const octetsOf = (value: unknown): Uint8Array => {
  try {
    return base64(value, "input.octets")
  } catch (cause) {
    throw cause instanceof Refusal ? badRequest(cause.message) : cause
  }
}

const methodsOf = (metadata: Fields): { readonly code_challenge_methods_supported?: ReadonlyArray<string> } => {
  const methods = metadata["code_challenge_methods_supported"]
  return methods === undefined ? {} : {
    code_challenge_methods_supported: list(methods, "input.metadata.code_challenge_methods_supported").map(
      (method, i) => text(method, `input.metadata.code_challenge_methods_supported.${i}`)
    )
  }
}

const callback = (value: Fields): Outcome => {
  const { issuer, iss_supported, query, state } = value
  const expected = {
    state: text(state, "input.callback.state"),
    issuer: issuer === undefined ? null : text(issuer, "input.callback.issuer"),
    iss_supported: flag(iss_supported, "input.callback.iss_supported", false)
  }
  return outcome(readResponse(text(query, "input.callback.query"), expected), (code) => ({ code }))
}

/** @since 0.1.0 @category constructors */
export const pkce: Domain = (value) => {
  const input = fields(value, "input")
  const forms = ["verifier", "octets", "metadata", "callback"].filter((form) => input[form] !== undefined)
  if (forms.length > 1) throw badRequest(`input has more than one of ${forms.join(", ")}`)
  switch (forms[0]) {
    case "verifier":
      return outcome(
        PkceChallenge.fromVerifier(text(input["verifier"], "input.verifier")),
        ({ challenge, method }) => ({ challenge, method })
      )
    case "octets":
      return outcome(PkceChallenge.fromOctets(octetsOf(input["octets"])), ({ challenge, method, verifier }) => ({
        verifier: Redacted.value(verifier),
        challenge,
        method
      }))
    case "metadata":
      return outcome(requireS256(methodsOf(fields(input["metadata"], "input.metadata"))), (method) => ({ method }))
    case "callback":
      return callback(fields(input["callback"], "input.callback"))
    default:
      throw new Refusal("unsupported", "input has none of verifier, octets, metadata, callback")
  }
}
