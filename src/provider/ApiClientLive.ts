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
import { AgentRunGateway, fromModelError } from "./AgentRunGateway.ts"
import { ScriptedModels } from "./ScriptedModels.ts"
import { type Target, Targets } from "./Targets.ts"

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

    const send = (
      target: Target,
      ...[messages, tools, options]: Parameters<ApiClientService["sendMessage"]>
    ): Stream.Stream<StreamEvent, ApiError> => {
      if (target._tag === "Scripted") {
        return Stream.unwrap(
          scenarios.find(target.model.model).pipe(
            Effect.mapError(fromModelError),
            Effect.map(Option.match({
              onNone: () =>
                Stream.fail(
                  new ApiError({
                    reason: "not_found",
                    message: `there is no scenario "${target.model.model}"`,
                    retryable: false,
                    provider: target.model.provider
                  })
                ),
              onSome: (client) => client.sendMessage(messages, tools, options)
            }))
          )
        )
      }
      const projection = makeProjection(target.model.origin)
      return Stream.mapChunks(
        gateway.streamTo(target, { messages, tools, ...(options === undefined ? {} : { options }) }),
        (events) => Chunk.unsafeFromArray(projection.push(Chunk.toReadonlyArray(events)))
      )
    }

    return {
      sendMessage: (messages, tools, options) =>
        Stream.unwrap(
          Effect.map(
            Effect.mapError(targets.resolve(options?.model), fromModelError),
            (target) => send(target, messages, tools, options)
          )
        )
    }
  })
)
