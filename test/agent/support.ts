/** A scripted world for the loop: what the model streams, what the tools do, everything in memory. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent } from "../../src/agent/Agent.ts"
import { Compactor } from "../../src/compactor/Compactor.ts"
import { Config } from "../../src/config/Config.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import { Ids } from "../../src/domain/Ids.ts"
import type { Message } from "../../src/domain/Message.ts"
import { PermissionPrompter, type PermissionPrompterService } from "../../src/domain/PermissionPrompter.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { ApiClient } from "../../src/domain/ApiClient.ts"
import type { ToolDef, ToolResult } from "../../src/domain/Tool.ts"
import type { JsonObject } from "../../src/domain/Json.ts"
import { success, ToolExecutor } from "../../src/domain/ToolExecutor.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Models, type ResolvedModel } from "../../src/provider/Models.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"

export const model: ResolvedModel = {
  name: "test/model",
  provider: "test",
  model: "model",
  protocol: "scripted",
  origin: "test:scripted",
  traits: {},
  price: { input: 1, output: 2 },
  limits: { connect_ms: 0, headers_ms: 0, idle_ms: 0 },
  retry: { max_retries: 3, base_ms: 100, max_ms: 1000, retry_after_cap_ms: 60_000 }
}

/** One step of a scripted stream: an event, a wait, an open end, or a failure of the request. */
export type Step =
  | StreamEvent
  | { readonly wait: number }
  | { readonly gate: Deferred.Deferred<void>; readonly reached: Deferred.Deferred<void> }
  | { readonly fail: ApiError }
  | { readonly die: string }

export interface Request {
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
}

export type Turn = ReadonlyArray<Step> | ((request: Request) => ReadonlyArray<Step>)

export const textTurn = (text: string): ReadonlyArray<Step> => [
  { type: "content_delta", text },
  { type: "usage", usage: { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 } },
  { type: "message_stop", stop_reason: "end_turn" }
]

export const call = (id: string, name: string, input: JsonObject = {}): StreamEvent => ({
  type: "tool_use",
  id,
  name,
  input,
  arguments: JSON.stringify(input)
})

export const callTurn = (...calls: ReadonlyArray<StreamEvent>): ReadonlyArray<Step> => [
  ...calls,
  { type: "usage", usage: { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 } },
  { type: "message_stop", stop_reason: "tool_use" }
]

export const streamOf = (steps: ReadonlyArray<Step>): Stream.Stream<StreamEvent, ApiError> =>
  Stream.fromIterable(steps).pipe(
    Stream.mapEffect((step): Effect.Effect<ReadonlyArray<StreamEvent>, ApiError> => {
      if ("wait" in step) return Effect.as(Effect.sleep(step.wait), [])
      if ("gate" in step) {
        return Effect.as(Effect.zipRight(Deferred.succeed(step.reached, undefined), Deferred.await(step.gate)), [])
      }
      if ("fail" in step) return Effect.fail(step.fail)
      if ("die" in step) return Effect.die(new Error(step.die))
      return Effect.succeed([step])
    }),
    Stream.flattenIterables
  )

export interface World {
  readonly turns: ReadonlyArray<Turn>
  readonly tools?: Readonly<Record<string, (input: JsonObject) => Effect.Effect<ToolResult>>>
  readonly readOnly?: ReadonlyArray<string>
  readonly prompters?: ReadonlyArray<PermissionPrompterService>
  readonly requests?: Array<Request>
  readonly executed?: Array<string>
  readonly model?: Partial<ResolvedModel>
  readonly hooks?: Layer.Layer<Hooks>
  /** Settings as text; the compactor is there when they are given. */
  readonly settings?: string
  /** Answers requests for a summary, which are no turns of the script. */
  readonly summary?: (request: Request) => ReadonlyArray<Step>
}

/** Is it the compactor that asks? */
const asksForSummary = (request: Request): boolean =>
  JSON.stringify(request.messages[0]).includes("You write the summary")

/** Everything but the store and the ids, so that two agents can share one record. */
export const worldLayer = (world: World) => {
  let next = 0
  const api = Layer.succeed(ApiClient, {
    sendMessage: (messages, tools) =>
      Stream.suspend(() => {
        const request = { messages, tools }
        if (world.summary !== undefined && asksForSummary(request)) return streamOf(world.summary(request))
        world.requests?.push(request)
        const turn = world.turns[next++]
        if (turn === undefined) return Stream.die(new Error(`no turn ${next} in the script`))
        return streamOf(typeof turn === "function" ? turn(request) : turn)
      })
  })
  const tools = Layer.succeed(ToolExecutor, {
    definitions: Effect.succeed(
      Object.keys(world.tools ?? {}).map((name) => ({ name, description: name, input_schema: { type: "object" } }))
    ),
    isReadOnly: (name) => world.readOnly?.includes(name) ?? false,
    execute: (name, input, _session, context) =>
      Effect.suspend(() => {
        world.executed?.push(context?.call_id ?? name)
        return world.tools?.[name]?.(input) ?? Effect.succeed(success("ok"))
      })
  })
  const config = Config.layerText(world.settings ?? "{}")
  const agent = world.settings === undefined
    ? Agent.layer
    : Layer.provide(Agent.layer, Layer.provide(Compactor.layerWindow, Layer.merge(api, config)))
  return agent.pipe(
    Layer.provide(
      Layer.mergeAll(
        api,
        tools,
        Layer.succeed(Models, { resolve: () => Effect.succeed({ ...model, ...world.model }) }),
        config,
        Layer.succeed(PermissionPrompter, world.prompters ?? []),
        Layer.succeed(Workspace, { root: "/work/project", cwd: "/work/project" }),
        Environment.layerTest(),
        world.hooks ?? Hooks.layerNone
      )
    )
  )
}

export const recordLayer = Layer.merge(SessionStore.layerMemory, Ids.layerCounting)

export const agentLayer = (world: World) => Layer.provideMerge(worldLayer(world), recordLayer)

export const apiError = (reason: ApiError["reason"], retryable: boolean, retry_after_ms?: number): ApiError =>
  new ApiError({ reason, message: `upstream says ${reason}`, retryable, provider: "test", retry_after_ms })
