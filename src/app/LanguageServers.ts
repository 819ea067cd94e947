/**
 * How language servers are started here: under the sandbox, with a cache directory of their own (reading 10.4). Nothing is
 * made before the first one starts.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import { ServerSpawner } from "../lsp/ServerSpawner.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Processes } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"
import { layerEnforcingServers } from "../sandbox/Enforcing.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"

type Needs = Sandbox | Processes | Dirs | FileSystem.FileSystem | Path.Path

/** @since 0.1.0 @category layers */
export const layerServerSpawner: Layer.Layer<ServerSpawner, never, Needs> = Layers.scoped(
  ServerSpawner,
  Effect.gen(function*() {
    const sandbox = yield* Sandbox
    const needs = yield* Effect.context<Needs>()
    const scope = yield* Effect.scope
    const processes = yield* Effect.cached(
      Layer.build(layerEnforcingServers).pipe(
        Effect.map((made) => Context.get(made, Spawner)),
        Effect.provide(needs),
        Scope.extend(scope)
      )
    )
    return {
      processes,
      enforced: Effect.map(
        sandbox.status,
        ({ enforcement }) => enforcement === "bubblewrap" || enforcement === "unshare"
      )
    }
  })
)
