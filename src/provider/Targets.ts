/**
 * From a model's name to all a request needs, address and key included. What others may see of it is `Models`.
 *
 * @since 0.1.0
 */
import * as Array from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Layers from "../domain/Layers.ts"
import { Config } from "../config/Config.ts"
import type { CredentialError } from "../credentials/CredentialError.ts"
import { type Credential, Credentials, variablesOf } from "../credentials/Credentials.ts"
import { detectionOrder } from "../credentials/Detection.ts"
import { Environment } from "../platform/Environment.ts"
import type { ModelTraits, ProtocolName } from "../protocol/Protocol.ts"
import { type Endpoint, isLoopback, resolve as resolveEndpoint } from "./EndpointResolver.ts"
import { type LocalServer, LocalServers } from "./LocalServers.ts"
import * as Catalogue from "./ModelCatalogue.ts"
import { ModelError } from "./ModelError.ts"
import type { ResolvedModel } from "./Models.ts"
import * as Providers from "./Providers.ts"
import { ScriptedModels } from "./ScriptedModels.ts"

/** A model behind an address. `key` is what the next request carries. @since 0.1.0 @category models */
export interface HttpTarget {
  readonly _tag: "Http"
  readonly model: ResolvedModel & { readonly protocol: ProtocolName }
  readonly endpoint: Endpoint
  readonly headers: Readonly<Record<string, string>>
  readonly credential: Option.Option<Credential>
  /** The server answered 401 to this key: another one for it, if there is one (readings 6.7, 13.5). */
  readonly renew: (key: Redacted.Redacted) => Effect.Effect<Option.Option<Credential>, ModelError>
}

/** A scenario of the embedded model. @since 0.1.0 @category models */
export interface ScriptedTarget {
  readonly _tag: "Scripted"
  readonly model: ResolvedModel & { readonly protocol: "scripted" }
}

/** @since 0.1.0 @category models */
export type Target = HttpTarget | ScriptedTarget

/** @since 0.1.0 @category models */
export interface TargetsService {
  /** A name as the user gave it; absent = the configured model. Keys are looked up anew at every call. */
  readonly resolve: (name?: string) => Effect.Effect<Target, ModelError>
}

/** Limits and retries of the agent's own requests (readings 2.6, 16.5). */
const defaults = {
  limits: { connect_ms: 10_000, headers_ms: 120_000, idle_ms: 300_000 },
  retry: { max_retries: 5, base_ms: 500, max_ms: 8_000, retry_after_cap_ms: 60_000 }
} as const

const limitsOf = ({ settings }: Providers.ProviderEntry): Pick<ResolvedModel, "limits" | "retry"> => ({
  limits: {
    connect_ms: settings.connect_ms ?? defaults.limits.connect_ms,
    headers_ms: settings.headers_ms ?? defaults.limits.headers_ms,
    idle_ms: settings.idle_ms ?? defaults.limits.idle_ms
  },
  retry: {
    max_retries: settings.max_retries ?? defaults.retry.max_retries,
    base_ms: settings.retry_base_ms ?? defaults.retry.base_ms,
    max_ms: settings.retry_max_ms ?? defaults.retry.max_ms,
    retry_after_cap_ms: settings.retry_after_cap_ms ?? defaults.retry.retry_after_cap_ms
  }
})

const officialHosts = new Set(["api.anthropic.com", "api.openai.com"])

const hostOf = (origin: string): string => URL.canParse(origin) ? new URL(origin).hostname : ""

/** What the provider, not the model, decides. */
const traitsOfProvider = (entry: Providers.ProviderEntry, endpoint: Endpoint): ModelTraits => {
  const host = hostOf(endpoint.origin)
  const openai = host === "api.openai.com" || host.endsWith(".openai.azure.com")
  return {
    ...(entry.protocol === "anthropic" && (entry.name === "anthropic" || host === "api.anthropic.com")
      ? { cache_control: true }
      : {}),
    ...(entry.protocol === "chat" && openai ? { max_completion_tokens: true } : {}),
    // Compatible servers may refuse a field that they do not know.
    ...(entry.protocol === "chat" && !openai && entry.name !== "hanzo" ? { prompt_cache_key: false } : {})
  }
}

