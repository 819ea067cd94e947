/**
 * What the user's rules keep from being read, for files that no tool reads. Optional: without it nothing is denied.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/** @since 0.1.0 @category models */
export interface ReadRulesService {
  /** A rule denies `read` of this absolute path. */
  readonly denies: (path: string) => boolean
}

/** @since 0.1.0 @category services */
export class ReadRules extends Context.Tag("@hanzo/dev/instructions/ReadRules")<ReadRules, ReadRulesService>() {}
