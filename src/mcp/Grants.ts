/**
 * Tokens that nobody has to log in for (RFC 6749, section 4.4; RFC 7523; RFC 8693): as the client alone, for an assertion
 * that somebody else has signed, or for an identity token that an identity provider exchanges for one.
 *
 * An assertion goes only to the server that it names: whoever got it otherwise could show it there.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TerminalText from "../codec/TerminalText.ts"
import type { McpLoginConfig } from "../config/Schema.ts"
import { shown } from "../credentials/EndpointCall.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError, type TokenAnswer } from "../credentials/OAuthClient.ts"
import type { SecretSourceService } from "../credentials/SecretSource.ts"
import { claimsOf } from "../credentials/SignedToken.ts"
import type { TokenEndpointService } from "../credentials/TokenEndpoint.ts"
import { readSigningKey } from "../platform/SigningKey.ts"

/** @since 0.1.0 @category models */
export type HeadlessGrant = "client_credentials" | "jwt_bearer" | "enterprise"

type ClientSettings = Pick<
  McpLoginConfig,
  "client_id" | "client_secret_env" | "client_key_file" | "client_key_env" | "client_key_id"
>

/** @since 0.1.0 @category models */
export interface SecretContext {
  readonly secrets: SecretSourceService
  /** For messages: `mcp_servers.NAME.oauth`. */
  readonly settings: string
  readonly secret_variables: ReadonlyArray<string>
}

const notConfigured = (message: string): OAuthError => new OAuthError({ reason: "not_configured", message })

/**
 * The client that settings name, with its secret or key; null = they name none. Reason `not_configured`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const configuredClient = (
  { client_id, client_key_env, client_key_file, client_key_id, client_secret_env }: ClientSettings,
  { secret_variables, secrets, settings }: SecretContext
): Effect.Effect<OAuthClient | null, OAuthError> =>
  Effect.gen(function*() {
    if (client_id === undefined) return null
    if (client_secret_env !== undefined) {
      const place = { env: client_secret_env }
      const client_secret = yield* secrets.read({ place, setting: `${settings}.client_secret`, secret_variables })
      return { client_id, client_secret }
    }
    if (client_key_file === undefined && client_key_env === undefined) return { client_id }
    const text = yield* secrets.read({
      place: { file: client_key_file, env: client_key_env },
      setting: `${settings}.client_key`,
      secret_variables
    })
    const key = readSigningKey(Redacted.value(text))
    if (typeof key === "string") {
      const [name, place] = client_key_file === undefined
        ? ["client_key_env", `the variable ${client_key_env}`]
        : ["client_key_file", client_key_file]
      return yield* notConfigured(`${settings}.${name}: what ${TerminalText.line(place ?? "", 500)} holds ${key}`)
    }
    return { client_id, client_key: { key, key_id: client_key_id ?? null } }
  })

const bare = (issuer: string): string => issuer.replace(/\/+$/u, "")

/** Who checks an assertion must find itself in it (RFC 7523, section 3); before its time is over. */
const checked = (
  assertion: Redacted.Redacted,
  { issuer, token_endpoint }: AuthorizationServer,
  what: string,
  pinned: boolean
): Effect.Effect<void, OAuthError> =>
  Effect.gen(function*() {
    const claims = claimsOf(Redacted.value(assertion))
    const name = shown(issuer ?? token_endpoint ?? "")
    if (claims === null || claims.audiences.length === 0) {
      return pinned ? undefined : yield* notConfigured(
        `${what} does not say which server it is for, so it was not sent to ${name}; set issuer beside it if it is for that one`
      )
    }
    const names = [issuer, token_endpoint].flatMap((each) => each === null || each === undefined ? [] : [bare(each)])
    if (!claims.audiences.some((each) => names.includes(bare(each)))) {
      return yield* notConfigured(
        `${what} is for ${
          TerminalText.line(claims.audiences.join(", "), 300)
        }, and the authorization server is ${name}; it was not sent`
      )
    }
    const now = yield* Clock.currentTimeMillis
    if (claims.expires_at !== null && claims.expires_at * 1000 <= now) {
      const at = DateTime.make(claims.expires_at * 1000)
      return yield* notConfigured(
        `${what} expired${at._tag === "Some" ? ` at ${DateTime.formatIso(at.value)}` : ""}; it was not sent`
      )
    }
  })

