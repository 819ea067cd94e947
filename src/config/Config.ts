/**
 * The settings in force and where each value came from (reading 4).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { HanzoConfig } from "./Schema.ts"

/** @since 0.1.0 @category models */
export type Tier = "default" | "user" | "project" | "local" | "env" | "flag" | "managed"

/** Line and column count from 1 in code points. @since 0.1.0 @category models */
export interface Issue {
  readonly code: string
  readonly tier: Tier
  readonly file?: string
  readonly key: string | null
  readonly line: number | null
  readonly column: number | null
  readonly message: string
}

/** @since 0.1.0 @category models */
export interface ConfigService {
  readonly config: HanzoConfig
  readonly warnings: ReadonlyArray<Issue>
  /** With any error the program does not start (reading 4.6). */
  readonly errors: ReadonlyArray<Issue>
  /** Dotted key of each leaf to its origin. */
  readonly origins: ReadonlyMap<string, Tier>
  /** Permission rules in the order of reading 7.4 with their tier. */
  readonly rules: ReadonlyArray<HanzoConfig["permissions"][number] & { readonly tier: Tier }>
}

/** @since 0.1.0 @category services */
export class Config extends Context.Tag("@hanzo/dev/config/Config")<Config, ConfigService>() {}
