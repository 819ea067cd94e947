/**
 * What is said of settings: which tier and place, how bad, and what is wrong.
 *
 * @since 0.1.0
 */
import type * as Document from "./Document.ts"

/** @since 0.1.0 @category models */
export type Tier = "default" | "user" | "project" | "local" | "env" | "flag" | "managed"

/**
 * Something wrong with the settings. Line and column count from 1 in code points and are those of the value, for
 * unknown and duplicate keys those of the key. `frame` is the line with a caret, without values.
 *
 * @since 0.1.0
 * @category models
 */
export interface Issue {
  readonly code: string
  readonly tier: Tier
  readonly file?: string
  readonly key: string | null
  readonly line: number | null
  readonly column: number | null
  readonly message: string
  readonly frame?: string
}

/** @since 0.1.0 @category models */
export interface FoundIssue extends Issue {
  readonly severity: "error" | "warning"
}

/** How a check finds the place of an offset. @since 0.1.0 @category models */
export interface Place {
  readonly line: (offset: number) => number | null
  readonly position: (offset: number) => Document.Position | null
  readonly frame: (offset: number) => string | undefined
}

/** Values that come from no file. @since 0.1.0 @category constants */
export const nowhere: Place = { line: () => null, position: () => null, frame: () => undefined }
