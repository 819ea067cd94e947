/** A workspace, a home and a config home on disk, and what is loaded from them. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Config, type ConfigService, load, type LoadOptions } from "../../src/config/Config.ts"
import { SettingsWriter } from "../../src/config/SettingsWriter.ts"
import { Trust } from "../../src/config/Trust.ts"
import { AtomicFile } from "../../src/platform/AtomicFile.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Files } from "../../src/platform/Files.ts"

type Services = FileSystem.FileSystem | Dirs | Environment | AtomicFile | Files | SettingsWriter | Trust

export interface Place {
  /** Canonical root of the workspace. */
  readonly root: string
  readonly home: string
  readonly config: string
  readonly user: string
  readonly project: string
  readonly local: string
  readonly managed: string
  /** Writes a file, its directories with it. */
  readonly write: (file: string, text: string) => Effect.Effect<void, PlatformError, FileSystem.FileSystem>
  readonly read: (file: string) => Effect.Effect<string, PlatformError, FileSystem.FileSystem>
  readonly load: (options?: LoadOptions) => Effect.Effect<ConfigService, never, Services>
}

/** Everything that the room needs, over a directory of its own. */
export const inPlace = <A, E>(
  body: (place: Place) => Effect.Effect<A, E, Services | Scope.Scope>,
  environment: Partial<{ readonly vars: Record<string, string>; readonly cwd: string }> = {}
): Effect.Effect<A, E | PlatformError> =>
  Effect.scoped(Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const base = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "hanzo-config-" }))
    const root = `${base}/project`
    yield* fs.makeDirectory(root)
    yield* fs.makeDirectory(`${base}/home`)
    const managed = `${base}/managed.json`
    const place: Place = {
      root,
      home: `${base}/home`,
      config: `${base}/config`,
      user: `${base}/config/settings.json`,
      project: `${root}/.hanzo/settings.json`,
      local: `${root}/.hanzo/settings.local.json`,
      managed,
      write: (file, text) =>
        Effect.flatMap(FileSystem.FileSystem, (fs) =>
          Effect.zipRight(
            fs.makeDirectory(file.slice(0, file.lastIndexOf("/")), { recursive: true }),
            fs.writeFileString(file, text)
          )),
      read: (file) => Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(file)),
      load: (options = {}) => load({ root, managed_file: managed, ...options })
    }
    const layer = Layer.mergeAll(SettingsWriter.layer, Trust.layer).pipe(
      Layer.provideMerge(Layer.mergeAll(AtomicFile.layer, Files.layer)),
      Layer.provideMerge(Layer.merge(Dirs.layerTest(base), Environment.layerTest({ cwd: root, ...environment })))
    )
    return yield* Effect.provide(body(place), layer)
  })).pipe(Effect.provide(NodeFileSystem.layer))

/** A loaded version as the service that others take. */
export const asConfig = (config: ConfigService): Layer.Layer<Config> => Config.layerOf(config)
