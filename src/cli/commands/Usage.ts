/** `hanzo-dev usage`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { recordLayer } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"
import * as Usage from "../Usage.ts"

/** @since 0.1.0 @category constructors */
export const main = command(
  Spec.usage,
  (values) => Effect.provide(Usage.execute(values), recordLayer(values.directory))
)
