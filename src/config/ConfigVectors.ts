/**
 * The settings of a few texts, as the conformance vectors ask for them (reading 18.6, domain `config`). Pure.
 *
 * @since 0.1.0
 */
import type { Issue, Tier } from "./Issue.ts"
import { type DefinitionKind, waiting } from "./Definitions.ts"
import { settle } from "./Load.ts"
import { merge } from "./Merge.ts"
import * as Tiers from "./Tiers.ts"

/** The tiers that have files. @since 0.1.0 @category constants */
export const fileTiers = ["managed", "user", "project", "local"] as const

/** @since 0.1.0 @category models */
export type FileTier = (typeof fileTiers)[number]

/** @since 0.1.0 @category models */
export interface ConfigCase {
  readonly files: ReadonlyMap<FileTier, Uint8Array>
  readonly env: ReadonlyMap<string, string>
  readonly flags: Readonly<Record<string, unknown>>
  readonly trusted: boolean
}

type Shown = Omit<Issue, "file" | "frame">

/** @since 0.1.0 @category models */
export interface ConfigAnswer {
  /** As written: what waits for trust is in it, what was rejected or ignored is not. */
  readonly config: Readonly<Record<string, unknown>>
  readonly warnings: ReadonlyArray<Shown>
  readonly errors: ReadonlyArray<Shown>
  readonly active: {
    readonly mcp_servers: ReadonlyArray<string>
    readonly hooks: number
    readonly permission_rules: ReadonlyArray<Readonly<Record<string, unknown>>>
  }
  readonly pending_trust: ReadonlyArray<{
    readonly kind: DefinitionKind
    readonly tier: "project" | "local"
    readonly key: string
  }>
  readonly origins: Readonly<Record<string, Tier>>
}

const shown = ({ code, column, key, line, message, tier }: Issue): Shown => ({
  code,
  tier,
  key,
  line,
  column,
  message
})

/** The first rule for a pattern wins; managed denies are no part of the map. */
const ruleMap = (rules: ReadonlyArray<{ tool_pattern: string; mode: string; tier: Tier }>): Record<string, string> => {
  const map: Record<string, string> = Object.create(null)
  for (const { mode, tier, tool_pattern } of rules) {
    if (tier !== "managed" && !Object.hasOwn(map, tool_pattern)) map[tool_pattern] = mode
  }
  return map
}

/** @since 0.1.0 @category constructors */
export const evaluate = ({ env, files, flags, trusted }: ConfigCase): ConfigAnswer => {
  const tiers = [
    Tiers.defaults,
    ...fileTiers.map((tier) => {
      const bytes = files.get(tier)
      return Tiers.fromFile(tier, bytes === undefined ? null : { file: `${tier}.json`, bytes })
    }),
    Tiers.fromEnvironment({ vars: env }),
    Tiers.fromFlags({ settings: flags })
  ]
  const split = waiting(tiers)
  const whole = merge(tiers)
  const { config, errors, mcp_servers, rules, warnings } = settle(tiers, split, trusted)
  return {
    config: { ...whole.config, permissions: ruleMap(whole.rules) },
    warnings: warnings.map(shown),
    errors: errors.map(shown),
    active: {
      mcp_servers,
      hooks: config.hooks.length,
      permission_rules: rules.map(({ mode, reason, tier, tool_pattern }) => ({
        tool_pattern,
        mode,
        ...(reason === undefined ? {} : { reason }),
        tier
      }))
    },
    pending_trust: trusted ? [] : split.definitions.map(({ key, kind, tier }) => ({ kind, tier, key })),
    origins: Object.fromEntries([...whole.origins, ...whole.units])
  }
}
