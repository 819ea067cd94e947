import { assert, describe, it } from "@effect/vitest"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { cutsOf, decode, decodeBody, frame, stopOf, summary, textOf, usesOf } from "./Support.ts"

const chunk = (delta: unknown, finish_reason: string | null = null, more: object = {}): SseFrame =>
  frame({
    id: "cmpl-1",
    object: "chat.completion.chunk",
    model: "m-1",
    choices: [{ index: 0, delta, finish_reason }],
    ...more
  })
const call = (index: number | undefined, id: string | undefined, name: string | undefined, args: unknown): SseFrame =>
  chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] })
const stop = (reason = "stop"): SseFrame => chunk({}, reason)
const usage = (counts: object): SseFrame => frame({ id: "cmpl-1", model: "m-1", choices: [], usage: counts })
const done = frame("[DONE]")

const run = (...frames: ReadonlyArray<SseFrame>) => decode("chat", frames)

describe("Chat Completions: text and reasoning", () => {
  it("text, usage chunk with choices [], [DONE] (section 17, 16)", () => {
    const d = run(
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "Hel" }),
      chunk({ content: "lo" }),
      stop(),
      usage({ prompt_tokens: 12, completion_tokens: 3, total_tokens: 15, prompt_tokens_details: { cached_tokens: 5 } }),
      done
    )
    assert.deepStrictEqual(summary(d), [["text", "Hello"]])
    assert.strictEqual(stopOf(d), "completed/end_turn")
    assert.strictEqual(d.response.id, "cmpl-1")
    assert.strictEqual(d.response.model, "m-1")
    assert.deepStrictEqual(d.response.usage, {
      input_tokens: 12,
      output_tokens: 3,
      total_tokens: 15,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 0 }
    })
    assert.deepStrictEqual(d.stream.find((event) => event.type === "usage"), {
      type: "usage",
      usage: { input_tokens: 7, output_tokens: 3, cache_read_tokens: 5, cache_write_tokens: 0 }
    })
  })

  it("no [DONE]: the finish reason suffices at the end of the body (17, 31)", () => {
    assert.strictEqual(stopOf(run(chunk({ content: "x" }), stop())), "completed/end_turn")
  })

  it("the terminal comes with the usage chunk, not with [DONE] or the end of the body", () => {
    const d = decode("chat", [
      chunk({ content: "x" }),
      stop(),
      usage({ prompt_tokens: 1, completion_tokens: 1 }),
      chunk({ content: "late" })
    ])
    assert.deepStrictEqual(summary(d), [["text", "x"]])
  })

  it("usage on the finish chunk ends the answer at once", () => {
    const d = run(
      chunk({ content: "x" }),
      chunk({}, "stop", { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
      frame("not JSON")
    )
    assert.strictEqual(stopOf(d), "completed/end_turn")
    assert.strictEqual(d.response.usage?.output_tokens, 2)
  })

  it("running usage on every chunk: the last one holds", () => {
    const d = run(
      chunk({ content: "x" }, null, { usage: { prompt_tokens: 9, completion_tokens: 1 } }),
      chunk({ content: "y" }, "stop", { usage: { prompt_tokens: 9, completion_tokens: 2 } })
    )
    assert.deepStrictEqual(summary(d), [["text", "xy"]])
    assert.strictEqual(d.response.usage?.output_tokens, 2)
  })

  it("usage inside the last choice, or under the key of one server", () => {
    const inside = run(
      frame({
        id: "c",
        choices: [{
          index: 0,
          delta: { content: "x" },
          finish_reason: "stop",
          usage: { prompt_tokens: 7, completion_tokens: 2 }
        }]
      })
    )
    assert.strictEqual(inside.response.usage?.input_tokens, 7)
    const groq = run(
      chunk({ content: "x" }),
      chunk({}, "stop", { x_groq: { usage: { prompt_tokens: 8, completion_tokens: 2 } } })
    )
    assert.strictEqual(groq.response.usage?.input_tokens, 8)
  })

  it("an opening chunk without id and choices does not name the response", () => {
    const d = run(
      frame({ id: "", model: "", choices: [], prompt_filter_results: [] }),
      chunk({ content: "x" }),
      stop(),
      done
    )
    assert.strictEqual(d.response.id, "cmpl-1")
  })

  for (const field of ["reasoning_content", "reasoning"] as const) {
    it(`${field}, then text (15: thinking then text)`, () => {
      const d = run(chunk({ [field]: "hm " }), chunk({ [field]: "so" }), chunk({ content: "A" }), stop(), done)
      assert.deepStrictEqual(summary(d), [["think", "hm so"], ["text", "A"]])
      assert.deepStrictEqual(d.stream.find((event) => event.type === "reasoning_delta" && event.replay !== undefined), {
        type: "reasoning_delta",
        text: "",
        replay: { origin: "fake:chat", field }
      })
    })
  }

  it("alternating reasoning and text keep their order (17, 13)", () => {
    const d = run(
      chunk({ reasoning: "a" }),
      chunk({ content: "1" }),
      chunk({ reasoning: "b" }),
      chunk({ content: "2" }),
      stop()
    )
    assert.deepStrictEqual(summary(d), [["think", "a"], ["text", "1"], ["think", "b"], ["text", "2"]])
  })

  it("one text under two reasoning fields is read once", () => {
    const d = run(chunk({ reasoning_content: "a", reasoning: "a" }), chunk({ content: "1" }), stop())
    assert.deepStrictEqual(summary(d), [["think", "a"], ["text", "1"]])
  })

  it("reasoning_details are merged and come back whole in the replay", () => {
    const d = run(
      chunk({ reasoning: "a", reasoning_details: [{ type: "reasoning.text", text: "a", index: 0, format: "f" }] }),
      chunk({ reasoning: "b", reasoning_details: [{ type: "reasoning.text", text: "b", index: 0, signature: "sig" }] }),
      chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "ENC", index: 1, id: "r1" }] }),
      chunk({ content: "x" }),
      stop()
    )
    assert.deepStrictEqual(summary(d), [["think", "ab"], ["text", "x"]])
    const event = d.stream.find((e) => e.type === "reasoning_delta" && e.replay !== undefined)
    assert.isTrue(event?.type === "reasoning_delta")
    const replay = event?.type === "reasoning_delta" ? event.replay : undefined
    assert.strictEqual(replay?.field, "reasoning_details")
    assert.deepStrictEqual(JSON.parse(replay?.encrypted_content ?? ""), [
      { type: "reasoning.text", text: "ab", index: 0, format: "f", signature: "sig" },
      { type: "reasoning.encrypted", data: "ENC", index: 1, id: "r1" }
    ])
  })

  it("content as parts with thinking among them", () => {
    const d = run(
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "t" }] }] }),
      chunk({ content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }),
      stop()
    )
    assert.deepStrictEqual(summary(d), [["think", "t"], ["text", "ab"]])
  })

  it("refusal text is a refusal part", () => {
    const d = run(chunk({ refusal: "I can" }), chunk({ refusal: "not" }), stop(), done)
    assert.deepStrictEqual(summary(d), [["text", { refusal: "I cannot" }]])
    assert.strictEqual(stopOf(d), "completed/refusal")
    assert.deepStrictEqual(d.stream[0], { type: "content_delta", text: "I can", refusal: true })
  })

  it("annotations are kept with their text", () => {
    const citation = { type: "url_citation", url_citation: { url: "https://a.example", start_index: 0, end_index: 1 } }
    const d = run(chunk({ content: "x" }), chunk({ annotations: [citation] }), stop())
    const item = d.response.output[0]
    assert.deepStrictEqual(item?.type === "message" ? item.content : [], [{
      type: "output_text",
      text: "x",
      annotations: [citation]
    }])
  })

  it("a lone surrogate may span deltas (invariant 7)", () => {
    const d = run(chunk({ content: "\ud83d" }), chunk({ content: "\ude00" }), stop())
    assert.strictEqual(textOf(d), "😀")
  })

  it("a server that sends the whole message as its only chunk", () => {
    const d = run(
      frame({ id: "c", choices: [{ index: 0, message: { role: "assistant", content: "all" }, finish_reason: "stop" }] })
    )
    assert.deepStrictEqual(summary(d), [["text", "all"]])
  })

  it("an unknown event is kept as opaque", () => {
    const d = run(chunk({ content: "x" }), frame({ hello: 1 }, "extra"), stop())
    assert.deepStrictEqual(d.events.filter((event) => event.type === "opaque"), [
      { type: "opaque", sequence_number: 5, event: "extra", data: "{\"hello\":1}" }
    ])
  })

  it("ping events are filtered", () => {
    const d = run(frame("{}", "ping"), chunk({ content: "x" }), frame({ type: "ping" }), stop())
    assert.isFalse(d.events.some((event) => event.type === "opaque"))
  })
})

