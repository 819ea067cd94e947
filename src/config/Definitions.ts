/**
 * What of a checkout's settings waits until the workspace is trusted (reading 4.9, D7): everything that runs a program,
 * decides where a key goes, or loosens what the user has set.
 *
 * @since 0.1.0
 */
import { sha256Hex } from "../codec/Sha256.ts"
import { shellWord } from "../codec/ShellWord.ts"
import { canonicalJson } from "./CanonicalJson.ts"
import { type Entry, plain } from "./Checked.ts"
import { isSecretName, withoutUserInfo } from "./Secrets.ts"
import { isOverlayKey } from "./ServerCheck.ts"
import type { TierValues } from "./Tiers.ts"

/** `command`, `skill` and `agent` are files of a checkout, not settings. @since 0.1.0 @category models */
export const definitionKinds = [
  "mcp_server",
  "hook",
  "env",
  "sandbox",
  "permission",
  "provider",
  "lsp_server",
  "command",
  "skill",
  "agent"
] as const
/** @since 0.1.0 @category models */
export type DefinitionKind = typeof definitionKinds[number]

/**
 * One thing that waits. `key` is its place in its file, for example `hooks.0`, `mcp_servers.a`, `permissions.bash`, or of
 * a command, skill or agent the file, relative to the root;
 * `value` is what stands there, secrets included: it is hashed, never printed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Definition {
  readonly kind: DefinitionKind
  readonly tier: "project" | "local"
  readonly key: string
  readonly line: number | null
  readonly value: unknown
}

/** @since 0.1.0 @category models */
export interface Waiting {
  /** Project before local, each in the order of its file. */
  readonly definitions: ReadonlyArray<Definition>
  /** All tiers, with what waits left out of them. */
  readonly without: ReadonlyArray<TierValues>
}

type Members = ReadonlyMap<string, Entry>

const none: Members = new Map()

const membersOf = (entry: Entry | undefined): Members => entry?.kind === "object" ? entry.members : none

const memberOf = (entry: Entry | undefined, ...path: ReadonlyArray<string>): Entry | undefined =>
  path.reduce<Entry | undefined>((at, key) => membersOf(at).get(key), entry)

const valueOf = (entry: Entry | undefined): unknown => entry === undefined ? undefined : plain(entry)

const same = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b)

const isolation = (mode: unknown): unknown =>
  mode === "workspace-only" ? "workspace" : mode === "allow-list" ? "allowlist" : mode

/** Whether a key of `sandbox` leaves tools no more than `below`, what the tiers below give; absent = the default. */
const tightens = (key: string, value: unknown, below: unknown): boolean => {
  switch (key) {
    case "mode": {
      const [mode, lower] = [isolation(value), isolation(below)]
      // without a mode it is workspace, or off in a container
      return mode === lower || (mode === "workspace" && (lower === undefined || lower === "off"))
    }
    case "network":
      return value === "off" || same(value, below ?? "on")
    case "require_enforcement":
    case "deny_hard_linked_writes":
      return value === true || below !== true
    case "private_tmp":
      return value === (below ?? true)
    case "allowed_paths":
      return same(value, below ?? [])
    default:
      return false
  }
}

/** Whether an overlay's key gives a server more than the user left it. */
const loosensServer = (key: string, entry: Entry, user: Members): boolean => {
  switch (key) {
    case "disabled":
      return valueOf(entry) === false && valueOf(user.get("disabled")) === true
    case "include_tools":
    case "exclude_tools":
      return user.has(key)
    case "tool_names":
      return user.size > 0
    default:
      return false
  }
}

/** A language server's entry may be switched off and timed by anybody; all else decides what runs. */
const harmlessForLsp = (key: string, entry: Entry): boolean =>
  key.endsWith("_ms") || (key === "disabled" && valueOf(entry) === true)

/** What an allow leaves to the rules before it: as they stand, in their order. */
type Before = ReadonlyArray<{ readonly tool_pattern: string; readonly mode: string }>

