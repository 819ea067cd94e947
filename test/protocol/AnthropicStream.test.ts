import { assert, describe, it } from "@effect/vitest"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { cutsOf, decode, decodeBody, frame, named, stopOf, summary, textOf, usesOf } from "./Support.ts"

const start = (usage: object = { input_tokens: 10, output_tokens: 1 }): SseFrame =>
  named(
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-x",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage
      }
    } as { type: string }
  )
const open = (index: number, content_block: object): SseFrame =>
  named({ type: "content_block_start", index, content_block } as { type: string })
const delta = (index: number | undefined, d: object): SseFrame =>
  named({ type: "content_block_delta", index, delta: d } as { type: string })
const text = (index: number | undefined, value: string): SseFrame => delta(index, { type: "text_delta", text: value })
const think = (index: number, value: string): SseFrame => delta(index, { type: "thinking_delta", thinking: value })
const json = (index: number, value: string): SseFrame => delta(index, { type: "input_json_delta", partial_json: value })
const close = (index: number): SseFrame => named({ type: "content_block_stop", index } as { type: string })
const end = (
  stop_reason: string | null,
  more: object = {},
  usage: object | null = { output_tokens: 7 }
): ReadonlyArray<SseFrame> => [
  named(
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence: null, ...more },
      ...(usage === null ? {} : { usage })
    } as { type: string }
  ),
  named({ type: "message_stop" })
]
const textBlock = (
  index: number,
  value: string
): ReadonlyArray<SseFrame> => [open(index, { type: "text", text: "" }), text(index, value), close(index)]
const toolBlock = (
  index: number,
  id: string,
  name: string,
  ...parts: ReadonlyArray<string>
): ReadonlyArray<SseFrame> => [
  open(index, { type: "tool_use", id, name, input: {} }),
  json(index, ""),
  ...parts.map((part) => json(index, part)),
  close(index)
]

const run = (...frames: ReadonlyArray<SseFrame>) => decode("anthropic", frames)

