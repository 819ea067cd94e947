/**
 * From settings and workspace to the places a session may touch, and those it may not (readings 9.9, 10.2, 10.4). Roots
 * are made canonical once, when the session starts: a link that is turned round later changes nothing.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import type { WorkspaceService } from "../domain/Workspace.ts"
import type { DirsService } from "../platform/Dirs.ts"
import type { FilesService } from "../platform/Files.ts"
import type { MissingProgram } from "../platform/ProgramFiles.ts"
import { lookAtAll } from "../platform/Look.ts"
import { invalidPath, isWithin } from "./CheckPath.ts"
import { credentialPlaces } from "./Places.ts"
import { type ActiveCommands, programCandidates } from "./Programs.ts"
import { programFiles } from "./ProgramFiles.ts"
import type { SandboxSettings } from "./Settings.ts"

/** Canonical paths. @since 0.1.0 @category models */
export interface Territory {
  readonly workspace: string
  /** What the mode allows, in the order of the settings. */
  readonly roots: ReadonlyArray<string>
  readonly config_home: string
  /** Settings, trust and credential files of every tier, and programs of active commands. */
  readonly always_protected: ReadonlyArray<string>
  /** Those protected, as they are named: links not resolved. */
  readonly named: ReadonlyArray<string>
  /** What would be taken for a program of an active command, and is not there. */
  readonly missing: ReadonlyArray<MissingProgram>
  readonly credentials: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface TerritoryInput {
  readonly settings: SandboxSettings
  readonly workspace: WorkspaceService
  readonly dirs: DirsService
  readonly commands: ActiveCommands
  readonly files: FilesService
  readonly path: Path.Path
  /** `PATH` of the active commands. */
  readonly search_path: string
}

/** `~` and `~/` become the home directory, a relative path starts at `base`. @since 0.1.0 @category combinators */
export const expandPath = (given: string, base: string, home: string, path: Path.Path): string =>
  given === "~" || given.startsWith("~/")
    ? home + given.slice(1)
    : path.isAbsolute(given)
    ? given
    : `${base}${path.sep}${given}`

/** @since 0.1.0 @category constructors */
export const territory = (input: TerritoryInput): Effect.Effect<Territory> => {
  const { dirs, files, path, settings, workspace } = input
  const warnings: Array<string> = []
  const canonical = (at: string): Effect.Effect<string | null> =>
    files.canonical(at).pipe(Effect.map((found) => found.path), Effect.orElseSucceed(() => null))
  const all = (places: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
    Effect.map(
      Effect.forEach(places, canonical, { concurrency: 8 }),
      (found) => [...new Set(found.filter((one) => one !== null))]
    )

  return Effect.gen(function*() {
    const root = (yield* canonical(workspace.root)) ?? workspace.root
    const usable: Array<string> = []
    for (const given of settings.allowed_paths) {
      const refused = invalidPath(given)
      if (refused === null) usable.push(expandPath(given, root, dirs.home, path))
      else warnings.push(`sandbox.allowed_paths: ${JSON.stringify(given)} is not used: ${refused}`)
    }
    const roots = settings.mode === "workspace" ? [root] : settings.mode === "allowlist" ? yield* all(usable) : []

    const named: Array<string> = []
    const candidates = yield* Effect.forEach(
      programCandidates(input.commands),
      ({ sure, text }) =>
        Effect.gen(function*() {
          if (invalidPath(text) !== null) return null
          const given = expandPath(text, root, dirs.home, path)
          const found = yield* files.canonical(given).pipe(Effect.option)
          if (found._tag === "None") return null
          // A link in the workspace to a program elsewhere decides what runs just as well.
          if (found.value.kind === "file" || (found.value.kind === null && sure)) named.push(given)
          const { kind, path: at } = found.value
          // Commands that are found on PATH, and words that name no file, are none of the workspace's.
          return isWithin(root, at, path.sep) && at !== root && (kind === "file" || (kind === null && sure)) ? at : null
        }),
      { concurrency: 8 }
    )

    const told = yield* programFiles({ root, home: dirs.home, search_path: input.search_path }, input.commands)
    named.push(...told.closed)
    warnings.push(...told.warnings)
    const programs = (yield* all(told.closed)).filter((at) => !isWithin(at, root, path.sep))
    const missing = yield* Effect.forEach(
      told.missing,
      (one) =>
        Effect.map(
          canonical(one.path),
          (at) => at === null || !isWithin(root, at, path.sep) ? [] : [{ ...one, path: at }]
        )
    )

    const home = dirs.home
    const config_home = (yield* canonical(dirs.config)) ?? dirs.config
    const settingsNamed = [
      path.join(home, ".hanzo", "settings.json"),
      path.join(root, ".hanzo", "settings.json"),
      path.join(root, ".hanzo", "settings.local.json"),
      "/etc/hanzo"
    ]
    const settingsFiles = yield* all(settingsNamed)
    // Most of them are not there: their directories, which are few, say where they would be.
    const places = credentialPlaces.map((place) => path.join(home, place))
    const looks = yield* lookAtAll(places)
    const directories = [...new Set(places.map((place) => path.dirname(place)))]
    const real = new Map(
      yield* Effect.forEach(directories, (at) => Effect.map(canonical(at), (found) => [at, found ?? at] as const))
    )
    const credentials = [
      ...places.filter((_, index) => looks[index] === null).map((place) => {
        const directory = path.dirname(place)
        return path.join(real.get(directory) ?? directory, path.basename(place))
      }),
      ...yield* all(places.filter((_, index) => looks[index] !== null))
    ]
    // Logins and keys may lie elsewhere, behind a link of the settings directory, or in the settings of before.
    const login = yield* canonical(path.join(dirs.config, "credentials.json"))
    const keys = [
      ...(login === null ? [] : [login, `${login}.lock`]),
      ...yield* all([path.join(dirs.config, "settings.json"), path.join(home, ".hanzo", "settings.json")])
    ].filter((place) => !isWithin(config_home, place, path.sep))
    // Sessions hold what was said and read in all projects, the record of permissions is not the agent's to see.
    const records = yield* all([dirs.data, path.join(dirs.state, "audit")])
    return {
      workspace: root,
      roots,
      config_home,
      always_protected: [
        config_home,
        ...keys,
        ...settingsFiles,
        ...candidates.filter((one) => one !== null),
        ...programs
      ],
      missing: missing.flat(),
      named: [dirs.config, ...settingsNamed, path.join(root, ".hanzo"), ...named],
      // A place that was allowed by name is the user's choice, the settings directory never.
      credentials: [
        config_home,
        ...keys,
        ...records,
        ...credentials.filter((place) =>
          settings.mode !== "allowlist" || !roots.some((one) => isWithin(place, one, path.sep))
        )
      ],
      warnings
    }
  })
}
