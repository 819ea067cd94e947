/**
 * What a request to a provider carries (readings 13.2, 13.5), looked up at each request: the environment, then the
 * settings, then the user's `api_key_command`, then the login that is stored, refreshed when it is due.
 *
 * A run whose key is in the environment or the settings touches no file; one without any looks once whether there is a
 * file of logins. What else it takes is loaded only then.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import * as Layers from "../domain/Layers.ts"
import { shortestSecret } from "../platform/ChildEnvironment.ts"
import { Environment, type EnvironmentService } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import type { Http } from "../platform/Http.ts"
import type { Processes } from "../platform/Processes.ts"
import { carried, commandOf, type Credential, find, settingsLoginOf } from "./ApiKeys.ts"
import type { CredentialError } from "./CredentialError.ts"
import { CredentialStore, type StoreNeeds } from "./CredentialStore.ts"
import { type Candidate, type Detection, detectionOrder, judge } from "./Detection.ts"

export { type Credential, find, variablesOf } from "./ApiKeys.ts"

/** @since 0.1.0 @category models */
export interface CredentialsService {
  /**
   * What a request to `provider` carries now; `None` = nothing is set up. A login that is due is refreshed first. Fails
   * when something is set up and gives nothing: a command that fails, a file that is corrupt or read by others, a login
   * that is no longer good and cannot be refreshed.
   */
  readonly keyFor: (provider: string, config: HanzoConfig) => Effect.Effect<Option.Option<Credential>, CredentialError>
  /**
   * A server answered 401 to `key`: what it came from is asked once more (the command runs again, the login is
   * refreshed). `None` = there is nothing else to try. Fails as `keyFor` does.
   */
  readonly rejected: (
    provider: string,
    config: HanzoConfig,
    key: Redacted.Redacted
  ) => Effect.Effect<Option.Option<Credential>, CredentialError>
  /**
   * The provider for a model that is named without one (reading 13.2): API keys of hanzo, anthropic and openai, then
   * stored logins in the same order. What is set up and does not work is said in the log and the next one is tried.
   */
  readonly detect: (
    kind: Candidate["kind"],
    config: HanzoConfig
  ) => Effect.Effect<Option.Option<{ readonly provider: string; readonly credential: Credential }>>
  /** What `detect` would choose and why, as far as it can be told without running a command or asking a server. */
  readonly explain: (config: HanzoConfig) => Effect.Effect<Detection>
  /**
   * What no text may hand on (G2) and neither the environment nor the keys of the settings say: stored tokens, keys and
   * tokens that were given out, client secrets, the login of the settings. The same array as long as nothing is new.
   */
  readonly secrets: (config: HanzoConfig) => Effect.Effect<ReadonlyArray<string>>
}

