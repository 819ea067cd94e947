/** `hanzo-dev run`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { loadSettings, optionsOf, retained, withAgent, withScenario } from "../Compose.ts"
import { direct } from "../Entry.ts"
import * as Run from "../Run.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const main = direct(Spec.run, (given) =>
  Effect.gen(function*() {
    const values = yield* withScenario(given)
    const options = optionsOf(values, [])
    const config = yield* loadSettings(options)
    const { command } = values
    const prompts = Run.execute(values, command === undefined ? {} : { command })
    return yield* withAgent(
      { ...options, config },
      Effect.tap(prompts, () => retained(config.config, options.in_memory))
    )
  }))
