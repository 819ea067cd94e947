/**
 * From the checked command line to a command's exit code.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { Environment } from "../platform/Environment.ts"
import type { NodePlatform } from "../platform/NodePlatform.ts"
import { Terminal } from "../platform/Terminal.ts"
import type { CliExit } from "./Exit.ts"
import { type CommandSpec, program, type Values } from "./Spec.ts"
import { styleFor } from "./Style.ts"
import { read } from "./Values.ts"

/** A command as `main` runs it: canonical arguments in, exit code out. @since 0.1.0 @category models */
export type Main = (argv: ReadonlyArray<string>) => Effect.Effect<number, CliExit, NodePlatform>

/** @since 0.1.0 @category constructors */
export const command = <const S extends CommandSpec>(
  spec: S,
  execute: (values: Values<S>) => Effect.Effect<number, CliExit, NodePlatform>
): Main =>
(argv) =>
  Effect.promise(() => import("./Parser.ts")).pipe(
    Effect.flatMap(({ parse }) => parse(spec, argv)),
    Effect.flatMap(execute)
  )

/** A command that starts without the parser's own start: see `Values`. @since 0.1.0 @category constructors */
export const direct = <const S extends CommandSpec>(
  spec: S,
  execute: (values: Values<S>) => Effect.Effect<number, CliExit, NodePlatform>
): Main =>
(argv) => Effect.suspend(() => execute(read(spec, argv)))

/** Prints why a command ended, if it says so, and gives its exit code. @since 0.1.0 @category combinators */
export const settled = <R>(
  program_: Effect.Effect<number, CliExit, R>
): Effect.Effect<number, never, R | Terminal | Environment> =>
  Effect.catchAll(program_, (exit) =>
    Effect.gen(function*() {
      const terminal = yield* Terminal
      const environment = yield* Environment
      const style = styleFor(environment, environment.stderr_is_tty)
      const [first, ...rest] = exit.lines
      if (first !== undefined) {
        const lines = [
          `${style.red(`${program}:`)} ${line(first, 2000)}`,
          ...rest.map((each) => `  ${line(each, 2000)}`)
        ]
        yield* terminal.err(`${lines.join("\n")}\n`)
      }
      return exit.exit_code
    }))
