/** The scripted model through the door of every model: turns, computed calls, endings, faults, gates, strictness. */
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { Message, Part } from "../../src/domain/Message.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { ApiClient } from "../../src/domain/ApiClient.ts"
import type { ToolDef } from "../../src/domain/Tool.ts"
import * as Scenario from "../../src/provider/Scenario.ts"
import { fromValue, type ScenarioDocument } from "../../src/provider/ScenarioDocument.ts"
import { ScriptedModel } from "../../src/provider/ScriptedModel.ts"

const bash: ToolDef = { name: "bash", description: "runs", input_schema: { type: "object" } }
const user = (content: string): Message => ({ role: "user", content })
const result = (tool_call_id: string, content: string): Message => ({ role: "tool", tool_call_id, content })

const ask = (messages: ReadonlyArray<Message>, session_id?: string) =>
  Effect.flatMap(
    ApiClient,
    (client) =>
      Stream.runCollect(client.sendMessage(messages, [bash], session_id === undefined ? {} : { session_id })).pipe(
        Effect.map((events) => Chunk.toReadonlyArray(events))
      )
  )

const document = (value: Omit<ScenarioDocument, "turns"> & { readonly turns: ReadonlyArray<unknown> }) => {
  const scenario = fromValue(value, "test")
  if (Either.isLeft(scenario)) throw new Error(JSON.stringify(scenario.left))
  return scenario.right
}

const textIn = (events: ReadonlyArray<StreamEvent>): string =>
  events.reduce((all, event) => event.type === "content_delta" ? all + event.text : all, "")

/** The assistant message that an answer becomes in the history. */
const messageOf = (events: ReadonlyArray<StreamEvent>): Message => ({
  role: "assistant",
  content: events.flatMap((event): ReadonlyArray<Part> =>
    event.type === "content_delta"
      ? [{ type: "text", text: event.text }]
      : event.type === "tool_use"
      ? [{ type: "tool_call", id: event.id, name: event.name, arguments: event.arguments }]
      : []
  )
})

const failsWith = (code: string, words: string, run: ReturnType<typeof ask>) =>
  Effect.map(Effect.flip(run), (error) => {
    assert.strictEqual(error._tag, "ApiError")
    assert.deepInclude({ ...error }, { reason: "bad_request", retryable: false, code })
    assert.include(error.message, words)
  })