describe("Anthropic Messages: blocks", () => {
  it("thinking, text and two tools have indexes 0 to 3 (15)", () => {
    const d = run(
      start(),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      think(0, "hm"),
      delta(0, { type: "signature_delta", signature: "SIG" }),
      close(0),
      ...textBlock(1, "Hi"),
      ...toolBlock(2, "t1", "f", "{\"a\"", ":1}"),
      ...toolBlock(3, "t2", "g"),
      ...end("tool_use")
    )
    assert.deepStrictEqual(summary(d), [
      ["think", "hm"],
      ["text", "Hi"],
      ["call", "t1", "f", "{\"a\":1}", "completed"],
      ["call", "t2", "g", "{}", "completed"]
    ])
    assert.strictEqual(stopOf(d), "completed/tool_use")
    assert.strictEqual(d.response.id, "msg_1")
    assert.strictEqual(d.response.model, "claude-x")
  })

  it("the signature of a thinking block is byte-exact in the replay (17, 23)", () => {
    const d = run(
      start(),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      think(0, "a"),
      delta(0, { type: "signature_delta", signature: "AB+/" }),
      delta(0, { type: "signature_delta", signature: "==" }),
      close(0),
      ...end("end_turn")
    )
    assert.deepStrictEqual(d.stream.filter((event) => event.type === "reasoning_delta"), [
      { type: "reasoning_delta", text: "a" },
      { type: "reasoning_delta", text: "", replay: { origin: "fake:anthropic", signature: "AB+/==" } }
    ])
  })

  it("thinking without text keeps its signature", () => {
    const d = run(
      start(),
      open(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "signature_delta", signature: "S" }),
      close(0),
      ...textBlock(1, "x"),
      ...end("end_turn")
    )
    assert.deepStrictEqual(d.stream[1], {
      type: "reasoning_delta",
      text: "",
      replay: { origin: "fake:anthropic", signature: "S" }
    })
  })

  it("redacted_thinking keeps its data", () => {
    const d = run(
      start(),
      open(0, { type: "redacted_thinking", data: "DATA" }),
      close(0),
      ...textBlock(1, "x"),
      ...end("end_turn")
    )
    assert.deepStrictEqual(d.stream[1], {
      type: "reasoning_delta",
      text: "",
      replay: { origin: "fake:anthropic", redacted_data: "DATA" }
    })
  })

  it("unsigned thinking gets no invented signature (17, 23)", () => {
    const d = run(start(), open(0, { type: "thinking", thinking: "" }), think(0, "a"), close(0), ...end("end_turn"))
    const replay =
      d.stream.flatMap((event) =>
        event.type === "reasoning_delta" && event.replay !== undefined ? [event.replay] : []
      )[0]
    assert.isUndefined(replay?.signature)
  })

  it("an empty text block is no item", () => {
    const d = run(start(), open(0, { type: "text", text: "" }), close(0), ...toolBlock(1, "t", "f"), ...end("tool_use"))
    assert.deepStrictEqual(summary(d), [["call", "t", "f", "{}", "completed"]])
  })

  it("text in the opener is not lost", () => {
    assert.strictEqual(
      textOf(run(start(), open(0, { type: "text", text: "He" }), text(0, "y"), close(0), ...end("end_turn"))),
      "Hey"
    )
  })

  it("two blocks with one index: the first ends (17, 12)", () => {
    const d = run(
      start(),
      open(0, { type: "text", text: "" }),
      text(0, "a"),
      open(0, { type: "thinking", thinking: "" }),
      think(0, "b"),
      close(0),
      ...end("end_turn")
    )
    assert.deepStrictEqual(summary(d), [["text", "a"], ["think", "b"]])
  })

  it("thinking_delta in a text block opens a thinking item (17, 15)", () => {
    const d = run(
      start(),
      open(0, { type: "text", text: "" }),
      think(0, "t"),
      text(0, "x"),
      close(0),
      ...end("end_turn")
    )
    assert.deepStrictEqual(summary(d), [["think", "t"], ["text", "x"]])
  })

  it("deltas without a block start", () => {
    assert.deepStrictEqual(summary(run(start(), text(undefined, "a"), text(undefined, "b"), ...end("end_turn"))), [[
      "text",
      "ab"
    ]])
  })

  it("a stop for a block that never began is ignored (17, 14)", () => {
    assert.deepStrictEqual(summary(run(start(), close(7), ...textBlock(0, "a"), ...end("end_turn"))), [["text", "a"]])
  })

  it("missing block stops", () => {
    const d = run(
      start(),
      open(0, { type: "text", text: "" }),
      text(0, "a"),
      open(1, { type: "tool_use", id: "t", name: "f", input: {} }),
      json(1, "{\"a\":1}"),
      ...end("tool_use")
    )
    assert.deepStrictEqual(summary(d), [["text", "a"], ["call", "t", "f", "{\"a\":1}", "completed"]])
  })

  it("text after a tool (17, 11)", () => {
    const d = run(start(), ...textBlock(0, "a"), ...toolBlock(1, "t", "f"), ...textBlock(2, "b"), ...end("tool_use"))
    assert.deepStrictEqual(summary(d), [["text", "a"], ["call", "t", "f", "{}", "completed"], ["text", "b"]])
  })

  it("input only in the opener", () => {
    const d = run(
      start(),
      open(0, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }),
      close(0),
      ...end("tool_use")
    )
    assert.deepStrictEqual(usesOf(d)[0]?.input, { a: 1 })
  })

  it("input in the opener and in deltas is said once", () => {
    const d = run(
      start(),
      open(0, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }),
      json(0, "{\"a\":1}"),
      close(0),
      ...end("tool_use")
    )
    assert.strictEqual(usesOf(d)[0]?.arguments, "{\"a\":1}")
  })

  it("interleaved tool blocks", () => {
    const d = run(
      start(),
      open(0, { type: "tool_use", id: "t1", name: "f", input: {} }),
      json(0, "{\"a\""),
      open(1, { type: "tool_use", id: "t2", name: "g", input: {} }),
      json(1, "{\"b\""),
      json(0, ":1}"),
      json(1, ":2}"),
      close(0),
      close(1),
      ...end("tool_use")
    )
    assert.deepStrictEqual(usesOf(d).map((use) => use.input), [{ a: 1 }, { b: 2 }])
  })

  it("citations become annotations", () => {
    const citation = { type: "char_location", cited_text: "c" }
    const d = run(
      start(),
      open(0, { type: "text", text: "" }),
      text(0, "a"),
      delta(0, { type: "citations_delta", citation }),
      close(0),
      ...end("end_turn")
    )
    const item = d.response.output[0]
    assert.deepStrictEqual(item?.type === "message" ? item.content : [], [{
      type: "output_text",
      text: "a",
      annotations: [citation]
    }])
  })

  it("blocks of hosted tools are kept whole", () => {
    const d = run(
      start(),
      open(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      json(0, "{\"query\":\"x\"}"),
      close(0),
      ...textBlock(1, "a"),
      ...end("end_turn")
    )
    assert.deepStrictEqual(summary(d), [["opaque", {
      type: "server_tool_use",
      id: "s",
      name: "web_search",
      input: { query: "x" }
    }], ["text", "a"]])
  })

  it("a missing id is minted", () => {
    const d = run(
      start(),
      open(0, { type: "tool_use", name: "f", input: {} }),
      json(0, "{}"),
      close(0),
      ...end("tool_use")
    )
    assert.match(usesOf(d)[0]?.id ?? "", /^call_[0-9a-f]{8}_\d+$/)
  })

  it("ping and unknown events", () => {
    const d = run(
      start(),
      named({ type: "ping" }),
      named({ type: "content_block_glow" }),
      ...textBlock(0, "a"),
      ...end("end_turn")
    )
    assert.deepStrictEqual(d.events.flatMap((event) => event.type === "opaque" ? [event.event] : []), [
      "content_block_glow"
    ])
  })

  it("the event name alone", () => {
    const d = run(
      frame({ message: { id: "m" } }, "message_start"),
      frame({ index: 0, delta: { type: "text_delta", text: "a" } }, "content_block_delta"),
      frame({ delta: { stop_reason: "end_turn" } }, "message_delta"),
      frame("{}", "message_stop")
    )
    assert.deepStrictEqual(summary(d), [["text", "a"]])
  })
})

