/**
 * What `run` is asked to do: from the argument, from stdin, or both; or many prompts, one JSON line each.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { line } from "../codec/TerminalText.ts"
import type { Part } from "../domain/Message.ts"
import { combine } from "../domain/Piped.ts"
import { Terminal, type TerminalError } from "../platform/Terminal.ts"
import { type CliExit, failed, usage } from "./Exit.ts"

/** Largest text taken from stdin, in bytes. @since 0.1.0 @category constants */
export const maxStdinBytes = 16 * 1024 * 1024

/**
 * How long a stdin that says nothing is waited for when there is a prompt already. A program that starts this one often
 * leaves a socket open for ever; a pipe of a shell has somebody at its other end, who may be slow.
 */
const patienceMs = { socket: 3_000, pipe: 10_000 } as const

/** How long a person is left without a word about it. */
const quietMs = 1_000

const stdinExit = (error: TerminalError): CliExit =>
  error.reason === "too_large" ? usage(error.message) : failed(`stdin cannot be read: ${error.message}`)

const noPrompt = usage(
  "there is no prompt",
  "give it as an argument (hanzo-dev run \"...\") or on stdin (... | hanzo-dev run)"
)

/** What stdin says beside an argument; it may say nothing. */
const beside: Effect.Effect<string, CliExit, Terminal> = Effect.gen(function*() {
  const terminal = yield* Terminal
  if (terminal.stdin_kind === "terminal") return ""
  const patience = terminal.stdin_kind === "file" ? undefined : patienceMs[terminal.stdin_kind]
  const stdin = yield* Effect.mapError(
    terminal.readAll({
      max_bytes: maxStdinBytes,
      ...(patience === undefined ? {} : {
        first_byte_ms: patience,
        quiet: {
          after_ms: quietMs,
          tell: terminal.err("reading stdin; close it or use < /dev/null to go on without\n")
        }
      })
    }),
    stdinExit
  )
  if (Option.isSome(stdin)) return stdin.value
  yield* terminal.err(
    `note: stdin said nothing for ${(patience ?? 0) / 1000} s and is left out; < /dev/null avoids the wait\n`
  )
  return ""
})

/** The one prompt of `--input-format text`; an empty one is a mistake, `missing` (exit code 2). @since 0.1.0 @category constructors */
export const fromText = (
  argument: string | undefined,
  missing: CliExit = noPrompt
): Effect.Effect<string, CliExit, Terminal> =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const own = argument === undefined || argument === "-" ? undefined : argument
    if (own === undefined) {
      if (terminal.stdin_kind === "terminal" && argument === undefined) return yield* missing
      const stdin = yield* Effect.mapError(terminal.readAll({ max_bytes: maxStdinBytes }), stdinExit)
      const text = Option.getOrElse(stdin, () => "")
      return text.trim() === "" ? yield* missing : text
    }
    if (own.trim() === "") return yield* missing
    return combine(own, yield* beside)
  })

/** Arguments of a command of the user's own: there may be none, and stdin follows them. @since 0.1.0 @category constructors */
export const argumentsFrom = (argument: string | undefined): Effect.Effect<string, CliExit, Terminal> =>
  argument === "-" ? fromText(argument) : Effect.map(beside, (stdin) => combine(argument ?? "", stdin))

/** The Schemas of all documents are loaded when the first line is read, not at every start. */
const lineDecoder = Effect.map(
  Effect.promise(() => import("./Schemas.ts")),
  ({ InputLine }) => Schema.decodeUnknownEither(Schema.parseJson(InputLine))
)

/**
 * The prompts of `--input-format stream-json`, as they come: the argument first, then a prompt for each line of stdin;
 * blank lines are skipped. A line that is no `{"type": "user", "content": ...}` ends it (exit code 2).
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromLines = (
  argument: string | undefined
): Stream.Stream<string | ReadonlyArray<Part>, CliExit, Terminal> => {
  const first = argument === undefined || argument === "-" || argument.trim() === "" ? [] : [argument]
  const lines = Stream.unwrap(Effect.map(Terminal, (terminal) => Stream.mapError(terminal.lines, stdinExit))).pipe(
    Stream.zipWithIndex,
    Stream.filter(([text]) => text.trim() !== ""),
    Stream.mapEffect(([text, index]) =>
      Effect.flatMap(lineDecoder, (decodeLine) =>
        Either.match(decodeLine(text), {
          onLeft: (error) =>
            Effect.fail(usage(
              `line ${index + 1} of stdin is no prompt: ${line(ParseResult.TreeFormatter.formatErrorSync(error), 300)}`,
              "expected {\"type\": \"user\", \"content\": \"...\"}"
            )),
          onRight: ({ content }) =>
            content.length === 0 || (typeof content === "string" && content.trim() === "")
              ? Effect.fail(usage(`line ${index + 1} of stdin has an empty prompt`))
              : Effect.succeed(content)
        }))
    )
  )
  return Stream.concat(Stream.fromIterable<string | ReadonlyArray<Part>>(first), lines)
}

/** @since 0.1.0 @category errors */
export const noPromptExit: CliExit = noPrompt
