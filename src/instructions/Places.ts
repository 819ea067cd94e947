/**
 * Where instruction files are looked for; pure.
 *
 * @since 0.1.0
 */
import type { WorkspaceService } from "../domain/Workspace.ts"
import type { DirsService } from "../platform/Dirs.ts"
import type { InstructionOrigin } from "./Wording.ts"

/** In one folder the first that is there counts. @since 0.1.0 @category constants */
export const names: ReadonlyArray<string> = ["AGENTS.md", "CLAUDE.md"]

/** @since 0.1.0 @category models */
export interface InstructionPlace {
  readonly directory: string
  readonly origin: Exclude<InstructionOrigin, "import">
}

/** Folders below `root` on the way to `path`, the outermost first; none when it is not below. @since 0.1.0 @category combinators */
export const foldersTo = (root: string, path: string): ReadonlyArray<string> => {
  const base = root === "/" ? "" : root
  if (!path.startsWith(`${base}/`)) return []
  const parts = path.slice(base.length + 1).split("/").filter((part) => part !== "")
  return parts.map((_, index) => `${base}/${parts.slice(0, index + 1).join("/")}`)
}

/** Of the user, one is enough: in the configuration, else in `~/.agents`, else in `~/.claude`. @since 0.1.0 @category constructors */
export const userPlaces = ({ config, home }: Pick<DirsService, "config" | "home">): ReadonlyArray<InstructionPlace> => [
  { directory: config, origin: "user" },
  { directory: `${home}/.agents`, origin: "user" },
  { directory: `${home}/.claude`, origin: "user" }
]

/** The root, then each folder on the way to the current directory. @since 0.1.0 @category constructors */
export const projectPlaces = ({ cwd, root }: WorkspaceService): ReadonlyArray<InstructionPlace> => [
  { directory: root, origin: "project" },
  ...foldersTo(root, cwd).map((directory): InstructionPlace => ({ directory, origin: "folder" }))
]

/** Folders of other people's code, whose instructions are not meant for work on this one. */
const foreign = /\/(?:node_modules|bower_components|vendor|site-packages|\.venv|\.git)(?:\/|$)/

/** Folders of the project above a file that was worked on, the outermost first, without those in the prompt anyway. @since 0.1.0 @category combinators */
export const nestedFolders = ({ cwd, root }: WorkspaceService, path: string): ReadonlyArray<string> => {
  const above = path.slice(0, Math.max(1, path.lastIndexOf("/")))
  const always = new Set(foldersTo(root, cwd))
  return foldersTo(root, above).filter((folder) =>
    !always.has(folder) && !foreign.test(folder.slice(root === "/" ? 0 : root.length))
  )
}
