/**
 * A workspace on disk that exists as long as its scope: for tools that act on real files.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Workspace } from "../domain/Workspace.ts"

const parentOf = (path: string): string => path.slice(0, Math.max(1, path.lastIndexOf("/")))

/**
 * A temporary directory with the given files (relative path to content) as the project's root and working directory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTemporaryWorkspace = (
  files: Readonly<Record<string, string | Uint8Array>> = {}
): Layer.Layer<Workspace, PlatformError, FileSystem.FileSystem> =>
  Layer.scoped(
    Workspace,
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "hanzo-dev-test-" }))
      for (const [name, content] of Object.entries(files)) {
        const path = `${root}/${name}`
        yield* fs.makeDirectory(parentOf(path), { recursive: true })
        yield* typeof content === "string" ? fs.writeFileString(path, content) : fs.writeFile(path, content)
      }
      return { root, cwd: root }
    })
  )
