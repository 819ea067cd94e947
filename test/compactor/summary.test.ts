import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { countOf } from "../../src/compactor/Budget.ts"
import { CompactionError } from "../../src/compactor/CompactionError.ts"
import { type CompactOptions, Compactor } from "../../src/compactor/Compactor.ts"
import * as Facts from "../../src/compactor/Facts.ts"
import * as Savings from "../../src/compactor/Savings.ts"
import { SessionCompactor } from "../../src/compactor/SessionCompactor.ts"
import { Config } from "../../src/config/Config.ts"
import { ApiClient, type ApiClientService } from "../../src/domain/ApiClient.ts"
import type { Message } from "../../src/domain/Message.ts"
import { partsOf, textOf } from "../../src/domain/MessageParts.ts"
import { api, called, failing, result, said, stalling, system, user, writes } from "./support.ts"

const todo = [{ content: "fix the parser", status: "in_progress" }, { content: "write tests", status: "pending" }]

/** Two turns of work, then three that are reserved. */
const history: ReadonlyArray<Message> = [
  system,
  user("Make the parser accept tabs.\nNever touch the lexer."),
  called("c1", "read", { path: "src/parser.ts" }),
  result("c1", "SECRET-RESULT ".repeat(200), { tool_name: "read" }),
  called("c2", "todo", { items: todo }),
  result("c2", "[>] fix the parser", { tool_name: "todo" }),
  called("c3", "edit", { path: "src/parser.ts", old_string: "a", new_string: "b" }),
  result("c3", "edited", { tool_name: "edit" }),
  called("c4", "write", { path: "src/broken.ts", content: "x" }),
  result("c4", "no", { tool_name: "write", is_error: true }),
  called("c5", "apply_patch", { patch: "*** Begin Patch\n*** Update File: src/tabs.ts\n@@\n-a\n+b\n*** End Patch" }),
  result("c5", "done", { tool_name: "apply_patch" }),
  said("The parser accepts tabs."),
  user("Also accept form feeds, please."),
  said("word ".repeat(900)),
  user("three"),
  said("3"),
  user("four"),
  said("4"),
  user("five"),
  said("5")
]

const compact = (client: ApiClientService | null, options: CompactOptions = {}, messages = history) =>
  new SessionCompactor(2000, 3, client).compact(messages, options)

const summaryOf = (out: { readonly messages: ReadonlyArray<Message>; readonly summary_at: number | null }): Message => {
  const summary = out.summary_at === null ? undefined : out.messages[out.summary_at]
  if (summary === undefined) throw new Error("no summary")
  return summary
}

