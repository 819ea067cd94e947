import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Message, Part, ReasoningReplay } from "../../src/domain/Message.ts"
import type { ToolDef } from "../../src/domain/Tool.ts"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { EncodedRequest, EncodeInput, ProtocolName } from "../../src/protocol/Protocol.ts"
import { input, protocols } from "./Support.ts"

const encode = (name: ProtocolName, over: Partial<EncodeInput> & Pick<EncodeInput, "messages">): EncodedRequest =>
  protocols[name].encodeRequest(input(over))
const body = (name: ProtocolName, over: Partial<EncodeInput> & Pick<EncodeInput, "messages">): JsonObject =>
  encode(name, over).body

type Obj = Readonly<Record<string, unknown>>
const list = (value: unknown): ReadonlyArray<Obj> => value as ReadonlyArray<Obj>
const messagesOf = (
  name: ProtocolName,
  over: Partial<EncodeInput> & Pick<EncodeInput, "messages">
): ReadonlyArray<Obj> => list(body(name, over)[name === "responses" ? "input" : "messages"])

const user = (text: string | ReadonlyArray<Part>): Message => ({ role: "user", content: text })
const system = (text: string): Message => ({ role: "system", content: text })
const assistant = (...parts: ReadonlyArray<Part>): Message => ({ role: "assistant", content: parts })
const call = (id: string, name: string, args: string): Part => ({ type: "tool_call", id, name, arguments: args })
const result = (id: string, content: string | ReadonlyArray<Part>, is_error = false): Message => ({
  role: "tool",
  tool_call_id: id,
  tool_name: "f",
  content,
  is_error
})
const text = (value: string): Part => ({ type: "text", text: value })
const thought = (value: string, replay: Omit<ReasoningReplay, "origin">, origin = "fake:test"): Part => ({
  type: "reasoning",
  text: value,
  replay: { origin, ...replay }
})
const image: Part = { type: "image", media_type: "image/png", data: "iVBORw0=" }
const pdf: Part = { type: "file", media_type: "application/pdf", data: "JVBERi0=", filename: "a.pdf" }
const tool = (
  name: string,
  input_schema: JsonObject = { type: "object", properties: { a: { type: "number" } }, required: ["a"] }
): ToolDef => ({ name, description: `does ${name}`, input_schema })

/** A conversation with everything in it. */
const conversation: ReadonlyArray<Message> = [
  system("You are terse."),
  system("Cwd: /x"),
  user("Look"),
  assistant(text("Looking."), call("c1", "f", "{\"a\": 1}"), call("c2", "g", "")),
  result("c1", "one"),
  result("c2", "boom", true),
  system("Mode: plan"),
  user([text("and this"), image, pdf])
]

const A = "anthropic"
const C = "chat"
const R = "responses"
const all: ReadonlyArray<ProtocolName> = [A, C, R]

describe("golden requests", () => {
  const over = {
    messages: conversation,
    tools: [tool("f"), tool("g", {})],
    max_output_tokens: 1000,
    session_id: "ses_1"
  }

  it("Anthropic Messages", () => {
    const cache_control = { type: "ephemeral" }
    assert.deepStrictEqual(body(A, { ...over, traits: { cache_control: true } }), {
      model: "fake-model",
      max_tokens: 1000,
      system: [{ type: "text", text: "You are terse.", cache_control }, { type: "text", text: "Cwd: /x" }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Look" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "c1", name: "f", input: { a: 1 } },
            { type: "tool_use", id: "c2", name: "g", input: {} }
          ]
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "one" },
            { type: "tool_result", tool_use_id: "c2", content: "boom", is_error: true, cache_control }
          ]
        },
        { role: "system", content: [{ type: "text", text: "Mode: plan" }] },
        {
          role: "user",
          content: [
            { type: "text", text: "and this" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0=" } },
            {
              type: "document",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              title: "a.pdf",
              cache_control
            }
          ]
        }
      ],
      tools: [
        {
          name: "f",
          description: "does f",
          input_schema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] }
        },
        { name: "g", description: "does g", input_schema: { type: "object", properties: {} }, cache_control }
      ],
      stream: true
    })
  })

  it("Chat Completions", () => {
    assert.deepStrictEqual(body(C, over), {
      model: "fake-model",
      messages: [
        { role: "system", content: "You are terse.\n\nCwd: /x" },
        { role: "user", content: "Look" },
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "f", arguments: "{\"a\": 1}" } },
            { id: "c2", type: "function", function: { name: "g", arguments: "{}" } }
          ]
        },
        { role: "tool", tool_call_id: "c1", content: "one" },
        { role: "tool", tool_call_id: "c2", content: "Error: boom" },
        { role: "system", content: "Mode: plan" },
        {
          role: "user",
          content: [
            { type: "text", text: "and this" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0=" } },
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } }
          ]
        }
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "f",
            description: "does f",
            parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
            strict: false
          }
        },
        {
          type: "function",
          function: { name: "g", description: "does g", parameters: { type: "object", properties: {} }, strict: false }
        }
      ],
      max_tokens: 1000,
      prompt_cache_key: "ses_1",
      stream: true,
      stream_options: { include_usage: true }
    })
  })

  it("Responses", () => {
    assert.deepStrictEqual(body(R, over), {
      model: "fake-model",
      instructions: "You are terse.\n\nCwd: /x",
      input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "Look" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Looking.", annotations: [] }] },
        { type: "function_call", call_id: "c1", name: "f", arguments: "{\"a\": 1}" },
        { type: "function_call", call_id: "c2", name: "g", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "one" },
        { type: "function_call_output", call_id: "c2", output: "Error: boom" },
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Mode: plan" }] },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "and this" },
            { type: "input_image", image_url: "data:image/png;base64,iVBORw0=", detail: "auto" },
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" }
          ]
        }
      ],
      tools: [
        {
          type: "function",
          name: "f",
          description: "does f",
          parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
          strict: false
        },
        {
          type: "function",
          name: "g",
          description: "does g",
          parameters: { type: "object", properties: {} },
          strict: false
        }
      ],
      max_output_tokens: 1000,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "ses_1",
      store: false,
      stream: true
    })
  })

  it("not streamed", () => {
    assert.strictEqual(body(A, { messages: [user("x")], stream: false })["stream"], false)
    assert.notProperty(body(C, { messages: [user("x")], stream: false }), "stream_options")
  })
})

