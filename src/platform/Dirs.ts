/**
 * The program's own directories (architecture section 5, reading 4.1, D12).
 *
 * | field | variable | else, if absolute | else |
 * | --- | --- | --- | --- |
 * | `config` | `HANZO_CONFIG_HOME` | `$XDG_CONFIG_HOME/hanzo` | `~/.config/hanzo` |
 * | `data` | `HANZO_DATA_HOME` | `$XDG_DATA_HOME/hanzo` | `~/.local/share/hanzo` |
 * | `state` | `HANZO_STATE_HOME` | `$XDG_STATE_HOME/hanzo` | `~/.local/state/hanzo` |
 * | `cache` | `HANZO_CACHE_HOME` | `$XDG_CACHE_HOME/hanzo` | `~/.cache/hanzo` |
 *
 * An empty variable counts as unset; a relative `XDG_*` is ignored, as the XDG Base Directory Specification asks; a
 * relative `HANZO_*` is taken from the working directory. Nothing is created here: whoever writes creates.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as path from "node:path"
import { Environment, type EnvironmentService, variable } from "./Environment.ts"

/** Absolute paths. @since 0.1.0 @category models */
export interface DirsService {
  readonly config: string
  /** Sessions live in `<data>/sessions.db`. */
  readonly data: string
  readonly state: string
  readonly cache: string
  /** The user's home directory. */
  readonly home: string
}

/** The directories that follow from an environment. @since 0.1.0 @category constructors */
export const fromEnvironment = (environment: Pick<EnvironmentService, "vars" | "cwd" | "home">): DirsService => {
  const place = (kind: "CONFIG" | "DATA" | "STATE" | "CACHE", fallback: string): string => {
    const own = variable(environment, `HANZO_${kind}_HOME`)
    if (own !== undefined) return path.resolve(environment.cwd, own)
    const xdg = variable(environment, `XDG_${kind}_HOME`)
    return xdg !== undefined && path.isAbsolute(xdg)
      ? path.join(xdg, "hanzo")
      : path.join(environment.home, fallback, "hanzo")
  }
  return {
    config: place("CONFIG", ".config"),
    data: place("DATA", ".local/share"),
    state: place("STATE", ".local/state"),
    cache: place("CACHE", ".cache"),
    home: environment.home
  }
}

/** @since 0.1.0 @category services */
export class Dirs extends Context.Tag("@hanzo/dev/platform/Dirs")<Dirs, DirsService>() {
  static readonly layer: Layer.Layer<Dirs, never, Environment> = Layer.effect(
    Dirs,
    Effect.map(Environment, fromEnvironment)
  )

  /** `<root>/config`, `<root>/data`, `<root>/state`, `<root>/cache`, home `<root>/home`. */
  static readonly layerTest = (root: string): Layer.Layer<Dirs> =>
    Layer.succeed(Dirs, {
      config: path.join(root, "config"),
      data: path.join(root, "data"),
      state: path.join(root, "state"),
      cache: path.join(root, "cache"),
      home: path.join(root, "home")
    })
}
