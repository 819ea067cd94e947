/**
 * Logins at MCP servers over HTTP: what a server asks for, the authorization server behind it, its client, the key that
 * tokens are bound to, the login itself (HIP-301 sections 1 and 6; reading 1.13). A token goes to the resource it was issued
 * for and, to be refreshed, to its own issuer; nowhere else.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig, McpServerConfig } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { serverKey } from "../credentials/CredentialFile.ts"
import { CredentialStore, type StoredLogin } from "../credentials/CredentialStore.ts"
import { addressFault, shown } from "../credentials/EndpointCall.ts"
import { credentialOf } from "../credentials/Login.ts"
import type { LoginEvents } from "../credentials/LoginEvents.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError } from "../credentials/OAuthClient.ts"
import type { LoginResult } from "../credentials/OAuthFlow.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import type { Party } from "../credentials/TokenRefresh.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import { Http } from "../platform/Http.ts"
import type * as Challenge from "./Challenge.ts"
import type { HeadlessGrant, SecretContext } from "./Grants.ts"
import * as IssuerMetadata from "./IssuerMetadata.ts"
import * as LoginFlows from "./LoginFlows.ts"
import * as Registration from "./Registration.ts"
import * as ResourceMetadata from "./ResourceMetadata.ts"
import * as TokenBinding from "./TokenBinding.ts"

/** What a definition says of its server. @since 0.1.0 @category models */
export interface AuthTarget {
  /** The server's name in the settings. */
  readonly server: string
  /** Variables expanded. */
  readonly url: string
  readonly oauth?: McpServerConfig["oauth"]
  readonly config: HanzoConfig
}

/** How the user takes part. @since 0.1.0 @category models */
export interface LoginWay {
  /** `false` opens none: the address is only shown. */
  readonly browser?: boolean
  /** See `OAuthFlow.AuthorizationInput`. */
  readonly pasted?: Effect.Effect<string>
  /** By a code that is typed on any device (RFC 8628). */
  readonly device?: boolean
  readonly events?: LoginEvents
  /** Asks for a client id, where no other way to one is left; null = none is known. */
  readonly client?: Effect.Effect<OAuthClient | null>
  /** In addition to those that the server asks for. */
  readonly scopes?: ReadonlyArray<string>
}

/** The grant of these settings that nobody has to log in for; null = a person logs in. @since 0.1.0 @category combinators */
export const headlessGrant = ({ oauth }: Pick<AuthTarget, "oauth">): HeadlessGrant | null =>
  oauth?.grant === undefined || oauth.grant === "authorization_code" ? null : oauth.grant

/** @since 0.1.0 @category constants */
export const offline = "offline_access"
const loopbackAddress = "http://127.0.0.1/callback"

/** What is known of a server's logins. @since 0.1.0 @category models */
export interface Discovered {
  readonly server: AuthorizationServer
  readonly resource: string
  readonly scopes_supported: ReadonlyArray<string> | null
  /** What the server says of tokens that are bound to a key. */
  readonly dpop: Challenge.Challenge["dpop"]
}

/** One login: what it asks for, and the key that its tokens are to be bound to. @since 0.1.0 @category models */
export interface LoginPlan {
  readonly found: Discovered
  readonly scopes: ReadonlyArray<string>
  readonly dpop: OAuthClient["dpop"]
}

