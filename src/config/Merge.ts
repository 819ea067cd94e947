/**
 * Tiers to one set of values (reading 4.3): objects merge by key, everything else is replaced whole, rules are put in
 * the order of reading 7.4, hooks add up, servers are replaced as units (reading 4.8).
 *
 * @since 0.1.0
 */
import { lateMap } from "../domain/LateMap.ts"
import { once } from "../domain/Once.ts"
import type { PermissionRule } from "../domain/Permission.ts"
import type { HanzoConfig } from "./Schema.ts"
import type { Tier } from "./Issue.ts"
import { type Entry, plain } from "./Checked.ts"
import { isOverlayKey } from "./ServerCheck.ts"
import type { Source, TierValues } from "./Tiers.ts"

/**
 * A rule in force and where it stands. `untrusted`: it waits for trust (reading 4.9) and decides nothing.
 *
 * @since 0.1.0
 * @category models
 */
export interface TieredRule extends PermissionRule {
  readonly tier: Tier
  readonly file?: string
  readonly line?: number
  readonly match?: ReadonlyArray<string>
  readonly not_match?: ReadonlyArray<string>
  readonly untrusted?: boolean
}

/** @since 0.1.0 @category models */
export interface Merged {
  readonly config: HanzoConfig
  readonly origins: ReadonlyMap<string, Tier>
  readonly sources: ReadonlyMap<string, ReadonlyArray<Source>>
  readonly rules: ReadonlyArray<TieredRule>
  /** Dotted key of each server and provider to the tier that defines it, else the highest one that speaks of it. */
  readonly units: ReadonlyMap<string, Tier>
}

/** Lowest first: each tier lies over those before it. Of the managed one there are limits and telemetry. @since 0.1.0 @category constants */
export const precedence: ReadonlyArray<Tier> = ["default", "user", "project", "local", "env", "flag", "managed"]

/**
 * Rules are tried tier by tier in this order, managed and user denies before all others; grants of the session come
 * after the flags (reading 7.4).
 *
 * @since 0.1.0
 * @category constants
 */
export const ruleOrder: ReadonlyArray<Tier> = ["managed", "flag", "local", "project", "user"]

interface Layered {
  readonly tier: Tier
  readonly file: string | undefined
  readonly entry: Entry
}

/** Which members make an entry of this map a definition; null where entries merge field by field. */
const definitionKeys = (path: ReadonlyArray<string>): ReadonlyArray<string> | null =>
  path.length === 2 && path[0] === "mcp_servers"
    ? ["command", "url"]
    : path.length === 3 && path[0] === "lsp" && path[1] === "servers"
    ? ["command"]
    : path.length === 2 && path[0] === "providers"
    ? ["base_url", "protocol"]
    : null

/** The environment and the command line are the user's own words on a provider, never another one's definition. */
const isDefinition = (layer: Layered, keys: ReadonlyArray<string>): boolean =>
  ((layer.tier !== "env" && layer.tier !== "flag") || !keys.includes("base_url")) && layer.entry.kind === "object" &&
  keys.some((key) => layer.entry.kind === "object" && layer.entry.members.has(key))

/** The highest definition with nothing of the lower ones, and under it the overlay keys of all tiers (reading 4.8). */
const asUnit = (layers: ReadonlyArray<Layered>, keys: ReadonlyArray<string>): ReadonlyArray<Layered> => {
  const top = layers.findLastIndex((layer) => isDefinition(layer, keys))
  if (top <= 0) return layers
  return layers.map((layer, index) =>
    index >= top || layer.entry.kind !== "object" ? layer : {
      ...layer,
      entry: {
        kind: "object",
        members: new Map([...layer.entry.members].filter(([key]) => isOverlayKey(key))),
        line: layer.entry.line
      }
    }
  )
}

const amountOf = ({ entry }: Layered): number =>
  entry.kind === "value" && typeof entry.value === "number" ? entry.value : Number.POSITIVE_INFINITY

/** The lowest limit counts, whoever sets it: it lies on top. */
const inForce = (layers: ReadonlyArray<Layered>, path: ReadonlyArray<string>): ReadonlyArray<Layered> =>
  path[0] === "limits" && path.length === 2 ? layers.toSorted((a, b) => amountOf(b) - amountOf(a)) : layers

const source = (layer: Layered): Source => ({
  tier: layer.tier,
  ...(layer.file === undefined ? {} : { file: layer.file }),
  ...(layer.entry.line === null ? {} : { line: layer.entry.line }),
  value: plain(layer.entry)
})

/** A member that is made when it is first read. */
const late = (object: Record<string, unknown>, key: string, make: () => unknown): void =>
  void Object.defineProperty(object, key, { configurable: true, enumerable: true, get: once(make) })

/** Where the merged values come from; most starts never ask. */
interface Trace {
  readonly sources: Map<string, ReadonlyArray<Source>>
  readonly units: Map<string, Tier>
}

