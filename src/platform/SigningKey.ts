/**
 * Private keys that sign tokens (RFC 7515, 7517, 7518, 8037): read from a text, made anew, and what their public half is.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign
} from "node:crypto"

/** `RSA_PKCS1_PSS_PADDING` and `RSA_PSS_SALTLEN_DIGEST` of OpenSSL's rsa.h, without the object of all constants. */
const pssPadding = 6
const saltAsDigest = -1

/**
 * `algorithms` are those of RFC 7518 that the key can do, the usual one first. `public_jwk` has exactly the members that
 * its thumbprint is made of (RFC 7638, section 3.2), in their order.
 *
 * @since 0.1.0
 * @category models
 */
export interface SigningKey {
  readonly algorithms: readonly [string, ...ReadonlyArray<string>]
  /** The `kid` of a key that is a JWK. */
  readonly key_id: string | null
  readonly public_jwk: Readonly<Record<string, string>>
  /** One of `algorithms`; the signature in the form of RFC 7518. */
  readonly sign: (algorithm: string, text: string) => Uint8Array
}

const leastBits = 2048

const rsaAlgorithms = ["RS256", "PS256", "RS384", "RS512", "PS384", "PS512"] as const

const algorithmsOf = (key: KeyObject): SigningKey["algorithms"] | string => {
  const { asymmetricKeyDetails: details, asymmetricKeyType: type } = key
  switch (type) {
    case "ec":
      switch (details?.namedCurve) {
        case "prime256v1":
          return ["ES256"]
        case "secp384r1":
          return ["ES384"]
        case "secp521r1":
          return ["ES512"]
        default:
          return "is on a curve that no algorithm of tokens has; use P-256"
      }
    case "ed25519":
      return ["EdDSA", "Ed25519"]
    case "rsa":
      return (details?.modulusLength ?? 0) < leastBits
        ? `has fewer than ${leastBits} bits; make a longer one`
        : rsaAlgorithms
    default:
      return "is of a kind that signs no tokens; use P-256, Ed25519 or RSA"
  }
}

/** Order of the names, as the thumbprint has them. */
const publicMembers = ["crv", "e", "kty", "n", "x", "y"] as const

const publicJwk = (key: KeyObject): Readonly<Record<string, string>> => {
  const jwk = createPublicKey(key).export({ format: "jwk" })
  return Object.fromEntries(publicMembers.flatMap((name) => {
    const value = jwk[name]
    return typeof value === "string" ? [[name, value]] : []
  }))
}

const signer = (key: KeyObject): SigningKey["sign"] => (algorithm, text) => {
  const data = Buffer.from(text)
  if (algorithm.startsWith("Ed")) return sign(null, data, key)
  const hash = `sha${algorithm.slice(2)}`
  return algorithm.startsWith("ES")
    ? sign(hash, data, { key, dsaEncoding: "ieee-p1363" })
    : algorithm.startsWith("PS")
    ? sign(hash, data, {
      key,
      padding: pssPadding,
      saltLength: saltAsDigest
    })
    : sign(hash, data, key)
}

/**
 * A private key in PEM (PKCS #8, PKCS #1, SEC 1) or as a JWK; a text says what is wrong with it, in words that hold
 * nothing of it.
 *
 * @since 0.1.0
 * @category decoding
 */
export const readSigningKey = (text: string): SigningKey | string => {
  const trimmed = text.trim()
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/mu.test(trimmed)) {
    return "is encrypted, and there is nobody to give its passphrase; use one without"
  }
  let key: KeyObject
  let key_id: string | null = null
  try {
    if (trimmed.startsWith("{")) {
      const jwk = JSON.parse(trimmed) as { readonly kid?: unknown }
      key = createPrivateKey({ key: jwk, format: "jwk" })
      key_id = typeof jwk.kid === "string" && jwk.kid !== "" ? jwk.kid : null
    } else key = createPrivateKey(trimmed)
  } catch {
    return "is no private key; PEM (-----BEGIN PRIVATE KEY-----) and JWK are read"
  }
  const algorithms = algorithmsOf(key)
  return typeof algorithms === "string"
    ? algorithms
    : { algorithms, key_id, public_jwk: publicJwk(key), sign: signer(key) }
}

/** A new private key for ES256, as the text of a JWK. @since 0.1.0 @category constructors */
export const newSigningKey: Effect.Effect<string> = Effect.sync(() =>
  JSON.stringify(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }))
)

/** For a `jti`: never the same again. @since 0.1.0 @category constructors */
export const uniqueId: Effect.Effect<string> = Effect.sync(() => randomUUID())

/** SHA-256 of a text, as base64url without padding. @since 0.1.0 @category encoding */
export const sha256Base64Url = (text: string): string => createHash("sha256").update(text).digest("base64url")
