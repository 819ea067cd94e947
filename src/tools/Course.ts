/**
 * The course of one call through the Guard, as it is said in events and kept for the record: each step once, in the
 * order in which it happened.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { CallStep } from "../permissions/Steps.ts"
import type { Passage, SandboxPassage } from "./Slots.ts"

/** @since 0.1.0 @category models */
export interface CourseContext {
  readonly tool: string
  readonly call_id: string
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
  /** Takes secrets out of a text. */
  readonly safe: (text: string) => string
}

/** @since 0.1.0 @category models */
export interface Course {
  /** What has happened so far; grows. */
  readonly steps: ReadonlyArray<CallStep>
  /** The same as `report` of the context, noting the hooks that it hears of. */
  readonly report: (event: AgentEventBody) => Effect.Effect<void>
  /** The answer of the hooks before the tool: a refusal of which no hook has told is noted as theirs. */
  readonly hooked: (passage: Passage) => Effect.Effect<void>
  readonly ruled: (passage: SandboxPassage) => Effect.Effect<void>
  /** The tool's own end; `started` in milliseconds since the epoch. */
  readonly ran: (started: number, outcome: "ok" | "error" | "interrupted") => Effect.Effect<void>
}

/** @since 0.1.0 @category constructors */
export const make = ({ call_id, report, safe, tool }: CourseContext): Course => {
  const steps: Array<CallStep> = []
  const note = (step: (at: number) => CallStep): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (at) => void steps.push(step(at)))
  return {
    steps,
    report: (event) =>
      event.type !== "hook.completed" ? report(event) : Effect.zipRight(
        note((at) => ({
          step: "hook",
          at,
          event: event.event,
          hook: event.hook,
          decision: event.decision,
          duration_ms: event.duration_ms
        })),
        report(event)
      ),
    hooked: (passage) =>
      passage.allowed || steps.some((step) => step.step === "hook" && step.decision !== "allow")
        ? Effect.void
        : note((at) => ({ step: "hook", at, event: "pre_tool_use", hook: null, decision: "deny", duration_ms: null })),
    ruled: (passage) => {
      const decision = passage.allowed ? "allowed" : "refused"
      const enforcement = passage.hold?.enforcement ?? "none"
      const mode = passage.hold?.mode ?? null
      const { path, reason, rule } = passage.allowed
        ? { path: null, reason: null, rule: null }
        : { path: passage.path ?? null, reason: passage.reason, rule: passage.rule ?? null }
      return Effect.zipRight(
        note((at) => ({ step: "sandbox", at, decision, enforcement, sandbox_mode: mode, rule })),
        report({
          type: "sandbox.decided",
          call_id,
          tool,
          decision,
          enforcement,
          mode,
          path: path === null ? null : safe(path),
          rule,
          reason: reason === null ? null : safe(reason)
        })
      )
    },
    ran: (started, outcome) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        const duration_ms = at - started
        steps.push({ step: "run", at, outcome, duration_ms })
        // Whoever interrupts waits for no event; the settlement of the call says it.
        return outcome === "interrupted"
          ? Effect.void
          : report({ type: "tool.ran", call_id, tool, outcome, duration_ms })
      })
  }
}