describe("history (section 4)", () => {
  it("user text between call and result: results first (17, 40)", () => {
    const messages = [user("q"), assistant(call("c1", "f", "{}")), user("hurry"), result("c1", "done")]
    assert.deepStrictEqual(messagesOf(A, { messages })[2], {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "c1", content: "done" }, { type: "text", text: "hurry" }]
    })
    assert.deepStrictEqual(messagesOf(C, { messages }).map((m) => m["role"]), ["user", "assistant", "tool", "user"])
    assert.deepStrictEqual(messagesOf(R, { messages }).map((m) => m["type"]), [
      "message",
      "function_call",
      "function_call_output",
      "message"
    ])
  })

  it("an unanswered call gets a result", () => {
    const messages = [user("q"), assistant(call("c1", "f", "{}")), user("next")]
    assert.include(
      JSON.stringify(messagesOf(A, { messages })[2]),
      "\"tool_use_id\":\"c1\",\"content\":\"[no result recorded]\""
    )
    assert.deepStrictEqual(messagesOf(C, { messages })[2], {
      role: "tool",
      tool_call_id: "c1",
      content: "[no result recorded]"
    })
    assert.deepStrictEqual(messagesOf(R, { messages })[2], {
      type: "function_call_output",
      call_id: "c1",
      output: "[no result recorded]"
    })
  })

  it("a result without its call becomes user text and is reported", () => {
    for (const name of all) {
      const encoded = encode(name, { messages: [user("q"), result("ghost", "boo")] })
      assert.include(JSON.stringify(encoded.body), "boo")
      assert.notMatch(JSON.stringify(encoded.body), /tool_use_id|tool_call_id|call_id/)
      assert.isTrue(encoded.dropped.some((line) => line.includes("ghost")))
    }
  })

  it("duplicate call ids are rewritten on both sides, by position (17, 41)", () => {
    const messages = [
      user("q"),
      assistant(call("c", "f", "{\"n\":1}"), call("c", "f", "{\"n\":2}")),
      result("c", "one"),
      result("c", "two"),
      assistant(call("c", "f", "{\"n\":3}")),
      result("c", "three")
    ]
    const items = messagesOf(R, { messages }).slice(1)
    const ids = items.filter((i) => i["type"] === "function_call").map((i) => i["call_id"])
    assert.strictEqual(new Set(ids).size, 3)
    const outputs = new Map(
      items.filter((i) => i["type"] === "function_call_output").map((i) => [i["call_id"], i["output"]])
    )
    assert.deepStrictEqual(ids.map((id) => outputs.get(id)), ["one", "two", "three"])
  })

  it("an id with bad characters is cleaned on both sides of the pair (17, 42)", () => {
    const messages = [user("q"), assistant(call("c:1", "f", "{}")), result("c:1", "x")]
    for (const name of all) {
      const found = [...JSON.stringify(messagesOf(name, { messages })).matchAll(/c_1_[0-9a-f]{8}/g)].map(([id]) => id)
      assert.strictEqual(found.length, 2)
      assert.strictEqual(new Set(found).size, 1)
    }
  })

  it("Mistral takes ids of nine letters and digits", () => {
    const [, made, answered] = messagesOf(C, {
      model: "mistral-large",
      messages: [user("q"), assistant(call("call_1", "f", "{}")), result("call_1", "x")]
    })
    const id = list(made?.["tool_calls"])[0]?.["id"] as string
    assert.match(id, /^[A-Za-z0-9]{9}$/)
    assert.strictEqual(answered?.["tool_call_id"], id)
  })

  it("a leading assistant message gets [continued] before it for A only", () => {
    const messages = [system("s"), { ...assistant(text("summary")), kind: "summary" as const }, user("go")]
    assert.deepStrictEqual(messagesOf(A, { messages }).map((m) => m["role"]), ["user", "assistant", "user"])
    assert.include(JSON.stringify(messagesOf(A, { messages })[0]), "[continued]")
    assert.deepStrictEqual(messagesOf(C, { messages }).map((m) => m["role"]), ["system", "assistant", "user"])
  })

  it("a conversation for A ends with the user, and is never empty", () => {
    assert.deepStrictEqual(messagesOf(A, { messages: [user("q"), assistant(text("a"))] }).map((m) => m["role"]), [
      "user",
      "assistant",
      "user"
    ])
    assert.deepStrictEqual(messagesOf(A, { messages: [system("s")] }), [{
      role: "user",
      content: [{ type: "text", text: "[continued]" }]
    }])
  })

  it("consecutive turns of one role are merged for A", () => {
    const messages = [user("a"), user("b"), assistant(text("c")), assistant(text("d")), user("e")]
    assert.deepStrictEqual(messagesOf(A, { messages }), [
      { role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
      { role: "assistant", content: [{ type: "text", text: "c" }, { type: "text", text: "d" }] },
      { role: "user", content: [{ type: "text", text: "e" }] }
    ])
    assert.strictEqual(messagesOf(C, { messages }).length, 5)
  })

  it("calls of one turn that were stored as several messages are one assistant message", () => {
    const messages = [
      user("q"),
      assistant(call("a", "f", "{}")),
      assistant(call("b", "f", "{}")),
      result("a", "1"),
      result("b", "2")
    ]
    assert.deepStrictEqual(messagesOf(C, { messages }).map((m) => m["role"]), ["user", "assistant", "tool", "tool"])
  })

  it("text after a call splits only if results lie between (section 8)", () => {
    const one = [user("q"), assistant(text("a"), call("c", "f", "{}"), text("b")), result("c", "x")]
    assert.deepStrictEqual(messagesOf(C, { messages: one })[1]?.["content"], "ab")
    const two = [user("q"), assistant(call("c", "f", "{}")), result("c", "x"), assistant(text("b")), user("e")]
    assert.deepStrictEqual(messagesOf(C, { messages: two }).map((m) => m["role"]), [
      "user",
      "assistant",
      "tool",
      "assistant",
      "user"
    ])
  })

  it("never an empty text block to A", () => {
    const encoded = JSON.stringify(
      body(A, { messages: [system(" "), user(""), user([text(""), text(" \n")]), assistant(text("")), user("x")] })
    )
    assert.notMatch(encoded, /"text":"(\s|\\n)*"/)
  })

  it("a system message in mid-conversation keeps its place (17, 28)", () => {
    const messages = [system("s"), user("a"), system("note"), user("b")]
    assert.deepStrictEqual(messagesOf(A, { messages, traits: { cache_control: true } }).map((m) => m["role"]), [
      "user",
      "system",
      "user"
    ])
    assert.deepStrictEqual(messagesOf(A, { messages })[0], {
      role: "user",
      content: [{ type: "text", text: "a" }, { type: "text", text: "<system>\nnote\n</system>" }, {
        type: "text",
        text: "b"
      }]
    })
    assert.isTrue(encode(A, { messages }).dropped.some((line) => line.startsWith("system")))
    assert.deepStrictEqual(messagesOf(C, { messages }).map((m) => m["role"]), ["system", "user", "system", "user"])
    assert.deepStrictEqual(messagesOf(R, { messages }).map((m) => m["role"]), ["user", "developer", "user"])
  })

  it("invalid argument JSON: _raw for A, byte-exact for C and R", () => {
    for (const args of ["{\"a\": ", "[1]", "\"x\"", "nope"]) {
      const messages = [user("q"), assistant(call("c", "f", args)), result("c", "x")]
      assert.deepStrictEqual(list(messagesOf(A, { messages })[1]?.["content"])[0]?.["input"], { _raw: args })
      assert.deepStrictEqual(list(messagesOf(C, { messages })[1]?.["tool_calls"])[0]?.["function"], {
        name: "f",
        arguments: args
      })
      assert.strictEqual(messagesOf(R, { messages })[1]?.["arguments"], args)
    }
  })

  it("argument text is byte-exact for C and R", () => {
    const args = "{ \"b\" : 1e2,\"a\":\"\\u00e9\" }"
    const messages = [user("q"), assistant(call("c", "f", args)), result("c", "x")]
    assert.strictEqual(messagesOf(R, { messages })[1]?.["arguments"], args)
    assert.include(JSON.stringify(messagesOf(C, { messages })[1]), JSON.stringify(args))
  })

  it("is_error: prefix for C and R unless the text starts so", () => {
    const messages = [
      user("q"),
      assistant(call("a", "f", "{}"), call("b", "f", "{}"), call("c", "f", "{}")),
      result("a", "Error: x", true),
      result("b", "x", true),
      result("c", "", true)
    ]
    assert.deepStrictEqual(messagesOf(C, { messages }).slice(2).map((m) => m["content"]), [
      "Error: x",
      "Error: x",
      "Error: failed"
    ])
    assert.deepStrictEqual(
      list(messagesOf(A, { messages })[2]?.["content"]).map((b) => [b["content"], b["is_error"]]),
      [["Error: x", true], ["x", true], ["failed", true]]
    )
  })

  it("missing content of a result is the empty text", () => {
    const messages = [user("q"), assistant(call("a", "f", "{}")), result("a", "")]
    assert.strictEqual(messagesOf(C, { messages })[2]?.["content"], "")
    assert.strictEqual(list(messagesOf(A, { messages })[2]?.["content"])[0]?.["content"], "")
    assert.strictEqual(messagesOf(R, { messages })[2]?.["output"], "")
  })

  it("images in results: in place for A and R, after all results for C (17, 39)", () => {
    const messages = [
      user("q"),
      assistant(call("a", "f", "{}"), call("b", "f", "{}")),
      result("a", [text("see"), image]),
      result("b", "x")
    ]
    assert.deepStrictEqual(list(messagesOf(A, { messages })[2]?.["content"])[0]?.["content"], [
      { type: "text", text: "see" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0=" } }
    ])
    assert.deepStrictEqual(messagesOf(R, { messages })[3]?.["output"], [
      { type: "input_text", text: "see" },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0=", detail: "auto" }
    ])
    assert.deepStrictEqual(messagesOf(C, { messages }).slice(2), [
      { role: "tool", tool_call_id: "a", content: "see\n[image 1 follows in the next user message]" },
      { role: "tool", tool_call_id: "b", content: "x" },
      {
        role: "user",
        content: [{ type: "text", text: "[image 1, from the result of f]" }, {
          type: "image_url",
          image_url: { url: "data:image/png;base64,iVBORw0=" }
        }]
      }
    ])
  })

  it("models without images or documents get a note", () => {
    for (const name of all) {
      const encoded = encode(name, { messages: [user([image, pdf])], traits: { images: false, documents: false } })
      assert.notMatch(JSON.stringify(encoded.body), /iVBOR|JVBER/)
      assert.include(JSON.stringify(encoded.body), "image left out")
      assert.include(JSON.stringify(encoded.body), "a.pdf")
      assert.strictEqual(encoded.dropped.length, 2)
    }
  })

  it("images and documents that a provider would refuse become a note, and are mended where they can be", () => {
    const png = "iVBORw0KGgoAAAANSUhEUg=="
    const bad: ReadonlyArray<readonly [Part, RegExp]> = [
      [{ type: "image", media_type: "image/png", data: "!!!" }, /image left out: its data is no base64/],
      [{ type: "image", media_type: "image/png", data: "" }, /image left out: its data is no base64/],
      [{ type: "image", media_type: "image/png", data: "iVBOR" }, /image left out: its data is no base64/],
      [{ type: "image", media_type: "image/svg+xml", data: btoa("<svg/>") }, /image left out: it is no PNG/],
      [{ type: "image", media_type: "image/png", data: btoa("<html>") }, /image left out: it is no PNG/],
      [{ type: "image", media_type: "image/png", data: png.slice(0, -2).padEnd(5 * 1024 * 1024 + 4, "A") }, /5 MiB/],
      [
        { type: "file", media_type: "application/pdf", data: "@@", filename: "b.pdf" },
        /file left out: its data is no base64/
      ]
    ]
    for (const name of all) {
      for (const [part, note] of bad) {
        const encoded = encode(name, { messages: [user([text("a"), part]), assistant(text("b")), user("c")] })
        assert.match(JSON.stringify(encoded.body), note)
        assert.strictEqual(encoded.dropped.length, 1, name)
      }
      const mended: ReadonlyArray<readonly [string, string, string]> = [
        ["image/png", `${png.slice(0, 8)}\n${png.slice(8)}`, "image/png"],
        ["image/png", png.replace("==", ""), "image/png"],
        ["image/jpg", "/9j/4AAQ", "image/jpeg"],
        ["image/png", "R0lGODlh", "image/gif"],
        ["application/octet-stream", btoa("RIFF1234WEBPVP8 "), "image/webp"]
      ]
      for (const [media_type, data, really] of mended) {
        const encoded = encode(name, { messages: [user([{ type: "image", media_type, data }])] })
        assert.include(JSON.stringify(encoded.body), really)
        assert.notInclude(JSON.stringify(encoded.body), "left out")
        assert.notInclude(JSON.stringify(encoded.body), "\\n")
        assert.deepStrictEqual(encoded.dropped, [])
      }
    }
  })

  it("images by address", () => {
    const messages = [user([{ type: "image", media_type: "image/png", url: "https://a.example/x.png" }])]
    assert.include(
      JSON.stringify(messagesOf(A, { messages })),
      "{\"type\":\"url\",\"url\":\"https://a.example/x.png\"}"
    )
    assert.include(JSON.stringify(messagesOf(C, { messages })), "https://a.example/x.png")
    assert.include(JSON.stringify(messagesOf(R, { messages })), "https://a.example/x.png")
  })

  it("text files", () => {
    const messages = [user([{ type: "file", media_type: "text/markdown", data: btoa("# hi"), filename: "a.md" }])]
    assert.include(JSON.stringify(messagesOf(A, { messages })), "# hi")
    assert.include(JSON.stringify(messagesOf(C, { messages })), "# hi")
  })
})

