/**
 * How a command ends when it does not end well: an exit code and the lines for stderr.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import { ExitCode } from "../domain/Failure.ts"

/** @since 0.1.0 @category errors */
export class CliExit extends TaggedError("@hanzo/dev/cli/CliExit")("CliExit", () => ({
  exit_code: Schema.Number,
  lines: Schema.Array(Schema.String)
})) {
  override get message(): string {
    return this.lines.join("\n")
  }
}

/** A mistake of whoever called: exit code 2. @since 0.1.0 @category constructors */
export const usage = (...lines: ReadonlyArray<string>): CliExit => new CliExit({ exit_code: ExitCode.usage, lines })

/** What was asked for could not be done: exit code 1. @since 0.1.0 @category constructors */
export const failed = (...lines: ReadonlyArray<string>): CliExit => new CliExit({ exit_code: ExitCode.failed, lines })
