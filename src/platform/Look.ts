/**
 * Quick looks at many places at once, for a decision that is made before every command: one system call each and no
 * detour through the thread pool. Nothing is opened or followed but where it is said.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"

/** @since 0.1.0 @category models */
export type Look = "file" | "directory" | "link" | "other" | null

const kind = (stats: fs.Stats | undefined): Look =>
  stats === undefined
    ? null
    : stats.isFile()
    ? "file"
    : stats.isDirectory()
    ? "directory"
    : stats.isSymbolicLink()
    ? "link"
    : "other"

const lookAt = (path: string): Look => {
  try {
    return kind(fs.lstatSync(path, { throwIfNoEntry: false }))
  } catch {
    return null
  }
}

/** What is at each path, links not followed; null = nothing, or nothing to be seen. @since 0.1.0 @category combinators */
export const lookAtAll = (paths: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Look>> =>
  Effect.sync(() => paths.map(lookAt))

/** The first of these that is a file, links followed; null = none. @since 0.1.0 @category combinators */
export const firstFile = (paths: ReadonlyArray<string>): string | null =>
  paths.find((path) => {
    try {
      return fs.statSync(path, { throwIfNoEntry: false })?.isFile() === true
    } catch {
      return false
    }
  }) ?? null

/** Is one of these a file, links followed? @since 0.1.0 @category combinators */
export const isAnyFile = (paths: ReadonlyArray<string>): Effect.Effect<boolean> =>
  Effect.sync(() => firstFile(paths) !== null)

const linksTo = (given: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const { root } = path.parse(given)
  const todo = given.slice(root.length).split(path.sep).reverse()
  let at = root
  for (let name = todo.pop(); name !== undefined && found.length < 40; name = todo.pop()) {
    if (name === "" || name === ".") continue
    const next = name === ".." ? path.dirname(at) : path.join(at, name)
    if (lookAt(next) !== "link") {
      at = next
      continue
    }
    try {
      const target = fs.readlinkSync(next)
      found.push(next)
      if (path.isAbsolute(target)) at = path.parse(target).root
      todo.push(...target.slice(path.parse(target).root.length).split(path.sep).reverse())
    } catch {
      return found
    }
  }
  return found
}

/**
 * The symbolic links that lead from absolute paths to where they end, each by its own canonical path, each once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const linksOnWay = (paths: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.sync(() => [...new Set(paths.flatMap(linksTo))])

/**
 * One text for the state of several places, links followed: as long as it is the same, what was read from them is. A
 * directory counts with the names in it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fingerprint = (paths: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.sync(() =>
    paths.map((path) => {
      try {
        const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
        return found === undefined ? "-" : `${found.dev}.${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}`
      } catch {
        return "?"
      }
    }).join(" ")
  )