const restricting = (rules: TierValues["rules"]): Before =>
  rules.filter(({ mode }) => mode !== "allow").map(({ mode, tool_pattern }) => ({ mode, tool_pattern }))

interface Below {
  /** Rules of the local tier, which are tried before those of the project. */
  readonly before: TierValues["rules"]
  readonly user: TierValues | undefined
  /** `sandbox` as the tiers below give it. */
  readonly sandbox: Map<string, unknown>
}

const ofTier = (
  values: TierValues,
  tier: "project" | "local",
  { before, sandbox, user }: Below
): { readonly definitions: ReadonlyArray<Definition>; readonly kept: TierValues } => {
  const definitions: Array<Definition> = []
  const kept = new Map(values.values)
  const wait = (kind: DefinitionKind, key: string, entry: Entry): void =>
    void definitions.push({ kind, tier, key, line: entry.line, value: plain(entry) })

  /** Goes through the members of an object; `keep` gives what of a member counts at once, undefined = nothing. */
  const each = (entry: Entry, keep: (name: string, member: Entry) => Entry | undefined): Entry => {
    const left = new Map<string, Entry>()
    for (const [name, member] of membersOf(entry)) {
      const counted = keep(name, member)
      if (counted !== undefined) left.set(name, counted)
    }
    return { kind: "object", members: left, line: entry.line }
  }

  const server = (name: string, entry: Entry): Entry | undefined => {
    const key = `mcp_servers.${name}`
    const members = membersOf(entry)
    if (members.has("command") || members.has("url")) return void wait("mcp_server", key, entry)
    const of_user = membersOf(memberOf(user?.values.get("mcp_servers"), name))
    const loose = [...members].filter(([field, member]) =>
      isOverlayKey(field) ? loosensServer(field, member, of_user) : true
    )
    if (loose.length === 0) return entry
    wait("mcp_server", key, { kind: "object", members: new Map(loose), line: entry.line })
    const waits = new Set(loose.map(([field]) => field))
    const kept = new Map([...members].filter(([field]) => !waits.has(field)))
    return { kind: "object", members: kept, line: entry.line }
  }

  const language = (name: string, entry: Entry): Entry | undefined => {
    const members = membersOf(entry)
    const counted = [...members].filter(([field, member]) => harmlessForLsp(field, member))
    if (counted.length === members.size) return entry
    wait("lsp_server", `lsp.servers.${name}`, entry)
    return members.has("command") || counted.length === 0
      ? undefined
      : { kind: "object", members: new Map(counted), line: entry.line }
  }

  /** An object of which nothing counts is not there at all. */
  const keep = (key: string, entry: Entry, left: Entry): void => {
    if (membersOf(left).size === 0 && membersOf(entry).size > 0) kept.delete(key)
    else kept.set(key, left)
  }

  for (const key of values.keys) {
    if (key === "hooks") {
      for (const { entry, index } of values.hooks) wait("hook", `hooks.${index}`, entry)
      continue
    }
    if (key === "permissions") {
      const local = tier === "project" ? before : []
      for (const [at, { key: place, line, ...rule }] of values.rules.entries()) {
        if (rule.mode !== "allow") continue
        // What it allows also depends on what is denied and asked about before it.
        const behind = restricting([...local, ...values.rules.slice(0, at)])
        const value = behind.length === 0 ? rule : { ...rule, behind }
        definitions.push({ kind: "permission", tier, key: place, line, value })
      }
      continue
    }
    const entry = values.values.get(key)
    if (entry === undefined) continue
    switch (key) {
      case "env":
        for (const [name, member] of membersOf(entry)) wait("env", `env.${name}`, member)
        kept.delete(key)
        break
      case "providers":
        for (const [name, member] of membersOf(entry)) wait("provider", `providers.${name}`, member)
        kept.delete(key)
        break
      case "mcp_servers":
        keep(key, entry, each(entry, server))
        break
      case "lsp":
        {
          const servers = memberOf(entry, "servers")
          const left = servers === undefined ? undefined : each(servers, language)
          if (left === undefined || membersOf(left).size > 0) {
            kept.set(key, each(entry, (name, member) => name === "servers" ? left : member))
          } else kept.delete(key)
        }
        break
      case "sandbox":
        keep(
          key,
          entry,
          each(entry, (name, member) => {
            const value = plain(member)
            if (!tightens(name, value, sandbox.get(name))) return void wait("sandbox", `sandbox.${name}`, member)
            sandbox.set(name, value)
            return member
          })
        )
        break
      default:
    }
  }
  return {
    definitions,
    kept: {
      ...values,
      values: kept,
      hooks: [],
      rules: values.rules.filter((rule) => rule.mode !== "allow")
    }
  }
}