describe("Anthropic Messages: usage (section 6)", () => {
  it("counts are cumulative and cached ones are added to the canonical input", () => {
    const d = run(
      start({ input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 }),
      ...textBlock(0, "a"),
      ...end("end_turn", {}, { output_tokens: 42, output_tokens_details: { thinking_tokens: 30 } })
    )
    assert.deepStrictEqual(d.response.usage, {
      input_tokens: 130,
      output_tokens: 42,
      total_tokens: 172,
      input_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
      output_tokens_details: { reasoning_tokens: 30 }
    })
    assert.deepStrictEqual(d.stream.filter((event) => event.type === "usage"), [
      { type: "usage", usage: { input_tokens: 10, output_tokens: 1, cache_read_tokens: 100, cache_write_tokens: 20 } },
      {
        type: "usage",
        usage: {
          input_tokens: 10,
          output_tokens: 42,
          cache_read_tokens: 100,
          cache_write_tokens: 20,
          reasoning_tokens: 30
        }
      }
    ])
  })

  it("absent and null fields do not reset, later ones overwrite", () => {
    const d = run(
      start({ input_tokens: 0, output_tokens: 0 }),
      ...textBlock(0, "a"),
      ...end("end_turn", {}, { input_tokens: 25, cache_read_input_tokens: null, output_tokens: 3 })
    )
    assert.strictEqual(d.response.usage?.input_tokens, 25)
  })

  it("a message_delta without usage (17, 18)", () => {
    assert.strictEqual(
      run(start(), ...textBlock(0, "a"), ...end("end_turn", {}, null)).response.usage?.output_tokens,
      1
    )
  })

  it("no usage at all", () => {
    const d = run(
      named({ type: "message_start", message: { id: "m" } } as { type: string }),
      ...textBlock(0, "a"),
      ...end("end_turn", {}, null)
    )
    assert.isNull(d.response.usage)
  })
})

