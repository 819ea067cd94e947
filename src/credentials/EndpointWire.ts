/**
 * Requests to the endpoints of an authorization server as `oauth4webapi` builds and checks them, sent by the program's own
 * HTTP client: proxies, limits and messages are those of the house, the rules of the wire those of the library.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Redacted from "effect/Redacted"
import type * as Oauth from "oauth4webapi"
import type { HttpService } from "../platform/Http.ts"
import {
  addressFault,
  ask,
  type EndpointCall,
  errorCode,
  serverText,
  shown,
  success,
  unavailable
} from "./EndpointCall.ts"
import { dpopProof, noteNonce } from "./Dpop.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError } from "./OAuthClient.ts"
import { clientAssertion } from "./SignedToken.ts"

type Wire = typeof Oauth
type ClientAuth = Oauth.ClientAuth
type WireServer = Oauth.AuthorizationServer
type WireClient = Oauth.Client
type WireOptions = Oauth.HttpRequestOptions<"POST", URLSearchParams>
/** @since 0.1.0 @category models */
export type Members = Readonly<Record<string, unknown>>
/** @since 0.1.0 @category models */
export type EndpointName =
  | "token_endpoint"
  | "device_authorization_endpoint"
  | "pushed_authorization_request_endpoint"
  | "revocation_endpoint"

// A big module that a run without logins never needs.
const loadWire: Effect.Effect<Wire> = Effect.promise(() => import("oauth4webapi"))

/** How messages name the endpoints. @since 0.1.0 @category constants */
export const endpointNames: Readonly<Record<EndpointName, string>> = {
  token_endpoint: "the token endpoint",
  device_authorization_endpoint: "the device authorization endpoint",
  pushed_authorization_request_endpoint: "the endpoint of pushed authorization requests",
  revocation_endpoint: "the revocation endpoint"
}

const serverName = (server: AuthorizationServer): string =>
  server.issuer === null ? "the authorization server" : shown(server.issuer)

const notConfigured = (message: string): OAuthError => new OAuthError({ reason: "not_configured", message })

const endpointOf = (server: AuthorizationServer, name: EndpointName): Effect.Effect<string, OAuthError> => {
  const address = server[name]
  if (address === undefined) return Effect.fail(notConfigured(`${serverName(server)} has no ${name}`))
  const fault = addressFault(address, server.issuer)
  return fault === null ? Effect.succeed(address) : Effect.fail(notConfigured(`${name} ${shown(address)} ${fault}`))
}

/**
 * How a client shows who it is: as it says, else by the first method of the metadata that is known here. Metadata
 * without methods means `client_secret_basic` (RFC 8414, section 2).
 *
 * @since 0.1.0
 * @category combinators
 */
export const authMethodOf = (
  server: Pick<AuthorizationServer, "token_endpoint_auth_methods_supported">,
  client: OAuthClient
): "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt" | null => {
  if (client.token_endpoint_auth_method !== undefined) return client.token_endpoint_auth_method
  if (client.client_key !== undefined) return "private_key_jwt"
  if (client.client_secret === undefined) return "none"
  const supported = server.token_endpoint_auth_methods_supported
  if (supported === undefined) return "client_secret_basic"
  for (const method of supported) {
    if (method === "client_secret_basic" || method === "client_secret_post") return method
  }
  return null
}

/** As a form writes it (RFC 6749, section 2.3.1), and nothing more: servers that do not decode it read most of it too. */
const formEncoded = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2)

const basic = (secret: string): ClientAuth => (_, { client_id }, _body, headers) => {
  headers.set("authorization", `Basic ${Encoding.encodeBase64(`${formEncoded(client_id)}:${formEncoded(secret)}`)}`)
}

/** Signs that it is this client, for this server alone. */
const signedBy = (
  server: AuthorizationServer,
  { client_id, client_key }: OAuthClient,
  url: string
): Effect.Effect<ClientAuth, OAuthError> => {
  if (client_key === undefined) {
    return Effect.fail(notConfigured("private_key_jwt needs a private key, and there is none"))
  }
  const { key, key_id } = client_key
  const taken = server.token_endpoint_auth_signing_alg_values_supported
  const algorithm = key.algorithms.find((each) => taken === undefined || taken.includes(each))
  if (algorithm === undefined) {
    return Effect.fail(notConfigured(
      `${serverName(server)} takes signatures of a client by ${serverText((taken ?? []).join(", "), [])}, and its ` +
        `private key makes ${key.algorithms.join(", ")}; use a key of another kind`
    ))
  }
  return Effect.map(
    clientAssertion({ key, key_id: key_id ?? key.key_id, algorithm, client_id, audience: server.issuer ?? url }),
    (assertion) => (_as, _client, body) => {
      body.set("client_id", client_id)
      body.set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      body.set("client_assertion", assertion)
    }
  )
}

const authenticationOf = (
  wire: Wire,
  server: AuthorizationServer,
  client: OAuthClient,
  url: string
): Effect.Effect<ClientAuth, OAuthError> => {
  const method = authMethodOf(server, client)
  if (method === "private_key_jwt") return signedBy(server, client, url)
  const secret = client.client_secret === undefined ? "" : Redacted.value(client.client_secret)
  if (method === "none") return Effect.succeed(client.client_id === "" ? () => undefined : wire.None())
  if (method === null) {
    const offered = (server.token_endpoint_auth_methods_supported ?? []).join(", ")
    return Effect.fail(notConfigured(
      `${
        serverName(server)
      } takes a client secret by none of the known ways (client_secret_basic, client_secret_post); ` +
        `it offers ${serverText(offered === "" ? "nothing" : offered, [])}`
    ))
  }
  if (secret === "") return Effect.fail(notConfigured(`${method} needs a client secret, and there is none`))
  return Effect.succeed(method === "client_secret_post" ? wire.ClientSecretPost(secret) : basic(secret))
}

