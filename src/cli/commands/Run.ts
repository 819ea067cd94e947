/** `hanzo-dev run`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { agentLayer, optionsOf } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Run from "../Run.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const main = command(
  Spec.run,
  (values) => Effect.provide(Run.execute(values), agentLayer(optionsOf(values, [])))
)
