/**
 * The embedded deterministic model: plays scenarios through the same door as every other model.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { ApiError } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import { ApiClient, type ApiClientService, type SendOptions } from "../domain/ApiClient.ts"
import type { ToolDef } from "../domain/Tool.ts"
import { conversationOf } from "./Conversation.ts"
import * as Scenario from "./Scenario.ts"

/**
 * A request as the model got it. `turn` is the index of the turn that answered, null when none did. `ended`: the
 * consumer read the stream to its end (`done`), it failed, or it was closed before (`closed`).
 *
 * @since 0.1.0
 * @category models
 */
export interface ScriptedRequest {
  readonly request: number
  readonly turn: number | null
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
  readonly options: SendOptions
  readonly ended: "running" | "done" | "failed" | "closed"
}

/** @since 0.1.0 @category models */
export interface ScriptedModelService {
  readonly client: ApiClientService
  /** All requests in the order they came. */
  readonly requests: Effect.Effect<ReadonlyArray<ScriptedRequest>>
  /** Indexes of turns that have answered nothing yet. */
  readonly unused: Effect.Effect<ReadonlyArray<number>>
}

/** `onLast` runs when the last event is handed out: whoever stops reading there has read everything. */
const play = (
  steps: ReadonlyArray<Scenario.Step>,
  onLast: () => void
): Stream.Stream<StreamEvent, ApiError> => {
  let at = 0
  const next: Effect.Effect<Chunk.Chunk<StreamEvent>, Option.Option<ApiError>> = Effect.suspend(() => {
    const step = steps[at++]
    if (step === undefined) return Effect.fail(Option.none())
    switch (step._tag) {
      case "Emit":
        if (at === steps.length) onLast()
        return Effect.succeed(Chunk.of(step.event))
      case "Sleep":
        return Effect.zipRight(Effect.sleep(step.millis), next)
      case "Gate":
        return Effect.zipRight(step.effect, next)
      case "Hang":
        return Effect.never
      case "Fail":
        return Effect.fail(Option.some(step.error))
    }
  })
  return Stream.repeatEffectChunkOption(next)
}

/**
 * Plays one scenario, for tests: what was asked can be read back. A session (`options.session_id`) has its own place in
 * the scenario. A request that the scenario does not answer fails with ApiError `bad_request`, its code
 * `scenario_exhausted`, `scenario_mismatch` or `scenario_expression`, its message the difference.
 *
 * @since 0.1.0
 * @category services
 */
export class ScriptedModel extends Context.Tag("@hanzo/dev/provider/ScriptedModel")<
  ScriptedModel,
  ScriptedModelService
>() {
  static readonly make = (scenario: Scenario.Scenario): ScriptedModelService => {
    const cursors = new Map<string, { readonly cursor: Scenario.Cursor; readonly requests: number }>()
    const requests: Array<ScriptedRequest> = []

    const refuse = (failure: Scenario.ScenarioFailure): Scenario.Step => ({
      _tag: "Fail",
      error: new ApiError({
        reason: "bad_request",
        message: `scenario "${scenario.name}": ${failure.message}`,
        retryable: false,
        provider: "scripted",
        code: failure.code
      })
    })

    const begin = (messages: ReadonlyArray<Message>, tools: ReadonlyArray<ToolDef>, options: SendOptions) => {
      const session = options.session_id ?? ""
      const before = cursors.get(session) ?? { cursor: Scenario.start, requests: 0 }
      const conversation = conversationOf(messages, tools, options, before.requests + 1)
      const selected = Scenario.select(scenario, before.cursor, conversation)
      cursors.set(session, {
        cursor: Either.isRight(selected) ? selected.right.cursor : before.cursor,
        requests: conversation.request
      })
      const steps = Either.flatMap(
        selected,
        ({ index, turn }) => Scenario.plan(scenario, index, turn, conversation)
      )
      const at = requests.push({
        request: conversation.request,
        turn: Either.isRight(selected) ? selected.right.index : null,
        messages,
        tools,
        options,
        ended: "running"
      }) - 1
      return { at, steps: Either.getOrElse(steps, (failure): ReadonlyArray<Scenario.Step> => [refuse(failure)]) }
    }

    const end = (at: number, ended: ScriptedRequest["ended"]): void => {
      const request = requests[at]
      if (request?.ended === "running") requests[at] = { ...request, ended }
    }

    return {
      client: {
        sendMessage: (messages, tools, options = {}) =>
          Stream.suspend(() => {
            const { at, steps } = begin(messages, tools, options)
            return Stream.ensuringWith(play(steps, () => end(at, "done")), (exit) =>
              Effect.sync(() =>
                end(at, Exit.isFailure(exit) && !Exit.isInterrupted(exit) ? "failed" : "closed")
              ))
          })
      },
      requests: Effect.sync(() => [...requests]),
      unused: Effect.sync(() => {
        const used = new Set(requests.map((request) => request.turn))
        return scenario.turns.flatMap((_, i) => used.has(i) ? [] : [i])
      })
    }
  }

  /** The door of one scenario, and the record of what came through it. */
  static readonly layer = (scenario: Scenario.Scenario): Layer.Layer<ScriptedModel | ApiClient> =>
    Layer.effectContext(Effect.sync(() => {
      const model = ScriptedModel.make(scenario)
      return Context.make(ScriptedModel, model).pipe(Context.add(ApiClient, model.client))
    }))
}
