/**
 * A copy of a session, to go on with.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Ids } from "../domain/Ids.ts"
import { SessionStore, type SessionSummary, type StorageError } from "../storage/SessionStore.ts"

/** `at`: the last message of the copy, by its id; absent = all of them. @since 0.1.0 @category constructors */
export const forked = (
  from: string,
  at?: number
): Effect.Effect<SessionSummary, StorageError, SessionStore> =>
  Effect.gen(function*() {
    const store = yield* SessionStore
    const id = yield* Effect.provide(Effect.flatMap(Ids, (ids) => ids.session), Ids.layer)
    return yield* store.fork({ id, from, ...(at === undefined ? {} : { at }) })
  })
