/**
 * The scripted upstream, judged by the providers' own SDKs: what it serves they read, what it refuses they raise.
 * No part of the project is involved.
 */
import Anthropic from "@anthropic-ai/sdk"
import * as esbuild from "esbuild"
import * as childProcess from "node:child_process"
import * as http from "node:http"
import * as path from "node:path"
import OpenAI from "openai"
import { afterAll, assert, describe, it } from "vitest"
import { startUpstream, type Upstream, type UpstreamOptions } from "./upstream/index.ts"

const started: Array<Upstream> = []
const up = async (options: UpstreamOptions = {}): Promise<Upstream> => {
  const upstream = await startUpstream(options)
  started.push(upstream)
  return upstream
}
afterAll(() => Promise.all(started.map((upstream) => upstream.close())))

const anthropic = (upstream: Upstream, maxRetries = 0) =>
  new Anthropic({ apiKey: "dummy", authToken: null, baseURL: `${upstream.url}/some/prefix`, maxRetries })
const openai = (upstream: Upstream, maxRetries = 0) =>
  new OpenAI({ apiKey: "dummy", baseURL: `${upstream.url}/deep/v1`, maxRetries })

const schema = { type: "object" as const, properties: { command: { type: "string" } }, required: ["command"] }
const model = "fake-model"
const text = "héllo wörld – 日本語 👩‍🚀 done"

interface Told {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
  readonly stop: string | null
}

/** The three wires behind one face: hold a conversation until there are no more calls. */
interface Talker {
  readonly turn: () => Promise<Told>
  readonly answer: (results: ReadonlyArray<readonly [string, string]>) => void
}

const talkAnthropic = (upstream: Upstream, stream: boolean): Talker => {
  const client = anthropic(upstream)
  const messages: Array<Anthropic.MessageParam> = [{ role: "user", content: "go" }]
  return {
    turn: async () => {
      const body = {
        model,
        max_tokens: 4000,
        thinking: { type: "enabled" as const, budget_tokens: 2000 },
        messages,
        tools: [{ name: "bash", description: "runs", input_schema: schema }]
      }
      const message = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body)
      messages.push({ role: "assistant", content: message.content as Array<Anthropic.ContentBlockParam> })
      return {
        text: message.content.reduce((all, block) => block.type === "text" ? all + block.text : all, ""),
        reasoning: message.content.reduce((all, block) => block.type === "thinking" ? all + block.thinking : all, ""),
        calls: message.content.flatMap((block) =>
          block.type === "tool_use" ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) }] : []
        ),
        stop: message.stop_reason
      }
    },
    answer: (results) => {
      messages.push({
        role: "user",
        content: results.map(([id, content]) => ({ type: "tool_result", tool_use_id: id, content }))
      })
    }
  }
}

const talkChat = (upstream: Upstream, stream: boolean): Talker => {
  const client = openai(upstream)
  const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "go" }]
  return {
    turn: async () => {
      const body = {
        model,
        messages,
        tools: [{ type: "function" as const, function: { name: "bash", description: "runs", parameters: schema } }]
      }
      const completion = stream
        ? await client.chat.completions.stream({ ...body, stream_options: { include_usage: true } })
          .finalChatCompletion()
        : await client.chat.completions.create(body)
      const choice = completion.choices[0]
      const message = choice?.message
      const calls = (message?.tool_calls ?? []).flatMap((call) =>
        call.type === "function"
          ? [{ id: call.id, name: call.function.name, arguments: call.function.arguments }]
          : []
      )
      messages.push({
        role: "assistant",
        content: message?.content ?? null,
        ...(calls.length === 0 ? {} : {
          tool_calls: calls.map(({ arguments: args, id, name }) => ({
            id,
            type: "function" as const,
            function: { name, arguments: args }
          }))
        })
      })
      const reasoning = (message as { readonly reasoning_content?: string } | undefined)?.reasoning_content
      return {
        text: message?.content ?? "",
        reasoning: reasoning ?? "",
        calls,
        stop: choice?.finish_reason ?? null
      }
    },
    answer: (results) => {
      for (const [id, content] of results) messages.push({ role: "tool", tool_call_id: id, content })
    }
  }
}

