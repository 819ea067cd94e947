/**
 * Which authorization server a provider logs in at, how, and as which client (readings 6.11, 13.3): `auth.providers.NAME`
 * of the user's settings, with discovery where only an issuer is named.
 *
 * @since 0.1.0
 */
import * as Cache from "effect/Cache"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { line } from "../codec/TerminalText.ts"
import type { AuthProviderConfig, HanzoConfig } from "../config/Schema.ts"
import { Environment, type EnvironmentService, variable } from "../platform/Environment.ts"
import { Http, type HttpService } from "../platform/Http.ts"
import { variablesOf } from "./ApiKeys.ts"
import { addressFault, ask, type EndpointCall, success } from "./EndpointCall.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError } from "./OAuthClient.ts"
import { issuerFault, metadataAddresses, readMetadata } from "./ServerMetadata.ts"

/** With a browser; with a code typed elsewhere (RFC 8628); the variant of that which speaks JSON. @since 0.1.0 @category models */
export type LoginFlow = "code" | "device" | "device_json"

/**
 * The device variant that speaks JSON: `authorization_endpoint` takes `{client_id}` and gives `{device_auth_id, user_code,
 * interval}`; `poll_endpoint` takes `{device_auth_id, user_code}`, says 403 or 404 until the user is done, and then gives
 * `{authorization_code, code_verifier}`, to be exchanged with `redirect_uri`. The user types the code at
 * `verification_uri`.
 *
 * @since 0.1.0
 * @category models
 */
export interface DeviceJsonEndpoints {
  readonly authorization_endpoint: string
  readonly poll_endpoint: string
  readonly verification_uri: string
  readonly redirect_uri: string
}

/** Who is asked for tokens, and by whom. @since 0.1.0 @category models */
export interface LoginServer {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  /** Empty = the server's own default. */
  readonly scopes: ReadonlyArray<string>
}

/** How a login goes there. @since 0.1.0 @category models */
export interface LoginPlan extends LoginServer {
  readonly flow: LoginFlow
  readonly device_json?: DeviceJsonEndpoints
  /** RFC 8707. */
  readonly resource?: string
  /** Further parameters of the authorization request, such as `prompt`. */
  readonly parameters: Readonly<Record<string, string>>
  readonly redirect: { readonly host?: "127.0.0.1" | "localhost"; readonly port?: number }
}

/** @since 0.1.0 @category models */
export interface LoginServersService {
  /**
   * Reasons `not_configured`, `discovery_failed`; what was discovered is kept for this process. `flow` asks for another
   * flow than the settings or the metadata suggest.
   */
  readonly serverFor: (
    provider: string,
    config: HanzoConfig,
    flow?: LoginFlow
  ) => Effect.Effect<LoginPlan, OAuthError>
  /**
   * The metadata of an issuer (RFC 8414, then OpenID Connect Discovery 1.0); its `issuer` must be exactly this one.
   * Reason `discovery_failed`; what was found is kept for this process.
   */
  readonly discover: (issuer: string) => Effect.Effect<AuthorizationServer, OAuthError>
}

/** The only issuer that needs no settings (reading 13.3). */
const defaultIssuers: ReadonlyMap<string, string> = new Map([["hanzo", "https://hanzo.id"]])

/** Providers whose own flow is the device flow (HIP-301, section 13). */
const deviceProviders: ReadonlySet<string> = new Set(["openai"])

const failed = (message: string): OAuthError =>
  new OAuthError({ reason: "discovery_failed", message: line(message, 600) })

const discover = (http: HttpService, issuer: string): Effect.Effect<AuthorizationServer, OAuthError> =>
  Effect.gen(function*() {
    const fault = issuerFault(issuer)
    if (fault !== null) return yield* failed(`the issuer ${issuer} ${fault}`)
    const problems: Array<string> = []
    for (const url of metadataAddresses(issuer)) {
      const call: EndpointCall = {
        what: "the metadata",
        url,
        method: "GET",
        headers: { accept: "application/json" },
        secrets: []
      }
      const found = yield* Effect.either(Effect.flatMap(ask(http, call), (answer) => success(call, answer)))
      if (found._tag === "Left") {
        problems.push(found.left.message)
        continue
      }
      const server = readMetadata(issuer, found.right)
      // Another issuer's document ends it: asking on would let that issuer choose which document counts.
      if ("fault" in server) return yield* failed(`the metadata at ${url} ${server.fault}`)
      return server
    }
    return yield* failed(`no metadata of the issuer ${issuer}: ${problems.join("; ")}`)
  })

