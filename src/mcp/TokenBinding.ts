/**
 * How a token is shown to a server: as it is, or with a proof that its key is here (RFC 9449, section 7). What makes
 * proofs is loaded with the first token that is bound to a key.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { DpopKey } from "../credentials/Dpop.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import { type AuthorizedRequest, bearer, type Presented } from "./Authorizer.ts"

/** The only one that keys made here have. @since 0.1.0 @category constants */
export const algorithm = "ES256"

type Bound = Pick<ProviderCredential, "dpop_key">

/** @since 0.1.0 @category models */
export interface TokenBinding {
  /** Can its token be shown? Not when its key cannot be read. */
  readonly sound: (credential: Bound) => Effect.Effect<boolean>
  /** The key of this login, else a new one. */
  readonly keyFor: (credential: Bound | null) => Effect.Effect<DpopKey>
  readonly present: (
    credential: Pick<ProviderCredential, "access_token" | "dpop_key">,
    request: AuthorizedRequest
  ) => Effect.Effect<Presented | null>
  /** Keeps the nonce that an answer gives, for all keys that have been shown to that server. */
  readonly answered: (request: AuthorizedRequest, headers: Readonly<Record<string, string>>) => void
}

const module = Effect.promise(() => import("../credentials/Dpop.ts"))

/** Keys are kept by their text, with the nonces that they have met. @since 0.1.0 @category constructors */
export const make = (): TokenBinding => {
  const keys = new Map<string, DpopKey | null>()
  /** By origin: the first of them often comes before there is a key. */
  const nonces = new Map<string, string>()
  let note: ((key: DpopKey, url: string, nonce: string) => void) | null = null

  const add = (text: string, key: DpopKey | null, { noteNonce }: Effect.Effect.Success<typeof module>): void => {
    note = (each, url, nonce) => void noteNonce(each, { url, role: "resource" }, nonce)
    if (key !== null) { for (const [origin, nonce] of nonces) note(key, origin, nonce) }
    keys.set(text, key)
  }

  const keyOf = ({ dpop_key }: Bound): Effect.Effect<DpopKey | null> =>
    dpop_key === undefined ? Effect.succeed(null) : Effect.map(module, (dpop) => {
      const text = Redacted.value(dpop_key)
      const known = keys.get(text)
      if (known !== undefined) return known
      const key = dpop.dpopKeyOf(dpop_key)
      add(text, key, dpop)
      return key
    })

  return {
    sound: (credential) =>
      credential.dpop_key === undefined
        ? Effect.succeed(true)
        : Effect.map(keyOf(credential), (key) => key !== null),
    keyFor: (credential) =>
      Effect.gen(function*() {
        const known = credential === null ? null : yield* keyOf(credential)
        if (known !== null) return known
        const dpop = yield* module
        const made = yield* dpop.newDpopKey
        add(Redacted.value(made.text), made, dpop)
        return made
      }),
    present: (credential, { method, url }) =>
      Effect.gen(function*() {
        const { access_token, dpop_key } = credential
        if (dpop_key === undefined) return bearer(access_token)
        const key = yield* keyOf(credential)
        if (key === null) return null
        const { dpopProof } = yield* module
        const dpop = yield* dpopProof(key, { method, url, role: "resource", access_token })
        return { token: access_token, headers: { authorization: `DPoP ${Redacted.value(access_token)}`, dpop } }
      }),
    answered: ({ url }, headers) => {
      const nonce = headers["dpop-nonce"]
      if (nonce === undefined) return
      nonces.set(new URL(url).origin, nonce)
      for (const key of keys.values()) if (key !== null) note?.(key, url, nonce)
    }
  }
}
