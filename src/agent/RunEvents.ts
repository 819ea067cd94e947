/**
 * What a run says: bodies of events become its events, numbered in order, and go to whoever reads the run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Mailbox from "effect/Mailbox"
import type { AgentEvent, AgentEventBody } from "../domain/AgentEvent.ts"
import type { AgentError } from "../domain/Failure.ts"
import type { RunSpan } from "../domain/Telemetry.ts"

/** @since 0.1.0 @category models */
export interface RunEvents {
  /** Waits for a slow reader; gives up at once when it has gone. */
  readonly emit: (bodies: ReadonlyArray<AgentEventBody>) => Effect.Effect<void>
  /** A permission was refused, of this run or of one below it, since nobody could be asked. */
  readonly refusedUnasked: () => boolean
}

/** `span` null = nobody watches. @since 0.1.0 @category constructors */
export const make = (
  mailbox: Mailbox.Mailbox<AgentEvent, AgentError>,
  run: { readonly session_id: string; readonly run_id: string },
  span: RunSpan | null
): RunEvents => {
  const { run_id, session_id } = run
  let seq = 0
  let refusedUnasked = false
  return {
    emit: (bodies) =>
      Effect.suspend(() => {
        if (bodies.length === 0) return Effect.void
        span?.observe(bodies)
        const events = bodies.map((body): AgentEvent => {
          const told = body.type === "subagent.event" ? body.event : body
          if (told.type === "permission.decided" && told.decided_by === "no_prompter") refusedUnasked = true
          return { v: 1, seq: seq++, session_id, run_id, ...body }
        })
        return mailbox.offerAll(events)
      }),
    refusedUnasked: () => refusedUnasked
  }
}