describe("the summary", () => {
  it.effect("is asked for once, with all of the middle, and stands behind the system prompt (5.5, 5.7)", () =>
    Effect.gen(function*() {
      const client = writes("## Goal: tabs")
      const out = yield* compact(client)
      assert.strictEqual(client.requests.length, 1)
      const [request = []] = client.requests
      assert.deepStrictEqual(request.map(({ role }) => role), ["system", "user"])
      const instructions = textOf(request[0] ?? system)
      for (const heading of ["Goal", "Decisions", "State", "Commands and results", "Open tasks", "Next step"]) {
        assert.include(instructions, `## ${heading}`)
      }
      const asked = textOf(request[1] ?? system)
      for (const said of ["Never touch the lexer", "[call of edit]", "SECRET-RESULT", "[result of write, an error]"]) {
        assert.include(asked, said)
      }
      assert.notInclude(asked, "three")
      assert.isFalse(out.fallback)
      assert.strictEqual(out.summary_at, 1)
      assert.deepStrictEqual(out.messages.slice(2), history.slice(15))
      assert.deepStrictEqual(out.usage, {
        input_tokens: 100,
        output_tokens: 10,
        cache_read_tokens: 0,
        cache_write_tokens: 0
      })
    }))

  it.effect("carries requests, tasks and files word for word (5.7)", () =>
    Effect.gen(function*() {
      const summary = summaryOf(yield* compact(writes("words")))
      assert.deepStrictEqual(Facts.ofSummary(summary), {
        goal: "Make the parser accept tabs.\nNever touch the lexer.",
        request: "Also accept form feeds, please.",
        todo: JSON.stringify(todo),
        files_read: ["src/parser.ts"],
        files_modified: ["src/parser.ts", "src/tabs.ts"]
      })
      assert.strictEqual(Facts.wordsOf(summary), "words")
      assert.notInclude(JSON.stringify(summary), "SECRET-RESULT")
      assert.strictEqual(summary.token_count, countOf({ role: "assistant", content: partsOf(summary) }))
    }))

  it.effect("and they survive being compacted again and again, also when every call fails (5.7)", () =>
    Effect.gen(function*() {
      let messages = history
      for (let n = 0; n < 12; n++) {
        const out = yield* compact(n % 3 === 0 ? writes(`summary ${n}`) : failing, { force: true }, messages)
        messages = [
          ...out.messages,
          user(`request ${n}`),
          called(`n${n}`, "edit", { path: `src/file${n}.ts` }),
          result(`n${n}`, "ok", { tool_name: "edit" }),
          said("word ".repeat(100))
        ]
      }
      const facts = Facts.ofSummary(summaryOf(yield* compact(failing, { force: true }, messages)))
      assert.strictEqual(facts.goal, "Make the parser accept tabs.\nNever touch the lexer.")
      assert.strictEqual(facts.request, "request 8")
      assert.strictEqual(facts.todo, JSON.stringify(todo))
      assert.include(facts.files_modified, "src/parser.ts")
      assert.include(facts.files_modified, "src/file8.ts")
    }))

  it.effect("folds the earlier one in: it is asked with it, and there is one afterwards (5.5)", () =>
    Effect.gen(function*() {
      const first = yield* compact(writes("the first summary"))
      const client = writes("both")
      const second = yield* compact(client, { force: true, reserve_recent: 1 }, first.messages)
      assert.include(textOf(client.requests[0]?.[1] ?? system), "[earlier summary]\nthe first summary")
      assert.strictEqual(second.messages.filter(({ kind }) => kind === "summary").length, 1)
      assert.strictEqual(second.compacted_count, 5)
    }))

  it.effect("dwells on what it was told to", () =>
    Effect.gen(function*() {
      const client = writes("x")
      yield* compact(client, { focus: "the tab width" })
      assert.include(textOf(client.requests[0]?.[0] ?? system), "Pay most attention to: the tab width")
    }))

  it.effect("a conversation too long for its own summary is shortened for it", () =>
    Effect.gen(function*() {
      const client = writes("x")
      yield* new SessionCompactor(1000, 1, client).compact([
        user("begin"),
        ...Array.from({ length: 200 }, (_, n) => [called(`c${n}`), result(`c${n}`, `line ${n} `.repeat(300))]).flat(),
        user("end")
      ])
      assert.isAtMost(countOf(client.requests[0]?.[1] ?? system), 800)
    }))
})

describe("truncation (5.6)", () => {
  const cases: ReadonlyArray<readonly [name: string, client: ApiClientService | null]> = [
    ["there is nobody to ask", null],
    ["the call fails", failing],
    ["an empty answer", writes("  \n ")],
    ["longer than the room", writes("word ".repeat(5000))],
    ["a refusal", api({ type: "content_delta", text: "no" }, { type: "message_stop", stop_reason: "refusal" })],
    [
      "an error in mid-stream",
      api({ type: "content_delta", text: "half" }, { type: "error", code: "server", message: "x", retryable: true })
    ],
    ["no terminal", api({ type: "content_delta", text: "half" })],
    ["the client breaks", { sendMessage: () => Stream.die(new Error("broken")) }]
  ]
  for (const [name, client] of cases) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const out = yield* compact(client)
        assert.isTrue(out.fallback)
        const digest = summaryOf(out)
        assert.isAtMost(countOf(digest), 200)
        assert.include(textOf(digest), "Make the parser accept tabs.")
        assert.include(textOf(digest), "fix the parser")
        assert.notInclude(JSON.stringify(digest), "SECRET-RESULT")
        assert.deepStrictEqual(out.messages.slice(2), history.slice(15))
        assert.isFalse(out.over_budget)
      }))
  }

  it.effect("no end within 60 seconds", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(compact(stalling))
      yield* TestClock.adjust("59 seconds")
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.isTrue((yield* Fiber.join(fiber)).fallback)
    }))

  it.effect("an interruption is none: nothing is made of it", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(compact(stalling))
      yield* Effect.yieldNow()
      const exit = yield* Fiber.interrupt(fiber)
      assert.strictEqual(exit._tag, "Failure")
    }))

  it.effect("what a failed call used is told", () =>
    Effect.gen(function*() {
      const out = yield* compact(writes("word ".repeat(400)), { max_tokens: 500, force: true })
      assert.isTrue(out.fallback)
      const late = yield* compact(
        api(
          { type: "usage", usage: { input_tokens: 7, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0 } },
          { type: "error", code: "server", message: "x", retryable: true }
        )
      )
      assert.strictEqual(late.usage?.input_tokens, 7)
    }))
})

