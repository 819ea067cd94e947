/**
 * What is asked of the endpoints of an authorization server: tokens for a code, for a refresh token and for a device
 * code, and their revocation (RFC 6749, 7009, 7636, 8628, 8707, 9126; readings 6.6, 6.7, 13.4).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Http, type HttpService } from "../platform/Http.ts"
import { unavailable } from "./EndpointCall.ts"
import { type BuildRequest, callEndpoint, endpointNames } from "./EndpointWire.ts"
import { headerFault } from "./HeaderText.ts"
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

/** What is exchanged for an identity assertion (RFC 8693; draft-ietf-oauth-identity-assertion-authz-grant). @since 0.1.0 @category models */
export interface IdentityExchange {
  readonly id_token: Redacted.Redacted
  /** The issuer of the authorization server that the assertion is for. */
  readonly audience: string
  readonly resource: string
  readonly scopes: ReadonlyArray<string>
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
    options?: TokenOptions & {
      /** The token of before: not sent, and in no message, even where the server knows and repeats it. */
      readonly access_token?: Redacted.Redacted
    }
  ) => Effect.Effect<TokenAnswer, OAuthError>
  readonly exchange: (
    server: AuthorizationServer,
    client: OAuthClient,
    grant: CodeGrant
  ) => Effect.Effect<TokenAnswer, OAuthError>
  /** The client's own rights, nobody else's (RFC 6749, section 4.4). */
  readonly clientCredentials: (
    server: AuthorizationServer,
    client: OAuthClient,
    options: TokenOptions
  ) => Effect.Effect<TokenAnswer, OAuthError>
  /** RFC 7523, section 2.1: what somebody the server knows has signed. */
  readonly jwtBearer: (
    server: AuthorizationServer,
    client: OAuthClient,
    assertion: Redacted.Redacted,
    options: TokenOptions
  ) => Effect.Effect<TokenAnswer, OAuthError>
  /** Asks an identity provider for the assertion that another server gives a token for (ID-JAG). */
  readonly identityAssertion: (
    server: AuthorizationServer,
    client: OAuthClient,
    exchange: IdentityExchange
  ) => Effect.Effect<Redacted.Redacted, OAuthError>
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

const scopesOf = (scope: unknown): ReadonlyArray<string> | null =>
  typeof scope === "string" && scope.trim() !== "" ? scope.trim().split(/\s+/u) : null

const parametersOf = (client: OAuthClient, options: TokenOptions | undefined): URLSearchParams => {
  const parameters = new URLSearchParams(client.client_id === "" ? {} : { client_id: client.client_id })
  if (options?.scopes !== undefined && options.scopes.length > 0) parameters.set("scope", options.scopes.join(" "))
  if (options?.resource !== undefined) parameters.set("resource", options.resource)
  return parameters
}

const textOf = (value: unknown): string => typeof value === "string" ? value : ""

/** In the year 5138: later times are read as milliseconds. */
const latestSeconds = 99_999_999_999
const defaultIntervalMillis = 5000

const jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
const tokenExchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
const identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag"

