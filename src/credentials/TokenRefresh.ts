/**
 * What a stored login is refreshed and revoked with. It stands between the store and the OAuth modules, which are loaded
 * when the first login is due.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Http } from "../platform/Http.ts"
import type { LoginServer } from "./LoginServers.ts"
import { type OAuthClient, OAuthError, type TokenAnswer } from "./OAuthClient.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"

/** Who is asked, as which client. @since 0.1.0 @category models */
export type Party = Pick<LoginServer, "server" | "client">

/** @since 0.1.0 @category models */
export interface TokenRefreshService {
  /**
   * Where this login is refreshed: the settings' `auth.providers.NAME`, else what the login itself names. A token never
   * goes to another issuer than its own (reason `not_configured`), and only the client that it was issued to is named.
   */
  readonly serverOf: (credential: ProviderCredential, config: HanzoConfig) => Effect.Effect<Party, OAuthError>
  /** One request; `refresh_token` must not be null. */
  readonly refresh: (
    login: Party,
    credential: ProviderCredential & { readonly refresh_token: Redacted.Redacted }
  ) => Effect.Effect<TokenAnswer, OAuthError>
  /** RFC 7009; `not_configured` when the server has no such endpoint. */
  readonly revoke: (login: Party, token: Redacted.Redacted) => Effect.Effect<void, OAuthError>
}

const foreign = ({ issuer, provider }: ProviderCredential, other: string): OAuthError =>
  new OAuthError({
    reason: "not_configured",
    message: `the login of ${provider} was issued by ${issuer ?? "another server"}, auth.providers.${provider} names ` +
      `${other}; a token goes to its own issuer only: log in again, or correct the settings`
  })

/** The login's own server, where it names one. */
const ownServer = (
  { client_id, client_secret, issuer, token_endpoint }: ProviderCredential
): Party | null =>
  token_endpoint === undefined || client_id === undefined ? null : {
    server: { issuer: issuer ?? null, token_endpoint },
    client: { client_id, ...(client_secret === undefined ? {} : { client_secret }) }
  }

/**
 * The party that may refresh this login, from what the settings found.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bound = (credential: ProviderCredential, found: Party): Party | OAuthError => {
  const { client_id, issuer } = credential
  if (issuer !== undefined && found.server.issuer !== null && found.server.issuer !== issuer) {
    return foreign(credential, found.server.issuer)
  }
  return client_id === undefined || client_id === found.client.client_id
    ? found
    : { ...found, client: { client_id } }
}

const make = Effect.gen(function*() {
  const context = yield* Effect.context<Http | Environment>()
  const scope = yield* Effect.scope
  const loaded = yield* Effect.cached(Effect.gen(function*() {
    const [{ TokenEndpoint }, { LoginServers }, dpop] = yield* Effect.promise(() =>
      Promise.all([import("./TokenEndpoint.ts"), import("./LoginServers.ts"), import("./Dpop.ts")])
    )
    const built = yield* Layer.buildWithScope(
      Layer.merge(TokenEndpoint.layer, LoginServers.layer),
      scope
    ).pipe(Effect.provide(context))
    return { dpop, endpoint: Context.get(built, TokenEndpoint), servers: Context.get(built, LoginServers) }
  }))

  const service: TokenRefreshService = {
    serverOf: (credential, config) =>
      Effect.gen(function*() {
        const own = ownServer(credential)
        const named = Object.hasOwn(config.auth.providers, credential.provider)
        if (own !== null && !named) return own
        const { servers } = yield* loaded
        const found = bound(credential, yield* servers.serverFor(credential.provider, config))
        return found instanceof OAuthError ? yield* found : found
      }),
    refresh: ({ client, server }, { access_token, dpop_key, refresh_token, resource }) =>
      Effect.gen(function*() {
        const { dpop, endpoint } = yield* loaded
        const key = dpop_key === undefined ? null : dpop.dpopKeyOf(dpop_key)
        const who: OAuthClient = key === null ? client : { ...client, dpop: { ...key, required: true } }
        return yield* endpoint.refresh(server, who, refresh_token, {
          access_token,
          ...(resource === undefined ? {} : { resource })
        })
      }),
    revoke: ({ client, server }, token) =>
      Effect.flatMap(loaded, ({ endpoint }) => endpoint.revoke(server, client, token))
  }
  return service
})

/** @since 0.1.0 @category services */
export class TokenRefresh
  extends Context.Tag("@hanzo/dev/credentials/TokenRefresh")<TokenRefresh, TokenRefreshService>()
{
  static readonly layer: Layer.Layer<TokenRefresh, never, Http | Environment> = Layer.scoped(TokenRefresh, make)
}
