/**
 * Tokens that are bound to a key (DPoP, RFC 9449): the key, the proofs that go with requests, and the nonces that servers
 * want in them.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { newSigningKey, readSigningKey, sha256Base64Url, type SigningKey, uniqueId } from "../platform/SigningKey.ts"
import { signedToken } from "./SignedToken.ts"

/** The algorithm of the keys that are made here. @since 0.1.0 @category constants */
export const dpopAlgorithm = "ES256"

/** @since 0.1.0 @category models */
export interface DpopKey {
  readonly key: SigningKey
  /** The private key as it is kept with a login: the text of a JWK. */
  readonly text: Redacted.Redacted
  /** RFC 7638; it names the key in an authorization request (RFC 9449, section 10). */
  readonly thumbprint: string
  /** The newest nonce of each server, by its role and origin (sections 8 and 9): the two may be on one origin. */
  readonly nonces: Map<string, string>
}

/** A key from where it is kept; null = it is none. @since 0.1.0 @category decoding */
export const dpopKeyOf = (text: Redacted.Redacted): DpopKey | null => {
  const key = readSigningKey(Redacted.value(text))
  return typeof key === "string"
    ? null
    : { key, text, thumbprint: sha256Base64Url(JSON.stringify(key.public_jwk)), nonces: new Map() }
}

/** @since 0.1.0 @category constructors */
export const newDpopKey: Effect.Effect<DpopKey> = Effect.flatMap(newSigningKey, (text) => {
  const made = dpopKeyOf(Redacted.make(text))
  return made === null ? Effect.dieMessage("a key that was just made cannot be read") : Effect.succeed(made)
})

/** What a proof is for. @since 0.1.0 @category models */
export interface ProofInput {
  readonly method: string
  readonly url: string
  /** `authorization`: a token is asked for; `resource`: one is shown. */
  readonly role: "authorization" | "resource"
  /** The token that is shown. */
  readonly access_token?: Redacted.Redacted
}

const nonceKey = ({ role, url }: Pick<ProofInput, "role" | "url">): string => `${role} ${new URL(url).origin}`

/** A nonce for a header and a claim; longer ones are no nonces. */
const maxNonce = 4096

/** Keeps the nonce of an answer; true = there is a new one (section 8.2). @since 0.1.0 @category combinators */
export const noteNonce = (
  { nonces }: DpopKey,
  from: Pick<ProofInput, "role" | "url">,
  nonce: string | undefined | null
): boolean => {
  if (nonce === undefined || nonce === null || nonce === "" || nonce.length > maxNonce) return false
  const key = nonceKey(from)
  const isNew = nonces.get(key) !== nonce
  nonces.set(key, nonce)
  return isNew
}

/** A fresh proof (section 4.2): each is for one request. @since 0.1.0 @category constructors */
export const dpopProof = (dpop: DpopKey, input: ProofInput): Effect.Effect<string> =>
  Effect.gen(function*() {
    const { origin, pathname } = new URL(input.url)
    const nonce = dpop.nonces.get(nonceKey(input))
    const now = yield* Clock.currentTimeMillis
    return signedToken(dpop.key, dpop.key.algorithms[0], { typ: "dpop+jwt", jwk: dpop.key.public_jwk }, {
      jti: yield* uniqueId,
      htm: input.method,
      htu: `${origin}${pathname}`,
      iat: Math.floor(now / 1000),
      ...(input.access_token === undefined ? {} : { ath: sha256Base64Url(Redacted.value(input.access_token)) }),
      ...(nonce === undefined ? {} : { nonce })
    })
  })
