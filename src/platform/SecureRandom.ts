/**
 * Bytes of a cryptographic source: for what nobody may guess, where `Random` (seeded in tests, predictable) must not
 * stand.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomBytes } from "node:crypto"

/** @since 0.1.0 @category models */
export interface SecureRandomService {
  readonly bytes: (count: number) => Effect.Effect<Uint8Array>
}

/** @since 0.1.0 @category services */
export class SecureRandom extends Context.Tag("@hanzo/dev/platform/SecureRandom")<
  SecureRandom,
  SecureRandomService
>() {
  static readonly layer: Layer.Layer<SecureRandom> = Layer.succeed(SecureRandom, {
    bytes: (count) => Effect.sync(() => Uint8Array.from(randomBytes(count)))
  })
}
