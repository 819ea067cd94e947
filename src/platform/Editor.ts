/**
 * A program that takes over the terminal, such as the user's editor.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { Environment, variable } from "./Environment.ts"
import { Signals } from "./Signals.ts"

/** @since 0.1.0 @category models */
export interface EditorService {
  /** What will be started, as the user has set it: `$VISUAL`, else `$EDITOR`, else `vi`. */
  readonly command: string
  /** Opens the file and returns when the editor has ended, with its exit code; null = a signal ended it. */
  readonly open: (file: string) => Effect.Effect<number | null, { readonly message: string }>
}

/** @since 0.1.0 @category services */
export class Editor extends Context.Tag("@hanzo/dev/platform/Editor")<Editor, EditorService>() {
  /**
   * The variable may hold arguments, so a shell reads it; the file comes as an argument and is read by nobody. The editor
   * stays in the group of this process: another one would not own the terminal; Ctrl-C is the editor's meanwhile
   * (the shell waits for it with a trap that a child does not inherit).
   */
  static readonly layer: Layer.Layer<Editor, never, Environment | Signals> = Layer.effect(
    Editor,
    Effect.zipWith(Environment, Signals, (environment, signals): EditorService => {
      const command = variable(environment, "VISUAL") ?? variable(environment, "EDITOR") ?? "vi"
      return {
        command,
        open: (file) =>
          Effect.zipRight(
            signals.lend,
            Effect.async<number | null, { readonly message: string }>((resume) => {
              const child = spawn("/bin/sh", ["-c", `trap : INT; ${command} "$1"`, "editor", file], {
                cwd: environment.cwd,
                env: Object.fromEntries(environment.vars),
                stdio: "inherit"
              })
              child.once("error", (error) => resume(Effect.fail({ message: error.message })))
              child.once("exit", (code) => resume(Effect.succeed(code)))
              return Effect.sync(() => void child.kill("SIGTERM"))
            })
          ).pipe(Effect.scoped)
      }
    })
  )

  /** Does to the file what is given, for tests. */
  static readonly layerTest = (edit: (file: string) => Effect.Effect<number | null>): Layer.Layer<Editor> =>
    Layer.succeed(Editor, { command: "test", open: edit })
}
