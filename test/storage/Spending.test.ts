/** The record of what requests to models used and cost. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import type { RequestPurpose } from "../../src/domain/ApiClient.ts"
import type { Usage } from "../../src/domain/Usage.ts"
import * as Sqlite from "../../src/platform/Sqlite.ts"
import { migrate, migrations } from "../../src/storage/Migrations.ts"
import { SessionStore, type SessionStoreService } from "../../src/storage/SessionStore.ts"
import * as Spending from "../../src/storage/Spending.ts"
import * as UsageReport from "../../src/cli/UsageReport.ts"

const tokens = (n: number): Usage => ({
  input_tokens: n,
  output_tokens: 2 * n,
  cache_read_tokens: 3,
  cache_write_tokens: 1,
  reasoning_tokens: 1
})

let ids = 0

/** A request of a run, at the clock's time. */
const request = (
  store: SessionStoreService,
  run_id: string,
  more: {
    readonly turn?: number
    readonly usage?: Usage | null
    readonly cost_usd?: number | null
    readonly purpose?: RequestPurpose
    readonly status?: "completed" | "failed" | "cancelled"
  } = {}
) =>
  Effect.gen(function*() {
    const id = `att_${ids++}`
    yield* store.beginAttempt({ id, run_id, turn: more.turn ?? 1, number: 1 })
    yield* store.endAttempt(id, {
      status: more.status ?? "completed",
      usage: more.usage === undefined ? tokens(10) : more.usage,
      cost_usd: more.cost_usd === undefined ? 0.1 : more.cost_usd,
      ...(more.purpose === undefined ? {} : { purpose: more.purpose })
    })
  })

/** `ses_a`, its subagent `ses_b`, that one's subagent `ses_c`, and `ses_x` beside them. */
const family = Effect.gen(function*() {
  const store = yield* SessionStore
  const of = { workspace: "/w", provider: "p", model: "m" }
  yield* store.create({ ...of, id: "ses_a" })
  yield* store.create({ ...of, id: "ses_b", parent_session_id: "ses_a", source: "subagent" })
  yield* store.create({ ...of, id: "ses_c", parent_session_id: "ses_b", source: "subagent" })
  yield* store.create({ ...of, id: "ses_x", workspace: "/other" })
  for (const each of ["a", "b", "c", "x"]) {
    yield* store.beginRun({ id: `run_${each}`, session_id: `ses_${each}`, model: each === "x" ? "p/free" : "p/m" })
  }
  return store
})

