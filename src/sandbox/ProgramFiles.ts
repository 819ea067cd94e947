/**
 * The workspace files behind all active commands together (reading 9.9).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import {
  type MissingProgram,
  programsOfArgv,
  programsOfLine,
  type ProgramSurroundings
} from "../platform/ProgramFiles.ts"
import type { ActiveCommands } from "./Programs.ts"

/** Paths as they are named, absolute, links not resolved. @since 0.1.0 @category models */
export interface ProgramFiles {
  /** Files, and directories that are closed as a whole. */
  readonly closed: ReadonlyArray<string>
  /** What would be taken in place of them, and is not there. */
  readonly missing: ReadonlyArray<MissingProgram>
  readonly warnings: ReadonlyArray<string>
}

/** @since 0.1.0 @category constructors */
export const programFiles = (
  surroundings: ProgramSurroundings,
  commands: ActiveCommands
): Effect.Effect<ProgramFiles> =>
  Effect.gen(function*() {
    const lines = yield* Effect.forEach(commands.lines, (line) => programsOfLine(surroundings, line))
    const argvs = yield* Effect.forEach(commands.argvs, (argv) => programsOfArgv(surroundings, argv))
    const all = [...lines, ...argvs]
    return {
      closed: [...new Set(all.flatMap(({ closed }) => closed))],
      missing: all.flatMap(({ missing }) => missing),
      warnings: all.flatMap(({ doubts }, index) => {
        const argv = commands.argvs[index - lines.length]
        const what = argv === undefined ? `the command of hook ${index + 1}` : `the server command ${argv[0] ?? ""}`
        return doubts.map((doubt) => `${what}: ${doubt}`)
      })
    }
  })
