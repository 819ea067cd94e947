/**
 * MCP servers over all tiers: which of them run, and overlays that lie over nothing (readings 4.6, 4.8).
 *
 * @since 0.1.0
 */
import type { FoundIssue } from "./Issue.ts"
import { DisabledEntry, type Entry } from "./Checked.ts"
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
  const named = new Set<string>()
  const invalid = new Set<string>()
  for (const { invalid_servers, values } of tiers) {
    for (const [name, entry] of membersOf(values.get("mcp_servers"))) {
      // a name of which all tiers have only disabled definitions is disabled, whichever counts
      if (entry instanceof DisabledEntry) continue
      named.add(name)
      if (invalid_servers.has(name)) invalid.add(name)
    }
  }
  return [...named]
    .filter((name) => {
      const server = config.mcp_servers[name]
      return server !== undefined && (server.command !== undefined || server.url !== undefined) &&
        server.disabled !== true && !invalid.has(name)
    })
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
