/**
 * Keys and logins behind `Credentials`, loaded when neither the environment nor the settings hold a key.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import { Environment } from "../platform/Environment.ts"
import type { Processes } from "../platform/Processes.ts"
import { carried, commandOf, type Credential, find, settingsLoginOf, variablesOf } from "./ApiKeys.ts"
import { CredentialError } from "./CredentialError.ts"
import * as CredentialFile from "./CredentialFile.ts"
import type { CredentialsService } from "./Credentials.ts"
import type { CredentialStoreService, StoredLogin } from "./CredentialStore.ts"
import { type Candidate, detectionOrder, type Finding, judge } from "./Detection.ts"
import { isDue, isExpired } from "./Expiry.ts"
import { headerFault } from "./HeaderText.ts"
import { make as makeKeyCommand } from "./KeyCommand.ts"
import type { ProviderCredential } from "./ProviderCredential.ts"

const commandSource = "settings, api_key_command"
const settingsLogin = "settings, oauth_credentials"

/** It is never written and so never refreshed. A text says what is wrong with it. */
const loginOfSettings = (provider: string, config: HanzoConfig): ProviderCredential | string | null => {
  const login = settingsLoginOf(provider, config)
  return login === null ? null : CredentialFile.fromObject(provider, login)
}

const faultOf = ({ key }: Credential): string | null => {
  const fault = headerFault(Redacted.value(key))
  return fault === null ? null : `the key ${fault}`
}

const same = (a: Redacted.Redacted, b: Redacted.Redacted): boolean => Redacted.value(a) === Redacted.value(b)