const talkResponses = (upstream: Upstream, stream: boolean): Talker => {
  const client = openai(upstream)
  const input: Array<OpenAI.Responses.ResponseInputItem> = [{ role: "user", content: "go" }]
  return {
    turn: async () => {
      const body = {
        model,
        input,
        store: false,
        include: ["reasoning.encrypted_content" as const],
        tools: [{ type: "function" as const, name: "bash", description: "runs", parameters: schema, strict: false }]
      }
      const response = stream
        ? await client.responses.stream(body).finalResponse()
        : await client.responses.create(body)
      input.push(...response.output as Array<OpenAI.Responses.ResponseInputItem>)
      // The SDK's helpers add parsed forms that no server takes back.
      for (const item of input) {
        Reflect.deleteProperty(item, "parsed_arguments")
        if ("content" in item && Array.isArray(item.content)) {
          for (const part of item.content) Reflect.deleteProperty(part, "parsed")
        }
      }
      return {
        text: response.output.reduce(
          (all, item) =>
            item.type === "message"
              ? all + item.content.reduce((t, part) => part.type === "output_text" ? t + part.text : t, "")
              : all,
          ""
        ),
        reasoning: response.output.reduce(
          (all, item) => item.type === "reasoning" ? all + item.summary.map((part) => part.text).join("") : all,
          ""
        ),
        calls: response.output.flatMap((item) =>
          item.type === "function_call" ? [{ id: item.call_id, name: item.name, arguments: item.arguments }] : []
        ),
        stop: response.status ?? null
      }
    },
    answer: (results) => {
      for (const [id, output] of results) input.push({ type: "function_call_output", call_id: id, output })
    }
  }
}

const talkers = { anthropic: talkAnthropic, chat: talkChat, responses: talkResponses }

const converse = async (talker: Talker): Promise<ReadonlyArray<Told>> => {
  const told: Array<Told> = []
  for (let i = 0; i < 10; i++) {
    const turn = await talker.turn()
    told.push(turn)
    if (turn.calls.length === 0) return told
    talker.answer(turn.calls.map((call) => [call.id, `result of ${call.id}`]))
  }
  throw new Error("the script does not end")
}

const shapes: Readonly<Record<string, UpstreamOptions>> = {
  plain: {},
  "one byte, CRLF, pings": { chunk: 1, line_end: "crlf", pings: true },
  "CR, torn characters, no space": { line_end: "cr", split_utf8: true, no_space: true },
  "whole, torn surrogates, BOM, gzip": { chunk: "whole", split_surrogates: true, bom: true, gzip: true },
  "interleaved": { interleave: true, delta_chars: 3 }
}