describe("Chat Completions: tool calls", () => {
  it("fragments without id are keyed by index (17, 1 and 6)", () => {
    const d = run(
      call(0, "c1", "f", ""),
      call(0, undefined, undefined, "{\"a\""),
      call(0, undefined, undefined, ":1}"),
      stop("tool_calls"),
      done
    )
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"]])
    assert.deepStrictEqual(usesOf(d), [{
      type: "tool_use",
      id: "c1",
      name: "f",
      input: { a: 1 },
      arguments: "{\"a\":1}"
    }])
    assert.strictEqual(stopOf(d), "completed/tool_use")
  })

  it("parallel calls keep id and name of their openers (17, 2)", () => {
    const d = run(
      call(0, "c1", "f", ""),
      call(0, undefined, undefined, "{}"),
      call(1, "c2", "g", ""),
      call(1, undefined, undefined, "{\"b\":2}"),
      stop("tool_calls")
    )
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{}", "completed"], [
      "call",
      "c2",
      "g",
      "{\"b\":2}",
      "completed"
    ]])
  })

  it("back-to-back calls on one index: a new named call closes the block (17, 3)", () => {
    const d = run(call(0, "c1", "f", "{\"a\":1}"), call(0, "c2", "g", "{\"b\":2}"), stop("tool_calls"))
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"], [
      "call",
      "c2",
      "g",
      "{\"b\":2}",
      "completed"
    ]])
  })

  it("back-to-back calls on one index without ids", () => {
    const d = run(call(0, undefined, "f", "{\"a\":1}"), call(0, undefined, "f", "{\"a\":2}"), stop("tool_calls"))
    assert.deepStrictEqual(usesOf(d).map((use) => use.arguments), ["{\"a\":1}", "{\"a\":2}"])
  })

  it("interleaved fragments: the other call waits, nothing is lost (17, 4; invariant 3)", () => {
    const d = run(
      call(0, "c1", "f", "{\"a\""),
      call(1, "c2", "g", "{\"b\""),
      call(0, undefined, undefined, ":1"),
      call(1, undefined, undefined, ":2"),
      call(0, undefined, undefined, "}"),
      call(1, undefined, undefined, "}"),
      stop("tool_calls")
    )
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"], [
      "call",
      "c2",
      "g",
      "{\"b\":2}",
      "completed"
    ]])
  })

  it("no ids at all: stable ones are minted (17, 5)", () => {
    const frames = [call(0, undefined, "f", "{}"), call(1, "", "g", "{}"), stop("tool_calls")]
    const one = usesOf(run(...frames)).map(({ id }) => id)
    assert.deepStrictEqual(one, usesOf(run(...frames)).map(({ id }) => id))
    assert.strictEqual(new Set(one).size, 2)
    for (const id of one) assert.match(id, /^[A-Za-z0-9_-]{1,64}$/)
  })

  it("arguments in the opener chunk are the first delta (17, 7)", () => {
    const d = run(call(0, "c1", "f", "{\"a\""), call(0, undefined, undefined, ":1}"), stop("tool_calls"))
    assert.strictEqual(usesOf(d)[0]?.arguments, "{\"a\":1}")
  })

  it("empty arguments are {} (17, 8; invariant 6)", () => {
    const d = run(call(0, "c1", "f", ""), stop("tool_calls"))
    assert.deepStrictEqual(usesOf(d), [{ type: "tool_use", id: "c1", name: "f", input: {}, arguments: "{}" }])
  })

  it("an id that comes late is taken while nothing was shown", () => {
    const d = run(call(0, undefined, "f", ""), call(0, "late", undefined, "{\"a\":1}"), stop("tool_calls"))
    assert.deepStrictEqual(summary(d), [["call", "late", "f", "{\"a\":1}", "completed"]])
  })

  it("a name that comes late holds the start (invariant 4)", () => {
    const d = run(call(0, "c1", undefined, "{\"a\""), call(0, undefined, "f", ":1}"), stop("tool_calls"))
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"]])
  })

  it("id and name repeated in every fragment", () => {
    const d = run(call(0, "c1", "f", "{\"a\""), call(0, "c1", "f", ":1"), call(0, "c1", "f", "}"), stop("tool_calls"))
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"]])
  })

  it("index -1 or missing: by id, else the last call (invariant 4)", () => {
    const d = run(
      call(-1, "c1", "f", "{\"a\""),
      call(-1, "c2", "g", "{\"b\""),
      call(-1, "c1", undefined, ":1}"),
      call(undefined, undefined, undefined, ":2}"),
      stop("tool_calls")
    )
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"a\":1}", "completed"], [
      "call",
      "c2",
      "g",
      "{\"b\":2}",
      "completed"
    ]])
  })

  it("distinct ids, index always 0, interleaved", () => {
    const d = run(
      call(0, "c1", "f", "{\"a\""),
      call(0, "c2", "g", "{\"b\""),
      call(0, "c1", undefined, ":1}"),
      call(0, "c2", undefined, ":2}"),
      stop("tool_calls")
    )
    assert.deepStrictEqual(usesOf(d).map((use) => [use.id, use.arguments]), [["c1", "{\"a\":1}"], ["c2", "{\"b\":2}"]])
  })

  it("the whole call said again under the same id runs once (17, 9)", () => {
    const d = run(call(0, "c1", "f", "{\"a\":1}"), call(0, "c1", "f", "{\"a\":1}"), stop("tool_calls"))
    assert.strictEqual(usesOf(d).length, 1)
  })

  it("two calls with one id are made unique (17, 41)", () => {
    const d = run(call(0, "c1", "f", "{\"a\":1}"), call(1, "c1", "f", "{\"a\":2}"), stop("tool_calls"))
    assert.deepStrictEqual(usesOf(d).map(({ id }) => id), ["c1", "c1_2"])
  })

  it("{} in the opener is a placeholder when arguments follow", () => {
    const d = run(
      call(0, "c1", "f", "{}"),
      call(0, undefined, undefined, "{\"a\""),
      call(0, undefined, undefined, ":1}"),
      stop("tool_calls")
    )
    assert.strictEqual(usesOf(d)[0]?.arguments, "{\"a\":1}")
  })

  it("arguments as an object", () => {
    const d = run(call(0, "c1", "f", { a: 1 }), stop("tool_calls"))
    assert.deepStrictEqual(usesOf(d)[0]?.input, { a: 1 })
  })

  it("text after a tool call opens a new message (17, 11)", () => {
    const d = run(chunk({ content: "one" }), call(0, "c1", "f", "{}"), chunk({ content: "two" }), stop("tool_calls"))
    assert.deepStrictEqual(summary(d), [["text", "one"], ["call", "c1", "f", "{}", "completed"], ["text", "two"]])
  })

  it("thinking, text and tool have indexes 0, 1, 2 (15)", () => {
    const d = run(chunk({ reasoning: "t" }), chunk({ content: "x" }), call(0, "c1", "f", "{}"), stop("tool_calls"))
    assert.deepStrictEqual(summary(d).map((item) => (item as ReadonlyArray<unknown>)[0]), ["think", "text", "call"])
  })

  it("legacy function_call", () => {
    const d = run(
      chunk({ function_call: { name: "f", arguments: "{\"a\"" } }),
      chunk({ function_call: { arguments: ":1}" } }),
      stop("function_call")
    )
    assert.deepStrictEqual(usesOf(d).map((use) => [use.name, use.arguments]), [["f", "{\"a\":1}"]])
  })

  it("names are mapped back (1.9)", () => {
    const d = decode("chat", [call(0, "c1", "short_12345678", "{}"), stop("tool_calls")], {
      names: new Map([["short_12345678", "a_very_long_name"]])
    })
    assert.strictEqual(usesOf(d)[0]?.name, "a_very_long_name")
  })

  it("arguments that are no JSON never run as {} (2.2)", () => {
    const d = run(call(0, "c1", "f", "{\"a\": tru"), stop("tool_calls"))
    const use = usesOf(d)[0]
    assert.match(use?.input_error ?? "", /not valid JSON/)
    assert.deepStrictEqual(use?.input, {})
    assert.strictEqual(use?.arguments, "{\"a\": tru")
  })

  it("arguments that are no object never run as {} (2.2)", () => {
    const d = run(call(0, "c1", "f", "[1]"), stop("tool_calls"))
    assert.match(usesOf(d)[0]?.input_error ?? "", /an array/)
  })

  it("a signature of a call becomes a replay tied to it (section 8)", () => {
    const d = run(
      chunk({
        tool_calls: [{
          index: 0,
          id: "c1",
          function: { name: "f", arguments: "{}" },
          extra_content: { google: { thought_signature: "SIG" } }
        }]
      }),
      stop("tool_calls")
    )
    assert.deepStrictEqual(d.stream.filter((event) => event.type === "reasoning_delta"), [
      {
        type: "reasoning_delta",
        text: "",
        replay: { origin: "fake:chat", id: "c1", signature: "SIG", field: "thought_signature" }
      }
    ])
  })
})

