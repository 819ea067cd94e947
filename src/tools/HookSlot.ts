/**
 * The hooks in the way of a tool call (reading 2.3): before it they can deny what the permissions allowed, after it they
 * only see it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Hooks } from "../hooks/Hooks.ts"
import { type Passage, ToolHooks } from "./Slots.ts"

/** @since 0.1.0 @category layers */
export const layerHookSlot: Layer.Layer<ToolHooks, never, Hooks> = Layers.effect(
  ToolHooks,
  Effect.map(Hooks, (hooks) => ({
    before: (call) =>
      Effect.map(
        hooks.runPre(call.tool_name, call.input, call),
        ({ context, decision, reason }): Passage =>
          decision !== "allow"
            ? { allowed: false, reason }
            : context === ""
            ? { allowed: true }
            : { allowed: true, context }
      ),
    after: (call, result) =>
      Effect.map(hooks.runPost(call.tool_name, call.input, result, call), ({ context }) => context)
  }))
)
