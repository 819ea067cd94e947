/**
 * The store of logins behind `CredentialStore`, loaded when there is a file of logins or one is to be made.
 *
 * Every change happens under the lock of the file: read again, change, write whole. A refresh has one flight a provider
 * in this process, which no waiter's interruption ends, and one request a token over all processes: whoever gets the lock
 * and finds a newer token uses that.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { HanzoConfig } from "../config/Schema.ts"
import { Files } from "../platform/Files.ts"
import { FileLock } from "../platform/FileLock.ts"
import type { Http } from "../platform/Http.ts"
import { CredentialError } from "./CredentialError.ts"
import type { BrokenLogin, CredentialStoreService, LoginState, StoredLogin, StoreNeeds } from "./CredentialStore.ts"
import { isDue, isExpired } from "./Expiry.ts"
import { make as knownTokens } from "./KnownTokens.ts"
import { make as makeLoginFile } from "./LoginFile.ts"
import type { OAuthError, TokenAnswer } from "./OAuthClient.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"
import { type Party, TokenRefresh } from "./TokenRefresh.ts"

/** How often a login that could not be stored is tried again. */
const saveEvery = Duration.seconds(10)
/** How long the end of the program waits for the answer to a request that is out. */
const exitGrace = Duration.seconds(5)

const noRefreshToken = "it came without a refresh token"

const same = (a: Redacted.Redacted, b: Redacted.Redacted): boolean => Redacted.value(a) === Redacted.value(b)

/** Over any lock and any way to refresh. Its flights end with the scope. @since 0.1.0 @category constructors */
export const make: Effect.Effect<
  CredentialStoreService,
  never,
  StoreNeeds | FileLock | TokenRefresh | Scope.Scope
