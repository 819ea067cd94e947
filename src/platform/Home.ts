/**
 * The user's home directory, and what must be right before any directory of the program is looked for.
 *
 * @since 0.1.0
 */
import { homedir, userInfo } from "node:os"
import * as path from "node:path"
import { relativePlace } from "./Places.ts"

const absolute = (find: () => string): string | null => {
  try {
    const found = find()
    return path.isAbsolute(found) ? found : null
  } catch {
    return null
  }
}

/**
 * `HOME` where it is an absolute path, else what the system knows of the user; null = there is none. An empty or relative
 * `HOME` is none: it would make a checkout's files those of the user.
 *
 * @since 0.1.0
 * @category constructors
 */
export const homeOf = (home: string | undefined): string | null =>
  absolute(() => home ?? "") ?? absolute(homedir) ?? absolute(() => userInfo().homedir)

/** Why the program's directories cannot be told, for the user; null = they can. @since 0.1.0 @category combinators */
export const homeFault = (vars: Readonly<Record<string, string | undefined>>): string | null =>
  relativePlace((name) => vars[name] || undefined) ??
    (homeOf(vars["HOME"]) === null ? "there is no home directory: set HOME to an absolute path" : null)

/** Why there is no current directory, for the user; null = there is one. @since 0.1.0 @category combinators */
export const directoryFault = (cwd: () => string): string | null => {
  try {
    cwd()
    return null
  } catch {
    return "the current directory is gone, or may not be looked at: go to another one (cd)"
  }
}

/** Why this process cannot run a command, for the user; null = it can. @since 0.1.0 @category combinators */
export const startFault = (): string | null => homeFault(process.env) ?? directoryFault(() => process.cwd())