/** Splits what counts at once from what waits. Each tier at most once, in any order. @since 0.1.0 @category combinators */
export const waiting = (tiers: ReadonlyArray<TierValues>): Waiting => {
  const user = tiers.find(({ tier }) => tier === "user")
  const sandbox = new Map<string, unknown>(
    [...membersOf(user?.values.get("sandbox"))].map(([key, entry]) => [key, plain(entry)])
  )
  const before = tiers.find(({ tier }) => tier === "local")?.rules ?? []
  const definitions: Array<Definition> = []
  const kept = new Map<TierValues, TierValues>()
  for (const tier of ["project", "local"] as const) {
    for (const values of tiers) {
      if (values.tier !== tier) continue
      const split = ofTier(values, tier, { before, user, sandbox })
      // one by one: a file may have more of them than a call takes arguments
      for (const definition of split.definitions) definitions.push(definition)
      kept.set(values, split.kept)
    }
  }
  return { definitions, without: tiers.map((values) => kept.get(values) ?? values) }
}

/**
 * What trust is bound to: SHA-256, in hexadecimal, of the RFC 8785 form of the definitions with their places and of the
 * canonical root.
 *
 * @since 0.1.0
 * @category encoding
 */
export const trustHash = (root: string, definitions: ReadonlyArray<Definition>): string =>
  sha256Hex(canonicalJson({
    root,
    definitions: definitions.map(({ key, kind, tier, value }) => ({ kind, tier, key, value }))
  }))

/** Of one definition, to tell which of them has changed. @since 0.1.0 @category encoding */
export const definitionHash = ({ key, kind, tier, value }: Definition): string =>
  sha256Hex(canonicalJson({ kind, tier, key, value }))

const words = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string" ? [value] : Array.isArray(value) ? value.filter((word) => typeof word === "string") : []

const json = (value: unknown): string => JSON.stringify(value) ?? "null"

const plainText = (value: unknown): string => typeof value === "string" ? value : json(value)

const reference = /\$\{([A-Za-z_]\w*)(?::-[^}]*)?\}/gu

/** A value that is hidden. Which variables go into it is no secret, and what trust is about. */
const hidden = (value: string): string => {
  const names = [...value.matchAll(reference)].map(([, name]) => `\${${name}}`)
  return `${value.replace(reference, "").trim() === "" && names.length > 0 ? "" : "***"}${names.join("")}`
}

/** Variables and headers, those that look like secrets without their values. */
const pairs = (value: unknown, hide: (name: string) => boolean): ReadonlyArray<string> =>
  typeof value !== "object" || value === null
    ? []
    : Object.entries(value).map(([name, each]) =>
      `${name}=${hide(name) ? hidden(plainText(each)) : withoutUserInfo(plainText(each))}`
    )

/** What a login of a server reads and runs. */
const loginText = (login: unknown): ReadonlyArray<string> => {
  const { assertion_command, assertion_env, assertion_file, client_key_env, client_key_file, client_secret_env } =
    record(login)
  return [
    ...words(assertion_command).map((line) => `runs for its login: ${line}`),
    ...[assertion_file, client_key_file].flatMap(words).map((file) => `reads for its login: ${file}`),
    ...[assertion_env, client_key_env, client_secret_env].flatMap(words).map((name) =>
      `sends or signs with the variable ${name} for its login`
    )
  ]
}