describe("the record of spending", () => {
  it.effect("a session has what its subagents cost, and so has each of them", () =>
    Effect.gen(function*() {
      const store = yield* family
      for (const each of ["a", "b", "c", "x"]) yield* request(store, `run_${each}`, { cost_usd: 0.1 })
      for (const session_id of ["ses_a", "ses_b", "ses_c"]) {
        assert.strictEqual(yield* store.spent({ session_id }), 0.3)
      }
      assert.strictEqual(yield* store.spent({ session_id: "ses_x" }), 0.1)
      assert.strictEqual(yield* store.spent({ since: 0 }), 0.4)
      const rows = yield* store.spending({ per: "quarter", session_id: "ses_a" })
      assert.deepStrictEqual(
        rows.map(({ purpose, requests, session_id }) => [session_id, purpose, requests]).toSorted(),
        [["ses_a", "subagent", 2], ["ses_a", "turn", 1]]
      )
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.effect("a request that failed before there was anything to pay is none; one that was cut is, without numbers", () =>
    Effect.gen(function*() {
      const store = yield* family
      yield* request(store, "run_a", { status: "failed", usage: null, cost_usd: null })
      yield* request(store, "run_a", { status: "cancelled", usage: null, cost_usd: null })
      yield* request(store, "run_a", { status: "failed", usage: tokens(1), cost_usd: 0.5 })
      const [row] = yield* store.spending({ per: "turn", session_id: "ses_a" })
      assert.deepInclude(row, { requests: 2, unreported: 1, unpriced: 1, cost_usd: 0.5, usage: tokens(1) })
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.effect("what was spent stays spent when its session is deleted", () =>
    Effect.gen(function*() {
      const store = yield* family
      yield* request(store, "run_x", { cost_usd: 2 })
      yield* store.endRun("run_x", { status: "completed", turns: 1, exit_code: 0 })
      yield* store.delete("ses_x")
      assert.strictEqual(yield* store.spent({ since: 0 }), 2)
      const rows = yield* store.spending({ per: "quarter" })
      assert.deepInclude(rows[0], { session_id: null, run_id: null, cost_usd: 2, model: "p/free" })
      assert.deepStrictEqual(yield* store.spending({ per: "quarter", workspace: "/other" }), [])
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.effect("what is booked twice is one request", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const call = {
        id: "att_once",
        session_id: null,
        workspace: "/w",
        purpose: "commit_message",
        model: "p/m",
        usage: tokens(1),
        cost_usd: 1
      } as const
      yield* store.recordCall(call)
      yield* store.recordCall(call)
      assert.strictEqual(yield* store.spent({ since: 0 }), 1)
    }).pipe(Effect.provide(SessionStore.layerMemory)))

  it.scoped("a database of before takes over what its attempts say", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: ":memory:" })
      yield* migrate(sql, ":memory:", migrations.slice(0, 1))
      yield* sql`INSERT INTO sessions (id, source, workspace, provider, model, started_at, last_active)
        VALUES ('ses_old', 'cli', '/w', 'p', 'm', 1, 1)`
      yield* sql`INSERT INTO runs (id, session_id, status, model, started_at, owner_pid, owner_started)
        VALUES ('run_old', 'ses_old', 'completed', 'p/m', 1, 1, '')`
      for (
        const [id, number, status, input, cost] of [
          ["att_1", 1, "completed", 10, 0.25],
          ["att_2", 0, "completed", 5, 0.5],
          ["att_3", 1, "failed", null, null]
        ] as const
      ) {
        yield* sql`INSERT INTO attempts (id, run_id, turn, number, status, started_at, ended_at, input_tokens,
          output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd)
          VALUES (${id}, 'run_old', 1, ${number}, ${status}, 100, 200, ${input}, 1, 0, 0, 0, ${cost})`
      }
      yield* sql`UPDATE attempts SET output_tokens = NULL WHERE id = 'att_3'`
      yield* migrate(sql, ":memory:")
      const rows = yield* Spending.rows(sql, { per: "quarter" })
      assert.deepStrictEqual(
        rows.map(({ at, cost_usd, purpose, session_id }) => [session_id, purpose, at, cost_usd]).toSorted(),
        [["ses_old", "compaction", 200, 0.5], ["ses_old", "turn", 200, 0.25]]
      )
    }))
})

const one = FastCheck.record({
  run: FastCheck.constantFrom("a", "b", "c", "x"),
  turn: FastCheck.integer({ min: 1, max: 3 }),
  input: FastCheck.option(FastCheck.nat(100_000)),
  nanos: FastCheck.option(FastCheck.nat(2_000_000_000)),
  purpose: FastCheck.constantFrom<RequestPurpose>("turn", "compaction", "title"),
  wait: FastCheck.integer({ min: 0, max: 40 * 3600 })
})

describe("sums", () => {
  it.effect.prop(
    "of all kinds of report agree, with each other and with what was booked",
    [FastCheck.array(one, { maxLength: 30 })],
    ([requests]) =>
      Effect.gen(function*() {
        yield* TestClock.setTime(1_790_000_000_000)
        const store = yield* family
        const booked = { requests: 0, unpriced: 0, input: 0, nanos: 0 }
        for (const { input, nanos, purpose, run, turn, wait } of requests) {
          yield* TestClock.adjust(wait * 1000)
          yield* request(store, `run_${run}`, {
            turn,
            purpose,
            usage: input === null ? null : tokens(input),
            cost_usd: nanos === null ? null : nanos / 1e9
          })
          booked.requests++
          booked.input += input ?? 0
          booked.nanos += nanos ?? 0
          if (nanos === null) booked.unpriced++
        }
        for (const by of ["turn", "session", "day", "model", "kind"] as const) {
          const rows = yield* store.spending({ per: by === "turn" ? "turn" : "quarter" })
          const { groups, kinds, total } = UsageReport.make(by, rows)
          for (const parts of [groups, kinds, [total]]) {
            const sum = (of: (amount: UsageReport.Amount) => number): number =>
              parts.reduce((all, amount) => all + of(amount), 0)
            assert.deepStrictEqual(
              {
                requests: sum((amount) => amount.requests),
                unpriced: sum((amount) => amount.unpriced_requests),
                input: sum((amount) => amount.usage.input_tokens),
                nanos: sum((amount) => Math.round((amount.cost_usd ?? 0) * 1e9))
              },
              booked,
              by
            )
          }
        }
        const split = 1_790_000_000 + 20 * 3600
        const [before, after] = [
          yield* store.spending({ per: "quarter", until: split }),
          yield* store.spending({ per: "quarter", since: split })
        ]
        assert.strictEqual(
          UsageReport.make("day", before).total.requests + UsageReport.make("day", after).total.requests,
          booked.requests
        )
        assert.strictEqual(Math.round((yield* store.spent({ since: 0 })) * 1e9), booked.nanos)
      }).pipe(Effect.provide(SessionStore.layerMemory)),
    { fastCheck: { numRuns: 30 } }
  )
})
