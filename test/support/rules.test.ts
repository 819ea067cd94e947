/** What the scripted upstream refuses: one broken rule a row, on top of a request that is accepted. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startUpstream, type Upstream } from "./upstream/index.ts"

type Json = Record<string, unknown>

let server: Upstream
beforeAll(async () => {
  server = await startUpstream({ tool_turns: 9, thinking: true })
})
afterAll(() => server.close())

const send = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(`${server.url}/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: "Bearer k",
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...headers
    },
    body: JSON.stringify(body)
  })
  return { status: response.status, text: await response.text() }
}

const accepted = async (path: string, body: unknown) => {
  const { status, text } = await send(path, body)
  assert.strictEqual(status, 200, text)
}
const refused = async (path: string, body: unknown, words: string) => {
  const { status, text } = await send(path, body)
  assert.strictEqual(status, 400, `accepted, but should say: ${words}`)
  assert.include(JSON.stringify(JSON.parse(text)).replaceAll("\\\"", "\""), words)
  assert.include(server.log.at(-1)?.violation ?? "", words)
}

const schema = { type: "object", properties: { command: { type: "string" } } }
const user = (content: unknown) => ({ role: "user", content })
const assistant = (content: unknown, more: Json = {}) => ({ role: "assistant", content, ...more })

describe("Anthropic Messages", () => {
  const use = (id: string, more: Json = {}) => ({ type: "tool_use", id, name: "bash", input: {}, ...more })
  const result = (id: string, more: Json = {}) => ({ type: "tool_result", tool_use_id: id, content: "ok", ...more })
  const text = { type: "text", text: "t" }
  const base: Json = { model: "m", max_tokens: 100, tools: [{ name: "bash", input_schema: schema }] }
  const history = [user("go"), assistant([text, use("a"), use("b")]), user([result("a"), result("b"), text])]

  it("accepts a legal history, system blocks, cache hints, thinking and a system turn in the middle", async () => {
    await accepted("messages", { ...base, messages: history })
    await accepted("messages", {
      ...base,
      max_tokens: 9000,
      system: [{ type: "text", text: "be brief", cache_control: { type: "ephemeral" } }],
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
      tool_choice: { type: "auto", disable_parallel_tool_use: true },
      messages: [...history, { role: "system", content: "note" }, assistant("hm"), user("more")]
    })
  })

  const png = { type: "base64", media_type: "image/png", data: "aGk=" }
  const rows: ReadonlyArray<readonly [string, Json, string]> = [
    ["no max_tokens", { max_tokens: undefined }, "max_tokens: Field required"],
    ["an unknown key", { prompt_cache_key: "x" }, "extra inputs are not permitted"],
    ["no message", { messages: [] }, "at least one message"],
    ["assistant first", { messages: [assistant("x"), user("y")] }, "first message must use the \"user\" role"],
    ["two user turns in a row", { messages: [user("x"), user("y")] }, "roles must alternate"],
    ["two assistant turns in a row", { messages: [user("x"), assistant("a"), assistant("b"), user("y")] }, "alternate"],
    ["role tool", { messages: [user("x"), { role: "tool", content: "y" }] }, "role"],
    ["system first", { messages: [{ role: "system", content: "x" }, user("y")] }, "first message"],
    ["a prefill", { messages: [user("x"), assistant("y")] }, "must end with a user message"],
    ["empty content", { messages: [user("")] }, "non-empty content"],
    ["an empty text block", { messages: [user([{ type: "text", text: "" }])] }, "must be non-empty"],
    ["a blank text block", { messages: [user([{ type: "text", text: " \n" }])] }, "non-whitespace"],
    ["an empty system block", { system: [{ type: "text", text: "" }] }, "system: text content blocks"],
    ["an unanswered call", { messages: [user("x"), assistant([use("a")]), user("y")] }, "without `tool_result`"],
    ["a call at the end", { messages: [user("x"), assistant([use("a")])] }, "without `tool_result`"],
    [
      "one of two answered",
      { messages: [user("x"), assistant([use("a"), use("b")]), user([result("b")])] },
      "immediately after: a"
    ],
    ["an orphan result", { messages: [user([result("a")])] }, "unexpected `tool_use_id`"],
    [
      "a result one turn late",
      { messages: [...history, assistant("x"), user([result("a")])] },
      "unexpected `tool_use_id`"
    ],
    [
      "a result twice",
      { messages: [user("x"), assistant([use("a")]), user([result("a"), result("a")])] },
      "single result"
    ],
    ["text before results", { messages: [user("x"), assistant([use("a")]), user([text, result("a")])] }, "come first"],
    ["a duplicate id", { messages: [user("x"), assistant([use("a"), use("a")]), user([result("a")])] }, "unique"],
    [
      "an id used again later",
      { messages: [...history, assistant([use("a")]), user([result("a")])] },
      "ids must be unique"
    ],
    ["a bad id", { messages: [user("x"), assistant([use("a.b")]), user([result("a.b")])] }, "match pattern"],
    ["a call of a user", { messages: [user([use("a")])] }, "only be in `assistant`"],
    [
      "input as text",
      { messages: [user("x"), assistant([use("a", { input: "{}" })]), user([result("a")])] },
      "dictionary"
    ],
    [
      "an unknown key in a block",
      { messages: [user("x"), assistant([use("a", { index: 0 })]), user([result("a")])] },
      "index: unknown parameter"
    ],
    ["calls without tools", { tools: undefined, messages: history }, "must define tools"],
    ["an empty text in a result", {
      messages: [user("x"), assistant([use("a")]), user([result("a", { content: [{ type: "text", text: "" }] })])]
    }, "non-empty"],
    ["a forged signature", {
      messages: [user("x"), assistant([{ type: "thinking", thinking: "hm", signature: "forged" }, text]), user("y")]
    }, "Invalid `signature`"],
    ["thinking without signature", {
      messages: [user("x"), assistant([{ type: "thinking", thinking: "hm" }, text]), user("y")]
    }, "Invalid `signature`"],
    ["no thinking at the head of an open tool turn", {
      max_tokens: 5000,
      thinking: { type: "enabled", budget_tokens: 2000 },
      messages: history
    }, "must start with a thinking block"],
    ["a budget that is no budget", { thinking: { type: "enabled", budget_tokens: 2000 } }, "greater than"],
    ["a temperature with thinking", { thinking: { type: "adaptive" }, temperature: 0.2 }, "temperature"],
    ["a temperature above 1", { temperature: 1.5 }, "temperature"],
    [
      "a forced tool with thinking",
      { thinking: { type: "adaptive" }, tool_choice: { type: "any" } },
      "forces tool use"
    ],
    ["a choice without tools", { tools: undefined, tool_choice: { type: "auto" } }, "while providing tools"],
    ["the choice of an unknown tool", { tool_choice: { type: "tool", name: "x" } }, "not found"],
    ["a tool name with a dot", { tools: [{ name: "a.b", input_schema: schema }] }, "must match"],
    ["a tool name of 65", { tools: [{ name: "a".repeat(65), input_schema: schema }] }, "must match"],
    ["a tool twice", { tools: [0, 1].map(() => ({ name: "x", input_schema: schema })) }, "unique"],
    ["a schema without type", { tools: [{ name: "x", input_schema: {} }] }, "Input should be 'object'"],
    ["a union schema", { tools: [{ name: "x", input_schema: { ...schema, anyOf: [] } }] }, "anyOf"],
    ["an OpenAI tool", { tools: [{ type: "function", function: {} }] }, "tools.0.name"],
    ["five breakpoints", {
      messages: [user([0, 1, 2, 3, 4].map(() => ({ ...text, cache_control: { type: "ephemeral" } })))]
    }, "maximum of 4"],
    ["an image of an assistant", {
      messages: [user("x"), assistant([{ type: "image", source: png }]), user("y")]
    }, "only allowed in user"],
    ["a data URL as base64", {
      messages: [user([{ type: "image", source: { ...png, data: "data:image/png;base64,aGk=" } }])]
    }, "not base64"],
    ["an OpenAI part", { messages: [user([{ type: "image_url", image_url: { url: "x" } }])] }, "does not match any"],
    ["tool_calls", { messages: [user("x"), assistant("a", { tool_calls: [] }), user("y")] }, "tool_calls"],
    ["a blank stop sequence", { stop_sequences: [" "] }, "non-whitespace"]
  ]
  for (const [name, change, words] of rows) {
    it(`refuses ${name}`, () => refused("messages", { ...base, messages: [user("go")], ...change }, words))
  }

  it("refuses a request without a version, and one without a content type", async () => {
    const body = { ...base, messages: [user("go")] }
    const response = await fetch(`${server.url}/messages`, {
      method: "POST",
      headers: { "x-api-key": "k", "content-type": "application/json" },
      body: JSON.stringify(body)
    })
    assert.strictEqual(response.status, 400)
    assert.strictEqual((await send("messages", body, { "content-type": "text/plain" })).status, 400)
  })
})

describe("Chat Completions", () => {
  const call = (id: string, more: Json = {}) => ({
    id,
    type: "function",
    function: { name: "bash", arguments: "{}" },
    ...more
  })
  const result = (id: string, more: Json = {}) => ({ role: "tool", tool_call_id: id, content: "ok", ...more })
  const calling = (...ids: ReadonlyArray<string>) => assistant(null, { tool_calls: ids.map((id) => call(id)) })
  const fn = (more: Json = {}) => ({ type: "function", function: { name: "bash", parameters: schema, ...more } })
  const base: Json = { model: "m", tools: [fn()] }

  it("accepts a legal history with system, images and parallel calls", async () => {
    await accepted("chat/completions", {
      ...base,
      stream: true,
      stream_options: { include_usage: true },
      tool_choice: "auto",
      parallel_tool_calls: true,
      messages: [
        { role: "system", content: "s" },
        user([{ type: "text", text: "t" }, { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }]),
        calling("a", "b"),
        result("b"),
        result("a", { content: "" }),
        assistant("", { reasoning_content: "hm" }),
        user("more")
      ]
    })
  })

  const rows: ReadonlyArray<readonly [string, Json, string]> = [
    ["an unknown key", { thinking: {} }, "unknown parameter"],
    ["no message", { messages: [] }, "empty array"],
    ["an unanswered call", { messages: [calling("a"), user("x")] }, "did not have response messages: a"],
    ["a call at the end", { messages: [user("x"), calling("a")] }, "did not have response messages: a"],
    ["one of two answered", { messages: [calling("a", "b"), result("a"), user("x")] }, "response messages: b"],
    ["user text between call and result", { messages: [calling("a"), user("x"), result("a")] }, "must be followed"],
    ["an orphan result", { messages: [user("x"), result("a")] }, "must be a response to a preceding message"],
    ["a result of another call", { messages: [calling("a"), result("b")] }, "not found in 'tool_calls'"],
    ["a result twice", { messages: [calling("a"), result("a"), result("a")] }, "answered twice"],
    ["a duplicate id", { messages: [calling("a", "a"), result("a")] }, "duplicate"],
    ["an id used again later", { messages: [calling("a"), result("a"), calling("a"), result("a")] }, "duplicate"],
    ["an id of 65", { messages: [calling("a".repeat(65)), result("a".repeat(65))] }, "maximum length 64"],
    ["an empty list of calls", { messages: [user("x"), assistant("y", { tool_calls: [] })] }, "empty array"],
    ["null content without calls", { messages: [user("x"), assistant(null)] }, "expected a string, got null"],
    ["input in place of arguments", {
      messages: [
        assistant(null, { tool_calls: [call("a", { function: { name: "bash", arguments: {} } })] }),
        result("a")
      ]
    }, "arguments: expected a string"],
    ["an Anthropic block", { messages: [user([{ type: "tool_result", content: "x" }])] }, "is not one of text"],
    ["an image in a result", {
      messages: [calling("a"), result("a", { content: [{ type: "image_url", image_url: { url: "http://x" } }] })]
    }, "is not one of text"],
    ["is_error on a result", { messages: [calling("a"), result("a", { is_error: true })] }, "is_error"],
    ["no tools in tools", { tools: [] }, "empty array"],
    ["a schema without properties", { tools: [fn({ parameters: { type: "object" } })] }, "missing properties"],
    ["a strict schema that is open", { tools: [fn({ strict: true })] }, "additionalProperties"],
    ["a flat tool", { tools: [{ type: "function", name: "x", parameters: schema }] }, "unknown parameter"],
    ["a choice without tools", { tools: undefined, tool_choice: "auto" }, "only allowed when 'tools'"],
    ["parallel calls without tools", { tools: undefined, parallel_tool_calls: false }, "only allowed when 'tools'"],
    ["the choice of an unknown tool", { tool_choice: { type: "function", function: { name: "x" } } }, "not in 'tools'"],
    ["stream options without stream", { stream_options: { include_usage: true } }, "only allowed when 'stream'"],
    ["both limits", { max_tokens: 1, max_completion_tokens: 1 }, "not supported"],
    ["max_tokens to a reasoning model", { model: "gpt-5-x", max_tokens: 1 }, "max_completion_tokens"],
    ["a temperature to a reasoning model", { model: "o3", temperature: 0 }, "temperature"],
    ["five stops", { stop: ["a", "b", "c", "d", "e"] }, "1 to 4"],
    ["a long cache key", { prompt_cache_key: "x".repeat(65) }, "at most 64"],
    ["metadata without store", { metadata: { a: "b" } }, "store"]
  ]
  for (const [name, change, words] of rows) {
    it(`refuses ${name}`, () => refused("chat/completions", { ...base, messages: [user("go")], ...change }, words))
  }
})

describe("Responses", () => {
  const call = (call_id: string, more: Json = {}) => ({
    type: "function_call",
    call_id,
    name: "bash",
    arguments: "{}",
    ...more
  })
  const output = (call_id: string, more: Json = {}) => ({
    type: "function_call_output",
    call_id,
    output: "ok",
    ...more
  })
  const fn = (more: Json = {}) => ({ type: "function", name: "bash", parameters: schema, strict: false, ...more })
  const base: Json = { model: "m", store: false, tools: [fn()] }

  it("accepts a legal history with developer text, parallel calls and namespaces", async () => {
    await accepted("responses", {
      ...base,
      tools: [fn(), { type: "namespace", name: "n", tools: [fn()] }, { type: "web_search" }],
      instructions: "s",
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low", summary: "auto" },
      input: [
        { role: "developer", content: [{ type: "input_text", text: "d" }] },
        user("x"),
        call("a", { id: "fc_1", status: "completed" }),
        call("b"),
        output("b"),
        output("a", { output: [{ type: "input_text", text: "t" }] }),
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "t", annotations: [] }] },
        user("more")
      ]
    })
  })

  const rows: ReadonlyArray<readonly [string, Json, string]> = [
    ["a stop key", { stop: ["x"] }, "stop: unknown parameter"],
    ["messages", { messages: [] }, "messages: unknown parameter"],
    ["no input", { input: undefined }, "Missing required parameter: 'input'"],
    ["state", { previous_response_id: "resp_1" }, "not found"],
    ["a limit under 16", { max_output_tokens: 8 }, "max_output_tokens"],
    ["an unanswered call", { input: [user("x"), call("a")] }, "No tool output found for function call a"],
    ["an orphan output", { input: [user("x"), output("a")] }, "No tool call found"],
    ["an output before its call", { input: [output("a"), call("a")] }, "No tool call found"],
    ["an output twice", { input: [call("a"), output("a"), output("a")] }, "Duplicate output"],
    ["a duplicate id", { input: [call("a"), call("a"), output("a")] }, "Duplicate call_id"],
    ["an id of 65", { input: [call("a".repeat(65)), output("a".repeat(65))] }, "maximum length 64"],
    ["a call id as item id", { input: [call("a", { id: "call_a" }), output("a")] }, "begins with 'fc'"],
    ["arguments as an object", { input: [call("a", { arguments: {} }), output("a")] }, "expected a string"],
    ["a role tool", { input: [{ role: "tool", content: "x" }] }, "is not one of"],
    ["input_text of an assistant", {
      input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }]
    }, "Supported values are: 'output_text'"],
    ["output_text of a user", { input: [user([{ type: "output_text", text: "x" }])] }, "Supported values are"],
    ["a Chat part", { input: [user([{ type: "text", text: "x" }])] }, "Supported values are"],
    ["reasoning by id alone", {
      input: [user("x"), { type: "reasoning", id: "rs_1", summary: [] }, assistant("y")]
    }, "not persisted"],
    ["forged reasoning", {
      input: [user("x"), { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "forged" }, assistant("y")]
    }, "could not be verified"],
    ["a reference", { input: [{ type: "item_reference", id: "msg_1" }] }, "not persisted"],
    ["a nested tool", { tools: [{ type: "function", function: { name: "x" } }] }, "unknown parameter"],
    ["a tool that is strict by default", { tools: [fn({ strict: undefined })] }, "strict is on"],
    ["a schema without properties", { tools: [fn({ parameters: { type: "object" } })] }, "missing properties"],
    ["an unknown tool type", { tools: [{ type: "novel" }] }, "Unknown tool type"],
    ["the choice of an unknown tool", { tool_choice: { type: "function", name: "x" } }, "not found in 'tools'"],
    ["an unknown include", { include: ["everything"] }, "is not one of"]
  ]
  for (const [name, change, words] of rows) {
    it(`refuses ${name}`, () => refused("responses", { ...base, input: "go", ...change }, words))
  }

  it("refuses reasoning that nothing follows", async () => {
    const first = await send("responses", { ...base, input: "go", include: ["reasoning.encrypted_content"] })
    const made = JSON.parse(first.text) as { readonly output: ReadonlyArray<Json> }
    const reasoning = made.output[0]
    assert.strictEqual(reasoning?.["type"], "reasoning")
    await refused("responses", { ...base, input: [user("go"), reasoning, user("x")] }, "required following item")
    await accepted("responses", { ...base, input: [user("go"), reasoning, assistant("y"), user("x")] })
  })
})
