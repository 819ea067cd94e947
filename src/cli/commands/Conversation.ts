/** `hanzo-dev`: a conversation. @since 0.1.0 */
import * as Effect from "effect/Effect"
import { agentLayer, optionsOf } from "../Compose.ts"
import * as Conversation from "../Conversation.ts"
import { command } from "../Entry.ts"
import * as Prompter from "../Prompter.ts"
import type { AgentValues } from "../Run.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const converse = Effect.fn("Cli.converse")(function*(values: AgentValues) {
  const shared = yield* Prompter.shared
  const prompter = yield* Prompter.make(shared)
  return yield* Effect.provide(
    Conversation.execute(values, shared),
    agentLayer(optionsOf(values, [prompter]))
  )
})

/** @since 0.1.0 @category constructors */
export const main = command(Spec.conversation, converse)
