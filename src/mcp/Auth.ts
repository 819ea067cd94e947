/**
 * Logins at MCP servers over HTTP (HIP-301 sections 1 and 6; reading 1.13): from a refusal to the authorization server, to a
 * token, to the store. A token goes to the resource it was issued for and, to be refreshed, to its own issuer; nowhere else.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig, McpServerConfig } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { serverKey } from "../credentials/CredentialFile.ts"
import { CredentialStore, type StoredLogin } from "../credentials/CredentialStore.ts"
import { addressFault, shown } from "../credentials/EndpointCall.ts"
import { isDue, isExpired } from "../credentials/Expiry.ts"
import { credentialOf } from "../credentials/Login.ts"
import type { LoginEvents } from "../credentials/LoginEvents.ts"
import { type AuthorizationServer, type OAuthClient, OAuthError } from "../credentials/OAuthClient.ts"
import type { LoginResult } from "../credentials/OAuthFlow.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import type { Party } from "../credentials/TokenRefresh.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type { Environment } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import type { McpAuthorizer, Refusal } from "./Authorizer.ts"
import * as Challenge from "./Challenge.ts"
import type { HeadlessGrant, SecretContext } from "./Grants.ts"
import { fault } from "./HttpWire.ts"
import * as IssuerMetadata from "./IssuerMetadata.ts"
import * as LoginFlows from "./LoginFlows.ts"
import type { McpError } from "./McpError.ts"
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

/** @since 0.1.0 @category models */
export interface McpAuthService {
  /** For one connection. Without a way it uses what is stored, refreshes it, and says `needs_login` for the rest. */
  readonly authorizer: (target: AuthTarget, way?: LoginWay) => Effect.Effect<McpAuthorizer>
  /** `hanzo-dev mcp auth SERVER`: asks the server what it wants, logs in, stores; by a grant without a login nothing is stored. */
  readonly login: (target: AuthTarget, way: LoginWay) => Effect.Effect<ProviderCredential, OAuthError | CredentialError>
  /** What is stored for this server, the newest last. */
  readonly stored: (target: AuthTarget) => Effect.Effect<ReadonlyArray<StoredLogin>, CredentialError>
  /** Revokes where that is possible and forgets; the number of logins that were there. */
  readonly logout: (target: AuthTarget) => Effect.Effect<number, CredentialError>
}

/** The grant of these settings that nobody has to log in for; null = a person logs in. @since 0.1.0 @category combinators */
export const headlessGrant = ({ oauth }: Pick<AuthTarget, "oauth">): HeadlessGrant | null =>
  oauth?.grant === undefined || oauth.grant === "authorization_code" ? null : oauth.grant

/** Step-ups for the same scopes (1.13). @since 0.1.0 @category constants */
export const maxStepUps = 2
/** Nonces for one request; a server that wants more of them takes none. */
const maxNonces = 3
const offline = "offline_access"
const loopbackAddress = "http://127.0.0.1/callback"
const probeLimits = { connect_ms: 10_000, headers_ms: 30_000, idle_ms: 30_000 }

interface Discovered {
  readonly server: AuthorizationServer
  readonly resource: string
  readonly scopes_supported: ReadonlyArray<string> | null
  /** What the server says of tokens that are bound to a key. */
  readonly dpop: Challenge.Challenge["dpop"]
}

/** One login: what it asks for, and the key that its tokens are to be bound to. */
interface LoginPlan {
  readonly found: Discovered
  readonly scopes: ReadonlyArray<string>
  readonly dpop: OAuthClient["dpop"]
}

