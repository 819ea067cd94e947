/**
 * The terminal as the prompts of @effect/cli want it: keys one by one. While one of them asks, nothing else reads stdin.
 *
 * @since 0.1.0
 */
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import type { Terminal } from "@effect/platform/Terminal"
import type * as Layer from "effect/Layer"

/** @since 0.1.0 @category layers */
export const layer: Layer.Layer<Terminal> = NodeTerminal.layer