describe("reasoning replay", () => {
  it("only to the origin that made it", () => {
    for (const name of all) {
      const encoded = encode(name, {
        messages: [
          user("q"),
          assistant(
            thought("secret", { signature: "S", encrypted_content: "E", field: "reasoning_content" }, "other:x"),
            text("a")
          ),
          user("b")
        ]
      })
      assert.notInclude(JSON.stringify(encoded.body), "secret")
      assert.isTrue(encoded.dropped.some((line) => line.startsWith("reasoning")))
    }
  })

  it("never to a model that does not reason", () => {
    for (const name of all) {
      const encoded = encode(name, {
        messages: [
          user("q"),
          assistant(
            thought("secret", { signature: "S", encrypted_content: "E", field: "reasoning_content" }),
            text("a")
          ),
          user("b")
        ],
        traits: { reasoning: false }
      })
      assert.notInclude(JSON.stringify(encoded.body), "secret")
    }
  })

  it("A: signature and redacted data byte for byte, unsigned thinking dropped (17, 23)", () => {
    const messages = [
      user("q"),
      assistant(
        thought("t", { signature: "AB+/==" }),
        thought("", { redacted_data: "D" }),
        thought("unsigned", {}),
        text("a")
      ),
      user("b")
    ]
    assert.deepStrictEqual(messagesOf(A, { messages })[1]?.["content"], [
      { type: "thinking", thinking: "t", signature: "AB+/==" },
      { type: "redacted_thinking", data: "D" },
      { type: "text", text: "a" }
    ])
  })

  it("A: a turn of nothing but thinking is no turn", () => {
    assert.deepStrictEqual(
      messagesOf(A, { messages: [user("q"), assistant(thought("t", { signature: "S" })), user("b")] }).length,
      1
    )
  })

  it("R: encrypted content without item ids (17, 26)", () => {
    const messages = [
      user("q"),
      assistant(thought("s", { id: "rs_1", encrypted_content: "E", summary: true }), call("c", "f", "{}")),
      result("c", "x")
    ]
    assert.deepStrictEqual(messagesOf(R, { messages })[1], {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "s" }],
      encrypted_content: "E"
    })
  })

  it("R: raw reasoning of open models", () => {
    const messages = [user("q"), assistant(thought("raw", { id: "rs_1" }), text("a")), user("b")]
    assert.deepStrictEqual(messagesOf(R, { messages })[1], {
      type: "reasoning",
      summary: [],
      content: [{ type: "reasoning_text", text: "raw" }]
    })
  })

  it("R: a summary without encryption cannot be sent back", () => {
    const messages = [user("q"), assistant(thought("s", { id: "rs_1", summary: true }), text("a")), user("b")]
    assert.strictEqual(messagesOf(R, { messages }).length, 3)
  })

  it("R: reasoning that nothing follows is left out", () => {
    const messages = [user("q"), assistant(thought("s", { encrypted_content: "E" })), user("b")]
    assert.strictEqual(messagesOf(R, { messages }).length, 2)
  })

  it("C: in the field it came in (17, 25)", () => {
    const messages = [
      user("q"),
      assistant(
        thought("hm ", { field: "reasoning_content" }),
        thought("so", { field: "reasoning_content" }),
        call("c", "f", "{}")
      ),
      result("c", "x")
    ]
    assert.deepStrictEqual(messagesOf(C, { messages })[1], {
      role: "assistant",
      content: null,
      reasoning_content: "hm so",
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]
    })
  })

  it("C: reasoning_details unchanged", () => {
    const details = [{ type: "reasoning.text", text: "t", signature: "S" }]
    const messages = [
      user("q"),
      assistant(thought("t", { field: "reasoning_details", encrypted_content: JSON.stringify(details) }), text("a")),
      user("b")
    ]
    assert.deepStrictEqual(messagesOf(C, { messages })[1]?.["reasoning_details"], details)
  })

  it("C: the signature of a call goes back on the call", () => {
    const messages = [
      user("q"),
      assistant(call("c", "f", "{}"), thought("", { id: "c", signature: "SIG", field: "thought_signature" })),
      result("c", "x")
    ]
    assert.deepStrictEqual(list(messagesOf(C, { messages })[1]?.["tool_calls"])[0]?.["extra_content"], {
      google: { thought_signature: "SIG" }
    })
  })
})

