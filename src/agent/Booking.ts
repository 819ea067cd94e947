/**
 * Requests of a run beside its turns: their usage belongs to the run and its session like that of a turn.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ApiClientService, RequestPurpose } from "../domain/ApiClient.ts"
import type { Usage } from "../domain/Usage.ts"
import { costOf } from "../provider/Cost.ts"
import { counting, limitError, unknownLimit } from "../provider/Metered.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import { account } from "./Account.ts"
import type { RunState } from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"

/** Records the request and adds it to the run. `error_code` null = it was answered. @since 0.1.0 @category combinators */
export const book = (
  context: RunContext,
  state: RunState,
  request: { readonly purpose: RequestPurpose; readonly usage: Usage | null; readonly error_code: string | null }
): Effect.Effect<void, StorageError> =>
  Effect.gen(function*() {
    const { error_code, purpose, usage } = request
    const id = yield* context.ids.make("att")
    yield* context.store.beginAttempt({ id, run_id: context.run_id, turn: state.turns, number: 0 })
    yield* context.store.endAttempt(id, {
      status: error_code === null ? "completed" : "failed",
      usage,
      cost_usd: usage === null ? null : costOf(usage, context.model.price),
      purpose,
      ...(error_code === null ? {} : { error_code })
    })
    yield* account(context, state, usage)
  })

/** The client that servers of tools ask this run's model through (sampling). @since 0.1.0 @category constructors */
export const samplingClient = (context: RunContext, state: RunState): ApiClientService => ({
  sendMessage: (messages, tools, options) =>
    Stream.unwrap(Effect.gen(function*() {
      if (context.limits !== null) {
        const { reached } = yield* Effect.mapError(
          context.limits.check(context.session_id, context.model),
          unknownLimit
        )
        if (reached !== null) return yield* limitError(reached)
      }
      return counting(
        context.api.sendMessage(messages, tools, { ...options, booked: true }),
        ({ usage, whole }) =>
          book(context, state, { purpose: "sampling", usage, error_code: whole ? null : "cut" }).pipe(
            Effect.catchAll((error) =>
              Effect.logWarning(`what a request of a server used could not be recorded: ${error.message}`)
            )
          )
      )
    }))
})
