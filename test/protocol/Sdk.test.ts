import Anthropic, { APIError as AnthropicError } from "@anthropic-ai/sdk"
import type {
  Message as AnthropicMessage,
  MessageCreateParams,
  RawMessageStreamEvent
} from "@anthropic-ai/sdk/resources/messages"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import OpenAI, { APIError as OpenAiError } from "openai"
import type {
  ChatCompletion,
  ChatCompletionAssistantMessageParam,
  ChatCompletionChunk,
  ChatCompletionCreateParams
} from "openai/resources/chat/completions"
import type {
  Response as SdkResponse,
  ResponseCreateParams,
  ResponseFunctionToolCall,
  ResponseInputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent
} from "openai/resources/responses/responses"
import type { SseFrame } from "../../src/codec/Sse.ts"
import type { Message } from "../../src/domain/Message.ts"
import { bytes, plan, render } from "./Plan.ts"
import { decode, decodeBody, type Decoded, frame, input, named, protocols, summary } from "./Support.ts"

const picks = FastCheck.array(FastCheck.nat(20), { maxLength: 20 })

/** A fetch that answers every request with these bytes; nothing is sent anywhere. */
const answering =
  (body: Uint8Array | string, status = 200, headers: Readonly<Record<string, string>> = {}) => (): Promise<Response> =>
    Promise.resolve(
      new Response(body, {
        status,
        headers: {
          "content-type": status === 200 && typeof body !== "string" ? "text/event-stream" : "application/json",
          ...headers
        }
      })
    )

const anthropic = (...args: Parameters<typeof answering>) =>
  new Anthropic({ apiKey: "k", maxRetries: 0, fetch: answering(...args) })
const openai = (...args: Parameters<typeof answering>) =>
  new OpenAI({ apiKey: "k", maxRetries: 0, fetch: answering(...args) })

const ask = { model: "m", max_tokens: 16, messages: [{ role: "user" as const, content: "q" }] }
const askChat = {
  model: "m",
  messages: [{ role: "user" as const, content: "q" }],
  stream_options: { include_usage: true }
}

const sdkAnthropic = (frames: ReadonlyArray<SseFrame>): Promise<AnthropicMessage> =>
  anthropic(bytes(frames)).messages.stream(ask).finalMessage()
const sdkChat = (frames: ReadonlyArray<SseFrame>): Promise<ChatCompletion> =>
  openai(bytes(frames)).chat.completions.stream(askChat).finalChatCompletion()
const sdkResponses = (frames: ReadonlyArray<SseFrame>): Promise<SdkResponse> =>
  openai(bytes(frames)).responses.stream({ model: "m", input: "q" }).finalResponse()

const json = (text: string): unknown => text === "" ? {} : JSON.parse(text)

// What both sides say, in one form: empty texts say nothing.

const oursA = ({ response }: Decoded): ReadonlyArray<unknown> =>
  response.output.flatMap((item): ReadonlyArray<unknown> => {
    switch (item.type) {
      case "message":
        return item.content.map((part) => ["text", part.type === "output_text" ? part.text : part.refusal])
      case "reasoning":
        return [
          item.redacted_data === undefined
            ? ["think", item.summary.map((p) => p.text).join(""), item.signature ?? ""]
            : ["redacted", item.redacted_data]
        ]
      case "function_call":
        return [["call", item.call_id, item.name, json(item.arguments)]]
      default:
        return [[item.type]]
    }
  })

const theirsA = (message: AnthropicMessage): ReadonlyArray<unknown> =>
  message.content.flatMap((block): ReadonlyArray<unknown> => {
    switch (block.type) {
      case "text":
        return block.text === "" ? [] : [["text", block.text]]
      case "thinking":
        return [["think", block.thinking, block.signature]]
      case "redacted_thinking":
        return [["redacted", block.data]]
      case "tool_use":
        return [["call", block.id, block.name, block.input]]
      default:
        return [[block.type]]
    }
  })

const stopsA: Readonly<Record<string, string>> = {
  end_turn: "end_turn",
  tool_use: "tool_use",
  max_tokens: "max_tokens",
  refusal: "refusal",
  pause_turn: "pause_turn",
  stop_sequence: "stop_sequence",
  model_context_window_exceeded: "context_window"
}

