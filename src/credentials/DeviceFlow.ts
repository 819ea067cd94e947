/**
 * The device flow: the user types a code on any device while the program polls (RFC 8628; HIP-301 section 13; reading
 * 13.4), and the variant of it that speaks JSON.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { line } from "../codec/TerminalText.ts"
import { Browser } from "../platform/Browser.ts"
import { Http, waitMillis } from "../platform/Http.ts"
import { type DeviceCode, pollCode, requestCode } from "./DeviceJson.ts"
import { addressFault } from "./EndpointCall.ts"
import type { LoginEvents } from "./LoginEvents.ts"
import type { DeviceJsonEndpoints } from "./LoginServers.ts"
import type { LoginResult } from "./OAuthFlow.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError, type TokenAnswer } from "./OAuthClient.ts"
import { type DeviceAuthorization, TokenEndpoint, type TokenOptions } from "./TokenEndpoint.ts"

/** @since 0.1.0 @category models */
export interface DeviceInput {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  /** Empty = the parameter is left out. The JSON variant sends none. */
  readonly scopes: ReadonlyArray<string>
  /** RFC 8707. */
  readonly resource?: string
  /** Present = the variant that speaks JSON. */
  readonly device_json?: DeviceJsonEndpoints
  /** `true` opens the page here; by default it is only shown (reading 13.4). */
  readonly browser?: boolean
  /** Variables that the settings name as holding a secret: no browser gets them. */
  readonly secret_variables?: ReadonlyArray<string>
  readonly events?: LoginEvents
}

/** @since 0.1.0 @category models */
export interface DeviceFlowService {
  /** Runs one login to its end, at the latest when the code expires (`expired_token`). */
  readonly authorize: (input: DeviceInput) => Effect.Effect<LoginResult, OAuthError>
}

const slowDownMillis = 5000
const longestBackoffMillis = 60_000

const silent: LoginEvents = () => Effect.void

/**
 * Polls until there is an answer. `slow_down` adds 5 s for good (RFC 8628, section 3.5); a poll that fails doubles the
 * wait until one succeeds again, and never ends the login before the code expires.
 */
const poll = <A>(
  ask: Effect.Effect<A | "pending" | "slow_down", OAuthError>,
  device: DeviceAuthorization,
  events: LoginEvents
): Effect.Effect<A, OAuthError> => {
  const expired = (last: string | null) =>
    new OAuthError({
      reason: "expired_token",
      message: `the code expired before the login was done; start it again${
        last === null ? "" : ` (the last poll failed: ${last})`
      }`
    })
  const next = (interval: number, failures: number, last: string | null): Effect.Effect<A, OAuthError> =>
    Effect.gen(function*() {
      const delay = Math.min(interval * 2 ** failures, Math.max(interval, longestBackoffMillis))
      const left = device.expires_at * 1000 - (yield* Clock.currentTimeMillis)
      if (last !== null && failures > 0) {
        yield* events({ type: "delayed", message: last, delay_ms: Math.max(0, Math.min(delay, left)) })
      }
      yield* waitMillis(Math.max(0, Math.min(delay, left)))
      if (delay >= left) return yield* expired(last)
      const found = yield* Effect.either(ask)
      if (found._tag === "Left") {
        if (found.left.reason !== "unavailable") return yield* found.left
        return yield* next(interval, failures + 1, found.left.message)
      }
      if (found.right === "slow_down") return yield* next(interval + slowDownMillis, 0, null)
      if (found.right === "pending") return yield* next(interval, 0, null)
      return found.right
    })
  return next(device.interval_ms, 0, null)
}

/** @since 0.1.0 @category services */
export class DeviceFlow extends Context.Tag("@hanzo/dev/credentials/DeviceFlow")<DeviceFlow, DeviceFlowService>() {
  static readonly layer: Layer.Layer<DeviceFlow, never, TokenEndpoint | Http | Browser> = Layer.effect(
    DeviceFlow,
    Effect.gen(function*() {
      const endpoint = yield* TokenEndpoint
      const http = yield* Http
      const browser = yield* Browser

      /** Shows the code; opens the page only when asked to. */
      const show = (input: DeviceInput, device: DeviceAuthorization) =>
        Effect.gen(function*() {
          const { verification_uri, verification_uri_complete } = device
          for (const address of [verification_uri, verification_uri_complete]) {
            const fault = address === null ? null : addressFault(address, null)
            if (fault !== null) {
              return yield* new OAuthError({
                reason: "unavailable",
                message: `the page for the code, ${line(address ?? "", 200)}, ${fault}`
              })
            }
          }
          const events = input.events ?? silent
          yield* events({
            type: "device_code",
            user_code: line(device.user_code, 100),
            verification_uri: line(verification_uri, 500),
            verification_uri_complete: verification_uri_complete === null ? null : line(verification_uri_complete, 500),
            expires_at: device.expires_at
          })
          if (input.browser !== true || browser.missing !== null) return
          const url = verification_uri_complete ?? verification_uri
          yield* Effect.forkScoped(
            Effect.flatMap(
              browser.open(url, input.secret_variables),
              (opened) => opened ? Effect.void : events({ type: "browser_failed", url: line(url, 500) })
            )
          )
        })

      const standard = (input: DeviceInput): Effect.Effect<TokenAnswer, OAuthError> =>
        Effect.scoped(Effect.gen(function*() {
          const { client, resource, scopes, server } = input
          const options: TokenOptions = { scopes, ...(resource === undefined ? {} : { resource }) }
          const device = yield* endpoint.authorizeDevice(server, client, options)
          yield* show(input, device)
          return yield* poll(
            endpoint.pollDevice(server, client, device.device_code, resource === undefined ? {} : { resource }),
            device,
            input.events ?? silent
          )
        }))

      const speakingJson = (
        input: DeviceInput,
        endpoints: DeviceJsonEndpoints
      ): Effect.Effect<TokenAnswer, OAuthError> =>
        Effect.scoped(Effect.gen(function*() {
          const { client, resource, server } = input
          const events = input.events ?? silent
          const device = yield* requestCode(http, endpoints, server.issuer, client.client_id)
          yield* show(input, device)
          const { code, code_verifier } = yield* poll<DeviceCode>(
            pollCode(http, endpoints, server.issuer, device),
            device,
            events
          )
          yield* events({ type: "exchanging" })
          return yield* endpoint.exchange(server, client, {
            code,
            code_verifier,
            redirect_uri: endpoints.redirect_uri,
            ...(resource === undefined ? {} : { resource })
          })
        }))

      return {
        authorize: (input) =>
          Effect.map(
            input.device_json === undefined ? standard(input) : speakingJson(input, input.device_json),
            (tokens) => ({ tokens, client: input.client })
          )
      }
    })
  )
}
