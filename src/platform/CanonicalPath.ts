/**
 * Where a path really leads (reading 10.2): symbolic links, `..` and the links of `/proc` resolved one component after
 * the other, as the kernel does, and going on by name where nothing exists yet. A dangling link gives its target.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as path from "node:path"
import type { FileCalls } from "./FileCalls.ts"
import { FileError, fromCause } from "./FileError.ts"

/** @since 0.1.0 @category models */
export interface CanonicalPath {
  /** Absolute, without links, `.` and `..`. */
  readonly path: string
  /** What is there now; null = nothing yet. */
  readonly kind: "file" | "directory" | "other" | null
  /** The deepest directory on the way that exists. */
  readonly existing: string
  /** The last component as given was itself a symbolic link. */
  readonly is_link: boolean
}

const max_links = 40

const codeOf = (cause: unknown): unknown =>
  typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined

interface Step {
  readonly name: string
  /** The last component of the path as given. */
  readonly last: boolean
}

const steps = (of: string): Array<Step> => {
  const parts = of.split(path.sep).filter((part) => part !== "" && part !== ".")
  return parts.map((name, i) => ({ name, last: i === parts.length - 1 })).reverse()
}

const walk = async (calls: FileCalls, given: string): Promise<CanonicalPath> => {
  const root = path.parse(given).root
  const todo = steps(given.slice(root.length))
  let at = root
  let existing = root
  let kind: CanonicalPath["kind"] = "directory"
  let links = 0
  let is_link = false
  for (let step = todo.pop(); step !== undefined; step = todo.pop()) {
    if (kind !== null && kind !== "directory") {
      throw new FileError({
        reason: "not_a_directory",
        operation: "resolve",
        path: given,
        detail: `${at} is a file, not a directory`
      })
    }
    if (step.name === "..") {
      at = path.dirname(at)
      if (kind === "directory") existing = at
      else if (at === existing) kind = "directory"
      continue
    }
    const next = at === root ? root + step.name : at + path.sep + step.name
    if (kind === null) {
      at = next
      continue
    }
    try {
      const stamp = await calls.lstat(next)
      if (stamp.kind === "link") {
        if (++links > max_links) throw new FileError({ reason: "too_many_links", operation: "resolve", path: given })
        if (step.last) is_link = true
        const target = await calls.readlink(next)
        for (const { name } of steps(target)) todo.push({ name, last: false })
        if (path.isAbsolute(target)) {
          at = root
          existing = root
        }
        continue
      }
      at = next
      kind = stamp.kind
      if (kind === "directory") existing = at
    } catch (cause) {
      if (codeOf(cause) !== "ENOENT") throw cause
      kind = null
      at = next
    }
  }
  // The spelling of what exists is the file system's own (its case, where case does not count).
  const node = kind === null ? existing : at
  const real = await calls.realpath(node).catch(() => node)
  return real === node
    ? { path: at, kind, existing, is_link }
    : {
      path: kind === null ? path.join(real, path.relative(node, at)) : real,
      kind,
      existing: kind === null || kind === "directory" ? real : path.dirname(real),
      is_link
    }
}

/**
 * Canonical form of an absolute path, existing or not. Errors: `invalid_path`, `not_a_directory`, `too_many_links`,
 * `permission`, `io`.
 *
 * @since 0.1.0
 * @category combinators
 */
export const canonicalPath = (calls: FileCalls, given: string): Effect.Effect<CanonicalPath, FileError> => {
  const refused = given === ""
    ? "the path is empty"
    : given.includes("\0")
    ? "the path contains a NUL byte"
    : !path.isAbsolute(given)
    ? "the path is not absolute"
    : undefined
  return refused === undefined
    ? Effect.uninterruptible(Effect.tryPromise({
      try: () => walk(calls, given),
      catch: (cause) => cause instanceof FileError ? cause : fromCause("resolve", given, cause)
    }))
    : Effect.fail(
      new FileError({
        reason: "invalid_path",
        operation: "resolve",
        path: given.replaceAll("\0", "\\0"),
        detail: refused
      })
    )
}
