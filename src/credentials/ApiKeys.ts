/**
 * Keys that stand in the environment or in the settings. Pure.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import type { EnvironmentService } from "../platform/Environment.ts"
import { CredentialError } from "./CredentialError.ts"
import { headerFault } from "./HeaderText.ts"

/**
 * `source` says where it came from, for example `ANTHROPIC_API_KEY`; it holds nothing secret. A `login` is an access
 * token of OAuth and goes out as a bearer token, whatever header the keys of its provider take.
 *
 * @since 0.1.0
 * @category models
 */
export interface Credential {
  readonly key: Redacted.Redacted
  readonly source: string
  readonly kind: "api_key" | "login"
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
    if (key !== "") return Option.some({ key: Redacted.make(key), source, kind: "api_key" })
  }
  return Option.none()
}

/**
 * A key that no header can carry is an error that says where it stands, not a request that fails.
 *
 * @since 0.1.0
 * @category combinators
 */
export const carried = (
  found: Option.Option<Credential>
): Effect.Effect<Option.Option<Credential>, CredentialError> => {
  if (Option.isNone(found)) return Effect.succeedNone
  const fault = headerFault(Redacted.value(found.value.key))
  return fault === null ? Effect.succeed(found) : Effect.fail(
    new CredentialError({
      reason: "not_configured",
      message: `the key of ${found.value.source} ${fault}; set the key alone, on one line`
    })
  )
}

/** The user's command belongs to hanzo, as `api_key` does; null = none is set. @since 0.1.0 @category combinators */
export const commandOf = (provider: string, { api_key_command }: HanzoConfig): string | null =>
  provider === "hanzo" && api_key_command !== null && api_key_command.trim() !== "" ? api_key_command : null

/** The login that the settings hold for hanzo; null = none. @since 0.1.0 @category combinators */
export const settingsLoginOf = (provider: string, { oauth_credentials }: HanzoConfig): object | null =>
  provider !== "hanzo" || oauth_credentials === null || Object.keys(oauth_credentials).length === 0
    ? null
    : oauth_credentials
