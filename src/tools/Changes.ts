/**
 * What the tools that change files have in common: load what is there, check that the session knows it, write, remember.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { AtomicFile, type WriteOptions, type Written } from "../platform/AtomicFile.ts"
import { type FileContent, Files } from "../platform/Files.ts"
import { FileState } from "./FileState.ts"
import { Paths, toFailure } from "./Paths.ts"
import { ToolFailure } from "./Tool.ts"

/** Bytes of a file that is changed in memory. */
const maxFileBytes = 64 * 1024 * 1024

/** @since 0.1.0 @category models */
export interface ChangesService {
  /** The file at a canonical path; null = there is none. Directories and devices fail. */
  readonly load: (path: string) => Effect.Effect<FileContent | null, ToolFailure>
  /** Fails unless the session knows this version (FileState). */
  readonly check: (
    session_id: string,
    path: string,
    content: FileContent,
    must_have_seen: boolean
  ) => Effect.Effect<void, ToolFailure>
  /**
   * Writes over exactly `before` (null = nothing may be there), parents made; the session then knows the new version,
   * all of it or (`part`) as much as it knew before.
   */
  readonly write: (
    session_id: string,
    path: string,
    bytes: Uint8Array,
    before: FileContent | null,
    extent: "whole" | "part",
    mode?: number
  ) => Effect.Effect<Written, ToolFailure>
  /** Removes exactly `before`. */
  readonly remove: (session_id: string, path: string, before: FileContent) => Effect.Effect<void, ToolFailure>
  /** A warning for a file that has other names, else an empty string. */
  readonly linkNote: (written: Written) => string
}

/** @since 0.1.0 @category services */
export class Changes extends Context.Tag("@hanzo/dev/tools/Changes")<Changes, ChangesService>() {
  static readonly layer: Layer.Layer<Changes, never, Files | AtomicFile | FileState | Paths> = Layers.effect(
    Changes,
    Effect.gen(function*() {
      const files = yield* Files
      const atomic = yield* AtomicFile
      const state = yield* FileState
      const paths = yield* Paths

      const load: ChangesService["load"] = (path) =>
        files.read(path, maxFileBytes).pipe(
          Effect.catchAll((error) =>
            error.reason === "not_found" || error.reason === "not_a_directory"
              ? Effect.succeed(null)
              : Effect.fail(
                error.reason === "is_a_directory"
                  ? new ToolFailure({ message: `${paths.display(path)} is a directory, not a file.` })
                  : toFailure(error)
              )
          )
        )

      return {
        load,
        check: (session_id, path, content, must_have_seen) =>
          state.check(session_id, path, content, { display: paths.display(path), must_have_seen }),
        write: (session_id, path, bytes, before, extent, mode) => {
          const options: WriteOptions = {
            approved: true,
            create_parents: 0o777,
            expect: before === null ? "absent" : before.stamp,
            ...(mode === undefined ? {} : { mode })
          }
          return Effect.uninterruptible(
            atomic.write(path, bytes, options).pipe(
              Effect.mapError(toFailure),
              Effect.tap((written) =>
                state.saw(
                  session_id,
                  path,
                  { stamp: written.stamp, sha256: files.digest(bytes) },
                  before === null ? "whole" : extent
                )
              )
            )
          )
        },
        remove: (session_id, path, before) =>
          Effect.uninterruptible(
            files.remove(path, before.stamp).pipe(
              Effect.mapError(toFailure),
              Effect.zipRight(state.dropped(session_id, path))
            )
          ),
        linkNote: (written) =>
          written.old_links > 1
            ? `\nNote: the file had ${written.old_links} names (hard links); the others keep the old content.`
            : ""
      }
    })
  )
}