const lines = (...parts: ReadonlyArray<string>): string => parts.join("\n")

/** Three lines for a user who has nothing set up yet. */
const noCredentialMessage = (servers: ReadonlyArray<LocalServer>): string => {
  const server = servers[0]
  const model = server?.models[0]
  return lines(
    "no credentials for any model provider were found",
    "set ANTHROPIC_API_KEY, OPENAI_API_KEY, or HANZO_API_KEY with HANZO_BASE_URL, or store a key: hanzo-dev auth login PROVIDER --api-key",
    server === undefined
      ? "or start a local server (Ollama, LM Studio, llama.cpp) and name its model, for example: -m ollama/MODEL"
      : `or use ${server.title}, which runs on this machine at ${server.base_url}: -m ${server.provider}/${
        model ?? "MODEL"
      }`
  )
}

const split = (name: string): { readonly first: string; readonly rest: string } | null => {
  const slash = name.indexOf("/")
  return slash <= 0 ? null : { first: name.slice(0, slash), rest: name.slice(slash + 1) }
}

const make = Effect.gen(function*() {
  const { config, origins } = yield* Config
  const environment = yield* Environment
  const credentials = yield* Credentials
  const local = yield* LocalServers
  const scenarios = yield* ScriptedModels

  const entryOf = (name: string) => Providers.entryOf(name, config, environment)
  const fail = (reason: ModelError["reason"], ...message: ReadonlyArray<string>) =>
    Effect.fail(new ModelError({ reason, message: lines(...message) }))

  const settingsHold = (name: string): string => Object.hasOwn(config.providers, name) ? "its settings" : "the settings"

  const endpointOf = (entry: Providers.ProviderEntry): Effect.Effect<Endpoint, ModelError> => {
    const variable = entry.base_url_variable
    const setting = `providers.${entry.name}.base_url`
    if (entry.base_url === null) {
      return fail(
        "bad_url",
        `the provider ${entry.name} has no base URL`,
        variable === null
          ? `set ${setting} in the settings, for example "https://api.example.com/v1"`
          : `set ${variable}, or ${setting} in the settings`,
        "or name a model of another provider: -m PROVIDER/MODEL"
      )
    }
    return Either.match(
      resolveEndpoint({
        base_url: entry.base_url,
        protocol: entry.protocol,
        ...(entry.settings.root === undefined ? {} : { root: entry.settings.root })
      }),
      {
        onRight: (endpoint) => Effect.succeed(endpoint),
        onLeft: (error) =>
          fail(
            error.reason,
            `the address of the provider ${entry.name} cannot be used: ${error.message}`,
            `it comes from ${
              variable !== null && environment.vars.get(variable)
                ? variable
                : `${setting} in ${settingsHold(entry.name)}`
            }`,
            error.reason === "bad_url"
              ? "correct it there, or name a model of another provider: -m PROVIDER/MODEL"
              : `set providers.${entry.name}.protocol to "chat", "responses" or "anthropic"`
          )
      }
    )
  }

  /** A key is not needed on this machine, where the settings' headers bring one, and where nobody names one. */
  const needsKey = (entry: Providers.ProviderEntry, endpoint: Endpoint): boolean =>
    !isLoopback(endpoint.origin) && !Providers.hasAuthHeader(entry.settings.headers) &&
    (variablesOf(entry.name, config).length > 0 || entry.settings.api_key !== undefined)

  /** Each once: a model is resolved for every request. */
  const told = new Set<string>()
  const say = (notice: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (told.has(notice)) return Effect.void
      told.add(notice)
      return Effect.logWarning(notice)
    })

  const noCredential = ({ message, reason }: CredentialError, provider: string): ModelError =>
    new ModelError({
      reason: "no_credential",
      message: lines(
        message,
        ...(reason === "command_failed" || message.includes("auth login")
          ? []
          : [`to log in again: hanzo-dev auth login ${provider}`]),
        "or name a model of another provider: -m PROVIDER/MODEL"
      )
    })

  /** The file cannot be used, so nobody knows whether the provider has a login in it. */
  const ofNobody = (error: CredentialError): boolean =>
    error.provider === undefined &&
    (error.reason === "corrupt" || error.reason === "insecure" || error.reason === "unreadable")

  /**
   * A login or command that is set up and does not work ends it: no request goes out as nobody instead. Where no key is
   * needed a file that cannot be used is told and no more.
   */
  const keyOf = (
    entry: Providers.ProviderEntry,
    endpoint: Endpoint
  ): Effect.Effect<Option.Option<Credential>, ModelError> =>
    Effect.catchAll(
      credentials.keyFor(entry.name, config),
      (error) =>
        needsKey(entry, endpoint) || !ofNobody(error)
          ? Effect.fail(noCredential(error, entry.name))
          : Effect.as(say(error.message), Option.none())
    )

  const httpTarget = (entry: Providers.ProviderEntry, model: string): Effect.Effect<HttpTarget, ModelError> =>
    Effect.gen(function*() {
      if (model === "") {
        return yield* fail(
          "unknown_model",
          `"${entry.name}/" names a provider and no model`,
          `write the model behind the slash: -m ${entry.name}/MODEL`,
          entry.default_model === null
            ? `the models of ${entry.name} can be listed in providers.${entry.name}.models`
            : `for example: -m ${entry.name}/${entry.default_model}`
        )
      }
      const endpoint = yield* endpointOf(entry)
      const credential = yield* keyOf(entry, endpoint)
      if (Option.isNone(credential) && needsKey(entry, endpoint)) {
        const variables = variablesOf(entry.name, config)
        return yield* fail(
          "no_credential",
          `no key for the provider ${entry.name} was found`,
          variables.length === 0
            ? `set providers.${entry.name}.api_key in the user's settings`
            : `set ${variables.join(" or ")}, or providers.${entry.name}.api_key in the user's settings`,
          "or name a model of another provider: -m PROVIDER/MODEL"
        )
      }
      const query = { provider: entry.name, model, origin: endpoint.origin }
      const listed = entry.settings.models ?? {}
      const known = Catalogue.withSettings(
        yield* Catalogue.lookup(query),
        Object.hasOwn(listed, model) ? listed[model] : undefined
      )
      const { protocol, settings } = entry
      return {
        _tag: "Http",
        endpoint,
        credential,
        renew: (key) =>
          Effect.mapError(credentials.rejected(entry.name, config, key), (error) => noCredential(error, entry.name)),
        headers: settings.headers ?? {},
        model: {
          name: `${entry.name}/${model}`,
          provider: entry.name,
          model,
          protocol,
          origin: `${entry.name}:${protocol}`,
          traits: { ...Catalogue.traitsOfName(model), ...traitsOfProvider(entry, endpoint), ...known.traits },
          price: known.price,
          ...(settings.effort === undefined ? {} : { effort: settings.effort }),
          ...limitsOf(entry)
        }
      }
    })

  const scriptedTarget = (name: string): Effect.Effect<ScriptedTarget, ModelError> =>
    Effect.gen(function*() {
      if (Option.isNone(yield* scenarios.find(name))) {
        return yield* fail(
          "unknown_scenario",
          `there is no scenario "${name}"`,
          `known: ${(yield* scenarios.names).join(", ")}`,
          `add .hanzo/scenarios/${name === "" ? "NAME" : name}.json to the project, or give --scenario FILE`
        )
      }
      const entry = entryOf(Providers.scripted)
      const listed = entry?.settings.models ?? {}
      const known = Catalogue.withSettings(
        { price: null, traits: {} },
        Object.hasOwn(listed, name) ? listed[name] : undefined
      )
      return {
        _tag: "Scripted",
        model: {
          name: `${Providers.scripted}/${name}`,
          provider: Providers.scripted,
          model: name,
          protocol: "scripted",
          origin: `${Providers.scripted}:${Providers.scripted}`,
          traits: known.traits,
          price: known.price,
          ...limitsOf(
            entry ?? {
              name: Providers.scripted,
              protocol: "chat",
              base_url: null,
              base_url_variable: null,
              settings: {},
              default_model: null
            }
          )
        }
      }
    })

  /** Providers of the settings that a request could go to as things stand. */
  const usable = (entry: Providers.ProviderEntry): Effect.Effect<boolean> =>
    Effect.gen(function*() {
      const endpoint = yield* Effect.option(endpointOf(entry))
      if (Option.isNone(endpoint)) return false
      const key = yield* Effect.either(keyOf(entry, endpoint.value))
      if (Either.isRight(key)) return !needsKey(entry, endpoint.value) || Option.isSome(key.right)
      yield* say(`${entry.name} is not used: ${key.left.message}`)
      return false
    })

  /** The provider of a model named without one (reading 13.2); `null` model = nobody named one. */
  const chooseProvider = (model: string | null): Effect.Effect<Providers.ProviderEntry | null> =>
    Effect.gen(function*() {
      const named = Object.keys(config.providers).flatMap((name) => {
        const entry = entryOf(name)
        return entry === null || name === Providers.scripted ? [] : [entry]
      })
      const lists = named.find((entry) => model !== null && Object.hasOwn(entry.settings.models ?? {}, model))
      if (lists !== undefined) return lists
      const keyed = yield* credentials.detect("api_key", config)
      if (Option.isSome(keyed)) return entryOf(keyed.value.provider)
      // what the settings set up comes before a login that was stored some time, unless it is one of the three themselves
      const [three, others] = Array.partition(named, (entry) => !detectionOrder.includes(entry.name))
      for (const entry of others) if (yield* usable(entry)) return entry
      const stored = yield* credentials.detect("login", config)
      if (Option.isSome(stored)) return entryOf(stored.value.provider)
      for (const entry of three) if (yield* usable(entry)) return entry
      // A built-in provider that a variable leads to a server on this machine needs no key.
      for (const name of detectionOrder) {
        const entry = entryOf(name)
        if (entry !== null && entry.base_url !== null && (yield* usable(entry))) return entry
      }
      return null
    })

  const bare = (model: string | null): Effect.Effect<Target, ModelError> =>
    Effect.gen(function*() {
      const entry = yield* chooseProvider(model)
      if (entry === null) {
        return yield* fail("no_credential", noCredentialMessage(yield* local.detect))
      }
      if (model === null) {
        return entry.default_model === null
          ? yield* fail(
            "unknown_model",
            "no model is named",
            `name one of the provider ${entry.name}: -m ${entry.name}/MODEL`,
            `or set "model" in the settings, or list models in providers.${entry.name}.models`
          )
          : yield* httpTarget(entry, entry.default_model)
      }
      const parts = split(model)
      if (parts !== null && entry.base_url !== null && officialHosts.has(hostOf(entry.base_url))) {
        return yield* fail(
          "unknown_provider",
          `there is no provider "${parts.first}", and ${entry.name} has no model "${model}"`,
          `providers: ${Providers.namesOf(config).join(", ")}`,
          `name one of them, or add providers.${parts.first} to the settings`
        )
      }
      return yield* httpTarget(entry, model)
    })

  const resolve: TargetsService["resolve"] = (given) =>
    Effect.suspend(() => {
      const wanted = given?.trim() ?? ""
      // The default of the settings names a model of one provider; another one has its own default.
      const name = wanted !== "" ? wanted : origins.get("model") === "default" ? "" : config.model.trim()
      if (name === "") return bare(null)
      const parts = split(name)
      if (parts === null) return bare(name)
      if (parts.first === Providers.scripted) return scriptedTarget(parts.rest)
      const entry = entryOf(parts.first)
      return entry === null ? bare(name) : httpTarget(entry, parts.rest)
    })

  return { resolve }
})

/** Resolution and credentials for the rooms of this folder. @since 0.1.0 @category services */
export class Targets extends Context.Tag("@hanzo/dev/provider/Targets")<Targets, TargetsService>() {
  static readonly layer: Layer.Layer<
    Targets,
    never,
    Config | Environment | Credentials | LocalServers | ScriptedModels
  > = Layers.effect(Targets, make)
}
