/** Against an independent reading of the three wires: its rules judge our requests, its streams come as bytes. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { SseFrameBuffer } from "../../src/codec/Sse.ts"
import type { Message } from "../../src/domain/Message.ts"
import { makeProjection } from "../../src/domain/Projection.ts"
import type { ResponseEvent } from "../../src/domain/ResponseEvent.ts"
import type { EncodeInput, ProtocolName } from "../../src/protocol/Protocol.ts"
import { validateAnthropic } from "../support/upstream/AnthropicRules.ts"
import { validateChat } from "../support/upstream/ChatRules.ts"
import { startUpstream, type Upstream, type UpstreamOptions } from "../support/upstream/index.ts"
import { validateResponses } from "../support/upstream/ResponsesRules.ts"
import { encryptedOf, signatureOf } from "../support/upstream/Rules.ts"
import { assertInvariants, decodeOptions, input, protocols } from "./Support.ts"

const names: ReadonlyArray<ProtocolName> = ["anthropic", "chat", "responses"]

const judge = (name: ProtocolName, over: Partial<EncodeInput> & Pick<EncodeInput, "messages">): void => {
  const { body } = protocols[name].encodeRequest(input(over))
  const wire = JSON.parse(JSON.stringify(body)) as Record<string, unknown>
  if (name === "anthropic") validateAnthropic(wire, protocols.anthropic.headers("k"), {}, false)
  else if (name === "chat") validateChat(wire, {})
  else validateResponses(wire, {})
}

const id = FastCheck.constantFrom("a", "b", "c:1", "", "x".repeat(70))
const part = FastCheck.oneof(
  FastCheck.record({
    type: FastCheck.constant("text" as const),
    text: FastCheck.constantFrom("", " ", "t", "Error: x")
  }),
  FastCheck.record({
    type: FastCheck.constant("tool_call" as const),
    id,
    name: FastCheck.constantFrom("f", "g", "functions.h", "", "m".repeat(80)),
    arguments: FastCheck.constantFrom("", "{}", "{\"a\":1}", "{bad", "[]")
  }),
  FastCheck.constantFrom(
    {
      type: "reasoning" as const,
      text: "t",
      replay: {
        origin: "fake:test",
        signature: signatureOf("t"),
        encrypted_content: encryptedOf("t"),
        summary: true,
        field: "reasoning_content"
      }
    },
    { type: "reasoning" as const, text: "u", replay: { origin: "other:x", signature: "forged" } },
    { type: "reasoning" as const, text: "v" },
    { type: "image" as const, media_type: "image/png", data: "iVBORw0=" },
    { type: "file" as const, media_type: "application/pdf", data: "JVBERi0=", filename: "a.pdf" },
    { type: "file" as const, media_type: "text/plain", data: "aGk=" }
  )
)
const message: FastCheck.Arbitrary<Message> = FastCheck.oneof(
  FastCheck.record({
    role: FastCheck.constantFrom("user" as const, "system" as const, "assistant" as const),
    content: FastCheck.array(part, { maxLength: 4 })
  }),
  FastCheck.record({
    role: FastCheck.constant("tool" as const),
    tool_call_id: id,
    content: FastCheck.oneof(FastCheck.constantFrom("", "r"), FastCheck.array(part, { maxLength: 2 })),
    is_error: FastCheck.boolean()
  })
)
const tools = FastCheck.subarray(["f", "g", "m".repeat(80), "n".repeat(80)]).map((list) =>
  list.map((name) => ({ name, description: "", input_schema: name === "f" ? {} : { type: "object", properties: {} } }))
)
const settings = FastCheck.record({
  traits: FastCheck.record({
    cache_control: FastCheck.boolean(),
    reasoning: FastCheck.boolean(),
    adaptive_thinking: FastCheck.boolean(),
    images: FastCheck.boolean(),
    documents: FastCheck.boolean(),
    max_output_tokens: FastCheck.constantFrom(1_000, 4_096, 64_000)
  }, { requiredKeys: [] }),
  max_output_tokens: FastCheck.constantFrom(1, 16, 2_000, 200_000),
  effort: FastCheck.constantFrom("none" as const, "minimal" as const, "medium" as const, "max" as const),
  tool_choice: FastCheck.constantFrom("auto" as const, "required" as const, "none" as const),
  parallel_tool_calls: FastCheck.boolean(),
  stop: FastCheck.subarray(["a", "b", "c", "d", "e", " ", ""]),
  temperature: FastCheck.constantFrom(-1, 0.5, 1, 3),
  top_p: FastCheck.constantFrom(-1, 0.5, 2),
  session_id: FastCheck.constantFrom("ses_1", "s".repeat(100)),
  model: FastCheck.constantFrom("fake-model", "gpt-5", "o3-mini", "mistral-small")
}, { requiredKeys: [] })

describe("requests", () => {
  for (const name of names) {
    it.prop(`${name}: any history with any settings is accepted`, [
      FastCheck.array(message, { minLength: name === "chat" ? 1 : 0, maxLength: 10 }),
      tools,
      settings
    ], ([history, offered, over]) => {
      const messages: ReadonlyArray<Message> = [{ role: "system", content: "s" }, ...history]
      // sampling is refused by models that reason, as their traits say
      const reasons = over.model === "gpt-5" || over.model === "o3-mini"
      const traits = reasons ? { ...over.traits, reasoning: true } : over.traits ?? {}
      const { effort, ...rest } = over
      judge(name, {
        ...rest,
        ...(effort === undefined || (reasons && effort === "none") ? {} : { effort }),
        traits,
        messages,
        tools: offered
      })
    }, { fastCheck: { numRuns: 300 } })
  }
})

// Streams, as bytes from a socket.

const path: Readonly<Record<ProtocolName, string>> = {
  anthropic: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses"
}

interface Answer {
  readonly events: ReadonlyArray<ResponseEvent>
  readonly message: Message
  readonly stop: string
}

const ask = async (
  name: ProtocolName,
  upstream: Upstream,
  messages: ReadonlyArray<Message>,
  over: Partial<EncodeInput>
): Promise<Answer> => {
  const protocol = protocols[name]
  const origin = `fake:${name}`
  const encoded = protocol.encodeRequest(
    input({
      messages,
      origin,
      tools: [{ name: "bash", description: "", input_schema: { type: "object", properties: {} } }],
      ...over
    })
  )
  const response = await fetch(upstream.url + path[name], {
    method: "POST",
    headers: { "content-type": "application/json", ...protocol.headers("key") },
    body: JSON.stringify(encoded.body)
  })
  const options = decodeOptions(name, { names: encoded.names })
  const events: Array<ResponseEvent> = []
  if (response.status !== 200) {
    const error = protocol.decodeError({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
      now: 0
    })
    throw new Error(`${error.reason}: ${error.message}`)
  }
  if (over.stream === false) {
    events.push(...protocol.decodeResponse(await response.json(), options))
  } else {
    const decoder = protocol.streamDecoder(options)
    const buffer = new SseFrameBuffer()
    for await (const bytes of response.body ?? []) {
      for (const frame of buffer.feed(bytes as Uint8Array)) events.push(...decoder.push(frame))
      if (decoder.done()) break
    }
    if (!decoder.done()) {
      for (const frame of buffer.finish()) events.push(...decoder.push(frame))
      events.push(...decoder.end())
    }
  }
  const final = assertInvariants(events)
  const parts: Array<Exclude<Message["content"], string>[number]> = []
  let thought = ""
  for (const event of makeProjection(origin).push(events)) {
    if (event.type === "content_delta") parts.push({ type: "text", text: event.text })
    else if (event.type === "reasoning_delta") {
      thought += event.text
      if (event.replay === undefined) continue
      parts.push({ type: "reasoning", text: thought, replay: event.replay })
      thought = ""
    } else if (event.type === "tool_use") {
      parts.push({ type: "tool_call", id: event.id, name: event.name, arguments: event.arguments })
    }
  }
  return {
    events,
    message: { role: "assistant", content: parts },
    stop: `${final.status}/${final.stop?.reason ?? final.error?.reason}`
  }
}

/** Runs the conversation to its end: calls are answered until there are none. */
const converse = async (
  name: ProtocolName,
  upstream: Upstream,
  over: Partial<EncodeInput>
): Promise<{ readonly stops: ReadonlyArray<string>; readonly text: string; readonly calls: ReadonlyArray<string> }> => {
  const messages: Array<Message> = [{ role: "system", content: "s" }, { role: "user", content: "go" }]
  const stops: Array<string> = []
  const calls: Array<string> = []
  for (let turn = 0; turn < 6; turn++) {
    const answer = await ask(name, upstream, messages, over)
    stops.push(answer.stop)
    messages.push(answer.message)
    const parts = typeof answer.message.content === "string" ? [] : answer.message.content
    const open = parts.flatMap((one) => one.type === "tool_call" ? [one] : [])
    if (open.length === 0) {
      return { stops, text: parts.map((one) => one.type === "text" ? one.text : "").join(""), calls }
    }
    for (const call of open) {
      calls.push(call.arguments)
      messages.push({ role: "tool", tool_call_id: call.id, content: "ok" })
    }
  }
  throw new Error("the conversation does not end")
}

