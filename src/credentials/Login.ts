/**
 * A login of a provider from its settings to the credential that is stored (HIP-301 section 13; readings 13.3, 13.4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HanzoConfig } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import { Browser } from "../platform/Browser.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Http } from "../platform/Http.ts"
import { Loopback } from "../platform/Loopback.ts"
import { SecureRandom } from "../platform/SecureRandom.ts"
import { DeviceFlow } from "./DeviceFlow.ts"
import type { LoginEvents } from "./LoginEvents.ts"
import { type LoginFlow, type LoginPlan, LoginServers } from "./LoginServers.ts"
import type { OAuthError } from "./OAuthClient.ts"
import { type LoginResult, OAuthFlow } from "./OAuthFlow.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"
import { TokenEndpoint } from "./TokenEndpoint.ts"

/** @since 0.1.0 @category models */
export interface LoginOptions {
  /** Default: as the settings say, else as the provider and the metadata suggest. */
  readonly flow?: LoginFlow
  /** `false` opens no browser; `true` opens one in a device flow too. */
  readonly browser?: boolean
  /** See `OAuthFlow.AuthorizationInput`; only the code flow asks. */
  readonly pasted?: Effect.Effect<string>
  readonly events?: LoginEvents
}

/** @since 0.1.0 @category models */
export interface LoginService {
  /** Stores nothing: that is the caller's. */
  readonly login: (
    provider: string,
    config: HanzoConfig,
    options?: LoginOptions
  ) => Effect.Effect<ProviderCredential, OAuthError>
}

/**
 * What is stored of a login: without scopes in the answer they are those that were asked for (RFC 6749, section 5.1).
 *
 * @since 0.1.0
 * @category constructors
 */
export const credentialOf = (
  provider: string,
  login: Pick<LoginPlan, "server" | "scopes" | "resource">,
  { client, tokens }: LoginResult
): ProviderCredential => {
  const scopes = tokens.scopes ?? login.scopes
  const { issuer, token_endpoint } = login.server
  return {
    provider,
    access_token: tokens.access_token,
    refresh_token: tokens.refresh_token,
    expires_at: tokens.expires_at,
    ...(scopes.length === 0 ? {} : { scopes }),
    client_id: client.client_id,
    ...(issuer === null ? {} : { issuer }),
    ...(token_endpoint === undefined ? {} : { token_endpoint }),
    ...(login.resource === undefined ? {} : { resource: login.resource }),
    ...(client.dpop === undefined || tokens.bound !== true ? {} : { dpop_key: client.dpop.text })
  }
}

/** @since 0.1.0 @category services */
export class Login extends Context.Tag("@hanzo/dev/credentials/Login")<Login, LoginService>() {
  /** Over given flows, for embedders with flows of their own. */
  static readonly layerFlows: Layer.Layer<Login, never, LoginServers | OAuthFlow | DeviceFlow> = Layer.effect(
    Login,
    Effect.gen(function*() {
      const servers = yield* LoginServers
      const code = yield* OAuthFlow
      const device = yield* DeviceFlow
      return {
        login: (provider, config, options = {}) =>
          Effect.gen(function*() {
            const plan = yield* servers.serverFor(provider, config, options.flow)
            const shared = {
              server: plan.server,
              client: plan.client,
              scopes: plan.scopes,
              secret_variables: secretVariables(config),
              ...(plan.resource === undefined ? {} : { resource: plan.resource }),
              ...(options.browser === undefined ? {} : { browser: options.browser }),
              ...(options.events === undefined ? {} : { events: options.events })
            }
            const result = plan.flow === "code"
              ? yield* code.authorize({
                ...shared,
                parameters: plan.parameters,
                redirect: plan.redirect,
                ...(options.pasted === undefined ? {} : { pasted: options.pasted })
              })
              : yield* device.authorize({
                ...shared,
                ...(plan.device_json === undefined ? {} : { device_json: plan.device_json })
              })
            return credentialOf(provider, plan, result)
          })
      }
    })
  )

  /** Everything that a login needs. */
  static readonly layer: Layer.Layer<Login, never, Http | Environment> = Login.layerFlows.pipe(
    Layer.provide(Layer.mergeAll(LoginServers.layer, OAuthFlow.layer, DeviceFlow.layer)),
    Layer.provide(Layer.mergeAll(TokenEndpoint.layer, Browser.layer, Loopback.layer, SecureRandom.layer))
  )
}
