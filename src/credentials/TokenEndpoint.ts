/**
 * What is asked of the endpoints of an authorization server: tokens for a code, for a refresh token and for a device
 * code, and their revocation (RFC 6749, 7009, 7636, 8628, 8707, 9126; readings 6.6, 6.7, 13.4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { AuthorizationServer, OAuthClient, OAuthError, TokenAnswer } from "./OAuthClient.ts"

/** @since 0.1.0 @category models */
export interface TokenOptions {
  /** Fewer scopes than were granted; absent = the same. */
  readonly scopes?: ReadonlyArray<string>
  /** RFC 8707. */
  readonly resource?: string
}

/** What a code is exchanged with; `redirect_uri` is the one of the authorization request. @since 0.1.0 @category models */
export interface CodeGrant {
  readonly code: Redacted.Redacted
  readonly redirect_uri: string
  readonly code_verifier: Redacted.Redacted
  readonly resource?: string
}

/** The answer of RFC 8628 section 3.2; `interval_ms` is 5000 where the server names none. @since 0.1.0 @category models */
export interface DeviceAuthorization {
  readonly device_code: Redacted.Redacted
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string | null
  /** Seconds since the epoch. */
  readonly expires_at: number
  readonly interval_ms: number
}

/** `pending`: not yet; `slow_down`: not yet, and asked too often. @since 0.1.0 @category models */
export type DevicePoll = "pending" | "slow_down" | TokenAnswer

/**
 * Errors say which server and which of its endpoints, with its own code and text; never a token, code or secret. Reasons:
 * `not_configured` (no such endpoint), `invalid_grant`, `unavailable` (trying later may help), `authorization_error` (every
 * other refusal); of a device flow also `access_denied` and `expired_token`.
 *
 * @since 0.1.0
 * @category models
 */
export interface TokenEndpointService {
  /** The answer's `refresh_token` is null when the server gave no new one: the old one stays. */
  readonly refresh: (
    server: AuthorizationServer,
    client: OAuthClient,
    refresh_token: Redacted.Redacted,
    options?: TokenOptions
  ) => Effect.Effect<TokenAnswer, OAuthError>
  readonly exchange: (
    server: AuthorizationServer,
    client: OAuthClient,
    grant: CodeGrant
  ) => Effect.Effect<TokenAnswer, OAuthError>
  /** RFC 9126: gives the `request_uri` that stands for the parameters. */
  readonly push: (
    server: AuthorizationServer,
    client: OAuthClient,
    parameters: URLSearchParams
  ) => Effect.Effect<string, OAuthError>
  readonly authorizeDevice: (
    server: AuthorizationServer,
    client: OAuthClient,
    options?: TokenOptions
  ) => Effect.Effect<DeviceAuthorization, OAuthError>
  readonly pollDevice: (
    server: AuthorizationServer,
    client: OAuthClient,
    device_code: Redacted.Redacted,
    options?: TokenOptions
  ) => Effect.Effect<DevicePoll, OAuthError>
  /** RFC 7009; `not_configured` when the server has no revocation endpoint. */
  readonly revoke: (
    server: AuthorizationServer,
    client: OAuthClient,
    token: Redacted.Redacted
  ) => Effect.Effect<void, OAuthError>
}

/** @since 0.1.0 @category services */
export class TokenEndpoint extends Context.Tag("@hanzo/dev/credentials/TokenEndpoint")<
  TokenEndpoint,
  TokenEndpointService
>() {}
