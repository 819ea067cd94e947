/**
 * Where files that extend the agent are: commands, skills and agents, of the user and of a checkout.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type { DirsService } from "../platform/Dirs.ts"

/** @since 0.1.0 @category models */
export type ExtensionKind = "command" | "skill" | "agent"

/** A folder that may hold some, the nearest first: what it holds wins over the same name in a later one. @since 0.1.0 @category models */
export interface ExtensionPlace {
  readonly tier: "project" | "user"
  readonly directory: string
  /** As people know it: relative to the root, or below `~`. */
  readonly shown: string
}

/** Where a workspace's extensions come from. @since 0.1.0 @category models */
export interface ExtensionHomes {
  /** Canonical; null = there is no project. */
  readonly root: string | null
  readonly dirs: Pick<DirsService, "config" | "home">
}

const projectPlaces: Readonly<Record<ExtensionKind, ReadonlyArray<readonly [folder: string, below: string]>>> = {
  command: [[".hanzo", "commands"], [".claude", "commands"]],
  skill: [[".hanzo", "skills"], [".agents", "skills"], [".claude", "skills"]],
  agent: [[".hanzo", "agents"], [".claude", "agents"]]
}

/** @since 0.1.0 @category constructors */
export const placesOf = (kind: ExtensionKind, { dirs, root }: ExtensionHomes): ReadonlyArray<ExtensionPlace> => {
  const home = (path: string): string => path.startsWith(`${dirs.home}/`) ? `~${path.slice(dirs.home.length)}` : path
  const user = (directory: string): ExtensionPlace => ({ tier: "user", directory, shown: home(directory) })
  const [own, ...others] = projectPlaces[kind]
  return [
    ...(root === null ? [] : projectPlaces[kind].map(([folder, below]): ExtensionPlace => ({
      tier: "project",
      directory: `${root}/${folder}/${below}`,
      shown: `${folder}/${below}`
    }))),
    user(`${dirs.config}/${own?.[1] ?? kind}`),
    ...others.map(([folder, below]) => user(`${dirs.home}/${folder}/${below}`))
  ]
}

/** The places that are there. @since 0.1.0 @category combinators */
export const present = (
  fs: FileSystem.FileSystem,
  places: ReadonlyArray<ExtensionPlace>
): Effect.Effect<ReadonlyArray<ExtensionPlace>> =>
  Effect.filter(places, ({ directory }) => Effect.orElseSucceed(fs.exists(directory), () => false))
