/**
 * Proof Key for Code Exchange, method S256 alone (RFC 7636; HIP-301 section 6; readings 6.1, 6.2).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Redacted from "effect/Redacted"
import { SecureRandom } from "../platform/SecureRandom.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import { OAuthError } from "./OAuthClient.ts"

const bytesOfHex = (hex: string): Uint8Array =>
  Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16))

const challengeOf = (verifier: string): string => Encoding.encodeBase64Url(bytesOfHex(sha256Hex(verifier)))

const name = (char: string): string => {
  const code = char.codePointAt(0) ?? 0
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`
}

/** The rule that a verifier breaks (RFC 7636, section 4.1); null = none. It tells a character, never the verifier. */
const verifierFault = (verifier: string): string | null => {
  let place = 0
  for (const char of verifier) {
    place++
    if (!/^[A-Za-z0-9._~-]$/u.test(char)) {
      return `a code verifier holds only A-Z, a-z, 0-9, "-", ".", "_" and "~"; character ${place} is ${name(char)}`
    }
  }
  return place < 43 || place > 128 ? `a code verifier has 43 to 128 characters, this one has ${place}` : null
}

/**
 * A verifier and its challenge. The challenge goes out with the authorization request, the verifier only to the token
 * endpoint.
 *
 * @since 0.1.0
 * @category models
 */
export class PkceChallenge {
  readonly verifier: Redacted.Redacted
  readonly challenge: string
  readonly method = "S256"

  private constructor(verifier: string) {
    this.verifier = Redacted.make(verifier)
    this.challenge = challengeOf(verifier)
  }

  /** 43 to 128 unreserved characters, else `invalid_verifier`. */
  static fromVerifier(verifier: string): Either.Either<PkceChallenge, OAuthError> {
    const fault = verifierFault(verifier)
    return fault === null
      ? Either.right(new PkceChallenge(verifier))
      : Either.left(new OAuthError({ reason: "invalid_verifier", message: fault }))
  }

  /** 32 to 96 octets as base64url without padding, else `invalid_octets`. */
  static fromOctets(octets: Uint8Array): Either.Either<PkceChallenge, OAuthError> {
    return octets.length < 32 || octets.length > 96
      ? Either.left(
        new OAuthError({
          reason: "invalid_octets",
          message: `a code verifier is made of 32 to 96 octets, these are ${octets.length}`
        })
      )
      : Either.right(new PkceChallenge(Encoding.encodeBase64Url(octets)))
  }

  /** A new pair of 32 octets. */
  static readonly generate: Effect.Effect<PkceChallenge, never, SecureRandom> = Effect.flatMap(
    SecureRandom,
    (random) => Effect.flatMap(random.bytes(32), (octets) => Effect.orDie(PkceChallenge.fromOctets(octets)))
  )
}

/**
 * Does a server with this metadata do PKCE? S256 must be listed: a server that lists nothing may ignore the challenge,
 * and `plain` protects nothing (reading 1.13).
 *
 * @since 0.1.0
 * @category combinators
 */
export const requireS256 = (
  metadata: { readonly code_challenge_methods_supported?: ReadonlyArray<string> }
): Either.Either<"S256", OAuthError> => {
  const methods = metadata.code_challenge_methods_supported
  return methods?.includes("S256") === true ? Either.right("S256") : Either.left(
    new OAuthError({
      reason: "s256_unsupported",
      message: methods === undefined
        ? "the server's metadata has no code_challenge_methods_supported: it may ignore PKCE, so there is no login"
        : "the server does not offer the code challenge method S256, so there is no login"
    })
  )
}