describe("answers", () => {
  it.effect("streams reasoning, text and calls, then usage and one terminal (2.5)", () =>
    Effect.gen(function*() {
      const events = yield* ask([user("go")])
      assert.deepStrictEqual(events.map((event) => event.type), [
        "reasoning_delta",
        "reasoning_delta",
        "content_delta",
        "content_delta",
        "tool_use",
        "tool_use",
        "usage",
        "message_stop"
      ])
      assert.deepStrictEqual(events.slice(2, 6), [
        { type: "content_delta", text: "日本" },
        { type: "content_delta", text: "語" },
        { type: "tool_use", id: "call_1_1", name: "bash", input: { command: "ls" }, arguments: "{\"command\":\"ls\"}" },
        { type: "tool_use", id: "mine", name: "read", input: {}, arguments: "" }
      ])
      assert.deepStrictEqual(events.slice(6), [
        {
          type: "usage",
          usage: { input_tokens: 9, output_tokens: 2, cache_read_tokens: 4, cache_write_tokens: 0 }
        },
        {
          type: "message_stop",
          stop_reason: "tool_use",
          response_id: "resp_scripted_1",
          model: "test"
        }
      ])
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      name: "test",
      turns: [{
        reasoning: "hm",
        text: "日本語",
        chunk: 2,
        calls: [{ name: "bash", arguments: { command: "ls" } }, { id: "mine", name: "read", arguments: "" }],
        usage: { input_tokens: 9, output_tokens: 2, cache_read_tokens: 4 }
      }]
    })))))

  it.effect("computes arguments from the results of the conversation", () =>
    Effect.gen(function*() {
      const first = yield* ask([user("fix the sum")])
      const history = [
        user("fix the sum"),
        messageOf(first),
        result("call_1_1", "1| const sum = (a, b) => a - b\n2| export { sum }")
      ]
      const second = yield* ask(history)
      const call = second.find((event) => event.type === "tool_use")
      assert.deepStrictEqual(call?.type === "tool_use" ? call.input : null, {
        path: "sum.js",
        edits: [{ old_string: "const sum = (a, b) => a - b", new_string: "const sum = (a, b) => a + b" }],
        lines: 2
      })
      assert.strictEqual(call?.type === "tool_use" ? call.id : "", "call_2_1")
      const third = yield* ask([...history, messageOf(second), result("call_2_1", "ok")])
      assert.strictEqual(textIn(third), "Done: ok, as you asked: fix the sum")
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      turns: [
        { calls: [{ name: "read", arguments: { path: "sum.js" } }] },
        {
          expect: { last: [{ role: "assistant", calls: ["read"] }, { role: "tool", text: "a - b" }], offers: ["bash"] },
          calls: [{
            name: "edit",
            arguments: {
              path: "{{tool_arguments:read#/path}}",
              edits: [{
                old_string: "{{tool_result:read | match /\\| (.*a - b.*)/}}",
                new_string: "{{tool_result:read | match /\\| (.*a - b.*)/ | replace \" - \" \" + \"}}"
              }],
              lines: "{{tool_result:read | line -1 | match /^\\d+/ | json}}"
            }
          }]
        },
        { text: "Done: {{last_tool_result}}, as you asked: {{prompt}}" }
      ]
    })))))

  it.effect("arguments that are no JSON object say so and carry no input (2.2)", () =>
    Effect.gen(function*() {
      const events = yield* ask([user("go")])
      const calls = events.flatMap((event) => event.type === "tool_use" ? [event] : [])
      assert.deepStrictEqual(calls.map((call) => [call.input, call.arguments]), [[{}, "{broken"], [{}, "[1]"], [
        {},
        " "
      ]])
      assert.deepStrictEqual(calls.map((call) => call.input_error !== undefined), [true, true, false])
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [{ calls: ["{broken", "[1]", " "].map((args) => ({ name: "bash", arguments: args })) }]
    })))))

  it.effect("gives ids that are free in the history, also when a new process goes on with a session", () =>
    Effect.gen(function*() {
      const events = yield* ask([
        user("go"),
        { role: "assistant", content: [{ type: "tool_call", id: "call_1_1", name: "bash", arguments: "{}" }] },
        result("call_1_1", "ok")
      ])
      assert.deepStrictEqual(events.flatMap((event) => event.type === "tool_use" ? [event.id] : []), [
        "call_2_1",
        "call_2_2"
      ])
      const compacted = yield* ask([{ role: "user", content: "so far", kind: "summary" }, user("go")])
      assert.match(
        compacted.flatMap((event) => event.type === "tool_use" ? [event.id] : [])[0] ?? "",
        /^call_[0-9a-f]{8}_2_1$/
      )
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [{ calls: [{ name: "bash" }, { name: "bash" }], repeat: "forever" }]
    })))))

  it.effect("a session has its own place in the scenario", () =>
    Effect.gen(function*() {
      assert.strictEqual(textIn(yield* ask([user("x")], "a")), "one")
      assert.strictEqual(textIn(yield* ask([user("x")], "b")), "one")
      assert.strictEqual(textIn(yield* ask([user("x")], "a")), "two")
      const model = yield* ScriptedModel
      assert.deepStrictEqual((yield* model.requests).map((request) => [request.request, request.turn, request.ended]), [
        [1, 0, "done"],
        [1, 0, "done"],
        [2, 1, "done"]
      ])
      assert.deepStrictEqual(yield* model.unused, [2])
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [{ text: "one" }, { text: "two" }, { text: "three" }]
    })))))
})

