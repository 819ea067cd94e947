/**
 * Where a session works (reading 4.1): the given directory, else the repository's top, else the nearest ancestor with
 * `.hanzo/settings.json`, else the working directory. The walk never enters or passes the home directory.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { Workspace, type WorkspaceService } from "../domain/Workspace.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment } from "../platform/Environment.ts"

/** Exit code 2: the directory is not there or is no directory. @since 0.1.0 @category errors */
export class WorkspaceError extends TaggedError("@hanzo/dev/app/WorkspaceError")("WorkspaceError", () => ({
  reason: Schema.Literal("not_found", "not_a_directory"),
  message: Schema.String
})) {}

/** `directory` is what `-C` said. Both paths of the answer are canonical. @since 0.1.0 @category constructors */
export const locate = (
  directory?: string
): Effect.Effect<WorkspaceService, WorkspaceError, FileSystem.FileSystem | Path.Path | Environment | Dirs> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const environment = yield* Environment
    const dirs = yield* Dirs
    const wanted = path.resolve(environment.cwd, directory ?? ".")
    const cwd = yield* Effect.mapError(
      fs.realPath(wanted),
      () => new WorkspaceError({ reason: "not_found", message: `there is no directory ${wanted}` })
    )
    const info = yield* Effect.option(fs.stat(cwd))
    if (info._tag === "None" || info.value.type !== "Directory") {
      return yield* new WorkspaceError({ reason: "not_a_directory", message: `${wanted} is not a directory` })
    }
    if (directory !== undefined) return { root: cwd, cwd }

    const home = yield* Effect.orElseSucceed(fs.realPath(dirs.home), () => dirs.home)
    const nearest = (marker: string): Effect.Effect<string | null> =>
      Effect.gen(function*() {
        for (let at = cwd; at !== home; at = path.dirname(at)) {
          if (yield* Effect.orElseSucceed(fs.exists(path.join(at, marker)), () => false)) return at
          if (path.dirname(at) === at) return null
        }
        return null
      })
    const root = (yield* nearest(".git")) ?? (yield* nearest(".hanzo/settings.json")) ?? cwd
    return { root, cwd }
  })

/** Call once and keep the result. @since 0.1.0 @category layers */
export const layer = (directory?: string) => Layers.effect(Workspace, locate(directory))
