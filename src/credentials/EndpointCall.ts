/**
 * One call of an endpoint of an authorization server: which addresses are allowed, how long and how large an answer may
 * be, and what a refusal says. Nothing of an answer but the server's own error text reaches a message, and that text
 * never holds what was sent as a secret.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { without } from "../codec/SecretForms.ts"
import { line } from "../codec/TerminalText.ts"
import { type HttpService, readAll } from "../platform/Http.ts"
import { OAuthError } from "./OAuthClient.ts"

/** Plain HTTP is for this machine only (RFC 8252, section 8.3). @since 0.1.0 @category combinators */
export const isLoopback = (url: URL): boolean => /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/u.test(url.hostname)

/**
 * Why an address must not be asked; null = it may. `https`, or `http` on this machine when the issuer is there too.
 *
 * @since 0.1.0
 * @category combinators
 */
export const addressFault = (address: string, issuer: string | null): string | null => {
  if (!URL.canParse(address)) return "is no address"
  const url = new URL(address)
  if (url.protocol === "https:") return null
  if (url.protocol !== "http:") return "must begin with https://"
  if (!isLoopback(url)) return "must begin with https:// (plain http is for addresses of this machine)"
  const plain = issuer === null || (URL.canParse(issuer) && new URL(issuer).protocol === "http:")
  return plain ? null : "must begin with https://, as its issuer does"
}

/** An address as messages show it: without query, user and password. @since 0.1.0 @category encoding */
export const shown = (address: string): string => {
  if (!URL.canParse(address)) return line(address, 200)
  const url = new URL(address)
  return line(`${url.origin}${url.pathname === "/" ? "" : url.pathname}`, 200)
}

