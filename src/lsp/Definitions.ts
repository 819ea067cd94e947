/**
 * Which servers serve a file: the known ones with the settings over them, and those the settings bring (reading 8).
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../domain/Json.ts"
import type { LspServerConfig } from "../config/Schema.ts"
import { type KnownServer, knownServers } from "./KnownServers.ts"

/** A server that could serve something here. @since 0.1.0 @category models */
export interface ServerDefinition extends Omit<KnownServer, "install" | "initialization_options" | "settings"> {
  /** null = the settings brought it. */
  readonly install: string | null
  readonly initialization_options: JsonObject
  readonly settings: JsonObject
  readonly env: Readonly<Record<string, string>>
  /** The settings name its command: it is taken as it stands. */
  readonly configured: boolean
  readonly initialize_timeout_ms?: number
  readonly request_timeout_ms?: number
}

const merged = (below: JsonObject, above: JsonObject): JsonObject => {
  const out: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const under = Object.hasOwn(out, key) ? out[key] : undefined
    const both = [under, value].every((one) => typeof one === "object" && one !== null && !Array.isArray(one))
    out[key] = both ? merged(under as JsonObject, value as JsonObject) : value
  }
  return out
}

const commandOf = (config: LspServerConfig): readonly [string, ...ReadonlyArray<string>] | null => {
  const { args = [], command } = config
  if (command === undefined) return null
  const [program, ...rest] = typeof command === "string" ? [command] : command
  return program === undefined ? null : [program, ...rest, ...args]
}

const over = (known: KnownServer, config: LspServerConfig | undefined): ServerDefinition => {
  const command = config === undefined ? null : commandOf(config)
  const base = {
    ...known,
    initialization_options: known.initialization_options ?? {},
    settings: known.settings ?? {},
    env: {},
    configured: false
  }
  if (config === undefined) return base
  const [program, ...args] = known.command
  return {
    ...base,
    command: command ?? [program, ...args, ...config.args ?? []],
    configured: command !== null,
    env: config.env ?? {},
    extensions: config.extensions ?? known.extensions,
    root_markers: config.root_markers ?? known.root_markers,
    language_ids: { ...known.language_ids, ...config.language_ids },
    initialization_options: merged(base.initialization_options, config.initialization_options ?? {}),
    settings: merged(base.settings, config.settings ?? {}),
    ...(config.initialize_timeout_ms === undefined ? {} : { initialize_timeout_ms: config.initialize_timeout_ms }),
    ...(config.request_timeout_ms === undefined ? {} : { request_timeout_ms: config.request_timeout_ms })
  }
}

const unknown = (name: string, command: readonly [string, ...ReadonlyArray<string>]): KnownServer => ({
  name,
  languages: name,
  family: `settings:${name}`,
  extensions: [],
  root_markers: [],
  command,
  install: ""
})

/**
 * All that may run, members of a family next to each other in the order in which they are tried: those whose command
 * the settings name come first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definitionsOf = (
  servers: Readonly<Record<string, LspServerConfig>>
): ReadonlyArray<ServerDefinition> => {
  const config = (name: string): LspServerConfig | undefined => Object.hasOwn(servers, name) ? servers[name] : undefined
  const known = knownServers.filter(({ name }) => config(name)?.disabled !== true).map((one) =>
    over(one, config(one.name))
  )
  const names = new Set(knownServers.map(({ name }) => name))
  const own = Object.entries(servers).flatMap(([name, given]): ReadonlyArray<ServerDefinition> => {
    const command = commandOf(given)
    return names.has(name) || given.disabled === true || command === null
      ? []
      : [{ ...over(unknown(name, command), given), install: null }]
  })
  const all = [...own, ...known]
  return [...all.filter((one) => one.configured), ...all.filter((one) => !one.configured)]
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** With the dot; "" = it has none. @since 0.1.0 @category combinators */
export const extensionOf = (path: string): string => {
  const name = baseName(path)
  const dot = name.lastIndexOf(".")
  return dot <= 0 ? "" : name.slice(dot).toLowerCase()
}

/** @since 0.1.0 @category combinators */
export const serves = (definition: Pick<ServerDefinition, "extensions" | "filenames">, path: string): boolean =>
  definition.extensions.some((extension) => baseName(path).toLowerCase().endsWith(extension.toLowerCase())) ||
  definition.filenames?.includes(baseName(path)) === true

/** @since 0.1.0 @category combinators */
export const languageId = (definition: Pick<ServerDefinition, "language_ids">, path: string): string => {
  const extension = extensionOf(path)
  const ids = definition.language_ids ?? {}
  const find = (key: string): string | undefined => Object.hasOwn(ids, key) ? ids[key] : undefined
  return find(baseName(path)) ?? find(extension) ??
    (extension === "" ? baseName(path).toLowerCase() : extension.slice(1))
}

/** Directories from the file's own up to the workspace root, both included; none when it lies outside. @since 0.1.0 @category combinators */
export const directoriesUp = (root: string, path: string): ReadonlyArray<string> => {
  const inside = path.startsWith(root.endsWith("/") ? root : `${root}/`)
  if (!inside) return []
  const out: Array<string> = []
  let at = path
  do {
    at = at.slice(0, Math.max(1, at.lastIndexOf("/")))
    out.push(at)
  } while (at !== root && at !== "/")
  return out
}
