/**
 * The ApiClient whose every request is in the record of spending, whoever makes it: titles, messages of commits, requests
 * of tools. What its caller books itself (`booked`) passes as it is.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Config } from "../config/Config.ts"
import { ApiClient, type ApiClientService } from "../domain/ApiClient.ts"
import { ApiError } from "../domain/Failure.ts"
import { Ids } from "../domain/Ids.ts"
import * as Layers from "../domain/Layers.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import type { Usage } from "../domain/Usage.ts"
import { Workspace } from "../domain/Workspace.ts"
import { SessionStore, type StorageError } from "../storage/SessionStore.ts"
import { fromModelError } from "./AgentRunGateway.ts"
import { costOf } from "./Cost.ts"
import * as CostLimits from "./CostLimits.ts"
import { Models } from "./Models.ts"

/** What was counted of an answer, and how it ended. @since 0.1.0 @category models */
export interface Counted {
  readonly usage: Usage | null
  /** The model has ended its answer itself. */
  readonly whole: boolean
}

/**
 * A stream of an answer with what it used told once, at its end, failure or interruption; told of nothing when nothing
 * was sent. Chunks stay as they are.
 *
 * @since 0.1.0
 * @category combinators
 */
export const counting = <E>(
  stream: Stream.Stream<StreamEvent, E>,
  told: (counted: Counted) => Effect.Effect<void>
): Stream.Stream<StreamEvent, E> =>
  Stream.unwrapScoped(Effect.gen(function*() {
    let usage: Usage | null = null
    let whole = false
    let any = false
    yield* Effect.addFinalizer(() => any ? told({ usage, whole }) : Effect.void)
    return Stream.mapChunks(stream, (chunk) => {
      for (const event of Chunk.toReadonlyArray(chunk)) {
        any = true
        if (event.type === "usage") usage = event.usage
        else if (event.type === "message_stop") whole = true
      }
      return chunk
    })
  }))

/** A limit of spending as the failure of a request. @since 0.1.0 @category constructors */
export const limitError = ({ message }: CostLimits.LimitReached): ApiError =>
  new ApiError({ reason: "bad_request", code: "cost_limit", message, retryable: false })

/** Where it is not known what was spent, nothing more is. @since 0.1.0 @category constructors */
export const unknownLimit = ({ message }: StorageError): ApiError =>
  new ApiError({
    reason: "bad_request",
    code: "cost_limit",
    message: `not sent: what was spent could not be looked up, and the settings limit it: ${message}`,
    retryable: false
  })

/** @since 0.1.0 @category layers */
export const layer: Layer.Layer<ApiClient, never, ApiClient | Models | SessionStore | Ids | Workspace | Config> = Layers
  .effect(
    ApiClient,
    Effect.gen(function*() {
      const inner = yield* ApiClient
      const models = yield* Models
      const store = yield* SessionStore
      const ids = yield* Ids
      const { root } = yield* Workspace
      const { config } = yield* Config
      const limits = CostLimits.make(config.limits, store)

      const metered = (...[messages, tools, options]: Parameters<ApiClientService["sendMessage"]>) =>
        Effect.gen(function*() {
          const model = yield* Effect.mapError(models.resolve(options?.model), fromModelError)
          const session_id = options?.session_id ?? null
          if (limits !== null) {
            const { reached } = yield* Effect.mapError(limits.check(session_id, model), unknownLimit)
            if (reached !== null) return yield* limitError(reached)
          }
          return counting(
            inner.sendMessage(messages, tools, options),
            ({ usage, whole }) =>
              usage === null && !whole ? Effect.void : ids.make("att").pipe(
                Effect.flatMap((id) =>
                  store.recordCall({
                    id,
                    session_id,
                    workspace: root,
                    purpose: options?.purpose ?? "other",
                    model: model.name,
                    usage,
                    cost_usd: usage === null ? null : costOf(usage, model.price)
                  })
                ),
                Effect.catchAll((error) =>
                  Effect.logWarning(`what a request used could not be recorded: ${error.message}`)
                )
              )
          )
        })

      return {
        sendMessage: (messages, tools, options) =>
          options?.booked === true
            ? inner.sendMessage(messages, tools, options)
            : Stream.unwrap(metered(messages, tools, options))
      }
    })
  )
