/** What a response costs, what limits it, and that every request is in the record. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { afterEach, beforeEach } from "vitest"
import { Config } from "../../src/config/Config.ts"
import { ApiClient, type RequestPurpose, type SendOptions } from "../../src/domain/ApiClient.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import { Ids } from "../../src/domain/Ids.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { Workspace } from "../../src/domain/Workspace.ts"
import { costOf } from "../../src/provider/Cost.ts"
import * as CostLimits from "../../src/provider/CostLimits.ts"
import * as Metered from "../../src/provider/Metered.ts"
import { Models, type ResolvedModel } from "../../src/provider/Models.ts"
import { SessionStore, StorageError } from "../../src/storage/SessionStore.ts"

let before: string | undefined
beforeEach(() => {
  before = process.env["TZ"]
  process.env["TZ"] = "America/New_York"
})
afterEach(() => {
  if (before === undefined) delete process.env["TZ"]
  else process.env["TZ"] = before
})

const none = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }

const model: ResolvedModel = {
  name: "p/m",
  provider: "p",
  model: "m",
  protocol: "chat",
  origin: "p:chat",
  traits: {},
  price: { input: 1, output: 2 },
  limits: { connect_ms: 0, headers_ms: 0, idle_ms: 0 },
  retry: { max_retries: 0, base_ms: 0, max_ms: 0, retry_after_cap_ms: 0 }
}

describe("what a response costs", () => {
  const price = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 }

  it("each kind of tokens by its own price, reasoning once", () => {
    const usage = {
      input_tokens: 1_000_000,
      output_tokens: 100_000,
      cache_read_tokens: 1_000_000,
      cache_write_tokens: 100_000,
      reasoning_tokens: 50_000
    }
    assert.strictEqual(costOf(usage, price), 3 + 1.5 + 0.3 + 0.375)
    assert.strictEqual(costOf(usage, { ...price, reasoning: 30 }), 3 + 0.75 + 1.5 + 0.3 + 0.375)
    assert.strictEqual(costOf(usage, { input: 1, output: 1 }), 2.2)
  })

  it("without a price it is not known, and that is not zero", () => {
    assert.isNull(costOf(none, null))
    assert.strictEqual(costOf({ ...none, input_tokens: 5 }, { input: 0, output: 0 }), 0)
  })

  it("a long prompt has the price of the highest tier it passes, all of it", () => {
    const tiered = {
      ...price,
      tiers: [{ above: 200_000, input: 6, output: 22.5 }, { above: 500_000, input: 12, output: 45 }]
    }
    const at = (input_tokens: number) => costOf({ ...none, input_tokens }, tiered)
    assert.strictEqual(at(200_000), 0.6)
    assert.strictEqual(at(200_001), 1.200006)
    assert.strictEqual(at(600_000), 7.2)
  })

  it.prop(
    "more tokens never cost less, and nothing has more digits than a billionth",
    [FastCheck.nat(10_000_000), FastCheck.nat(10_000_000), FastCheck.nat(10_000_000)],
    ([input_tokens, output_tokens, more]) => {
      const less = costOf({ ...none, input_tokens, output_tokens }, price) ?? 0
      const all = costOf({ ...none, input_tokens, output_tokens: output_tokens + more }, price) ?? 0
      assert.isAtLeast(all, less)
      assert.strictEqual(Math.round(all * 1e9) / 1e9, all)
    }
  )
})

describe("limits", () => {
  const session = { id: "ses_1", workspace: "/w", provider: "p", model: "m" }
  const call = (id: string, cost_usd: number, session_id: string | null = "ses_1") => ({
    id,
    session_id,
    workspace: "/w",
    purpose: "other" as RequestPurpose,
    model: "p/m",
    usage: none,
    cost_usd
  })
  const scene = (limits: Parameters<typeof CostLimits.make>[0]) =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      yield* store.create(session)
      const made = CostLimits.make(limits, store)
      if (made === null) return yield* Effect.dieMessage("no limits")
      return { store, check: made.check }
    })

  it.effect("no limit asks nothing of the record", () =>
    Effect.map(SessionStore, (store) => assert.isNull(CostLimits.make({}, store))).pipe(
      Effect.provide(SessionStore.layerMemory)
    ))

  it.effect("a session: a warning once from four fifths on, then the end", () =>
    Effect.gen(function*() {
      const { check, store } = yield* scene({ max_cost_per_session: 1 })
      assert.deepStrictEqual(yield* check("ses_1", model), { reached: null, warnings: [] })
      yield* store.recordCall(call("a", 0.8))
      assert.deepStrictEqual((yield* check("ses_1", model)).warnings, [
        "$0.80 of $1.00 are spent in this session (limits.max_cost_per_session)"
      ])
      assert.deepStrictEqual((yield* check("ses_1", model)).warnings, [])
      yield* store.recordCall(call("b", 0.2))
      const { reached } = yield* check("ses_1", model)
      assert.strictEqual(reached?.code, "max_cost_per_session")
      assert.match(reached?.message ?? "", /^stopped: \$1\.00 of \$1\.00 .* begin a new session, or raise the limit$/)
      // other sessions go on
      assert.isNull((yield* check("ses_2", model)).reached)
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.effect("a day ends at midnight of the zone, not of UTC", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse("2026-11-30T23:00:00-05:00"))
      const { check, store } = yield* scene({ max_cost_per_day: 1 })
      yield* store.recordCall(call("a", 1.5, null))
      const { reached } = yield* check(null, model)
      assert.match(
        reached?.message ?? "",
        /\$1\.50 of \$1\.00 were spent today, 2026-11-30 \(limits\.max_cost_per_day\)/
      )
      yield* TestClock.adjust("59 minutes")
      assert.isNotNull((yield* check(null, model)).reached)
      yield* TestClock.adjust("2 minutes")
      assert.isNull((yield* check(null, model)).reached)
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.effect("a model without a price is told, never counted as free; a price of zero is free", () =>
    Effect.gen(function*() {
      const { check, store } = yield* scene({ max_cost_per_day: 1 })
      const { reached } = yield* check(null, { ...model, price: null })
      assert.strictEqual(reached?.code, "no_price")
      assert.include(reached?.message, `providers.p.models["m"].price`)
      yield* store.recordCall(call("a", 5))
      const free = { ...model, price: { input: 0, output: 0, tiers: [{ above: 1, input: 0, output: 0 }] } }
      assert.isNull((yield* check(null, free)).reached)
      assert.isNotNull((yield* check(null, model)).reached)
    }).pipe(Effect.provide(SessionStore.layerMemory)))
})

describe("every request is in the record", () => {
  const answer: ReadonlyArray<StreamEvent> = [
    { type: "content_delta", text: "hi" },
    { type: "usage", usage: { ...none, input_tokens: 1_000_000 } },
    { type: "message_stop", stop_reason: "end_turn" }
  ]
  const sent: Array<SendOptions | undefined> = []
  const metered = (stream: Stream.Stream<StreamEvent, ApiError>, settings: string) =>
    Metered.layer.pipe(
      Layer.provide(Layer.mergeAll(
        Layer.succeed(ApiClient, {
          sendMessage: (_, __, options) => {
            sent.push(options)
            return stream
          }
        }),
        Layer.succeed(Models, { resolve: () => Effect.succeed(model) }),
        Layer.succeed(Workspace, { root: "/w", cwd: "/w" }),
        Config.layerText(settings),
        Ids.layerCounting
      ))
    )
  const layer = (stream: Stream.Stream<StreamEvent, ApiError>, settings = "{}") =>
    Layer.provideMerge(metered(stream, settings), SessionStore.layerMemory)
  const ask = (options?: SendOptions, take = 10) =>
    Effect.gen(function*() {
      const api = yield* ApiClient
      const result = yield* Effect.either(
        Stream.runCollect(Stream.take(api.sendMessage([], [], options), take))
      )
      const store = yield* SessionStore
      return { result, rows: yield* store.spending({ per: "quarter" }) }
    })

  it.effect("with what it was for; what its caller books itself is not booked twice", () =>
    Effect.gen(function*() {
      const { rows } = yield* ask({ purpose: "commit_message" })
      assert.deepInclude(rows[0], { purpose: "commit_message", model: "p/m", cost_usd: 1, requests: 1 })
      const again = yield* ask({ booked: true })
      assert.strictEqual(again.rows.length, 1)
    }).pipe(Effect.provide(layer(Stream.fromIterable(answer)))))

  it.effect("also one that is cut by whoever reads, or breaks after its usage has come", () =>
    Effect.gen(function*() {
      const { rows } = yield* ask(undefined, 2)
      assert.deepInclude(rows[0], { purpose: "other", cost_usd: 1 })
    }).pipe(
      Effect.provide(layer(Stream.concat(Stream.fromIterable(answer.slice(0, 2)), Stream.never)))
    ))

  it.effect("one that was refused is none", () =>
    Effect.gen(function*() {
      const { result, rows } = yield* ask()
      assert.strictEqual(result._tag, "Left")
      assert.deepStrictEqual(rows, [])
    }).pipe(
      Effect.provide(layer(Stream.fail(new ApiError({ reason: "auth", message: "no", retryable: false }))))
    ))

  it.effect("where it is not known what was spent, nothing is sent", () => {
    sent.length = 0
    return Effect.gen(function*() {
      const api = yield* ApiClient
      const result = yield* Effect.either(Stream.runDrain(api.sendMessage([], [])))
      assert.strictEqual(sent.length, 0)
      if (result._tag === "Right") return assert.fail("it was sent")
      assert.deepInclude(result.left, { code: "cost_limit", retryable: false })
      assert.include(result.left.message, "the disk is gone")
    }).pipe(
      Effect.provide(Layer.provide(
        metered(Stream.fromIterable(answer), `{ "limits": { "max_cost_per_day": 5 } }`),
        Layer.map(SessionStore.layerMemory, (context) =>
          Context.add(context, SessionStore, {
            ...Context.get(context, SessionStore),
            spent: () => Effect.fail(new StorageError({ reason: "query", message: "the disk is gone" }))
          }))
      ))
    )
  })

  it.effect("a limit that is reached keeps it from being sent", () =>
    Effect.gen(function*() {
      yield* ask()
      sent.length = 0
      const { result, rows } = yield* ask()
      assert.deepInclude(result, { _tag: "Left" })
      if (result._tag === "Left") assert.strictEqual(result.left.code, "cost_limit")
      assert.deepStrictEqual([sent.length, rows.length], [0, 1])
    }).pipe(Effect.provide(layer(Stream.fromIterable(answer), `{ "limits": { "max_cost_per_day": 0.5 } }`))))
})
