/**
 * What the settings let go of (`session_retention`), after a conversation or a run, once a day.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RetentionConfig } from "../config/Schema.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Terminal } from "../platform/Terminal.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { policyOf } from "./SessionsPrune.ts"

const dayMs = 86_400_000

/** Changed when it was last done; a file that cannot be written only makes it happen more often. */
const stamp = Effect.map(Dirs, ({ state }) => ({ folder: state, file: `${state}/sessions-pruned` }))

const isDue = (now: number) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { file } = yield* stamp
    const info = yield* Effect.option(fs.stat(file))
    const at = Option.getOrNull(Option.flatMap(info, ({ mtime }) => mtime))?.getTime() ?? 0
    // One of the future is no reason to wait for it.
    return at > now || now - at >= dayMs
  })

const done = (now: number) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { file, folder } = yield* stamp
    yield* fs.makeDirectory(folder, { recursive: true, mode: 0o700 })
    yield* fs.writeFileString(file, "")
    yield* fs.utimes(file, now / 1000, now / 1000)
  })

/** Deletes what is kept no longer, and says how many; a record that does not let it is left for another day. @since 0.1.0 @category combinators */
export const retain = Effect.fn("Cli.retain")(function*(limits: RetentionConfig) {
  const now = yield* Clock.currentTimeMillis
  if (!(yield* isDue(now))) return
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const gone = yield* Effect.flatMap(
    store.expired(policyOf(limits, now)),
    (going) => going.length === 0 ? Effect.succeed([]) : store.prune(going.map(({ session }) => session.id))
  )
  yield* Effect.ignore(done(now))
  if (gone.length === 0) return
  yield* Effect.ignore(store.vacuum)
  yield* terminal.err(
    `${gone.length} old session${gone.length === 1 ? " was" : "s were"} deleted (session_retention of your settings)\n`
  )
}, Effect.ignore)
