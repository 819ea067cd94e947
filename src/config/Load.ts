/**
 * From files, environment and command line to one version of the settings (readings 4.1 to 4.10).
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { Dirs, type DirsService } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import type { Issue, Tier } from "./Check.ts"
import type { ConfigService } from "./Config.ts"
import { type Definition, trustHash, waiting } from "./Definitions.ts"
import { merge, type Merged, type TieredRule } from "./Merge.ts"
import { activeServers, withoutDefinition } from "./Servers.ts"
import * as Tiers from "./Tiers.ts"
import * as Trust from "./Trust.ts"

/** What the command line says: settings by key, and rules in argv order (reading 7.4). @since 0.1.0 @category models */
export interface ConfigFlags {
  readonly settings?: Readonly<Record<string, unknown>>
  readonly deny?: ReadonlyArray<string>
  readonly allow?: ReadonlyArray<string>
}

/**
 * `stored`: what the user has trusted, as `trust.json` knows it. `all`: everything, for this run (`--trust-workspace`).
 * `none`: nothing. `{hash}`: exactly the definitions with this hash.
 *
 * @since 0.1.0
 * @category models
 */
export type TrustMode = "stored" | "all" | "none" | { readonly hash: string }

/** @since 0.1.0 @category models */
export interface LoadOptions {
  /** Root of the workspace; absent = no project and no local tier. */
  readonly root?: string
  readonly flags?: ConfigFlags
  /** Default `stored`. */
  readonly trust?: TrustMode
  /** Default `/etc/hanzo/managed-settings.json`. */
  readonly managed_file?: string
}

/** @since 0.1.0 @category models */
export interface SettingsFiles {
  readonly managed: string | null
  readonly user: string
  readonly project: string | null
  readonly local: string | null
  readonly trust: string
}

/**
 * | status | meaning |
 * | --- | --- |
 * | `nothing` | nothing waits for trust |
 * | `trusted` | the user trusts exactly these definitions |
 * | `this_run` | they count for this run only |
 * | `untrusted` | they do not count |
 *
 * @since 0.1.0
 * @category models
 */
export interface TrustState {
  readonly status: "nothing" | "trusted" | "this_run" | "untrusted"
  /** Canonical; null = there is no workspace. */
  readonly root: string | null
  readonly hash: string
  readonly definitions: ReadonlyArray<Definition>
  /** What was trusted last; with `untrusted`, something else than what is there now. */
  readonly record: Trust.TrustRecord | null
}

/** @since 0.1.0 @category constants */
export const managedFile = "/etc/hanzo/managed-settings.json"

const isMissing = (error: PlatformError): boolean =>
  error._tag === "SystemError" && (error.reason === "NotFound" || error.message.includes("ENOTDIR"))

/** The bytes of a settings file, null when there is none, or why it cannot be read. */
const readFile = (fs: FileSystem.FileSystem, file: string): Effect.Effect<Tiers.FileContent | null> =>
  Effect.gen(function*() {
    const info = yield* fs.stat(file)
    if (info.type !== "File") {
      return {
        file,
        problem: { code: "unreadable", message: `this is a ${info.type.toLowerCase()}, not a file` }
      }
    }
    if (info.size > BigInt(Tiers.maxFileBytes)) {
      return {
        file,
        problem: { code: "too_large", message: `the file has ${info.size} bytes, the limit is ${Tiers.maxFileBytes}` }
      }
    }
    return { file, bytes: yield* fs.readFile(file) }
  }).pipe(
    Effect.catchAll((error) =>
      Effect.succeed(
        isMissing(error)
          ? null
          : { file, problem: { code: "unreadable", message: `the file cannot be read: ${error.message}` } }
      )
    )
  )

