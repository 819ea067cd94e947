/**
 * The providers a model's name can begin with: three built in, the local servers, `scripted`, and those of the
 * settings. Pure: environment and settings in, entries out.
 *
 * @since 0.1.0
 */
import type { HanzoConfig, ProviderConfig } from "../config/Schema.ts"
import { type EnvironmentService, variable } from "../platform/Environment.ts"
import type { ProtocolName } from "../protocol/Protocol.ts"
import { knownServers } from "./LocalServers.ts"

/** @since 0.1.0 @category models */
export interface ProviderEntry {
  readonly name: string
  readonly protocol: ProtocolName
  /** `null` = the settings or a variable have to say it. */
  readonly base_url: string | null
  /** The variable that gives the base URL, where there is one. */
  readonly base_url_variable: string | null
  readonly settings: ProviderConfig
  /** The model to take when nobody named one; `null` = one has to be named. */
  readonly default_model: string | null
}

interface BuiltIn {
  readonly protocol: ProtocolName
  readonly base_url: string | null
  readonly variable: string | null
  readonly default_model: string | null
}

const builtIn: Readonly<Record<string, BuiltIn>> = {
  hanzo: { protocol: "chat", base_url: null, variable: "HANZO_BASE_URL", default_model: "claude-sonnet-4-20250514" },
  anthropic: {
    protocol: "anthropic",
    base_url: "https://api.anthropic.com",
    variable: "ANTHROPIC_BASE_URL",
    default_model: "claude-sonnet-4-20250514"
  },
  openai: {
    protocol: "responses",
    base_url: "https://api.openai.com/v1",
    variable: "OPENAI_BASE_URL",
    default_model: "gpt-5"
  },
  ...Object.fromEntries(
    knownServers.map((server): [string, BuiltIn] => [
      server.provider,
      { protocol: "chat", base_url: server.base_url, variable: null, default_model: null }
    ])
  )
}

/** @since 0.1.0 @category constants */
export const scripted = "scripted"

/**
 * The entry of a provider, `null` when none has that name. A variable's base URL wins over the settings' (reading 4.2).
 *
 * @since 0.1.0
 * @category combinators
 */
export const entryOf = (
  name: string,
  config: HanzoConfig,
  environment: Pick<EnvironmentService, "vars">
): ProviderEntry | null => {
  const known = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined
  const own = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined
  if (known === undefined && own === undefined) return null
  const settings = own ?? {}
  const named = known?.variable ?? null
  return {
    name,
    protocol: settings.protocol ?? known?.protocol ?? "chat",
    base_url: (named === null ? undefined : variable(environment, named)) ?? settings.base_url ?? known?.base_url ??
      null,
    base_url_variable: named,
    settings,
    default_model: known?.default_model ?? Object.keys(settings.models ?? {})[0] ?? null
  }
}

/** Every name that can stand before the first `/`, sorted. @since 0.1.0 @category combinators */
export const namesOf = (config: HanzoConfig): ReadonlyArray<string> =>
  [...new Set([...Object.keys(builtIn), ...Object.keys(config.providers), scripted])].toSorted()

const authNames = new Set(["authorization", "x-api-key", "api-key"])

/** Do the headers of the settings carry an identity of their own? @since 0.1.0 @category combinators */
export const hasAuthHeader = (headers: Readonly<Record<string, string>> | undefined): boolean =>
  Object.keys(headers ?? {}).some((name) => authNames.has(name.toLowerCase()))

/** @since 0.1.0 @category combinators */
export const isAuthHeader = (name: string): boolean => authNames.has(name.toLowerCase())
