/**
 * A file system whose directories with their parents are made one by one, as in `MakeDirectories.ts` and for its reason.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as path from "node:path"

/**
 * The same file system, its recursive `makeDirectory` made of single steps.
 *
 * @since 0.1.0
 * @category combinators
 */
export const bounded = (inner: FileSystem.FileSystem): FileSystem.FileSystem => {
  const settled = (at: string, error: PlatformError): Effect.Effect<void, PlatformError> =>
    Effect.matchEffect(inner.stat(at), {
      onFailure: () => Effect.fail(error),
      onSuccess: (info) => info.type === "Directory" ? Effect.void : Effect.fail(error)
    })
  const make = (directory: string, options: FileSystem.MakeDirectoryOptions): Effect.Effect<void, PlatformError> => {
    const one = { ...options, recursive: false }
    const parent = path.dirname(directory)
    return Effect.catchAll(
      inner.makeDirectory(directory, one),
      (error) =>
        error._tag === "SystemError" && error.reason === "NotFound" && parent !== directory
          ? Effect.zipRight(
            make(parent, options),
            Effect.catchAll(inner.makeDirectory(directory, one), (again) => settled(directory, again))
          )
          : settled(directory, error)
    )
  }
  return {
    ...inner,
    makeDirectory: (directory, options) =>
      options?.recursive === true ? make(path.resolve(directory), options) : inner.makeDirectory(directory, options)
  }
}
