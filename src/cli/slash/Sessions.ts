/** `/sessions`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Workspace } from "../../domain/Workspace.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import { sessionRows } from "../SessionText.ts"
import type { Talk } from "./Slash.ts"

/** @since 0.1.0 @category combinators */
export const sessions = (_: string, talk: Talk) =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const { root } = yield* Workspace
    const listed = yield* Effect.either(store.list({ workspace: root, limit: 10 }))
    return Either.isLeft(listed)
      ? yield* talk.fail(listed.left.message)
      : yield* talk.say(listed.right.length === 0 ? "no sessions yet\n" : sessionRows(listed.right))
  })
