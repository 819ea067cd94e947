/**
 * From the path a model wrote to the one that is meant: expanded, canonical, and named as rules see it (readings 7.5,
 * 10.2).
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Workspace } from "../domain/Workspace.ts"
import type { CanonicalPath } from "../platform/CanonicalPath.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { nearest } from "./Nearest.ts"
import { ToolFailure } from "./Tool.ts"

/** @since 0.1.0 @category models */
export interface ResolvedPath extends CanonicalPath {
  /** Relative to the workspace root with `/` (`.` = the root itself); absolute when outside. */
  readonly subject: string
  readonly inside: boolean
  /** For people and models: relative to the working directory when below it, else absolute. Resolves to this path again. */
  readonly display: string
}

/** @since 0.1.0 @category models */
export interface PathsService {
  /** Fails when the text is no path; `field` is the input's name in the message. Nothing has to exist. */
  readonly resolve: (input: string, field?: string) => Effect.Effect<ResolvedPath, ToolFailure>
  /** A canonical path as rules see it. */
  readonly subject: (path: string) => string
  /** The display form of a canonical path. */
  readonly display: (path: string) => string
  /** The same for a sentence: `.` is "the working directory". */
  readonly place: (path: string) => string
  /** What to say when there is nothing: the nearest names, or where the way breaks off. */
  readonly missing: (path: ResolvedPath) => Effect.Effect<string>
}

/** Why a text cannot be a path; undefined = it can. @since 0.1.0 @category combinators */
export const refusal = (input: string): string | undefined => {
  if (input === "") return "is empty; give a path, for example \"src/main.ts\" or \".\""
  if (input.includes("\0")) return "contains a NUL character, which no path can"
  const scheme = /^([a-z][a-z0-9+.-]*):/iu.exec(input)?.[1]?.toLowerCase()
  const uri = scheme !== undefined &&
    (input.slice(scheme.length + 1).startsWith("//") || scheme === "file" || scheme === "data" || scheme === "urn")
  return uri ? `is a URI (${scheme}:); give a plain file path` : undefined
}

/** Path by components: the root itself is inside, a sibling with the same beginning is not. @since 0.1.0 @category combinators */
export const isInside = (root: string, path: string, separator = "/"): boolean =>
  path === root || path.startsWith(root.endsWith(separator) ? root : root + separator)

/** @since 0.1.0 @category constructors */
export const toFailure = (error: FileError): ToolFailure => new ToolFailure({ message: error.message })

/** @since 0.1.0 @category services */
export class Paths extends Context.Tag("@hanzo/dev/tools/Paths")<Paths, PathsService>() {
  static readonly layer: Layer.Layer<Paths, never, Workspace | Files | Dirs | Path.Path> = Layers.effect(
    Paths,
    Effect.gen(function*() {
      const workspace = yield* Workspace
      const files = yield* Files
      const dirs = yield* Dirs
      const path = yield* Path.Path

      const below = (root: string, at: string): string =>
        at === root ? "." : path.relative(root, at).split(path.sep).join("/")
      const subject = (at: string): string => isInside(workspace.root, at, path.sep) ? below(workspace.root, at) : at
      const display = (at: string): string => isInside(workspace.cwd, at, path.sep) ? below(workspace.cwd, at) : at

      // Joined as text: `..` after a symbolic link means the parent of its target, which only the walk can tell.
      const absolute = (input: string): string =>
        input === "~" || input.startsWith("~/")
          ? dirs.home + path.sep + input.slice(2)
          : path.isAbsolute(input)
          ? input
          : workspace.cwd + path.sep + input

      const resolve: PathsService["resolve"] = (input, field = "path") => {
        const refused = refusal(input)
        if (refused !== undefined) return Effect.fail(new ToolFailure({ message: `${field} ${refused}.` }))
        return files.canonical(absolute(input)).pipe(
          Effect.mapError(toFailure),
          Effect.map((canonical) => {
            const inside = isInside(workspace.root, canonical.path, path.sep)
            return {
              ...canonical,
              inside,
              subject: subject(canonical.path),
              display: display(canonical.path)
            }
          })
        )
      }

      const missing: PathsService["missing"] = (target) =>
        Effect.gen(function*() {
          const parent = path.dirname(target.path)
          const entries = yield* files.list(target.existing).pipe(Effect.orElseSucceed(() => []))
          if (target.existing !== parent) {
            const next = path.relative(target.existing, target.path).split(path.sep)[0] ?? ""
            const near = nearest(next, entries.filter((entry) => entry.kind !== "file").map((entry) => entry.name))
            const hint = near.length > 0 ? ` Did you mean ${near.map((name) => `${name}/`).join(" or ")}?` : ""
            return `${target.display} does not exist: there is no ${next} in ${place(target.existing)}.${hint}`
          }
          const near = nearest(path.basename(target.path), entries.map((entry) => entry.name))
          const names = near.map((name) => display(path.join(parent, name)))
          return `${target.display} does not exist.${
            names.length > 0 ? ` Did you mean ${names.join(" or ")}?` : " Use glob to find it."
          }`
        })

      const place = (at: string): string => at === workspace.cwd ? "the working directory" : display(at)

      return { resolve, subject, display, place, missing }
    })
  )
}
