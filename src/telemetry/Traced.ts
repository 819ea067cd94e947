/**
 * Model and tools with their spans: decorations that stand in the composition, and are what they decorate while nothing
 * is configured.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { ApiClient } from "../domain/ApiClient.ts"
import { Ids } from "../domain/Ids.ts"
import * as Layers from "../domain/Layers.ts"
import { type Recorder, Telemetry } from "../domain/Telemetry.ts"
import { ToolExecutor, type ToolExecutorService } from "../domain/ToolExecutor.ts"
import { costOf } from "../provider/Cost.ts"
import { Targets } from "../provider/Targets.ts"

/** Every request to a model, whoever makes it. @since 0.1.0 @category layers */
export const layerClient: Layer.Layer<ApiClient, never, ApiClient | Targets | Telemetry> = Layers.effect(
  ApiClient,
  Effect.gen(function*() {
    const inner = yield* ApiClient
    const { recorder } = yield* Telemetry
    if (recorder === null) return inner
    const targets = yield* Targets
    return {
      sendMessage: (messages, tools, options) => {
        const sent = inner.sendMessage(messages, tools, options)
        return Stream.unwrap(Effect.map(
          Effect.option(targets.resolve(options?.model)),
          Option.match({
            // no request is made: its failure says why
            onNone: () => sent,
            onSome: (target) =>
              recorder.chat({
                provider: target.model.provider,
                model: target.model.model,
                address: target._tag === "Http" ? target.endpoint.origin : null,
                messages,
                tools,
                options: options ?? {},
                cost: (usage) => costOf(usage, target.model.price)
              }, sent)
          })
        ))
      }
    }
  })
)

const traced = (recorder: Recorder, inner: ToolExecutorService, make: Effect.Effect<string>): ToolExecutorService => ({
  ...inner,
  execute: (name, input, session_id, context) =>
    Effect.flatMap(
      context === undefined ? make : Effect.succeed(context.call_id),
      (call_id) =>
        recorder.tool({ name, input, session_id, call_id }, (heard) => {
          const report = context?.report ?? (() => Effect.void)
          return inner.execute(name, input, session_id, {
            ...context,
            call_id,
            report: (event) =>
              Effect.suspend(() => {
                heard(event)
                return report(event)
              })
          })
        })
    )
})

/** Every call of a tool. @since 0.1.0 @category layers */
export const layerTools: Layer.Layer<ToolExecutor, never, ToolExecutor | Ids | Telemetry> = Layers.effect(
  ToolExecutor,
  Effect.gen(function*() {
    const inner = yield* ToolExecutor
    const { recorder } = yield* Telemetry
    return recorder === null ? inner : traced(recorder, inner, (yield* Ids).make("call"))
  })
)