/** Size, time and identity of each file; what cannot be looked at counts as missing. */
const fingerprint = (fs: FileSystem.FileSystem, files: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.map(
    Effect.forEach(files, (file) =>
      Effect.map(Effect.option(fs.stat(file)), (found) =>
        Option.match(found, {
          onNone: () => "-",
          onSome: ({ dev, ino, mtime, size }) =>
            [
              dev,
              Option.getOrElse(ino, () => 0),
              size,
              Option.match(mtime, {
                onNone: () => 0,
                onSome: (date) => date.getTime()
              })
            ].join(":")
        })), { concurrency: "unbounded" }),
    (stamps) => stamps.join(" ")
  )

/** @since 0.1.0 @category models */
export interface Settled extends Merged {
  readonly warnings: ReadonlyArray<Issue>
  readonly errors: ReadonlyArray<Issue>
  readonly all_rules: ReadonlyArray<TieredRule>
  readonly mcp_servers: ReadonlyArray<string>
  readonly definitions: ReadonlyArray<Definition>
  /** What the settings would be if all of it were trusted. */
  readonly whole: Merged
}

const issueOrder: ReadonlyArray<Tier> = ["default", "managed", "user", "project", "local", "env", "flag"]

/** Tiers to settings, pure; `trusted` decides once it is known what waits. @since 0.1.0 @category combinators */
export const settle = (
  tiers: ReadonlyArray<Tiers.TierValues>,
  trusted: (definitions: ReadonlyArray<Definition>) => boolean
): Settled => {
  const { definitions, without } = waiting(tiers)
  const whole = merge(tiers)
  const counts = definitions.length === 0 || trusted(definitions)
  const merged = counts ? whole : merge(without)
  const waits = new Set(
    counts
      ? []
      : definitions.filter(({ kind }) => kind === "permission").map(({ key, tier }) => `${tier} ${key}`)
  )
  const orphans = withoutDefinition(tiers)
  const issues = issueOrder.flatMap((tier) =>
    tiers.filter((values) => values.tier === tier).flatMap((values) =>
      Tiers.ordered([...values.issues, ...orphans.filter((issue) => issue.tier === tier)])
    )
  )
  const of = (severity: "warning" | "error") =>
    issues.filter((issue) => issue.severity === severity).map(Tiers.withoutSeverity)
  return {
    ...merged,
    whole,
    definitions,
    warnings: of("warning"),
    errors: of("error"),
    all_rules: counts ? merged.rules : merge(
      tiers.map((values) => ({
        ...values,
        rules: values.rules.map((rule) => waits.has(`${values.tier} ${rule.key}`) ? { ...rule, untrusted: true } : rule)
      }))
    ).rules,
    mcp_servers: activeServers(merged.config, counts ? tiers : without)
  }
}

/** Where the files of all tiers are. Below the home directory itself there is no project: its file is the user's. */
const filesOf = (
  dirs: DirsService,
  root: string | null,
  home: string,
  managed: string
): SettingsFiles => {
  const user = `${dirs.config}/settings.json`
  const project = `${root ?? ""}/.hanzo/settings.json`
  const none = root === null || root === home || root === dirs.home || project === user
  return {
    managed,
    user,
    project: none ? null : project,
    local: none ? null : `${root}/.hanzo/settings.local.json`,
    trust: Trust.trustFile(dirs.config)
  }
}

const notice = (code: string, file: string, message: string): Issue => ({
  code,
  tier: "user",
  file,
  key: null,
  line: null,
  column: null,
  message
})

/** Reads what the settings come from, as often as it is asked. @since 0.1.0 @category models */
export interface Reader {
  /** Canonical. */
  readonly root: string | null
  readonly files: SettingsFiles
  readonly fingerprint: Effect.Effect<string>
  /** `notices`: what is to be said about the files themselves. */
  readonly tiers: Effect.Effect<{
    readonly tiers: ReadonlyArray<Tiers.TierValues>
    readonly notices: ReadonlyArray<Issue>
  }>
  /** What the user trusts in this workspace. */
  readonly trusted: Effect.Effect<{
    readonly record: Trust.TrustRecord | null
    readonly notices: ReadonlyArray<Issue>
  }>
}

const storedTrust = (fs: FileSystem.FileSystem, file: string, root: string): Reader["trusted"] =>
  Effect.map(readFile(fs, file), (content) => {
    if (content === null) return { record: null, notices: [] }
    const found = "problem" in content
      ? Either.left(content.problem.message)
      : Trust.recordIn(new TextDecoder().decode(content.bytes), root)
    return Either.match(found, {
      onLeft: (problem) => ({ record: null, notices: [notice("trust_unreadable", file, problem)] }),
      onRight: (record) => ({ record, notices: [] })
    })
  })

/** @since 0.1.0 @category constructors */
export const reader = (
  options: Omit<LoadOptions, "trust"> = {}
): Effect.Effect<Reader, never, FileSystem.FileSystem | Dirs | Environment> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const dirs = yield* Dirs
    const environment = yield* Environment
    const real = (path: string) => Effect.orElseSucceed(fs.realPath(path), () => path)
    const root = options.root === undefined ? null : yield* real(options.root)
    const home = root === null ? dirs.home : yield* real(dirs.home)
    const files = filesOf(dirs, root, home, options.managed_file ?? managedFile)
    const legacy = `${dirs.home}/.hanzo/settings.json`
    const watched = [files.managed, files.user, files.project, files.local, legacy].filter((file) => file !== null)
    const read = (file: string | null) => file === null ? Effect.succeed(null) : readFile(fs, file)

    return {
      root,
      files,
      fingerprint: fingerprint(fs, watched),
      tiers: Effect.gen(function*() {
        const [managed, own, project, local] = yield* Effect.all(
          [read(files.managed), read(files.user), read(files.project), read(files.local)],
          { concurrency: "unbounded" }
        )
        const old = own === null ? yield* readFile(fs, legacy) : null
        return {
          tiers: [
            Tiers.defaults,
            Tiers.fromFile("managed", managed),
            Tiers.fromFile("user", own ?? old),
            Tiers.fromFile("project", project),
            Tiers.fromFile("local", local),
            Tiers.fromEnvironment(environment),
            Tiers.fromFlags(options.flags ?? {})
          ],
          notices: old === null ? [] : [
            notice("legacy_file", legacy, `the settings come from an old place; move the file to ${files.user}`)
          ]
        }
      }),
      trusted: root === null ? Effect.succeed({ record: null, notices: [] }) : storedTrust(fs, files.trust, root)
    }
  })

