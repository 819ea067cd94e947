import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { ApiClientService, SendOptions } from "../../src/domain/ApiClient.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import type { Message } from "../../src/domain/Message.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { generate } from "../../src/git/Message.ts"

const change = { branch: "main", subjects: ["feat: begin"], diff: "+the secret word\n", stat: "a | 1 +" }
const usage = { input_tokens: 1, output_tokens: 2, cache_read_tokens: 0, cache_write_tokens: 0 }
const clean = (text: string): string => text.replaceAll("secret", "[redacted]")

const says = (text: string, stop_reason: "end_turn" | "refusal" | "max_tokens" = "end_turn") =>
  Stream.fromIterable<StreamEvent>([
    { type: "content_delta", text: text.slice(0, 4) },
    { type: "content_delta", text: text.slice(4) },
    { type: "usage", usage },
    { type: "message_stop", stop_reason }
  ])

/** Answers in order; the last one repeats. */
const model = (...answers: ReadonlyArray<Stream.Stream<StreamEvent, ApiError>>) => {
  const requests: Array<{ readonly messages: ReadonlyArray<Message>; readonly options: SendOptions | undefined }> = []
  const api: ApiClientService = {
    sendMessage: (messages, tools, options) => {
      assert.deepEqual(tools, [])
      requests.push({ messages, options })
      return answers[Math.min(requests.length, answers.length) - 1] ?? Stream.empty
    }
  }
  return { api, requests }
}

const down = Stream.fail(
  new ApiError({ reason: "network", message: "cannot reach the provider", retryable: true })
)

describe("12 message", () => {
  it.effect("the first valid answer; the diff goes out cleaned, without tools", () =>
    Effect.gen(function*() {
      const { api, requests } = model(says("```\nfix(a)!: say it\n\nwhy\n```"))
      const made = yield* generate(api, change, clean, { model: "x/y", purpose: "commit_message" })
      assert.deepEqual(made, { message: "fix(a)!: say it\n\nwhy", problem: null, usages: [usage] })
      assert.deepEqual(requests[0]?.options, { model: "x/y", purpose: "commit_message" })
      const sent = requests.flatMap(({ messages }) => messages.map(textOf)).join("\n")
      assert.include(sent, "+the [redacted] word")
      assert.notInclude(sent, "secret word")
    }))

  it.effect("one retry that says what was wrong, then none", () =>
    Effect.gen(function*() {
      const second = model(says("I changed things"), says("fix: a"))
      assert.strictEqual((yield* generate(second.api, change, clean)).message, "fix: a")
      const last = second.requests[1]?.messages.at(-1)
      assert.include(last === undefined ? "" : textOf(last), "is not of the form")

      const never = model(says("I changed things"))
      const made = yield* generate(never.api, change, clean)
      assert.deepEqual([made.message, made.usages.length, never.requests.length], [null, 2, 2])
      assert.include(made.problem ?? "", "is not of the form")
    }))

  it.effect("no failure of a model is a failure here: refusals, cuts, errors, defects, floods", () =>
    Effect.gen(function*() {
      const table: ReadonlyArray<readonly [Stream.Stream<StreamEvent, ApiError>, RegExp]> = [
        [says("fix: a", "refusal"), /declined/u],
        [says("fix: a", "max_tokens"), /cut off/u],
        [down, /cannot reach/u],
        [Stream.die(new Error("broken")), /broken/u],
        [Stream.empty, /broke off/u],
        [Stream.repeatValue<StreamEvent>({ type: "content_delta", text: "x".repeat(1000) }), /too long/u]
      ]
      for (const [stream, why] of table) {
        const made = yield* generate(model(stream).api, change, clean)
        assert.isNull(made.message)
        assert.match(made.problem ?? "", why)
      }
      assert.strictEqual((yield* generate(model(down, says("fix: a")).api, change, clean)).message, "fix: a")
    }))

  it.effect("a model that says nothing is left after 60 s, twice; an interruption is one", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const silent = model(Stream.fromEffect(Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)))
      const fiber = yield* Effect.fork(generate(silent.api, change, clean))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("60 seconds")
      yield* TestClock.adjust("60 seconds")
      const made = yield* Fiber.join(fiber)
      assert.isNull(made.message)
      assert.match(made.problem ?? "", /60 seconds/u)
      const other = yield* Effect.fork(generate(model(Stream.never).api, change, clean))
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(other)))
    }))
})
