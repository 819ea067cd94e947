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
import { type FileError, fromPlatform, notAFile } from "../platform/FileError.ts"
import type { Issue, Tier } from "./Issue.ts"
import type { ConfigService } from "./Config.ts"
import { type Definition, trustHash, type Waiting, waiting } from "./Definitions.ts"
import { type ExtensionHomes, placesOf, present } from "./ExtensionPlaces.ts"
import { merge, type Merged, rulesOf, type TieredRule } from "./Merge.ts"
import { activeServers, withoutDefinition } from "./Servers.ts"
import * as Tiers from "./Tiers.ts"
import * as Trust from "./Trust.ts"

/** What of a checkout's commands, skills and agents waits for trust; most have none, and none of that is loaded. */
const waitingExtensions = (
  fs: FileSystem.FileSystem,
  homes: ExtensionHomes
): Effect.Effect<ReadonlyArray<Definition>> =>
  homes.root === null
    ? Effect.succeed([])
    : Effect.flatMap(
      present(
        fs,
        (["command", "skill", "agent"] as const).flatMap((kind) => placesOf(kind, homes))
          .filter(({ tier }) => tier === "project")
      ),
      (places) =>
        places.length === 0
          ? Effect.succeed([])
          : Effect.flatMap(
            Effect.promise(() => import("./Extensions.ts")),
            (extensions) => extensions.waitingExtensions(fs, homes)
          )
    )

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

type Content = Tiers.FileContent | null

/** A file as it was read, with what tells whether it is still the same: taken before, so that no change goes unseen. */
interface Looked {
  readonly content: Content
  readonly stamp: string
}

const absent: Looked = { content: null, stamp: "-" }

/** Of a file that cannot be looked at. */
const unknown = "?"