const oddities: ReadonlyArray<readonly [string, UpstreamOptions]> = [
  ["plain", {}],
  ["one byte a write, CRLF, BOM, pings, cut characters", {
    chunk: 1,
    line_end: "crlf",
    bom: true,
    pings: true,
    split_utf8: true,
    split_surrogates: true
  }],
  ["bare CR, no space after the colon, whole body", { line_end: "cr", no_space: true, chunk: "whole" }],
  ["interleaved calls", { interleave: true }],
  ["no usage, no [DONE], no last blank line", { usage: false, done: false, unterminated: true }],
  ["cached tokens", { usage: { input: 5, cached: 90, written: 3, output: 2, reasoning: 1 } }],
  ["raw reasoning, other field", { raw_reasoning: true, reasoning_field: "reasoning" }],
  ["item ids equal call ids", { item_id_is_call_id: true }],
  ["no ids", { quirks: ["no_ids"] }],
  ["repeated ids", { quirks: ["repeat_ids"] }],
  ["empty ids", { quirks: ["empty_ids"] }],
  ["arguments in the opener", { quirks: ["arguments_in_opener"] }],
  ["no index", { quirks: ["no_index"] }],
  ["late name", { quirks: ["late_name"] }],
  ["stop with calls, usage with the finish", { quirks: ["stop_with_calls", "usage_with_finish"] }],
  ["arguments only in done, changed item id, [DONE]", {
    quirks: ["arguments_only_done", "changed_item_id", "responses_done"]
  }],
  ["unknown event", { quirks: ["unknown_event"] }],
  ["duplicate ids", { quirks: ["duplicate_ids"] }]
]

describe("conversations with a strict upstream", () => {
  for (const name of names) {
    for (const [what, options] of oddities) {
      for (const stream of [true, false]) {
        it.scoped(`${name}, ${stream ? "streamed" : "whole"}: ${what}`, () =>
          Effect.gen(function*() {
            const upstream = yield* Effect.acquireRelease(
              Effect.promise(() =>
                startUpstream({
                  tool_turns: 2,
                  parallel: 2,
                  thinking: true,
                  preface: "Grüße 👋",
                  final_text: "Fertig 🎉",
                  require_reasoning: name === "chat",
                  ...options
                })
              ),
              (running) => Effect.promise(() => running.close())
            )
            const result = yield* Effect.promise(() => converse(name, upstream, { stream, effort: "medium" }))
            assert.deepStrictEqual(upstream.violations(), [])
            assert.deepStrictEqual(result.stops, ["completed/tool_use", "completed/tool_use", "completed/end_turn"])
            assert.strictEqual(result.text, "Fertig 🎉")
            assert.deepStrictEqual(
              result.calls.map((args) => JSON.parse(args) as unknown),
              ["1-1", "1-2", "2-1", "2-2"].map((n) => ({ command: `echo turn-${n}` }))
            )
          }))
      }
    }
  }
})
