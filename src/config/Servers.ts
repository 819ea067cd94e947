/**
 * MCP servers over all tiers: which of them run, and overlays that lie over nothing (readings 4.6, 4.8).
 *
 * @since 0.1.0
 */
import type { FoundIssue } from "./Check.ts"
import type { Entry } from "./Checked.ts"
import type { HanzoConfig } from "./Schema.ts"
import type { TierValues } from "./Tiers.ts"

const membersOf = (entry: Entry | undefined): ReadonlyMap<string, Entry> =>
  entry?.kind === "object" ? entry.members : new Map()

const isDefinition = (entry: Entry): boolean => membersOf(entry).has("command") || membersOf(entry).has("url")

/** Order of code points, which UTF-16 units do not give. */
const byCodePoint = (a: string, b: string): number => {
  const [left, right] = [[...a], [...b]]
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Servers with a definition, not disabled, none of whose values was rejected. @since 0.1.0 @category combinators */
export const activeServers = (config: HanzoConfig, tiers: ReadonlyArray<TierValues>): ReadonlyArray<string> => {
  const invalid = new Set(tiers.flatMap((tier) => {
    const members = membersOf(tier.values.get("mcp_servers"))
    return [...tier.invalid_servers].filter((name) => members.has(name))
  }))
  return Object.entries(config.mcp_servers)
    .filter(([name, server]) =>
      (server.command !== undefined || server.url !== undefined) && server.disabled !== true && !invalid.has(name)
    )
    .map(([name]) => name)
    .toSorted(byCodePoint)
}

/** A warning for every overlay of a name that no tier defines, unless it only disables. @since 0.1.0 @category combinators */
export const withoutDefinition = (tiers: ReadonlyArray<TierValues>): ReadonlyArray<FoundIssue> => {
  if (tiers.every(({ overlays }) => overlays.size === 0)) return []
  const defined = new Set(
    tiers.flatMap(({ values }) =>
      [...membersOf(values.get("mcp_servers"))].filter(([, entry]) => isDefinition(entry)).map(([name]) => name)
    )
  )
  return tiers.flatMap(({ file, overlays, tier }) =>
    [...overlays].filter(([name]) => !defined.has(name)).map(([name, position]): FoundIssue => ({
      severity: "warning",
      code: "overlay_without_definition",
      tier,
      ...(file === undefined ? {} : { file }),
      key: `mcp_servers.${name}`,
      line: position?.line ?? null,
      column: position?.column ?? null,
      message: `no settings define the server ${JSON.stringify(name)} that this adjusts; it needs a command or a url`
    }))
  )
}
