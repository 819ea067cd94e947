/**
 * The ApiClient of HIP-301 section 2 over real providers and the scripted model.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Layers from "../domain/Layers.ts"
import { ApiError } from "../domain/Failure.ts"
import { makeProjection } from "../domain/Projection.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import { ApiClient, type ApiClientService } from "../domain/ApiClient.ts"
import * as Streams from "../domain/Streams.ts"
import { AgentRunGateway, fromModelError } from "./AgentRunGateway.ts"
import { ScriptedModels } from "./ScriptedModels.ts"
import { Targets } from "./Targets.ts"

/**
 * Name, address and key are resolved at each request; what is wrong with them fails the stream as `auth` (no key) or
 * `bad_request`, its code the reason of the ModelError.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ApiClient, never, AgentRunGateway | Targets | ScriptedModels> = Layers.effect(
  ApiClient,
  Effect.gen(function*() {
    const gateway = yield* AgentRunGateway
    const targets = yield* Targets
    const scenarios = yield* ScriptedModels

    const played = (
      name: string,
      ...[messages, tools, options]: Parameters<ApiClientService["sendMessage"]>
    ): Effect.Effect<Stream.Stream<StreamEvent, ApiError>, ApiError> =>
      scenarios.find(name).pipe(
        Effect.mapError(fromModelError),
        Effect.map(Option.match({
          onNone: () =>
            Stream.fail(
              new ApiError({
                reason: "not_found",
                message: `there is no scenario "${name}"`,
                retryable: false,
                provider: "scripted"
              })
            ),
          onSome: (client) => client.sendMessage(messages, tools, options)
        }))
      )

    // One stream from the connection to whoever reads: each one around another costs its steps at every read.
    return {
      sendMessage: (messages, tools, options) =>
        Streams.fromPull(Effect.gen(function*() {
          const target = yield* Effect.mapError(targets.resolve(options?.model), fromModelError)
          if (target._tag === "Scripted") {
            return yield* Effect.flatMap(played(target.model.model, messages, tools, options), Stream.toPull)
          }
          const pull = yield* gateway.openTo(target, {
            messages,
            tools,
            ...(options === undefined ? {} : { options })
          })
          const projection = makeProjection(target.model.origin)
          return Effect.map(pull, (events) => Chunk.unsafeFromArray(projection.push(Chunk.toReadonlyArray(events))))
        }))
    }
  })
)