> = Effect.gen(function*() {
  const logins = yield* makeLoginFile
  const { corrupt, entriesOf, file, locked, put, read, ready, roomFor } = logins
  const tokens = yield* TokenRefresh
  const scope = yield* Effect.scope
  const flights = new Map<string, Deferred.Deferred<ProviderCredential, CredentialError>>()
  /** Refresh tokens that a server has refused: asking again would not help. */
  const refused = new Map<string, string>()
  /** Logins that a full or broken disk would not take, by the refresh token that they were had for. */
  const unsaved = new Map<string, { readonly used: string; readonly credential: ProviderCredential }>()

  const forget = (provider: string): void => {
    refused.delete(provider)
    unsaved.delete(provider)
  }

  /** The login as this process has it: one that could not be stored, as long as the file holds the one before. */
  const current = (credential: ProviderCredential): ProviderCredential => {
    const newer = unsaved.get(credential.provider)
    const { refresh_token } = credential
    return newer !== undefined && refresh_token !== null && newer.used === Redacted.value(refresh_token)
      ? newer.credential
      : credential
  }

  const loginIn = (text: string, provider: string) => Effect.map(logins.loginIn(text, provider), Option.map(current))

  const get: CredentialStoreService["get"] = (provider) => Effect.flatMap(read, ({ text }) => loginIn(text, provider))

  const stateOf = (credential: ProviderCredential, now: number): LoginState => {
    if (!isDue(credential, now)) return "valid"
    const { provider, refresh_token } = credential
    const hopeless = refresh_token === null || refused.get(provider) === Redacted.value(refresh_token)
    return hopeless ? (isExpired(credential, now) ? "needs_login" : "valid") : "due"
  }

  const stored = (credential: ProviderCredential): Effect.Effect<StoredLogin> =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      provider: credential.provider,
      credential,
      state: stateOf(credential, now)
    }))

  const look: CredentialStoreService["look"] = (provider) =>
    Effect.flatMap(
      get(provider),
      Option.match({
        onNone: () => Effect.succeedNone,
        onSome: (credential) => Effect.asSome(stored(credential))
      })
    )

  const list: CredentialStoreService["list"] = Effect.gen(function*() {
    const entries = yield* Effect.flatMap(read, ({ text }) => entriesOf(text))
    const sound: Array<StoredLogin> = []
    const rest: Array<BrokenLogin> = []
    for (const entry of entries.values()) {
      if ("problem" in entry) rest.push({ provider: entry.provider, message: corrupt(entry.problem).message })
      else sound.push(yield* stored(current(entry.credential)))
    }
    return { logins: sound, broken: rest }
  })

  const store: CredentialStoreService["store"] = (credential, options) =>
    Effect.tap(logins.store(credential, options), Effect.sync(() => forget(credential.provider)))

  const remove: CredentialStoreService["remove"] = (provider) =>
    Effect.tap(logins.remove(provider), Effect.sync(() => forget(provider)))

  const needsLogin = (provider: string, why: string): CredentialError =>
    new CredentialError({
      reason: "needs_login",
      provider,
      message:
        `the login of ${provider} is no longer good: ${why}; log in again (hanzo-dev auth login ${provider}), or set an API key`
    })

  const fromOAuth = (provider: string, error: OAuthError): CredentialError =>
    error.reason === "invalid_grant"
      ? needsLogin(provider, error.message)
      : new CredentialError({
        reason: error.reason === "not_configured" || error.reason === "s256_unsupported"
          ? "not_configured"
          : "unavailable",
        provider,
        message: `the login of ${provider} could not be refreshed: ${error.message}`
      })

  /** Under the lock: stores what could not be stored, unless somebody has logged in again meanwhile. */
  const saveAgain = (provider: string): Effect.Effect<void, CredentialError> =>
    Effect.gen(function*() {
      const kept = unsaved.get(provider)
      if (kept === undefined) return
      const found = yield* get(provider)
      if (Option.isSome(found) && found.value === kept.credential) yield* put(kept.credential)
      unsaved.delete(provider)
    })

  const saveLater = (provider: string): Effect.Effect<void> =>
    Effect.sleep(saveEvery).pipe(
      Effect.zipRight(locked(() => saveAgain(provider))),
      Effect.catchAll(() => Effect.suspend(() => saveLater(provider)))
    )

  /** The new login in memory, for the time in which it cannot be stored. */
  const keep = (
    used: ProviderCredential,
    refresh_token: Redacted.Redacted,
    renewed: ProviderCredential,
    error: CredentialError
  ): Effect.Effect<void> =>
    Effect.gen(function*() {
      const { provider } = used
      const known = unsaved.get(provider)
      unsaved.set(provider, {
        used: known?.credential === used ? known.used : Redacted.value(refresh_token),
        credential: renewed
      })
      if (known === undefined) yield* Effect.forkIn(Effect.interruptible(saveLater(provider)), scope)
      yield* Effect.logWarning(
        `the login of ${provider} was refreshed but could not be stored, so it holds for this process only until it ` +
          `can be: ${error.message}`
      )
    })

  /**
   * From the request to the rename nothing is interrupted: the server may have made the old refresh token worthless.
   * Only the wait for an answer ends some seconds after the program was asked to end.
   */
  const exchange = (
    party: Party,
    used: ProviderCredential,
    refresh_token: Redacted.Redacted
  ): Effect.Effect<ProviderCredential, CredentialError | OAuthError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const request = yield* Effect.forkDaemon(
          Effect.interruptible(tokens.refresh(party, { ...used, refresh_token }))
        )
        const first = yield* Effect.exit(restore(Fiber.await(request)))
        let answer: Exit.Exit<TokenAnswer, OAuthError>
        if (Exit.isSuccess(first)) answer = first.value
        else {
          const late = yield* Fiber.await(request).pipe(Effect.interruptible, Effect.timeoutOption(exitGrace))
          if (Option.isNone(late)) {
            yield* Fiber.interruptFork(request)
            return yield* Effect.interrupt
          }
          answer = late.value
        }
        const { access_token, expires_at, refresh_token: rotated, scopes } = yield* answer
        const renewed: ProviderCredential = {
          ...used,
          access_token,
          refresh_token: rotated ?? refresh_token,
          expires_at,
          ...(scopes === null ? {} : { scopes })
        }
        // Stored first, then used. Where that fails the old token is worthless all the same: this process goes on with
        // the new one and tries again.
        yield* Effect.catchAll(put(renewed), (error) => keep(used, refresh_token, renewed, error))
        return renewed
      })
    )

  const renew = (provider: string, config: HanzoConfig, than: Redacted.Redacted, given: Party | undefined) =>
    locked((held) => {
      const attempt = (bad: Redacted.Redacted, left: number): Effect.Effect<ProviderCredential, CredentialError> =>
        Effect.gen(function*() {
          const content = yield* read
          const now = yield* Clock.currentTimeMillis
          const found = yield* loginIn(content.text, provider)
          if (Option.isNone(found)) {
            return yield* new CredentialError({
              reason: "not_found",
              provider,
              message: `there is no login of ${provider} in ${file}`
            })
          }
          const credential = found.value
          const { refresh_token } = credential
          yield* Effect.ignore(saveAgain(provider))
          if (!same(credential.access_token, bad) && !isDue(credential, now)) return credential
          if (refresh_token === null) return yield* needsLogin(provider, noRefreshToken)
          if (refused.get(provider) === Redacted.value(refresh_token)) {
            return yield* needsLogin(provider, "the server refuses to refresh it")
          }
          const party = given ??
            (yield* Effect.mapError(tokens.serverOf(credential, config), (error) => fromOAuth(provider, error)))
          yield* roomFor(content)
          if (!(yield* held.held)) {
            return yield* new CredentialError({
              reason: "busy",
              provider,
              message: `the lock ${held.path} was lost while the login of ${provider} was to be refreshed; try again`
            })
          }
          return yield* exchange(party, credential, refresh_token).pipe(
            Effect.catchTag("OAuthError", (error) =>
              Effect.gen(function*() {
                if (error.reason !== "invalid_grant") return yield* fromOAuth(provider, error)
                refused.set(provider, Redacted.value(refresh_token))
                // A program that knows no lock may have been quicker: then its token stands in the file by now.
                const again = yield* get(provider)
                const newer = Option.isSome(again) && again.value.refresh_token !== null &&
                  !same(again.value.refresh_token, refresh_token)
                const other = Option.isSome(again) && !same(again.value.access_token, credential.access_token)
                return (newer || other) && left > 0
                  ? yield* attempt(credential.access_token, left - 1)
                  : yield* fromOAuth(provider, error)
              }))
          )
        })
      return attempt(than, 2)
    })

  /** One flight a provider; it lives in the scope of the store. */
  const join = (
    provider: string,
    config: HanzoConfig,
    than: Redacted.Redacted,
    party: Party | undefined
  ): Effect.Effect<{ readonly credential: ProviderCredential; readonly joined: boolean }, CredentialError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const known = flights.get(provider)
        if (known !== undefined) return { credential: yield* restore(Deferred.await(known)), joined: true }
        const result = yield* Deferred.make<ProviderCredential, CredentialError>()
        flights.set(provider, result)
        yield* Effect.interruptible(renew(provider, config, than, party)).pipe(
          Effect.onExit((exit) =>
            Effect.suspend(() => {
              flights.delete(provider)
              return Deferred.done(result, exit)
            })
          ),
          Effect.forkIn(scope)
        )
        return { credential: yield* restore(Deferred.await(result)), joined: false }
      })
    )

  const refresh: CredentialStoreService["refresh"] = (provider, config, { party, than } = {}) =>
    Effect.gen(function*() {
      const seen = Option.getOrNull(yield* get(provider))
      const bad = than ?? seen?.access_token ?? Redacted.make("")
      if (seen !== null) {
        // Neither of the two needs the lock, so a directory that cannot be written is no matter for them.
        const known = same(seen.access_token, bad)
        if (!known && !unsaved.has(provider) && !isDue(seen, yield* Clock.currentTimeMillis)) return seen
        if (known && seen.refresh_token === null) return yield* needsLogin(provider, noRefreshToken)
      }
      const { credential, joined } = yield* join(provider, config, bad, party)
      // The flight it joined had begun for an older token and ended with the one that is no longer good.
      return joined && same(credential.access_token, bad)
        ? (yield* join(provider, config, bad, party)).credential
        : credential
    })

  const { remember, secrets } = knownTokens(yield* Files, file)

  const service: CredentialStoreService = { file, get, look, store, refresh, ready, remove, list, secrets, remember }
  return service
})

/** @since 0.1.0 @category constructors */
export const live: Effect.Effect<CredentialStoreService, never, StoreNeeds | Http | Scope.Scope> = Effect.gen(
  function*() {
    const context = yield* Layer.build(Layer.merge(FileLock.layer, TokenRefresh.layer))
    return yield* Effect.provide(make, context)
  }
)
