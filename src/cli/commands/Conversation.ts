/** `hanzo-dev`: a conversation. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Trust } from "../../config/Trust.ts"
import { Environment } from "../../platform/Environment.ts"
import { loadSettings, optionsOf, processLayer, retained, withScenario, workspaceLayer } from "../Compose.ts"
import * as Conversation from "../Conversation.ts"
import { command } from "../Entry.ts"
import * as Prompter from "../Prompter.ts"
import type { AgentValues } from "../Run.ts"
import * as Spec from "../Spec.ts"
import { askTrust } from "../TrustQuestion.ts"

/**
 * The workspace is built with settings that count: after the question of trust, and anew, with the settings as they are
 * then, when the person reloads them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const converse = Effect.fn("Cli.converse")(function*(given: AgentValues) {
  const values = yield* withScenario(given)
  const environment = yield* Environment
  const shared = yield* Prompter.shared
  const prompter = yield* Prompter.make(shared)
  const options = optionsOf(values, [prompter])
  const somebody = environment.stdin_is_tty && environment.stdout_is_tty
  let config = yield* loadSettings(options)
  return yield* Effect.gen(function*() {
    let going: Conversation.Going = {}
    while (true) {
      if (somebody) config = yield* askTrust(config)
      const end = yield* Effect.provide(
        Conversation.execute(values, shared, going),
        workspaceLayer({ ...options, config })
      )
      if (typeof end === "number") {
        yield* retained(config.config, options.in_memory)
        return end
      }
      config = end.config
      going = end.going
    }
  }).pipe(Effect.provide(Layer.provideMerge(Trust.layer, processLayer(options.in_memory))))
})

/** @since 0.1.0 @category constructors */
export const main = command(Spec.conversation, converse)
