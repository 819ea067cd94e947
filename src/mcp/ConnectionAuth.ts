/**
 * The authorizer of one connection: presents the token, and answers a refusal with a refresh, a login or a step-up
 * (reading 1.13).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { addressFault } from "../credentials/EndpointCall.ts"
import { isDue, isExpired } from "../credentials/Expiry.ts"
import type { OAuthError } from "../credentials/OAuthClient.ts"
import type { ProviderCredential } from "../credentials/ProviderCredential.ts"
import {
  type AuthTarget,
  type Discovered,
  headlessGrant,
  type LoginPlan,
  type Logins,
  type LoginWay,
  offline,
  scopesFor,
  union
} from "./AuthLogins.ts"
import type { McpAuthorizer, Refusal } from "./Authorizer.ts"
import * as Challenge from "./Challenge.ts"
import { fault } from "./HttpWire.ts"
import type { McpError } from "./McpError.ts"
import * as Remedy from "./Remedy.ts"

/** Step-ups for the same scopes (1.13). */
const maxStepUps = 2
/** Nonces for one request; a server that wants more of them takes none. */
const maxNonces = 3

const same = (a: Redacted.Redacted, b: Redacted.Redacted | null): boolean =>
  b !== null && Redacted.value(a) === Redacted.value(b)

/** Without a way it uses what is stored, refreshes it, and says `needs_login` for the rest. @since 0.1.0 @category constructors */
export const authorizerOf = (logins: Logins, target: AuthTarget, way?: LoginWay): Effect.Effect<McpAuthorizer> =>
  Effect.gen(function*() {
    const { bindings, boundTo, discover, granted, logIn, refresh, secured, stored } = logins
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
    const needsLogin = (why: string, scopes: ReadonlyArray<string> = []): McpError =>
      error(
        "needs_login",
        `${why}; run: ${Remedy.command("auth", target.server, scopes.flatMap((scope) => ["--scope", scope]))}`
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
