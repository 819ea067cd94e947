/**
 * Which authorization server a provider logs in at, and as which client (readings 6.11, 13.3): `auth.providers.NAME` of
 * the user's settings, with discovery where only an issuer is named.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { HanzoConfig } from "../config/Schema.ts"
import type { AuthorizationServer, OAuthClient, OAuthError } from "./OAuthClient.ts"

/** @since 0.1.0 @category models */
export interface LoginServer {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  readonly scopes: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface LoginServersService {
  /** Reasons `not_configured` and `discovery_failed`; what was found is kept for this process. */
  readonly serverFor: (provider: string, config: HanzoConfig) => Effect.Effect<LoginServer, OAuthError>
  /**
   * The metadata of an issuer (RFC 8414, then OpenID Connect Discovery 1.0); its `issuer` must be exactly this one.
   * Reason `discovery_failed`; what was found is kept for this process.
   */
  readonly discover: (issuer: string) => Effect.Effect<AuthorizationServer, OAuthError>
}

/** @since 0.1.0 @category services */
export class LoginServers extends Context.Tag("@hanzo/dev/credentials/LoginServers")<
  LoginServers,
  LoginServersService
>() {}
