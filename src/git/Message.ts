/**
 * The message of a commit from a model (reading 12, "message"): one request of its own, without tools; one more when the
 * answer has not the right form; then the caller takes a neutral draft. No failure of a model keeps anybody from
 * committing.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ApiClientService, SendOptions } from "../domain/ApiClient.ts"
import type { Message } from "../domain/Message.ts"
import type { Usage } from "../domain/Usage.ts"
import * as Conventional from "./Conventional.ts"
import { type Change, messages, type Refused } from "./MessagePrompt.ts"

const timeout = "60 seconds"

/** An answer that goes on beyond this is no message of a commit. */
const longestAnswer = 16_000

interface Answer {
  readonly text: string
  readonly usage: Usage | null
  /** Why there is no whole answer; null = there is one. */
  readonly problem: string | null
}

const ask = (
  api: ApiClientService,
  request: ReadonlyArray<Message>,
  options: SendOptions
): Effect.Effect<Answer> =>
  Effect.suspend(() => {
    let text = ""
    let usage: Usage | null = null
    let problem: string | null = "the answer broke off"
    return api.sendMessage(request, [], options).pipe(
      Stream.takeUntil((event) => {
        switch (event.type) {
          case "content_delta":
            text += event.text
            if (text.length <= longestAnswer) return false
            problem = "the answer is too long"
            return true
          case "usage":
            usage = event.usage
            return false
          case "message_stop":
            problem = event.stop_reason === "refusal"
              ? "the model declined"
              : event.stop_reason === "max_tokens" || event.stop_reason === "context_window"
              ? "the answer was cut off"
              : null
            return true
          case "error":
            problem = event.message
            return true
          default:
            return false
        }
      }),
      Stream.runDrain,
      Effect.timeoutFail({ duration: timeout, onTimeout: () => new Error(`no answer within ${timeout}`) }),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.failCause(cause as Cause.Cause<never>)
          : Effect.sync(() => {
            const error = Cause.squash(cause)
            problem = error instanceof Error ? error.message : "the model cannot be asked"
          })
      ),
      Effect.map(() => ({ text, usage, problem }))
    )
  })

/** `message` null = there is none to be had, `problem` says why. Usage is that of all requests. @since 0.1.0 @category models */
export interface Generated {
  readonly message: string | null
  readonly problem: string | null
  /** Of each request that said it. */
  readonly usages: ReadonlyArray<Usage>
}

/** `clean` takes known secrets out of what is sent. Never fails. @since 0.1.0 @category combinators */
export const generate = (
  api: ApiClientService,
  change: Change,
  clean: (text: string) => string,
  options: SendOptions = {}
): Effect.Effect<Generated> =>
  Effect.gen(function*() {
    const usages: Array<Usage> = []
    let refused: Refused | null = null
    let problem: string | null = null
    for (let attempt = 0; attempt < 2; attempt++) {
      const answer: Answer = yield* ask(api, messages(change, clean, refused), options)
      if (answer.usage !== null) usages.push(answer.usage)
      if (answer.problem !== null) {
        problem = answer.problem
        continue
      }
      const message = Conventional.fromAnswer(answer.text)
      problem = Conventional.problemOf(message)
      if (problem === null) return { message, problem, usages }
      refused = { answer: answer.text, problem }
    }
    return { message: null, problem, usages }
  })
