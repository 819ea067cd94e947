/**
 * `hanzo-dev auth login PROVIDER --api-key`: a key into the user's settings (readings 4.7, 13.2), typed unseen or read
 * from stdin, never an argument.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { nearest } from "../codec/Distance.ts"
import { line } from "../codec/TerminalText.ts"
import { assign } from "../config/Assign.ts"
import type { ConfigService } from "../config/Config.ts"
import { SettingsWriter } from "../config/SettingsWriter.ts"
import { find } from "../credentials/Credentials.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Environment } from "../platform/Environment.ts"
import { SecretInput } from "../platform/SecretInput.ts"
import { Terminal } from "../platform/Terminal.ts"
import { entryOf, namesOf, scripted } from "../provider/Providers.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import { program } from "./Spec.ts"

const maxBytes = 65_536
const maxKey = 16_384
const shortest = 8

/** Why this cannot be a key, in words that hold nothing of it; null = it may be one. @since 0.1.0 @category combinators */
export const implausible = (key: string): string | null =>
  key === ""
    ? "there is no key"
    : key.length < shortest
    ? `a key has more than ${shortest - 1} characters`
    : key.length > maxKey
    ? "this is too long for a key"
    : /\s/u.test(key)
    ? "this has white space in it: give the key alone"
    : !/^[\u0021-\u007e]+$/u.test(key)
    ? "this has characters that no key has"
    : /^(?:export\b|[A-Z][A-Z0-9_]*=)|^["'`]|["'`]$/u.test(key)
    ? "this is an assignment or in quotes: give the key alone"
    : /^(?:https?|file):\/\//iu.test(key)
    ? "this is an address"
    : /^(?:bearer|basic)$/iu.test(key)
    ? "this is no key"
    : null

/** Where a provider's key stands in the settings. @since 0.1.0 @category combinators */
export const keyPath = (provider: string): ReadonlyArray<string> =>
  provider === "hanzo" ? ["api_key"] : ["providers", provider, "api_key"]

const interrupted = new CliExit({ exit_code: ExitCode.interrupted, lines: [] })

const given = (provider: string): Effect.Effect<string, CliExit, Environment | SecretInput | Terminal> =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    if (terminal.stdin_kind === "terminal") {
      const input = yield* SecretInput
      const answer = yield* input.read(`API key of ${line(provider, 80)} (it is not shown): `)
      if (answer.type === "interrupt") return yield* interrupted
      return answer.type === "line" ? answer.text.trim() : ""
    }
    const read = yield* Effect.mapError(
      terminal.readAll({ max_bytes: maxBytes }),
      (error) => error.reason === "too_large" ? usage("this is too long for a key") : failed(error.message)
    )
    return Option.getOrElse(read, () => "").trim()
  })

/** The file that gets a key is its owner's alone, before the key is in it. */
const keptToOwner = (file: string): Effect.Effect<void, CliExit, FileSystem.FileSystem | Terminal | Environment> =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { os } = yield* Environment
    const there = yield* Effect.option(fs.stat(file))
    if (os === "win32" || Option.isNone(there) || (there.value.mode & 0o077) === 0) return
    const terminal = yield* Terminal
    yield* Effect.mapError(
      fs.chmod(file, 0o600),
      () => failed(`${file} can be read by others, which could not be changed; make it yours alone: chmod 600`)
    )
    yield* terminal.err(`${line(file, 1000)} could be read by others; it is readable for you alone now\n`)
  })

/** @since 0.1.0 @category combinators */
export const store = (provider: string, config: ConfigService) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const environment = yield* Environment
    const writer = yield* SettingsWriter
    if (provider === scripted) return yield* usage(`the provider ${scripted} needs no key`)
    if (entryOf(provider, config.config, environment) === null) {
      const near = nearest(provider, namesOf(config.config))
      return yield* usage(
        `there is no provider ${JSON.stringify(line(provider, 80))}${
          near === undefined ? "" : `; did you mean ${near}?`
        }`,
        `to add one: ${program} config set providers.NAME.base_url https://api.example.com/v1`
      )
    }
    const key = yield* given(provider)
    const problem = implausible(key)
    if (problem !== null) {
      return yield* usage(
        `nothing was stored: ${problem}`,
        ...(key === ""
          ? [`it is asked for in a terminal, or read from stdin: ${program} auth login ${provider} --api-key < FILE`]
          : [])
      )
    }
    const path = keyPath(provider)
    const { user } = config.files
    yield* keptToOwner(user)
    yield* Effect.mapError(
      // a key of digits is a text all the same
      writer.change(config.files, "user", (text) => assign("user", user, text, path, JSON.stringify(key))),
      (error) => error.reason === "refused" ? usage(error.message) : failed(error.message)
    )
    yield* terminal.err(`the API key of ${line(provider, 80)} is stored in ${line(user, 1000)} (${path.join(".")})\n`)
    const now = find(environment, provider, (yield* config.reload).config)
    const own = `settings, ${path.join(".")}`
    if (Option.isNone(now)) {
      yield* terminal.err(
        `it does not count here: this project's settings define providers.${line(provider, 80)} as a whole\n`
      )
    } else if (now.value.source !== own) {
      yield* terminal.err(`it does not count for now: ${line(now.value.source, 200)} is set and goes first\n`)
    }
    return ExitCode.done
  })
