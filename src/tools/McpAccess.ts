/**
 * MCP servers as a run of the agent and a person see them; calls of tools are not among it, they go through the Guard.
 * Loads nothing of the MCP client by itself.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import type { Part } from "../domain/Message.ts"
import type { McpRun } from "../mcp/Asking.ts"
import type { McpServerStatus } from "../mcp/ServerState.ts"

/** What a run finds when it begins. @since 0.1.0 @category models */
export interface Attendance {
  /** Why the run must not start; null = it may. */
  readonly refusal: string | null
  /** What servers say about themselves, for the model; empty = nothing. */
  readonly instructions: string
}

/** A prompt with what it names: resources attached, a prompt of a server in place of its command. @since 0.1.0 @category models */
export type Expansion =
  | { readonly content: string | ReadonlyArray<Part>; readonly problems: ReadonlyArray<string> }
  | { readonly refusal: string }

/** A prompt of a server, as a command. @since 0.1.0 @category models */
export interface PromptCommandInfo {
  readonly name: string
  readonly description: string
  readonly arguments: ReadonlyArray<{ readonly name: string; readonly required: boolean }>
}

/** @since 0.1.0 @category models */
export interface McpAccessService {
  /** The servers of the settings connect, unless they have; reports to the run until its scope ends. */
  readonly attend: (run: McpRun) => Effect.Effect<Attendance, never, Scope.Scope>
  readonly expand: (content: string | ReadonlyArray<Part>) => Effect.Effect<Expansion>
  readonly status: Effect.Effect<ReadonlyArray<McpServerStatus>>
  readonly prompts: Effect.Effect<ReadonlyArray<PromptCommandInfo>>
  /** Ends a server and connects it anew; false = there is none of this name. */
  readonly restart: (server: string) => Effect.Effect<boolean>
}

/** @since 0.1.0 @category services */
export class McpAccess extends Context.Tag("@hanzo/dev/tools/McpAccess")<McpAccess, McpAccessService>() {
  /** No servers at all. */
  static readonly layerNone: Layer.Layer<McpAccess> = Layers.succeed(McpAccess, {
    attend: () => Effect.succeed({ refusal: null, instructions: "" }),
    expand: (content) => Effect.succeed({ content, problems: [] }),
    status: Effect.succeed([]),
    prompts: Effect.succeed([]),
    restart: () => Effect.succeed(false)
  })
}
