/**
 * Where the program's own directories are (architecture section 5, reading 4.1, D12); pure, without dependencies.
 *
 * | kind | variable | else, if absolute | else |
 * | --- | --- | --- | --- |
 * | `CONFIG` | `HANZO_CONFIG_HOME` | `$XDG_CONFIG_HOME/hanzo` | `~/.config/hanzo` |
 * | `DATA` | `HANZO_DATA_HOME` | `$XDG_DATA_HOME/hanzo` | `~/.local/share/hanzo` |
 * | `STATE` | `HANZO_STATE_HOME` | `$XDG_STATE_HOME/hanzo` | `~/.local/state/hanzo` |
 * | `CACHE` | `HANZO_CACHE_HOME` | `$XDG_CACHE_HOME/hanzo` | `~/.cache/hanzo` |
 *
 * An empty variable counts as unset; a relative `XDG_*` is ignored, as the XDG Base Directory Specification asks. A
 * relative `HANZO_*` would make the files of a checkout those of the user: it is ignored too, and the program does not
 * start with one. Nothing is created here: whoever writes creates.
 *
 * @since 0.1.0
 */
import * as path from "node:path"

/** @since 0.1.0 @category models */
export type PlaceKind = "CONFIG" | "DATA" | "STATE" | "CACHE"

const fallback: Readonly<Record<PlaceKind, string>> = {
  CONFIG: ".config",
  DATA: ".local/share",
  STATE: ".local/state",
  CACHE: ".cache"
}

/** `variable` gives the value of an environment variable, or undefined when it is unset or empty. @since 0.1.0 @category constructors */
export const placeOf = (
  kind: PlaceKind,
  from: { readonly variable: (name: string) => string | undefined; readonly home: string }
): string => {
  const own = from.variable(`HANZO_${kind}_HOME`)
  if (own !== undefined && path.isAbsolute(own)) return path.normalize(own)
  const xdg = from.variable(`XDG_${kind}_HOME`)
  return xdg !== undefined && path.isAbsolute(xdg)
    ? path.join(xdg, "hanzo")
    : path.join(from.home, fallback[kind], "hanzo")
}

/** What is wrong with a `HANZO_*_HOME` that is no absolute path; null = nothing. @since 0.1.0 @category combinators */
export const relativePlace = (variable: (name: string) => string | undefined): string | null => {
  for (const kind of Object.keys(fallback)) {
    const name = `HANZO_${kind}_HOME`
    const own = variable(name)
    if (own !== undefined && !path.isAbsolute(own)) {
      return `${name} is a relative path, which would be another directory in each project: set it to an absolute path`
    }
  }
  return null
}
