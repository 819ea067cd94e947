import { assert, describe, it } from "@effect/vitest"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { cutsOf, decode, decodeBody, frame, named, stopOf, summary, textOf, usesOf } from "./Support.ts"

const e = (type: string, body: object = {}): SseFrame =>
  named({ type: `response.${type}`, ...body } as { type: string })
const created = e("created", { response: { id: "resp_1", model: "gpt-x", status: "in_progress", output: [] } })
const added = (output_index: number, item: object): SseFrame => e("output_item.added", { output_index, item })
const itemDone = (output_index: number | undefined, item: object): SseFrame =>
  e("output_item.done", { output_index, item })
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 25
}
const completed = (output: ReadonlyArray<object> = [], over: object = {}): SseFrame =>
  e("completed", { response: { id: "resp_1", model: "gpt-x", status: "completed", output, usage, ...over } })
const message = (id: string, text: string, status = "completed") => ({
  type: "message",
  id,
  role: "assistant",
  status,
  content: [{ type: "output_text", text, annotations: [] }]
})
const fn = (id: string, call_id: string | undefined, name: string, args: string, status = "completed") => ({
  type: "function_call",
  id,
  call_id,
  name,
  arguments: args,
  status
})
const textItem = (output_index: number, id: string, text: string): ReadonlyArray<SseFrame> => [
  added(output_index, { type: "message", id, role: "assistant", status: "in_progress", content: [] }),
  e("content_part.added", {
    output_index,
    item_id: id,
    content_index: 0,
    part: { type: "output_text", text: "", annotations: [] }
  }),
  ...[...text].map((delta) => e("output_text.delta", { output_index, item_id: id, content_index: 0, delta })),
  e("output_text.done", { output_index, item_id: id, content_index: 0, text }),
  e("content_part.done", {
    output_index,
    item_id: id,
    content_index: 0,
    part: { type: "output_text", text, annotations: [] }
  }),
  itemDone(output_index, message(id, text))
]
const callItem = (
  output_index: number,
  id: string,
  call_id: string,
  name: string,
  args: string
): ReadonlyArray<SseFrame> => [
  added(output_index, fn(id, call_id, name, "", "in_progress")),
  ...(args === ""
    ? []
    : [
      e("function_call_arguments.delta", { output_index, item_id: id, delta: args.slice(0, 3) }),
      e("function_call_arguments.delta", { output_index, item_id: id, delta: args.slice(3) })
    ]),
  e("function_call_arguments.done", { output_index, item_id: id, arguments: args }),
  itemDone(output_index, fn(id, call_id, name, args))
]
const run = (...frames: ReadonlyArray<SseFrame>) => decode("responses", frames)