const keyHint = (provider: string, config: HanzoConfig): string => {
  const [name] = variablesOf(provider, config)
  return `An API key is the default way: ${name === undefined ? "" : `set ${name} or `}providers.${provider}.api_key.`
}

const example = (provider: string): string =>
  defaultIssuers.has(provider)
    ? `{"auth": {"providers": {"${provider}": {"client_id": "YOUR-CLIENT-ID"}}}}`
    : `{"auth": {"providers": {"${provider}": {"issuer": "https://login.example.com", "client_id": "YOUR-CLIENT-ID"}}}}`

const incomplete = (provider: string, config: HanzoConfig, what: string): OAuthError =>
  new OAuthError({
    reason: "not_configured",
    message: `no login is set up for ${line(provider, 80)}: ${what} in your own settings, for example ` +
      `${example(line(provider, 80))} (docs/authentication.md). ${keyHint(line(provider, 80), config)}`
  })

const invalid = (provider: string, key: keyof AuthProviderConfig, fault: string): OAuthError =>
  new OAuthError({ reason: "not_configured", message: `auth.providers.${line(provider, 80)}.${key} ${fault}` })

const configured = [
  "authorization_endpoint",
  "token_endpoint",
  "device_authorization_endpoint",
  "pushed_authorization_request_endpoint",
  "revocation_endpoint"
] as const

/** Endpoints of the settings; whoever names them vouches for S256, as no metadata can say it. */
const endpointsOf = (settings: AuthProviderConfig): Partial<AuthorizationServer> =>
  Object.fromEntries(
    configured.flatMap((name) => settings[name] === undefined ? [] : [[name, settings[name]] as const])
  )

const isComplete = (settings: AuthProviderConfig): boolean =>
  settings.token_endpoint !== undefined &&
  (settings.authorization_endpoint ?? settings.device_authorization_endpoint) !== undefined

const flowOf = (provider: string, settings: AuthProviderConfig, server: AuthorizationServer): LoginFlow => {
  if (settings.flow !== undefined) return settings.flow
  if (settings.device_poll_endpoint !== undefined) return "device_json"
  const code = server.authorization_endpoint !== undefined
  const device = server.device_authorization_endpoint !== undefined
  return device && (deviceProviders.has(provider) || !code) ? "device" : "code"
}

const deviceJsonKeys = [
  "device_authorization_endpoint",
  "device_poll_endpoint",
  "device_verification_uri",
  "device_redirect_uri"
] as const

const deviceJsonOf = (settings: AuthProviderConfig): DeviceJsonEndpoints | undefined => {
  const { device_authorization_endpoint, device_poll_endpoint, device_redirect_uri, device_verification_uri } = settings
  return device_authorization_endpoint === undefined || device_poll_endpoint === undefined ||
      device_redirect_uri === undefined || device_verification_uri === undefined
    ? undefined
    : {
      authorization_endpoint: device_authorization_endpoint,
      poll_endpoint: device_poll_endpoint,
      verification_uri: device_verification_uri,
      redirect_uri: device_redirect_uri
    }
}

/** The keys that a flow needs and that neither settings nor metadata have. */
const missing = (flow: LoginFlow, settings: AuthProviderConfig, server: AuthorizationServer): ReadonlyArray<string> => {
  const token = server.token_endpoint === undefined ? ["token_endpoint"] : []
  switch (flow) {
    case "code":
      return [...server.authorization_endpoint === undefined ? ["authorization_endpoint"] : [], ...token]
    case "device":
      return [...server.device_authorization_endpoint === undefined ? ["device_authorization_endpoint"] : [], ...token]
    case "device_json":
      return [...deviceJsonKeys.filter((key) => settings[key] === undefined), ...token]
  }
}

