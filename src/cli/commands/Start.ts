/**
 * `hanzo-dev start`, what `npm start` runs: the conversation where a provider is configured and a terminal is attached,
 * else the demo.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Environment } from "../../platform/Environment.ts"
import { Models } from "../../provider/Models.ts"
import { demo, optionsOf, withAgent, withScenario } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"
import { converse } from "./Conversation.ts"

/** Is there a model to talk to, and somebody to talk? @since 0.1.0 @category combinators */
export const canConverse: Effect.Effect<boolean, never, Environment | Models> = Effect.gen(function*() {
  const environment = yield* Environment
  if (!environment.stdin_is_tty || !environment.stdout_is_tty) return false
  const models = yield* Models
  return Either.isRight(yield* Effect.either(models.resolve()))
})

/** @since 0.1.0 @category constructors */
export const main = command(Spec.start, (given) =>
  Effect.gen(function*() {
    const values = yield* withScenario(given)
    const environment = yield* Environment
    if (!environment.stdin_is_tty || !environment.stdout_is_tty) return yield* demo
    const ready = yield* withAgent(optionsOf(values, []), canConverse).pipe(
      Effect.orElseSucceed(() => true)
    )
    return yield* ready ? converse(values) : demo
  }))