for (const wire of ["anthropic", "chat", "responses"] as const) {
  describe(wire, () => {
    for (const [name, shape] of Object.entries(shapes)) {
      for (const stream of [true, false]) {
        it(`serves three turns of two calls and a text, ${stream ? "streaming" : "whole"}: ${name}`, async () => {
          const upstream = await up({ tool_turns: 2, parallel: 2, thinking: true, final_text: text, ...shape })
          const told = await converse(talkers[wire](upstream, stream))
          assert.deepStrictEqual(upstream.violations(), [])
          assert.strictEqual(told.length, 3)
          assert.deepStrictEqual(
            told.map((turn) => turn.calls.map((call) => JSON.parse(call.arguments) as unknown)),
            [
              [{ command: "echo turn-1-1" }, { command: "echo turn-1-2" }],
              [{ command: "echo turn-2-1" }, { command: "echo turn-2-2" }],
              []
            ]
          )
          assert.strictEqual(told[2]?.text, text)
          assert.deepStrictEqual(
            told.map((turn) => turn.stop),
            wire === "anthropic"
              ? ["tool_use", "tool_use", "end_turn"]
              : wire === "chat"
              ? ["tool_calls", "tool_calls", "stop"]
              : ["completed", "completed", "completed"]
          )
          if (wire !== "chat" || !stream) assert.strictEqual(told[1]?.reasoning, "Considering step 2.")
          assert.strictEqual(new Set(told.flatMap((turn) => turn.calls.map((call) => call.id))).size, 4)
          assert.deepStrictEqual(upstream.log.map((entry) => entry.turn), [1, 2, 3])
        })
      }
    }

    it("serves empty arguments and item ids of its own", async () => {
      const upstream = await up({ tool_turns: 1, empty_arguments: true })
      const told = await converse(talkers[wire](upstream, true))
      assert.strictEqual(told[0]?.calls[0]?.arguments, wire === "anthropic" ? "{}" : "")
      assert.deepStrictEqual(upstream.violations(), [])
    })

    it("starts the script again at each prompt when asked to", async () => {
      const upstream = await up({ tool_turns: 1, restart: true, validate: false })
      const talker = talkers[wire](upstream, true)
      const first = await talker.turn()
      talker.answer(first.calls.map((call) => [call.id, "r"]))
      await talker.turn()
      assert.deepStrictEqual(upstream.log.map((entry) => entry.turn), [1, 2])
      const history = upstream.log[1]?.body as Record<string, unknown>
      const key = wire === "responses" ? "input" : "messages"
      const again = await fetch(
        upstream.url + (wire === "anthropic" ? "/messages" : wire === "chat" ? "/chat/completions" : "/responses"),
        {
          method: "POST",
          headers: { authorization: "Bearer x", "content-type": "application/json" },
          body: JSON.stringify({
            ...history,
            stream: false,
            [key]: [...history[key] as Array<unknown>, { role: "user", content: "more" }]
          })
        }
      )
      assert.include(await again.text(), "t2c0")
      assert.strictEqual(upstream.log[2]?.turn, 1)
    })
  })
}