const sameAnthropic = (ours: Decoded, theirs: AnthropicMessage): void => {
  assert.deepStrictEqual(oursA(ours), theirsA(theirs))
  assert.strictEqual(ours.response.id, theirs.id)
  assert.strictEqual(ours.response.model, theirs.model)
  assert.strictEqual(ours.response.stop?.reason, stopsA[theirs.stop_reason ?? ""])
  assert.strictEqual(ours.response.stop?.sequence ?? null, theirs.stop_sequence)
  const usage = ours.stream.findLast((event) => event.type === "usage")
  assert.strictEqual(usage?.usage.input_tokens, theirs.usage.input_tokens)
  assert.strictEqual(usage?.usage.output_tokens, theirs.usage.output_tokens)
  assert.strictEqual(usage?.usage.cache_read_tokens, theirs.usage.cache_read_input_tokens ?? 0)
  assert.strictEqual(usage?.usage.cache_write_tokens, theirs.usage.cache_creation_input_tokens ?? 0)
}

const sameChat = (ours: Decoded, theirs: ChatCompletion): void => {
  const choice = theirs.choices[0]
  const output = ours.response.output
  const texts = (kind: "text" | "refusal"): string =>
    output.flatMap((item) => item.type === "message" ? item.content : []).map((part) =>
      part.type === "output_text" ? (kind === "text" ? part.text : "") : kind === "refusal" ? part.refusal : ""
    ).join("")
  assert.strictEqual(texts("text"), choice?.message.content ?? "")
  assert.strictEqual(texts("refusal"), choice?.message.refusal ?? "")
  assert.deepStrictEqual(
    output.flatMap((item) => item.type === "function_call" ? [[item.call_id, item.name, json(item.arguments)]] : []),
    (choice?.message.tool_calls ?? []).map((call) =>
      call.type === "function" ? [call.id, call.function.name, json(call.function.arguments)] : []
    )
  )
  assert.strictEqual(ours.response.id, theirs.id)
  assert.strictEqual(ours.response.usage?.input_tokens, theirs.usage?.prompt_tokens)
  assert.strictEqual(ours.response.usage?.output_tokens, theirs.usage?.completion_tokens)
  assert.strictEqual(
    ours.response.usage?.input_tokens_details.cached_tokens,
    theirs.usage?.prompt_tokens_details?.cached_tokens ?? 0
  )
  assert.strictEqual(
    ours.response.usage?.output_tokens_details.reasoning_tokens,
    theirs.usage?.completion_tokens_details?.reasoning_tokens ?? 0
  )
}

const sameResponse = (ours: Decoded, theirs: SdkResponse): void => {
  const form = (item: SdkResponse["output"][number]): ReadonlyArray<unknown> => {
    switch (item.type) {
      case "message":
        return [
          "text",
          ...item.content.map((part) => part.type === "output_text" ? part.text : { refusal: part.refusal })
        ]
      case "reasoning":
        return ["think", ...item.summary.map((part) => part.text), ...(item.content ?? []).map((part) => part.text)]
      case "function_call":
        return ["call", item.call_id, item.name, item.arguments === "" ? "{}" : item.arguments, item.status]
      default:
        return [item.type]
    }
  }
  assert.deepStrictEqual(summary(ours), theirs.output.map(form))
  assert.strictEqual(ours.response.id, theirs.id)
  assert.strictEqual(ours.response.status, theirs.status)
  assert.strictEqual(ours.response.usage?.total_tokens, theirs.usage?.total_tokens)
  assert.strictEqual(
    ours.response.usage?.input_tokens_details.cached_tokens,
    theirs.usage?.input_tokens_details.cached_tokens
  )
}

// Streams as values of the SDKs' own event types.

