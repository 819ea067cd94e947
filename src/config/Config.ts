/**
 * The settings in force and where each value came from (reading 4).
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import type * as Found from "./Issue.ts"
import * as Load from "./Load.ts"
import type { TieredRule } from "./Merge.ts"
import type { HanzoConfig } from "./Schema.ts"
import type * as Tiers from "./Tiers.ts"

/** @since 0.1.0 @category models */
export type Tier = Found.Tier

/** Line and column count from 1 in code points. @since 0.1.0 @category models */
export type Issue = Found.Issue

/** A value of one tier and its place. @since 0.1.0 @category models */
export type Source = Tiers.Source

/** A rule in force, with its tier and place. @since 0.1.0 @category models */
export type Rule = TieredRule

/** What the command line says: settings by key, and rules in argv order (reading 7.4). @since 0.1.0 @category models */
export type ConfigFlags = Load.ConfigFlags

/** How much of a checkout's settings counts. @since 0.1.0 @category models */
export type TrustMode = Load.TrustMode

/** @since 0.1.0 @category models */
export type LoadOptions = Load.LoadOptions

/** A version of the settings as it was read; it never changes. @since 0.1.0 @category models */
export interface ConfigService {
  /** What waits for trust is not in it (reading 4.9). */
  readonly config: HanzoConfig
  readonly warnings: ReadonlyArray<Issue>
  /** With any error the program does not start (reading 4.6). */
  readonly errors: ReadonlyArray<Issue>
  /** Dotted key of each leaf to its origin. */
  readonly origins: ReadonlyMap<string, Tier>
  /** Dotted key of each leaf to all its values: the one in force first, then those it hides (reading 4.10). */
  readonly sources: ReadonlyMap<string, ReadonlyArray<Source>>
  /** Permission rules that count, in the order of reading 7.4: managed, flags, local, project, user. */
  readonly rules: ReadonlyArray<Rule>
  /** The same with those that wait for trust, which have `untrusted: true` and decide nothing. */
  readonly all_rules: ReadonlyArray<Rule>
  /** Where the user's settings are, or would be. */
  readonly user_file: string
  /** Where each tier's file is, or would be; null = there is no workspace. */
  readonly files: Load.SettingsFiles
  /** What of the workspace's settings waits for trust, or has it. */
  readonly trust: Load.TrustState
  /** MCP servers that run: defined, not disabled, valid, trusted; sorted by code point. */
  readonly mcp_servers: ReadonlyArray<string>
  /**
   * Null while the files are as they were read (or as `acknowledge` last saw them); else a fingerprint of what they are
   * now, so that a change can be announced once.
   */
  readonly changed: Effect.Effect<string | null>
  /** Whoever has changed a file itself says so: it is not announced. */
  readonly acknowledge: Effect.Effect<void>
  /**
   * The settings read again, with the same flags. This version stays as it is: whoever applies the new one builds the
   * workspace with it, and does not when it has errors. `--trust-workspace` covers what it covered at the start, no more.
   */
  readonly reload: Effect.Effect<ConfigService>
}

/** Loads and merges every tier; never fails, what is wrong is in `errors`. @since 0.1.0 @category constructors */
export const load: (
  options?: LoadOptions
) => Effect.Effect<ConfigService, never, FileSystem.FileSystem | Dirs | Environment> = Load.load

/** @since 0.1.0 @category services */
export class Config extends Context.Tag("@hanzo/dev/config/Config")<Config, ConfigService>() {
  /** User file, managed file, environment; no workspace, no flags. */
  static readonly layer: Layer.Layer<Config, never, FileSystem.FileSystem | Dirs | Environment> = Layers.effect(
    Config,
    load()
  )

  /** Every tier of a workspace. Call once and keep the result. */
  static readonly layerFor = (
    options: LoadOptions
  ): Layer.Layer<Config, never, FileSystem.FileSystem | Dirs | Environment> => Layers.effect(Config, load(options))

  /** A version that was loaded before. */
  static readonly layerOf = (config: ConfigService): Layer.Layer<Config> => Layers.succeed(Config, config)

  /** The settings of a user file's text alone, for tests and embedders: no disk, no environment. */
  static readonly layerText = (text: string, flags: ConfigFlags = {}): Layer.Layer<Config> =>
    Layers.sync(Config, () => Load.ofText(text, flags))
}
