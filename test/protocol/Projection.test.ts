import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Message, Part } from "../../src/domain/Message.ts"
import { makeProjection, parseArguments, replayOf, toUsage } from "../../src/domain/Projection.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { isWholeObject, ObjectWatch } from "../../src/protocol/Json.ts"
import type { ProtocolName } from "../../src/protocol/Protocol.ts"
import { type Item, joined, plan, render, whole } from "./Plan.ts"
import { decode, decodeBody, decodeOptions, frame, input, named, protocols } from "./Support.ts"

/** What an agent keeps of a stream: text joined, reasoning closed by its replay, calls whole. */
const remember = (events: ReadonlyArray<StreamEvent>): Message => {
  const parts: Array<Part> = []
  let thought = ""
  for (const event of events) {
    const last = parts[parts.length - 1]
    if (event.type === "content_delta") {
      if (last?.type === "text") parts[parts.length - 1] = { type: "text", text: last.text + event.text }
      else parts.push({ type: "text", text: event.text })
    } else if (event.type === "reasoning_delta") {
      thought += event.text
      if (event.replay !== undefined) {
        parts.push({ type: "reasoning", text: thought, replay: event.replay })
        thought = ""
      }
    } else if (event.type === "tool_use") {
      parts.push({ type: "tool_call", id: event.id, name: event.name, arguments: event.arguments })
    }
  }
  return { role: "assistant", content: parts }
}

describe("arguments", () => {
  const table: ReadonlyArray<readonly [string, object]> = [
    ["", { input: {} }],
    [" \n", { input: {} }],
    ["{}", { input: {} }],
    ["{\"a\":1}", { input: { a: 1 } }],
    ["[1]", { input: {}, input_error: "the arguments are an array, not a JSON object" }],
    ["null", { input: {}, input_error: "the arguments are null, not a JSON object" }],
    ["3", { input: {}, input_error: "the arguments are a number, not a JSON object" }],
    ["\"{}\"", { input: {}, input_error: "the arguments are a string, not a JSON object" }]
  ]
  for (const [text, expected] of table) {
    it(JSON.stringify(text), () => {
      assert.deepStrictEqual(parseArguments(text), expected)
    })
  }

  it("broken JSON says why, and is no object", () => {
    const { input, input_error } = parseArguments("{\"a\":")
    assert.deepStrictEqual(input, {})
    assert.match(input_error ?? "", /not valid JSON/)
  })

  it("__proto__ is an ordinary key (G3)", () => {
    const { input } = parseArguments("{\"__proto__\":{\"x\":1}}")
    assert.deepStrictEqual(Object.keys(input), ["__proto__"])
    assert.isUndefined(({} as Record<string, unknown>)["x"])
  })
})

describe("a growing object", () => {
  it.prop("is closed exactly when it is whole, in any pieces", [
    FastCheck.dictionary(FastCheck.string(), FastCheck.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }),
    FastCheck.nat(500)
  ], ([object, cut]) => {
    const text = JSON.stringify(object)
    const at = cut % text.length
    const watch = new ObjectWatch()
    watch.feed(text.slice(0, at))
    assert.isFalse(watch.closed)
    assert.strictEqual(watch.closed, isWholeObject(text.slice(0, at)))
    watch.feed(text.slice(at))
    watch.feed(" \n")
    assert.isTrue(watch.closed)
    watch.feed("x")
    assert.isFalse(watch.closed)
  })

  it("arguments in a hundred thousand pieces take linear time", () => {
    for (const piece of ["xxxx", "}}"]) {
      const decoder = protocols.chat.streamDecoder(decodeOptions("chat"))
      const part = (text: string) =>
        frame({ choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: text } }] } }] })
      const more = part(piece)
      decoder.push(part("{\"a\":\""))
      const begin = performance.now()
      for (let i = 0; i < 100_000; i++) decoder.push(more)
      assert.isBelow(performance.now() - begin, 8_000)
    }
  })
})

