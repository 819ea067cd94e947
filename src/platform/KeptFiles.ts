/**
 * The few files that are kept beside a repository of snapshots, and those of the project's own repository that are looked
 * at. What cannot be read is as good as not there; what is written is a cache, and is there whole or not at all.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { makeDirectories } from "./MakeDirectories.ts"

/** @since 0.1.0 @category combinators */
export const readText = (file: string): string | null => {
  try {
    return fs.readFileSync(file, "utf8")
  } catch {
    return null
  }
}

/** For its owner alone. Throws the system's error. @since 0.1.0 @category combinators */
export const replaceText = (file: string, text: string): void => {
  const temp = `${file}.${process.pid}.tmp`
  try {
    fs.writeFileSync(temp, text, { mode: 0o600 })
    fs.renameSync(temp, file)
  } catch (error) {
    fs.rmSync(temp, { force: true })
    throw error
  }
}

/** Throws the system's error. @since 0.1.0 @category combinators */
export const appendText = (file: string, text: string): void => fs.appendFileSync(file, text)

/** A directory, for its owner alone. Throws the system's error. @since 0.1.0 @category combinators */
export const ensure = (directory: string): void => makeDirectories(directory, 0o700)

/** @since 0.1.0 @category combinators */
export const forget = (file: string): void => {
  try {
    fs.unlinkSync(file)
  } catch {
    // it is not there
  }
}

/** Changes with the file; "" = there is none. @since 0.1.0 @category combinators */
export const stampOf = (file: string): string => {
  try {
    const { ctimeMs, ino, mtimeMs, size } = fs.statSync(file)
    return `${ino}:${size}:${mtimeMs}:${ctimeMs}`
  } catch {
    return ""
  }
}

/** The path without links; null = nothing is there. @since 0.1.0 @category combinators */
export const realPath = (file: string): string | null => {
  try {
    return fs.realpathSync(file)
  } catch {
    return null
  }
}

/** Bytes of all files below a directory. @since 0.1.0 @category combinators */
export const sizeBelow = (directory: string): number => {
  let all = 0
  let entries: ReadonlyArray<fs.Dirent>
  try {
    entries = fs.readdirSync(directory, { withFileTypes: true })
  } catch {
    return 0
  }
  for (const entry of entries) {
    const at = path.join(directory, entry.name)
    if (entry.isDirectory()) all += sizeBelow(at)
    else if (entry.isFile()) all += fs.lstatSync(at, { throwIfNoEntry: false })?.size ?? 0
  }
  return all
}

/** Where the repository of a project keeps its index and its own rules of what is ignored. @since 0.1.0 @category models */
export interface ProjectRepository {
  readonly index: string
  readonly exclude: string
}

/** The repository whose top `root` is; null = it is the top of none. @since 0.1.0 @category combinators */
export const projectRepository = (root: string): ProjectRepository | null => {
  const dot = path.join(root, ".git")
  let git = dot
  try {
    if (!fs.statSync(dot).isDirectory()) {
      const named = /^gitdir: (.+)$/mu.exec(readText(dot) ?? "")?.[1]
      if (named === undefined) return null
      git = path.resolve(root, named)
    }
  } catch {
    return null
  }
  const common = readText(path.join(git, "commondir"))?.trim()
  return {
    index: path.join(git, "index"),
    exclude: path.join(common === undefined ? git : path.resolve(git, common), "info", "exclude")
  }
}

/** A path as it is written, below a directory: without `.` and `..`; null = outside of it, or it itself. @since 0.1.0 @category combinators */
export const within = (directory: string, file: string): string | null => {
  const relative = path.relative(directory, path.resolve(directory, file))
  return relative === "" || relative === ".." || relative.startsWith("../") || path.isAbsolute(relative)
    ? null
    : relative
}
