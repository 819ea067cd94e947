/**
 * What the credentials know that no tool may hand on (G2): stored tokens, keys of commands, client secrets.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { Config } from "../config/Config.ts"
import { Credentials } from "../credentials/Credentials.ts"
import * as Layers from "../domain/Layers.ts"
import { ToolSecrets } from "./Slots.ts"

/** @since 0.1.0 @category layers */
export const layerSecretSlot: Layer.Layer<ToolSecrets, never, Config | Credentials> = Layers.effect(
  ToolSecrets,
  Effect.gen(function*() {
    const { config } = yield* Config
    const credentials = yield* Credentials
    return { known: Effect.suspend(() => credentials.secrets(config)) }
  })
)