describe("projection", () => {
  it("nothing after the end", () => {
    const projection = makeProjection("fake:chat")
    const { events } = decode("chat", [frame({ choices: [{ delta: { content: "x" }, finish_reason: "stop" }] })])
    assert.strictEqual(projection.push(events).length, 2)
    assert.deepStrictEqual(projection.push(events), [])
  })

  it("events in any chunks give the same", () => {
    const { events, stream } = decode("chat", [
      frame({ choices: [{ delta: { reasoning: "r" } }] }),
      frame({ choices: [{ delta: { content: "x" } }] }),
      frame({ choices: [{ delta: {}, finish_reason: "stop" }] })
    ])
    const projection = makeProjection("fake:chat")
    assert.deepStrictEqual(events.flatMap((event) => projection.push([event])), stream)
  })

  it("usage without a cache is what was reported, and never negative", () => {
    const details = { output_tokens_details: { reasoning_tokens: 0 } }
    assert.deepStrictEqual(
      toUsage({
        input_tokens: 5,
        output_tokens: 2,
        total_tokens: 7,
        input_tokens_details: { cached_tokens: 0 },
        ...details
      }),
      {
        input_tokens: 5,
        output_tokens: 2,
        cache_read_tokens: 0,
        cache_write_tokens: 0
      }
    )
    assert.strictEqual(
      toUsage({
        input_tokens: 5,
        output_tokens: 2,
        total_tokens: 7,
        input_tokens_details: { cached_tokens: 9 },
        ...details
      }).input_tokens,
      0
    )
  })

  it("a replay holds what its protocol needs and nothing else", () => {
    const base = { type: "reasoning" as const, id: "rs_1", summary: [{ type: "summary_text" as const, text: "t" }] }
    const origin = "p:x"
    assert.deepStrictEqual(replayOf({ ...base, signature: "S" }, origin), { origin, signature: "S" })
    assert.deepStrictEqual(replayOf({ ...base, redacted_data: "D" }, origin), { origin, redacted_data: "D" })
    assert.deepStrictEqual(replayOf({ ...base, field: "reasoning" }, origin), { origin, field: "reasoning" })
    assert.deepStrictEqual(replayOf({ ...base, encrypted_content: "E" }, origin), {
      origin,
      id: "rs_1",
      encrypted_content: "E",
      summary: true
    })
    assert.deepStrictEqual(replayOf({ ...base, encrypted_content: null }, origin), {
      origin,
      id: "rs_1",
      summary: true
    })
  })

  it("cut calls of any protocol are told and cannot run, whatever they are", () => {
    const cut = "{\"command\":\"rm -rf /t"
    const a = decode("anthropic", [
      named({ type: "message_start" }),
      frame({
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "t", name: "bash", input: {} }
      }),
      frame({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: cut } }),
      frame({ type: "content_block_stop", index: 0 }),
      frame({ type: "message_delta", delta: { stop_reason: "max_tokens" } }),
      frame({ type: "message_stop" })
    ])
    const c = decode("chat", [
      frame({
        choices: [{
          delta: { tool_calls: [{ index: 0, id: "t", function: { name: "bash", arguments: cut } }] },
          finish_reason: "length"
        }]
      })
    ])
    const r = decodeBody("responses", {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ type: "function_call", id: "fc", call_id: "t", name: "bash", arguments: cut, status: "incomplete" }]
    })
    for (const { response, stream } of [a, c, r]) {
      assert.deepStrictEqual(stream.filter((event) => event.type === "tool_use"), [
        {
          type: "tool_use",
          id: "t",
          name: "bash",
          arguments: cut,
          input: {},
          input_error: "cut off at the output limit"
        }
      ])
      const item = response.output[0]
      assert.strictEqual(item?.type === "function_call" ? item.status : undefined, "incomplete")
      const last = stream[stream.length - 1]
      assert.strictEqual(last?.type === "message_stop" ? last.stop_reason : undefined, "max_tokens")
    }
  })
})

