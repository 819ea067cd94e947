/**
 * The hooks in force: those of the settings, run by `HookRunner`. What a workspace brings takes part only after the
 * workspace is trusted (reading 4.9); the settings leave the rest out.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import { Config, type ConfigService } from "../config/Config.ts"
import type { HookEvent } from "../config/Schema.ts"
import { secretVariables } from "../config/Secrets.ts"
import type { ToolResult } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Processes } from "../platform/Processes.ts"
import { canDeny } from "./HookInput.ts"
import type { HookSubject } from "./HookSubject.ts"
import { type HookContext, type HookOutcome, HookRunner, type NumberedHook, untouched } from "./HookRunner.ts"

/** Nothing here fails; interruption stops the hook that runs. @since 0.1.0 @category models */
export interface HooksService {
  /** In the order in which they run. */
  readonly hooks: ReadonlyArray<NumberedHook>
  /** Is there any hook for this event? */
  readonly handles: (event: HookEvent) => boolean
  /** Before a tool: the first hook that does not allow stops. */
  readonly runPre: (tool_name: string, tool_input: JsonObject, context: HookContext) => Effect.Effect<HookOutcome>
  /** After a tool that ran: all of them. */
  readonly runPost: (
    tool_name: string,
    tool_input: JsonObject,
    result: ToolResult,
    context: HookContext
  ) => Effect.Effect<HookOutcome>
  /** Any event; of those about no tool, `user_prompt_submit` and `pre_compact` can be denied. */
  readonly runEvent: (subject: HookSubject, context: HookContext) => Effect.Effect<HookOutcome>
}

const none: HooksService = {
  hooks: [],
  handles: () => false,
  runPre: () => Effect.succeed(untouched),
  runPost: () => Effect.succeed(untouched),
  runEvent: () => Effect.succeed(untouched)
}

/** Settings whose hooks cannot be known deny whatever a hook could have denied. */
const closed = (why: string): HooksService => {
  const denied: HookOutcome = {
    ...untouched,
    decision: "error",
    reason: `denied: the hooks of the settings cannot be known: ${why}`
  }
  return {
    ...none,
    handles: canDeny,
    runPre: () => Effect.succeed(denied),
    runEvent: ({ event }) => Effect.succeed(canDeny(event) ? denied : untouched)
  }
}

/** An error in a hook, or one that hides a whole file. The command line does not start with either (reading 4.6). */
const unknownHooks = ({ errors }: ConfigService): string | undefined =>
  errors.find(({ key }) => key === null || key === "hooks" || key.startsWith("hooks."))?.message

const make = Effect.gen(function*() {
  const settings = yield* Config
  const processes = yield* Processes
  const environment = yield* Environment
  const { cwd, root } = yield* Workspace
  const why = unknownHooks(settings)
  if (why !== undefined) return closed(why)
  const { config, sources } = settings
  if (config.hooks.length === 0) return none
  return new HookRunner(
    config.hooks.map((hook, index) => ({ hook, tier: sources.get(`hooks.${index}`)?.[0]?.tier ?? "user" })),
    {
      processes,
      env: childEnvironment(environment.vars, {
        drop: secretVariables(config),
        set: config.env
      }),
      root,
      cwd
    }
  )
})

/** @since 0.1.0 @category services */
export class Hooks extends Context.Tag("@hanzo/dev/hooks/Hooks")<Hooks, HooksService>() {
  static readonly layer: Layer.Layer<Hooks, never, Config | Processes | Environment | Workspace> = Layers.effect(
    Hooks,
    make
  )

  /** No hooks at all. */
  static readonly layerNone: Layer.Layer<Hooks> = Layers.succeed(Hooks, none)
}