const make = Effect.gen(function*() {
  const context = yield* Effect.context<Environment | Processes>()
  const environment = yield* Environment
  const files = yield* Files
  const store = yield* CredentialStore
  const live = yield* Effect.cached(
    Effect.flatMap(Effect.promise(() => import("./Lookup.ts")), (module) => Effect.provide(module.make(store), context))
  )

  /** May anything but the environment and the settings hold something for one of these providers? */
  const more = (providers: ReadonlyArray<string>, config: HanzoConfig): Effect.Effect<boolean> =>
    providers.some((provider) => commandOf(provider, config) !== null || settingsLoginOf(provider, config) !== null)
      ? Effect.succeed(true)
      : Effect.match(files.stat(store.file), {
        // what cannot be looked at is a matter for the store, which says why
        onFailure: ({ reason }) => reason !== "not_a_directory",
        onSuccess: (stamp) => stamp !== null
      })

  /** Keys of commands and tokens of logins are in no variable and, once they were renewed, in no file. */
  const given = new Set<string>()
  const note = ({ key }: Credential): Effect.Effect<void> => Effect.sync(() => void given.add(Redacted.value(key)))
  const noted = <E>(found: Effect.Effect<Option.Option<Credential>, E>) =>
    Effect.tap(found, (one) => Option.isNone(one) ? Effect.void : note(one.value))
  let known: ReadonlyArray<string> = []

  const service: CredentialsService = {
    keyFor: (provider, config) =>
      Effect.suspend(() => {
        const found = find(environment, provider, config)
        if (Option.isSome(found)) return carried(found)
        return Effect.flatMap(more([provider], config), (may) =>
          may
            ? noted(Effect.flatMap(live, (lookup) => lookup.keyFor(provider, config)))
            : Effect.succeedNone)
      }),
    rejected: (provider, config, key) =>
      noted(Effect.flatMap(live, (lookup) => lookup.rejected(provider, config, key))),
    detect: (kind, config) =>
      Effect.suspend(() => {
        const keys = detectKeys(environment, config)
        const commands = detectionOrder.some((provider) => commandOf(provider, config) !== null)
        if (kind === "api_key" && !commands) return Effect.succeed(keys)
        const found = Effect.tap(
          Effect.flatMap(live, (lookup) => lookup.detect(kind, config)),
          (one) => Option.isNone(one) ? Effect.void : note(one.value.credential)
        )
        return Effect.flatMap(more(detectionOrder, config), (may) => may ? found : Effect.succeedNone)
      }),
    explain: (config) => Effect.flatMap(live, (lookup) => lookup.explain(config)),
    secrets: (config) =>
      Effect.map(store.secrets, (stored) => {
        const all = [...secretsOf(environment, config), ...stored, ...given]
        if (all.length !== known.length || all.some((secret, at) => secret !== known[at])) known = all
        return known
      })
  }
  return service
})

/** Client secrets, and the tokens of `oauth_credentials`. */
const secretsOf = ({ vars }: EnvironmentService, { auth, oauth_credentials }: HanzoConfig): ReadonlyArray<string> =>
  [
    ...Object.values(auth.providers).flatMap(({ client_secret_env }) =>
      client_secret_env === undefined ? [] : vars.get(client_secret_env)?.trim() ?? []
    ),
    ...Object.values(oauth_credentials ?? {}).filter((value): value is string => typeof value === "string")
  ].filter((secret) => secret.length >= shortestSecret)

const detectKeys = (environment: Parameters<typeof find>[0], config: HanzoConfig) =>
  Option.firstSomeOf(
    detectionOrder.map((provider) =>
      Option.map(find(environment, provider, config), (credential) => ({ provider, credential }))
    )
  )

/** @since 0.1.0 @category services */
export class Credentials extends Context.Tag("@hanzo/dev/credentials/Credentials")<Credentials, CredentialsService>() {
  /** Over a given store. */
  static readonly layerStore: Layer.Layer<
    Credentials,
    never,
    CredentialStore | Environment | Files | Processes
  > = Layers.effect(Credentials, make)

  static readonly layer: Layer.Layer<
    Credentials | CredentialStore,
    never,
    StoreNeeds | Http | Processes
  > = Layers.inOrder(CredentialStore.layer, Credentials.layerStore)

  /** Keys of the environment and the settings alone: no file, no command. */
  static readonly layerKeys: Layer.Layer<Credentials, never, Environment> = Layers.effect(
    Credentials,
    Effect.map(Environment, (environment): CredentialsService => {
      const keyFor = (provider: string, config: HanzoConfig) => find(environment, provider, config)
      return {
        keyFor: (provider, config) => Effect.suspend(() => carried(keyFor(provider, config))),
        rejected: () => Effect.succeedNone,
        detect: (kind, config) => Effect.sync(() => kind === "login" ? Option.none() : detectKeys(environment, config)),
        secrets: (config) => Effect.sync(() => secretsOf(environment, config)),
        explain: (config) =>
          Effect.sync(() =>
            judge(detectionOrder.map((provider) =>
              Option.match(keyFor(provider, config), {
                onNone: (): Candidate => ({
                  provider,
                  kind: "api_key",
                  state: "absent",
                  source: null,
                  detail: "no key"
                }),
                onSome: ({ source }): Candidate => ({
                  provider,
                  kind: "api_key",
                  state: "usable",
                  source,
                  detail: "a key is set"
                })
              })
            ))
          )
      }
    })
  )
}
