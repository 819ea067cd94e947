/** The Lsp layer over a project, with the settings of a test. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as path from "node:path"
import { Config, type LoadOptions } from "../../../src/config/Config.ts"
import { Workspace } from "../../../src/domain/Workspace.ts"
import { Lsp, type LspOptions } from "../../../src/lsp/Lsp.ts"
import { ServerSpawner } from "../../../src/lsp/ServerSpawner.ts"
import { Dirs } from "../../../src/platform/Dirs.ts"
import { Environment } from "../../../src/platform/Environment.ts"
import { Files } from "../../../src/platform/Files.ts"
import { Processes } from "../../../src/platform/Processes.ts"

export interface Room {
  readonly servers?: Readonly<Record<string, object>>
  readonly options?: LspOptions
  readonly path?: string
  readonly enforced?: boolean
  readonly load?: Partial<LoadOptions>
}

export const layerOf = (root: string, { enforced = false, load, options = {}, path: search, servers = {} }: Room) =>
  Lsp.layerWith({ watch_ms: 0, ...options }).pipe(
    Layer.provide(
      Layer.effect(
        ServerSpawner,
        Effect.map(Processes, (processes) => ({
          processes: Effect.succeed(processes),
          enforced: Effect.succeed(enforced)
        }))
      )
    ),
    Layer.provideMerge(
      load === undefined
        ? Config.layerText(JSON.stringify({ lsp: { servers } }))
        : Config.layerFor({ root, ...load })
    ),
    Layer.provideMerge(Layer.mergeAll(
      Files.layer,
      NodePath.layer,
      NodeFileSystem.layer,
      Layer.succeed(Workspace, { root, cwd: root }),
      Dirs.layerTest(path.join(path.dirname(root), "home"))
    )),
    Layer.provideMerge(
      Environment.layerTest({
        cwd: root,
        home: path.dirname(root),
        vars: { PATH: search ?? process.env["PATH"] ?? "", HOME: path.dirname(root) }
      })
    ),
    Layer.provideMerge(Processes.layer),
    Layer.provide(Logger.remove(Logger.defaultLogger))
  )