/** @since 0.1.0 @category constructors */
export const make = (
  store: CredentialStoreService
): Effect.Effect<Omit<CredentialsService, "secrets">, never, Environment | Processes> =>
  Effect.gen(function*() {
    const environment = yield* Environment
    const command = yield* makeKeyCommand
    const source = `the login of ${store.file}`

    const ofLogin = ({ access_token }: ProviderCredential): Credential => ({ key: access_token, source, kind: "login" })

    const apiKey = (
      provider: string,
      config: HanzoConfig
    ): Effect.Effect<Option.Option<Credential>, CredentialError> => {
      const found = find(environment, provider, config)
      const line = commandOf(provider, config)
      return Option.isSome(found) || line === null
        ? carried(found)
        : Effect.map(command.key(line, config), (key) => Option.some({ key, source: commandSource, kind: "api_key" }))
    }

    const fromSettings = (
      provider: string,
      config: HanzoConfig
    ): Effect.Effect<Option.Option<Credential>, CredentialError> =>
      Effect.flatMap(usableOfSettings(provider, config), (found) => {
        if (Option.isSome(found) || settingsLoginOf(provider, config) === null) return Effect.succeed(found)
        const login = loginOfSettings(provider, config)
        return Effect.fail(
          new CredentialError({
            reason: "needs_login",
            provider,
            message: `the login of ${provider} (${settingsLogin}) cannot be used: ${
              typeof login === "string" ? login : "it has expired"
            }; set a new one, or log in (hanzo-dev auth login ${provider})`
          })
        )
      })

    const usableOfSettings = (provider: string, config: HanzoConfig): Effect.Effect<Option.Option<Credential>> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const login = loginOfSettings(provider, config)
        return login === null || typeof login === "string" || isExpired(login, now)
          ? Option.none()
          : Option.some({ key: login.access_token, source: settingsLogin, kind: "login" })
      })

    /** A login to send now. One that is due is refreshed; while it is still good, a refresh that fails does not matter. */
    const usable = (
      { credential, provider, state }: StoredLogin,
      config: HanzoConfig
    ): Effect.Effect<Credential, CredentialError> => {
      if (state === "valid") return Effect.succeed(ofLogin(credential))
      const renewed = Effect.map(store.refresh(provider, config, { than: credential.access_token }), ofLogin)
      return Effect.catchAll(renewed, (error) =>
        Effect.gen(function*() {
          if (isExpired(credential, yield* Clock.currentTimeMillis)) return yield* error
          yield* Effect.logDebug(error.message)
          return ofLogin(credential)
        }))
    }

    const login = (
      provider: string,
      config: HanzoConfig
    ): Effect.Effect<Option.Option<Credential>, CredentialError> =>
      Effect.gen(function*() {
        const stored = yield* store.look(provider)
        if (Option.isNone(stored)) return yield* fromSettings(provider, config)
        return yield* usable(stored.value, config).pipe(
          Effect.asSome,
          Effect.catchAll((error) =>
            Effect.flatMap(
              usableOfSettings(provider, config),
              (other) => Option.isSome(other) ? Effect.succeed(other) : Effect.fail(error)
            )
          )
        )
      })

    const keyFor: CredentialsService["keyFor"] = (provider, config) =>
      Effect.flatMap(
        apiKey(provider, config),
        (found) => Option.isSome(found) ? Effect.succeed(found) : login(provider, config)
      )

    const rejected: CredentialsService["rejected"] = (provider, config, key) =>
      Effect.gen(function*() {
        const line = commandOf(provider, config)
        if (line !== null) yield* command.forget(line, key)
        let found = yield* apiKey(provider, config)
        if (Option.isNone(found)) {
          const stored = yield* store.look(provider)
          const bad = Option.isSome(stored) && same(stored.value.credential.access_token, key)
          found = bad
            ? Option.some(ofLogin(yield* store.refresh(provider, config, { than: key })))
            : yield* login(provider, config)
        }
        return Option.filter(found, (credential) => !same(credential.key, key))
      })

    /** Said once: a model is looked for several times, and one file can fail three providers. */
    const told = new Set<string>()
    const passedOver = (provider: string, { message }: CredentialError): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (told.has(message)) return Effect.void
        told.add(message)
        return Effect.logWarning(`${provider} is not used: ${message}`)
      })

    const detect: CredentialsService["detect"] = (kind, config) =>
      Effect.gen(function*() {
        for (const provider of detectionOrder) {
          const found = yield* (kind === "api_key" ? apiKey(provider, config) : login(provider, config)).pipe(
            Effect.catchAll((error) => Effect.as(passedOver(provider, error), Option.none<Credential>()))
          )
          if (Option.isSome(found)) return Option.some({ provider, credential: found.value })
        }
        return Option.none()
      })

    const keyFinding = (provider: string, config: HanzoConfig): Effect.Effect<Finding> =>
      Effect.gen(function*() {
        const found = find(environment, provider, config)
        if (Option.isSome(found)) {
          return { state: "usable", source: found.value.source, detail: faultOf(found.value) ?? "a key is set" }
        }
        const line = commandOf(provider, config)
        if (line === null) {
          return { state: "absent", source: null, detail: `no ${variablesOf(provider, config).join(" or ")}` }
        }
        const known = (yield* command.cached(line)) !== null
        return {
          state: "usable",
          source: commandSource,
          detail: known ? "the command gave a key" : "a command is set; it runs when the key is needed"
        }
      })

    const settingsFinding = (provider: string, config: HanzoConfig): Effect.Effect<Finding | null> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const found = loginOfSettings(provider, config)
        if (found === null) return null
        return typeof found === "string"
          ? { state: "unusable", source: settingsLogin, detail: found }
          : isExpired(found, now)
          ? {
            state: "unusable",
            source: settingsLogin,
            detail: "expired; the settings are never written, set a new one"
          }
          : { state: "usable", source: settingsLogin, detail: "a login is set" }
      })

    const storedFinding = (provider: string, now: number): Effect.Effect<Finding> =>
      Effect.match(store.look(provider), {
        onFailure: ({ message }): Finding => ({ state: "unusable", source, detail: message }),
        onSuccess: Option.match({
          onNone: (): Finding => ({ state: "absent", source: null, detail: "no login is stored" }),
          onSome: ({ credential, state }): Finding => ({
            state: state === "needs_login" ? "unusable" : "usable",
            source,
            detail: state === "needs_login"
              ? `the login is no longer good; log in again (hanzo-dev auth login ${provider})`
              : state === "due"
              ? `the login ${isExpired(credential, now) ? "has expired" : "is about to expire"} and will be refreshed`
              : credential.expires_at === null || isDue(credential, now)
              ? "a login is stored"
              : `a login is stored, good for ${Math.floor((credential.expires_at - now / 1000) / 60)} min`
          })
        })
      })

    const explain: CredentialsService["explain"] = (config) =>
      Effect.gen(function*() {
        const now = yield* Clock.currentTimeMillis
        const candidates: Array<Candidate> = []
        for (const provider of detectionOrder) {
          candidates.push({ provider, kind: "api_key", ...(yield* keyFinding(provider, config)) })
        }
        for (const provider of detectionOrder) {
          const stored = yield* storedFinding(provider, now)
          const other = stored.state === "usable" ? null : yield* settingsFinding(provider, config)
          const better = other !== null && (other.state === "usable" || stored.state === "absent") ? other : stored
          candidates.push({ provider, kind: "login", ...better })
        }
        return judge(candidates)
      })

    const service: Omit<CredentialsService, "secrets"> = { keyFor, rejected, detect, explain }
    return service
  })