const make = (http: HttpService): TokenEndpointService => {
  const tokens = (
    server: AuthorizationServer,
    client: OAuthClient,
    secrets: ReadonlyArray<Redacted.Redacted>,
    request: BuildRequest
  ): Effect.Effect<TokenAnswer, OAuthError> =>
    Effect.gen(function*() {
      const members = yield* callEndpoint(
        http,
        server,
        client,
        "token_endpoint",
        secrets,
        request,
        (wire, as, who, response) => wire.processGenericTokenEndpointResponse(as, who, response),
        200
      )
      const broken = (why: string) =>
        unavailable(
          { what: endpointNames.token_endpoint, url: server.token_endpoint ?? "" },
          `gave an answer that breaks the protocol: ${why}`
        )
      const type = textOf(members["token_type"]).toLowerCase()
      const bound = type === "dpop" && client.dpop !== undefined
      if (client.dpop?.required === true && !bound) {
        return yield* broken("token_type is not DPoP, and a token that is bound to a key was asked for")
      }
      if (type !== "bearer" && !bound) return yield* broken("token_type is not Bearer")
      const fault = headerFault(textOf(members["access_token"]))
      if (fault !== null) return yield* broken(`access_token ${fault}`)
      const expires_in = members["expires_in"]
      if (expires_in !== undefined && typeof expires_in !== "number") {
        return yield* broken("expires_in is no number of seconds")
      }
      const now = yield* Clock.currentTimeMillis
      const refresh_token = textOf(members["refresh_token"])
      return {
        access_token: Redacted.make(textOf(members["access_token"])),
        refresh_token: refresh_token === "" ? null : Redacted.make(refresh_token),
        expires_at: expires_in === undefined
          ? null
          : Math.min(Math.floor(now / 1000) + Math.floor(expires_in), latestSeconds),
        scopes: scopesOf(members["scope"]),
        ...(bound ? { bound } : {})
      }
    })

  const grant = (
    server: AuthorizationServer,
    client: OAuthClient,
    secrets: ReadonlyArray<Redacted.Redacted>,
    type: string,
    parameters: URLSearchParams
  ): Effect.Effect<TokenAnswer, OAuthError> =>
    tokens(
      server,
      client,
      secrets,
      (wire, as, who, authentication, options) =>
        wire.genericTokenEndpointRequest(as, who, authentication, type, parameters, options)
    )

  return {
    refresh: (server, client, refresh_token, options) => {
      const parameters = parametersOf(client, options)
      parameters.set("refresh_token", Redacted.value(refresh_token))
      const secrets = options?.access_token === undefined ? [refresh_token] : [refresh_token, options.access_token]
      return grant(server, client, secrets, "refresh_token", parameters)
    },

    exchange: (server, client, { code, code_verifier, redirect_uri, resource }) => {
      const parameters = parametersOf(client, resource === undefined ? {} : { resource })
      parameters.set("code", Redacted.value(code))
      parameters.set("redirect_uri", redirect_uri)
      parameters.set("code_verifier", Redacted.value(code_verifier))
      return grant(server, client, [code, code_verifier], "authorization_code", parameters)
    },

    clientCredentials: (server, client, options) =>
      grant(server, client, [], "client_credentials", parametersOf(client, options)),

    jwtBearer: (server, client, assertion, options) => {
      const parameters = parametersOf(client, options)
      parameters.set("assertion", Redacted.value(assertion))
      return grant(server, client, [assertion], jwtBearerGrant, parameters)
    },

    identityAssertion: (server, client, { audience, id_token, resource, scopes }) =>
      Effect.gen(function*() {
        const parameters = parametersOf(client, { scopes, resource })
        parameters.set("requested_token_type", identityAssertionType)
        parameters.set("audience", audience)
        parameters.set("subject_token", Redacted.value(id_token))
        parameters.set("subject_token_type", "urn:ietf:params:oauth:token-type:id_token")
        const members = yield* callEndpoint(
          http,
          server,
          client,
          "token_endpoint",
          [id_token],
          (wire, as, who, authentication, options) =>
            wire.genericTokenEndpointRequest(as, who, authentication, tokenExchangeGrant, parameters, options),
          // What is issued is no access token, so that the rules of one do not hold for it (RFC 8693, section 2.2.1).
          () => Promise.resolve(),
          200
        )
        const assertion = textOf(members["access_token"])
        if (members["issued_token_type"] !== identityAssertionType || assertion === "") {
          return yield* unavailable(
            { what: endpointNames.token_endpoint, url: server.token_endpoint ?? "" },
            "gave no identity assertion (issued_token_type is not id-jag)"
          )
        }
        return Redacted.make(assertion)
      }),

    push: (server, client, parameters) =>
      Effect.map(
        callEndpoint(
          http,
          server,
          client,
          "pushed_authorization_request_endpoint",
          [],
          (wire, as, who, authentication, options) =>
            wire.pushedAuthorizationRequest(as, who, authentication, parameters, options),
          (wire, as, who, response) => wire.processPushedAuthorizationResponse(as, who, response),
          201
        ),
        (members) => textOf(members["request_uri"])
      ),

    authorizeDevice: (server, client, options) =>
      Effect.gen(function*() {
        const members = yield* callEndpoint(
          http,
          server,
          client,
          "device_authorization_endpoint",
          [],
          (wire, as, who, authentication, wireOptions) =>
            wire.deviceAuthorizationRequest(as, who, authentication, parametersOf(client, options), wireOptions),
          (wire, as, who, response) => wire.processDeviceAuthorizationResponse(as, who, response),
          200
        )
        const now = yield* Clock.currentTimeMillis
        const { expires_in, interval } = members
        return {
          device_code: Redacted.make(textOf(members["device_code"])),
          user_code: textOf(members["user_code"]),
          verification_uri: textOf(members["verification_uri"]),
          verification_uri_complete: textOf(members["verification_uri_complete"]) || null,
          expires_at: Math.floor(now / 1000) + (typeof expires_in === "number" ? Math.floor(expires_in) : 0),
          interval_ms: typeof interval === "number" ? interval * 1000 : defaultIntervalMillis
        }
      }),

    pollDevice: (server, client, device_code, options) =>
      tokens(
        server,
        client,
        [device_code],
        (wire, as, who, authentication, wireOptions) =>
          wire.deviceCodeGrantRequest(as, who, authentication, Redacted.value(device_code), {
            ...wireOptions,
            additionalParameters: parametersOf(client, options)
          })
      ).pipe(
        Effect.catchIf(
          (error) => error.error === "authorization_pending",
          () => Effect.succeed("pending" as const)
        ),
        Effect.catchIf(
          (error) => error.error === "slow_down",
          () => Effect.succeed("slow_down" as const)
        )
      ),

    revoke: (server, client, token) =>
      Effect.asVoid(callEndpoint(
        http,
        server,
        client,
        "revocation_endpoint",
        [token],
        (wire, as, who, authentication, options) =>
          wire.revocationRequest(as, who, authentication, Redacted.value(token), {
            ...options,
            additionalParameters: { client_id: client.client_id }
          }),
        (wire, _as, _who, response) => wire.processRevocationResponse(response),
        200
      ))
  }
}

/** @since 0.1.0 @category services */
export class TokenEndpoint extends Context.Tag("@hanzo/dev/credentials/TokenEndpoint")<
  TokenEndpoint,
  TokenEndpointService
>() {
  static readonly layer: Layer.Layer<TokenEndpoint, never, Http> = Layer.effect(TokenEndpoint, Effect.map(Http, make))
}
