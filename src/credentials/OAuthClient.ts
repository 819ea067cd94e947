/**
 * Who asks whom: the parties of an OAuth 2.1 flow, and what goes wrong in one (readings 6 and 13).
 *
 * @since 0.1.0
 */
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import type { SigningKey } from "../platform/SigningKey.ts"
import type { DpopKey } from "./Dpop.ts"

/**
 * What the metadata of an authorization server (RFC 8414, OpenID discovery) or the settings say. Addresses are absolute.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuthorizationServer {
  /** Compared as an exact string with `iss` in answers; null when only endpoints are configured. */
  readonly issuer: string | null
  readonly authorization_endpoint?: string
  readonly token_endpoint?: string
  readonly device_authorization_endpoint?: string
  readonly pushed_authorization_request_endpoint?: string
  readonly require_pushed_authorization_requests?: boolean
  readonly revocation_endpoint?: string
  readonly registration_endpoint?: string
  readonly code_challenge_methods_supported?: ReadonlyArray<string>
  readonly token_endpoint_auth_methods_supported?: ReadonlyArray<string>
  readonly token_endpoint_auth_signing_alg_values_supported?: ReadonlyArray<string>
  /** RFC 9449, section 5.1. */
  readonly dpop_signing_alg_values_supported?: ReadonlyArray<string>
  readonly scopes_supported?: ReadonlyArray<string>
  readonly authorization_response_iss_parameter_supported?: boolean
  readonly client_id_metadata_document_supported?: boolean
}

/** @since 0.1.0 @category models */
export interface OAuthClient {
  /** Empty = it names itself by nothing but what it is granted a token for (RFC 7523, section 3.1). */
  readonly client_id: string
  readonly client_secret?: Redacted.Redacted
  /** Its private key, in place of a secret (RFC 7523, section 2.2). */
  readonly client_key?: { readonly key: SigningKey; readonly key_id: string | null }
  /** How it shows who it is; without it as what it has allows: its key, else the first method of the metadata. */
  readonly token_endpoint_auth_method?: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt"
  /** The key that its tokens are to be bound to (RFC 9449); with `required` others are not taken. */
  readonly dpop?: DpopKey & { readonly required: boolean }
}

/**
 * What a token endpoint gave. `expires_at` in seconds since the epoch, derived from `expires_in` (reading 6.7).
 *
 * @since 0.1.0
 * @category models
 */
export interface TokenAnswer {
  readonly access_token: Redacted.Redacted
  readonly refresh_token: Redacted.Redacted | null
  readonly expires_at: number | null
  /** Null when the server names none: then they are those that were asked for. */
  readonly scopes: ReadonlyArray<string> | null
  /** It is bound to the client's key: `token_type` was DPoP. */
  readonly bound?: boolean
}

/**
 * | reason | meaning |
 * | --- | --- |
 * | `not_configured` | an endpoint or the client id is missing; the message says which key sets it |
 * | `discovery_failed` | the metadata could not be had, or is not that of the issuer |
 * | `s256_unsupported` | the server does not offer S256; there is no downgrade |
 * | `invalid_verifier`, `invalid_octets` | RFC 7636 section 4.1, with the rule that was broken |
 * | `state_mismatch`, `iss_mismatch`, `iss_missing`, `missing_code` | the answer is not one to this request |
 * | `authorization_error` | the server refused; `error` is its code |
 * | `invalid_grant` | code or refresh token are no longer good |
 * | `login_timeout` | nobody finished the login in time |
 * | `access_denied`, `expired_token` | the end of a device flow |
 * | `unavailable` | network, 5xx, or an answer that is no answer of a token endpoint: trying later may help |
 * | `listen_failed` | the loopback port could not be had |
 *
 * @since 0.1.0
 * @category errors
 */
export class OAuthError extends TaggedError("@hanzo/dev/credentials/OAuthError")("OAuthError", () => ({
  reason: Schema.Literal(
    "not_configured",
    "discovery_failed",
    "s256_unsupported",
    "invalid_verifier",
    "invalid_octets",
    "state_mismatch",
    "iss_mismatch",
    "iss_missing",
    "missing_code",
    "authorization_error",
    "invalid_grant",
    "login_timeout",
    "access_denied",
    "expired_token",
    "unavailable",
    "listen_failed"
  ),
  message: Schema.String,
  /** The server's own error code, such as `invalid_request`. */
  error: Schema.optional(Schema.String)
})) {}