const stampOf = ({ dev, ino, mtime, size }: FileSystem.File.Info): string =>
  [
    dev,
    Option.getOrElse(ino, () => 0),
    size,
    Option.match(mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
  ].join(":")

const problem = (file: string, code: string, message: string): Content => ({ file, problem: { code, message } })

const unreadable = ({ reason, why }: FileError): string =>
  `the file cannot be read: ${why}${reason === "too_many_links" ? "; correct the link, or remove it" : ""}`

/** The bytes of a settings file, null when there is none, or why it cannot be read. */
const readFile = (fs: FileSystem.FileSystem, file: string): Effect.Effect<Looked> =>
  Effect.suspend(() => {
    let stamp = unknown
    return Effect.gen(function*() {
      const info = yield* fs.stat(file)
      stamp = stampOf(info)
      if (info.type !== "File") {
        const { why } = notAFile("read", file, info.type)
        return {
          stamp,
          content: problem(file, "unreadable", `the file cannot be read: ${why}; put a file there, or nothing`)
        }
      }
      if (info.size > BigInt(Tiers.maxFileBytes)) {
        const message = `the file has ${info.size} bytes, the limit is ${Tiers.maxFileBytes}`
        return { stamp, content: problem(file, "too_large", message) }
      }
      return { stamp, content: { file, bytes: yield* fs.readFile(file) } }
    }).pipe(
      Effect.catchAll((error) =>
        Effect.succeed(
          isMissing(error)
            ? absent
            : { stamp, content: problem(file, "unreadable", unreadable(fromPlatform("read", file, error))) }
        )
      )
    )
  })

const look = (fs: FileSystem.FileSystem, file: string): Effect.Effect<string> =>
  fs.stat(file).pipe(
    Effect.map(stampOf),
    Effect.catchAll((error) => Effect.succeed(isMissing(error) ? absent.stamp : unknown))
  )

/** @since 0.1.0 @category models */
export interface Settled extends Merged {
  readonly warnings: ReadonlyArray<Issue>
  readonly errors: ReadonlyArray<Issue>
  readonly all_rules: ReadonlyArray<TieredRule>
  readonly mcp_servers: ReadonlyArray<string>
}

const issueOrder: ReadonlyArray<Tier> = ["default", "managed", "user", "project", "local", "env", "flag"]

/** Tiers to settings, pure: all of them, or without what waits for trust. @since 0.1.0 @category combinators */
export const settle = (
  tiers: ReadonlyArray<Tiers.TierValues>,
  { definitions, without }: Waiting,
  trusted: boolean
): Settled => {
  const counts = trusted || definitions.length === 0
  const merged = merge(counts ? tiers : without)
  const waits = new Set(
    definitions.filter(({ kind }) => kind === "permission").map(({ key, tier }) => `${tier} ${key}`)
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
    warnings: of("warning"),
    errors: of("error"),
    all_rules: counts ? merged.rules : rulesOf(
      tiers.map((values) => ({
        ...values,
        rules: values.rules.map((rule) => waits.has(`${values.tier} ${rule.key}`) ? { ...rule, untrusted: true } : rule)
      }))
    ),
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
  /** Of the files as they are now. */
  readonly fingerprint: Effect.Effect<string>
  /** `notices`: what is to be said about the files themselves. */
  readonly tiers: Effect.Effect<{
    readonly fingerprint: string
    readonly tiers: ReadonlyArray<Tiers.TierValues>
    readonly notices: ReadonlyArray<Issue>
  }>
  /** What of the checkout's commands and skills waits for trust. */
  readonly extensions: Effect.Effect<ReadonlyArray<Definition>>
  /** What the user trusts in this workspace. */
  readonly trusted: Effect.Effect<{
    readonly record: Trust.TrustRecord | null
    readonly notices: ReadonlyArray<Issue>
  }>
}

const storedTrust = (fs: FileSystem.FileSystem, file: string, root: string): Reader["trusted"] =>
  Effect.map(readFile(fs, file), ({ content }) => {
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
    const [root, home] = options.root === undefined
      ? [null, dirs.home]
      : yield* Effect.all([real(options.root), real(dirs.home)])
    const files = filesOf(dirs, root, home, options.managed_file ?? managedFile)
    const legacy = `${dirs.home}/.hanzo/settings.json`
    const watched = [files.managed, files.user, files.project, files.local]
    // one after another: forking fibers costs more than these reads
    const each = <A>(none: A, of: (file: string) => Effect.Effect<A>) =>
      Effect.forEach(watched, (file) => file === null ? Effect.succeed(none) : of(file))

    return {
      root,
      files,
      fingerprint: Effect.gen(function*() {
        const stamps = yield* each(absent.stamp, (file) => look(fs, file))
        return [...stamps, stamps[1] === absent.stamp ? yield* look(fs, legacy) : absent.stamp].join(" ")
      }),
      tiers: Effect.gen(function*() {
        const [managed = absent, own = absent, project = absent, local = absent] = yield* each(
          absent,
          (file) => readFile(fs, file)
        )
        const old = own.content === null ? yield* readFile(fs, legacy) : absent
        return {
          fingerprint: [managed, own, project, local, old].map(({ stamp }) => stamp).join(" "),
          tiers: [
            Tiers.defaults,
            Tiers.fromFile("managed", managed.content),
            Tiers.fromFile("user", own.content ?? old.content),
            Tiers.fromFile("project", project.content),
            Tiers.fromFile("local", local.content),
            Tiers.fromEnvironment(environment),
            Tiers.fromFlags(options.flags ?? {})
          ],
          notices: old.content === null ? [] : [
            notice("legacy_file", legacy, `the settings come from an old place; move the file to ${files.user}`)
          ]
        }
      }),
      extensions: waitingExtensions(fs, { root: files.project === null ? null : root, dirs }),
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
        const [{ fingerprint, notices, tiers }, found, extensions] = yield* Effect.all([
          source.tiers,
          source.trusted,
          source.extensions
        ])
        let known = fingerprint
        const split = waiting(tiers)
        const definitions = [...split.definitions, ...extensions]
        const hash = trustHash(root ?? "", definitions)
        const stored = definitions.length === 0 ? { record: null, notices: [] } : found
        const status = definitions.length === 0
          ? "nothing"
          : trust !== "none" && stored.record?.hash === hash
          ? "trusted"
          : trust === "all" || (typeof trust === "object" && trust.hash === hash)
          ? "this_run"
          : "untrusted"
        const { units: _units, warnings, ...settled } = settle(tiers, split, status !== "untrusted")
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
  const tiers = [
    Tiers.defaults,
    Tiers.fromFile("user", { file, bytes: new TextEncoder().encode(text) }),
    Tiers.fromFlags(flags)
  ]
  const { units: _units, ...settled } = settle(tiers, { definitions: [], without: tiers }, true)
  const service: ConfigService = {
    ...settled,
    user_file: file,
    files: { managed: null, user: file, project: null, local: null, trust: "trust.json" },
    trust: { status: "nothing", root: null, hash: trustHash("", []), definitions: [], record: null },
    changed: Effect.succeed(null),
    acknowledge: Effect.void,
    reload: Effect.suspend(() => Effect.succeed(service))
  }
  return service
}
