/**
 * Tools of MCP servers as the registry sees them: the only ones whose names begin with `mcp__`. They go through the same
 * Guard as native ones.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { NativeTool } from "./Tool.ts"

/** @since 0.1.0 @category constants */
export const mcpPrefix = "mcp__"

/** @since 0.1.0 @category models */
export interface McpToolsService {
  /** What the connected servers offer now, full names, in a stable order. */
  readonly tools: Effect.Effect<ReadonlyArray<NativeTool>>
  /** Known without asking a server; unknown names are not read-only. */
  readonly isReadOnly: (name: string) => boolean
  /** The tool of a call; a list that is known to have changed is read again first. Absent = looked up in `tools`. */
  readonly find?: (name: string) => Effect.Effect<NativeTool | undefined>
  /** Why a name with the prefix stands for nothing; absent = nothing is known about it. */
  readonly explain?: (name: string) => Effect.Effect<string>
  /** Native tools that belong to servers: `mcp_search`, `mcp_resources`, `mcp_read`. Absent = none. */
  readonly native?: ReadonlyArray<NativeTool>
  /** Tools that can be called and are not listed to the model: they are too many, or of no use now. */
  readonly withheld?: Effect.Effect<ReadonlySet<string>>
}

/** @since 0.1.0 @category services */
export class McpTools extends Context.Tag("@hanzo/dev/tools/McpTools")<McpTools, McpToolsService>() {
  static readonly layerEmpty: Layer.Layer<McpTools> = Layers.succeed(McpTools, {
    tools: Effect.succeed([]),
    isReadOnly: () => false
  })
}
