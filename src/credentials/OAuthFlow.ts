/**
 * The authorization code flow with PKCE for a program on the user's machine (OAuth 2.1; RFC 6749, 7636, 8252, 9126, 9207;
 * HIP-301 section 6; readings 6.3 to 6.6): a listener on the loopback address, the browser, and beside it whatever the
 * user pastes.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Browser } from "../platform/Browser.ts"
import { Loopback } from "../platform/Loopback.ts"
import { SecureRandom } from "../platform/SecureRandom.ts"
import { requestAddress, requestParameters } from "./AuthorizationRequest.ts"
import type { ExpectedResponse } from "./AuthorizationResponse.ts"
import { answerCallback, callbackPath } from "./CallbackPage.ts"
import { addressFault, shown } from "./EndpointCall.ts"
import type { LoginEvents } from "./LoginEvents.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError, type TokenAnswer } from "./OAuthClient.ts"
import { readPasted } from "./PastedAnswer.ts"
import { PkceChallenge, requireS256 } from "./PkceChallenge.ts"
import { TokenEndpoint } from "./TokenEndpoint.ts"

/** @since 0.1.0 @category models */
export interface AuthorizationInput {
  readonly server: AuthorizationServer
  /** A function is called when the redirect address is known, for a client that must be registered with it. */
  readonly client: OAuthClient | ((redirect_uri: string) => Effect.Effect<OAuthClient, OAuthError>)
  /** Empty = the parameter is left out. */
  readonly scopes: ReadonlyArray<string>
  /** RFC 8707; sent in both requests. */
  readonly resource?: string
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Default: 127.0.0.1 and any free port. */
  readonly redirect?: { readonly host?: "127.0.0.1" | "localhost"; readonly port?: number }
  /** `false` opens none: the address is only shown. */
  readonly browser?: boolean
  /** Variables that the settings name as holding a secret: no browser gets them. */
  readonly secret_variables?: ReadonlyArray<string>
  /** Asked again and again for what the user pastes, until there is an answer; must not end when there is nothing. */
  readonly pasted?: Effect.Effect<string>
  readonly events?: LoginEvents
}

/** @since 0.1.0 @category models */
export interface LoginResult {
  readonly tokens: TokenAnswer
  readonly client: OAuthClient
}

/** @since 0.1.0 @category models */
export interface OAuthFlowService {
  /**
   * Runs one login to its end; several may run at once. Every reason of `OAuthError` but those of given verifiers and
   * of device flows. After 300 s `login_timeout`. The listener is closed on every path, before the tokens are fetched.
   */
  readonly authorize: (input: AuthorizationInput) => Effect.Effect<LoginResult, OAuthError>
}

/** How long the user may take. @since 0.1.0 @category constants */
export const loginLimitMillis = 300_000

const silent: LoginEvents = () => Effect.void

const listenFailed = (message: string, port: number | undefined): OAuthError =>
  new OAuthError({
    reason: "listen_failed",
    message: `the answer of the login cannot be received: ${message}${
      port === undefined ? "" : "; end that program or configure another redirect port"
    }`
  })

const missing = (what: string): OAuthError =>
  new OAuthError({ reason: "not_configured", message: `the authorization server has no ${what}` })