describe("a call without a name is a call (invariants 3 and 4, 2.2, G9)", () => {
  const A = (name: unknown, deltas: ReadonlyArray<string>) =>
    decode("anthropic", [
      named({ type: "message_start" }),
      frame({
        type: "content_block_start",
        index: 0,
        content_block: { type: "tool_use", id: "t", input: {}, ...(name === undefined ? {} : { name }) }
      }),
      ...deltas.map((partial_json) =>
        frame({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json } })
      ),
      frame({ type: "content_block_stop", index: 0 }),
      frame({ type: "message_delta", delta: { stop_reason: "tool_use" } }),
      frame({ type: "message_stop" })
    ])
  const C = (name: unknown, deltas: ReadonlyArray<string>) =>
    decode("chat", [
      frame({
        choices: [{
          delta: {
            tool_calls: [{ index: 0, id: "t", function: { arguments: "", ...(name === undefined ? {} : { name }) } }]
          }
        }]
      }),
      ...deltas.map((text) =>
        frame({ choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: text } }] } }] })
      ),
      frame({ choices: [{ delta: {}, finish_reason: "tool_calls" }] }),
      frame("[DONE]")
    ])
  const R = (name: unknown, deltas: ReadonlyArray<string>) => {
    const item = {
      type: "function_call",
      id: "fc",
      call_id: "t",
      arguments: "",
      ...(name === undefined ? {} : { name })
    }
    const done = { ...item, arguments: deltas.join(""), status: "completed" }
    return decode("responses", [
      named({ type: "response.output_item.added", output_index: 0, item } as never),
      ...deltas.map((delta) =>
        named({ type: "response.function_call_arguments.delta", output_index: 0, item_id: "fc", delta } as never)
      ),
      named({ type: "response.output_item.done", output_index: 0, item: done } as never),
      named({ type: "response.completed", response: { status: "completed", output: [done] } } as never)
    ])
  }
  const whole = {
    anthropic: (name: string) =>
      decodeBody("anthropic", {
        stop_reason: "tool_use",
        content: [{ type: "tool_use", id: "t", name, input: { a: 1 } }]
      }),
    chat: (name: string) =>
      decodeBody("chat", {
        choices: [{
          finish_reason: "tool_calls",
          message: { tool_calls: [{ id: "t", type: "function", function: { name, arguments: "{\"a\":1}" } }] }
        }]
      }),
    responses: (name: string) =>
      decodeBody("responses", {
        status: "completed",
        output: [{ type: "function_call", id: "fc", call_id: "t", name, arguments: "{\"a\":1}" }]
      })
  }
  for (const [protocol, make] of Object.entries({ anthropic: A, chat: C, responses: R })) {
    for (const name of ["", undefined]) {
      for (const deltas of [["{\"a\"", ":1}"], ["{}"], []]) {
        it(`${protocol}, name ${JSON.stringify(name)}, arguments ${JSON.stringify(deltas.join(""))}`, () => {
          const { response, stream } = make(name, deltas)
          assert.strictEqual(response.stop?.reason, "tool_use")
          assert.deepStrictEqual(stream.filter((event) => event.type === "tool_use"), [{
            type: "tool_use",
            id: "t",
            name: "",
            arguments: deltas.length === 0 ? "{}" : deltas.join(""),
            input: deltas.length === 2 ? { a: 1 } : {}
          }])
        })
      }
    }
  }
  for (const [protocol, make] of Object.entries(whole)) {
    it(`${protocol}, in one piece`, () => {
      const { response, stream } = make("")
      assert.strictEqual(response.stop?.reason, "tool_use")
      assert.strictEqual(stream.filter((event) => event.type === "tool_use").length, 1)
    })
  }
})

