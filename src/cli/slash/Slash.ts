/**
 * What a command of the conversation is, and what it may do with the conversation it was typed in.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Agent, RunInput } from "../../agent/Agent.ts"
import type { Config } from "../../config/Config.ts"
import type { Workspace } from "../../domain/Workspace.ts"
import type { Environment } from "../../platform/Environment.ts"
import type { Signals } from "../../platform/Signals.ts"
import type { Terminal } from "../../platform/Terminal.ts"
import type { Models } from "../../provider/Models.ts"
import type { SessionStore } from "../../storage/SessionStore.ts"
import type { CliExit } from "../Exit.ts"
import type { AgentValues } from "../Run.ts"
import type { Style } from "../Style.ts"

/**
 * What a command may ask for. What a composition can be without (`McpAccess`, ...) a command takes by
 * `Effect.serviceOption`, and says so when it is not there.
 *
 * @since 0.1.0
 * @category models
 */
export type SlashServices = Agent | Config | Environment | Models | SessionStore | Signals | Terminal | Workspace

/** The conversation, as its commands see it. @since 0.1.0 @category models */
export interface Talk {
  /** The options the conversation was started with. */
  readonly values: AgentValues
  readonly style: Style
  /** Text for the person on stdout, with its line ends. Fails when nobody reads. */
  readonly say: (text: string) => Effect.Effect<void, CliExit>
  /** One `error:` line on stderr; the conversation goes on. */
  readonly fail: (message: string) => Effect.Effect<void>
  /** The session of the next message; undefined = a new one. */
  readonly session: {
    readonly get: () => string | undefined
    readonly set: (session_id: string | undefined) => void
    /** The next message takes it from the process that runs it. */
    readonly take: () => void
  }
  /** The name of the model in use, `provider/model`. */
  readonly model: () => string
  /** A run in this session, shown as it goes; `more` is added to what the options say of every run. */
  readonly turn: (prompt: RunInput["prompt"], more?: Partial<RunInput>) => Effect.Effect<void, CliExit, Agent | Signals>
  /** Text that goes in front of the next message, once, as context for the model. */
  readonly attach: (text: string) => void
}

/** A command of the conversation, loaded when it is typed first. @since 0.1.0 @category models */
export interface Slash {
  /** For `/help`: what it does, then its form, `: /name [ARGUMENT]`, when it takes any. */
  readonly help: string
  /** Its argument may have several lines; else a text of several lines is for the agent. */
  readonly lines?: true
  readonly load: () => Promise<(argument: string, talk: Talk) => Effect.Effect<void, CliExit, SlashServices>>
}
