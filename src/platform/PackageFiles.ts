/**
 * Where the files of this package lie that are no code, wherever this code runs from: the sources, the unbundled
 * modules or the bundle.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const nameOf = (directory: string): string | null => {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))
    return typeof manifest === "object" && manifest !== null && "name" in manifest ? String(manifest.name) : null
  } catch {
    return null
  }
}

/**
 * The nearest directory above this module whose `package.json` is that of `@hanzo/dev`; null when the code was taken out
 * of its package.
 *
 * @since 0.1.0
 * @category constructors
 */
export const packageDirectory: Effect.Effect<string | null> = Effect.sync(() => {
  let directory = dirname(fileURLToPath(import.meta.url))
  while (nameOf(directory) !== "@hanzo/dev") {
    const parent = dirname(directory)
    if (parent === directory) return null
    directory = parent
  }
  return directory
})

/** Absolute path of `test-vectors`, or null as above. @since 0.1.0 @category constructors */
export const testVectorsDirectory: Effect.Effect<string | null> = Effect.map(
  packageDirectory,
  (directory) => directory === null ? null : join(directory, "test-vectors")
)
