/** A project, a home and a configuration in a scratch directory, with real files. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Config, load, type TrustMode } from "../../src/config/Config.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Instructions } from "../../src/instructions/Instructions.ts"
import { ReadRules } from "../../src/instructions/ReadRules.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { Environment } from "../../src/platform/Environment.ts"

export interface World {
  readonly top: string
  readonly root: string
  readonly home: string
  readonly config: string
  readonly put: (file: string, content: string | Uint8Array) => void
  readonly link: (file: string, target: string) => void
}

/** Files by place: `project/...`, `home/...`, `config/...`, `outside/...`. */
export const world = (files: Readonly<Record<string, string | Uint8Array>> = {}) =>
  Effect.acquireRelease(
    Effect.sync((): World => {
      const top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "instructions-")))
      const put = (file: string, content: string | Uint8Array): void => {
        fs.mkdirSync(path.dirname(path.join(top, file)), { recursive: true })
        fs.writeFileSync(path.join(top, file), content)
      }
      for (const name of ["project", "home", "config", "outside"]) fs.mkdirSync(path.join(top, name))
      for (const [file, content] of Object.entries(files)) put(file, content)
      return {
        top,
        root: path.join(top, "project"),
        home: path.join(top, "home"),
        config: path.join(top, "config"),
        put,
        link: (file, target) => {
          fs.mkdirSync(path.dirname(path.join(top, file)), { recursive: true })
          fs.symlinkSync(target, path.join(top, file))
        }
      }
    }),
    ({ top }) => Effect.sync(() => fs.rmSync(top, { recursive: true, force: true }))
  )

export interface Setting {
  readonly cwd?: string
  readonly denies?: (path: string) => boolean
  readonly trust?: TrustMode
}

/** What the platform says of such a world. */
export const layerBelow = ({ config, home, root, top }: World, { cwd }: Setting = {}) =>
  Layer.mergeAll(
    NodeFileSystem.layer,
    NodePath.layer,
    Environment.layerTest({ cwd: root }),
    Layer.succeed(Dirs, {
      home,
      config,
      data: path.join(top, "data"),
      state: path.join(top, "state"),
      cache: path.join(top, "cache")
    }),
    Layer.succeed(Workspace, { root, cwd: cwd === undefined ? root : path.join(root, cwd) })
  )

export const layer = (made: World, setting: Setting = {}) => {
  const below = layerBelow(made, setting)
  const config = Layer.effect(
    Config,
    load({ root: made.root, managed_file: path.join(made.top, "managed.json"), trust: setting.trust ?? "stored" })
  ).pipe(Layer.provide(below))
  const { denies } = setting
  return Instructions.layer.pipe(
    Layer.provideMerge(Layer.merge(config, below)),
    Layer.provide(denies === undefined ? Layer.empty : Layer.succeed(ReadRules, { denies }))
  )
}

/** Runs with the instructions of the world as they are now. */
export const within = <A, E>(
  made: World,
  use: (instructions: Effect.Effect.Success<typeof Instructions>) => Effect.Effect<A, E>,
  setting: Setting = {}
): Effect.Effect<A, E> => Effect.provide(Effect.flatMap(Instructions, use), layer(made, setting))
