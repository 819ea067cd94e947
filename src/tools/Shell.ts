/**
 * How a command line becomes a process: bash when there is one, else sh, in the workspace's directory, without
 * credentials in its environment and without anybody to answer it.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Config } from "../config/Config.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment, variable } from "../platform/Environment.ts"
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
    Environment | Config | Workspace | FileSystem.FileSystem | Path.Path
  > = Layers.effect(
    Shell,
    Effect.gen(function*() {
      const environment = yield* Environment
      const { config } = yield* Config
      const { cwd } = yield* Workspace
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path

      const directories = ["/bin", "/usr/bin", ...(variable(environment, "PATH") ?? "").split(":")]
      const candidates = directories.filter((directory) => path.isAbsolute(directory)).map((directory) =>
        path.join(directory, "bash")
      )
      const found = yield* Effect.findFirst(candidates, (file) => Effect.orElseSucceed(fs.exists(file), () => false))
      const program = found._tag === "Some" ? found.value : "sh"

      const keys = Object.values(config.providers).flatMap((provider) =>
        provider.api_key_env === undefined ? [] : [provider.api_key_env]
      )
      const env = childEnvironment(environment.vars, {
        drop: keys,
        set: { ...unattended, PWD: cwd, ...config.env }
      })
      return {
        program,
        commandLine: (command) => ({ argv: ["/bin/sh", "-c", joined, program, command], cwd, env, stdin: "closed" })
      }
    })
  )
}
