import { assert, describe, it } from "@effect/vitest"
import type { MessageCreateParams } from "@anthropic-ai/sdk/resources/messages"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { ChatCompletionCreateParams } from "openai/resources/chat/completions"
import type { ResponseCreateParams } from "openai/resources/responses/responses"
import { illegality, repair } from "../../src/agent/Transcript.ts"
import { countOf, exceeds, total } from "../../src/compactor/Budget.ts"
import type { CompactionResult, CompactOptions } from "../../src/compactor/Compactor.ts"
import * as Digest from "../../src/compactor/Digest.ts"
import * as Savings from "../../src/compactor/Savings.ts"
import { SessionCompactor } from "../../src/compactor/SessionCompactor.ts"
import { callers } from "../../src/compactor/Turns.ts"
import type { ApiClientService } from "../../src/domain/ApiClient.ts"
import type { Message } from "../../src/domain/Message.ts"
import { toolCallsOf } from "../../src/domain/MessageParts.ts"
import { input, protocols } from "../protocol/Support.ts"
import { validateAnthropic } from "../support/upstream/AnthropicRules.ts"
import { validateChat } from "../support/upstream/ChatRules.ts"
import { validateResponses } from "../support/upstream/ResponsesRules.ts"
import { budgets, failing, histories, writes } from "./support.ts"

type Options = CompactOptions & { readonly max_tokens: number; readonly reserve_recent: number }

const compact = (
  messages: ReadonlyArray<Message>,
  options: Options,
  api: ApiClientService = failing
): CompactionResult => Effect.runSync(new SessionCompactor(null, 3, api).compact(messages, options))

/** No call of the output lacks a result that the input had, and no result stands without its call. */
const pairsIntact = (before: ReadonlyArray<Message>, after: ReadonlyArray<Message>): void => {
  const answered = (messages: ReadonlyArray<Message>) =>
    new Set(callers(messages).flatMap((call, i) => call >= 0 ? [messages[i]?.tool_call_id ?? ""] : []))
  const had = answered(before)
  const has = answered(after)
  const made = new Set(after.flatMap((message) => toolCallsOf(message).map(({ id }) => id)))
  for (const id of had) assert.strictEqual(has.has(id), made.has(id), `the pair of ${id}`)
  for (const message of after) if (message.role === "tool") assert.isTrue(made.has(message.tool_call_id ?? ""))
}

/** A request ends with something to answer. */
const judge = (messages: ReadonlyArray<Message>): void => {
  const legal = repair([...messages, { role: "user", content: "go on" }])
  assert.isNull(illegality(legal))
  const over = {
    messages: legal,
    tools: [{ name: "bash", description: "", input_schema: { type: "object", properties: {} } }]
  }
  const bodyOf = (name: keyof typeof protocols): Record<string, unknown> =>
    JSON.parse(JSON.stringify(protocols[name].encodeRequest(input(over)).body)) as Record<string, unknown>
  validateAnthropic(bodyOf("anthropic"), protocols.anthropic.headers("k"), {}, false)
  validateChat(bodyOf("chat"), {})
  validateResponses(bodyOf("responses"), {})
}