const union = (...lists: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => [...new Set(lists.flat())]

const same = (a: Redacted.Redacted, b: Redacted.Redacted | null): boolean =>
  b !== null && Redacted.value(a) === Redacted.value(b)

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

const grants = Effect.promise(() => import("./Grants.ts"))

const make = Effect.gen(function*() {
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
  const stored: McpAuthService["stored"] = (target) =>
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

  const authorizer: McpAuthService["authorizer"] = (target, way) =>
    Effect.gen(function*() {
      const turn = yield* Effect.makeSemaphore(1)
      const unsafe = addressFault(target.url, null) !== null
      /** Undefined = not looked for yet. */
      let current: ProviderCredential | null | undefined
      let asked: ReadonlyArray<string> = []
      const grant = headlessGrant(target)
      /** Nobody has to be asked, or there is somebody. */
      const canLogIn = grant !== null || way !== undefined
      /** What the last token was asked for. */
      let last: LoginPlan | null = null
      /** The token of the last login here. */
      let newest: Redacted.Redacted | null = null
      const stepUps = new Map<string, number>()

      const error = (reason: McpError["reason"], message: string): McpError =>
        fault(target, reason, message, { sent: false })
      const toMcpError = (cause: OAuthError | CredentialError): McpError =>
        error(
          cause.reason === "unavailable" || cause.reason === "busy"
            ? "network"
            : grant === null
            ? "needs_login"
            : "config",
          `it asks for a ${grant === null ? "login" : `token, and there is none by ${grant}`}: ${cause.message}`
        )
      const name = TerminalText.line(target.server, 80)
      const needsLogin = (why: string, scopes: ReadonlyArray<string> = []): McpError =>
        error(
          "needs_login",
          `${why}; run: hanzo-dev mcp auth ${name}${
            scopes.map((scope) => ` --scope ${TerminalText.line(scope, 80)}`).join("")
          }`
        )

      const look = grant === null
        ? Effect.map(stored(target), (all) => all.at(-1)?.credential ?? null)
        : Effect.succeed(null)

      /** Null = it cannot be refreshed. */
      const renewed = (credential: ProviderCredential): Effect.Effect<ProviderCredential | null, McpError> =>
        grant !== null && last !== null
          ? Effect.mapError(granted(target, grant, last), toMcpError)
          : credential.refresh_token === null
          ? Effect.succeed(null)
          : refresh(target, credential).pipe(
            Effect.catchAll((cause) =>
              cause.reason === "needs_login" || cause.reason === "not_found" || cause.reason === "not_configured"
                ? Effect.succeed(null)
                : Effect.fail(toMcpError(cause))
            )
          )

      const usable: Effect.Effect<ProviderCredential | null, McpError> = Effect.gen(function*() {
        if (current === undefined) current = yield* Effect.mapError(look, toMcpError)
        // A key that cannot be read makes its token worthless: log in again.
        if (current !== null && !(yield* bindings.sound(current))) current = null
        if (current === null) return null
        const now = yield* Clock.currentTimeMillis
        if (!isDue(current, now)) return current
        const before: ProviderCredential = current
        // A token that is only about to expire is still good when there is no other.
        const after = yield* Effect.catchIf(
          renewed(before),
          () => !isExpired(before, now),
          () => Effect.succeed(before)
        )
        current = after ?? (isExpired(before, now) ? null : before)
        return current
      })

      const login = (found: Discovered, scopes: ReadonlyArray<string>): Effect.Effect<boolean, McpError> =>
        Effect.gen(function*() {
          const dpop = yield* boundTo(target, found, grant === null ? null : current ?? null)
          const plan: LoginPlan = { found, scopes, dpop }
          const credential = yield* (grant === null ? logIn(target, way ?? {}, plan) : granted(target, grant, plan))
          last = plan
          current = credential
          asked = scopes
          newest = credential.access_token
          return true
        }).pipe(Effect.catchAll((cause) => toMcpError(cause)))

      const scopesOf = (
        { scopes_supported, server }: Discovered,
        challenged: ReadonlyArray<string> | null,
        more: ReadonlyArray<string>
      ): ReadonlyArray<string> => {
        const scopes = scopesFor(server, challenged, scopes_supported, more)
        // Nobody is away who might come back: there is nothing to refresh.
        return grant === null ? scopes : scopes.filter((scope) => scope !== offline)
      }

      const unauthorized = (
        challenge: Challenge.Challenge,
        { refused, used }: Refusal
      ): Effect.Effect<boolean, McpError> =>
        Effect.gen(function*() {
          if (refused > 0 && newest !== null && same(newest, used)) {
            return yield* error("needs_login", "it refuses the token of a login that was just made (status 401)")
          }
          yield* Effect.mapError(secured(target), toMcpError)
          // Another process may have logged in or refreshed meanwhile.
          const fresh = yield* Effect.mapError(look, toMcpError)
          if (fresh !== null && !same(fresh.access_token, used) && !isDue(fresh, yield* Clock.currentTimeMillis)) {
            current = fresh
            return true
          }
          if (!canLogIn && (fresh === null || fresh.refresh_token === null)) {
            return yield* needsLogin("it asks for a login (status 401)")
          }
          const found = yield* Effect.mapError(discover(target, challenge), toMcpError)
          if (refused === 0 && fresh !== null && fresh.issuer === found.server.issuer) {
            const again = yield* renewed(fresh)
            if (again !== null && !same(again.access_token, used)) {
              current = again
              return true
            }
          }
          if (!canLogIn) return yield* needsLogin("its login is no longer good (status 401)")
          return yield* login(
            found,
            scopesOf(found, challenge.scopes, union(target.oauth?.scopes ?? [], way?.scopes ?? []))
          )
        })

      const insufficient = (challenge: Challenge.Challenge): Effect.Effect<boolean, McpError> =>
        Effect.gen(function*() {
          const have = union(asked, current?.scopes ?? [], target.oauth?.scopes ?? [])
          const named = union(have, challenge.scopes ?? [])
          const key = named.toSorted().join(" ")
          const before = stepUps.get(key) ?? 0
          if (!canLogIn) {
            return yield* needsLogin("its login does not reach far enough (insufficient_scope)", named)
          }
          if (before >= maxStepUps) {
            return yield* error(
              "needs_login",
              `it asks for more rights (insufficient_scope), although ${before} logins asked for all that it names`
            )
          }
          stepUps.set(key, before + 1)
          const found = yield* Effect.mapError(discover(target, challenge), toMcpError)
          return yield* login(found, scopesOf(found, challenge.scopes, union(have, way?.scopes ?? [])))
        })

      return {
        present: (request) =>
          Effect.suspend(() =>
            current === null || unsafe ? Effect.succeed(null) : Effect.flatMap(
              turn.withPermits(1)(usable),
              (credential) => credential === null ? Effect.succeed(null) : bindings.present(credential, request)
            )
          ),
        answered: bindings.answered,
        refused: (refusal) =>
          turn.withPermits(1)(Effect.suspend(() => {
            const challenge = Challenge.read(refusal.challenge)
            if (refusal.status === 403 && challenge.error !== "insufficient_scope") return Effect.succeed(false)
            // The nonce came with the refusal and is known by now; the token is as good as before.
            if (challenge.error === Challenge.nonceWanted && refusal.used !== null) {
              return refusal.refused < maxNonces
                ? Effect.succeed(true)
                : error(
                  "protocol",
                  `it asks for another nonce, ${refusal.refused + 1} times (status ${refusal.status})`
                )
            }
            // Another request was quicker.
            if (current !== null && current !== undefined && !same(current.access_token, refusal.used)) {
              return Effect.succeed(true)
            }
            return refusal.status === 401 ? unauthorized(challenge, refusal) : insufficient(challenge)
          }))
      }
    })

  /** What the server says to somebody without a token. */
  const challengeOf = (target: AuthTarget): Effect.Effect<Challenge.Challenge> =>
    Effect.scoped(Effect.gen(function*() {
      const response = yield* http.request({
        method: "POST",
        url: target.url,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
        limits: probeLimits
      })
      yield* response.release
      return response.status === 401 ? Challenge.read(response.headers["www-authenticate"]) : Challenge.none
    })).pipe(Effect.orElseSucceed(() => Challenge.none))

  const service: McpAuthService = {
    authorizer,
    stored,
    login: (target, way) =>
      Effect.gen(function*() {
        yield* secured(target)
        const challenge = yield* challengeOf(target)
        const found = yield* discover(target, challenge)
        const more = union(target.oauth?.scopes ?? [], way.scopes ?? [])
        const scopes = scopesFor(found.server, challenge.scopes, found.scopes_supported, more)
        const dpop = yield* boundTo(target, found, null)
        const grant = headlessGrant(target)
        return yield* (grant === null
          ? logIn(target, way, { found, scopes, dpop })
          : granted(target, grant, { found, dpop, scopes: scopes.filter((scope) => scope !== offline) }))
      }),
    logout: (target) =>
      Effect.gen(function*() {
        const all = yield* stored(target)
        for (const { credential, provider } of all) {
          yield* Effect.ignore(Effect.gen(function*() {
            const party = yield* partyOf(target, credential)
            if (party?.server.revocation_endpoint === undefined) return
            const { endpoint } = yield* flows
            yield* endpoint.revoke(party.server, party.client, credential.refresh_token ?? credential.access_token)
          }))
          yield* store.remove(provider)
        }
        return all.length
      })
  }
  return service
})

/** @since 0.1.0 @category services */
export class McpAuth extends Context.Tag("@hanzo/dev/mcp/McpAuth")<McpAuth, McpAuthService>() {
  static readonly layer: Layer.Layer<McpAuth, never, Http | Environment | CredentialStore> = Layer.effect(McpAuth, make)
}
