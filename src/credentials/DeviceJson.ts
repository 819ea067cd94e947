/**
 * The two requests of the device variant that speaks JSON (`LoginServers.DeviceJsonEndpoints`).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { HttpService } from "../platform/Http.ts"
import { addressFault, ask, type EndpointCall, refusal, success, unavailable } from "./EndpointCall.ts"
import type { DeviceJsonEndpoints } from "./LoginServers.ts"
import { OAuthError } from "./OAuthClient.ts"
import type { DeviceAuthorization } from "./TokenEndpoint.ts"

/** The variant names no end; its pages take the code for a quarter of an hour. */
const lifeSeconds = 900

const call = (
  what: string,
  url: string,
  body: Readonly<Record<string, string>>,
  secrets: EndpointCall["secrets"]
): EndpointCall => ({
  what,
  url,
  method: "POST",
  headers: { accept: "application/json", "content-type": "application/json" },
  body: JSON.stringify(body),
  secrets
})

const checked = (address: string, issuer: string | null): Effect.Effect<void, OAuthError> => {
  const fault = addressFault(address, issuer)
  return fault === null
    ? Effect.void
    : Effect.fail(
      new OAuthError({ reason: "not_configured", message: `the device login's address ${address} ${fault}` })
    )
}

const text = (members: Readonly<Record<string, unknown>>, ...names: ReadonlyArray<string>): string => {
  for (const name of names) {
    const value = members[name]
    if (typeof value === "string" && value !== "") return value
  }
  return ""
}

const secondsOf = (value: unknown): number => {
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds : 5
}

/** `{client_id}` → `{device_auth_id, user_code, interval}`. @since 0.1.0 @category combinators */
export const requestCode = (
  http: HttpService,
  endpoints: DeviceJsonEndpoints,
  issuer: string | null,
  client_id: string
): Effect.Effect<DeviceAuthorization, OAuthError> =>
  Effect.gen(function*() {
    yield* checked(endpoints.authorization_endpoint, issuer)
    const request = call("the device authorization endpoint", endpoints.authorization_endpoint, { client_id }, [])
    const members = yield* Effect.flatMap(ask(http, request), (answer) => success(request, answer))
    const device_code = text(members, "device_auth_id")
    const user_code = text(members, "user_code", "usercode")
    if (device_code === "" || user_code === "") {
      return yield* unavailable(request, "gave an answer without device_auth_id or user_code")
    }
    const now = yield* Clock.currentTimeMillis
    return {
      device_code: Redacted.make(device_code),
      user_code,
      verification_uri: endpoints.verification_uri,
      verification_uri_complete: null,
      expires_at: Math.floor(now / 1000) + lifeSeconds,
      interval_ms: secondsOf(members["interval"]) * 1000
    }
  })

/** What the user's consent gave: the verifier comes from the server here. @since 0.1.0 @category models */
export interface DeviceCode {
  readonly code: Redacted.Redacted
  readonly code_verifier: Redacted.Redacted
}

/** `{device_auth_id, user_code}` → 403 or 404 until the user is done. @since 0.1.0 @category combinators */
export const pollCode = (
  http: HttpService,
  endpoints: DeviceJsonEndpoints,
  issuer: string | null,
  device: DeviceAuthorization
): Effect.Effect<"pending" | DeviceCode, OAuthError> =>
  Effect.gen(function*() {
    yield* checked(endpoints.poll_endpoint, issuer)
    const request = call(
      "the device polling endpoint",
      endpoints.poll_endpoint,
      { device_auth_id: Redacted.value(device.device_code), user_code: device.user_code },
      [device.device_code]
    )
    const answer = yield* ask(http, request)
    if (answer.status === 403 || answer.status === 404) return "pending"
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 408 && answer.status !== 429) {
      const error = refusal(request, answer)
      // Neither pending nor passing: asking again would not change it.
      return yield* error.reason === "unavailable"
        ? new OAuthError({ reason: "authorization_error", message: error.message })
        : error
    }
    const members = yield* success(request, answer)
    const code = text(members, "authorization_code")
    const code_verifier = text(members, "code_verifier")
    if (code === "" || code_verifier === "") {
      return yield* unavailable(request, "gave an answer without authorization_code or code_verifier")
    }
    return { code: Redacted.make(code), code_verifier: Redacted.make(code_verifier) }
  })
