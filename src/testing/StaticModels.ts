/**
 * Models that are known beforehand, without settings, keys or catalogue.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ModelError, Models, type ResolvedModel } from "../provider/Models.ts"

/**
 * `scripted/test`: no limits, no price, three retries of 100 ms to 1 s.
 *
 * @since 0.1.0
 * @category constants
 */
export const testModel: ResolvedModel = {
  name: "scripted/test",
  provider: "scripted",
  model: "test",
  protocol: "scripted",
  origin: "scripted:scripted",
  traits: { context_window: 200_000, max_output_tokens: 32_000 },
  price: null,
  limits: { connect_ms: 0, headers_ms: 0, idle_ms: 0 },
  retry: { max_retries: 3, base_ms: 100, max_ms: 1000, retry_after_cap_ms: 60_000 }
}

/**
 * Resolves no name to the first model, a name to the model of that name (whole, or without its provider). Each model
 * is `testModel` with the given fields. Other names fail with `unknown_model`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerModels = (
  models: ReadonlyArray<Partial<ResolvedModel>> = [{}]
): Layer.Layer<Models> => {
  const known = models.map((model): ResolvedModel => ({ ...testModel, ...model }))
  return Layer.succeed(Models, {
    resolve: (name) => {
      const found = name === undefined
        ? known[0]
        : known.find((model) => model.name === name) ?? known.find((model) => model.model === name)
      return found === undefined
        ? Effect.fail(
          new ModelError({
            reason: "unknown_model",
            message: `no model ${name ?? "at all"} in this test; known are ${
              known.map((model) => model.name).join(", ")
            }`
          })
        )
        : Effect.succeed(found)
    }
  })
}