const usageA = {
  cache_creation: null,
  inference_geo: null,
  server_tool_use: null,
  service_tier: null,
  speed: null,
  output_tokens_details: null
}
const streamA = (
  stop_reason: "tool_use" | "end_turn" | "max_tokens" | "stop_sequence" | "refusal",
  stop_sequence: string | null = null
): ReadonlyArray<RawMessageStreamEvent> => [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [],
      container: null,
      diagnostics: null,
      stop_details: null,
      stop_reason: null,
      stop_sequence: null,
      usage: {
        ...usageA,
        input_tokens: 25,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 7,
        output_tokens: 1
      }
    }
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Let me " } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "see" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "EqQB+/==" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "redacted_thinking", data: "REDACTED" } },
  { type: "content_block_stop", index: 1 },
  { type: "content_block_start", index: 2, content_block: { type: "text", text: "", citations: null } },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "Grüße " } },
  { type: "content_block_delta", index: 2, delta: { type: "text_delta", text: "👋" } },
  { type: "content_block_stop", index: 2 },
  ...(stop_reason === "tool_use"
    ? [
      {
        type: "content_block_start",
        index: 3,
        content_block: { type: "tool_use", id: "toolu_1", name: "read", input: {}, caller: { type: "direct" } }
      },
      { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "" } },
      { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "{\"path\": \"a" } },
      { type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: ".ts\"}" } },
      { type: "content_block_stop", index: 3 },
      {
        type: "content_block_start",
        index: 4,
        content_block: { type: "tool_use", id: "toolu_2", name: "todo", input: {}, caller: { type: "direct" } }
      },
      { type: "content_block_stop", index: 4 }
    ] satisfies ReadonlyArray<RawMessageStreamEvent>
    : []),
  {
    type: "message_delta",
    delta: { stop_reason, stop_sequence, container: null, stop_details: null },
    usage: {
      input_tokens: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 42,
      output_tokens_details: null,
      server_tool_use: null
    }
  },
  { type: "message_stop" }
]

const chunk = (
  delta: ChatCompletionChunk.Choice.Delta,
  finish_reason: ChatCompletionChunk.Choice["finish_reason"] = null
): ChatCompletionChunk => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-x",
  choices: [{ index: 0, delta, finish_reason, logprobs: null }]
})
const usageChunk: ChatCompletionChunk = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-x",
  choices: [],
  usage: {
    prompt_tokens: 30,
    completion_tokens: 12,
    total_tokens: 42,
    prompt_tokens_details: { cached_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 4 }
  }
}
const streamC: ReadonlyArray<ChatCompletionChunk> = [
  chunk({ role: "assistant", content: "", refusal: null }),
  chunk({ content: "Grüße " }),
  chunk({ content: "👋" }),
  chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "read", arguments: "" } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: "{\"path\"" } }] }),
  chunk({
    tool_calls: [{ index: 1, id: "call_2", type: "function", function: { name: "glob", arguments: "{\"pat" } }]
  }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: ":\"a\"}" } }] }),
  chunk({ tool_calls: [{ index: 1, function: { arguments: "tern\":\"*\"}" } }] }),
  chunk({}, "tool_calls"),
  usageChunk
]

const responseR = (status: "in_progress" | "completed" | "incomplete", output: SdkResponse["output"]): SdkResponse => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-x",
  status,
  output,
  output_text: "",
  error: null,
  incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
  instructions: null,
  metadata: null,
  parallel_tool_calls: true,
  temperature: null,
  tool_choice: "auto",
  tools: [],
  top_p: null,
  ...(status === "in_progress" ? {} : {
    usage: {
      input_tokens: 40,
      input_tokens_details: { cached_tokens: 16, cache_write_tokens: 0 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
      total_tokens: 49
    }
  })
})
const reasoningR: ResponseReasoningItem = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Thinking" }],
  encrypted_content: "gAAA"
}
const messageR: ResponseOutputMessage = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hi 👋", annotations: [] }]
}
const callR: ResponseFunctionToolCall & { readonly id: string } = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "read",
  arguments: "{\"path\":\"a\"}",
  status: "completed"
}

type WithoutNumber<E> = E extends ResponseStreamEvent ? Omit<E, "sequence_number"> : never
const numbered = (events: ReadonlyArray<WithoutNumber<ResponseStreamEvent>>): ReadonlyArray<ResponseStreamEvent> =>
  events.map((event, sequence_number) => ({ ...event, sequence_number }) as ResponseStreamEvent)
