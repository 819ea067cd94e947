/** `hanzo-dev`: a conversation. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { agentLayer, optionsOf } from "../Compose.ts"
import * as Conversation from "../Conversation.ts"
import { command } from "../Entry.ts"
import * as Prompter from "../Prompter.ts"
import type { AgentValues } from "../Run.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const converse = Effect.fn("Cli.converse")(function*(values: AgentValues) {
  const interrupts = yield* Queue.unbounded<string>()
  const prompter = yield* Prompter.make(interrupts)
  return yield* Effect.provide(
    Conversation.execute(values, interrupts),
    agentLayer(optionsOf(values, [prompter]))
  )
})

/** @since 0.1.0 @category constructors */
export const main = command(Spec.conversation, converse)
