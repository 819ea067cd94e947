/** `/sessions`, `/resume`, `/fork`, `/title` and `/takeover`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { line } from "../../codec/TerminalText.ts"
import { Workspace } from "../../domain/Workspace.ts"
import { SessionStore, type SessionSummary } from "../../storage/SessionStore.ts"
import { forked } from "../Forked.ts"
import { searchText } from "../SessionsSearch.ts"
import { about, sessionRows } from "../SessionText.ts"
import type { Talk } from "./Slash.ts"

/** The latest ones, or those that hold what was typed. @since 0.1.0 @category combinators */
export const sessions = (query: string, talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const { root } = yield* Workspace
    if (query !== "") {
      const found = yield* Effect.either(store.search(query, { workspace: root, limit: 15 }))
      if (Either.isLeft(found)) return yield* talk.fail(found.left.message)
      return yield* talk.say(
        found.right.length === 0 ? "nothing was found in this project\n" : searchText(found.right, talk.style, false)
      )
    }
    const listed = yield* Effect.either(store.list({ workspace: root, limit: 10 }))
    return Either.isLeft(listed)
      ? yield* talk.fail(listed.left.message)
      : yield* talk.say(listed.right.length === 0 ? "no sessions yet\n" : sessionRows(listed.right))
  })

const goOn = (session: SessionSummary, talk: Talk) =>
  Effect.gen(function*() {
    talk.session.set(session.id)
    yield* talk.say(talk.style.dim(`going on with ${session.id}  ${about(session, 60)}\n`))
  })

/** Another session: the one that is named, else one from a list. @since 0.1.0 @category combinators */
export const resume = (wanted: string, talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const id = wanted !== "" ? wanted : yield* Effect.flatMap(
      Effect.promise(() => import("../Pick.ts")),
      ({ pick }) =>
        Effect.catchAll(pick(talk.session.get()), (exit) => Effect.as(talk.fail(exit.lines.join("; ")), undefined))
    )
    if (id === undefined) return
    const found = yield* Effect.either(store.find(id))
    return yield* Either.isLeft(found) ? talk.fail(found.left.message) : goOn(found.right, talk)
  })

/** A copy of this session, or of its beginning up to a message, to go on with. @since 0.1.0 @category combinators */
export const fork = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const current = talk.session.get()
    if (current === undefined) return yield* talk.say("there is nothing to copy yet\n")
    const at = argument === "" ? undefined : Number(argument)
    if (at !== undefined && !(Number.isSafeInteger(at) && at > 0)) {
      return yield* talk.fail("/fork takes nothing, or the id of the last message of the copy")
    }
    const copy = yield* Effect.either(forked(current, at))
    if (Either.isLeft(copy)) return yield* talk.fail(copy.left.message)
    talk.session.set(copy.right.id)
    yield* talk.say(talk.style.dim(`going on with ${copy.right.id}, a copy of ${current}\n`))
  })

/** Says or sets the title of this session. @since 0.1.0 @category combinators */
export const title = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const current = talk.session.get()
    if (current === undefined) return yield* talk.say("the session has no message and no title yet\n")
    if (argument !== "") {
      const set = yield* Effect.either(store.setTitle(current, argument))
      if (Either.isLeft(set)) return yield* talk.fail(set.left.message)
    }
    const found = yield* Effect.either(store.get(current))
    if (Either.isLeft(found)) return yield* talk.fail(found.left.message)
    yield* talk.say(`${line(Option.getOrNull(found.right)?.title ?? "(no title)", 80)}\n`)
  })

/** The next message takes this session from the process that runs it. @since 0.1.0 @category combinators */
export const takeover = (_: string, talk: Talk) => {
  if (talk.session.get() === undefined) return talk.say("there is no session to take over\n")
  talk.session.take()
  return talk.say(
    talk.style.dim("the next message takes this session over: a run of another process is asked to stop, and ended\n")
  )
}
