/** `hanzo-dev agent prompt`. @since 0.1.0 */
import * as Effect from "effect/Effect"
import * as AgentPrompt from "../AgentPrompt.ts"
import { type AgentOptions, loadSettings, withAgent } from "../Compose.ts"
import { command } from "../Entry.ts"
import * as Spec from "../Spec.ts"

/** @since 0.1.0 @category constructors */
export const main = command(Spec.agentPrompt, (values) =>
  Effect.gen(function*() {
    const options: AgentOptions = {
      ...(values.directory === undefined ? {} : { directory: values.directory }),
      flags: { settings: {}, allow: [], deny: [] },
      prompters: [],
      in_memory: true,
      trust_workspace: values["trust-workspace"]
    }
    const config = yield* loadSettings(options)
    return yield* withAgent({ ...options, config }, AgentPrompt.execute(values))
  }))