describe("an answer goes back to the origin that gave it, byte for byte", () => {
  const names: ReadonlyArray<ProtocolName> = ["anthropic", "chat", "responses"]

  const sentBack = (name: ProtocolName, message: Message, origin: string): ReadonlyArray<unknown> => {
    const results = (typeof message.content === "string" ? [] : message.content).flatMap((
      part
    ): ReadonlyArray<Message> =>
      part.type === "tool_call" ? [{ role: "tool", tool_call_id: part.id, content: "r" }] : []
    )
    const { body } = protocols[name].encodeRequest(
      input({ messages: [{ role: "user", content: "q" }, message, ...results, { role: "user", content: "z" }], origin })
    )
    return (body["messages"] ?? body["input"]) as ReadonlyArray<unknown>
  }

  it.prop("Anthropic: thinking and signature", [plan], ([items]) => {
    const { stream } = decode("anthropic", render.anthropic(items, []))
    const turns = sentBack("anthropic", remember(stream), "fake:anthropic") as ReadonlyArray<
      { readonly content: ReadonlyArray<Record<string, unknown>> }
    >
    const thoughts = turns.flatMap((turn) => turn.content).filter((block) => block["type"] === "thinking")
    const planned = items.flatMap((item, i) =>
      item.kind === "think" ? [{ type: "thinking", thinking: whole(item), signature: `sig${i}` }] : []
    )
    // a turn of nothing but thinking is not sent
    if (items.some((item) => item.kind === "call" || (item.kind === "text" && whole(item).trim() !== ""))) {
      assert.deepStrictEqual(thoughts, planned)
    } else assert.deepStrictEqual(thoughts, [])
  })

  it.prop("Responses: encrypted content and the bytes of the arguments", [plan], ([items]) => {
    const { stream } = decode("responses", render.responses(items, []))
    const sent = sentBack("responses", remember(stream), "fake:responses") as ReadonlyArray<Record<string, unknown>>
    const last = items.findLastIndex((item) => item.kind !== "think")
    assert.deepStrictEqual(
      sent.filter((item) => item["type"] === "reasoning"),
      items.slice(0, last + 1).flatMap((item, i) =>
        item.kind === "think"
          ? [{
            type: "reasoning",
            summary: [{ type: "summary_text", text: whole(item) }],
            encrypted_content: `enc${i}`
          }]
          : []
      )
    )
    assert.deepStrictEqual(
      sent.filter((item) => item["type"] === "function_call").map((item) => item["arguments"]),
      items.flatMap((item) => item.kind === "call" ? [whole(item) === "" ? "{}" : whole(item)] : [])
    )
  })

  it.prop("Chat Completions: reasoning in its field and the bytes of the arguments", [plan], ([items]) => {
    const { stream } = decode("chat", render.chat(items, []))
    const sent = sentBack("chat", remember(stream), "fake:chat") as ReadonlyArray<Record<string, unknown>>
    const message = sent.find((entry) => entry["role"] === "assistant")
    const thoughts = joined(items).flatMap((item: Item) => item.kind === "think" ? [whole(item)] : []).join("")
    if (message === undefined) assert.isTrue(items.every((item) => item.kind === "think"))
    else assert.strictEqual(message["reasoning_content"] ?? "", thoughts)
    const calls = (message?.["tool_calls"] ?? []) as ReadonlyArray<
      { readonly function: { readonly arguments: string } }
    >
    assert.deepStrictEqual(
      calls.map((call) => call.function.arguments),
      items.flatMap((item) => item.kind === "call" ? [whole(item) === "" ? "{}" : whole(item)] : [])
    )
  })

  it.prop("another origin gets no reasoning at all", [
    plan,
    FastCheck.constantFrom(...names),
    FastCheck.constantFrom(...names)
  ], ([items, from, to]) => {
    const { stream } = decode(from, render[from](items, []))
    const sent = JSON.stringify(sentBack(to, remember(stream), "someone:else"))
    assert.notMatch(sent, /"signature"|encrypted_content|reasoning_content|"type":"(thinking|reasoning)"/)
  })
})

describe("ids that the upstream left out", () => {
  it("a given mint is used, with its kind and number", () => {
    const decoder = protocols.chat.streamDecoder(decodeOptions("chat", { mint: (kind, n) => `${kind}-${n}` }))
    const events = [
      ...decoder.push(
        frame({ choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "f", arguments: "{}" } }] } }] })
      ),
      ...decoder.end()
    ]
    const added = events.flatMap((event) => event.type === "response.output_item.added" ? [event.item] : [])
    assert.deepStrictEqual(added.map((item) => item.id), ["fc-1"])
    const item = added[0]
    assert.strictEqual(item?.type === "function_call" ? item.call_id : "", "call-2")
  })
})