/** Each once. @since 0.1.0 @category combinators */
export const union = (
  ...lists: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => [...new Set(lists.flat())]

/**
 * The scopes to ask for: what the challenge names, else what the resource supports, else none; the settings' own in any
 * case. `offline_access` is asked for exactly where the server has it, and not alone.
 *
 * @since 0.1.0
 * @category combinators
 */
export const scopesFor = (
  server: Pick<AuthorizationServer, "scopes_supported">,
  challenged: ReadonlyArray<string> | null,
  supported: ReadonlyArray<string> | null,
  more: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const wanted = union(more, challenged ?? supported ?? []).filter((scope) => scope !== offline)
  return wanted.length > 0 && server.scopes_supported?.includes(offline) === true ? [...wanted, offline] : wanted
}

/** What all connections to servers share. @since 0.1.0 @category models */
export interface Logins {
  readonly bindings: ReturnType<typeof TokenBinding.make>
  readonly flows: Effect.Effect<LoginFlows.LoginFlows>
  readonly secured: (target: AuthTarget) => Effect.Effect<void, OAuthError>
  readonly discover: (target: AuthTarget, challenge: Challenge.Challenge) => Effect.Effect<Discovered, OAuthError>
  readonly boundTo: (
    target: AuthTarget,
    found: Discovered,
    before: ProviderCredential | null
  ) => Effect.Effect<OAuthClient["dpop"], OAuthError>
  readonly stored: (target: AuthTarget) => Effect.Effect<ReadonlyArray<StoredLogin>, CredentialError>
  readonly logIn: (
    target: AuthTarget,
    way: LoginWay,
    plan: LoginPlan
  ) => Effect.Effect<ProviderCredential, OAuthError | CredentialError>
  readonly granted: (
    target: AuthTarget,
    grant: HeadlessGrant,
    plan: LoginPlan
  ) => Effect.Effect<ProviderCredential, OAuthError>
  readonly partyOf: (
    target: AuthTarget,
    credential: ProviderCredential
  ) => Effect.Effect<Party | null, OAuthError>
  readonly refresh: (
    target: AuthTarget,
    credential: ProviderCredential
  ) => Effect.Effect<ProviderCredential, CredentialError>
}

const grants = Effect.promise(() => import("./Grants.ts"))

/** @since 0.1.0 @category constructors */
export const make = Effect.gen(function*() {
  const http = yield* Http
  const store = yield* CredentialStore

  const flows = yield* LoginFlows.make
  const bindings = TokenBinding.make()

  /** Kept for this process; a failure is not. */
  const issuers = new Map<string, AuthorizationServer>()
  const issuerOf = (issuer: string): Effect.Effect<AuthorizationServer, OAuthError> =>
    Effect.suspend(() => {
      const known = issuers.get(issuer)
      return known === undefined
        ? Effect.tap(IssuerMetadata.discover(http, issuer), (server) => Effect.sync(() => issuers.set(issuer, server)))
        : Effect.succeed(known)
    })

  const settingsOf = (target: AuthTarget): string => `mcp_servers.${TerminalText.line(target.server, 80)}.oauth`

  const secretsOf = (target: AuthTarget): Effect.Effect<SecretContext> =>
    Effect.map(flows, ({ secrets }) => ({
      // What was read is in no list of secrets yet.
      secrets: {
        read: (question) => Effect.tap(secrets.read(question), (secret) => store.remember([Redacted.value(secret)]))
      },
      settings: settingsOf(target),
      secret_variables: secretVariables(target.config)
    }))

  const configured = (target: AuthTarget): Effect.Effect<OAuthClient | null, OAuthError> =>
    target.oauth?.client_id === undefined
      ? Effect.succeed(null)
      : Effect.flatMap(
        Effect.all([grants, secretsOf(target)]),
        ([{ configuredClient }, context]) => configuredClient(target.oauth ?? {}, context)
      )

  /** No login and no token over a wire that others read. */
  const secured = (target: AuthTarget): Effect.Effect<void, OAuthError> => {
    const problem = addressFault(target.url, null)
    return problem === null ? Effect.void : Effect.fail(
      new OAuthError({ reason: "not_configured", message: `the url of a server that asks for a login ${problem}` })
    )
  }

  const discover = (target: AuthTarget, challenge: Challenge.Challenge): Effect.Effect<Discovered, OAuthError> =>
    Effect.gen(function*() {
      yield* secured(target)
      const found = yield* ResourceMetadata.find(http, target.url, challenge.resource_metadata)
      // Before 2025-06-18 a server issued its tokens itself.
      const named = found?.authorization_servers ?? [new URL(target.url).origin]
      const pinned = target.oauth?.issuer
      const issuer = pinned === undefined ? named[0] : named.find((each) => each === pinned)
      if (issuer === undefined) {
        return yield* new OAuthError({
          reason: "not_configured",
          message: `the server names the authorization server ${shown(named[0] ?? "")}, and ${
            settingsOf(target)
          }.issuer is ${shown(pinned ?? "")}; nothing is sent there`
        })
      }
      return {
        server: yield* issuerOf(issuer),
        resource: found?.resource ?? ResourceMetadata.canonical(target.url),
        scopes_supported: found?.scopes_supported ?? null,
        dpop: found?.dpop === "only" || challenge.dpop === "only"
          ? "only"
          : found?.dpop === "offered" || challenge.dpop === "offered"
          ? "offered"
          : "no"
      }
    })

  /**
   * The key for a new login: where the settings want one, or the server itself offers it and its issuer says that it
   * binds tokens. An issuer's word alone is not enough: the servers behind it may not know such tokens.
   */
  const boundTo = (
    target: AuthTarget,
    { dpop, server }: Discovered,
    before: ProviderCredential | null
  ): Effect.Effect<OAuthClient["dpop"], OAuthError> =>
    Effect.gen(function*() {
      const wanted = target.oauth?.dpop
      if (wanted === false || (wanted === undefined && dpop === "no")) return undefined
      const taken = server.dpop_signing_alg_values_supported
      const required = wanted === true || dpop === "only"
      if (taken?.includes(TokenBinding.algorithm) !== true) {
        if (!required) return undefined
        if (taken !== undefined) {
          return yield* new OAuthError({
            reason: "not_configured",
            message:
              `${shown(server.issuer ?? "")} takes no proofs by ${TokenBinding.algorithm}, and tokens that are ` +
              `bound to a key are wanted by ${wanted === true ? `${settingsOf(target)}.dpop` : "the server"}`
          })
        }
      }
      const key = yield* bindings.keyFor(before)
      return { ...key, required }
    })

  /** Logins for this resource; of the configured client, if there is one. */
  const stored: Logins["stored"] = (target) =>
    Effect.map(
      store.list,
      ({ logins }) =>
        logins.filter(({ credential: { client_id, issuer, provider, resource } }) =>
          provider.startsWith("mcp/") && resource !== undefined && ResourceMetadata.covers(resource, target.url) &&
          (target.oauth?.issuer === undefined || target.oauth.issuer === issuer) &&
          (target.oauth?.client_id === undefined || target.oauth.client_id === client_id)
        )
    )

  const forgetOthers = (target: AuthTarget, kept: ProviderCredential): Effect.Effect<void, CredentialError> =>
    target.oauth?.client_id === undefined
      ? Effect.flatMap(stored(target), (all) =>
        Effect.forEach(
          all.filter(({ credential, provider }) => provider !== kept.provider && credential.resource === kept.resource),
          ({ provider }) => store.remove(provider),
          { discard: true }
        ))
      : Effect.void

  const logIn = (
    target: AuthTarget,
    way: LoginWay,
    { dpop, found: { resource, server }, scopes }: LoginPlan
  ): Effect.Effect<ProviderCredential, OAuthError | CredentialError> =>
    Effect.gen(function*() {
      yield* store.ready
      const { code, device, endpoint } = yield* flows
      const choice: Registration.ClientChoice = {
        configured: yield* configured(target),
        metadata_url: target.oauth?.client_metadata_url ?? null,
        asked: way.client ?? Effect.succeed(null),
        scopes,
        settings: settingsOf(target)
      }
      const client = (redirect_uri: string): Effect.Effect<OAuthClient, OAuthError> =>
        Effect.map(
          Registration.clientFor(http, server, choice, redirect_uri),
          (found) => dpop === undefined ? found : { ...found, dpop }
        )
      const shared = {
        server,
        scopes,
        resource,
        secret_variables: secretVariables(target.config),
        ...(way.browser === undefined ? {} : { browser: way.browser }),
        ...(way.events === undefined ? {} : { events: way.events })
      }
      const port = target.oauth?.callback_port
      const result: LoginResult = way.device === true
        ? yield* device.authorize({ ...shared, client: yield* client(loopbackAddress) })
        : yield* code.authorize({
          ...shared,
          client,
          redirect: port === undefined ? {} : { port },
          ...(way.pasted === undefined ? {} : { pasted: way.pasted }),
          parameters: {
            // Without it some servers give no refresh token (OpenID Connect Core, section 11).
            ...(scopes.includes(offline) ? { prompt: "consent" } : {}),
            // So that whoever gets hold of the code can do nothing with it (RFC 9449, section 10).
            ...(dpop === undefined ? {} : { dpop_jkt: dpop.thumbprint })
          }
        })
      const { client_secret } = result.client
      const credential: ProviderCredential = {
        ...credentialOf(
          serverKey(server.issuer ?? "", resource, result.client.client_id),
          { server, scopes, resource },
          result
        ),
        ...(client_secret === undefined || choice.configured !== null ? {} : { client_secret })
      }
      const { refresh_token } = credential
      yield* Effect.tapError(store.store(credential), () =>
        Effect.ignore(endpoint.revoke(server, result.client, refresh_token ?? credential.access_token)))
      yield* forgetOthers(target, credential)
      return credential
    })

  /** A token that nobody has to log in for. It is kept in memory alone: another one is there for the asking. */
  const granted = (
    target: AuthTarget,
    grant: HeadlessGrant,
    { dpop, found: { resource, server }, scopes }: LoginPlan
  ): Effect.Effect<ProviderCredential, OAuthError> =>
    Effect.gen(function*() {
      const { obtain } = yield* grants
      const { endpoint } = yield* flows
      const context = yield* secretsOf(target)
      const oauth = target.oauth ?? {}
      const result = yield* obtain({ grant, oauth, context, endpoint, issuerOf, server, resource, scopes, dpop })
      yield* store.remember([Redacted.value(result.tokens.access_token)])
      const key = serverKey(server.issuer ?? "", resource, result.client.client_id)
      return { ...credentialOf(key, { server, scopes, resource }, result), refresh_token: null }
    })

  const clientOf = (
    target: AuthTarget,
    credential: ProviderCredential
  ): Effect.Effect<OAuthClient | null, OAuthError> =>
    Effect.map(configured(target), (own) => {
      const { client_id, client_secret } = credential
      return client_id === undefined
        ? null
        : own !== null && own.client_id === client_id
        ? own
        : { client_id, ...(client_secret === undefined ? {} : { client_secret }) }
    })

  /** Who refreshes and revokes a login: its own issuer. */
  const partyOf = (target: AuthTarget, credential: ProviderCredential): Effect.Effect<Party | null, OAuthError> =>
    Effect.gen(function*() {
      const client = yield* clientOf(target, credential)
      const { issuer } = credential
      if (client === null || issuer === undefined) return null
      return { server: yield* issuerOf(issuer), client }
    })

  const refresh = (target: AuthTarget, credential: ProviderCredential) =>
    Effect.flatMap(
      Effect.orElseSucceed(partyOf(target, credential), () => null),
      (party) =>
        store.refresh(credential.provider, target.config, {
          than: credential.access_token,
          ...(party === null ? {} : { party })
        })
    )

  const logins: Logins = { bindings, secured, discover, boundTo, stored, logIn, granted, partyOf, refresh, flows }
  return logins
})
