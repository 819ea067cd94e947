/** Histories and summarisers for the compactor's tests. */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Stream from "effect/Stream"
import type { ApiClientService } from "../../src/domain/ApiClient.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import type { Message } from "../../src/domain/Message.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"

export const user = (text: string, token_count?: number): Message => ({
  role: "user",
  content: [{ type: "text", text }],
  ...(token_count === undefined ? {} : { token_count })
})
export const said = (text: string, token_count?: number): Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
  ...(token_count === undefined ? {} : { token_count })
})
export const called = (id: string, name = "bash", input: unknown = {}): Message => ({
  role: "assistant",
  content: [{ type: "tool_call", id, name, arguments: JSON.stringify(input) }]
})
export const result = (id: string, text: string, more: Partial<Message> = {}): Message => ({
  role: "tool",
  tool_call_id: id,
  tool_name: "bash",
  content: text,
  ...more
})
export const system: Message = { role: "system", content: "You are an agent." }

/** Answers every request with these events; the requests are kept. */
export const api = (
  ...events: ReadonlyArray<StreamEvent>
): ApiClientService & { readonly requests: Array<ReadonlyArray<Message>> } => {
  const requests: Array<ReadonlyArray<Message>> = []
  return {
    requests,
    sendMessage: (messages) => {
      requests.push(messages)
      return Stream.fromIterable(events)
    }
  }
}

export const writes = (text: string) =>
  api(
    { type: "content_delta", text },
    { type: "usage", usage: { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 } },
    { type: "message_stop", stop_reason: "end_turn" }
  )

export const failing: ApiClientService = {
  sendMessage: () => Stream.fail(new ApiError({ reason: "server", message: "no", retryable: true }))
}
export const stalling: ApiClientService = { sendMessage: () => Stream.fromEffect(Effect.never) }

const words = FastCheck.oneof(
  FastCheck.constantFrom("", " ", "ok", "word ".repeat(40), "{\"a\": [1, 2, 3]}", "文字".repeat(30), "😀".repeat(9)),
  FastCheck.string({ maxLength: 60 })
)

/** A step of a conversation: words of the user, an answer, or calls with most of their results. */
const step = FastCheck.oneof(
  { weight: 3, arbitrary: FastCheck.record({ kind: FastCheck.constant("user" as const), text: words }) },
  { weight: 2, arbitrary: FastCheck.record({ kind: FastCheck.constant("answer" as const), text: words }) },
  {
    weight: 4,
    arbitrary: FastCheck.record({
      kind: FastCheck.constant("calls" as const),
      count: FastCheck.integer({ min: 1, max: 3 }),
      text: words,
      answered: FastCheck.boolean(),
      steered: FastCheck.boolean()
    })
  },
  { weight: 1, arbitrary: FastCheck.record({ kind: FastCheck.constant("summary" as const), text: words }) }
)

/** Histories as the loop and its interruptions leave them: legal but for calls without a result. */
export const histories: FastCheck.Arbitrary<ReadonlyArray<Message>> = FastCheck.record({
  system: FastCheck.boolean(),
  steps: FastCheck.array(step, { maxLength: 14 }),
  counted: FastCheck.boolean(),
  sizes: FastCheck.array(FastCheck.integer({ min: 0, max: 400 }), { minLength: 60, maxLength: 60 })
}).map(({ counted, sizes, steps, system: has }) => {
  const out: Array<Message> = has ? [system] : []
  let n = 0
  steps.forEach((one, at) => {
    if (one.kind === "user") out.push(user(one.text))
    else if (one.kind === "answer") out.push(said(one.text))
    else if (one.kind === "summary") {
      // the compactor leaves one at most, before the first turn
      if (at === 0) out.push({ ...said(one.text), kind: "summary" })
    } else {
      const ids = Array.from({ length: one.count }, () => `c${n++}`)
      out.push({
        role: "assistant",
        content: [
          { type: "text", text: one.text },
          ...ids.map((id) => ({ type: "tool_call" as const, id, name: "bash", arguments: "{\"command\": \"ls\"}" }))
        ]
      })
      const [first, ...rest] = ids
      if (one.answered && first !== undefined) out.push(result(first, one.text))
      if (one.steered) out.push(user("faster"))
      for (const id of rest) out.push(result(id, one.text, { is_error: true }))
    }
  })
  return counted ? out.map((message, i) => ({ ...message, token_count: sizes[i] ?? 1 })) : out
})

export const budgets = FastCheck.record({
  max_tokens: FastCheck.integer({ min: 1, max: 3000 }),
  reserve_recent: FastCheck.integer({ min: 0, max: 4 }),
  within_turn: FastCheck.boolean(),
  force: FastCheck.boolean()
})
