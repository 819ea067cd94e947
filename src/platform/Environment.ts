/**
 * What the process was started with: variables, working directory, arguments and which streams are terminals.
 *
 * Read once when the layer is built; nothing else in the program looks at `process.env` or `process.argv`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Layer from "effect/Layer"
import { isatty } from "node:tty"
import * as Layers from "../domain/Layers.ts"
import { homeOf } from "./Home.ts"

/** @since 0.1.0 @category models */
export interface EnvironmentService {
  /** All variables as they stand, empty ones too. */
  readonly vars: ReadonlyMap<string, string>
  /** Absolute path. */
  readonly cwd: string
  /** Absolute path of the user's home directory. */
  readonly home: string
  /** Arguments after the program's name. */
  readonly argv: ReadonlyArray<string>
  readonly stdin_is_tty: boolean
  readonly stdout_is_tty: boolean
  readonly stderr_is_tty: boolean
  readonly pid: number
  /** `linux`, `darwin`, `win32`, ... */
  readonly os: string
  /** Without the leading `v`, for example `20.18.0`. */
  readonly node_version: string
}

/** A variable's value; an empty variable counts as unset (reading 4.2). @since 0.1.0 @category combinators */
export const variable = (environment: Pick<EnvironmentService, "vars">, name: string): string | undefined => {
  const value = environment.vars.get(name)
  return value === "" ? undefined : value
}

/** @since 0.1.0 @category services */
export class Environment extends Context.Tag("@hanzo/dev/platform/Environment")<Environment, EnvironmentService>() {
  static readonly layer: Layer.Layer<Environment> = Layers.sync(Environment, () => {
    const vars = new Map<string, string>()
    for (const [name, value] of Object.entries(process.env)) if (value !== undefined) vars.set(name, value)
    const home = homeOf(vars.get("HOME"))
    if (home === null) throw new Error("there is no home directory: set HOME to an absolute path")
    return {
      vars,
      cwd: process.cwd(),
      home,
      argv: process.argv.slice(2),
      stdin_is_tty: isatty(0),
      stdout_is_tty: isatty(1),
      stderr_is_tty: isatty(2),
      pid: process.pid,
      os: process.platform,
      node_version: process.versions.node
    }
  })

  /** A fixed environment without variables, arguments and terminals, apart from what is given. */
  static readonly layerTest = (
    given: Partial<Omit<EnvironmentService, "vars">> & { readonly vars?: Record<string, string> } = {}
  ): Layer.Layer<Environment> =>
    Layers.succeed(Environment, {
      cwd: "/work/project",
      home: "/home/user",
      argv: [],
      stdin_is_tty: false,
      stdout_is_tty: false,
      stderr_is_tty: false,
      pid: 1,
      os: "linux",
      node_version: "20.18.0",
      ...given,
      vars: new Map(Object.entries(given.vars ?? {}))
    })
}
