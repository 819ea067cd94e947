/** Runs under limits of the settings: a clear end, an exit code, a warning before. */
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Agent, type RunInput } from "../../src/agent/Agent.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { agentLayer, call, callTurn, type Request, textTurn, type World } from "./support.ts"

/** A turn of `support` uses 10 tokens of input and 5 of output: with this price 0.02 dollars. */
const price = { input: 1000, output: 2000 }

const run = (input: RunInput) =>
  Effect.flatMap(Agent, (agent) => Effect.map(Stream.runCollect(agent.run(input)), Chunk.toReadonlyArray))

const turns = [callTurn(call("a", "look")), callTurn(call("b", "look", { n: 2 })), textTurn("done"), textTurn("more")]

const world = (settings: object, more: Partial<World> = {}): World => ({
  turns,
  tools: { look: () => Effect.succeed({ output: "seen", error: null, is_error: false }) },
  model: { price, protocol: "chat" },
  settings: JSON.stringify(settings),
  ...more
})

describe("limits of the settings", () => {
  it.effect("a session that has spent its limit ends with exit code 4, its calls answered", () => {
    const requests: Array<Request> = []
    return Effect.gen(function*() {
      const events = yield* run({ prompt: "go" })
      const end = events.at(-1)
      assert.deepInclude(end, { type: "run.failed", exit_code: 4, turns: 3 })
      if (end?.type === "run.failed") {
        assert.strictEqual(end.error.code, "max_cost_per_session")
        assert.match(end.error.message, /\$0\.04 of \$0\.04 were spent in this session/)
      }
      // no request went out after the limit
      assert.strictEqual(requests.length, 2)
      const session_id = events[0]?.session_id ?? ""
      const store = yield* SessionStore
      assert.strictEqual(yield* store.spent({ session_id }), 0.04)
      // and a new prompt of the same session does not begin
      const again = yield* run({ prompt: "more", session_id })
      assert.deepInclude(again.at(-1), { type: "run.failed", exit_code: 4 })
      assert.strictEqual(requests.length, 2)
    }).pipe(Effect.provide(agentLayer(world({ limits: { max_cost_per_session: 0.04 } }, { requests }))))
  })

  it.effect("a warning comes once, before the limit", () =>
    Effect.gen(function*() {
      const events = yield* run({ prompt: "go" })
      const warnings = events.filter((event) => event.type === "notice" && event.code === "cost_warning")
      assert.strictEqual(warnings.length, 1)
      assert.deepInclude(events.at(-1), { type: "run.completed" })
    }).pipe(Effect.provide(agentLayer(world({ limits: { max_cost_per_day: 0.048 } })))))

  it.effect("--max-cost warns too", () =>
    Effect.gen(function*() {
      const events = yield* run({ prompt: "go", max_cost_usd: 0.045 })
      const notices = events.flatMap((event) => event.type === "notice" ? [event.message] : [])
      assert.deepStrictEqual(notices.filter((text) => text.includes("--max-cost")), [
        "$0.04 of $0.045 are spent in this run (--max-cost)"
      ])
    }).pipe(Effect.provide(agentLayer(world({})))))

  it.effect("a model without a price does not begin: exit code 2, and nothing is sent", () => {
    const requests: Array<Request> = []
    return Effect.gen(function*() {
      const end = (yield* run({ prompt: "go" })).at(-1)
      assert.deepInclude(end, { type: "run.failed", exit_code: 2 })
      if (end?.type === "run.failed") assert.include(end.error.message, "price in the settings")
      assert.strictEqual(requests.length, 0)
    }).pipe(
      Effect.provide(
        agentLayer(
          world({ limits: { max_cost_per_session: 1 } }, { requests, model: { price: null, protocol: "chat" } })
        )
      )
    )
  })

  describe("a provider that tells no tokens", () => {
    const silent = turns.map((steps) => steps.filter((step) => !("type" in step) || step.type !== "usage"))
    const ended = (settings: object, input: RunInput, more: Partial<World> = {}) => {
      const requests: Array<Request> = []
      return Effect.map(
        Effect.provide(run(input), agentLayer(world(settings, { turns: silent, requests, ...more }))),
        (events) => ({ events, end: events.at(-1), requests: requests.length })
      )
    }
    const warned = (events: ReadonlyArray<{ readonly type: string; readonly message?: string }>) =>
      events.filter((event) => event.type === "notice" && event.message?.includes("in no limit") === true).length

    it.effect("ends the run where a limit holds, its calls answered: nobody would know when it is reached", () =>
      Effect.gen(function*() {
        for (
          const [settings, input] of [
            [{ limits: { max_cost_per_day: 9 } }, { prompt: "go" }],
            [{ limits: { max_cost_per_session: 9 } }, { prompt: "go" }],
            [{}, { prompt: "go", max_cost_usd: 9 }]
          ] as const
        ) {
          const { end, events, requests } = yield* ended(settings, input)
          assert.deepInclude(end, { type: "run.failed", exit_code: 4, turns: 1 })
          if (end?.type === "run.failed") {
            assert.strictEqual(end.error.code, "no_usage")
            assert.match(end.error.message, /told no tokens.*providers\..*\.price to 0/u)
          }
          assert.strictEqual(requests, 1)
          assert.isFalse(events.some((event) => event.type === "tool.started"))
        }
      }))

    it.effect("an answer that ends the run is given out, with a warning", () =>
      Effect.gen(function*() {
        const { end, events } = yield* ended({ limits: { max_cost_per_day: 9 } }, { prompt: "go" }, {
          turns: silent.slice(2)
        })
        assert.deepInclude(end, { type: "run.completed", result: "done" })
        assert.strictEqual(warned(events), 1)
      }))

    it.effect("goes on where nothing is limited, and where the model costs nothing", () =>
      Effect.gen(function*() {
        const free = { model: { price: { input: 0, output: 0 }, protocol: "chat" } } as const
        for (
          const { end, events } of [
            yield* ended({}, { prompt: "go" }),
            yield* ended({ limits: { max_cost_per_day: 9 } }, { prompt: "go" }, free),
            yield* ended({}, { prompt: "go", max_cost_usd: 9 }, free)
          ]
        ) {
          assert.deepInclude(end, { type: "run.completed", turns: 3 })
          assert.strictEqual(warned(events), 0)
        }
      }))
  })

  it.effect("every turn of the run is in the record, by turn", () =>
    Effect.gen(function*() {
      const events = yield* run({ prompt: "go" })
      const store = yield* SessionStore
      const rows = yield* store.spending({ per: "turn", session_id: events[0]?.session_id ?? "" })
      assert.deepStrictEqual(
        rows.map(({ cost_usd, purpose, turn }) => [turn, purpose, cost_usd]).toSorted(),
        [[1, "turn", 0.02], [2, "turn", 0.02], [3, "turn", 0.02]]
      )
    }).pipe(Effect.provide(agentLayer(world({})))))
})