describe("tools", () => {
  const messages = [user("q")]
  it("schema repair: type and properties, unknown keys stay (17, 47)", () => {
    const schema = (input_schema: JsonObject) =>
      list(body(A, { messages, tools: [tool("f", input_schema)] })["tools"])[0]?.["input_schema"]
    assert.deepStrictEqual(schema({}), { type: "object", properties: {} })
    assert.deepStrictEqual(schema({ $schema: "x", additionalProperties: false }), {
      $schema: "x",
      additionalProperties: false,
      type: "object",
      properties: {}
    })
    assert.deepStrictEqual(schema({ type: "custom" }), { type: "object", properties: {} })
    assert.deepStrictEqual(
      schema({ type: "object", anyOf: [{ properties: { a: {} }, required: ["a"] }, { properties: { b: {} } }] }),
      { type: "object", properties: { a: {}, b: {} } }
    )
  })

  it("long names are sent short, everywhere, and mapped back (1.9)", () => {
    const long = "mcp__server__" + "x".repeat(70)
    for (const name of all) {
      const encoded = encode(name, {
        messages: [user("q"), assistant(call("c", long, "{}")), result("c", "x")],
        tools: [tool(long)],
        tool_choice: { name: long }
      })
      assert.notInclude(JSON.stringify(encoded.body).replace(`does ${long}`, ""), long)
      const [short, canonical] = [...encoded.names][0] ?? []
      assert.strictEqual(canonical, long)
      assert.strictEqual(JSON.stringify(encoded.body).split(`"${short}"`).length, 4)
    }
    assert.strictEqual(encode(C, { messages, tools: [tool("f")] }).names.size, 0)
  })

  it("A: a history with calls but no tools (a summary) names them, and none may be called", () => {
    const made = body(A, { messages: [user("q"), assistant(call("c", "f", "{}")), result("c", "x"), user("sum up")] })
    assert.deepStrictEqual(made["tools"], [{ name: "f", input_schema: { type: "object", properties: {} } }])
    assert.deepStrictEqual(made["tool_choice"], { type: "none" })
    assert.notProperty(body(A, { messages }), "tools")
  })

  it("R: an input is never empty", () => {
    assert.deepStrictEqual(messagesOf(R, { messages: [system("s")] }), [
      { type: "message", role: "user", content: [{ type: "input_text", text: "[continued]" }] }
    ])
  })

  it("a tool defined twice is sent once", () => {
    for (const name of all) {
      assert.strictEqual(list(body(name, { messages, tools: [tool("f"), tool("f")] })["tools"]).length, 1)
    }
  })

  it("tool_choice", () => {
    const choice = (name: ProtocolName, tool_choice: NonNullable<EncodeInput["tool_choice"]>) =>
      body(name, { messages, tools: [tool("f")], tool_choice })["tool_choice"]
    assert.deepStrictEqual(choice(A, "auto"), { type: "auto" })
    assert.deepStrictEqual(choice(A, "required"), { type: "any" })
    assert.deepStrictEqual(choice(A, "none"), { type: "none" })
    assert.deepStrictEqual(choice(A, { name: "f" }), { type: "tool", name: "f" })
    assert.deepStrictEqual(choice(C, { name: "f" }), { type: "function", function: { name: "f" } })
    assert.deepStrictEqual(choice(R, { name: "f" }), { type: "function", name: "f" })
    for (const name of [C, R] as const) {
      for (const word of ["auto", "required", "none"] as const) assert.strictEqual(choice(name, word), word)
    }
  })

  it("parallel calls: inverted for A, created with auto, omitted without tools", () => {
    assert.deepStrictEqual(body(A, { messages, tools: [tool("f")], parallel_tool_calls: false })["tool_choice"], {
      type: "auto",
      disable_parallel_tool_use: true
    })
    assert.deepStrictEqual(
      body(A, { messages, tools: [tool("f")], parallel_tool_calls: false, tool_choice: "required" })["tool_choice"],
      { type: "any", disable_parallel_tool_use: true }
    )
    for (const name of [C, R] as const) {
      assert.strictEqual(
        body(name, { messages, tools: [tool("f")], parallel_tool_calls: false })["parallel_tool_calls"],
        false
      )
    }
    for (const name of all) {
      const bare = body(name, { messages, parallel_tool_calls: false, tool_choice: "required" })
      for (const key of ["tools", "tool_choice", "parallel_tool_calls"]) assert.notProperty(bare, key)
    }
  })

  it("A: a forced tool with thinking falls back to auto", () => {
    const encoded = encode(A, { messages, tools: [tool("f")], tool_choice: "required", effort: "high" })
    assert.deepStrictEqual(encoded.body["tool_choice"], { type: "auto" })
    assert.isTrue(encoded.dropped.some((line) => line.startsWith("tool_choice")))
  })
})

