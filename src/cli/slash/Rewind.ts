/** `/rewind`, `/undo` and `/redo`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Rewind from "../../agent/Rewind.ts"
import { neutralise } from "../../codec/TerminalText.ts"
import { Terminal } from "../../platform/Terminal.ts"
import { type FileChange, Snapshots } from "../../snapshots/Snapshots.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import { changesText, doneText, pointRows } from "../RewindText.ts"
import type { Talk } from "./Slash.ts"

/** Messages in the list. */
const most = 30

/** This session's messages and ways; null = there is nothing, and it was said. */
const looked = (talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const snapshots = Option.getOrNull(yield* Effect.serviceOption(Snapshots))
    const session_id = talk.session.get()
    if (session_id === undefined || snapshots === null) {
      yield* talk.say("there is nothing to go back to yet\n")
      return null
    }
    const services = { store, snapshots }
    const seen = yield* Effect.either(Rewind.look(services, session_id))
    if (Either.isLeft(seen)) {
      yield* talk.fail(seen.left.message)
      return null
    }
    return { services, session_id, seen: seen.right }
  })

type Looked = Exclude<Effect.Effect.Success<ReturnType<typeof looked>>, null>

/** Shows what happens to the files; asks only where somebody else's changes are among them. */
const approving = (talk: Talk) => (changes: ReadonlyArray<FileChange>) =>
  Effect.gen(function*() {
    if (changes.length > 0) yield* talk.say(changesText(changes))
    if (!changes.some(({ conflict }) => conflict)) return true
    const terminal = yield* Terminal
    const answer = yield* terminal.readLine(
      "some of these were changed by somebody else; /redo brings them back. Go on? y/N > ",
      {
        fresh: true
      }
    )
    if (answer.type === "line" && /^\s*y(es)?\s*$/i.test(answer.text)) return true
    yield* talk.say("nothing was changed\n")
    return false
  })

/** What the model cannot know is told with the next message. */
const note = (what: { readonly conversation: boolean; readonly files: boolean }): string | null =>
  what.conversation && what.files
    ? null
    : what.files
    ? "[The user has set the files of the workspace back to an earlier state; read files again before you rely on them.]"
    : "[The user went back in this conversation and kept the files: some may have been changed by what is not in it.]"

const back = (
  talk: Talk,
  { seen, services, session_id }: Looked,
  point: Rewind.RewindPoint,
  what: { readonly conversation: boolean; readonly files: boolean }
) =>
  Effect.gen(function*() {
    if (what.files && seen.problem !== null) yield* talk.fail(seen.problem)
    const done = yield* Effect.either(Rewind.rewind(services, session_id, point, what, approving(talk)))
    if (Either.isLeft(done)) {
      const error = done.left
      return error._tag === "CliExit" ? yield* error : yield* talk.fail(error.message)
    }
    if (done.right === null) return
    const told = note({ conversation: done.right.conversation, files: done.right.files !== null })
    if (told !== null && point.snapshot_id !== null) talk.attach(told)
    yield* talk.say(doneText(done.right))
    if (done.right.conversation) {
      yield* talk.say(`${talk.style.dim("the message was:")}\n${neutralise(point.text.trim())}\n`)
    }
    yield* talk.say(talk.style.dim("/redo brings it back\n"))
  })

/** @since 0.1.0 @category combinators */
export const undo = (_: string, talk: Talk) =>
  Effect.gen(function*() {
    const found = yield* looked(talk)
    if (found === null) return
    const point = found.seen.points.at(-1)
    if (point === undefined) return yield* talk.say("there is no message to take back\n")
    yield* back(talk, found, point, { conversation: true, files: true })
  })

/** @since 0.1.0 @category combinators */
export const redo = (_: string, talk: Talk) =>
  Effect.gen(function*() {
    const found = yield* looked(talk)
    if (found === null) return
    const { forward } = found.seen
    if (forward.conversation === null && forward.files === null) {
      return yield* talk.say("there is nothing to bring back\n")
    }
    const done = yield* Effect.either(Rewind.forward(found.services, found.session_id, forward, approving(talk)))
    if (Either.isLeft(done)) {
      const error = done.left
      return error._tag === "CliExit" ? yield* error : yield* talk.fail(error.message)
    }
    if (done.right !== null) yield* talk.say(doneText(done.right))
  })

const kinds = {
  both: { conversation: true, files: true },
  conversation: { conversation: true, files: false },
  files: { conversation: false, files: true }
} as const

const kindOf = (word: string): keyof typeof kinds | undefined =>
  word === ""
    ? undefined
    : (["both", "conversation", "files"] as const).find((kind) => kind.startsWith(word.toLowerCase()))

/** @since 0.1.0 @category combinators */
export const rewind = (argument: string, talk: Talk) =>
  Effect.gen(function*() {
    const terminal = yield* Terminal
    const found = yield* looked(talk)
    if (found === null) return
    const { points } = found.seen
    if (points.length === 0) return yield* talk.say("there is no message to go back to\n")
    const words = argument.split(/\s+/u).filter((word) => word !== "")
    let number = words.find((word) => /^\d+$/u.test(word))
    let kind = words.map(kindOf).find((each) => each !== undefined)
    const strange = words.find((word) => word !== number && kindOf(word) === undefined)
    if (strange !== undefined) {
      return yield* talk.fail(
        `/rewind takes a number and one of both, conversation, files; not ${JSON.stringify(strange)}`
      )
    }
    const listed = [...points].reverse().slice(0, most)
    const ask = (question: string) =>
      Effect.map(
        terminal.readLine(question, { fresh: true }),
        (answer) => answer.type === "line" ? answer.text.trim() : ""
      )
    if (number === undefined) {
      yield* talk.say(pointRows(listed, (_, index) => `${index + 1}`.padStart(3)))
      number = yield* ask("go back to before which message? number, or nothing > ")
      if (number === "") return yield* talk.say("nothing was changed\n")
    }
    const point = points.at(-Number(number))
    if (!/^\d+$/u.test(number) || number === "0" || point === undefined) {
      return yield* talk.fail(`there is no message ${number}; 1 is the last one`)
    }
    if (kind === undefined) {
      const answer = point.snapshot_id === null
        ? "conversation"
        : yield* ask("[b]oth, only the [c]onversation, only the [f]iles, or nothing > ")
      kind = kindOf(answer)
      if (kind === undefined) return yield* talk.say("nothing was changed\n")
    }
    if (kind === "files" && point.snapshot_id === null) {
      return yield* talk.fail(
        found.seen.problem ?? "no checkpoint was made since that message: nothing is known to have changed the files"
      )
    }
    yield* back(talk, found, point, kinds[kind])
  })
