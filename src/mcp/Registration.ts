/**
 * Which client this program is for an authorization server: the configured one, a client id metadata document, one that is
 * registered on the spot (RFC 7591), or one that the user names (reading 1.13).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { addressFault, ask, type EndpointCall, shown, success } from "../credentials/EndpointCall.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError } from "../credentials/OAuthClient.ts"
import type { HttpService } from "../platform/Http.ts"

/** @since 0.1.0 @category models */
export interface ClientChoice {
  /** From the settings, its secret from the variable they name. */
  readonly configured: OAuthClient | null
  /** `oauth.client_metadata_url`. */
  readonly metadata_url: string | null
  /** Asks the user; null = nobody knows one. */
  readonly asked: Effect.Effect<OAuthClient | null>
  readonly scopes: ReadonlyArray<string>
  /** What to set, for a message: `mcp_servers.NAME.oauth`. */
  readonly settings: string
}

const grants = ["authorization_code", "refresh_token"]
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

/** A public client where that is possible: a program on the user's machine keeps no secret from its user. */
const methodFor = (server: AuthorizationServer): NonNullable<OAuthClient["token_endpoint_auth_method"]> => {
  const supported = server.token_endpoint_auth_methods_supported
  if (supported === undefined || supported.includes("none")) return "none"
  return supported.find((method) => method === "client_secret_basic" || method === "client_secret_post") ?? "none"
}

const isMethod = (value: unknown): value is NonNullable<OAuthClient["token_endpoint_auth_method"]> =>
  value === "none" || value === "client_secret_basic" || value === "client_secret_post"

/**
 * Registers a native client for this redirect address. Reasons as those of other endpoints.
 *
 * @since 0.1.0
 * @category combinators
 */
export const register = (
  http: HttpService,
  server: AuthorizationServer,
  endpoint: string,
  redirect_uri: string,
  scopes: ReadonlyArray<string>
): Effect.Effect<OAuthClient, OAuthError> =>
  Effect.gen(function*() {
    const fault = addressFault(endpoint, server.issuer)
    if (fault !== null) {
      return yield* new OAuthError({
        reason: "not_configured",
        message: `registration_endpoint ${shown(endpoint)} ${fault}`
      })
    }
    const wanted = methodFor(server)
    const call: EndpointCall = {
      what: "the registration endpoint",
      url: endpoint,
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({
        client_name: "Hanzo Dev",
        application_type: "native",
        redirect_uris: [redirect_uri],
        grant_types: server.device_authorization_endpoint === undefined ? grants : [...grants, deviceGrant],
        response_types: ["code"],
        token_endpoint_auth_method: wanted,
        ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") })
      }),
      secrets: []
    }
    const members = yield* success(call, yield* ask(http, call))
    const { client_id, client_secret, token_endpoint_auth_method } = members
    if (typeof client_id !== "string" || client_id === "") {
      return yield* new OAuthError({
        reason: "unavailable",
        message: `the registration endpoint ${shown(endpoint)} gave no client_id`
      })
    }
    const method = isMethod(token_endpoint_auth_method) ? token_endpoint_auth_method : wanted
    return method === "none" || typeof client_secret !== "string" || client_secret === ""
      ? { client_id, token_endpoint_auth_method: "none" }
      : { client_id, client_secret: Redacted.make(client_secret), token_endpoint_auth_method: method }
  })

/**
 * The client for this server and redirect address. Reason `not_configured` when there is no way to one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const clientFor = (
  http: HttpService,
  server: AuthorizationServer,
  choice: ClientChoice,
  redirect_uri: string
): Effect.Effect<OAuthClient, OAuthError> =>
  Effect.gen(function*() {
    const { configured, metadata_url, settings } = choice
    if (configured !== null) return configured
    if (metadata_url !== null && server.client_id_metadata_document_supported === true) {
      return { client_id: metadata_url, token_endpoint_auth_method: "none" }
    }
    const by_hand = `register this program there (redirect address ${redirect_uri}) and set ${settings}.client_id`
    const { registration_endpoint } = server
    if (registration_endpoint !== undefined) {
      return yield* Effect.mapError(
        register(http, server, registration_endpoint, redirect_uri, choice.scopes),
        (error) => new OAuthError({ reason: error.reason, message: `${error.message}; or ${by_hand}` })
      )
    }
    const asked = yield* choice.asked
    return asked ?? (yield* new OAuthError({
      reason: "not_configured",
      message: `${server.issuer === null ? "the authorization server" : shown(server.issuer)} does not register ` +
        `clients by itself: ${by_hand}`
    }))
  })
