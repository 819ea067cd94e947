/**
 * Whether a run may make another request, by what it, its session and the day have cost.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import { ExitCode } from "../domain/Failure.ts"
import type { Usage } from "../domain/Usage.ts"
import * as CostLimits from "../provider/CostLimits.ts"
import type { StorageError } from "../storage/SessionStore.ts"
import type { RunOutcome, RunState } from "./Loop.ts"
import type { RunContext } from "./RunContext.ts"
import { isLimited } from "./RunTree.ts"

const warning = (message: string): AgentEventBody => ({ type: "notice", code: "cost_warning", message })

/** Once a run, when it has come near `--max-cost`. */
const ofRun = ({ max_cost_usd }: RunContext, state: RunState): ReadonlyArray<AgentEventBody> => {
  if (max_cost_usd === null || state.cost_usd === null || state.warned) return []
  if (state.cost_usd >= max_cost_usd || state.cost_usd < max_cost_usd * CostLimits.warnAt) return []
  state.warned = true
  return [
    warning(`${CostLimits.usd(state.cost_usd)} of ${CostLimits.usd(max_cost_usd)} are spent in this run (--max-cost)`)
  ]
}

/**
 * An answer that costs something, nobody knows how much, while a limit holds: going on would be without a limit.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isUncounted = ({ limits, model, node }: RunContext, usage: Usage | null): boolean =>
  usage === null && model.price !== null && !CostLimits.isFree(model.price) && (limits !== null || isLimited(node))

const untold = "the provider told no tokens for this answer"

/** For one that ends the run all the same. @since 0.1.0 @category constructors */
export const uncountedWarning = warning(`${untold}: what it cost is in no limit`)

/** @since 0.1.0 @category constructors */
export const uncountedOutcome = ({ model }: RunContext): RunOutcome => ({
  _tag: "Failed",
  error: {
    code: "no_usage",
    message: `stopped: ${untold}, so the limits of cost cannot be held; leave them out, or set ` +
      `providers.${model.provider}.models["${model.model}"].price to 0 for input and output if it costs nothing`
  },
  exit_code: ExitCode.limit
})

/** Null = go on. The record is asked only where the settings limit something. @since 0.1.0 @category combinators */
export const check = (context: RunContext, state: RunState): Effect.Effect<RunOutcome | null, StorageError> =>
  Effect.suspend(() => {
    const told = ofRun(context, state)
    if (context.limits === null) return Effect.as(context.emit(told), null)
    return Effect.flatMap(
      context.limits.check(context.session_id, context.model),
      ({ reached, warnings }) =>
        Effect.as(
          context.emit([...told, ...warnings.map(warning)]),
          reached === null ? null : {
            _tag: "Failed",
            error: { code: reached.code, message: reached.message },
            exit_code: reached.code === "no_price" ? ExitCode.usage : ExitCode.limit
          } satisfies RunOutcome
        )
    )
  })
