/**
 * Logins at MCP servers over HTTP (HIP-301 sections 1 and 6; reading 1.13): from a refusal to the authorization server, to a
 * token, to the store. A token goes to the resource it was issued for and, to be refreshed, to its own issuer; nowhere else.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { CredentialStore, type StoredLogin } from "../credentials/CredentialStore.ts"
import type { OAuthError } from "../credentials/OAuthClient.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import type { Environment } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import * as AuthLogins from "./AuthLogins.ts"
import { type AuthTarget, headlessGrant, type LoginWay, offline, scopesFor, union } from "./AuthLogins.ts"
import type { McpAuthorizer } from "./Authorizer.ts"
import * as Challenge from "./Challenge.ts"
import { authorizerOf } from "./ConnectionAuth.ts"

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

const probeLimits = { connect_ms: 10_000, headers_ms: 30_000, idle_ms: 30_000 }

const make = Effect.gen(function*() {
  const http = yield* Http
  const store = yield* CredentialStore
  const logins = yield* AuthLogins.make
  const { boundTo, discover, flows, granted, logIn, partyOf, secured, stored } = logins

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
    authorizer: (target, way) => authorizerOf(logins, target, way),
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
