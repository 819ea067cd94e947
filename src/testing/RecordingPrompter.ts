/**
 * A prompter with answers given beforehand, which writes down what it was asked.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import {
  type PermissionDecision,
  PermissionPrompter,
  type PermissionRequestContext
} from "../domain/PermissionPrompter.ts"
import type { JsonObject } from "../domain/Json.ts"

/** One question with the answer it got. @since 0.1.0 @category models */
export interface AskedPermission {
  readonly tool_name: string
  readonly input: JsonObject
  readonly context: PermissionRequestContext
  readonly decision: PermissionDecision
}

/**
 * Answers in the order of the questions, or a function. An effect may wait (for an interruption test) or die (a prompter
 * that fails counts as escalate, reading 2.4).
 *
 * @since 0.1.0
 * @category models
 */
export type PromptAnswers =
  | ReadonlyArray<PermissionDecision>
  | ((
    question: Omit<AskedPermission, "decision">
  ) => PermissionDecision | Effect.Effect<PermissionDecision>)

/** @since 0.1.0 @category models */
export interface RecordingPrompterService {
  /** Questions that were answered, in the order of the answers. */
  readonly asked: Effect.Effect<ReadonlyArray<AskedPermission>>
}

/** @since 0.1.0 @category services */
export class RecordingPrompter extends Context.Tag("@hanzo/dev/testing/RecordingPrompter")<
  RecordingPrompter,
  RecordingPrompterService
>() {
  /** The only prompter of the chain, under `name` (default `test`). A question without an answer left is denied. */
  static readonly layer = (
    answers: PromptAnswers,
    options: { readonly name?: string } = {}
  ): Layer.Layer<RecordingPrompter | PermissionPrompter> =>
    Layer.effectContext(Effect.sync(() => {
      const asked: Array<AskedPermission> = []
      let next = 0
      const answer = (
        question: Omit<AskedPermission, "decision">
      ): PermissionDecision | Effect.Effect<PermissionDecision> =>
        typeof answers === "function" ? answers(question) : answers[next++] ?? {
          decision: "deny",
          reason: `RecordingPrompter: no answer is left for question ${next} (${question.tool_name})`
        }
      return Context.make(RecordingPrompter, { asked: Effect.sync(() => [...asked]) }).pipe(
        Context.add(PermissionPrompter, [{
          name: options.name ?? "test",
          requestPermission: (tool_name, input, context) =>
            Effect.suspend(() => {
              const question = { tool_name, input, context }
              const given = answer(question)
              return Effect.map(
                Effect.isEffect(given) ? given : Effect.succeed(given),
                (decision) => {
                  asked.push({ ...question, decision })
                  return decision
                }
              )
            })
        }])
      )
    }))
}