describe("Responses: items", () => {
  it("reasoning, text and two calls", () => {
    const d = run(
      created,
      e("in_progress", { response: {} }),
      added(0, { type: "reasoning", id: "rs_1", summary: [] }),
      e("reasoning_summary_part.added", {
        output_index: 0,
        item_id: "rs_1",
        summary_index: 0,
        part: { type: "summary_text", text: "" }
      }),
      e("reasoning_summary_text.delta", { output_index: 0, item_id: "rs_1", summary_index: 0, delta: "one" }),
      e("reasoning_summary_text.done", { output_index: 0, item_id: "rs_1", summary_index: 0, text: "one" }),
      e("reasoning_summary_text.delta", { output_index: 0, item_id: "rs_1", summary_index: 1, delta: "two" }),
      itemDone(0, {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "one" }, { type: "summary_text", text: "two" }],
        encrypted_content: "ENC"
      }),
      ...textItem(1, "msg_1", "Hi"),
      ...callItem(2, "fc_1", "call_1", "f", "{\"a\":1}"),
      ...callItem(3, "fc_2", "call_2", "g", ""),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["think", "one", "two"], ["text", "Hi"], [
      "call",
      "call_1",
      "f",
      "{\"a\":1}",
      "completed"
    ], ["call", "call_2", "g", "{}", "completed"]])
    assert.strictEqual(stopOf(d), "completed/tool_use")
    assert.deepStrictEqual(d.stream.filter((event) => event.type === "reasoning_delta"), [
      { type: "reasoning_delta", text: "one" },
      { type: "reasoning_delta", text: "\n\n" },
      { type: "reasoning_delta", text: "two" },
      {
        type: "reasoning_delta",
        text: "",
        replay: { origin: "fake:responses", id: "rs_1", encrypted_content: "ENC", summary: true }
      }
    ])
    assert.deepStrictEqual(d.stream.find((event) => event.type === "usage"), {
      type: "usage",
      usage: { input_tokens: 12, output_tokens: 5, cache_read_tokens: 8, cache_write_tokens: 0, reasoning_tokens: 3 }
    })
    assert.strictEqual(d.response.id, "resp_1")
  })

  it("raw reasoning is no summary", () => {
    const d = run(
      created,
      added(0, { type: "reasoning", id: "rs_1", summary: [] }),
      e("reasoning_text.delta", { output_index: 0, item_id: "rs_1", content_index: 0, delta: "raw" }),
      itemDone(0, { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "raw" }] }),
      ...textItem(1, "m", "x"),
      completed()
    )
    assert.deepStrictEqual(d.stream[1], {
      type: "reasoning_delta",
      text: "",
      replay: { origin: "fake:responses", id: "rs_1" }
    })
  })

  it("only call_id is shown, never the item id (17, 10; 15)", () => {
    const d = run(created, ...callItem(0, "fc_1", "call_1", "f", "{}"), completed())
    assert.deepStrictEqual(usesOf(d).map(({ id }) => id), ["call_1"])
  })

  it("a call confirmed under another item id is the same call (17, 9)", () => {
    const d = run(
      created,
      added(0, fn("fc_1", "call_1", "f", "", "in_progress")),
      e("function_call_arguments.delta", { output_index: 0, item_id: "fc_1", delta: "{\"a\":1}" }),
      itemDone(0, fn("fc_other", "call_1", "f", "{\"a\":1}")),
      itemDone(1, fn("fc_third", "call_1", "f", "{\"a\":1}")),
      completed([fn("fc_fourth", "call_1", "f", "{\"a\":1}")])
    )
    assert.deepStrictEqual(usesOf(d).map((use) => [use.id, use.arguments]), [["call_1", "{\"a\":1}"]])
  })

  it("the same call announced under two indexes streams its arguments once", () => {
    const d = run(
      created,
      added(0, fn("fc_1", "call_1", "f", "", "in_progress")),
      added(1, fn("fc_2", "call_1", "f", "", "in_progress")),
      e("function_call_arguments.delta", { output_index: 0, item_id: "fc_1", delta: "{\"a\":1}" }),
      e("function_call_arguments.delta", { output_index: 1, item_id: "fc_2", delta: "{\"a\":1}" }),
      itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")),
      itemDone(1, fn("fc_2", "call_1", "f", "{\"a\":1}")),
      completed()
    )
    assert.deepStrictEqual(usesOf(d).map((use) => use.arguments), ["{\"a\":1}"])
  })

  it("two calls that share one id are two calls (17, 41; 2.7)", () => {
    const d = run(
      created,
      ...callItem(0, "fc_1", "call_1", "f", "{\"a\":1}"),
      ...callItem(1, "fc_2", "call_1", "f", "{\"a\":2}"),
      completed([fn("fc_1", "call_1", "f", "{\"a\":1}"), fn("fc_2", "call_1", "f", "{ \"a\": 2 }")])
    )
    assert.deepStrictEqual(usesOf(d).map((use) => [use.id, use.input]), [["call_1", { a: 1 }], ["call_1_2", { a: 2 }]])
  })

  it("a call confirmed with other spacing is the same call", () => {
    const d = run(
      created,
      ...callItem(0, "fc_1", "call_1", "f", "{\"a\":1}"),
      itemDone(1, fn("fc_2", "call_1", "f", "{ \"a\": 1 }")),
      completed()
    )
    assert.strictEqual(usesOf(d).length, 1)
  })

  it("arguments only in arguments.done are delivered once (invariant 5)", () => {
    const d = run(
      created,
      added(0, fn("fc_1", "call_1", "f", "", "in_progress")),
      e("function_call_arguments.done", { output_index: 0, item_id: "fc_1", arguments: "{\"a\":1}" }),
      itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["call", "call_1", "f", "{\"a\":1}", "completed"]])
  })

  it("arguments only in item.done", () => {
    assert.strictEqual(
      usesOf(
        run(
          created,
          added(0, fn("fc_1", "call_1", "f", "", "in_progress")),
          itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")),
          completed()
        )
      )[0]?.arguments,
      "{\"a\":1}"
    )
  })

  it("a call only in item.done", () => {
    assert.strictEqual(
      usesOf(run(created, itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")), completed()))[0]?.id,
      "call_1"
    )
  })

  it("everything only in the terminal", () => {
    const d = run(created, completed([message("m", "x"), fn("fc_1", "call_1", "f", "{\"a\":1}")]))
    assert.deepStrictEqual(summary(d), [["text", "x"], ["call", "call_1", "f", "{\"a\":1}", "completed"]])
  })

  it("a terminal that repeats the items adds nothing, whatever their ids", () => {
    const d = run(
      created,
      ...textItem(0, "m", "x"),
      ...callItem(1, "fc_1", "call_1", "f", "{}"),
      completed([message("m_other", "x"), fn("fc_other", "call_1", "f", "{}")])
    )
    assert.deepStrictEqual(summary(d), [["text", "x"], ["call", "call_1", "f", "{}", "completed"]])
  })

  it("ids that change with every event (keyed by index)", () => {
    const d = run(
      created,
      added(0, message("a", "", "in_progress")),
      e("output_text.delta", { output_index: 0, item_id: "b", content_index: 0, delta: "x" }),
      e("output_text.done", { output_index: 0, item_id: "c", content_index: 0, text: "x" }),
      itemDone(0, message("d", "x")),
      completed([message("e", "x")])
    )
    assert.deepStrictEqual(summary(d), [["text", "x"]])
  })

  it("text that came only in done events", () => {
    const d = run(
      created,
      added(0, message("m", "", "in_progress")),
      e("output_text.done", { output_index: 0, item_id: "m", content_index: 0, text: "all" }),
      itemDone(0, message("m", "all")),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["text", "all"]])
  })

  it("encrypted content that came only in the terminal", () => {
    const d = run(
      created,
      added(0, { type: "reasoning", id: "rs_1", summary: [] }),
      completed([{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ENC" }, message("m", "x")])
    )
    assert.deepStrictEqual(summary(d), [["think"], ["text", "x"]])
    const replay = d.stream.flatMap((event) =>
      event.type === "reasoning_delta" && event.replay !== undefined ? [event.replay.encrypted_content] : []
    )
    assert.deepStrictEqual(replay, ["ENC"])
  })

  it("interleaved items: one at a time, nothing lost (invariant 3)", () => {
    const d = run(
      created,
      added(0, fn("fc_1", "call_1", "f", "", "in_progress")),
      added(1, fn("fc_2", "call_2", "g", "", "in_progress")),
      e("function_call_arguments.delta", { output_index: 0, item_id: "fc_1", delta: "{\"a\"" }),
      e("function_call_arguments.delta", { output_index: 1, item_id: "fc_2", delta: "{\"b\"" }),
      e("function_call_arguments.delta", { output_index: 0, item_id: "fc_1", delta: ":1}" }),
      e("function_call_arguments.delta", { output_index: 1, item_id: "fc_2", delta: ":2}" }),
      itemDone(1, fn("fc_2", "call_2", "g", "{\"b\":2}")),
      itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")),
      completed()
    )
    assert.deepStrictEqual(usesOf(d).map((use) => use.input), [{ a: 1 }, { b: 2 }])
  })

  it("reasoning deltas under the message's index get an item of their own (15)", () => {
    const d = run(
      created,
      added(0, message("m", "", "in_progress")),
      e("reasoning_summary_text.delta", { output_index: 0, item_id: "m", summary_index: 0, delta: "t" }),
      e("output_text.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "x" }),
      itemDone(0, message("m", "x")),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["text", "x"], ["think", "t"]])
  })

  it("text after a call under a done message's index opens a new message (17, 11)", () => {
    const d = run(
      created,
      ...textItem(0, "m", "a"),
      ...callItem(1, "fc", "call_1", "f", "{}"),
      e("output_text.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "b" }),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["text", "a"], ["call", "call_1", "f", "{}", "completed"], ["text", "b"]])
  })

  it("deltas of an item that was never announced", () => {
    assert.strictEqual(
      textOf(run(e("output_text.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "x" }), completed())),
      "x"
    )
  })

  it("refusal parts", () => {
    const d = run(
      created,
      added(0, message("m", "", "in_progress")),
      e("refusal.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "no" }),
      e("refusal.done", { output_index: 0, item_id: "m", content_index: 0, refusal: "no" }),
      itemDone(0, {
        type: "message",
        id: "m",
        role: "assistant",
        status: "completed",
        content: [{ type: "refusal", refusal: "no" }]
      }),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["text", { refusal: "no" }]])
    assert.strictEqual(stopOf(d), "completed/refusal")
  })

  it("several parts of one message", () => {
    const d = run(
      created,
      added(0, message("m", "", "in_progress")),
      e("output_text.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "a" }),
      e("output_text.delta", { output_index: 0, item_id: "m", content_index: 1, delta: "b" }),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["text", "a", "b"]])
  })

  it("annotations, streamed or only in the item", () => {
    const note = (n: number) => ({
      type: "url_citation",
      url: `https://${n}.example`,
      start_index: 0,
      end_index: 1,
      title: ""
    })
    const d = run(
      created,
      added(0, message("m", "", "in_progress")),
      e("output_text.delta", { output_index: 0, item_id: "m", content_index: 0, delta: "a" }),
      e("output_text.annotation.added", {
        output_index: 0,
        item_id: "m",
        content_index: 0,
        annotation_index: 0,
        annotation: note(1)
      }),
      itemDone(0, {
        ...message("m", "a"),
        content: [{ type: "output_text", text: "a", annotations: [note(1), note(2)] }]
      }),
      completed()
    )
    const item = d.response.output[0]
    assert.deepStrictEqual(item?.type === "message" ? item.content : [], [{
      type: "output_text",
      text: "a",
      annotations: [note(1), note(2)]
    }])
  })

  it("hosted tools and unknown events are kept as opaque", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "q" } }
    const d = run(
      created,
      added(0, { type: "web_search_call", id: "ws_1", status: "in_progress" }),
      e("web_search_call.searching", { output_index: 0, item_id: "ws_1" }),
      itemDone(0, search),
      ...textItem(1, "m", "x"),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["opaque", search], ["text", "x"]])
    assert.deepStrictEqual(d.events.flatMap((event) => event.type === "opaque" ? [event.event] : []), [
      "response.web_search_call.searching"
    ])
  })

  it("custom tool calls", () => {
    const item = { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "patch", input: "" }
    const d = run(
      created,
      added(0, item),
      e("custom_tool_call_input.delta", { output_index: 0, item_id: "ctc_1", delta: "*** " }),
      e("custom_tool_call_input.delta", { output_index: 0, item_id: "ctc_1", delta: "Begin" }),
      e("custom_tool_call_input.done", { output_index: 0, item_id: "ctc_1", input: "*** Begin" }),
      itemDone(0, { ...item, input: "*** Begin" }),
      completed()
    )
    assert.deepStrictEqual(summary(d), [["custom", "call_1", "patch", "*** Begin", "completed"]])
    assert.deepStrictEqual(usesOf(d)[0]?.input, { input: "*** Begin" })
  })

  it("the namespace of a call is kept", () => {
    const d = run(created, itemDone(0, { ...fn("fc", "call_1", "f", "{}"), namespace: "ns" }), completed())
    const item = d.response.output[0]
    assert.strictEqual(item?.type === "function_call" ? item.namespace : undefined, "ns")
  })

  it("a call id that comes only with the item's end", () => {
    const d = run(
      created,
      added(0, fn("fc_1", undefined, "f", "", "in_progress")),
      itemDone(0, fn("fc_1", "call_1", "f", "{\"a\":1}")),
      completed()
    )
    assert.deepStrictEqual(usesOf(d).map((use) => [use.id, use.arguments]), [["call_1", "{\"a\":1}"]])
  })
})

describe("Responses: endings (section 7)", () => {
  it("[DONE] is tolerated, before and after the terminal", () => {
    assert.strictEqual(
      stopOf(run(created, ...textItem(0, "m", "x"), frame("[DONE]"), completed(), frame("[DONE]"))),
      "completed/end_turn"
    )
  })

  it("no [DONE] after completed (17, 31)", () => {
    assert.strictEqual(stopOf(run(created, ...textItem(0, "m", "x"), completed())), "completed/end_turn")
  })

  it("the end of the body before a terminal is a failure (17, 33)", () => {
    const d = run(created, ...textItem(0, "m", "x"))
    assert.strictEqual(stopOf(d), "failed/truncated")
    assert.deepStrictEqual(summary(d), [["text", "x"]])
  })

  it("incomplete by tokens: a cut call cannot run", () => {
    const d = run(
      created,
      added(0, fn("fc", "call_1", "f", "", "in_progress")),
      e("function_call_arguments.delta", { output_index: 0, item_id: "fc", delta: "{\"a" }),
      e("incomplete", {
        response: {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          output: [fn("fc", "call_1", "f", "{\"a", "incomplete")],
          usage
        }
      })
    )
    assert.strictEqual(stopOf(d), "incomplete/max_tokens")
    assert.deepStrictEqual(summary(d), [["call", "call_1", "f", "{\"a", "incomplete"]])
    assert.deepStrictEqual(cutsOf(d), ["call_1: cut off at the output limit"])
  })

  it("a cut call whose item claims to be completed cannot run", () => {
    const d = run(
      created,
      added(0, fn("fc", "call_1", "f", "", "in_progress")),
      itemDone(0, fn("fc", "call_1", "f", "{\"a")),
      e("incomplete", {
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] }
      })
    )
    assert.deepStrictEqual(cutsOf(d), ["call_1: cut off at the output limit"])
  })

  it("incomplete by a filter", () => {
    assert.strictEqual(
      stopOf(
        run(
          created,
          ...textItem(0, "m", "x"),
          e("incomplete", { response: { incomplete_details: { reason: "content_filter" } } })
        )
      ),
      "incomplete/refusal"
    )
  })

  it("a token cut that calls itself completed (17, 35)", () => {
    assert.strictEqual(
      stopOf(
        run(
          created,
          ...textItem(0, "m", "x"),
          completed([], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
        )
      ),
      "incomplete/max_tokens"
    )
    assert.strictEqual(
      stopOf(
        run(created, ...textItem(0, "m", "x"), completed([], { incomplete_details: { reason: "max_output_tokens" } }))
      ),
      "incomplete/max_tokens"
    )
  })

  const failures: ReadonlyArray<readonly [string, string, string, boolean]> = [
    ["server_error", "The server had an error", "server", true],
    ["rate_limit_exceeded", "Rate limit reached. Please try again in 20ms.", "rate_limited", true],
    ["server_is_overloaded", "busy", "overloaded", true],
    ["context_length_exceeded", "Your input exceeds the context window of this model.", "context_too_long", false],
    ["insufficient_quota", "You exceeded your current quota", "quota", false],
    ["usage_not_included", "plan", "quota", false],
    ["invalid_prompt", "flagged", "bad_request", false],
    ["image_content_policy_violation", "no", "refused", false],
    ["brand_new", "?", "stream_error", true]
  ]
  for (const [code, text, reason, retryable] of failures) {
    it(`failed with ${code}`, () => {
      const d = run(
        created,
        e("failed", { response: { status: "failed", error: { code, message: text }, output: [], usage } })
      )
      assert.strictEqual(stopOf(d), `failed/${reason}`)
      assert.strictEqual(d.response.error?.retryable, retryable)
      assert.strictEqual(d.response.error?.code, code)
      assert.strictEqual(d.response.usage?.input_tokens, 20)
    })
    it(`error event ${code}`, () => {
      const d = run(
        created,
        named({ type: "error", code, message: text, param: null, sequence_number: 3 } as { type: string }),
        completed()
      )
      assert.strictEqual(stopOf(d), `failed/${reason}`)
    })
  }

  it("the wait in the message of a failure", () => {
    const d = run(
      created,
      e("failed", { response: { error: { code: "rate_limit_exceeded", message: "Please try again in 1m2.5s." } } })
    )
    assert.strictEqual(d.response.error?.retry_after_ms, 62_500)
  })

  it("an error event with a nested error", () => {
    assert.strictEqual(
      stopOf(
        run(
          created,
          named(
            { type: "error", error: { type: "server_error", code: "server_error", message: "x" } } as { type: string }
          )
        )
      ),
      "failed/server"
    )
  })

  it("a cancelled response is not retried", () => {
    const d = run(created, e("cancelled", { response: { status: "cancelled" } }))
    assert.strictEqual(d.response.error?.retryable, false)
  })
})

describe("Responses: whole answers", () => {
  it("all kinds of items", () => {
    const d = decodeBody("responses", {
      id: "resp_9",
      model: "gpt-x",
      status: "completed",
      output: [
        { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "s" }], encrypted_content: "E" },
        message("m", "x"),
        fn("fc", "call_1", "f", "{\"a\":1}")
      ],
      usage,
      error: null
    })
    assert.deepStrictEqual(summary(d), [["think", "s"], ["text", "x"], [
      "call",
      "call_1",
      "f",
      "{\"a\":1}",
      "completed"
    ]])
    assert.strictEqual(stopOf(d), "completed/tool_use")
  })

  it("a cut answer", () => {
    assert.strictEqual(
      stopOf(
        decodeBody("responses", {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          output: [message("m", "x", "incomplete")]
        })
      ),
      "incomplete/max_tokens"
    )
  })

  it("a failed answer", () => {
    assert.strictEqual(
      stopOf(decodeBody("responses", { status: "failed", output: [], error: { code: "server_error", message: "x" } })),
      "failed/server"
    )
  })

  for (const body of [null, "", "<html>", [], {}, { status: "queued" }, { choices: [] }]) {
    it(`no answer: ${JSON.stringify(body)}`, () => {
      assert.strictEqual(stopOf(decodeBody("responses", body)), "failed/invalid_response")
    })
  }
})