describe("over budget (5.8)", () => {
  it.effect("no model is asked where there is no room", () =>
    Effect.gen(function*() {
      const client = writes("x")
      const out = yield* compact(client, { max_tokens: 20 })
      assert.strictEqual(client.requests.length, 0)
      assert.isTrue(out.over_budget && out.fallback)
      assert.isNull(out.summary_at)
      assert.deepStrictEqual(out.messages, [system, ...history.slice(15)])
    }))

  it.effect("numbers that mean nothing are an error (5.3)", () =>
    Effect.gen(function*() {
      for (
        const options of [{ reserve_recent: -1 }, { reserve_recent: 1.5 }, { max_tokens: -1 }, { max_tokens: NaN }]
      ) {
        const error = yield* Effect.flip(compact(failing, options))
        assert.instanceOf(error, CompactionError)
        assert.strictEqual(error.reason, "invalid_input")
      }
    }))
})

describe("the Layer (D19)", () => {
  const budgetOf = (settings: string, kind: "layer" | "layerWindow", window: number | undefined) =>
    Effect.map(Compactor, (compactor) => compactor.budget(window)).pipe(
      Effect.provide(
        Compactor[kind].pipe(Layer.provide(Layer.merge(Config.layerText(settings), Layer.succeed(ApiClient, failing))))
      )
    )

  it.effect("opt-in; the command line's takes the window of the model unless the settings say otherwise (5.1)", () =>
    Effect.gen(function*() {
      const table: ReadonlyArray<readonly [settings: string, opt_in: number | null, window: number | null]> = [
        ["{}", null, 200_000],
        ["{\"max_tokens\": null}", null, 200_000],
        ["{\"max_tokens\": 0}", null, null],
        ["{\"max_tokens\": 5000}", 5000, 5000]
      ]
      for (const [settings, opt_in, window] of table) {
        assert.strictEqual(yield* budgetOf(settings, "layer", 200_000), opt_in, settings)
        assert.strictEqual(yield* budgetOf(settings, "layerWindow", 200_000), window, settings)
      }
      assert.isNull(yield* budgetOf("{}", "layerWindow", undefined))
    }))

  it.effect("compacts by the settings", () =>
    Effect.gen(function*() {
      const compactor = yield* Compactor
      assert.strictEqual(compactor.reserve_recent, 1)
      const out = yield* compactor.compact(history)
      assert.deepStrictEqual(out.messages.slice(2), history.slice(19))
      assert.isTrue((yield* compactor.compact(history, { max_tokens: null, force: true })).unchanged)
    }).pipe(
      Effect.provide(
        Compactor.layer.pipe(
          Layer.provide(
            Layer.merge(
              Config.layerText("{\"max_tokens\": 2000, \"reserve_recent\": 1}"),
              Layer.succeed(ApiClient, writes("s"))
            )
          )
        )
      )
    ))
})

describe("savings before a summary", () => {
  const save = (messages: ReadonlyArray<Message>, target: number) =>
    Savings.make(messages, messages.map(countOf), target)

  it("reads that were made again, then the middles of long outputs, the oldest first", () => {
    const long = "output line\n".repeat(400)
    const messages = [
      user("go"),
      called("a", "read", { path: "x" }),
      result("a", long),
      called("b", "bash", { command: "make" }),
      result("b", `${long}the error`),
      called("c", "read", { path: "x" }),
      result("c", long),
      called("d", "bash", { command: "make" }),
      result("d", long)
    ]
    const savings = save(messages, 3700)
    assert.deepStrictEqual(savings?.shortened.map(({ index }) => index), [2, 4])
    assert.strictEqual(savings?.shortened[0]?.message.content, "[read: the same was looked up again later]")
    const cut = textOf(savings?.shortened[1]?.message ?? system)
    assert.include(cut, "characters left out")
    assert.isTrue(cut.endsWith("the error"))
    assert.isNull(save(messages, 1000), "the newest group stays, so it cannot be reached")
  })

  it("a read that was written over; not one of other lines, not a failed one, not the same command run again", () => {
    const long = "x ".repeat(300)
    const read = (id: string, offset?: number) =>
      called(id, "read", { path: "x", ...(offset === undefined ? {} : { offset }) })
    const written = [user("go"), read("a"), result("a", long), called("b", "write", { path: "x" }), result("b", "ok")]
    assert.strictEqual(save(written, 60)?.shortened[0]?.message.content, "[read: the file was written anew later]")
    assert.isNull(save([user("go"), read("a", 5), result("a", long), read("b", 9), result("b", long)], 60))
    assert.isNull(
      save([user("go"), read("a"), result("a", long), read("b"), result("b", "no", { is_error: true })], 60)
    )
    assert.isNull(save([user("go"), called("a"), result("a", long), called("b"), result("b", long)], 60))
  })
})
