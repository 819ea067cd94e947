/**
 * Books what an answer used to the run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Usage from "../domain/Usage.ts"
import { costOf, rounded } from "../provider/Cost.ts"
import type { RunState } from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"

/** Adds usage and cost to the state and tells them; nothing without usage. @since 0.1.0 @category combinators */
export const account = (context: RunContext, state: RunState, usage: Usage.Usage | null): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (usage === null) return Effect.void
    state.usage = Usage.add(state.usage, usage)
    const cost = costOf(usage, context.model.price)
    if (cost !== null) state.cost_usd = rounded((state.cost_usd ?? 0) + cost)
    return context.emit([{ type: "usage", turn: state.turns, usage, total: state.usage, cost_usd: state.cost_usd }])
  })