describe("Chat Completions: endings (section 7)", () => {
  const table: ReadonlyArray<readonly [string, string]> = [
    ["stop", "completed/end_turn"],
    ["length", "incomplete/max_tokens"],
    ["content_filter", "incomplete/refusal"],
    ["tool_calls", "completed/end_turn"],
    ["function_call", "completed/end_turn"],
    ["end_turn", "completed/end_turn"],
    ["MAX_TOKENS", "incomplete/max_tokens"],
    ["SAFETY", "incomplete/refusal"],
    ["error", "failed/stream_error"],
    ["insufficient_system_resource", "failed/overloaded"],
    ["brand_new", "completed/end_turn"],
    ["constructor", "completed/end_turn"],
    ["__proto__", "completed/end_turn"]
  ]
  for (const [reason, expected] of table) {
    it(`finish_reason ${reason} without calls`, () => {
      assert.strictEqual(stopOf(run(chunk({ content: "x" }), stop(reason), done)), expected)
    })
  }

  it("stop with calls: calls win", () => {
    assert.strictEqual(stopOf(run(call(0, "c1", "f", "{}"), stop("stop"))), "completed/tool_use")
  })

  it("an unknown finish reason leaves a trace", () => {
    const d = run(chunk({ content: "x" }), stop("brand_new"))
    assert.isTrue(d.events.some((event) => event.type === "opaque" && event.data.includes("brand_new")))
  })

  it("cut inside tool arguments: the call is incomplete and cannot run", () => {
    const d = run(call(0, "c1", "f", "{\"cmd\":\"rm -rf /tmp"), stop("length"))
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "{\"cmd\":\"rm -rf /tmp", "incomplete"]])
    assert.deepStrictEqual(cutsOf(d), ["c1: cut off at the output limit"])
    assert.strictEqual(stopOf(d), "incomplete/max_tokens")
  })

  it("cut before any argument: the call is incomplete and cannot run", () => {
    const d = run(call(0, "c1", "f", ""), stop("length"))
    assert.deepStrictEqual(summary(d), [["call", "c1", "f", "", "incomplete"]])
    assert.deepStrictEqual(cutsOf(d), ["c1: cut off at the output limit"])
  })

  it("an end of the body without a finish is a failure, usage kept (17, 33; 15)", () => {
    const d = run(chunk({ content: "x" }, null, { usage: { prompt_tokens: 4, completion_tokens: 1 } }))
    assert.strictEqual(stopOf(d), "failed/truncated")
    assert.strictEqual(d.response.error?.retryable, true)
    assert.strictEqual(d.response.usage?.input_tokens, 4)
    assert.deepStrictEqual(summary(d), [["text", "x"]])
  })

  it("a whole call and a clean end without a finish is still a failure (16)", () => {
    assert.strictEqual(stopOf(run(call(0, "c1", "f", "{}"))), "failed/truncated")
  })

  it("an empty body is a failure", () => {
    assert.strictEqual(stopOf(run()), "failed/truncated")
  })

  it("[DONE] without a finish reason ends an answer of text", () => {
    assert.strictEqual(stopOf(run(chunk({ content: "x" }), done)), "completed/end_turn")
  })

  it("[DONE] inside tool arguments, or before anything, is a cut", () => {
    assert.strictEqual(stopOf(run(call(0, "c1", "f", "{\"a\""), done)), "failed/truncated")
    assert.strictEqual(stopOf(run(done)), "failed/truncated")
  })

  it("a dropped connection keeps its reason", () => {
    const d = decode("chat", [chunk({ content: "x" })], {}, { reason: "dropped", message: "connection reset" })
    assert.strictEqual(stopOf(d), "failed/dropped")
  })

  it("a drop after the finish reason is no failure", () => {
    const d = decode("chat", [chunk({ content: "x" }), stop()], {}, { reason: "dropped", message: "connection reset" })
    assert.strictEqual(stopOf(d), "completed/end_turn")
  })

  it("an error chunk is a failure, not a success (17, 32)", () => {
    const d = run(
      chunk({ content: "x" }),
      frame({
        error: { message: "Rate limit reached, try again in 1.5s", type: "tokens", code: "rate_limit_exceeded" }
      })
    )
    assert.deepStrictEqual(d.response.error, {
      reason: "rate_limited",
      code: "rate_limit_exceeded",
      message: "Rate limit reached, try again in 1.5s",
      retryable: true,
      retry_after_ms: 1500
    })
    assert.deepStrictEqual(d.stream[d.stream.length - 1], {
      type: "error",
      code: "rate_limited",
      message: "Rate limit reached, try again in 1.5s",
      retryable: true,
      retry_after_ms: 1500
    })
  })

  it("a 200 with a JSON error object judges by its inner code", () => {
    const d = run(
      frame({
        error: {
          message: "This model's maximum context length is 8192 tokens",
          type: "invalid_request_error",
          code: "context_length_exceeded"
        }
      })
    )
    assert.strictEqual(stopOf(d), "failed/context_too_long")
    assert.strictEqual(d.response.error?.retryable, false)
  })

  it("an error with a numeric code of a gateway", () => {
    const d = run(
      frame({
        id: "g",
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
        error: { code: 502, message: "Provider returned error", metadata: { raw: "upstream died" } }
      })
    )
    assert.strictEqual(stopOf(d), "failed/server")
    assert.match(d.response.error?.message ?? "", /upstream died/)
  })

  it("a frame that is not JSON fails as invalid_response", () => {
    assert.strictEqual(stopOf(run(chunk({ content: "x" }), frame("<html>"))), "failed/invalid_response")
  })

  it("a last frame that was cut is a truncation, not a protocol error", () => {
    const d = decode("chat", [chunk({ content: "x" }), { ...frame("{\"id\":\"cmpl-1\",\"cho"), unterminated: true }])
    assert.strictEqual(stopOf(d), "failed/truncated")
  })

  it("a last frame without a blank line is delivered (invariant 8)", () => {
    assert.strictEqual(stopOf(run(chunk({ content: "x" }), { ...stop(), unterminated: true })), "completed/end_turn")
  })
})