const streamR = numbered([
  { type: "response.created", response: responseR("in_progress", []) },
  { type: "response.in_progress", response: responseR("in_progress", []) },
  { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs_1", summary: [] } },
  {
    type: "response.reasoning_summary_part.added",
    output_index: 0,
    item_id: "rs_1",
    summary_index: 0,
    part: { type: "summary_text", text: "" }
  },
  { type: "response.reasoning_summary_text.delta", output_index: 0, item_id: "rs_1", summary_index: 0, delta: "Think" },
  { type: "response.reasoning_summary_text.delta", output_index: 0, item_id: "rs_1", summary_index: 0, delta: "ing" },
  {
    type: "response.reasoning_summary_text.done",
    output_index: 0,
    item_id: "rs_1",
    summary_index: 0,
    text: "Thinking"
  },
  {
    type: "response.reasoning_summary_part.done",
    output_index: 0,
    item_id: "rs_1",
    summary_index: 0,
    part: { type: "summary_text", text: "Thinking" }
  },
  { type: "response.output_item.done", output_index: 0, item: reasoningR },
  { type: "response.output_item.added", output_index: 1, item: { ...messageR, status: "in_progress", content: [] } },
  {
    type: "response.content_part.added",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    part: { type: "output_text", text: "", annotations: [] }
  },
  {
    type: "response.output_text.delta",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    delta: "Hi ",
    logprobs: []
  },
  {
    type: "response.output_text.delta",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    delta: "👋",
    logprobs: []
  },
  {
    type: "response.output_text.done",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    text: "Hi 👋",
    logprobs: []
  },
  {
    type: "response.content_part.done",
    output_index: 1,
    item_id: "msg_1",
    content_index: 0,
    part: { type: "output_text", text: "Hi 👋", annotations: [] }
  },
  { type: "response.output_item.done", output_index: 1, item: messageR },
  { type: "response.output_item.added", output_index: 2, item: { ...callR, arguments: "", status: "in_progress" } },
  { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: "{\"path\"" },
  { type: "response.function_call_arguments.delta", output_index: 2, item_id: "fc_1", delta: ":\"a\"}" },
  {
    type: "response.function_call_arguments.done",
    output_index: 2,
    item_id: "fc_1",
    name: "read",
    arguments: "{\"path\":\"a\"}"
  },
  { type: "response.output_item.done", output_index: 2, item: callR },
  { type: "response.completed", response: responseR("completed", [reasoningR, messageR, callR]) }
])

describe("streams of the SDKs' own event types", () => {
  for (
    const [reason, sequence] of [
      ["tool_use", null],
      ["end_turn", null],
      ["max_tokens", null],
      ["stop_sequence", "END"],
      ["refusal", null]
    ] as const
  ) {
    it.effect(`Anthropic: ${reason}`, () =>
      Effect.gen(function*() {
        const frames = streamA(reason, sequence).map(named)
        sameAnthropic(decode("anthropic", frames), yield* Effect.promise(() => sdkAnthropic(frames)))
      }))
  }

  it.effect("Chat Completions", () =>
    Effect.gen(function*() {
      const frames = [...streamC.map((value) => frame(value)), frame("[DONE]")]
      sameChat(decode("chat", frames), yield* Effect.promise(() => sdkChat(frames)))
    }))

  it.effect("Chat Completions: refusal", () =>
    Effect.gen(function*() {
      const frames = [
        chunk({ role: "assistant", refusal: "I " }),
        chunk({ refusal: "won't" }),
        chunk({}, "stop"),
        usageChunk
      ].map((value) => frame(value))
      sameChat(decode("chat", frames), yield* Effect.promise(() => sdkChat(frames)))
    }))

  it.effect("Responses", () =>
    Effect.gen(function*() {
      const frames = streamR.map(named)
      sameResponse(decode("responses", frames), yield* Effect.promise(() => sdkResponses(frames)))
    }))

  it("the whole answer says the same as the stream", () => {
    const whole = decodeBody("responses", responseR("completed", [reasoningR, messageR, callR]))
    assert.deepStrictEqual(summary(whole), summary(decode("responses", streamR.map(named))))
    assert.deepStrictEqual(whole.response.usage, decode("responses", streamR.map(named)).response.usage)
  })

  it.effect("whole answers as the SDK's accumulators give them decode to the same", () =>
    Effect.gen(function*() {
      const a = streamA("tool_use").map(named)
      const message = yield* Effect.promise(() => sdkAnthropic(a))
      sameAnthropic(decodeBody("anthropic", JSON.parse(JSON.stringify(message))), message)
      const c = [...streamC.map((value) => frame(value)), frame("[DONE]")]
      const completion = yield* Effect.promise(() => sdkChat(c))
      sameChat(decodeBody("chat", JSON.parse(JSON.stringify(completion))), completion)
    }))
})

describe("random plans read by both", () => {
  it.effect.prop("Anthropic", [plan], ([items]) =>
    Effect.gen(function*() {
      const frames = render.anthropic(items, [])
      sameAnthropic(decode("anthropic", frames), yield* Effect.promise(() => sdkAnthropic(frames)))
    }), { fastCheck: { numRuns: 40 } })

  it.effect.prop("Chat Completions", [plan, picks], ([items, order]) =>
    Effect.gen(function*() {
      const frames = render.chat(items, order)
      sameChat(decode("chat", frames), yield* Effect.promise(() => sdkChat(frames)))
    }), { fastCheck: { numRuns: 40 } })

  it.effect.prop("Responses", [plan, picks], ([items, order]) =>
    Effect.gen(function*() {
      const frames = render.responses(items, order)
      const theirs = yield* Effect.promise(() => sdkResponses(frames))
      const ours = decode("responses", frames)
      assert.deepStrictEqual(
        ours.response.output.map(({ type }) => String(type)),
        theirs.output.map(({ type }) => String(type))
      )
      sameResponse(ours, theirs)
    }), { fastCheck: { numRuns: 40 } })
})

// Errors.

interface Thrown {
  readonly status: number | undefined
  readonly message: string
  readonly request_id: string | null | undefined
  readonly code: string | null | undefined
}

const caught = (run: () => Promise<unknown>): Promise<Thrown> =>
  run().then(
    () => Promise.reject(new Error("no error was thrown")),
    (error: unknown): Thrown => {
      if (error instanceof AnthropicError) {
        return {
          status: error.status,
          message: error.apiMessage ?? error.message,
          request_id: error.requestID,
          code: error.type
        }
      }
      if (error instanceof OpenAiError) {
        return {
          status: error.status,
          message: error.message,
          request_id: error.requestID,
          code: error.code ?? error.type
        }
      }
      throw error
    }
  )

describe("errors of the SDKs and ours", () => {
  const cases: ReadonlyArray<readonly [number, string, string, string, boolean]> = [
    [400, "invalid_request_error", "bad", "bad_request", false],
    [401, "authentication_error", "invalid x-api-key", "auth", false],
    [403, "permission_error", "no", "auth", false],
    [404, "not_found_error", "model", "not_found", false],
    [413, "request_too_large", "big", "too_large", false],
    [429, "rate_limit_error", "slow", "rate_limited", true],
    [500, "api_error", "oops", "server", true],
    [529, "overloaded_error", "Overloaded", "overloaded", true]
  ]
  for (const [status, type, message, reason, retryable] of cases) {
    it.effect(`Anthropic ${status}`, () =>
      Effect.gen(function*() {
        const body = JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" })
        const headers = { "request-id": "req_1" }
        const theirs = yield* Effect.promise(() => caught(() => anthropic(body, status, headers).messages.create(ask)))
        const ours = protocols.anthropic.decodeError({ status, headers, body, now: 0 })
        assert.deepStrictEqual({
          status: ours.status,
          message: ours.message,
          request_id: ours.request_id,
          code: ours.code
        }, theirs)
        assert.deepStrictEqual([ours.reason, ours.retryable], [reason, retryable])
      }))
  }

  const openaiCases: ReadonlyArray<readonly [number, string, string | null, string, boolean]> = [
    [400, "invalid_request_error", "context_length_exceeded", "context_too_long", false],
    [401, "invalid_request_error", "invalid_api_key", "auth", false],
    [404, "invalid_request_error", "model_not_found", "not_found", false],
    [422, "invalid_request_error", null, "bad_request", false],
    [429, "insufficient_quota", "insufficient_quota", "quota", false],
    [429, "requests", "rate_limit_exceeded", "rate_limited", true],
    [500, "server_error", null, "server", true]
  ]
  for (const [status, type, code, reason, retryable] of openaiCases) {
    it.effect(`OpenAI ${status} ${code ?? type}`, () =>
      Effect.gen(function*() {
        const body = JSON.stringify({ error: { message: "words of the server", type, param: null, code } })
        const headers = { "x-request-id": "req_2" }
        const theirs = yield* Effect.promise(() =>
          caught(() =>
            openai(body, status, headers).chat.completions.create({ ...askChat, stream: false, stream_options: null })
          )
        )
        const ours = protocols.chat.decodeError({ status, headers, body, now: 0 })
        assert.strictEqual(`${ours.status} ${ours.message}`, theirs.message)
        assert.deepStrictEqual([ours.status, ours.request_id, ours.code], [
          theirs.status,
          theirs.request_id,
          theirs.code
        ])
        assert.deepStrictEqual([ours.reason, ours.retryable], [reason, retryable])
      }))
  }

  it.effect("an error event in the stream: both fail", () =>
    Effect.gen(function*() {
      const frames = [
        ...streamA("end_turn").slice(0, 5).map(named),
        frame({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error")
      ]
      const theirs = yield* Effect.promise(() => caught(() => sdkAnthropic(frames)))
      const ours = decode("anthropic", frames)
      assert.strictEqual(ours.response.error?.code, theirs.code)
      assert.strictEqual(ours.response.error?.reason, "overloaded")
    }))
})

// Requests: the goldens are values of the SDKs' own request types, so that the compiler judges the shapes.

const history: ReadonlyArray<Message> = [
  { role: "system", content: "S" },
  {
    role: "user",
    content: [{ type: "text", text: "q" }, { type: "image", media_type: "image/png", data: "iVBORw0=" }]
  },
  {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: "t",
        replay: {
          origin: "fake:test",
          signature: "SIG",
          encrypted_content: "ENC",
          summary: true,
          field: "reasoning_content"
        }
      },
      { type: "text", text: "a" },
      { type: "tool_call", id: "c1", name: "f", arguments: "{\"a\":1}" }
    ]
  },
  { role: "tool", tool_call_id: "c1", content: "r", is_error: true },
  { role: "user", content: "z" }
]
const everything = input({
  messages: history,
  tools: [{ name: "f", description: "d", input_schema: { type: "object", properties: { a: { type: "number" } } } }],
  traits: { cache_control: true, max_output_tokens: 64_000, adaptive_thinking: true },
  max_output_tokens: 2_000,
  effort: "high",
  tool_choice: "auto",
  parallel_tool_calls: false,
  stop: ["X"],
  top_p: 0.99,
  session_id: "ses_1"
})

describe("requests are values of the SDKs' request types", () => {
  it("MessageCreateParams", () => {
    const cache_control = { type: "ephemeral" } as const
    // sampling is no longer in the SDK's types; older models and compatible servers take it
    const golden: MessageCreateParams & { readonly top_p: number } = {
      model: "fake-model",
      max_tokens: 2_000,
      system: [{ type: "text", text: "S", cache_control }],
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "q" }, {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: "iVBORw0=" },
            cache_control
          }]
        },
        {
          role: "assistant",
          content: [{ type: "thinking", thinking: "t", signature: "SIG" }, { type: "text", text: "a" }, {
            type: "tool_use",
            id: "c1",
            name: "f",
            input: { a: 1 }
          }]
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c1", content: "r", is_error: true }, {
            type: "text",
            text: "z",
            cache_control
          }]
        }
      ],
      tools: [{
        name: "f",
        description: "d",
        input_schema: { type: "object", properties: { a: { type: "number" } } },
        cache_control
      }],
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      top_p: 0.99,
      stop_sequences: ["X"],
      stream: true
    }
    assert.deepStrictEqual(protocols.anthropic.encodeRequest(everything).body, { ...golden })
  })

  it("ChatCompletionCreateParams", () => {
    // the field of compatible servers
    const said: ChatCompletionAssistantMessageParam & { readonly reasoning_content: string } = {
      role: "assistant",
      content: "a",
      reasoning_content: "t",
      tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{\"a\":1}" } }]
    }
    const golden: ChatCompletionCreateParams = {
      model: "fake-model",
      messages: [
        { role: "system", content: "S" },
        {
          role: "user",
          content: [{ type: "text", text: "q" }, {
            type: "image_url",
            image_url: { url: "data:image/png;base64,iVBORw0=" }
          }]
        },
        said,
        { role: "tool", tool_call_id: "c1", content: "Error: r" },
        { role: "user", content: "z" }
      ],
      tools: [{
        type: "function",
        function: {
          name: "f",
          description: "d",
          parameters: { type: "object", properties: { a: { type: "number" } } },
          strict: false
        }
      }],
      tool_choice: "auto",
      parallel_tool_calls: false,
      max_tokens: 2_000,
      reasoning_effort: "high",
      top_p: 0.99,
      stop: ["X"],
      prompt_cache_key: "ses_1",
      stream: true,
      stream_options: { include_usage: true }
    }
    assert.deepStrictEqual(protocols.chat.encodeRequest(everything).body, { ...golden })
  })

  it("ResponseCreateParams", () => {
    // nothing is stored, so items are sent without the ids that the SDK's types ask for
    type Sent =
      | ResponseInputItem
      | Omit<ResponseOutputMessage, "id" | "status">
      | Omit<ResponseReasoningItem, "id">
    type Params = Omit<ResponseCreateParams, "input"> & { readonly input: ReadonlyArray<Sent> }
    const golden: Params = {
      model: "fake-model",
      instructions: "S",
      input: [
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "q" }, {
            type: "input_image",
            image_url: "data:image/png;base64,iVBORw0=",
            detail: "auto"
          }]
        },
        { type: "reasoning", summary: [{ type: "summary_text", text: "t" }], encrypted_content: "ENC" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "a", annotations: [] }] },
        { type: "function_call", call_id: "c1", name: "f", arguments: "{\"a\":1}" },
        { type: "function_call_output", call_id: "c1", output: "Error: r" },
        { type: "message", role: "user", content: [{ type: "input_text", text: "z" }] }
      ],
      tools: [{
        type: "function",
        name: "f",
        description: "d",
        parameters: { type: "object", properties: { a: { type: "number" } } },
        strict: false
      }],
      tool_choice: "auto",
      parallel_tool_calls: false,
      max_output_tokens: 2_000,
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      top_p: 0.99,
      prompt_cache_key: "ses_1",
      store: false,
      stream: true
    }
    assert.deepStrictEqual(protocols.responses.encodeRequest(everything).body, { ...golden })
  })

  it.effect("what the SDKs put on the wire for these values is what we send", () =>
    Effect.gen(function*() {
      const bodies: Array<unknown> = []
      const recording = (_url: unknown, init?: { readonly body?: unknown }): Promise<Response> => {
        bodies.push(JSON.parse(String(init?.body)))
        return Promise.resolve(
          new Response(bytes(streamA("end_turn").map(named)), { headers: { "content-type": "text/event-stream" } })
        )
      }
      const { body } = protocols.anthropic.encodeRequest(everything)
      const client = new Anthropic({ apiKey: "k", maxRetries: 0, fetch: recording })
      yield* Effect.promise(() =>
        client.messages.create(body as unknown as MessageCreateParams & { readonly stream: true })
      )
      assert.deepStrictEqual(bodies, [body])
    }))
})

// Faults: where the SDKs are silent, ours tells the truth (section 16).

describe("a body that ends early", () => {
  it.effect("Responses: the SDK's helper gives in_progress, ours fails", () =>
    Effect.gen(function*() {
      const frames = streamR.slice(0, 14).map(named)
      const theirs = yield* Effect.promise(() =>
        sdkResponses(frames).then((r) => r.status as string | undefined, () => "threw")
      )
      assert.notStrictEqual(theirs, "completed")
      const ours = decode("responses", frames)
      assert.strictEqual(ours.response.status, "failed")
      assert.strictEqual(ours.response.error?.reason, "truncated")
    }))
})
