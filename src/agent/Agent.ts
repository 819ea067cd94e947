/**
 * The agent: one run is a stream of events.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as Layers from "../domain/Layers.ts"
import type { AgentEvent } from "../domain/AgentEvent.ts"
import type { AgentError } from "../domain/Failure.ts"
import type { Part } from "../domain/Message.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { Effort } from "../domain/ApiClient.ts"
import type { ToolAccess } from "../tools/ToolAccess.ts"
import type { Invocation } from "../instructions/Catalogue.ts"
import * as Coordinator from "./Coordinator.ts"
import type { RunNode } from "./RunTree.ts"

/** @since 0.1.0 @category models */
export interface RunInput {
  readonly prompt: string | ReadonlyArray<Part>
  /** Absent = a new session. */
  readonly session_id?: string
  /** `provider/model` or a bare model; absent = the configured one. */
  readonly model?: string
  readonly effort?: Effort
  readonly permission_mode?: RunPermissionMode
  /** Model requests of this run; default 100 (reading 2.8). */
  readonly max_turns?: number
  readonly max_cost_usd?: number
  /** Appended to the system prompt. */
  readonly system_prompt_append?: string
  /**
   * The prompt calls this command or skill of the user's own (`Instructions.invocation`): what its template comes to takes
   * the place of the prompt, and the tools it wants allowed are so until the run ends, as far as no rule says otherwise.
   */
  readonly command?: Invocation
  /**
   * In place of a prompt, which is left empty: the session's conversation is compacted, whatever its size, and the model
   * is asked for nothing else. `focus` says what the summary should dwell on.
   */
  readonly compact?: { readonly focus: string }
  /**
   * The prompt is a task for this agent in place of the session's own (HIP-301 section 14): its final text is the answer.
   * One that there is not fails with `invalid_input`.
   */
  readonly delegate?: { readonly agent: string }
  /** Keep the files as they were before each message changes them. Absent = as the settings say, else not. */
  readonly checkpoints?: boolean
  /** The session is taken from another process that has a run of it: that one is asked to stop, and over in any case. */
  readonly takeover?: boolean
  /** Called once, when `interrupt` reaches the run by its session: before the first event, which waits for MCP servers. */
  readonly onOpen?: (session_id: string) => void
  /** The run is a subagent's: what it has from the run that starts it. The session is a new one. */
  readonly child?: ChildRun
}

/** @since 0.1.0 @category models */
export interface ChildRun {
  readonly parent: RunNode
  readonly label: string
  /** All limits of its tools, those of the parent among them. */
  readonly access: ToolAccess
  readonly title: string
}

/** @since 0.1.0 @category models */
export interface AgentService {
  /**
   * Starts a run and streams its events, buffered by 256, in order, ending after the one terminal event. Fails only
   * when the run could not start or be recorded. Closing the stream interrupts the run; `interrupt` lets it end with
   * `run.cancelled` instead. Either way every started tool call is settled in the session record.
   */
  readonly run: (input: RunInput) => Stream.Stream<AgentEvent, AgentError>
  /** Stops the session's run, if there is one; returns after it has settled. */
  readonly interrupt: (session_id: string, reason?: string) => Effect.Effect<void>
  /**
   * Input while a run is on: `steer` reaches the model at the next turn boundary, `follow_up` after the run's answer. False
   * = nobody takes it: there is no run, or the agent of a command works in it.
   */
  readonly send: (session_id: string, content: string, kind: "steer" | "follow_up") => Effect.Effect<boolean>
}

/** @since 0.1.0 @category services */
export class Agent extends Context.Tag("@hanzo/dev/agent/Agent")<Agent, AgentService>() {
  static readonly layer = Layers.effect(Agent, Coordinator.make)
}
