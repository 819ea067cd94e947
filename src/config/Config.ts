/**
 * The settings in force and where each value came from (reading 4).
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"
import type * as Check from "./Check.ts"
import { merge } from "./Merge.ts"
import type { HanzoConfig } from "./Schema.ts"
import * as Tiers from "./Tiers.ts"

/** @since 0.1.0 @category models */
export type Tier = Check.Tier

/** Line and column count from 1 in code points. @since 0.1.0 @category models */
export type Issue = Check.Issue

/** A value of one tier and its place. @since 0.1.0 @category models */
export type Source = Tiers.Source

/** @since 0.1.0 @category models */
export interface ConfigService {
  readonly config: HanzoConfig
  readonly warnings: ReadonlyArray<Issue>
  /** With any error the program does not start (reading 4.6). */
  readonly errors: ReadonlyArray<Issue>
  /** Dotted key of each leaf to its origin. */
  readonly origins: ReadonlyMap<string, Tier>
  /** Dotted key of each leaf to all its values: the one in force first, then those it hides (reading 4.10). */
  readonly sources: ReadonlyMap<string, ReadonlyArray<Source>>
  /** Permission rules in the order of reading 7.4 with their tier. */
  readonly rules: ReadonlyArray<HanzoConfig["permissions"][number] & { readonly tier: Tier }>
  /** Where the user's settings are, or would be. */
  readonly user_file: string
}

/** What the command line says: settings by key, and rules in argv order (reading 7.4). @since 0.1.0 @category models */
export interface ConfigFlags {
  readonly settings?: Readonly<Record<string, unknown>>
  readonly deny?: ReadonlyArray<string>
  readonly allow?: ReadonlyArray<string>
}

/** Largest settings file, in bytes (reading 4.4). @since 0.1.0 @category constants */
export const maxFileBytes = 4 * 1024 * 1024

const isMissing = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

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
    if (info.size > BigInt(maxFileBytes)) {
      return {
        file,
        problem: { code: "too_large", message: `the file has ${info.size} bytes, the limit is ${maxFileBytes}` }
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

/** Loads and merges every tier; never fails, what is wrong is in `errors`. @since 0.1.0 @category constructors */
export const load = (
  flags: ConfigFlags = {}
): Effect.Effect<ConfigService, never, FileSystem.FileSystem | Dirs | Environment> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const dirs = yield* Dirs
    const environment = yield* Environment
    const user_file = `${dirs.config}/settings.json`
    const legacy = `${dirs.home}/.hanzo/settings.json`
    const own = yield* readFile(fs, user_file)
    const old = own === null ? yield* readFile(fs, legacy) : null
    const notices: Array<Issue> = []
    if (old !== null) {
      notices.push({
        code: "legacy_file",
        tier: "user",
        file: legacy,
        key: null,
        line: null,
        column: null,
        message: `the settings come from an old place; move the file to ${user_file}`
      })
    }
    const tiers = [
      Tiers.defaults,
      Tiers.fromFile("user", own ?? old),
      Tiers.fromEnvironment(environment),
      Tiers.fromFlags(flags)
    ]
    const merged = merge(tiers)
    const issues = tiers.flatMap((tier) => tier.issues)
    return {
      ...merged,
      user_file,
      warnings: [...notices, ...issues.filter((issue) => issue.severity === "warning").map(Tiers.withoutSeverity)],
      errors: issues.filter((issue) => issue.severity === "error").map(Tiers.withoutSeverity)
    }
  })

/** @since 0.1.0 @category services */
export class Config extends Context.Tag("@hanzo/dev/config/Config")<Config, ConfigService>() {
  /** User file, environment, no flags. */
  static readonly layer: Layer.Layer<Config, never, FileSystem.FileSystem | Dirs | Environment> = Layer.effect(
    Config,
    load()
  )

  /** The same with what the command line says. Call once and keep the result. */
  static readonly layerFlags = (
    flags: ConfigFlags
  ): Layer.Layer<Config, never, FileSystem.FileSystem | Dirs | Environment> => Layer.effect(Config, load(flags))

  /** The settings of a user file's text alone, for tests and embedders: no disk, no environment. */
  static readonly layerText = (text: string, flags: ConfigFlags = {}): Layer.Layer<Config> =>
    Layer.sync(Config, () => {
      const tiers = [
        Tiers.defaults,
        Tiers.fromFile("user", { file: "settings.json", bytes: new TextEncoder().encode(text) }),
        Tiers.fromFlags(flags)
      ]
      const issues = tiers.flatMap((tier) => tier.issues)
      return {
        ...merge(tiers),
        user_file: "settings.json",
        warnings: issues.filter((issue) => issue.severity === "warning").map(Tiers.withoutSeverity),
        errors: issues.filter((issue) => issue.severity === "error").map(Tiers.withoutSeverity)
      }
    })
}