/** Loads and merges every tier; never fails, what is wrong is in `errors`. @since 0.1.0 @category constructors */
export const load = (
  options: LoadOptions = {}
): Effect.Effect<ConfigService, never, FileSystem.FileSystem | Dirs | Environment> =>
  Effect.gen(function*() {
    const source = yield* reader(options)
    const { files, root } = source

    const version = (trust: TrustMode): Effect.Effect<ConfigService> =>
      Effect.gen(function*() {
        // the stamps first: a change while the files are read is one that is announced
        let known = yield* source.fingerprint
        const { notices, tiers } = yield* source.tiers
        const { definitions } = waiting(tiers)
        const hash = trustHash(root ?? "", definitions)
        const stored = definitions.length === 0 ? { record: null, notices: [] } : yield* source.trusted
        const status = definitions.length === 0
          ? "nothing"
          : trust !== "none" && stored.record?.hash === hash
          ? "trusted"
          : trust === "all" || (typeof trust === "object" && trust.hash === hash)
          ? "this_run"
          : "untrusted"
        const { definitions: _definitions, units: _units, warnings, whole: _whole, ...settled } = settle(
          tiers,
          () => status !== "untrusted"
        )
        return {
          ...settled,
          user_file: files.user,
          files,
          trust: { status, root, hash, definitions, record: stored.record },
          warnings: [...notices, ...stored.notices, ...warnings],
          changed: Effect.map(source.fingerprint, (now) => now === known ? null : now),
          acknowledge: Effect.map(source.fingerprint, (now) => {
            known = now
          }),
          // what was trusted unseen at the start is not what somebody writes into it meanwhile
          reload: Effect.suspend(() => version(trust === "all" ? { hash } : trust))
        }
      })
    return yield* version(options.trust ?? "stored")
  })

/** The settings of a user file's text alone: no disk, no environment. @since 0.1.0 @category constructors */
export const ofText = (text: string, flags: ConfigFlags = {}): ConfigService => {
  const file = "settings.json"
  const { definitions, units: _units, whole: _whole, ...settled } = settle([
    Tiers.defaults,
    Tiers.fromFile("user", { file, bytes: new TextEncoder().encode(text) }),
    Tiers.fromFlags(flags)
  ], () => false)
  const service: ConfigService = {
    ...settled,
    user_file: file,
    files: { managed: null, user: file, project: null, local: null, trust: "trust.json" },
    trust: { status: "nothing", root: null, hash: trustHash("", definitions), definitions, record: null },
    changed: Effect.succeed(null),
    acknowledge: Effect.void,
    reload: Effect.suspend(() => Effect.succeed(service))
  }
  return service
}