const shellLine = (argv: ReadonlyArray<string>): string =>
  argv.map((word) => shellWord(withoutUserInfo(word))).join(" ")

const serverText = (value: Readonly<Record<string, unknown>>): string => {
  const { args, command, env, headers, url, ...rest } = value
  const [program, given] = [words(command), words(args)]
  // what only a program has, is written beside an address, and not used
  const idle = program.length === 0 && typeof url === "string" ? "not used beside a url: " : ""
  const parts = [
    ...(program.length === 0 ? [] : [`runs ${shellLine([...program, ...given])}`]),
    ...(typeof url === "string" ? [`talks to ${withoutUserInfo(url)}`] : []),
    ...(program.length > 0 || given.length === 0 ? [] : [`${idle}arguments ${shellLine(given)}`]),
    ...pairs(env, isSecretName).map((pair) => `${idle}${idle === "" ? "with" : "the variable"} ${pair}`),
    ...pairs(headers, () => true).map((pair) => `with the header ${pair}`),
    ...loginText(value["oauth"]),
    ...loginText(record(value["oauth"])["identity_provider"]),
    ...Object.entries(rest).map(([key, each]) => `${key}: ${withoutUserInfo(json(each))}`)
  ]
  return parts.join("\n")
}

/** What is sent to an address that somebody else wrote. */
const moved = "your stored login and the keys of your environment for this provider are sent there"

const providerText = (value: Readonly<Record<string, unknown>>): string =>
  [
    ...Object.entries(value).flatMap(([key, each]) =>
      key === "headers"
        ? pairs(each, () => true).map((pair) => `header ${pair}`)
        : [`${key}: ${isSecretName(key) ? "***" : typeof each === "string" ? withoutUserInfo(each) : json(each)}`]
    ),
    ...(Object.hasOwn(value, "base_url") ? [moved] : [])
  ].join("\n")

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? value as Readonly<Record<string, unknown>> : {}

/** What a person reads before trusting it: the whole of it, without secrets; lines end in LF. @since 0.1.0 @category encoding */
export const definitionText = ({ key, kind, value }: Definition): string => {
  switch (kind) {
    case "mcp_server":
    case "lsp_server":
      return serverText(record(value))
    case "hook": {
      const { command, event, ...rest } = record(value)
      return [
        `runs at ${plainText(event)}: ${plainText(command)}`,
        ...Object.entries(rest).map(([name, each]) => `${name}: ${json(each)}`)
      ].join("\n")
    }
    case "env": {
      const name = key.slice("env.".length)
      return `sets ${name}=${isSecretName(name) ? "***" : withoutUserInfo(plainText(value))}`
    }
    case "provider":
      return providerText(record(value))
    case "permission": {
      const { behind, reason, tool_pattern } = record(value)
      const before = Array.isArray(behind) ? behind.map(record) : []
      return [
        `allows ${plainText(tool_pattern)}${typeof reason === "string" ? ` (${reason})` : ""}`,
        ...before.map((rule) =>
          `but before it ${rule["mode"] === "deny" ? "denies" : "asks about"} ${plainText(rule["tool_pattern"])}`
        )
      ].join("\n")
    }
    case "sandbox":
      return `sets ${key} to ${json(value)}`
    case "agent": {
      const { name, sha256, tools } = record(value)
      const named = words(tools)
      return [
        `an agent that can be given tasks: ${plainText(name)}`,
        Array.isArray(tools) ? `its tools: ${named.length === 0 ? "none" : named.join(", ")}` : "its tools: all",
        `content: sha256 ${plainText(sha256)}`
      ].join("\n")
    }
    case "command":
    case "skill": {
      const { allows, name, runs, sha256 } = record(value)
      const when = kind === "command"
        ? `when /${plainText(name)} is typed`
        : `while the skill ${plainText(name)} is in use`
      return [
        ...words(runs).map((line) => `runs ${when}: ${line}`),
        ...words(allows).map((tool) => `allows ${when}: ${tool}`),
        `content: sha256 ${plainText(sha256)}`
      ].join("\n")
    }
  }
}
