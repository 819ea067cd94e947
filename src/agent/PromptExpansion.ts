/**
 * What the prompts of a run come to before the model sees them: the template of a command with its inserts, or what a
 * person has typed with the resources and prompts of servers that it names.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Part } from "../domain/Message.ts"
import { textOf } from "../domain/MessageParts.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import type { Expansion, McpAccessService } from "../tools/McpAccess.ts"
import type { RunContext } from "./RunContext.ts"

/** @since 0.1.0 @category models */
export interface PromptExpansion {
  readonly expand: (context: RunContext, content: string | ReadonlyArray<Part>) => Effect.Effect<Expansion>
  /** The next prompt came out of a command: nothing in it is expanded again. */
  readonly literal: () => void
}

/**
 * The first prompt is that of `command`, if there is one; `servers` null = nobody has typed what the run is told, or there
 * are no servers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (command: Invocation | null, servers: McpAccessService | null): PromptExpansion => {
  let pending: Invocation | "literal" | null = command
  return {
    expand: (context, content) => {
      const next = pending
      pending = null
      if (next === "literal") return Effect.succeed({ content, problems: [] })
      if (next === null) {
        return servers === null ? Effect.succeed({ content, problems: [] }) : servers.expand(content)
      }
      return Effect.flatMap(
        Effect.promise(() => import("./CommandInserts.ts")),
        (inserts) => inserts.expand(context, next, textOf({ role: "user", content }))
      )
    },
    literal: () => {
      pending = "literal"
    }
  }
}
