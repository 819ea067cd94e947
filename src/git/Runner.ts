/**
 * One git command: a list of arguments, never a shell; a limit; nothing that waits for a person (reading 12.0).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import type { EnvironmentService } from "../platform/Environment.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { redactor } from "../platform/Redaction.ts"
import { fail, type GitError } from "./GitError.ts"
import { withoutUser } from "./Remotes.ts"

/** @since 0.1.0 @category constants */
export const localLimit = Duration.seconds(60)
/** @since 0.1.0 @category constants */
export const networkLimit = Duration.seconds(180)

/** Programs that give git and ssh a password, and the keys of `gh`: the person's own, for the person's own command. */
const granted = ["GIT_ASKPASS", "SSH_ASKPASS"]
const grantedToNetwork = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]

/** @since 0.1.0 @category models */
export interface RunInput {
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  /** Another index than the repository's own; absolute. */
  readonly index?: string
  readonly stdin?: Uint8Array
  /** Reaches a remote: 180 s instead of 60 s, with the keys of `gh` for its credential helper. */
  readonly network?: true
  /** Takes the optional locks: false keeps a command that only looks from writing the index anew. */
  readonly writes?: true
  /** Default `git`. */
  readonly program?: "git" | "gh"
  /** Bytes kept of stdout. */
  readonly max_bytes?: number
}

/** @since 0.1.0 @category models */
export interface RunOutput {
  readonly code: number
  readonly stdout: string
  /** As it is, without user and password of addresses. */
  readonly stderr: string
  readonly truncated: boolean
}

/** @since 0.1.0 @category models */
export interface Runner {
  /** Fails when it did not start or did not come to its end; a code above 0 is an output. */
  readonly run: (input: RunInput) => Effect.Effect<RunOutput, GitError>
  /** The stdout of a command that must succeed; else `refused`, with what git says. */
  readonly must: (what: string, input: RunInput) => Effect.Effect<RunOutput, GitError>
}

/**
 * Before the command: no pager, no colour, names as they are, messages in UTF-8 on both ways, an index that only looking
 * does not touch.
 */
const always = [
  "--no-pager",
  "-c",
  "color.ui=false",
  "-c",
  "core.quotePath=false",
  "-c",
  "i18n.commitEncoding=UTF-8",
  "-c",
  "i18n.logOutputEncoding=UTF-8",
  "-c",
  "diff.autoRefreshIndex=false"
]

const decoder = new TextDecoder()

const environmentOf = (vars: ReadonlyMap<string, string>, input: RunInput): ReadonlyMap<string, string> => {
  const names = input.network === true ? [...granted, ...grantedToNetwork] : granted
  const own = Object.fromEntries(names.flatMap((name) => {
    const value = vars.get(name)
    return value === undefined || value === "" ? [] : [[name, value]]
  }))
  return childEnvironment(vars, {
    set: {
      ...own,
      // the person's configuration of git: a part of it missing would be an error of git
      ...Object.fromEntries([...vars].filter(([name]) => name.startsWith("GIT_CONFIG_"))),
      GIT_TERMINAL_PROMPT: "0",
      GIT_PAGER: "cat",
      PAGER: "cat",
      GIT_EDITOR: ":",
      GIT_SEQUENCE_EDITOR: ":",
      GIT_MERGE_AUTOEDIT: "no",
      LC_ALL: "C",
      LANGUAGE: "C",
      ...(input.writes === true ? {} : { GIT_OPTIONAL_LOCKS: "0" }),
      ...(input.index === undefined ? {} : { GIT_INDEX_FILE: input.index }),
      ...(input.program === "gh"
        ? { GH_PROMPT_DISABLED: "1", GH_NO_UPDATE_NOTIFIER: "1", GH_PAGER: "cat", NO_COLOR: "1", CLICOLOR: "0" }
        : {})
    }
  })
}

/** What a failure of git means, by its own words in the C locale. */
const meant = (what: string, { code, stderr }: Pick<RunOutput, "code" | "stderr">): GitError => {
  if (/^fatal: detected dubious ownership/mu.test(stderr)) {
    return fail(
      "unsafe",
      "git does not trust this repository: it belongs to another user; git says below how to allow it",
      stderr
    )
  }
  if (/^fatal: not a git repository/mu.test(stderr)) {
    return fail("not_a_repository", "this is no git repository; `git init` makes one", stderr)
  }
  if (/^fatal: this operation must be run in a work tree/mu.test(stderr)) {
    return fail("no_worktree", "there is no working tree here: a bare repository, or the inside of .git", stderr)
  }
  if (/Unable to create '[^']*\.lock': File exists/u.test(stderr)) {
    return fail("locked", `${what} failed: another git is at work here, or one has ended without its clean-up`, stderr)
  }
  return fail("refused", `${what} failed (exit code ${code})`, stderr)
}

/** @since 0.1.0 @category constructors */
export const make = (processes: ProcessesService, environment: Pick<EnvironmentService, "vars">): Runner => {
  // a hook may say whatever it was given
  const redact = redactor(environment.vars)
  const run: Runner["run"] = (input) => {
    const program = input.program ?? "git"
    const limit = input.network === true ? networkLimit : localLimit
    const name = `${program} ${input.args.find((arg) => !arg.startsWith("-")) ?? ""}`
    return processes.run({
      argv: program === "git" ? ["git", ...always, ...input.args] : ["gh", ...input.args],
      cwd: input.cwd,
      env: environmentOf(environment.vars, input),
      timeout: limit,
      ...(input.stdin === undefined ? {} : { stdin: input.stdin }),
      ...(input.max_bytes === undefined ? {} : { max_bytes: input.max_bytes })
    }).pipe(
      Effect.mapError((error) =>
        fail("no_git", error.reason === "not_found" ? `there is no ${program} on PATH` : error.message)
      ),
      Effect.flatMap((done) => {
        const stderr = redact(withoutUser(decoder.decode(done.stderr)))
        if (done.timed_out) {
          return fail("timeout", `${name} took longer than ${Duration.toSeconds(limit)} s and was stopped`, stderr)
        }
        if (done.code === null) return fail("stopped", `${name} was ended by ${done.signal ?? "a signal"}`, stderr)
        return Effect.succeed({
          code: done.code,
          stdout: decoder.decode(done.stdout),
          stderr,
          truncated: done.truncated
        })
      })
    )
  }
  return {
    run,
    must: (what, input) =>
      Effect.flatMap(run(input), (output) => output.code === 0 ? Effect.succeed(output) : meant(what, output))
  }
}