describe("limits and sampling", () => {
  const messages = [user("q")]
  it("A always names max_tokens: asked, else the model's limit, else a default by its window", () => {
    const max = (over: Partial<EncodeInput>) => body(A, { messages, ...over })["max_tokens"]
    assert.strictEqual(max({}), 32_000)
    assert.strictEqual(max({ traits: { max_output_tokens: 64_000 } }), 64_000)
    assert.strictEqual(max({ traits: { context_window: 8_192 } }), 2_048)
    assert.strictEqual(max({ max_output_tokens: 100, traits: { max_output_tokens: 64_000 } }), 100)
    assert.strictEqual(max({ max_output_tokens: 99_999, traits: { max_output_tokens: 8_192 } }), 8_192)
  })

  it("C: max_completion_tokens where max_tokens is refused (17, 44)", () => {
    assert.deepInclude(body(C, { messages, max_output_tokens: 9, model: "gpt-5-mini" }), { max_completion_tokens: 9 })
    assert.deepInclude(body(C, { messages, max_output_tokens: 9, model: "o3" }), { max_completion_tokens: 9 })
    assert.deepInclude(body(C, { messages, max_output_tokens: 9, model: "gpt-oss-20b" }), { max_tokens: 9 })
    assert.deepInclude(body(C, { messages, max_output_tokens: 9, traits: { max_completion_tokens: true } }), {
      max_completion_tokens: 9
    })
    assert.notProperty(body(C, { messages }), "max_tokens")
  })

  it("R: at least 16", () => {
    assert.strictEqual(body(R, { messages, max_output_tokens: 5 })["max_output_tokens"], 16)
  })

  it("temperature is clamped, and dropped where it is refused", () => {
    assert.strictEqual(body(A, { messages, temperature: 1.7 })["temperature"], 1)
    for (const name of [C, R] as const) {
      assert.strictEqual(body(name, { messages, temperature: 2.5 })["temperature"], 2)
      assert.notProperty(body(name, { messages, temperature: 1, traits: { reasoning: true } }), "temperature")
    }
    assert.notProperty(body(A, { messages, temperature: 1, effort: "low" }), "temperature")
    assert.deepInclude(body(A, { messages, top_p: 0.5 }), { top_p: 0.5 })
  })

  it("stop: sequences for A, four for C, none for R; the rest is cut locally", () => {
    const stop = ["a", "b", "c", "d", "e", " "]
    assert.deepStrictEqual(body(A, { messages, stop })["stop_sequences"], ["a", "b", "c", "d", "e"])
    assert.deepStrictEqual(encode(A, { messages, stop }).local_stop, [" "])
    assert.deepStrictEqual(body(C, { messages, stop })["stop"], ["a", "b", "c", "d"])
    assert.deepStrictEqual(encode(C, { messages, stop }).local_stop, ["e", " "])
    assert.notProperty(body(R, { messages, stop }), "stop")
    assert.deepStrictEqual(encode(R, { messages, stop }).local_stop, stop)
    assert.deepStrictEqual(encode(C, { messages, stop: ["x"], model: "o3" }).local_stop, ["x"])
  })
})

