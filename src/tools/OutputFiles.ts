/**
 * Where the whole of a truncated output is kept: `<state>/tool-output/`, readable by the user alone, for seven days.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import { Dirs } from "../platform/Dirs.ts"

/** @since 0.1.0 @category models */
export interface OutputFile {
  readonly path: string
  /** Appends; past the limit the rest is counted, not kept. Never fails: a full disk ends up in `problem`. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void>
  /** What keeps the file from being whole, in words; undefined = it is. */
  readonly problem: Effect.Effect<string | undefined>
}

/** @since 0.1.0 @category models */
export interface OutputFilesService {
  /** A new file named after the call; none when the directory cannot be written. Closed with the scope. */
  readonly create: (call_id: string) => Effect.Effect<Option.Option<OutputFile>, never, Scope.Scope>
}

/** Bytes of one file. */
const maxFileBytes = 64 * 1024 * 1024

const retention = Duration.days(7)

const safeName = (call_id: string): string => call_id.replaceAll(/[^\w.-]/gu, "_").replace(/^\.+/u, "_").slice(0, 100)

const make = (limit: number) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const directory = path.join((yield* Dirs).state, "tool-output")

    const sweep = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      for (const name of yield* fs.readDirectory(directory)) {
        const file = path.join(directory, name)
        const info = yield* fs.stat(file)
        const age = Option.map(info.mtime, (at) => now - at.getTime())
        if (info.type === "File" && Option.exists(age, (ms) => ms > Duration.toMillis(retention))) {
          yield* fs.remove(file)
        }
      }
    }).pipe(Effect.ignore)
    yield* Effect.forkScoped(sweep)

    const create: OutputFilesService["create"] = (call_id) =>
      Effect.gen(function*() {
        yield* fs.makeDirectory(directory, { recursive: true, mode: 0o700 })
        const opened = (file: string) =>
          Effect.map(fs.open(file, { flag: "wx", mode: 0o600 }), (handle) => ({ file, handle }))
        const open = (attempt: number): ReturnType<typeof opened> =>
          Effect.catchIf(
            opened(path.join(directory, `${safeName(call_id)}${attempt === 0 ? "" : `.${attempt}`}.txt`)),
            (error) => error._tag === "SystemError" && error.reason === "AlreadyExists" && attempt < 100,
            () => open(attempt + 1)
          )
        const { file, handle } = yield* open(0)
        let written = 0
        let left = 0
        let failure: string | undefined
        return {
          path: file,
          write: (bytes) =>
            Effect.suspend(() => {
              const part = bytes.subarray(0, failure === undefined ? Math.max(0, limit - written) : 0)
              left += bytes.byteLength - part.byteLength
              if (part.byteLength === 0) return Effect.void
              return Effect.matchEffect(handle.writeAll(part), {
                onSuccess: () => Effect.sync(() => void (written += part.byteLength)),
                onFailure: (error) =>
                  Effect.sync(() => {
                    failure = error.message
                    left += part.byteLength
                  })
              })
            }),
          problem: Effect.sync(() =>
            failure !== undefined
              ? `not all of it could be written: ${failure}`
              : left > 0
              ? `it holds the first ${Math.floor(limit / 1024 / 1024)} MiB`
              : undefined
          )
        } satisfies OutputFile
      }).pipe(
        Effect.map(Option.some),
        Effect.catchAll((error) =>
          Effect.as(Effect.logWarning(`tool output cannot be kept in ${directory}: ${error.message}`), Option.none())
        )
      )
    return { create }
  })

/** @since 0.1.0 @category services */
export class OutputFiles extends Context.Tag("@hanzo/dev/tools/OutputFiles")<OutputFiles, OutputFilesService>() {
  static readonly layer: Layer.Layer<OutputFiles, never, FileSystem.FileSystem | Path.Path | Dirs> = Layers.scoped(
    OutputFiles,
    make(maxFileBytes)
  )

  /** With another limit of bytes for a file. */
  static readonly layerLimit = (
    limit: number
  ): Layer.Layer<OutputFiles, never, FileSystem.FileSystem | Path.Path | Dirs> =>
    Layers.scoped(OutputFiles, make(limit))
}
