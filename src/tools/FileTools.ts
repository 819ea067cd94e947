/**
 * The tools for files, composed: `read`, `write`, `edit`, `apply_patch`, `glob`, `grep`.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { Workspace } from "../domain/Workspace.ts"
import type { AtomicFile } from "../platform/AtomicFile.ts"
import type { Dirs } from "../platform/Dirs.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Files } from "../platform/Files.ts"
import type { Spawner } from "../platform/Spawner.ts"
import { makeApplyPatchTool } from "./ApplyPatch.ts"
import { Changes } from "./Changes.ts"
import { makeEditTool } from "./Edit.ts"
import { FileState } from "./FileState.ts"
import { makeGlobTool } from "./Glob.ts"
import { makeGrepTool } from "./Grep.ts"
import { Paths } from "./Paths.ts"
import { makeReadTool } from "./Read.ts"
import type { NativeTool } from "./Tool.ts"
import { makeWriteTool } from "./Write.ts"

/** In the order in which models are offered them. */
const makeFileTools = Effect.all([
  makeReadTool,
  makeWriteTool,
  makeEditTool,
  makeApplyPatchTool,
  makeGlobTool,
  makeGrepTool
])

/** @since 0.1.0 @category services */
export class FileTools extends Context.Tag("@hanzo/dev/tools/FileTools")<FileTools, ReadonlyArray<NativeTool>>() {
  /** Over paths, memory of files and changes of the caller's. */
  static readonly layerOver: Layer.Layer<
    FileTools,
    never,
    Paths | FileState | Changes | Workspace | Files | AtomicFile | Dirs | Environment | Spawner | Path.Path
  > = Layers.effect(FileTools, makeFileTools)

  /** The tools, with the paths and the memory of files that they share, for others to share too. */
  static readonly layer: Layer.Layer<
    FileTools | Paths | FileState | Changes,
    never,
    Workspace | Files | AtomicFile | Dirs | Environment | Spawner | Path.Path
  > = FileTools.layerOver.pipe(
    Layer.provideMerge(Changes.layer),
    Layer.provideMerge(Layer.merge(Paths.layer, FileState.layer))
  )
}
