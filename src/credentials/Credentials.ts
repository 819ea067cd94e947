/**
 * Keys of model providers: read at each request, from the environment first, then from the settings (reading 13.2).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import { Environment, type EnvironmentService } from "../platform/Environment.ts"

/** `source` says where the key came from, for example `ANTHROPIC_API_KEY`; it holds nothing secret. @since 0.1.0 @category models */
export interface Credential {
  readonly key: Redacted.Redacted
  readonly source: string
}

/**
 * `keyFor` gives what a request to `provider` carries now; `None` = nothing was found. It is asked again at every
 * request, so that a store which refreshes tokens can stand behind it.
 *
 * @since 0.1.0
 * @category models
 */
export interface CredentialsService {
  readonly keyFor: (provider: string, config: HanzoConfig) => Effect.Effect<Option.Option<Credential>>
}

/** The variable that holds the key of a provider with one by tradition. */
const keyVariables: Readonly<Record<string, string>> = {
  hanzo: "HANZO_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY"
}

/**
 * The variables that are asked for a provider's key, in order: `api_key_env` of its settings, then its own.
 *
 * @since 0.1.0
 * @category combinators
 */
export const variablesOf = (provider: string, config: HanzoConfig): ReadonlyArray<string> => {
  const named = settingsOf(provider, config)?.api_key_env
  const own = Object.hasOwn(keyVariables, provider) ? keyVariables[provider] : undefined
  return [named, own].filter((name): name is string => name !== undefined && name !== "")
}

const settingsOf = (provider: string, config: HanzoConfig) =>
  Object.hasOwn(config.providers, provider) ? config.providers[provider] : undefined

/**
 * The key as the environment and the settings have it. White space around a key, such as the line end of a file it was
 * read from, is no part of it; nothing but white space counts as unset.
 *
 * @since 0.1.0
 * @category combinators
 */
export const find = (
  environment: Pick<EnvironmentService, "vars">,
  provider: string,
  config: HanzoConfig
): Option.Option<Credential> => {
  const candidates: Array<readonly [string | null | undefined, string]> = [
    ...variablesOf(provider, config).map((name) => [environment.vars.get(name), name] as const),
    [settingsOf(provider, config)?.api_key, `settings, providers.${provider}.api_key`],
    [provider === "hanzo" ? config.api_key : undefined, "settings, api_key"]
  ]
  for (const [value, source] of candidates) {
    const key = value?.trim() ?? ""
    if (key !== "") return Option.some({ key: Redacted.make(key), source })
  }
  return Option.none()
}

/** @since 0.1.0 @category services */
export class Credentials extends Context.Tag("@hanzo/dev/credentials/Credentials")<Credentials, CredentialsService>() {
  static readonly layer: Layer.Layer<Credentials, never, Environment> = Layer.effect(
    Credentials,
    Effect.map(Environment, (environment) => ({
      keyFor: (provider, config) => Effect.sync(() => find(environment, provider, config))
    }))
  )
}