/** @since 0.1.0 @category services */
export class OAuthFlow extends Context.Tag("@hanzo/dev/credentials/OAuthFlow")<OAuthFlow, OAuthFlowService>() {
  static readonly layer: Layer.Layer<OAuthFlow, never, TokenEndpoint | Browser | Loopback | SecureRandom> = Layer
    .effect(
      OAuthFlow,
      Effect.gen(function*() {
        const endpoint = yield* TokenEndpoint
        const browser = yield* Browser
        const loopback = yield* Loopback
        const random = yield* SecureRandom
        const generate = Effect.provideService(PkceChallenge.generate, SecureRandom, random)

        const addressOf = (
          server: AuthorizationServer,
          client: OAuthClient,
          parameters: URLSearchParams
        ): Effect.Effect<string, OAuthError> =>
          Effect.gen(function*() {
            const { authorization_endpoint, pushed_authorization_request_endpoint } = server
            if (authorization_endpoint === undefined) return yield* missing("authorization_endpoint")
            if (pushed_authorization_request_endpoint === undefined) {
              return server.require_pushed_authorization_requests === true
                ? yield* missing("pushed_authorization_request_endpoint, and it requires pushed requests")
                : requestAddress(authorization_endpoint, parameters)
            }
            const request_uri = yield* endpoint.push(server, client, parameters)
            return requestAddress(
              authorization_endpoint,
              new URLSearchParams({ client_id: client.client_id, request_uri })
            )
          })

        const listen = (
          input: AuthorizationInput,
          host: "127.0.0.1" | "localhost",
          expected: ExpectedResponse,
          answered: Deferred.Deferred<string, OAuthError>
        ): Effect.Effect<string, OAuthError, Scope.Scope> => {
          const port = input.redirect?.port
          return loopback.listen({
            host,
            ...(port === undefined ? {} : { port }),
            answer: (request) => {
              const { page, result } = answerCallback(request, host, expected)
              // The page goes out first: afterwards the listener is closed.
              return result === null
                ? page
                : { ...page, sent: () => Deferred.unsafeDone(answered, Effect.suspend(() => result)) }
            }
          }).pipe(
            Effect.map((listening) => `http://${host}:${listening.port}${callbackPath}`),
            Effect.mapError((error) => listenFailed(error.message, error.reason === "in_use" ? port : undefined))
          )
        }

        /** The code and what it is good for; the listener lives no longer than this. */
        const obtainCode = (input: AuthorizationInput, pkce: PkceChallenge) =>
          Effect.scoped(Effect.gen(function*() {
            const { server } = input
            const events = input.events ?? silent
            const host = input.redirect?.host ?? "127.0.0.1"
            const expected: ExpectedResponse = {
              state: Encoding.encodeBase64Url(yield* random.bytes(32)),
              issuer: server.issuer,
              iss_supported: server.authorization_response_iss_parameter_supported === true
            }
            const answered = yield* Deferred.make<string, OAuthError>()
            // The listener first: nobody else can take the port once the browser knows it.
            const redirect_uri = yield* listen(input, host, expected, answered)
            const client = typeof input.client === "function" ? yield* input.client(redirect_uri) : input.client
            const url = yield* addressOf(
              server,
              client,
              requestParameters({
                client_id: client.client_id,
                redirect_uri,
                scopes: input.scopes,
                state: expected.state,
                challenge: pkce.challenge,
                ...(input.resource === undefined ? {} : { resource: input.resource }),
                ...(input.parameters === undefined ? {} : { extra: input.parameters })
              })
            )
            const why = input.browser === false ? "no browser was asked for" : browser.missing
            let by_hand = why !== null
            yield* events({ type: "address", url, opening: why === null, why })
            if (why === null) {
              yield* Effect.forkScoped(Effect.flatMap(browser.open(url, input.secret_variables), (opened) => {
                if (opened) return Effect.void
                by_hand = true
                return events({ type: "browser_failed", url })
              }))
            }
            const pasted: Effect.Effect<string, OAuthError> = input.pasted === undefined
              ? Effect.never
              : Effect.flatMap(input.pasted, (text) => {
                const found = readPasted(text, expected, by_hand)
                return "again" in found
                  ? Effect.zipRight(events({ type: "paste_rejected", message: found.again }), pasted)
                  : found.result
              })
            const code = yield* Effect.raceFirst(Deferred.await(answered), pasted).pipe(
              Effect.timeoutFail({
                duration: loginLimitMillis,
                onTimeout: () =>
                  new OAuthError({
                    reason: "login_timeout",
                    message: `nobody finished the login within ${loginLimitMillis / 1000} s; start it again`
                  })
              })
            )
            return { code: Redacted.make(code), client, redirect_uri }
          }))

        return {
          authorize: (input) =>
            Effect.gen(function*() {
              const { server } = input
              const { authorization_endpoint } = server
              if (authorization_endpoint === undefined) return yield* missing("authorization_endpoint")
              const fault = addressFault(authorization_endpoint, server.issuer)
              if (fault !== null) {
                return yield* new OAuthError({
                  reason: "not_configured",
                  message: `authorization_endpoint ${shown(authorization_endpoint)} ${fault}`
                })
              }
              if (server.token_endpoint === undefined) return yield* missing("token_endpoint")
              yield* requireS256(server)
              const pkce = yield* generate
              const { client, code, redirect_uri } = yield* obtainCode(input, pkce)
              yield* (input.events ?? silent)({ type: "exchanging" })
              const tokens = yield* endpoint.exchange(server, client, {
                code,
                redirect_uri,
                code_verifier: pkce.verifier,
                ...(input.resource === undefined ? {} : { resource: input.resource })
              })
              return { tokens, client }
            })
        }
      })
    )
}