describe("which turn answers", () => {
  it.effect("in order: repeats, and passes over a turn whose condition does not hold", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      for (let i = 0; i < 4; i++) seen.push(textIn(yield* ask([user("x")])))
      assert.deepStrictEqual(seen, ["a", "a", "c", "c"])
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      turns: [
        { text: "a", repeat: 2 },
        { text: "b", when: { prompt: "never" } },
        { text: "c", repeat: "forever" }
      ]
    })))))

  it.effect("first match: by condition, as often as it holds", () =>
    Effect.gen(function*() {
      const failed: Message = { role: "tool", tool_call_id: "c", content: "exit code 1", is_error: true }
      assert.strictEqual(textIn(yield* ask([user("x"), failed])), "it failed")
      assert.strictEqual(textIn(yield* ask([user("help me please")])), "polite")
      assert.strictEqual(textIn(yield* ask([user("x")])), "else")
      assert.strictEqual(textIn(yield* ask([user("x"), failed])), "it failed")
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      order: "first_match",
      turns: [
        { when: { is_error: true, last_tool_result: { matches: "code [1-9]" } }, text: "it failed" },
        { when: { any: [{ value: "{{prompt | upper}}", is: "PLEASE" }, { tool: "nope" }] }, text: "polite" },
        { when: { not: { request: 99 } }, text: "else" }
      ]
    })))))

  it.effect("past the last turn the request fails with what came and the remedy", () =>
    Effect.gen(function*() {
      yield* ask([user("x")])
      yield* failsWith("scenario_exhausted", "request 2 came, but none of the 1 turn is left", ask([user("and now?")]))
      yield* failsWith("scenario_exhausted", "and now?", ask([user("and now?")]))
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({ turns: [{ text: "only" }] })))))
})

describe("strictness", () => {
  it.effect("a request that is not the expected one fails with every difference", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ask([{ role: "system", content: "be kind" }, user("héllo wörld")]))
      assert.strictEqual(error.code, "scenario_mismatch")
      assert.strictEqual(
        error.message,
        [
          "scenario \"strict\": request 1 is not what turns[0] expects:",
          "  - system: expected to contain \"be brief\", got \"be kind\"",
          "  - prompt: expected \"héllo world\", got \"héllo wörld\"; they part at character 8: expected \"héllo world\", got \"héllo wörld\"",
          "  - roles: expected [user], got [system, user]",
          "  - messages: expected 1, got 2: system \"be kind\" / user \"héllo wörld\"",
          "  - messages[0].role: expected user, got system \"be kind\"",
          "  - tools: missing read; unexpected bash",
          "  - tools: missing edit; offered are bash",
          "  - options.effort: expected \"high\", got nothing"
        ].join("\n")
      )
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      name: "strict",
      turns: [{
        expect: {
          system: "be brief",
          prompt: { equals: "héllo world" },
          roles: ["user"],
          messages: [{ role: "user" }],
          tools: ["read"],
          offers: ["edit"],
          options: { effort: "high" }
        },
        text: "ok"
      }]
    })))))

  it.effect("a request that is as expected is answered", () =>
    Effect.map(
      ask([user("do {it}"), { role: "assistant", content: "a" }, {
        role: "tool",
        tool_call_id: "c",
        content: "",
        is_error: true
      }]),
      (events) => assert.strictEqual(textIn(events), "ok")
    ).pipe(Effect.provide(ScriptedModel.layer(document({
      turns: [{
        expect: {
          prompt: { contains: ["do", "it"], matches: "\\{it\\}$", not: "dont" },
          roles: ["user", "assistant", "tool"],
          last: [{ role: "tool", is_error: true, text: { equals: "" } }],
          tools: ["bash"]
        },
        text: "ok"
      }]
    })))))

  it.effect("an expression that finds nothing fails with the place and what there was", () =>
    failsWith("scenario_expression", "turns[0]: {{last_tool_result}}: there is no tool result", ask([user("x")])).pipe(
      Effect.provide(ScriptedModel.layer(document({ turns: [{ text: "{{last_tool_result}}" }] })))
    ))

  it.effect("functions may look at the conversation; what they throw fails the request", () =>
    Effect.gen(function*() {
      assert.strictEqual(textIn(yield* ask([user("abc")])), "3 of 1")
      yield* failsWith("scenario_expression", "turns[1]: boom", ask([user("x")]))
      yield* failsWith("scenario_mismatch", "  - not today", ask([user("x")]))
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [
        { when: (c) => c.request === 1, text: (c) => `${c.prompt.length} of ${c.messages.length}` },
        {
          text: () => {
            throw new Error("boom")
          }
        },
        { expect: () => ["not today"], text: "x" }
      ]
    })))))
})