describe("usage and endings", () => {
  it("reports cached, written and reasoning tokens in each wire's own sums", async () => {
    const upstream = await up({ usage: { input: 7, output: 5, cached: 30, written: 2, reasoning: 3 } })
    const a = await anthropic(upstream).messages
      .stream({ model, max_tokens: 10, messages: [{ role: "user", content: "x" }] }).finalMessage()
    assert.deepInclude(a.usage, {
      input_tokens: 7,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 2,
      output_tokens: 5
    })
    const c = await openai(upstream).chat.completions
      .stream({ model, messages: [{ role: "user", content: "x" }], stream_options: { include_usage: true } })
      .finalChatCompletion()
    assert.strictEqual(c.usage?.prompt_tokens, 39)
    assert.strictEqual(c.usage?.prompt_tokens_details?.cached_tokens, 30)
    assert.strictEqual(c.usage?.completion_tokens_details?.reasoning_tokens, 3)
    const r = await openai(upstream).responses.stream({ model, input: "x" }).finalResponse()
    assert.strictEqual(r.usage?.input_tokens, 39)
    assert.strictEqual(r.usage?.input_tokens_details.cached_tokens, 30)
    assert.strictEqual(r.usage?.total_tokens, 44)
  })

  it("sends no usage when told so, and none in chat unless asked", async () => {
    const bare = await up({ usage: false })
    const c = await openai(bare).chat.completions.create({ model, messages: [{ role: "user", content: "x" }] })
    assert.strictEqual(c.usage, undefined)
    const error = await anthropic(bare).messages
      .stream({ model, max_tokens: 10, messages: [{ role: "user", content: "x" }] }).finalMessage()
      .then(() => null, (e: unknown) => e)
    assert.instanceOf(error, Error, "the SDK's helper throws on a message_delta without usage")
    const full = await up()
    const chunks = await openai(full).chat.completions
      .create({ model, messages: [{ role: "user", content: "x" }], stream: true })
    for await (const chunk of chunks) assert.notExists(chunk.usage)
  })

  it("works without [DONE]", async () => {
    const upstream = await up({ done: false })
    const c = await openai(upstream).chat.completions.stream({ model, messages: [{ role: "user", content: "x" }] })
      .finalChatCompletion()
    assert.strictEqual(c.choices[0]?.message.content, "All done.")
  })

  const ends = [
    ["length", "max_tokens", "length", "incomplete"],
    ["refusal", "refusal", "stop", "completed"],
    ["content_filter", "refusal", "content_filter", "incomplete"],
    ["pause_turn", "pause_turn", "stop", "completed"]
  ] as const
  for (const [end, a, c, r] of ends) {
    it(`ends by ${end}`, async () => {
      const upstream = await up({ end, final_text: "I would rather not say more" })
      const am = await anthropic(upstream).messages
        .create({ model, max_tokens: 10, messages: [{ role: "user", content: "x" }] })
      assert.strictEqual(am.stop_reason, a)
      const chunks = await openai(upstream).chat.completions
        .create({ model, messages: [{ role: "user", content: "x" }], stream: true })
      let finish: string | null = null
      let refusal = ""
      for await (const chunk of chunks) {
        finish = chunk.choices[0]?.finish_reason ?? finish
        refusal += chunk.choices[0]?.delta.refusal ?? ""
      }
      assert.strictEqual(finish, c)
      assert.strictEqual(refusal, end === "refusal" ? "I would rather not say more" : "")
      const rm = await openai(upstream).responses.create({ model, input: "x" })
      assert.strictEqual(rm.status, r)
      if (end === "length") {
        const block = am.content[0]
        assert.strictEqual(block?.type === "text" ? block.text : "", "I would rather")
      }
    })
  }

  it("stops inside the arguments of a call", async () => {
    const upstream = await up({ tool_turns: 1, end: "length_in_arguments" })
    const r = await openai(upstream).responses.create({ model, input: "x" })
    assert.strictEqual(r.status, "incomplete")
    const call = r.output[0]
    assert.strictEqual(call?.type === "function_call" ? call.arguments : "", "{\"command\":\"")
    const c = await openai(upstream).chat.completions.create({ model, messages: [{ role: "user", content: "x" }] })
    assert.strictEqual(c.choices[0]?.finish_reason, "length")
    const a = await anthropic(upstream).messages
      .create({ model, max_tokens: 10, messages: [{ role: "user", content: "x" }] })
    assert.strictEqual(a.stop_reason, "max_tokens")
  })
})

