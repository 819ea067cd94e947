/**
 * Secrets that the settings do not hold but name: a file, a variable, or a command that prints one. Read anew each time:
 * what stands behind them is renewed by somebody else.
 *
 * A command is run by `/bin/sh` in the home directory, its input closed, in an environment without credentials but for
 * what it is told, with a deadline that ends its whole process group.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { line } from "../codec/TerminalText.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { type Completed, Processes } from "../platform/Processes.ts"
import { OAuthError } from "./OAuthClient.ts"

/** Exactly one of the three. @since 0.1.0 @category models */
export interface SecretPlace {
  /** Absolute. */
  readonly file?: string | undefined
  readonly env?: string | undefined
  readonly command?: string | undefined
}

/** @since 0.1.0 @category models */
export interface SecretQuestion {
  readonly place: SecretPlace
  /** The key of the settings without its ending, for messages: `mcp_servers.a.oauth.assertion`. */
  readonly setting: string
  /** Variables that the command gets beside the usual ones. */
  readonly tell?: Readonly<Record<string, string>>
  /** Variables that hold secrets: no command gets them. */
  readonly secret_variables: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface SecretSourceService {
  /**
   * The text without white space around it. Reason `not_configured`, with the key of the settings, the place and what is
   * wrong there; never with what was read or with the command, which may hold a secret.
   */
  readonly read: (question: SecretQuestion) => Effect.Effect<Redacted.Redacted, OAuthError>
}

const deadline = Duration.seconds(60)
const maxBytes = 65_536

const notConfigured = (message: string): OAuthError => new OAuthError({ reason: "not_configured", message })

/** What a command printed, or why it is nothing. */
const printed = (done: Completed): Redacted.Redacted | string => {
  if (done.timed_out) return `it did not end within ${Duration.toSeconds(deadline)} seconds`
  if (done.code !== 0) return done.code === null ? `${done.signal} ended it` : `it ended with code ${done.code}`
  if (done.truncated) return `it printed more than ${maxBytes / 1024} KiB`
  const text = new TextDecoder().decode(done.stdout).trim()
  return text === "" ? "it printed nothing" : Redacted.make(text)
}

const make = Effect.gen(function*() {
  const files = yield* Files
  const processes = yield* Processes
  const { home, vars } = yield* Environment

  const fromFile = (file: string, setting: string): Effect.Effect<Redacted.Redacted, OAuthError> =>
    Effect.gen(function*() {
      const shown = line(file, 500)
      if (!file.startsWith("/")) {
        return yield* notConfigured(`${setting}_file must be an absolute path, or begin with ~/; it is ${shown}`)
      }
      const { path } = yield* files.canonical(file)
      const { bytes } = yield* files.read(path, maxBytes)
      const text = new TextDecoder().decode(bytes).trim()
      return text === ""
        ? yield* notConfigured(`${setting}_file names ${shown}, which is empty`)
        : Redacted.make(text)
    }).pipe(Effect.catchTag("FileError", (error) => notConfigured(`${setting}_file cannot be read: ${error.message}`)))

  const fromVariable = (name: string, setting: string): Effect.Effect<Redacted.Redacted, OAuthError> =>
    Effect.suspend(() => {
      const text = vars.get(name)?.trim()
      return text === undefined || text === ""
        ? notConfigured(`${setting}_env names the variable ${line(name, 80)}, which is not set`)
        : Effect.succeed(Redacted.make(text))
    })

  const fromCommand = (
    command: string,
    { secret_variables, setting, tell = {} }: SecretQuestion
  ): Effect.Effect<Redacted.Redacted, OAuthError> => {
    const failed = (why: string) =>
      notConfigured(
        `${setting}_command gave nothing: ${why}; run it in a terminal to see what it prints, or correct it`
      )
    return processes.run({
      argv: ["/bin/sh", "-c", command],
      cwd: home,
      env: childEnvironment(vars, { drop: secret_variables, set: tell }),
      timeout: deadline,
      max_bytes: maxBytes
    }).pipe(
      Effect.catchTag("ProcessError", (error) => failed(error.message)),
      Effect.flatMap((done) => {
        const found = printed(done)
        return typeof found === "string" ? failed(found) : Effect.succeed(found)
      })
    )
  }

  const service: SecretSourceService = {
    read: (question) => {
      const { place: { command, env, file }, setting } = question
      return file !== undefined
        ? fromFile(file, setting)
        : env !== undefined
        ? fromVariable(env, setting)
        : command !== undefined
        ? fromCommand(command, question)
        : notConfigured(`${setting}_file, ${setting}_env or ${setting}_command must say where it is`)
    }
  }
  return service
})

/** @since 0.1.0 @category services */
export class SecretSource extends Context.Tag("@hanzo/dev/credentials/SecretSource")<
  SecretSource,
  SecretSourceService
>() {
  static readonly layer: Layer.Layer<SecretSource, never, Files | Processes | Environment> = Layer.effect(
    SecretSource,
    make
  )
}