const whole = (text: string): boolean => /^\d{1,15}$/u.test(text)

/** A number of seconds, as a number or as digits; other texts and negative numbers stay, to be refused. */
const seconds = (value: unknown): unknown => typeof value === "string" && whole(value.trim()) ? Number(value) : value

/** Builds the request with the library; what its `fetch` is given is what goes out. @since 0.1.0 @category models */
export type BuildRequest = (
  wire: Wire,
  as: WireServer,
  client: WireClient,
  authentication: ClientAuth,
  options: WireOptions
) => Promise<unknown>

/** What a server may leave empty although the protocol has no empty form of it. */
const optional = new Set(["refresh_token", "scope", "verification_uri_complete"])

/** Reads an answer by the library's rules: it fails with what is broken. @since 0.1.0 @category models */
export type CheckAnswer = (wire: Wire, as: WireServer, client: WireClient, response: Response) => Promise<unknown>

const normalised = (members: Members): Members => {
  const result: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    // Identity tokens are neither read nor kept.
    if (name === "id_token" || (optional.has(name) && value === "")) continue
    result[name] = name === "expires_in" || name === "interval" ? seconds(value) : value
  }
  // A server that names no good interval leaves it to the default (RFC 8628, section 3.2).
  const { interval, verification_url } = result
  if (typeof interval !== "number" || !(interval > 0)) delete result["interval"]
  // The name of RFC 8628 before it was one.
  if (typeof verification_url === "string") result["verification_uri"] ??= verification_url
  return result
}

/**
 * The request as the rules of the wire make it, sent by the program's own client (proxies, limits), and the answer
 * read by those rules again: its members, null ones left out.
 *
 * @since 0.1.0
 * @category combinators
 */
export const callEndpoint = (
  http: HttpService,
  server: AuthorizationServer,
  client: OAuthClient,
  name: EndpointName,
  secrets: ReadonlyArray<Redacted.Redacted>,
  request: BuildRequest,
  read: CheckAnswer,
  expected: number
): Effect.Effect<Members, OAuthError> =>
  Effect.gen(function*() {
    const url = yield* endpointOf(server, name)
    const wire = yield* loadWire
    // Only endpoints, never identity tokens, are read by this view: where the issuer is unknown its address will do.
    const as: WireServer = { issuer: server.issuer ?? new URL(url).origin, [name]: url }
    const all = client.client_secret === undefined ? secrets : [...secrets, client.client_secret]
    const { dpop } = client
    const proven = name === "token_endpoint" ? dpop : undefined
    const built = { headers: {} as Readonly<Record<string, string>>, body: "" }
    // The library wants a name of the client even where the request has none.
    const who = { client_id: client.client_id === "" ? "-" : client.client_id }
    /** Whole each time: what signs a request is good for one. */
    const send = Effect.gen(function*() {
      const authentication = yield* authenticationOf(wire, server, client, url)
      yield* Effect.tryPromise({
        try: () =>
          request(wire, as, who, authentication, {
            [wire.allowInsecureRequests]: true,
            [wire.customFetch]: (_, options) => {
              const { "user-agent": _library, ...headers } = options.headers
              built.headers = headers
              built.body = String(options.body)
              return Promise.resolve(new Response())
            }
          }),
        catch: () => notConfigured(`${endpointNames[name]} ${shown(url)} cannot be asked with what is configured`)
      })
      const assertion = new URLSearchParams(built.body).get("client_assertion")
      const proof = proven === undefined
        ? null
        : yield* dpopProof(proven, { method: "POST", url, role: "authorization" })
      const call: EndpointCall = {
        what: endpointNames[name],
        url,
        method: "POST",
        headers: { ...built.headers, ...(proof === null ? {} : { dpop: proof }) },
        body: built.body,
        secrets: assertion === null ? all : [...all, Redacted.make(assertion)]
      }
      const answer = yield* ask(http, call)
      const renewed = proven !== undefined && noteNonce(proven, { url, role: "authorization" }, answer.dpop_nonce)
      return { answer, call, again: renewed && errorCode(answer) === "use_dpop_nonce" }
    })
    const first = yield* send
    const { answer, call } = first.again ? yield* send : first
    // A revocation is answered by its status alone (RFC 7009, section 2.2).
    if (name === "revocation_endpoint" && answer.status >= 200 && answer.status < 300 && errorCode(answer) === null) {
      return {}
    }
    const plain = normalised(yield* success(call, answer))
    yield* Effect.tryPromise({
      try: () =>
        read(
          wire,
          as,
          who,
          new Response(JSON.stringify(plain), { status: expected, headers: { "content-type": "application/json" } })
        ),
      // The rule that was broken; the answer itself stays out.
      catch: (cause) =>
        unavailable(
          call,
          `gave an answer that breaks the protocol: ${cause instanceof Error ? cause.message : "unknown"}`
        )
    })
    return plain
  })