describe("effort", () => {
  const messages = [user("q")]
  it("A: a budget below max_tokens, or adaptive with an effort, never both", () => {
    const thinking = (over: Partial<EncodeInput>) => {
      const { output_config, thinking } = body(A, { messages, ...over }) as Record<string, unknown>
      return { thinking, output_config }
    }
    assert.deepStrictEqual(thinking({}), { thinking: undefined, output_config: undefined })
    assert.deepStrictEqual(thinking({ effort: "none" }), { thinking: { type: "disabled" }, output_config: undefined })
    assert.deepStrictEqual(thinking({ effort: "medium" }), {
      thinking: { type: "enabled", budget_tokens: 16_384 },
      output_config: undefined
    })
    assert.deepStrictEqual(thinking({ effort: "high", max_output_tokens: 8_000 }), {
      thinking: { type: "enabled", budget_tokens: 6_000 },
      output_config: undefined
    })
    assert.deepStrictEqual(thinking({ effort: "high", max_output_tokens: 1_500 }), {
      thinking: undefined,
      output_config: undefined
    })
    assert.deepStrictEqual(thinking({ effort: "minimal", traits: { adaptive_thinking: true } }), {
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" }
    })
    assert.deepStrictEqual(thinking({ effort: "max", traits: { adaptive_thinking: true } }), {
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "max" }
    })
    assert.deepStrictEqual(thinking({ effort: "high", traits: { reasoning: false } }), {
      thinking: undefined,
      output_config: undefined
    })
  })

  it("A: no budget while the open answer has no signed thinking (17, 24)", () => {
    const open = (
      ...parts: ReadonlyArray<Part>
    ) => [user("q"), assistant(...parts, call("c", "f", "{}")), result("c", "x")]
    assert.notProperty(body(A, { messages: open(text("a")), effort: "high" }), "thinking")
    assert.property(body(A, { messages: open(thought("t", { signature: "S" })), effort: "high" }), "thinking")
    assert.property(
      body(A, { messages: [...open(text("a")), assistant(text("done")), user("next")], effort: "high" }),
      "thinking"
    )
    const later = [...open(thought("t", { signature: "S" })), assistant(call("d", "f", "{}")), result("d", "y")]
    assert.property(body(A, { messages: later, effort: "high" }), "thinking")
  })

  it("C and R", () => {
    assert.strictEqual(body(C, { messages, effort: "high" })["reasoning_effort"], "high")
    assert.notProperty(body(C, { messages, effort: "high", traits: { reasoning: false } }), "reasoning_effort")
    assert.deepStrictEqual(body(R, { messages, effort: "high" })["reasoning"], { effort: "high", summary: "auto" })
    assert.deepStrictEqual(body(R, { messages, effort: "none" })["reasoning"], { effort: "none" })
    assert.deepStrictEqual(body(R, { messages, traits: { reasoning: true } })["reasoning"], { summary: "auto" })
    const plain = body(R, { messages, effort: "high", traits: { reasoning: false } })
    assert.notProperty(plain, "reasoning")
    assert.notProperty(plain, "include")
  })
})

