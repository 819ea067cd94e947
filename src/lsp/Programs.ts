/**
 * Finds the program of a server, without starting it: what the settings name, what the project has installed, what is on
 * PATH. Never installs anything.
 *
 * A program inside the workspace is taken only where the workspace is trusted, or git says that no commit brought it: a
 * checkout must not decide what runs.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { JsonObject } from "../domain/Json.ts"
import type { FilesService } from "../platform/Files.ts"
import { firstFile, isAnyFile } from "../platform/Look.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { directoriesUp, type ServerDefinition } from "./Definitions.ts"

/** @since 0.1.0 @category models */
export interface ProgramServices {
  readonly files: FilesService
  readonly processes: Effect.Effect<ProcessesService>
  /** Whether the kernel holds what is started. */
  readonly enforced: Effect.Effect<boolean>
  /** Of children. */
  readonly env: ReadonlyMap<string, string>
  /** The user trusts what the workspace brings. */
  readonly trusted: boolean
  readonly workspace: string
}

/** @since 0.1.0 @category models */
export type Found =
  | {
    readonly _tag: "Program"
    readonly argv: readonly [string, ...ReadonlyArray<string>]
    readonly initialization_options: JsonObject
  }
  | { readonly _tag: "Missing"; readonly program: string }
  /** `path`: what would be run if it were trusted. */
  | { readonly _tag: "HeldBack"; readonly path: string; readonly why: string }

const localDirectories = ["node_modules/.bin", ".venv/bin", "venv/bin"]

/** Directories above a file, the nearest first. */
const ancestors = (path: string): ReadonlyArray<string> => directoriesUp("/", path)

/** null = it is not on PATH. @since 0.1.0 @category combinators */
export const onPath = (env: ReadonlyMap<string, string>, program: string): string | null =>
  firstFile(
    (env.get("PATH") ?? "/usr/bin:/bin").split(":").filter((directory) => directory.startsWith("/")).map((directory) =>
      `${directory}/${program}`
    )
  )

const isInside = (root: string, path: string): boolean => path.startsWith(root === "/" ? root : `${root}/`)

/** The version in the package that a file belongs to; null = it belongs to none of this name. */
const packageVersion = (
  files: FilesService,
  path: string,
  names: ReadonlySet<string>
): Effect.Effect<string | null> =>
  Effect.gen(function*() {
    const { path: real } = yield* files.canonical(path)
    for (const directory of ancestors(real).slice(0, 4)) {
      const read = yield* Effect.option(files.read(`${directory}/package.json`, 1_000_000))
      if (read._tag === "None") continue
      const parsed = yield* Effect.try((): unknown => JSON.parse(new TextDecoder().decode(read.value.bytes)))
      if (typeof parsed !== "object" || parsed === null) return null
      const { name, version } = parsed as { readonly name?: unknown; readonly version?: unknown }
      return typeof name === "string" && names.has(name) && typeof version === "string" ? version : null
    }
    return null
  }).pipe(Effect.orElseSucceed(() => null))

const typescriptPackages: ReadonlySet<string> = new Set(["typescript", "@typescript/native-preview"])

const isNative = (files: FilesService, path: string): Effect.Effect<boolean> =>
  Effect.map(
    packageVersion(files, path, typescriptPackages),
    (version) => version !== null && Number(version.split(".")[0]) >= 7
  )

/** Did a commit bring it? Also where that cannot be told. */
const isTracked = (services: ProgramServices, path: string): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    const slash = path.lastIndexOf("/")
    const { path: real } = yield* services.files.canonical(path)
    // what the link leads to, and all of the package it lies in
    const owner = ancestors(real).find((directory) => {
      const parent = directory.slice(0, directory.lastIndexOf("/"))
      return parent.endsWith("/node_modules") || /\/node_modules\/@[^/]+$/u.test(parent)
    }) ?? real
    const processes = yield* services.processes
    const ran = yield* processes.run({
      argv: [
        "git",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "--literal-pathspecs",
        "ls-files",
        "-z",
        "--",
        path,
        ...(isInside(services.workspace, owner) ? [owner] : [])
      ],
      cwd: path.slice(0, slash),
      env: services.env,
      timeout: Duration.seconds(5),
      max_bytes: 64 * 1024
    })
    return ran.code !== 0 || ran.stdout.byteLength > 0
  }).pipe(Effect.orElseSucceed(() => true))

/** Where the program is; for a root at or below the workspace. @since 0.1.0 @category constructors */
export const find = (
  definition: ServerDefinition,
  root: string,
  services: ProgramServices
): Effect.Effect<Found> =>
  Effect.gen(function*() {
    const { files, trusted, workspace } = services
    const [program, ...args] = definition.command
    const above = directoriesUp(workspace, `${root}/_`)
    const mayRun = (path: string): Effect.Effect<boolean> =>
      trusted || !isInside(workspace, path) ? Effect.succeed(true) : Effect.map(isTracked(services, path), (is) => !is)
    const isRight = (path: string): Effect.Effect<boolean> =>
      definition.typescript === undefined ? Effect.succeed(true) : isNative(files, path)

    let path: string | null = null
    let held: string | null = null
    if (definition.configured) {
      path = program.includes("/")
        ? (yield* isAnyFile([program.startsWith("/") ? program : `${workspace}/${program}`])) ? program : null
        : onPath(services.env, program) ??
          firstFile(above.map((directory) => `${directory}/node_modules/.bin/${program}`))
    } else {
      for (const directory of above.flatMap((one) => localDirectories.map((local) => `${one}/${local}`))) {
        const candidate = firstFile([`${directory}/${program}`])
        if (candidate === null || !(yield* isRight(candidate))) continue
        if (yield* mayRun(candidate)) {
          path = candidate
          break
        }
        held ??= candidate
      }
      if (path === null) {
        const candidate = onPath(services.env, program)
        if (candidate !== null && (yield* isRight(candidate))) path = candidate
      }
    }
    if (path === null) {
      return held === null
        ? { _tag: "Missing", program }
        : { _tag: "HeldBack", path: held, why: "it comes with the workspace, which is not trusted" }
    }
    if (definition.runs_project_code === true && !definition.configured && !trusted && !(yield* services.enforced)) {
      return {
        _tag: "HeldBack",
        path,
        why: "it runs code of the workspace, which is not trusted, and the sandbox does not hold it"
      }
    }
    let options = definition.initialization_options
    if (definition.wants_tsserver === true && !Object.hasOwn(options, "tsserver")) {
      const real = yield* Effect.orElseSucceed(Effect.map(files.canonical(path), (found) => found.path), () => path)
      const places = [...above, ...ancestors(real)].map((directory) => `${directory}/node_modules/typescript/lib`)
      for (const place of places) {
        const library = firstFile([`${place}/tsserver.js`])
        if (library === null || !(yield* mayRun(library))) continue
        options = definition.name === "typescript-language-server"
          ? { ...options, tsserver: { path: library } }
          : { ...options, typescript: { tsdk: place } }
        break
      }
    }
    return {
      _tag: "Program",
      argv: [path.startsWith("/") ? path : `${workspace}/${path}`, ...args],
      initialization_options: options
    }
  })
