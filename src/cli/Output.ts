/**
 * Printing: JSON documents and lines for programs, issues of the settings for people.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line, neutralise } from "../codec/TerminalText.ts"
import { Config, type ConfigService, type Issue } from "../config/Config.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal, type TerminalError, type TerminalService } from "../platform/Terminal.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import { type Style, styleFor } from "./Style.ts"

/** Prints to stdout. Whoever read it may have gone: that ends the command quietly, with success. @since 0.1.0 @category combinators */
export const print = (text: string): Effect.Effect<void, CliExit, Terminal> =>
  Effect.flatMap(Terminal, (terminal) => Effect.mapError(terminal.out(text), stdoutExit))

/** @since 0.1.0 @category combinators */
export const printJson = (value: object): Effect.Effect<void, CliExit, Terminal> =>
  print(`${JSON.stringify(value, null, 2)}\n`)

/** A stdout that cannot be written as the end of a command. @since 0.1.0 @category constructors */
export const stdoutExit = (error: TerminalError): CliExit =>
  error.reason === "closed"
    ? new CliExit({ exit_code: 0, lines: [] })
    : failed(`stdout cannot be written: ${error.message}`)

/** @since 0.1.0 @category constructors */
export const stderrStyle: Effect.Effect<Style, never, Environment> = Effect.map(
  Environment,
  (environment) => styleFor(environment, environment.stderr_is_tty)
)

/** @since 0.1.0 @category constructors */
export const stdoutStyle: Effect.Effect<Style, never, Environment> = Effect.map(
  Environment,
  (environment) => styleFor(environment, environment.stdout_is_tty)
)

/** `file:line:column: message (code)`, with the line it stands in. @since 0.1.0 @category encoding */
export const issueText = (issue: Issue, word: string): string => {
  const place = issue.file === undefined
    ? issue.tier === "env" ? "environment" : issue.tier === "flag" ? "command line" : issue.tier
    : [issue.file, ...(issue.line === null ? [] : [issue.line, issue.column ?? 1])].join(":")
  const frame = issue.frame === undefined ? "" : `\n${neutralise(issue.frame)}`
  return `${word} ${line(place, 1000)}: ${line(issue.message, 1000)} (${issue.code})${frame}`
}

const report = (terminal: TerminalService, issues: ReadonlyArray<Issue>, word: string): Effect.Effect<void> =>
  issues.length === 0
    ? Effect.void
    : terminal.err(`${issues.map((issue) => issueText(issue, word)).join("\n")}\n`)

/**
 * The settings of a command that runs with broken ones too (reading 4.6): warnings and errors go to stderr.
 *
 * @since 0.1.0
 * @category combinators
 */
export const anyConfig: Effect.Effect<ConfigService, never, Config | Terminal | Environment> = Effect.gen(
  function*() {
    const config = yield* Config
    const terminal = yield* Terminal
    const style = yield* stderrStyle
    yield* report(terminal, config.warnings, style.yellow("warning:"))
    yield* report(terminal, config.errors, style.red("error:"))
    return config
  }
)

/**
 * The settings of a command that needs them whole: warnings go to stderr; with any error all of them are printed and
 * the command does not start (exit code 2, reading 4.6).
 *
 * @since 0.1.0
 * @category combinators
 */
export const soundConfig: Effect.Effect<ConfigService, CliExit, Config | Terminal | Environment> = Effect.flatMap(
  anyConfig,
  (config) => config.errors.length > 0 ? usage("the settings have errors; nothing was started") : Effect.succeed(config)
)

/** Columns of equal width, two blanks apart; the last one is not padded. @since 0.1.0 @category encoding */
export const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths: Array<number> = []
  for (const row of rows) row.forEach((cell, index) => widths[index] = Math.max(widths[index] ?? 0, [...cell].length))
  return rows.map((row) =>
    row.map((cell, index) =>
      index === row.length - 1 ? cell : cell + " ".repeat((widths[index] ?? 0) - [...cell].length)
    ).join("  ").trimEnd()
  ).map((text) => `${text}\n`).join("")
}
