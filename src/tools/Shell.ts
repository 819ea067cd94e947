/**
 * How a command line becomes a process: bash when there is one, else sh, in the workspace's directory, without
 * credentials in its environment and without anybody to answer it.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Config } from "../config/Config.ts"
import { secretVariables } from "../config/Secrets.ts"
import { once } from "../domain/Once.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment, variable } from "../platform/Environment.ts"
import { firstFile } from "../platform/Look.ts"
import type { SpawnInput } from "../platform/Processes.ts"

/** @since 0.1.0 @category models */
export interface ShellService {
  /** Absolute path of the shell, or `sh`. */
  readonly program: string
  /** stdout and stderr share one pipe, so that their order is the child's own. */
  readonly commandLine: (command: string) => SpawnInput
}

/**
 * Programs that would wait for a person get a plain answer instead: no pager, no editor, no prompt, no colours.
 */
const unattended: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  MANPAGER: "cat",
  GIT_PAGER: "cat",
  GIT_EDITOR: "true",
  GIT_TERMINAL_PROMPT: "0",
  DEBIAN_FRONTEND: "noninteractive"
}

/** `$0` = the shell, `$1` = the command line; one process, no text of the command is read twice. */
const joined = "exec \"$0\" -c \"$1\" 2>&1"

/** @since 0.1.0 @category services */
export class Shell extends Context.Tag("@hanzo/dev/tools/Shell")<Shell, ShellService>() {
  static readonly layer: Layer.Layer<
    Shell,
    never,
    Environment | Config | Workspace | Path.Path
  > = Layers.effect(
    Shell,
    Effect.gen(function*() {
      const environment = yield* Environment
      const { config } = yield* Config
      const { cwd } = yield* Workspace
      const path = yield* Path.Path

      // looked for and put together at the first command: most answers run none
      const program = once(() => {
        const directories = ["/bin", "/usr/bin", ...(variable(environment, "PATH") ?? "").split(":")]
        const candidates = directories.filter((directory) => path.isAbsolute(directory))
        return firstFile(candidates.map((directory) => path.join(directory, "bash"))) ?? "sh"
      })
      const env = once(() =>
        childEnvironment(environment.vars, {
          drop: secretVariables(config),
          set: { ...unattended, PWD: cwd, ...config.env }
        })
      )
      return {
        get program() {
          return program()
        },
        commandLine: (command) => ({
          argv: ["/bin/sh", "-c", joined, program(), command],
          cwd,
          env: env(),
          stdin: "closed"
        })
      }
    })
  )
}
