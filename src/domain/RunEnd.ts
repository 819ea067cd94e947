/**
 * The one event that ends a run.
 *
 * @since 0.1.0
 */
import type { AgentEvent, TerminalEvent } from "./AgentEvent.ts"

/** @since 0.1.0 @category combinators */
export const isTerminal = (e: AgentEvent): e is TerminalEvent =>
  e.type === "run.completed" || e.type === "run.failed" || e.type === "run.cancelled"