describe("Anthropic Messages: endings (section 7)", () => {
  const table: ReadonlyArray<readonly [string, string]> = [
    ["end_turn", "completed/end_turn"],
    ["max_tokens", "incomplete/max_tokens"],
    ["model_context_window_exceeded", "incomplete/context_window"],
    ["refusal", "incomplete/refusal"],
    ["pause_turn", "completed/pause_turn"],
    ["tool_use", "completed/end_turn"],
    ["brand_new", "completed/end_turn"]
  ]
  for (const [reason, expected] of table) {
    it(`stop_reason ${reason} without calls`, () => {
      assert.strictEqual(stopOf(run(start(), ...textBlock(0, "a"), ...end(reason))), expected)
    })
  }

  it("stop_sequence keeps the sequence", () => {
    const d = run(start(), ...textBlock(0, "a"), ...end("stop_sequence", { stop_sequence: "END" }))
    assert.deepStrictEqual(d.response.stop, { reason: "stop_sequence", sequence: "END" })
    const last = d.stream[d.stream.length - 1]
    assert.strictEqual(last?.type === "message_stop" ? last.stop_sequence : undefined, "END")
  })

  it("a refusal without text says why", () => {
    const d = run(
      start(),
      ...end("refusal", { stop_details: { type: "refusal", category: null, explanation: "not this" } })
    )
    assert.deepStrictEqual(summary(d), [["text", { refusal: "not this" }]])
  })

  it("cut inside tool input although the block was stopped: incomplete, cannot run", () => {
    const d = run(start(), ...toolBlock(0, "t", "bash", "{\"command\":\"rm -rf /t"), ...end("max_tokens"))
    assert.deepStrictEqual(summary(d), [["call", "t", "bash", "{\"command\":\"rm -rf /t", "incomplete"]])
    assert.deepStrictEqual(cutsOf(d), ["t: cut off at the output limit"])
  })

  it("cut before any tool input: incomplete, cannot run", () => {
    const d = run(start(), ...toolBlock(0, "t", "bash"), ...end("max_tokens"))
    assert.deepStrictEqual(cutsOf(d), ["t: cut off at the output limit"])
  })

  it("a whole call before a cut one stays whole", () => {
    const d = run(
      start(),
      ...toolBlock(0, "t1", "f", "{\"a\":1}"),
      ...toolBlock(1, "t2", "g", "{\"b"),
      ...end("max_tokens")
    )
    assert.deepStrictEqual(usesOf(d).map(({ id }) => id), ["t1", "t2"])
    assert.deepStrictEqual(cutsOf(d), ["t2: cut off at the output limit"])
    assert.strictEqual(stopOf(d), "incomplete/max_tokens")
  })

  it("bad JSON in a stopped block that another follows is the model's own", () => {
    const d = run(start(), ...toolBlock(0, "t1", "f", "{\"a\":"), ...toolBlock(1, "t2", "g", "{}"), ...end("tool_use"))
    assert.match(usesOf(d)[0]?.input_error ?? "", /not valid JSON/)
  })

  it("end_turn with a call: the call wins", () => {
    assert.strictEqual(stopOf(run(start(), ...toolBlock(0, "t", "f"), ...end("end_turn"))), "completed/tool_use")
  })

  it("an end without message_stop but with a stop reason is a success", () => {
    assert.strictEqual(
      stopOf(run(start(), ...textBlock(0, "a"), end("end_turn")[0] ?? frame(""))),
      "completed/end_turn"
    )
  })

  it("an end of the body before the stop reason is a failure (15)", () => {
    const d = run(start(), open(0, { type: "text", text: "" }), text(0, "half"))
    assert.strictEqual(stopOf(d), "failed/truncated")
    assert.strictEqual(d.response.usage?.input_tokens, 10)
  })

  it("nothing after message_stop", () => {
    assert.deepStrictEqual(summary(run(start(), ...textBlock(0, "a"), ...end("end_turn"), ...textBlock(1, "b"))), [[
      "text",
      "a"
    ]])
  })

  const errors: ReadonlyArray<readonly [string, string, string, boolean]> = [
    ["overloaded_error", "Overloaded", "overloaded", true],
    ["rate_limit_error", "slow", "rate_limited", true],
    ["api_error", "Internal server error", "server", true],
    ["timeout_error", "late", "server", true],
    ["invalid_request_error", "messages.3: bad", "bad_request", false],
    ["invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_too_long", false],
    ["invalid_request_error", "Your credit balance is too low to access the API", "quota", false],
    ["authentication_error", "invalid x-api-key", "auth", false],
    ["permission_error", "no", "auth", false],
    ["not_found_error", "model: x", "not_found", false],
    ["request_too_large", "big", "too_large", false],
    ["billing_error", "pay", "quota", false],
    ["some_new_error", "?", "stream_error", true]
  ]
  for (const [type, message, reason, retryable] of errors) {
    it(`error event ${type}: ${message}`, () => {
      const d = run(
        start(),
        open(0, { type: "text", text: "" }),
        text(0, "half"),
        named({ type: "error", error: { type, message }, request_id: "req_1" } as { type: string }),
        ...end("end_turn")
      )
      assert.strictEqual(stopOf(d), `failed/${reason}`)
      assert.deepStrictEqual(d.response.error, { reason, code: type, message, retryable, request_id: "req_1" })
    })
  }

  it("an error object without a type", () => {
    assert.strictEqual(
      stopOf(run(frame({ error: { type: "overloaded_error", message: "Overloaded" } }))),
      "failed/overloaded"
    )
  })

  it("an error event that is plain text", () => {
    assert.strictEqual(stopOf(run(start(), frame("upstream is overloaded", "error"))), "failed/overloaded")
  })
})

describe("Anthropic Messages: whole answers", () => {
  it("all kinds of blocks", () => {
    const d = decodeBody("anthropic", {
      id: "msg_9",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [
        { type: "thinking", thinking: "hm", signature: "S" },
        { type: "redacted_thinking", data: "D" },
        { type: "text", text: "Hi" },
        { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
        { type: "tool_use", id: "u", name: "g", input: {} }
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 6 }
    })
    assert.deepStrictEqual(summary(d), [["think", "hm"], ["think"], ["text", "Hi"], [
      "call",
      "t",
      "f",
      "{\"a\":1}",
      "completed"
    ], ["call", "u", "g", "{}", "completed"]])
    assert.strictEqual(stopOf(d), "completed/tool_use")
  })

  for (const body of [null, "", "<html>", [], {}, { type: "message" }, { choices: [] }]) {
    it(`no answer: ${JSON.stringify(body)}`, () => {
      assert.strictEqual(stopOf(decodeBody("anthropic", body)), "failed/invalid_response")
    })
  }

  it("an error body with status 200", () => {
    assert.strictEqual(
      stopOf(decodeBody("anthropic", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } })),
      "failed/overloaded"
    )
  })
})