/** @since 0.1.0 @category models */
export interface EndpointCall {
  /** Names the endpoint in messages: `the token endpoint`. */
  readonly what: string
  readonly url: string
  readonly method: "GET" | "POST"
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Must not stand in a message, even where the server repeats it. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

/** @since 0.1.0 @category models */
export interface EndpointAnswer {
  readonly status: number
  /** The body where it is a JSON object, whatever its content type. */
  readonly json: Readonly<Record<string, unknown>> | null
  /** The content type says JSON. */
  readonly declared_json: boolean
  /** The header `DPoP-Nonce` (RFC 9449, section 8). */
  readonly dpop_nonce: string | null
}

const maxBytes = 262_144
const limitMillis = 30_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const parsed = (bytes: Uint8Array): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

const placeOf = (call: Pick<EndpointCall, "what" | "url">): string => `${call.what} ${shown(call.url)}`

/** The error that says trying later may help. @since 0.1.0 @category constructors */
export const unavailable = (call: Pick<EndpointCall, "what" | "url">, why: string): OAuthError =>
  new OAuthError({ reason: "unavailable", message: `${placeOf(call)} ${why}` })

/**
 * Sends it and reads the answer: at most 256 KiB within 30 s, no redirect followed. What comes is an answer whatever its
 * status; only what is none fails, with `unavailable`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const ask = (http: HttpService, call: EndpointCall): Effect.Effect<EndpointAnswer, OAuthError> =>
  Effect.scoped(Effect.gen(function*() {
    const response = yield* http.request({
      method: call.method,
      url: call.url,
      headers: call.headers,
      limits: { connect_ms: 10_000, headers_ms: limitMillis, idle_ms: limitMillis },
      ...(call.body === undefined ? {} : { body: call.body })
    })
    const { bytes, truncated } = yield* readAll(response, maxBytes)
    if (truncated) return yield* unavailable(call, `gave an answer of more than ${maxBytes / 1024} KiB`)
    yield* response.release
    return {
      status: response.status,
      json: parsed(bytes),
      declared_json: /^application\/(?:[a-z0-9.-]+\+)?json\s*(?:;|$)/iu.test(response.headers["content-type"] ?? ""),
      dpop_nonce: response.headers["dpop-nonce"] ?? null
    }
  })).pipe(
    Effect.catchTag("HttpError", (error) => unavailable(call, `could not be asked: ${error.message}`)),
    Effect.timeoutFail({
      duration: limitMillis,
      onTimeout: () => unavailable(call, `did not answer in full within ${limitMillis / 1000} s`)
    })
  )

const tokenNames: ReadonlyArray<string> = [
  "access_token",
  "refresh_token",
  "id_token",
  "device_code",
  "authorization_code"
]

/** What must not be repeated: what was sent as a secret, however the client named itself, and tokens of the answer. */
const secretsOf = ({ headers, secrets }: EndpointCall, answer: EndpointAnswer): ReadonlyArray<Redacted.Redacted> => [
  ...secrets,
  ...Object.entries(headers).flatMap(([name, value]) =>
    name.toLowerCase() === "authorization" ? [Redacted.make(value.replace(/^\S+\s+/u, ""))] : []
  ),
  ...tokenNames.flatMap((name) => {
    const value = answer.json?.[name]
    return typeof value === "string" ? [Redacted.make(value)] : []
  })
]

const shortest = 4

const scrub = (text: string, secrets: ReadonlyArray<Redacted.Redacted>): string =>
  without(secrets.map(Redacted.value).filter((secret) => secret.length >= shortest))(text)

/** A server's text, on one line and safe for a terminal, without what must not be shown. @since 0.1.0 @category encoding */
export const serverText = (text: string, secrets: ReadonlyArray<Redacted.Redacted>): string =>
  line(scrub(text, secrets), 300)

const passing = new Set(["temporarily_unavailable", "server_error"])

/** The server's error code of an answer (RFC 6749, section 5.2), also of one with status 200. @since 0.1.0 @category decoding */
export const errorCode = (answer: EndpointAnswer): string | null => {
  const code = answer.json?.["error"]
  return typeof code === "string" && code !== "" ? code : null
}

const reasonOf = (status: number, code: string): OAuthError["reason"] =>
  status >= 500 || status === 429 || passing.has(code)
    ? "unavailable"
    : code === "invalid_grant" || code === "access_denied" || code === "expired_token"
    ? code
    : "authorization_error"

/** What an answer that is no success says. @since 0.1.0 @category constructors */
export const refusal = (call: EndpointCall, answer: EndpointAnswer): OAuthError => {
  const code = errorCode(answer)
  if (code !== null) {
    const secrets = secretsOf(call, answer)
    const description = answer.json?.["error_description"]
    const text = typeof description === "string" && description !== ""
      ? `: ${serverText(description, secrets)}`
      : ""
    const name = serverText(code, secrets)
    return new OAuthError({
      reason: reasonOf(answer.status, code),
      message: `${placeOf(call)} refused with ${name}${text}`,
      error: name
    })
  }
  if (answer.status >= 300 && answer.status < 400) {
    return unavailable(call, `answered with a redirect (status ${answer.status}), which is not followed`)
  }
  return unavailable(
    call,
    answer.status >= 200 && answer.status < 300
      ? "gave an answer that is no JSON object"
      : `answered with status ${answer.status} and no OAuth error`
  )
}

/** The members of a success, null ones left out; everything else is the error it stands for. @since 0.1.0 @category decoding */
export const success = (
  call: EndpointCall,
  answer: EndpointAnswer
): Effect.Effect<Readonly<Record<string, unknown>>, OAuthError> => {
  if (answer.status < 200 || answer.status > 299 || answer.json === null || errorCode(answer) !== null) {
    return Effect.fail(refusal(call, answer))
  }
  if (!answer.declared_json) {
    return Effect.fail(unavailable(call, "gave an answer whose content type is not application/json"))
  }
  return Effect.succeed(Object.fromEntries(Object.entries(answer.json).filter(([, value]) => value !== null)))
}