const make = (http: HttpService, environment: EnvironmentService): Effect.Effect<LoginServersService> =>
  Effect.gen(function*() {
    const cache = yield* Cache.make({
      capacity: 64,
      timeToLive: Duration.infinity,
      lookup: (issuer: string) => discover(http, issuer)
    })
    // A failure is not kept: the next login asks again.
    const discovered = (issuer: string) => Effect.tapError(cache.get(issuer), () => cache.invalidate(issuer))

    const clientOf = (
      provider: string,
      settings: AuthProviderConfig,
      client_id: string
    ): Effect.Effect<OAuthClient, OAuthError> => {
      const name = settings.client_secret_env
      if (name === undefined) return Effect.succeed({ client_id })
      const secret = variable(environment, name)?.trim()
      return secret === undefined || secret === ""
        ? invalid(provider, "client_secret_env", `names the variable ${line(name, 80)}, which is not set`)
        : Effect.succeed({ client_id, client_secret: Redacted.make(secret) })
    }

    const serverFor = (
      provider: string,
      config: HanzoConfig,
      flow?: LoginFlow
    ): Effect.Effect<LoginPlan, OAuthError> =>
      Effect.gen(function*() {
        const { providers } = config.auth
        const settings: AuthProviderConfig = Object.hasOwn(providers, provider) ? providers[provider] ?? {} : {}
        const complete = isComplete(settings)
        const issuer = settings.issuer ?? (complete ? undefined : defaultIssuers.get(provider))
        const path = `auth.providers.${line(provider, 80)}`
        const { client_id } = settings
        if (issuer === undefined && !complete) {
          return yield* incomplete(
            provider,
            config,
            `set ${path}.issuer (or token_endpoint with authorization_endpoint or device_authorization_endpoint)${
              client_id === undefined ? " and client_id" : ""
            }`
          )
        }
        if (client_id === undefined) return yield* incomplete(provider, config, `set ${path}.client_id`)
        if (issuer !== undefined) {
          const fault = issuerFault(issuer)
          if (fault !== null) return yield* invalid(provider, "issuer", fault)
        }
        for (const key of [...configured, ...deviceJsonKeys.slice(0, 3)]) {
          const address = settings[key]
          const fault = address === undefined ? null : addressFault(address, issuer ?? null)
          if (fault !== null) return yield* invalid(provider, key, fault)
        }
        const client = yield* clientOf(provider, settings, client_id)
        const own = endpointsOf(settings)
        const found: AuthorizationServer = issuer === undefined || complete
          ? { issuer: issuer ?? null, code_challenge_methods_supported: ["S256"] }
          : yield* discovered(issuer)
        const server: AuthorizationServer = { ...found, ...own }
        const chosen = flow ?? flowOf(provider, settings, server)
        const lacking = missing(chosen, settings, server)
        if (lacking.length > 0) {
          return yield* incomplete(
            provider,
            config,
            `the login by ${chosen} needs ${lacking.map((key) => `${path}.${key}`).join(", ")}`
          )
        }
        const device_json = chosen === "device_json" ? deviceJsonOf(settings) : undefined
        return {
          server,
          client,
          scopes: settings.scopes ?? [],
          flow: chosen,
          ...(device_json === undefined ? {} : { device_json }),
          ...(settings.resource === undefined ? {} : { resource: settings.resource }),
          parameters: settings.authorization_parameters ?? {},
          redirect: {
            ...(settings.redirect_host === undefined ? {} : { host: settings.redirect_host }),
            ...(settings.redirect_port === undefined ? {} : { port: settings.redirect_port })
          }
        }
      })

    return { serverFor, discover: discovered }
  })

/** @since 0.1.0 @category services */
export class LoginServers extends Context.Tag("@hanzo/dev/credentials/LoginServers")<
  LoginServers,
  LoginServersService
>() {
  static readonly layer: Layer.Layer<LoginServers, never, Http | Environment> = Layer.effect(
    LoginServers,
    Effect.flatMap(Effect.all([Http, Environment]), ([http, environment]) => make(http, environment))
  )
}
