/**
 * A stored login, as HIP-301 section 13 names its fields.
 *
 * @since 0.1.0
 */
import type * as Redacted from "effect/Redacted"

/**
 * `provider` is the name of a provider of models, or the key of a login at a server of tools; `expires_at` is in seconds
 * since the epoch, null = valid until a server says otherwise (reading 6.7). `issuer` and `client_id` say who issued it
 * to whom: a token never goes to another issuer, and only this client may refresh it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProviderCredential {
  readonly provider: string
  readonly access_token: Redacted.Redacted
  readonly refresh_token: Redacted.Redacted | null
  readonly expires_at: number | null
  readonly scopes?: ReadonlyArray<string>
  readonly client_id?: string
  /** Of a client that was registered for this login alone; those of the settings are not stored. */
  readonly client_secret?: Redacted.Redacted
  readonly issuer?: string
  /** Where the refresh goes when no settings name it (logins at servers of tools). */
  readonly token_endpoint?: string
  /** RFC 8707: the resource that the token is for. */
  readonly resource?: string
  /** The private key, the text of a JWK, that the tokens are bound to (RFC 9449); without it whoever has them may use them. */
  readonly dpop_key?: Redacted.Redacted
}
