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
}

/** @since 0.1.0 @category services */
export class McpTools extends Context.Tag("@hanzo/dev/tools/McpTools")<McpTools, McpToolsService>() {
  static readonly layerEmpty: Layer.Layer<McpTools> = Layers.succeed(McpTools, {
    tools: Effect.succeed([]),
    isReadOnly: () => false
  })
}
