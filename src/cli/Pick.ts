/**
 * A session chosen from a list, with the arrow keys.
 *
 * @since 0.1.0
 */
import * as Prompt from "@effect/cli/Prompt"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as PlatformTerminal from "@effect/platform/Terminal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { line } from "../codec/TerminalText.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import { SessionStore, type SessionSummary } from "../storage/SessionStore.ts"
import { type CliExit, usage } from "./Exit.ts"
import { storageExit } from "./Sessions.ts"
import { about, moment } from "./SessionText.ts"

/** Where the keys come from, unless a terminal is given already. */
const keys: Layer.Layer<PlatformTerminal.Terminal> = Layer.unwrapEffect(
  Effect.flatMap(
    Effect.serviceOption(PlatformTerminal.Terminal),
    (given) =>
      given._tag === "Some"
        ? Effect.succeed(Layer.succeed(PlatformTerminal.Terminal, given.value))
        : Effect.map(Effect.promise(() => import("../platform/PromptTerminal.ts")), ({ layer }) => layer)
  )
)

/** What prompts that choose files would use. */
const files = Layer.merge(FileSystem.layerNoop({}), Path.layer)

/** A line for each: it never wraps, since the prompt counts lines when it draws itself anew. */
const titleOf = (session: SessionSummary, columns: number, current: string | undefined): string => {
  const rest = `${moment(session.last_active)}  ${session.message_count} messages${
    session.id === current ? "  (this one)" : ""
  }`
  const width = Math.max(10, columns - rest.length - 8)
  return line(`${rest}  ${about(session, width)}`, Math.max(20, columns - 4))
}

/**
 * The id that was chosen among the sessions of this project; undefined when the person left the list. `current` is the one
 * that is going on.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pick = (
  current?: string
): Effect.Effect<string | undefined, CliExit, Environment | SessionStore | Workspace> =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const environment = yield* Environment
    const { root } = yield* Workspace
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) {
      return yield* usage(
        "a session is chosen at a terminal",
        "without one: --session ID, or --continue for the latest"
      )
    }
    const sessions = yield* Effect.mapError(store.list({ workspace: root, limit: 500 }), storageExit)
    if (sessions.length === 0) return yield* usage(`there is no session of ${line(root, 300)} to go on with`)
    return yield* Effect.gen(function*() {
      const columns = yield* (yield* PlatformTerminal.Terminal).columns
      return yield* Prompt.run(Prompt.select({
        message: "Go on with which session? (arrow keys, Enter; Ctrl-C leaves)",
        maxPerPage: 12,
        choices: sessions.map((session) => ({
          title: titleOf(session, columns === 0 ? 80 : columns, current),
          value: session.id
        }))
      }))
    }).pipe(
      Effect.provide(Layer.merge(keys, files)),
      Effect.catchTag("QuitException", () => Effect.succeed(undefined))
    )
  })
