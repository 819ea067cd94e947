/**
 * `hanzo-dev config set` and `config edit` (reading 4.10): changes that are checked.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { line } from "../codec/TerminalText.ts"
import { assign } from "../config/Assign.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import { parseKey } from "../config/KeyPath.ts"
import { fileOf, type SettingsError, SettingsWriter, type WritableTier } from "../config/SettingsWriter.ts"
import * as Tiers from "../config/Tiers.ts"
import { trackedLocal } from "../config/Tracked.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Editor } from "../platform/Editor.ts"
import { Environment } from "../platform/Environment.ts"
import { fromPlatform } from "../platform/FileError.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { issueText, stderrStyle } from "./Output.ts"
import type * as Spec from "./Spec.ts"
import { untrustedNote } from "./TrustQuestion.ts"

const settingsExit = (error: SettingsError): CliExit =>
  error.reason === "refused" || error.reason === "no_workspace" ? usage(error.message) : failed(error.message)

const fileIn = (config: ConfigService, tier: WritableTier): Effect.Effect<string, CliExit> => {
  const file = fileOf(config.files, tier)
  return file === null
    ? Effect.fail(usage(`there are no ${tier} settings here: the home directory is no project`))
    : Effect.succeed(file)
}

/** A value may be a secret: `-` keeps it out of the arguments. */
const valueOf = (given: string): Effect.Effect<string, CliExit, Terminal> =>
  given !== "-" ? Effect.succeed(given) : Effect.gen(function*() {
    const terminal = yield* Terminal
    const read = yield* Effect.mapError(
      terminal.readAll({ max_bytes: Tiers.maxFileBytes }),
      (error) => error.reason === "too_large" ? usage(error.message) : failed(`stdin cannot be read: ${error.message}`)
    )
    return Option.getOrElse(read, () => "").replace(/\r?\n$/u, "")
  })

/** What is to be known after a change: another tier that hides it, trust that it needs, git that has taken it up. */
const afterwards = (config: ConfigService, tier: WritableTier, key: string | null) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const style = yield* stderrStyle
    const now = yield* config.reload
    const [first] = key === null ? [] : now.sources.get(key) ?? []
    if (
      first !== undefined && first.tier !== tier && first.tier !== "default" && key?.startsWith("permissions") !== true
    ) {
      const place = first.file === undefined ? first.tier : `${first.file}:${first.line ?? 1}`
      yield* terminal.err(`it does not count for now: ${line(place, 500)} has another value\n`)
    }
    if (tier !== "user") yield* terminal.err(untrustedNote(now))
    if (tier !== "local") return
    for (const issue of yield* trackedLocal(now)) {
      yield* terminal.err(`${issueText(issue, style.yellow("warning:"))}\n`)
    }
  })

/** Nothing is written that would be an error; a value is text or JSON, whichever the setting takes. @since 0.1.0 @category combinators */
export const set = Effect.fn("Cli.config.set")(function*(values: Spec.Values<typeof Spec.configSet>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const writer = yield* SettingsWriter
  const tier = values.tier ?? "user"
  const found = parseKey(values.args[0] ?? "")
  if ("problem" in found) return yield* usage(found.problem)
  const file = yield* fileIn(config, tier)
  const raw = yield* valueOf(values.args[1] ?? "")
  yield* Effect.mapError(
    writer.change(config.files, tier, (text) => assign(tier, file, text, found.path, raw)),
    settingsExit
  )
  yield* terminal.err(`${line(found.path.join("."), 200)} is set in ${line(file, 1000)}\n`)
  yield* afterwards(config, tier, found.path.join("."))
  return ExitCode.done
})

const skeleton = "{\n}\n"

type Choice = "edit" | "back" | "keep"

const choiceOf = (text: string): Choice | null => {
  const word = text.trim().toLowerCase()
  return word === "e" || word === "" ? "edit" : word === "b" ? "back" : word === "k" ? "keep" : null
}

/** Checks after the editor has ended, and offers to edit again or to go back. @since 0.1.0 @category combinators */
export const edit = Effect.fn("Cli.config.edit")(function*(values: Spec.Values<typeof Spec.configEdit>) {
  const config = yield* Config
  const terminal = yield* Terminal
  const environment = yield* Environment
  const writer = yield* SettingsWriter
  const editor = yield* Editor
  const fs = yield* FileSystem.FileSystem
  const style = yield* stderrStyle
  const tier = values.tier ?? "user"
  const file = yield* fileIn(config, tier)
  let before = ""
  // also makes the file, with its mode and its directory, and sees to it that git ignores a local one
  yield* Effect.mapError(
    writer.change(config.files, tier, (text) => {
      before = text
      return { text: text === "" ? skeleton : text }
    }),
    settingsExit
  )
  while (true) {
    const code = yield* Effect.mapError(
      editor.open(file),
      (error) => failed(`the editor ${line(editor.command, 200)} cannot be started: ${error.message}`)
    )
    if (code !== 0) {
      return yield* failed(
        `the editor ${line(editor.command, 200)} ended with ${code === null ? "a signal" : `exit code ${code}`}`
      )
    }
    const bytes = yield* Effect.mapError(
      fs.readFile(file),
      (error) => failed(fromPlatform("read", file, error).message)
    )
    const { issues } = Tiers.fromFile(tier, { file, bytes })
    for (const issue of issues) {
      const word = issue.severity === "error" ? style.red("error:") : style.yellow("warning:")
      yield* terminal.err(`${issueText(issue, word)}\n`)
    }
    if (issues.every((issue) => issue.severity === "warning")) {
      yield* afterwards(config, tier, null)
      return ExitCode.done
    }
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
      return yield* usage("the settings have errors now; nothing will start with them")
    }
    let choice: Choice | null = null
    while (choice === null) {
      const answer = yield* terminal.readLine("e edit again, b back to what it was, k keep it with its errors > ")
      choice = answer.type === "line" ? choiceOf(answer.text) : "back"
    }
    if (choice === "edit") continue
    if (choice === "back") {
      yield* Effect.mapError(writer.change(config.files, tier, () => ({ text: before })), settingsExit)
      yield* terminal.err("the file is as it was\n")
    }
    return choice === "back" ? ExitCode.done : ExitCode.usage
  }
})