describe("whatever the history, the budget and the summariser", () => {
  const apis = FastCheck.constantFrom<ApiClientService>(
    failing,
    writes("short"),
    writes("a summary of some length. ".repeat(20)),
    writes("far too long. ".repeat(2000))
  )

  it.prop(
    "pairs stay whole, system and reserved turns are the very same, it fits or is flagged, the input is untouched (5.3 to 5.8)",
    [histories, budgets, apis],
    ([messages, options, api]) => {
      const copy = structuredClone(messages)
      const out = compact(messages, options, api)
      assert.deepStrictEqual(messages, copy, "the input")
      pairsIntact(messages, out.messages)

      if (messages[0]?.role === "system") assert.strictEqual(out.messages[0], messages[0])
      const emptied = new Set(out.replaced)
      const stays = out.kept.map((index) => messages[index])
      const rest = out.messages.filter((_, index) => index !== out.summary_at)
      assert.strictEqual(rest.length, stays.length)
      out.kept.forEach((index, at) => {
        if (emptied.has(index)) assert.strictEqual(rest[at]?.content, "[compacted]")
        else assert.strictEqual(rest[at], messages[index])
      })
      const users = messages.flatMap((message, index) => message.role === "user" ? [index] : [])
      if (!out.unchanged && users.length > 0) {
        for (const index of users.slice(-Math.max(1, options.reserve_recent))) assert.include(out.kept, index)
      }

      assert.strictEqual(out.over_budget, total(out.messages) > options.max_tokens)
      assert.strictEqual(out.tokens_after, total(out.messages))
      assert.strictEqual(out.tokens_before, total(messages))
      assert.strictEqual(out.tokens_saved, Math.max(0, out.tokens_before - out.tokens_after))
      assert.strictEqual(out.compacted_count, messages.length - out.kept.length)
      const summaries = out.messages.filter(({ kind }) => kind === "summary").length
      assert.isAtMost(summaries, 1)
      if (out.summary_at !== null) {
        const summary = out.messages[out.summary_at]
        assert.strictEqual(summary?.kind, "summary")
        assert.strictEqual(summary?.role, "assistant")
        if (summary !== undefined && out.fallback) {
          assert.isAtMost(countOf(summary), Math.max(4, Math.floor(options.max_tokens / 10)))
        }
      }
      if (!exceeds(out.tokens_before, options.max_tokens) && !options.force) assert.isTrue(out.unchanged)
    }
  )

  it.prop(
    "compacting a result again changes nothing (5.4)",
    [histories, budgets, apis],
    ([messages, options, api]) => {
      const once = compact(messages, { ...options, force: true }, api)
      const again = compact(once.messages, { ...options, force: true, within_turn: false }, api)
      assert.isTrue(again.unchanged)
      assert.strictEqual(again.messages, once.messages)
      const within = compact(once.messages, { ...options, force: true }, api)
      if (options.within_turn) assert.deepStrictEqual(within.messages, compact(within.messages, options, api).messages)
    }
  )

  it.prop(
    "it is deterministic apart from the words of the summary (5.6)",
    [histories, budgets],
    ([messages, options]) => {
      assert.deepStrictEqual(compact(messages, options), compact(messages, options))
      const one = compact(messages, options, writes("one way to say it"))
      const other = compact(messages, options, writes("said in another way"))
      if (one.fallback === other.fallback) {
        const { messages: _, tokens_after: _a, tokens_saved: _s, ...figures } = one
        const { messages: _m, tokens_after: _b, tokens_saved: _t, ...others } = other
        assert.deepStrictEqual(figures, others)
      }
    }
  )

  it.prop("all three protocols accept what comes out", [histories, budgets, apis], ([messages, options, api]) => {
    judge(compact(messages, options, api).messages)
  })

  it.prop("a digest keeps its limit and no text of a result", [
    histories.map((messages) =>
      messages.map((message): Message => message.role === "tool" ? { ...message, content: "SECRET-RESULT" } : message)
    ),
    FastCheck.integer({ min: 0, max: 500 })
  ], ([messages, limit]) => {
    const digest = Digest.make(messages, messages.map((_, index) => index), limit)
    if (limit < 4) assert.isNull(digest)
    if (digest === null) return
    assert.isAtMost(countOf(digest), limit)
    assert.notInclude(JSON.stringify(digest), "SECRET-RESULT")
  })

  it.prop(
    "savings come down to the target or are none; calls and the newest group stay as they are",
    [histories, FastCheck.integer({ min: 0, max: 2000 })],
    ([messages, target]) => {
      const savings = Savings.make(messages, messages.map(countOf), target)
      if (savings === null) return
      const after = [...messages]
      for (const { index, message } of savings.shortened) {
        assert.strictEqual(messages[index]?.role, "tool")
        assert.strictEqual(message.tool_call_id, messages[index]?.tool_call_id)
        after[index] = message
      }
      assert.isAtMost(total(after), target)
      assert.strictEqual(savings.tokens_saved, total(messages) - total(after))
      judge(after)
    }
  )
})

describe("the official SDKs", () => {
  it("take a compacted conversation by their types", () => {
    const history: ReadonlyArray<Message> = [
      { role: "system", content: "s" },
      { role: "user", content: "one ".repeat(200) },
      { role: "assistant", content: [{ type: "tool_call", id: "a", name: "bash", arguments: "{}" }] },
      { role: "tool", tool_call_id: "a", content: "long ".repeat(200) },
      { role: "user", content: "two" },
      { role: "assistant", content: "three" },
      { role: "user", content: "four" }
    ]
    const { messages, summary_at } = compact(history, { max_tokens: 400, reserve_recent: 2 }, writes("in short"))
    assert.strictEqual(summary_at, 1)
    const bodyOf = (name: keyof typeof protocols) => protocols[name].encodeRequest(input({ messages })).body
    // The encoders give plain JSON; the SDKs' own types say what they send, member by member.
    const a = bodyOf("anthropic") as unknown as MessageCreateParams
    const c = bodyOf("chat") as unknown as ChatCompletionCreateParams
    const r = bodyOf("responses") as unknown as ResponseCreateParams
    assert.deepStrictEqual(a.messages.map(({ role }) => role), ["user", "assistant", "user", "assistant", "user"])
    assert.deepStrictEqual(
      c.messages.map(({ role }) => role),
      ["system", "assistant", "user", "assistant", "user"]
    )
    assert.isArray(r.input)
  })
})