describe("faults", () => {
  const ask = {
    anthropic: (upstream: Upstream, retries = 0): Promise<unknown> =>
      anthropic(upstream, retries).messages
        .stream({ model, max_tokens: 10, messages: [{ role: "user", content: "x" }] }).finalMessage(),
    chat: (upstream: Upstream, retries = 0): Promise<unknown> =>
      openai(upstream, retries).chat.completions
        .stream({ model, messages: [{ role: "user", content: "x" }] }).finalChatCompletion(),
    responses: (upstream: Upstream, retries = 0): Promise<unknown> =>
      openai(upstream, retries).responses.stream({ model, input: "x" }).finalResponse()
  }
  const wires = ["anthropic", "chat", "responses"] as const
  const raised = (promise: Promise<unknown>): Promise<unknown> =>
    promise.then((value) => assert.fail(`no error, but ${JSON.stringify(value)}`), (error: unknown) => error)

  const classes = [
    [400, Anthropic.BadRequestError, OpenAI.BadRequestError],
    [401, Anthropic.AuthenticationError, OpenAI.AuthenticationError],
    [403, Anthropic.PermissionDeniedError, OpenAI.PermissionDeniedError],
    [404, Anthropic.NotFoundError, OpenAI.NotFoundError],
    [429, Anthropic.RateLimitError, OpenAI.RateLimitError],
    [500, Anthropic.InternalServerError, OpenAI.InternalServerError],
    [529, Anthropic.InternalServerError, OpenAI.InternalServerError]
  ] as const
  for (const [status, forAnthropic, forOpenai] of classes) {
    it(`status ${status} raises the class of that status on all wires`, async () => {
      const upstream = await up({ faults: { all: { kind: "status", status, message: "scripted words" } } })
      for (const wire of wires) {
        const error = await raised(ask[wire](upstream))
        if (wire === "anthropic") assert.instanceOf(error, forAnthropic)
        else assert.instanceOf(error, forOpenai)
        assert.include(String(error), "scripted words")
      }
    })
  }

  it("a fault meets the numbered request only, and retry-after is obeyed", async () => {
    for (const wire of wires) {
      const upstream = await up({ faults: { 1: { kind: "status", status: 429, retry_after_ms: 20 } } })
      await ask[wire](upstream, 1)
      assert.deepStrictEqual(upstream.log.map((entry) => entry.status), [429, 200])
    }
  })

  it("x-should-retry: false keeps the SDKs from retrying", async () => {
    const upstream = await up({ faults: { all: { kind: "status", status: 500, should_retry: false } } })
    await raised(ask.anthropic(upstream, 3))
    assert.strictEqual(upstream.counts().generations, 1)
  })

  it("an error event in mid-stream is raised", async () => {
    const upstream = await up({ faults: { all: { kind: "error_event", message: "broke midway" } } })
    assert.include(String(await raised(ask.anthropic(upstream))), "broke midway")
    assert.include(String(await raised(ask.chat(upstream))), "broke midway")
    const response = await ask.responses(upstream) as OpenAI.Responses.Response
    assert.strictEqual(response.status, "failed")
    assert.strictEqual(response.error?.message, "broke midway")
    const bare = await up({ faults: { all: { kind: "error_event", form: "error", message: "bare words" } } })
    assert.include(JSON.stringify(await raised(ask.responses(bare))), "bare words")
  })

  it("a dropped socket is raised; a clean truncation too, where the helper looks for it", async () => {
    const dropped = await up({ faults: { all: { kind: "drop" } } })
    for (const wire of wires) assert.instanceOf(await raised(ask[wire](dropped)), Error)
    assert.strictEqual(dropped.counts().client_closed, 0, "the server left, not the client")
    const truncated = await up({ faults: { all: { kind: "truncate", after: 3 } } })
    assert.instanceOf(await raised(ask.anthropic(truncated)), Error)
    assert.instanceOf(await raised(ask.chat(truncated)), Error)
    assert.isTrue(truncated.log.every((entry) => entry.finished && entry.events_sent === 3))
    const early = await up({ faults: { all: { kind: "drop_before_headers" } } })
    assert.instanceOf(await raised(ask.anthropic(early)), Anthropic.APIConnectionError)
    assert.instanceOf(await raised(ask.chat(early)), OpenAI.APIConnectionError)
  })

  it("hangs before the headers and in mid-stream until released", async () => {
    for (const fault of [{ kind: "hang_before_headers" }, { kind: "hang", after: 2 }] as const) {
      const upstream = await up({ faults: { 1: fault } })
      const answer = ask.anthropic(upstream)
      await upstream.until((log) => log[0]?.hanging === true)
      upstream.release()
      assert.strictEqual((await answer as Anthropic.Message).stop_reason, "end_turn")
    }
  })

  it("notices that the client left in mid-stream and before the headers", async () => {
    for (const fault of [{ kind: "hang_before_headers" }, { kind: "hang", after: 2 }] as const) {
      const upstream = await up({ faults: { all: fault } })
      const controller = new AbortController()
      const answer = raised(
        openai(upstream).chat.completions.create(
          { model, messages: [{ role: "user", content: "x" }], stream: true },
          { signal: controller.signal }
        ).then(async (chunks) => {
          for await (const _ of chunks);
          throw new Error("ended")
        })
      )
      await upstream.until((log) => log[0]?.hanging === true)
      controller.abort()
      await upstream.until((log) => log[0]?.client_closed === true)
      await answer
      assert.deepInclude(upstream.counts(), { client_closed: 1, open: 0 })
    }
  })

  it("a JSON error with status 200, HTML, an empty body and broken JSON", async () => {
    const upstream = await up({
      faults: {
        1: { kind: "json_error" },
        2: { kind: "html", status: 502 },
        3: { kind: "empty" },
        4: { kind: "broken_json" }
      }
    })
    const send = () =>
      fetch(`${upstream.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: "Bearer k", "content-type": "application/json" },
        body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: "x" }] })
      })
    const first = await send()
    assert.strictEqual(first.status, 200)
    assert.property(await first.json(), "error")
    const second = await send()
    assert.strictEqual(second.status, 502)
    assert.include(second.headers.get("content-type"), "html")
    assert.strictEqual(await (await send()).text(), "")
    const fourth = await send()
    const broken = await fourth.text()
    assert.throws(() => JSON.parse(broken) as unknown)
  })
})

describe("scripts and quirks", () => {
  const schemaTool = { type: "function", function: { name: "bash", parameters: schema } }
  const raw = async (upstream: Upstream, path: string, body: Record<string, unknown>) => {
    const response = await fetch(`${upstream.url}/v1/${path}`, {
      method: "POST",
      headers: { authorization: "Bearer k", "content-type": "application/json", "anthropic-version": "2023-06-01" },
      body: JSON.stringify({ model, stream: true, ...body })
    })
    const events = (await response.text()).split("\n").flatMap((line) =>
      line.startsWith("data: {") ? [JSON.parse(line.slice(6)) as Record<string, unknown>] : []
    )
    return { status: response.status, events }
  }
  const chat = async (upstream: Upstream) => {
    const { events } = await raw(upstream, "chat/completions", {
      messages: [{ role: "user", content: "x" }],
      tools: [schemaTool],
      stream_options: { include_usage: true }
    })
    const choices = events.flatMap((event) =>
      event["choices"] as ReadonlyArray<{
        readonly delta: { readonly tool_calls?: ReadonlyArray<Record<string, unknown>> }
        readonly finish_reason: string | null
      }>
    )
    return { events, choices, fragments: choices.flatMap((choice) => choice.delta.tool_calls ?? []) }
  }
  const two = { tool_turns: 1, parallel: 2, delta_chars: 50 } as const

  it("Chat: ids absent, repeated, emptied; index absent; name late; arguments in the opener", async () => {
    const of = async (...quirks: NonNullable<UpstreamOptions["quirks"]>) =>
      (await chat(await up({ ...two, quirks }))).fragments
    assert.deepStrictEqual((await of()).map((f) => [f["index"], f["id"]]), [
      [0, "call_t1c0"],
      [0, undefined],
      [1, "call_t1c1"],
      [1, undefined]
    ])
    assert.isTrue((await of("no_ids")).every((f) => f["id"] === undefined))
    assert.deepStrictEqual((await of("repeat_ids")).map((f) => f["id"]), [
      "call_t1c0",
      "call_t1c0",
      "call_t1c1",
      "call_t1c1"
    ])
    assert.deepStrictEqual((await of("empty_ids")).map((f) => f["id"]), ["call_t1c0", "", "call_t1c1", ""])
    assert.isTrue((await of("no_index")).every((f) => !("index" in f)))
    assert.deepStrictEqual((await of("late_name")).map((f) => Reflect.get(Object(f["function"]), "name") as unknown), [
      undefined,
      "bash",
      undefined,
      "bash"
    ])
    assert.deepStrictEqual((await of("arguments_in_opener")).map((f) => f["function"]), [
      { name: "bash", arguments: "{\"command\":\"echo turn-1-1\"}" },
      { name: "bash", arguments: "{\"command\":\"echo turn-1-2\"}" }
    ])
    assert.deepStrictEqual((await of("duplicate_ids", "arguments_in_opener")).map((f) => f["id"]), [
      "call_t1c0",
      "call_t1c0"
    ])
  })

  it("Chat: finish reason and usage at odds", async () => {
    const stop = await chat(await up({ ...two, quirks: ["stop_with_calls"] }))
    assert.strictEqual(stop.choices.at(-1)?.finish_reason, "stop")
    const joined = await chat(await up({ ...two, quirks: ["usage_with_finish"] }))
    assert.property(joined.events.at(-1), "usage")
    assert.lengthOf(joined.events.at(-1)?.["choices"] as ReadonlyArray<unknown>, 1)
  })

  it("Responses: arguments in .done alone, another item id at the end", async () => {
    const of = async (quirk: "arguments_only_done" | "changed_item_id") => {
      const { events } = await raw(await up({ ...two, quirks: [quirk] }), "responses", { input: "x" })
      return events
    }
    assert.isFalse(
      (await of("arguments_only_done")).some((e) => e["type"] === "response.function_call_arguments.delta")
    )
    const items = (await of("changed_item_id")).flatMap((e) =>
      e["item"] === undefined ? [] : [e["item"] as Record<string, string>]
    )
    assert.deepStrictEqual(items.map((item) => [item["id"], item["call_id"]]).slice(0, 2), [
      ["fc_item_1_0", "call_t1c0"],
      ["fc_item_1_0_done", "call_t1c0"]
    ])
  })

  it("Anthropic: an unknown event", async () => {
    const { events } = await raw(await up({ quirks: ["unknown_event"] }), "messages", {
      max_tokens: 9,
      messages: [{ role: "user", content: "x" }]
    })
    assert.isTrue(events.some((event) => event["type"] === "novelty"))
  })

  it("a script of turns or a function of the request says anything in any order", async () => {
    const upstream = await up({
      script: ({ prompt, results, turn, wire }) =>
        turn === 1
          ? {
            blocks: [
              { kind: "call", name: "bash", arguments: { command: prompt } },
              { kind: "text", text: "after the call" },
              { kind: "call", name: "bash", arguments: "{broken" }
            ]
          }
          : { blocks: [{ kind: "text", text: `${wire}: ${results.join("+")}` }] }
    })
    for (const wire of ["anthropic", "responses"] as const) {
      const talker = talkers[wire](upstream, false)
      const first = await talker.turn()
      assert.strictEqual(first.text, "after the call")
      assert.strictEqual(first.calls[0]?.arguments, "{\"command\":\"go\"}")
      talker.answer(first.calls.map((call, i) => [call.id, `r${i}`]))
      assert.strictEqual((await talker.turn()).text, `${wire}: r0+r1`)
    }
  })

  it("arguments by template, wires that do not exist, reasoning that must come back", async () => {
    const upstream = await up({
      tool_turns: 1,
      tool: "read",
      arguments: { path: "f{{turn}}-{{call}}", deep: [{ n: "{{turn}}" }] },
      wires: ["chat"],
      require_reasoning: true
    })
    const { fragments } = await chat(upstream)
    assert.strictEqual(
      fragments.map((f) => String(Reflect.get(Object(f["function"]), "arguments") ?? "")).join(""),
      "{\"path\":\"f1-1\",\"deep\":[{\"n\":\"1\"}]}"
    )
    assert.strictEqual((await raw(upstream, "responses", { input: "x" })).status, 404)
    const history = (more: Record<string, unknown>) => ({
      tools: [schemaTool],
      messages: [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "a", type: "function", function: { name: "bash", arguments: "" } }],
          ...more
        },
        { role: "tool", tool_call_id: "a", content: "r" }
      ]
    })
    assert.strictEqual((await raw(upstream, "chat/completions", history({}))).status, 400)
    assert.strictEqual((await raw(upstream, "chat/completions", history({ reasoning_content: "hm" }))).status, 200)
  })
})

describe("other endpoints", () => {
  it("counts tokens, lists models, answers probes and unknown paths", async () => {
    const upstream = await up({ models: ["a-model", "b-model"] })
    const count = await anthropic(upstream).messages
      .countTokens({ model: "a-model", messages: [{ role: "user", content: "x".repeat(400) }] })
    assert.isAbove(count.input_tokens, 99)
    const a = await anthropic(upstream).models.list()
    assert.deepStrictEqual(a.data.map((entry) => entry.id), ["a-model", "b-model"])
    const o = await openai(upstream).models.list()
    assert.deepStrictEqual(o.data.map((entry) => entry.id), ["a-model", "b-model"])
    assert.strictEqual((await fetch(`${upstream.url}/x`, { method: "HEAD" })).status, 200)
    const lost = await fetch(`${upstream.url}/v1/lost`, { headers: { "anthropic-version": "2023-06-01" } })
    assert.strictEqual(lost.status, 404)
    assert.deepInclude(await lost.json() as Record<string, unknown>, { type: "error" })
    const error = await openai(upstream).chat.completions
      .create({ model: "c-model", messages: [{ role: "user", content: "x" }] }).catch((e: unknown) => e)
    assert.instanceOf(error, OpenAI.NotFoundError)
    const without = await up({ count_tokens: false })
    const missing = await anthropic(without).messages
      .countTokens({ model, messages: [{ role: "user", content: "x" }] }).catch((e: unknown) => e)
    assert.instanceOf(missing, Anthropic.NotFoundError)
  })

  it("refuses a wrong, missing or doubled key and keeps no key in the log", async () => {
    const upstream = await up({ keys: ["right"] })
    assert.instanceOf(
      await anthropic(upstream).messages
        .create({ model, max_tokens: 1, messages: [{ role: "user", content: "x" }] }).catch((e: unknown) => e),
      Anthropic.AuthenticationError
    )
    const both = await fetch(`${upstream.url}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": "right", authorization: "Bearer right", "content-type": "application/json" },
      body: "{}"
    })
    assert.strictEqual(both.status, 400)
    assert.notInclude(JSON.stringify(upstream.log), "dummy")
    assert.notInclude(JSON.stringify(upstream.log), "right\"")
    assert.deepStrictEqual(upstream.log.map((entry) => entry.auth), [["bearer"], ["x-api-key", "bearer"]])
  })
})

