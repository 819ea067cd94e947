/**
 * `hanzo-dev sessions import`.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import { line } from "../codec/TerminalText.ts"
import { Ids } from "../domain/Ids.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { Reader } from "../render/JsonlRead.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { print, printJson } from "./Output.ts"
import { storageExit } from "./Sessions.ts"
import type { SessionMade } from "./SessionsSchemas.ts"
import type * as Spec from "./Spec.ts"

/** Characters of one line, which holds one message. */
const maxLine = 256 * 1024 * 1024

/** Lines with their numbers, from 1; a line that is too long ends it. */
const numbered = (name: string) => <E>(bytes: Stream.Stream<Uint8Array, E>) => {
  let waiting = 0
  return bytes.pipe(
    // The splitter behind it keeps an unfinished line: here it is counted before it grows without end.
    Stream.tap((chunk) =>
      Effect.suspend(() => {
        const end = chunk.lastIndexOf(10)
        waiting = end < 0 ? waiting + chunk.length : chunk.length - end
        return waiting > maxLine
          ? Effect.fail(usage(`${name} is no exported session: a line of it is longer than ${maxLine} bytes`))
          : Effect.void
      })
    ),
    Stream.decodeText(),
    Stream.splitLines,
    Stream.zipWithIndex
  )
}

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.sessions.import")(function*(values: Spec.Values<typeof Spec.sessionsImport>) {
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const { root } = yield* Workspace
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { cwd } = yield* Environment
  const file = values.args[0] ?? ""
  const name = file === "-" ? "stdin" : line(file, 500)
  const unreadable = (error: { readonly message: string }): CliExit =>
    failed(`${name} cannot be read: ${error.message}`)
  const bytes: Stream.Stream<Uint8Array, CliExit> = Stream.mapError(
    file === "-" ? terminal.bytes : fs.stream(path.resolve(cwd, file)),
    unreadable
  )
  const reader = new Reader()
  yield* numbered(name)(bytes).pipe(
    Stream.runForEach(([text, index]) => {
      const problem = reader.push(index === 0 ? text.replace(/^\uFEFF/, "") : text)
      return problem === null
        ? Effect.void
        : Effect.fail(usage(`${name}:${index + 1}: the line ${problem}`, "nothing of the file was taken"))
    })
  )
  const read = reader.end()
  if (Either.isLeft(read)) return yield* usage(`${name} is no exported session: ${read.left}`)
  const { make } = yield* Effect.provide(Ids, Ids.layer)
  const session = yield* Effect.mapError(store.adopt(read.right, { workspace: root, make }), storageExit)
  if (values.json) yield* printJson({ v: 1, session } satisfies SessionMade)
  else {
    yield* print(`${session.id}\n`)
    if (session.id !== read.right.session.id) {
      yield* terminal.err(`there is a session ${line(read.right.session.id, 80)} already: this one has a new id\n`)
    }
  }
  return 0
})