/** What a grant is asked with. @since 0.1.0 @category models */
export interface GrantInput {
  readonly grant: HeadlessGrant
  readonly oauth: McpLoginConfig
  readonly context: SecretContext
  readonly endpoint: TokenEndpointService
  /** By issuer; reason `discovery_failed`. */
  readonly issuerOf: (issuer: string) => Effect.Effect<AuthorizationServer, OAuthError>
  readonly server: AuthorizationServer
  readonly resource: string
  readonly scopes: ReadonlyArray<string>
  /** The key that the tokens are to be bound to. */
  readonly dpop: OAuthClient["dpop"]
}

const assertionOf = (
  { context: { secret_variables, secrets, settings }, oauth, resource, server }: GrantInput,
  audience: string
): Effect.Effect<Redacted.Redacted, OAuthError> =>
  secrets.read({
    place: { file: oauth.assertion_file, env: oauth.assertion_env, command: oauth.assertion_command },
    setting: `${settings}.assertion`,
    secret_variables,
    tell: { MCP_OAUTH_AUDIENCE: audience, MCP_OAUTH_ISSUER: server.issuer ?? "", MCP_OAUTH_RESOURCE: resource }
  })

const provided = (input: GrantInput): Effect.Effect<Redacted.Redacted, OAuthError> =>
  Effect.gen(function*() {
    const { context, endpoint, issuerOf, oauth, resource, scopes, server } = input
    const settings = `${context.settings}.identity_provider`
    const { issuer, token_endpoint, ...client } = oauth.identity_provider ?? {}
    const who = yield* configuredClient(client, { ...context, settings })
    if (who === null) return yield* notConfigured(`${settings}.client_id is missing`)
    const provider = token_endpoint !== undefined
      ? { issuer: issuer ?? null, token_endpoint }
      : issuer !== undefined
      ? yield* issuerOf(issuer)
      : yield* notConfigured(`${settings}.issuer is missing`)
    const id_token = yield* assertionOf(input, who.client_id)
    return yield* endpoint.identityAssertion(provider, who, {
      id_token,
      audience: server.issuer ?? "",
      resource,
      scopes
    })
  })

/**
 * A token and the client it is for. One request to a server each time: what is refused is neither asked again nor tried
 * another way. Reasons as those of the token endpoint.
 *
 * @since 0.1.0
 * @category combinators
 */
export const obtain = (
  input: GrantInput
): Effect.Effect<{ readonly tokens: TokenAnswer; readonly client: OAuthClient }, OAuthError> =>
  Effect.gen(function*() {
    const { context, dpop, endpoint, grant, oauth, resource, scopes, server } = input
    const own = yield* configuredClient(oauth, context)
    if (own === null && grant !== "jwt_bearer") {
      return yield* notConfigured(`${context.settings}.client_id is missing; the grant ${grant} needs it`)
    }
    const client: OAuthClient = {
      ...own ?? { client_id: "", token_endpoint_auth_method: "none" },
      ...(dpop === undefined ? {} : { dpop })
    }
    const options = { scopes, resource }
    if (grant === "client_credentials") {
      if (client.client_secret === undefined && client.client_key === undefined) {
        return yield* notConfigured(
          `${context.settings} has neither client_secret_env nor a client_key; the grant ${grant} needs one of them`
        )
      }
      return { tokens: yield* endpoint.clientCredentials(server, client, options), client }
    }
    const assertion = grant === "enterprise" ? yield* provided(input) : yield* assertionOf(input, server.issuer ?? "")
    const what = grant === "enterprise"
      ? "the assertion of the identity provider"
      : `the assertion of ${context.settings}`
    yield* checked(assertion, server, what, grant === "enterprise" || oauth.issuer !== undefined)
    return { tokens: yield* endpoint.jwtBearer(server, client, assertion, options), client }
  })
