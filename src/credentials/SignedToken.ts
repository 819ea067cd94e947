/**
 * JSON web tokens that this program signs itself (RFC 7515, 7519), and what can be told of one that somebody else signed.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import { type SigningKey, uniqueId } from "../platform/SigningKey.ts"

const part = (value: object): string => Encoding.encodeBase64Url(JSON.stringify(value))

/** The compact form; `algorithm` is one of the key's. @since 0.1.0 @category encoding */
export const signedToken = (
  key: SigningKey,
  algorithm: string,
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>
): string => {
  const text = `${part({ ...header, alg: algorithm })}.${part(claims)}`
  return `${text}.${Encoding.encodeBase64Url(key.sign(algorithm, text))}`
}

/** An assertion is for one request, which comes at once. */
const assertionSeconds = 120

/**
 * Who a client is, signed by its key (RFC 7523, section 3), for the server that is called `audience`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const clientAssertion = (
  { algorithm, audience, client_id, key, key_id }: {
    readonly key: SigningKey
    readonly key_id: string | null
    readonly algorithm: string
    readonly client_id: string
    readonly audience: string
  }
): Effect.Effect<string> =>
  Effect.gen(function*() {
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    return signedToken(key, algorithm, { typ: "JWT", ...(key_id === null ? {} : { kid: key_id }) }, {
      iss: client_id,
      sub: client_id,
      aud: audience,
      jti: yield* uniqueId,
      iat: now,
      exp: now + assertionSeconds
    })
  })

/** What an assertion says of itself; nothing of it has been checked. @since 0.1.0 @category models */
export interface AssertionClaims {
  /** Empty = it names nobody. */
  readonly audiences: ReadonlyArray<string>
  /** Seconds since the epoch. */
  readonly expires_at: number | null
}

/** Null = the text is no JSON web token. @since 0.1.0 @category decoding */
export const claimsOf = (token: string): AssertionClaims | null => {
  const [header, payload, signature, ...more] = token.split(".")
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) return null
  const decoded = Encoding.decodeBase64UrlString(payload)
  if (decoded._tag === "Left") return null
  try {
    const claims: unknown = JSON.parse(decoded.right)
    if (typeof claims !== "object" || claims === null || Array.isArray(claims)) return null
    const { aud, exp } = claims as { readonly aud?: unknown; readonly exp?: unknown }
    return {
      audiences: (Array.isArray(aud) ? aud : [aud]).filter((each): each is string => typeof each === "string"),
      expires_at: typeof exp === "number" ? exp : null
    }
  } catch {
    return null
  }
}