describe("faults", () => {
  it.effect("an ApiError before the stream, then the turn that answers the retry", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(ask([user("x")]))
      assert.deepInclude({ ...error }, {
        reason: "rate_limited",
        retryable: true,
        status: 429,
        retry_after_ms: 2000,
        provider: "scripted"
      })
      assert.strictEqual(textIn(yield* ask([user("x")])), "now")
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      turns: [
        { fault: { kind: "api_error", reason: "rate_limited", status: 429, retry_after_ms: 2000 } },
        { text: "now" }
      ]
    })))))

  it.effect("an error event and a truncation in mid-stream are the one terminal (2.5)", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ask([user("x")]), [
        { type: "content_delta", text: "ab" },
        { type: "error", code: "overloaded", message: "scripted failure in mid-stream: overloaded", retryable: true }
      ])
      assert.deepStrictEqual(yield* ask([user("x")]), [
        { type: "content_delta", text: "ab" },
        { type: "content_delta", text: "cd" },
        { type: "error", code: "truncated", message: "the stream ended without a terminal event", retryable: true }
      ])
    }).pipe(Effect.provide(ScriptedModel.layer(document({
      turns: [
        { text: "abcdef", chunk: 2, fault: { kind: "error_event", reason: "overloaded" } },
        { text: "abcdef", chunk: 2, fault: { kind: "truncated", after: 2 } }
      ]
    })))))

  it.effect("a hanging stream is closed by interruption", () =>
    Effect.gen(function*() {
      const client = yield* ApiClient
      const model = yield* ScriptedModel
      const reached = yield* Deferred.make<void>()
      const fiber = yield* client.sendMessage([user("x")], []).pipe(
        Stream.runForEachChunk(() => Deferred.succeed(reached, undefined)),
        Effect.fork
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual((yield* model.requests).map((request) => request.ended), ["closed"])
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [{ text: ["a", "b"], fault: { kind: "hang", after: 1 } }]
    })))))
})

describe("time and gates", () => {
  it.effect("delays go through the Clock", () =>
    Effect.gen(function*() {
      const client = yield* ApiClient
      const seen: Array<string> = []
      const fiber = yield* client.sendMessage([user("x")], []).pipe(
        Stream.runForEachChunk((events) =>
          Effect.sync(() => {
            for (const event of events) seen.push(event.type === "content_delta" ? event.text : event.type)
          })
        ),
        Effect.fork
      )
      yield* TestClock.adjust("99 millis")
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(seen, ["a"])
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(seen, ["a", "b"])
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["a", "b", "c", "usage", "message_stop"])
    }).pipe(Effect.provide(ScriptedModel.layer(Scenario.make({
      turns: [{ delay_ms: 100, delta_delay_ms: 10, content: [{ text: ["a", "b"] }, { delay_ms: 1000 }, { text: "c" }] }]
    })))))

  it.effect("a gate holds the stream in mid-flight", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const model = ScriptedModel.make(Scenario.make({
        turns: [{
          content: [
            { text: "before" },
            { gate: Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(gate)) },
            { text: "after" }
          ]
        }]
      }))
      const seen: Array<string> = []
      const fiber = yield* model.client.sendMessage([user("x")], []).pipe(
        Stream.runForEachChunk((events) => Effect.sync(() => seen.push(textIn(Chunk.toReadonlyArray(events))))),
        Effect.fork
      )
      yield* Deferred.await(reached)
      assert.deepStrictEqual(seen, ["before"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["before", "after", "", ""])
    }))
})

it.effect.prop(
  "whatever the turns say, an answer has one terminal and it is the last (2.5)",
  [FastCheck.array(
    FastCheck.record({
      text: FastCheck.fullUnicodeString(),
      chunk: FastCheck.integer({ min: 1, max: 5 }),
      calls: FastCheck.array(FastCheck.record({ name: FastCheck.constant("bash"), arguments: FastCheck.string() }), {
        maxLength: 3
      }),
      fault: FastCheck.option(
        FastCheck.oneof(
          FastCheck.record({ kind: FastCheck.constant("truncated" as const), after: FastCheck.nat(6) }),
          FastCheck.record({ kind: FastCheck.constant("error_event" as const), after: FastCheck.nat(6) })
        ),
        { nil: undefined }
      )
    }),
    { minLength: 1, maxLength: 4 }
  )],
  ([turns]) =>
    Effect.gen(function*() {
      const model = ScriptedModel.make(Scenario.make({ turns }))
      for (const turn of turns) {
        const events = Chunk.toReadonlyArray(yield* Stream.runCollect(model.client.sendMessage([user("x")], [])))
        const terminals = events.filter((event) => event.type === "message_stop" || event.type === "error")
        assert.strictEqual(terminals.length, 1)
        assert.strictEqual(events.at(-1), terminals[0])
        if (turn.fault === undefined) assert.strictEqual(textIn(events), turn.text)
      }
    })
)