it("runs as a program", { timeout: 20_000 }, async () => {
  const built = await esbuild.build({
    entryPoints: [path.join(import.meta.dirname, "upstream/upstream.main.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm"
  })
  const child = childProcess.spawn(
    process.execPath,
    ["--input-type=module", "-", "--options", "{\"final_text\":\"from a program\"}"],
    { stdio: ["pipe", "pipe", "inherit"] }
  )
  child.stdin.end(built.outputFiles[0]?.text ?? "")
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`ended with ${code}`)))
    child.stdout.on("data", (chunk: Buffer) => {
      const match = /^PORT (\d+)$/m.exec(chunk.toString())
      if (match !== null) resolve(Number(match[1]))
    })
  })
  const client = new OpenAI({ apiKey: "dummy", baseURL: `http://127.0.0.1:${port}/v1` })
  const r = await client.responses.create({ model, input: "x" })
  assert.strictEqual(r.output_text, "from a program")
  const log = await (await fetch(`http://127.0.0.1:${port}/__upstream/log`)).json() as ReadonlyArray<unknown>
  assert.strictEqual(log.length, 1)
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve))
  child.kill("SIGTERM")
  assert.strictEqual(await exited, 0)
})

it("one byte a write reaches a bare client as many reads", async () => {
  const upstream = await up({ chunk: 1 })
  const reads = await new Promise<number>((resolve, reject) => {
    const request = http.request(`${upstream.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: "Bearer k", "content-type": "application/json" }
    }, (response) => {
      let n = 0
      response.on("data", () => n++)
      response.on("end", () => resolve(n))
    })
    request.on("error", reject)
    request.end(JSON.stringify({ model, input: "x", stream: true }))
  })
  assert.isAbove(reads, 500)
})