/** What `mergeEntries` traces of one layer alone, which most values are. */
const traceOnly = (
  layer: Omit<Layered, "entry">,
  entry: Entry,
  key: string,
  path: ReadonlyArray<string>,
  trace: Trace
): void => {
  if (entry.kind === "value" || entry.members.size === 0) trace.sources.set(key, [source({ ...layer, entry })])
  if (entry.kind === "value") return
  if (definitionKeys(path) !== null) trace.units.set(key, layer.tier)
  for (const [name, member] of entry.members) traceOnly(layer, member, `${key}.${name}`, [...path, name], trace)
}

const mergeEntries = (
  given: ReadonlyArray<Layered>,
  path: ReadonlyArray<string>,
  trace: Trace | null
): unknown => {
  const layers = inForce(given, path)
  const top = layers.at(-1)
  if (top === undefined) return undefined
  const key = path.join(".")
  if (layers.length === 1) {
    if (trace !== null) traceOnly(top, top.entry, key, path, trace)
    return plain(top.entry)
  }
  if (top.entry.kind === "value") {
    trace?.sources.set(key, layers.toReversed().map(source))
    return top.entry.value
  }
  const below = layers.findLastIndex((layer) => layer.entry.kind !== "object")
  const keys = definitionKeys(path)
  if (keys !== null) trace?.units.set(key, (layers.findLast((layer) => isDefinition(layer, keys)) ?? top).tier)
  const open = keys === null ? layers.slice(below + 1) : asUnit(layers.slice(below + 1), keys)
  const members = new Map<string, Array<Layered>>()
  for (const layer of open) {
    if (layer.entry.kind !== "object") continue
    for (const [name, entry] of layer.entry.members) {
      const own = members.get(name)
      if (own === undefined) members.set(name, [{ ...layer, entry }])
      else own.push({ ...layer, entry })
    }
  }
  const object: Record<string, unknown> = Object.create(null)
  if (members.size === 0) trace?.sources.set(key, [source(top)])
  for (const [name, own] of members) object[name] = mergeEntries(own, [...path, name], trace)
  return object
}

/** All rules in the order in which they are tried. @since 0.1.0 @category combinators */
export const rulesOf = (tiers: ReadonlyArray<TierValues>): ReadonlyArray<TieredRule> =>
  ruleOrder.flatMap((tier) =>
    tiers.filter((values) => values.tier === tier).flatMap(({ file, rules }) =>
      rules.map(({ key: _key, line, ...rule }): TieredRule => ({
        ...rule,
        tier,
        ...(file === undefined ? {} : { file }),
        ...(line === null ? {} : { line })
      }))
    )
  )

/** `tiers` in any order; each tier at most once. Adding an empty tier changes nothing. @since 0.1.0 @category combinators */
export const merge = (tiers: ReadonlyArray<TierValues>): Merged => {
  const sorted = precedence.flatMap((tier) => tiers.filter((values) => values.tier === tier))
  const keys = new Set(sorted.flatMap((tier) => [...tier.values.keys()]))
  const layersOf = (key: string): ReadonlyArray<Layered> =>
    sorted.flatMap(({ file, tier, values }) => {
      const entry = values.get(key)
      return entry === undefined ? [] : [{ tier, file, entry }]
    })
  const config: Record<string, unknown> = {}
  const outermost = new Map<string, Tier>()
  for (const key of keys) {
    const layers = layersOf(key)
    if (key === "mcp_servers") late(config, key, () => mergeEntries(layers, [key], null))
    else config[key] = mergeEntries(layers, [key], null)
    const top = layers.at(-1)
    if (top?.entry.kind === "value") outermost.set(key, top.tier)
  }

  const hooks = sorted.flatMap(({ file, hooks, tier }) => hooks.map(({ entry }): Layered => ({ tier, file, entry })))
  config["hooks"] = hooks.map((layer) => plain(layer.entry))

  const rules = rulesOf(tiers)
  config["permissions"] = rules.map(({ mode, reason, tool_pattern }): PermissionRule => ({
    tool_pattern,
    mode,
    ...(reason === undefined ? {} : { reason })
  }))

  const traced = once((): Trace => {
    const trace: Trace = { sources: new Map(), units: new Map() }
    for (const key of keys) mergeEntries(layersOf(key), [key], trace)
    hooks.forEach((layer, index) => trace.sources.set(`hooks.${index}`, [source(layer)]))
    for (const { file, line, mode, tier, tool_pattern } of rules) {
      const key = `permissions.${tool_pattern}`
      const own: Source = {
        tier,
        ...(file === undefined ? {} : { file }),
        ...(line === undefined ? {} : { line }),
        value: mode
      }
      trace.sources.set(key, [...trace.sources.get(key) ?? [], own])
    }
    return trace
  })
  const origins = (): ReadonlyMap<string, Tier> => {
    const all = new Map<string, Tier>()
    for (const [key, [first]] of traced().sources) if (first !== undefined) all.set(key, first.tier)
    return all
  }
  return {
    // every value was checked against the Schema by its tier, and the default tier holds every key
    config: config as unknown as HanzoConfig,
    origins: lateMap(origins, outermost),
    sources: lateMap(() => traced().sources),
    rules,
    units: lateMap(() => traced().units)
  }
}
