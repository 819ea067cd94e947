/**
 * Why a process did not start, in words that name the program and never its arguments.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import { TaggedError } from "../domain/TaggedError.ts"

/**
 * Why a process did not start, or its input could not be written.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `not_found` | no such program (ENOENT) |
 * | `not_executable` | no permission to run it (EACCES) |
 * | `bad_directory` | the working directory is missing or none |
 * | `too_long` | arguments or environment over the system's limit (E2BIG) |
 * | `limit` | out of processes, descriptors or memory |
 * | `invalid` | a NUL in an argument, the directory or the environment |
 * | `closed` | the child no longer reads its input |
 * | `refused` | the policy in force does not let it start |
 * | `failed` | anything else |
 *
 * @since 0.1.0
 * @category errors
 */
export class ProcessError extends TaggedError("@hanzo/dev/platform/ProcessError")("ProcessError", () => ({
  reason: Schema.Literal(
    "not_found",
    "not_executable",
    "bad_directory",
    "too_long",
    "limit",
    "invalid",
    "closed",
    "refused",
    "failed"
  ),
  /** The program's name alone: arguments may hold what must not be shown. */
  program: Schema.String,
  message: Schema.String
})) {}

const reasons: Readonly<Record<string, ProcessError["reason"]>> = {
  ENOENT: "not_found",
  ENOTDIR: "bad_directory",
  EACCES: "not_executable",
  EPERM: "not_executable",
  ENOEXEC: "not_executable",
  E2BIG: "too_long",
  EAGAIN: "limit",
  EMFILE: "limit",
  ENFILE: "limit",
  ENOMEM: "limit",
  ERR_INVALID_ARG_VALUE: "invalid",
  EPIPE: "closed",
  ERR_STREAM_DESTROYED: "closed",
  ERR_STREAM_WRITE_AFTER_END: "closed"
}

/** What each reason means, to follow the program's name. @since 0.1.0 @category constants */
export const words: Readonly<Record<ProcessError["reason"], string>> = {
  not_found: "no such program on PATH",
  not_executable: "not allowed to run it",
  bad_directory: "its working directory is missing or no directory",
  too_long: "its arguments or environment are too long for the system; put long text into a file",
  limit: "the system is out of processes, descriptors or memory",
  invalid: "an argument, the directory or a variable holds a NUL character",
  closed: "it no longer reads its input",
  refused: "the sandbox does not allow it",
  failed: "the system refused"
}

const isDirectory = (path: string): boolean => {
  try {
    return fs.statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** What the system said of a start that failed. @since 0.1.0 @category constructors */
export const fromCause = (
  input: { readonly argv: readonly [string, ...ReadonlyArray<string>]; readonly cwd: string },
  cause: unknown
): ProcessError => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
  const known = reasons[code] ?? "failed"
  // The system says ENOENT for a missing directory as well.
  const reason = known === "not_found" && !isDirectory(input.cwd) ? "bad_directory" : known
  const where = reason === "bad_directory" ? ` (${input.cwd})` : ""
  return new ProcessError({
    reason,
    program: input.argv[0],
    message: `cannot start ${input.argv[0]}: ${words[reason]}${where}${code === "" ? "" : ` [${code}]`}`
  })
}