describe("Chat Completions: whole answers", () => {
  it("text, reasoning and calls", () => {
    const d = decodeBody("chat", {
      id: "c",
      model: "m",
      choices: [{
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          reasoning_content: "hm",
          content: "x",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "f", arguments: "{\"a\":1}" } },
            { id: "c2", type: "function", function: { name: "g", arguments: "" } }
          ]
        }
      }],
      usage: { prompt_tokens: 3, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 2 } }
    })
    assert.deepStrictEqual(summary(d), [["think", "hm"], ["text", "x"], ["call", "c1", "f", "{\"a\":1}", "completed"], [
      "call",
      "c2",
      "g",
      "{}",
      "completed"
    ]])
    assert.deepStrictEqual(d.stream.find((event) => event.type === "usage"), {
      type: "usage",
      usage: { input_tokens: 3, output_tokens: 4, cache_read_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 2 }
    })
  })

  it("text and calls in two choices of one answer", () => {
    const d = decodeBody("chat", {
      choices: [
        { index: 0, finish_reason: "tool_calls", message: { content: "x" } },
        {
          index: 1,
          finish_reason: "tool_calls",
          message: { content: null, tool_calls: [{ id: "c1", function: { name: "f", arguments: "{}" } }] }
        }
      ]
    })
    assert.deepStrictEqual(summary(d), [["text", "x"], ["call", "c1", "f", "{}", "completed"]])
  })

  for (const body of [null, "", "<html>busy</html>", 3, [], {}, { choices: [] }, { choices: null }]) {
    it(`no answer: ${JSON.stringify(body)}`, () => {
      assert.strictEqual(stopOf(decodeBody("chat", body)), "failed/invalid_response")
    })
  }

  it("an error body", () => {
    assert.strictEqual(
      stopOf(decodeBody("chat", { error: { message: "no", code: "insufficient_quota" } })),
      "failed/quota"
    )
  })
})
