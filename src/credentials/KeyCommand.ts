/**
 * Keys from a program of the user's, such as a password store: `api_key_command` (user tier only).
 *
 * The line is run by `/bin/sh` in the home directory, in an environment without credentials (reading G6), its input
 * closed, nothing of a workspace's settings around it, with a deadline that ends its whole process group. The key is what it prints, without white space around it;
 * it is kept in memory for five minutes, or until a server refuses it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { HanzoConfig } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { type Completed, Processes } from "../platform/Processes.ts"
import { CredentialError } from "./CredentialError.ts"

/** @since 0.1.0 @category models */
export interface KeyCommandService {
  /** Reason `command_failed`; the message has neither the output nor the command, which may hold a secret. */
  readonly key: (command: string, config: HanzoConfig) => Effect.Effect<Redacted.Redacted, CredentialError>
  /** What the command printed last is no longer good: the next question runs it again. */
  readonly forget: (command: string, key: Redacted.Redacted) => Effect.Effect<void>
  /** What is in memory of it, without running it. */
  readonly cached: (command: string) => Effect.Effect<Redacted.Redacted | null>
}

/** How long a key is kept in memory. @since 0.1.0 @category constants */
export const keptFor = Duration.minutes(5)
/** A command may ask the user, who needs time to answer. @since 0.1.0 @category constants */
export const deadline = Duration.seconds(60)
/** One question of the program asks several times for a key; a command that fails is not run each time. */
const failureKeptFor = Duration.seconds(5)
const maxOutput = 65_536
const maxKey = 16_384

const setting = "api_key_command of the user's settings"

const failed = (why: string): CredentialError =>
  new CredentialError({
    reason: "command_failed",
    message: `${setting} gave no key: ${why}; run it in a terminal to see what it prints, or correct it`
  })

/** The key in what a command printed. @since 0.1.0 @category decoding */
export const keyOf = (done: Completed): Redacted.Redacted | CredentialError => {
  if (done.timed_out) return failed(`it did not end within ${Duration.toSeconds(deadline)} seconds`)
  if (done.code !== 0) return failed(done.code === null ? `${done.signal} ended it` : `it ended with code ${done.code}`)
  const text = new TextDecoder().decode(done.stdout).trim()
  if (text === "") return failed("it printed nothing")
  if (done.truncated || text.length > maxKey) return failed("it printed too much for a key")
  if (/[\p{Cc}\uFFFD]/u.test(text)) return failed("it printed more than one line, or what is no text")
  return Redacted.make(text)
}

interface Kept {
  readonly at: number
  readonly result: Redacted.Redacted | CredentialError
}

/** @since 0.1.0 @category constructors */
export const make: Effect.Effect<KeyCommandService, never, Processes | Environment> = Effect.gen(function*() {
  const processes = yield* Processes
  const environment = yield* Environment
  const kept = new Map<string, Kept>()
  const one = yield* Effect.makeSemaphore(1)

  const run = (command: string, config: HanzoConfig): Effect.Effect<Redacted.Redacted | CredentialError> =>
    processes.run({
      argv: ["/bin/sh", "-c", command],
      cwd: environment.home,
      env: childEnvironment(environment.vars, { drop: secretVariables(config) }),
      timeout: deadline,
      max_bytes: maxOutput
    }).pipe(
      Effect.map(keyOf),
      Effect.catchAll((error) => Effect.succeed(failed(error.message)))
    )

  const fresh = (command: string): Effect.Effect<Kept["result"] | null> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const known = kept.get(command)
      if (known === undefined) return null
      const limit = known.result instanceof CredentialError ? failureKeptFor : keptFor
      return now - known.at < Duration.toMillis(limit) ? known.result : null
    })

  const service: KeyCommandService = {
    key: (command, config) =>
      one.withPermits(1)(Effect.gen(function*() {
        let result = yield* fresh(command)
        if (result === null) {
          result = yield* run(command, config)
          kept.set(command, { at: yield* Clock.currentTimeMillis, result })
        }
        return result instanceof CredentialError ? yield* result : result
      })),
    forget: (command, key) =>
      Effect.sync(() => {
        const result = kept.get(command)?.result
        if (Redacted.isRedacted(result) && Redacted.value(result) === Redacted.value(key)) kept.delete(command)
      }),
    cached: (command) => Effect.map(fresh(command), (result) => Redacted.isRedacted(result) ? result : null)
  }
  return service
})
