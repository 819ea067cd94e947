/**
 * A session that another process wants: it says so in the record, and the run that has it looks there.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionStoreService } from "../storage/SessionStore.ts"

/** Milliseconds between two looks: the first, and at the most. */
const pollFirst = 1000
const pollMost = 3000

/** Looks until another process wants the session, then cancels the run. @since 0.1.0 @category combinators */
export const heed = (
  store: SessionStoreService,
  run_id: string,
  cancel: Deferred.Deferred<string>
): Effect.Effect<void> =>
  Effect.gen(function*() {
    for (let pause = pollFirst;; pause = Math.min(pollMost, pause + 100)) {
      yield* Effect.sleep(pause)
      const asked = yield* Effect.option(store.stopAsked(run_id))
      const by = Option.getOrNull(Option.flatten(asked))
      if (by !== null) return yield* Deferred.succeed(cancel, `process ${by} takes the session over`)
    }
  })
