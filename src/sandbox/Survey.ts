/**
 * What the paths of a session are judged by: the territory, the repository in it, and both as a policy for file tools.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { WorkspaceService } from "../domain/Workspace.ts"
import type { DirsService } from "../platform/Dirs.ts"
import type { FilesService } from "../platform/Files.ts"
import { fingerprint } from "../platform/Look.ts"
import { isWithin, type PathPolicy } from "./CheckPath.ts"
import { type GitPlaces, gitPlaces } from "./GitPlaces.ts"
import { type Territory, territory } from "./Policy.ts"
import type { ActiveCommands } from "./Programs.ts"
import type { SandboxSettings } from "./Settings.ts"

/** @since 0.1.0 @category models */
export interface Survey {
  readonly land: Territory
  readonly gitAtStart: GitPlaces
  /** The repository as it is now. */
  readonly git: Effect.Effect<GitPlaces>
  /** The mode allows all of the workspace, and so its repository. */
  readonly wholeWorkspace: boolean
  /** Directories of the repository outside the workspace that may be written. */
  readonly gitRoots: ReadonlyArray<string>
  readonly pathPolicy: PathPolicy
}

/** @since 0.1.0 @category models */
export interface SurveyInput {
  readonly settings: SandboxSettings
  readonly workspace: WorkspaceService
  readonly dirs: DirsService
  readonly commands: ActiveCommands
  readonly files: FilesService
  readonly path: Path.Path
  readonly os: string
  /** `PATH` of the active commands. */
  readonly search_path: string
}

/** Once a session. @since 0.1.0 @category constructors */
export const survey = (
  { commands, dirs, files, os, path, search_path, settings, workspace }: SurveyInput
): Effect.Effect<Survey> =>
  Effect.gen(function*() {
    const land = yield* territory({
      settings,
      workspace,
      dirs,
      commands,
      files,
      path,
      search_path
    })
    const nothing: GitPlaces = { write_roots: [], protected: [], named: [], warnings: [], sources: [] }
    const readGit = gitPlaces({ files, path, home: dirs.home }, land.workspace)
    const gitAtStart: GitPlaces = settings.mode === "off" ? nothing : yield* readGit
    let known = { state: yield* fingerprint(gitAtStart.sources), places: gitAtStart }
    /** Read again when one of its files has changed. */
    const git: Effect.Effect<GitPlaces> = Effect.gen(function*() {
      const state = yield* fingerprint(known.places.sources)
      if (state === known.state) return known.places
      const places = yield* readGit
      known = { state: yield* fingerprint(places.sources), places }
      return places
    })
    const wholeWorkspace = land.roots.some((root) => isWithin(root, land.workspace, path.sep))
    const gitRoots = wholeWorkspace ? gitAtStart.write_roots : []

    const pathPolicy: PathPolicy = {
      mode: settings.mode,
      roots: [...land.roots, ...gitRoots],
      read_roots: [path.join(dirs.state, "tool-output")],
      always_protected: [...land.always_protected, ...land.missing.map((one) => one.path)],
      protected: gitAtStart.protected.map((place) => place.path),
      credentials: land.credentials,
      deny_hard_linked_writes: settings.deny_hard_linked_writes,
      fold_case: os === "darwin" || os === "win32",
      separator: path.sep
    }
    return { git, gitAtStart, gitRoots, land, pathPolicy, wholeWorkspace }
  })