describe("headers", () => {
  it("exactly one key header, and the version", () => {
    assert.deepStrictEqual(protocols.anthropic.headers("k"), { "anthropic-version": "2023-06-01", "x-api-key": "k" })
    assert.deepStrictEqual(protocols.anthropic.headers(null), { "anthropic-version": "2023-06-01" })
    for (const name of [C, R] as const) {
      assert.deepStrictEqual(protocols[name].headers("k"), { authorization: "Bearer k" })
      assert.deepStrictEqual(protocols[name].headers(null), {})
    }
  })
})

describe("any history is a legal request", () => {
  const id = FastCheck.constantFrom("a", "b", "c:1", "", "x".repeat(70))
  const part = FastCheck.oneof(
    FastCheck.record({
      type: FastCheck.constant("text" as const),
      text: FastCheck.constantFrom("", " ", "t", "Error: x")
    }),
    FastCheck.record({
      type: FastCheck.constant("tool_call" as const),
      id,
      name: FastCheck.constantFrom("f", "g"),
      arguments: FastCheck.constantFrom("", "{}", "{\"a\":1}", "{bad")
    }),
    FastCheck.constantFrom(
      thought("t", { signature: "S", encrypted_content: "E", field: "reasoning_content" }),
      thought("u", {}),
      image
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
      content: FastCheck.constantFrom("", "r"),
      is_error: FastCheck.boolean()
    })
  )
  const messages = FastCheck.array(message, { maxLength: 12 })

  it.prop("A: alternating, user first and last, each call answered at once, no empty text", [
    messages,
    FastCheck.boolean()
  ], ([history, cache_control]) => {
    const turns = messagesOf(A, { messages: history, traits: { cache_control } })
    const spoken = turns.filter((turn) => turn["role"] !== "system")
    assert.strictEqual(spoken[0]?.["role"], "user")
    assert.strictEqual(spoken[spoken.length - 1]?.["role"], "user")
    const seen = new Set<unknown>()
    turns.forEach((turn, i) => {
      const content = list(turn["content"])
      assert.isAbove(content.length, 0)
      if (i > 0) assert.notStrictEqual(turns[i - 1]?.["role"], turn["role"])
      for (const block of content) {
        if (block["type"] === "text") assert.notStrictEqual((block["text"] as string).trim(), "")
      }
      const uses = content.filter((block) => block["type"] === "tool_use").map((block) => block["id"])
      for (const use of uses) {
        assert.match(use as string, /^[A-Za-z0-9_-]{1,64}$/)
        assert.isFalse(seen.has(use))
        seen.add(use)
      }
      const results = content.filter((block) => block["type"] === "tool_result")
      if (results.length > 0) {
        const before = list(turns[i - 1]?.["content"]).filter((block) => block["type"] === "tool_use").map((block) =>
          block["id"]
        )
        assert.deepStrictEqual(results.map((block) => block["tool_use_id"]), before)
        assert.deepStrictEqual(content.slice(0, results.length), results, "results lead the turn")
      } else if (uses.length > 0) {
        assert.deepStrictEqual(
          list(turns[i + 1]?.["content"]).slice(0, uses.length).map((block) => block["tool_use_id"]),
          uses
        )
      }
    })
    assert.isAtMost(JSON.stringify(turns).split("cache_control").length - 1, 2)
  })

  it.prop("C and R: each call is followed by its results, ids are unique", [messages], ([history]) => {
    const chat = messagesOf(C, { messages: history })
    chat.forEach((entry, i) => {
      const calls = entry["tool_calls"] === undefined ? [] : list(entry["tool_calls"]).map((made) => made["id"])
      assert.deepStrictEqual(chat.slice(i + 1, i + 1 + calls.length).map((next) => next["tool_call_id"]), calls)
      if (entry["role"] === "tool") {
        const owner = chat.slice(0, i).findLast((before) => before["role"] !== "tool")
        assert.isTrue(list(owner?.["tool_calls"]).some((made) => made["id"] === entry["tool_call_id"]))
      }
    })
    const items = messagesOf(R, { messages: history })
    const calls = items.filter((item) => item["type"] === "function_call").map((item) => item["call_id"])
    const outputs = items.filter((item) => item["type"] === "function_call_output").map((item) => item["call_id"])
    assert.deepStrictEqual(outputs, calls)
    assert.strictEqual(new Set(calls).size, calls.length)
  })

  it.prop("nothing a user or a tool said is lost", [
    FastCheck.array(FastCheck.tuple(FastCheck.constantFrom("user" as const, "tool" as const), id), { maxLength: 10 })
  ], ([entries]) => {
    const history = entries.map(([role, call_id], i): Message => ({
      role,
      tool_call_id: call_id,
      content: `said-${i}-end`
    }))
    for (const name of all) {
      const encoded = JSON.stringify(body(name, { messages: history }))
      history.forEach((_, i) => assert.strictEqual(encoded.split(`said-${i}-end`).length, 2))
    }
  })

  it.prop("the same input gives the same request", [messages], ([history]) => {
    for (const name of all) {
      assert.deepStrictEqual(encode(name, { messages: history }), encode(name, { messages: history }))
    }
  })
})
