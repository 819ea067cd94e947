/**
 * The tools of this room put together: makers for the registry and the services they stand on.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Config } from "../config/Config.ts"
import type { Ids } from "../domain/Ids.ts"
import type { ToolExecutor } from "../domain/ToolExecutor.ts"
import type { Workspace } from "../domain/Workspace.ts"
import type { Permissions } from "../permissions/Permissions.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Http } from "../platform/Http.ts"
import type { Spawner } from "../platform/Spawner.ts"
import { makeBashTools } from "./Bash.ts"
import { FetchPolicy, makeFetchTool } from "./Fetch.ts"
import { Guard } from "./Guard.ts"
import { Jobs } from "./Jobs.ts"
import type { McpTools } from "./McpTools.ts"
import { OutputFiles } from "./OutputFiles.ts"
import { layer as layerRegistry, type NativeTools, type RegistryError } from "./Registry.ts"
import { Shell } from "./Shell.ts"
import type { ToolHooks, ToolSandbox, ToolSecrets } from "./Slots.ts"
import { makeTodoTool, Todos } from "./Todo.ts"
import type { NativeTool } from "./Tool.ts"

/** @since 0.1.0 @category models */
export type SystemServices = Shell | Jobs | OutputFiles | Todos | FetchPolicy

/**
 * `bash`, `bash_output`, `bash_kill`, `fetch`, `todo`, for `NativeTools.layerOf`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const systemTools: Effect.Effect<
  ReadonlyArray<NativeTool>,
  never,
  SystemServices | Spawner | Http | Permissions
> = Effect.map(
  Effect.all([makeBashTools, makeFetchTool, makeTodoTool]),
  ([bash, fetch, todo]) => [...bash, fetch, todo]
)

/**
 * What `systemTools` stands on; one a workspace: its scope ends the background jobs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSystemServices: Layer.Layer<
  SystemServices,
  never,
  Spawner | Ids | Environment | Config | Workspace | Dirs | FileSystem.FileSystem | Path.Path
> = Layer.mergeAll(Shell.layer, Jobs.layer, OutputFiles.layer, Todos.layer, FetchPolicy.layer)

/**
 * ToolExecutor with the Guard in front of every tool of `NativeTools` and `McpTools`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerExecutor: Layer.Layer<
  ToolExecutor,
  RegistryError,
  NativeTools | McpTools | Permissions | ToolHooks | ToolSandbox | ToolSecrets | Ids | Environment | Config
> = Layer.provide(layerRegistry, Guard.layer)
