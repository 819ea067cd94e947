/**
 * Links that lead to protected places and lie where commands may write (reading 10.5). Nothing can be mounted over a link,
 * so that a command could put something else there.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import { linksOnWay } from "../platform/Look.ts"
import { isWithin } from "./CheckPath.ts"
import type { GitPlaces } from "./GitPlaces.ts"
import type { Territory } from "./Policy.ts"

/** @since 0.1.0 @category models */
export interface ReplaceableInput {
  readonly land: Territory
  readonly cwd: string
  /** null = the workspace is not writable as a whole. */
  readonly git: GitPlaces | null
  readonly git_roots: ReadonlyArray<string>
  readonly path: Path.Path
}

/** Canonical but for their last component. @since 0.1.0 @category constructors */
export const replaceableLinks = (
  { cwd, git, git_roots, land, path }: ReplaceableInput
): Effect.Effect<ReadonlyArray<string>> => {
  const bases = [...land.roots, cwd]
  const settings = bases.map((root) => path.join(root, ".hanzo"))
  const hooks = bases.flatMap((root) => ["hooks", "config"].map((name) => path.join(root, ".git", name)))
  const writable = [...land.roots, ...git_roots]
  const places = git === null ? [] : git.protected.map((place) => place.path)
  // In a directory that is closed as a whole nothing can be replaced.
  const closed = [land.config_home, ...settings, ...places, ...land.always_protected]
  const named = [...land.named, ...settings, ...hooks, ...(git === null ? [] : git.named)]
  return Effect.map(
    linksOnWay(named),
    (links) =>
      links.filter((link) =>
        writable.some((root) => link !== root && isWithin(root, link, path.sep)) &&
        !closed.some((at) => at !== link && isWithin(at, link, path.sep))
      )
  )
}

/** Why no command may start. @since 0.1.0 @category encoding */
export const linkRefusal = (link: string): string =>
  `${link} is a symbolic link to a protected place (rule protected), and a command could replace the link; put a plain ` +
  "file or directory in its place, or name what it leads to"

/** For the status. @since 0.1.0 @category encoding */
export const linkWarning = (link: string): string =>
  `${link} is a symbolic link to a protected place: no command runs in a kernel sandbox while it is there; with path ` +
  "checks alone commands could replace it"
