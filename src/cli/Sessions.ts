/**
 * `hanzo-dev sessions`: the record of what was said, run and spent.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { Terminal } from "../platform/Terminal.ts"
import { toText, type Transcript } from "../render/Transcript.ts"
import { SessionStore, type SessionSummary, type StorageError } from "../storage/SessionStore.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { forked } from "./Forked.ts"
import { print, printJson } from "./Output.ts"
import type { SessionShow, SessionsList } from "./Schemas.ts"
import type { SessionMade } from "./SessionsSchemas.ts"
import { sessionRows } from "./SessionText.ts"
import type * as Spec from "./Spec.ts"

/** How the record failed, as the end of a command: what does not exist is a mistake of the caller. @since 0.1.0 @category constructors */
export const storageExit = (error: StorageError): CliExit =>
  error.reason === "not_found" || error.reason === "invalid"
    ? usage(...error.message.split("\n"))
    : failed(...error.message.split("\n"))

/** The one session of an id or the beginning of one. @since 0.1.0 @category combinators */
export const find = (id: string): Effect.Effect<SessionSummary, CliExit, SessionStore> =>
  Effect.flatMap(SessionStore, (store) => Effect.mapError(store.find(id), storageExit))

/** A whole session. @since 0.1.0 @category combinators */
export const transcript = (id: string): Effect.Effect<Transcript, CliExit, SessionStore> =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const session = yield* find(id)
    const runs = yield* Effect.mapError(store.runs(session.id), storageExit)
    const entries = yield* Effect.mapError(store.entries(session.id), storageExit)
    return { session, runs, entries }
  })

/** @since 0.1.0 @category combinators */
export const list = Effect.fn("Cli.sessions.list")(function*(values: Spec.Values<typeof Spec.sessionsList>) {
  const store = yield* SessionStore
  const { root } = yield* Workspace
  const sessions = yield* Effect.mapError(
    store.list({
      ...(values.all ? {} : { workspace: root }),
      limit: values.limit ?? 50,
      archived: values.archived,
      subagents: values.subagents
    }),
    storageExit
  )
  if (values.json) yield* printJson({ v: 1, sessions } satisfies SessionsList)
  else if (sessions.length > 0) yield* print(sessionRows(sessions))
  else {
    const terminal = yield* Terminal
    yield* terminal.err(
      values.archived
        ? "no archived sessions\n"
        : values.all
        ? "no sessions yet\n"
        : `no sessions of ${line(root, 300)} yet (--all lists every project)\n`
    )
  }
  return 0
})

/** @since 0.1.0 @category combinators */
export const show = Effect.fn("Cli.sessions.show")(function*(values: Spec.Values<typeof Spec.sessionsShow>) {
  const found = yield* transcript(values.args[0] ?? "")
  yield* values.json
    ? printJson({ v: 1, ...found } satisfies Omit<SessionShow, "runs" | "entries">)
    : print(toText(found))
  return 0
})

/** @since 0.1.0 @category combinators */
export const rename = Effect.fn("Cli.sessions.rename")(function*(values: Spec.Values<typeof Spec.sessionsRename>) {
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const session = yield* find(values.args[0] ?? "")
  const title = (values.args[1] ?? "").trim()
  if (title === "") return yield* usage("a title has at least one character")
  yield* Effect.mapError(store.setTitle(session.id, title), storageExit)
  yield* terminal.err(`${session.id} is ${line(title, 80)}\n`)
  return 0
})

/** Prints the id of the copy. @since 0.1.0 @category combinators */
export const fork = Effect.fn("Cli.sessions.fork")(function*(values: Spec.Values<typeof Spec.sessionsFork>) {
  const from = yield* find(values.args[0] ?? "")
  const session = yield* Effect.mapError(forked(from.id, values.at), storageExit)
  yield* values.json ? printJson({ v: 1, session } satisfies SessionMade) : print(`${session.id}\n`)
  return 0
})

/** All of them, or none when one is not there. */
const each = (
  ids: ReadonlyArray<string>,
  change: (session: SessionSummary) => Effect.Effect<void, StorageError>,
  said: string
) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const sessions = yield* Effect.forEach(ids, find)
    for (const session of sessions) {
      yield* Effect.mapError(change(session), storageExit)
      yield* terminal.err(`${said} ${session.id}  ${line(session.title ?? "", 60)}`.trimEnd() + "\n")
    }
    return 0
  })

/** @since 0.1.0 @category combinators */
export const archive = Effect.fn("Cli.sessions.archive")(function*(ids: ReadonlyArray<string>, archived: boolean) {
  const store = yield* SessionStore
  return yield* each(ids, ({ id }) => store.archive(id, archived), archived ? "archived" : "unarchived")
})

/** @since 0.1.0 @category combinators */
export const pin = Effect.fn("Cli.sessions.pin")(function*(ids: ReadonlyArray<string>, pinned: boolean) {
  const store = yield* SessionStore
  return yield* each(ids, ({ id }) => store.pin(id, pinned), pinned ? "pinned" : "unpinned")
})

/** Asks first; without a terminal `--yes` is needed. @since 0.1.0 @category combinators */
export const remove = Effect.fn("Cli.sessions.delete")(function*(values: Spec.Values<typeof Spec.sessionsDelete>) {
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const environment = yield* Environment
  const session = yield* find(values.args[0] ?? "")
  if (!values.yes) {
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
      return yield* usage("deleting a session without a terminal needs --yes")
    }
    yield* terminal.err(sessionRows([session]))
    const answer = yield* terminal.readLine("delete this session for good? y/N > ", { fresh: true })
    if (answer.type !== "line" || !/^\s*y(es)?\s*$/i.test(answer.text)) {
      yield* terminal.err("nothing was deleted\n")
      return 1
    }
  }
  yield* Effect.mapError(store.delete(session.id, { idle: true }), storageExit)
  yield* terminal.err(`deleted ${session.id}\n`)
  return 0
})
