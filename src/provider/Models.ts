/**
 * From a model's name to everything a request needs: provider, protocol, address, key, limits, price.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { Price } from "../config/Schema.ts"
import type { Effort } from "../domain/ApiClient.ts"
import type { ModelTraits, ProtocolName } from "../protocol/Protocol.ts"
import type { ModelError } from "./ModelError.ts"
import { Targets } from "./Targets.ts"

export { ModelError } from "./ModelError.ts"

/** Milliseconds; 0 = off. @since 0.1.0 @category models */
export interface Limits {
  readonly connect_ms: number
  readonly headers_ms: number
  readonly idle_ms: number
}

/** @since 0.1.0 @category models */
export interface RetryPolicy {
  readonly max_retries: number
  readonly base_ms: number
  readonly max_ms: number
  readonly retry_after_cap_ms: number
}

/** @since 0.1.0 @category models */
export interface ResolvedModel {
  /** `provider/model`, as shown and stored. */
  readonly name: string
  readonly provider: string
  readonly model: string
  readonly protocol: ProtocolName | "scripted"
  readonly origin: string
  readonly traits: ModelTraits
  readonly price: Price | null
  readonly effort?: Effort
  readonly limits: Limits
  readonly retry: RetryPolicy
}

/** @since 0.1.0 @category models */
export interface ModelsService {
  /** A name as the user gave it; absent = the configured model of the provider that reading 13.2 chooses. */
  readonly resolve: (name?: string) => Effect.Effect<ResolvedModel, ModelError>
}

/** @since 0.1.0 @category services */
export class Models extends Context.Tag("@hanzo/dev/provider/Models")<Models, ModelsService>() {
  static readonly layer: Layer.Layer<Models, never, Targets> = Layers.effect(
    Models,
    Effect.map(Targets, ({ resolve }) => ({
      resolve: (name) => Effect.map(resolve(name), (target) => target.model)
    }))
  )
}
