/**
 * Directories with their parents, made one by one. The recursive mkdir of Node never returns below a directory that
 * takes no entries and says ENOENT for them (`/proc`), and cannot be interrupted there; here each part of the way is
 * tried at most twice. Part of the first file that is loaded: it needs nothing but Node.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as path from "node:path"

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined

const isDirectory = (at: string): boolean => fs.statSync(at, { throwIfNoEntry: false })?.isDirectory() === true

/**
 * The directory exists when this returns, the parts that were missing with `mode` (less the umask). Throws what the
 * system said of the part that could not be made.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeDirectories = (directory: string, mode: number): void => {
  const missing: Array<string> = []
  for (let at = path.resolve(directory);; at = path.dirname(at)) {
    try {
      fs.mkdirSync(at, { mode })
      break
    } catch (error) {
      // what stands there says so in several ways: EEXIST, EISDIR at the root, EROFS or EACCES on some systems
      if (codeOf(error) === "ENOENT" && path.dirname(at) !== at) missing.push(at)
      else if (isDirectory(at)) break
      else throw error
    }
  }
  for (const at of missing.reverse()) {
    try {
      fs.mkdirSync(at, { mode })
    } catch (error) {
      if (!isDirectory(at)) throw error
    }
  }
}
