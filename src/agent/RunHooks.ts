/**
 * The hooks of one run that are about no tool (reading 9, extension events): the session's start, its prompts, questions
 * that wait for a person, the run's end.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { HookSubject } from "../hooks/HookSubject.ts"
import type { HooksService } from "../hooks/Hooks.ts"

/** What hooks say to a prompt; `context` goes to the model with it. @since 0.1.0 @category models */
export type Submission =
  | { readonly allowed: true; readonly context: string }
  | { readonly allowed: false; readonly reason: string }

/** @since 0.1.0 @category models */
export interface RunHooks {
  /** Once a session in this process. */
  readonly sessionStart: (source: "new" | "resumed", model: string) => Effect.Effect<void>
  /** Before a prompt is recorded. */
  readonly submit: (prompt: string) => Effect.Effect<Submission>
  /** The prompt is recorded, with what was to be told. */
  readonly submitted: () => void
  /** Before a conversation is compacted; `context` goes to whoever writes the summary. */
  readonly compacting: (trigger: "auto" | "manual") => Effect.Effect<Submission>
  /** Tells of permissions that are asked, beside the run: nobody waits for a notification. */
  readonly notify: (events: ReadonlyArray<AgentEventBody>) => Effect.Effect<void>
  /** Before the terminal event: notifications that still run end within their limits, with a cancelled run at once. */
  readonly stop: (end: Omit<Extract<HookSubject, { readonly event: "stop" }>, "event">) => Effect.Effect<void>
}

/**
 * `sessions` outlives the run: sessions that have started in this process, with what their hooks have to say to the
 * model and have not said yet. Notifications run in `scope`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  hooks: HooksService,
  options: {
    readonly session_id: string
    readonly sessions: Map<string, string>
    readonly scope: Scope.Scope
    /** A subagent's run: its prompt is nobody's, and session and run are those of whoever started it. */
    readonly child: boolean
    readonly emit: (events: ReadonlyArray<AgentEventBody>) => Effect.Effect<void>
  }
): RunHooks => {
  const { child, emit, scope, session_id, sessions } = options
  const notifications: Array<Fiber.RuntimeFiber<unknown>> = []
  const context = {
    session_id,
    call_id: null,
    report: (event: AgentEventBody) => emit([event])
  }
  /** These only see what happens: one that breaks changes nothing. */
  const tell = (subject: HookSubject, call_id: string | null = null): Effect.Effect<string> =>
    Effect.suspend(() => hooks.runEvent(subject, { ...context, call_id })).pipe(
      Effect.map((outcome) => outcome.context),
      Effect.catchAllDefect((defect) =>
        Effect.as(Effect.logError(`the hooks of ${subject.event} broke: ${Cause.pretty(Cause.die(defect))}`), "")
      )
    )
  return {
    sessionStart: (source, model) =>
      Effect.suspend(() =>
        child || sessions.has(session_id) || !hooks.handles("session_start")
          ? Effect.void
          : Effect.map(tell({ event: "session_start", source, model }), (told) => void sessions.set(session_id, told))
      ),
    submit: (prompt) =>
      child ? Effect.succeed({ allowed: true, context: "" }) : Effect.map(
        hooks.runEvent({ event: "user_prompt_submit", prompt }, context),
        (outcome): Submission =>
          outcome.decision === "allow"
            ? {
              allowed: true,
              context: [sessions.get(session_id) ?? "", outcome.context].filter((text) => text !== "").join("\n\n")
            }
            : { allowed: false, reason: outcome.reason }
      ),
    submitted: () => {
      if (sessions.has(session_id)) sessions.set(session_id, "")
    },
    compacting: (trigger) =>
      Effect.map(
        hooks.runEvent({ event: "pre_compact", trigger }, context),
        (outcome): Submission =>
          outcome.decision === "allow"
            ? { allowed: true, context: outcome.context }
            : { allowed: false, reason: outcome.reason }
      ),
    notify: (events) =>
      Effect.forEach(events, (event) => {
        if (event.type !== "permission.asked" || !hooks.handles("notification")) return Effect.void
        const message = `permission is asked for ${event.tool}${
          event.subject === undefined ? "" : `: ${event.subject}`
        }`
        const told = tell({
          event: "notification",
          kind: "permission",
          message,
          tool_name: event.tool,
          tool_call_id: event.call_id
        }, event.call_id)
        return Effect.map(Effect.forkIn(told, scope), (fiber) => void notifications.push(fiber))
      }, { discard: true }),
    stop: (end) =>
      Effect.suspend(() =>
        end.status === "cancelled" ? Fiber.interruptAll(notifications) : Effect.asVoid(Fiber.awaitAll(notifications))
      ).pipe(
        Effect.zipRight(!child && hooks.handles("stop") ? Effect.asVoid(tell({ event: "stop", ...end })) : Effect.void)
      )
  }
}
