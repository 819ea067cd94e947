import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Message, Part } from "../../src/domain/Message.ts"
import type { Usage } from "../../src/domain/Usage.ts"
import { Dirs } from "../../src/platform/Dirs.ts"
import { identify, type ProcessIdentityService } from "../../src/platform/ProcessIdentity.ts"
import * as Sqlite from "../../src/platform/Sqlite.ts"
import { migrate } from "../../src/storage/Migrations.ts"
import { type Entry, SessionStore } from "../../src/storage/SessionStore.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { temporary } from "./support.ts"

const root = temporary()
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

const text = (value: string): Part => ({ type: "text", text: value })
const reasoning = (value: string, signature?: string): Part => ({
  type: "reasoning",
  text: value,
  ...(signature === undefined ? {} : { replay: { origin: "anthropic:anthropic", signature } })
})
const call = (id: string, args = "{}"): Part => ({ type: "tool_call", id, name: "bash", arguments: args })
const assistant = (key: string, part: Part, more: Partial<Entry> = {}): Entry => ({
  key,
  run_id: "run_1",
  turn: 1,
  message: { role: "assistant", content: [part] },
  ...more
})
const user = (key: string, value: string, more: Partial<Entry> = {}): Entry => ({
  key,
  run_id: "run_1",
  turn: 0,
  message: { role: "user", content: [text(value)] },
  ...more
})
const result = (id: string, value: string, more: Partial<Entry> = {}): Entry => ({
  key: `tool:${id}`,
  run_id: "run_1",
  turn: 1,
  message: { role: "tool", tool_call_id: id, tool_name: "bash", content: value },
  ...more
})
const session = { id: "ses_1", workspace: "/w", provider: "anthropic", model: "claude" }
const usage: Usage = {
  input_tokens: 10,
  output_tokens: 5,
  cache_read_tokens: 3,
  cache_write_tokens: 1,
  reasoning_tokens: 2
}

/** The store over a database that the test may look into. */
const opened = (identity: Partial<ProcessIdentityService> = {}) =>
  Effect.gen(function*() {
    const sql = yield* Sqlite.open({ path: ":memory:" })
    yield* migrate(sql, ":memory:")
    const store = yield* SqliteSessionStore.make(sql, ":memory:", {
      self: Effect.succeed({ pid: 1, started: "self" }),
      liveness: () => Effect.succeed("alive"),
      ...identity
    })
    yield* store.create(session)
    return { sql, store }
  })

const summary = Effect.flatMap(SessionStore, (store) => Effect.map(store.get("ses_1"), Option.getOrThrow))
const inMemory = <A, E>(body: Effect.Effect<A, E, SessionStore>) =>
  Effect.provide(
    Effect.zipRight(Effect.flatMap(SessionStore, (store) => store.create(session)), body),
    SessionStore.layerMemory
  )

describe("entries and history", () => {
  it.effect("what is appended twice stands there once", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      const entries = [
        user("user:run_1:0", "fix it"),
        assistant("item:1", text("ok")),
        assistant("assistant:a", call("a")),
        result("a", "out")
      ]
      yield* store.append("ses_1", entries)
      const once = yield* store.entries("ses_1")
      yield* store.append("ses_1", [...entries, ...entries])
      assert.deepStrictEqual(yield* store.entries("ses_1"), once)
      assert.deepStrictEqual((yield* summary).message_count, 4)
      assert.deepStrictEqual((yield* summary).tool_call_count, 1)
    })))

  it.effect("a withdrawn entry is kept, flagged, and not part of the conversation; its key is free again", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      yield* store.append("ses_1", [
        user("user:run_1:0", "go"),
        assistant("item:1", text("half")),
        assistant("assistant:a", call("a", "{\"x\":"))
      ])
      yield* store.withdraw("ses_1", ["item:1", "assistant:a", "item:unknown"])
      yield* store.withdraw("ses_1", ["item:1"])
      assert.deepStrictEqual((yield* store.entries("ses_1")).map((one) => [one.key, one.withdrawn]), [
        ["user:run_1:0", false],
        ["item:1", true],
        ["assistant:a", true]
      ])
      const counted = yield* summary
      assert.deepStrictEqual([counted.message_count, counted.tool_call_count, counted.preview], [1, 0, "go"])
      yield* store.append("ses_1", [assistant("assistant:a", call("a", "{}"))])
      assert.deepStrictEqual(yield* store.history("ses_1"), [
        { role: "user", content: [text("go")] },
        { role: "assistant", content: [call("a", "{}")] }
      ])
      assert.strictEqual((yield* summary).tool_call_count, 1)
    })))

  it.effect("a result above 32 KiB is replayed whole", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      const long = "äöü ".repeat(40_000)
      yield* store.append("ses_1", [assistant("assistant:a", call("a")), result("a", long)])
      assert.strictEqual((yield* store.history("ses_1"))[1]?.content, long)
    })))

  it.effect("a key may hold anything a model takes for an id", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      const keys = ["a\0b", "a\0c", "a", "\ud800", "\ud801", "\ufffd", "\"a\"", "", "ä".repeat(300)].map((id) =>
        `tool:${id}`
      ).concat("\"x")
      yield* store.append("ses_1", keys.map((key) => user(key, key)))
      yield* store.append("ses_1", keys.map((key) => user(key, key)))
      assert.deepStrictEqual((yield* store.entries("ses_1")).map((one) => one.key), keys)
      yield* store.withdraw("ses_1", keys.slice(1, 4))
      assert.deepStrictEqual(
        (yield* store.entries("ses_1")).map((one) => one.withdrawn),
        keys.map((_, n) => n >= 1 && n <= 3)
      )
    })))

  it.effect("an append to a session that is not there: not_found", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      assert.strictEqual((yield* Effect.flip(store.append("ses_9", [user("u", "x")]))).reason, "not_found")
      assert.strictEqual((yield* Effect.flip(store.history("ses_9"))).reason, "not_found")
      assert.strictEqual(
        (yield* Effect.flip(store.beginRun({ id: "r", session_id: "ses_9", model: "m" }))).reason,
        "not_found"
      )
    })))

  it.effect("several fibers at once lose nothing", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        (n) =>
          n % 6 === 5 ? Effect.asVoid(store.history("ses_1")) : store.append("ses_1", [user(`user:${n}`, `text ${n}`)]),
        { concurrency: "unbounded" }
      )
      assert.strictEqual((yield* store.entries("ses_1")).length, 50)
      assert.strictEqual((yield* summary).message_count, 50)
    })))

  it.effect("an interrupted append has happened or it has not", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      const fibers = yield* Effect.forEach(Array.from({ length: 40 }, (_, n) => n), (n) =>
        Effect.fork(store.append("ses_1", [user(`user:${n}:a`, "a"), user(`user:${n}:b`, "b")])))
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(fibers)
      const keys = new Set((yield* store.entries("ses_1")).map((one) =>
        one.key
      ))
      for (let n = 0; n < 40; n++) assert.strictEqual(keys.has(`user:${n}:a`), keys.has(`user:${n}:b`))
      assert.strictEqual((yield* summary).message_count, keys.size)
      yield* store.append("ses_1", [user("user:last", "x")])
    })))
})

const anyText = FastCheck.string16bits({ maxLength: 40 })
const anyPart: FastCheck.Arbitrary<Part> = FastCheck.oneof(
  anyText.map(text),
  FastCheck.record({
    type: FastCheck.constant("reasoning" as const),
    text: anyText,
    replay: FastCheck.record({ origin: FastCheck.constant("a:b"), signature: FastCheck.base64String() })
  }),
  FastCheck.tuple(anyText, FastCheck.json()).map(([id, args]) => call(`call_${id}`, args))
)
const anyTurn = FastCheck.record({
  before: FastCheck.array(anyText.map((value): Message => ({ role: "user", content: [text(value)] })), {
    maxLength: 2
  }),
  parts: FastCheck.array(anyPart, { minLength: 1, maxLength: 5 }),
  results: FastCheck.infiniteStream(anyText),
  order: FastCheck.boolean()
})

describe("random transcripts", () => {
  it.effect.prop("come back as they were, stored item by item, twice, in any grouping", [
    FastCheck.array(anyTurn, { maxLength: 6 }),
    FastCheck.integer({ min: 1, max: 7 })
  ], ([turns, group]) =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      const entries: Array<Entry> = []
      const expected: Array<Message> = []
      turns.forEach(({ before, order, parts, results }, number) => {
        const turn = number + 1
        before.forEach((message, n) => {
          entries.push({ key: `user:${number}:${n}`, run_id: "run_1", turn: number, message })
          expected.push(message)
        })
        // Ids are unique in the session, as the loop makes them.
        const own = parts.map((part, n): Part =>
          part.type === "tool_call" ? { ...part, id: `${part.id}_${turn}_${n}` } : part
        )
        own.forEach((part, n) =>
          entries.push({
            key: `item:${turn}:${n}`,
            run_id: "run_1",
            turn,
            message: { role: "assistant", content: [part] }
          })
        )
        expected.push({ role: "assistant", content: own })
        const answers = own.flatMap((part) => part.type === "tool_call" ? [part.id] : []).map((id): Message => ({
          role: "tool",
          tool_call_id: id,
          content: results.next().value ?? "",
          is_error: false
        }))
        expected.push(...answers)
        const stored = answers.map((message): Entry => ({
          key: `tool:${message.tool_call_id}`,
          run_id: "run_1",
          turn,
          message
        }))
        entries.push(...(order ? stored : stored.reverse()))
      })
      for (let at = 0; at < entries.length; at += group) {
        yield* store.append("ses_1", entries.slice(at, at + group))
        yield* store.append("ses_1", entries.slice(Math.max(0, at - 1), at + group))
      }
      assert.deepStrictEqual(yield* store.history("ses_1"), expected)
      assert.deepStrictEqual(
        (yield* store.entries("ses_1")).map(({ key, message }) => ({ key, message })),
        entries.map(({ key, message }) => ({ key, message }))
      )
    })), { fastCheck: { numRuns: 60 } })
})

describe("the two named tables (protocols 13)", () => {
  it.scoped("one assistant row per call, one tool row per result, reasoning with the row it precedes", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      yield* store.append("ses_1", [user("u", "go"), assistant("item:1", reasoning("think", "sig"))])
      assert.deepStrictEqual(
        yield* sql`SELECT role, content, reasoning FROM messages ORDER BY id`.values,
        [["user", "go", null], ["assistant", "", "think"]],
        "a crash here would not lose the reasoning"
      )
      yield* store.append("ses_1", [
        assistant("assistant:a", call("a", "{\"command\":\"ls\"}"), { finish_reason: "tool_calls" }),
        assistant("assistant:b", call("b"), { finish_reason: "tool_calls" })
      ])
      yield* store.append("ses_1", [result("a", "x".repeat(40_000)), result("b", "ok")])
      const rows = yield* sql<
        { readonly content: string; readonly [column: string]: unknown }
      >`SELECT role, content, tool_call_id, tool_calls, tool_name, finish_reason, reasoning, reasoning_details
        FROM messages ORDER BY id`
      assert.deepStrictEqual(
        rows.map((row): Record<string, unknown> => ({ ...row, content: row.content.slice(0, 5) })),
        [
          {
            role: "user",
            content: "go",
            tool_call_id: null,
            tool_calls: null,
            tool_name: null,
            finish_reason: null,
            reasoning: null,
            reasoning_details: null
          },
          {
            role: "assistant",
            content: "",
            tool_call_id: null,
            tool_calls:
              `[{"id":"a","type":"function","function":{"name":"bash","arguments":"{\\"command\\":\\"ls\\"}"}}]`,
            tool_name: null,
            finish_reason: "tool_calls",
            reasoning: "think",
            reasoning_details: JSON.stringify([reasoning("think", "sig")])
          },
          {
            role: "assistant",
            content: "",
            tool_call_id: null,
            tool_calls: `[{"id":"b","type":"function","function":{"name":"bash","arguments":"{}"}}]`,
            tool_name: null,
            finish_reason: "tool_calls",
            reasoning: null,
            reasoning_details: null
          },
          {
            role: "tool",
            content: "xxxxx",
            tool_call_id: "a",
            tool_calls: null,
            tool_name: "bash",
            finish_reason: null,
            reasoning: null,
            reasoning_details: null
          },
          {
            role: "tool",
            content: "ok",
            tool_call_id: "b",
            tool_calls: null,
            tool_name: "bash",
            finish_reason: null,
            reasoning: null,
            reasoning_details: null
          }
        ]
      )
      assert.include(rows[3]?.content ?? "", `[... ${40_000 - 32 * 1024} bytes left out ...]`)
      assert.deepStrictEqual((yield* store.history("ses_1"))[1], {
        role: "assistant",
        content: [reasoning("think", "sig"), call("a", "{\"command\":\"ls\"}"), call("b")]
      })
    }))

  it.scoped("withdrawn rows are marked failed; reasoning moves on with the retry", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      const shown = sql`SELECT content, finish_reason, reasoning FROM messages ORDER BY id`.values
      yield* store.append("ses_1", [assistant("item:1", reasoning("one")), assistant("item:2", text("half"))])
      yield* store.withdraw("ses_1", ["item:2"])
      yield* store.append("ses_1", [assistant("item:3", text("whole"))])
      assert.deepStrictEqual(yield* shown, [["half", "failed", "one"], ["whole", null, "one"]])
      yield* store.withdraw("ses_1", ["item:1"])
      assert.deepStrictEqual(yield* shown, [["half", "failed", "one"], ["whole", null, null]])
      assert.deepStrictEqual(yield* store.history("ses_1"), [{ role: "assistant", content: [text("whole")] }])
    }))
})

describe("sessions", () => {
  it.effect("title from the first text of the user, preview from the latest text, times from the Clock", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      yield* TestClock.setTime(5_250)
      yield* store.append("ses_1", [
        user("u1", "  fix the\n parser "),
        assistant("i1", reasoning("hm")),
        assistant("i2", text("done\nnow"))
      ])
      yield* TestClock.setTime(9_000)
      yield* store.append("ses_1", [user("u2", "and the tests")])
      const found = yield* summary
      assert.deepStrictEqual(found, {
        id: "ses_1",
        title: "fix the parser",
        preview: "and the tests",
        workspace: "/w",
        provider: "anthropic",
        model: "claude",
        parent_session_id: null,
        started_at: 0,
        last_active: 9,
        ended_at: null,
        end_reason: null,
        message_count: 3,
        tool_call_count: 0,
        usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
        cost_usd: null,
        is_archived: false,
        is_pinned: false
      })
      yield* store.setTitle("ses_1", "mine\u001b[2J")
      yield* store.append("ses_1", [user("u3", "more")])
      assert.strictEqual((yield* summary).title, "mine␛[2J")
      assert.strictEqual((yield* Effect.flip(store.setTitle("ses_2", "x"))).reason, "not_found")
    })))

  it.effect("found by id or prefix; several or none are told", () =>
    Effect.provide(
      Effect.gen(function*() {
        const store = yield* SessionStore
        for (const id of ["ses_0199a", "ses_0199b", "ses_02", "ses_0%_", "ses_0199aa"]) {
          yield* store.create({ ...session, id, title: `title of ${id}` })
        }
        assert.strictEqual((yield* store.find("ses_0199a")).id, "ses_0199a", "a whole id wins over longer ones")
        assert.strictEqual((yield* store.find("ses_02")).id, "ses_02")
        assert.strictEqual((yield* store.find("0199b")).id, "ses_0199b", "without the prefix of all ids")
        assert.strictEqual((yield* store.find("0%")).id, "ses_0%_", "nothing in it is a pattern")
        const several = yield* Effect.flip(store.find("ses_0199"))
        assert.strictEqual(several.reason, "not_found")
        for (const id of ["ses_0199a", "ses_0199b", "ses_0199aa"]) {
          assert.include(several.message, `${id}  title of ${id}`)
        }
        for (const none of ["ses_9", "", "nothing"]) {
          const error = yield* Effect.flip(store.find(none))
          assert.strictEqual(error.reason, "not_found")
          assert.include(error.message, "sessions list")
        }
      }),
      SessionStore.layerMemory
    ))

  it.effect("latest of a workspace leaves subagents out; list filters and pages", () =>
    Effect.provide(
      Effect.gen(function*() {
        const store = yield* SessionStore
        for (
          const [n, workspace, source] of [[1, "/a", "cli"], [2, "/b", "cli"], [3, "/a", "cli"], [
            4,
            "/a",
            "subagent"
          ]] as const
        ) {
          yield* TestClock.setTime(n * 1000)
          yield* store.create({ ...session, id: `ses_${n}`, workspace, source })
        }
        const ids = (rows: ReadonlyArray<{ readonly id: string }>) => rows.map((row) => row.id)
        assert.strictEqual(Option.getOrThrow(yield* store.latest("/a")).id, "ses_3")
        yield* TestClock.setTime(9000)
        yield* store.append("ses_1", [user("u", "again")])
        assert.strictEqual(Option.getOrThrow(yield* store.latest("/a")).id, "ses_1")
        assert.isTrue(Option.isNone(yield* store.latest("/none")))
        assert.deepStrictEqual(ids(yield* store.list({})), ["ses_1", "ses_4", "ses_3", "ses_2"])
        assert.deepStrictEqual(ids(yield* store.list({ workspace: "/a", limit: 2, offset: 1 })), ["ses_4", "ses_3"])
        assert.deepStrictEqual(ids(yield* store.list({ archived: true })), [])
      }),
      SessionStore.layerMemory
    ))

  it.scoped("delete takes all of a session and leaves the sessions that came from it", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      yield* store.create({ ...session, id: "ses_2", parent_session_id: "ses_1" })
      yield* store.append("ses_1", [user("u", "x")])
      yield* store.append("ses_2", [user("u", "y")])
      yield* store.beginRun({ id: "run_1", session_id: "ses_1", model: "m" })
      yield* store.beginAttempt({ id: "att_1", run_id: "run_1", turn: 1, number: 1 })
      yield* store.endAttempt("att_1", { status: "completed", usage, cost_usd: 1 })
      assert.strictEqual((yield* Effect.flip(store.delete("ses_1", { idle: true }))).reason, "session_busy")
      assert.isTrue(Option.isSome(yield* store.get("ses_1")), "it is there, and its run goes on")
      yield* store.delete("ses_1")
      for (
        const [table, left] of [["sessions", 1], ["messages", 1], ["message_details", 1], ["runs", 0], [
          "attempts",
          0
        ]] as const
      ) {
        assert.strictEqual((yield* sql.unsafe(`SELECT 1 FROM ${table}`)).length, left, table)
      }
      assert.isNull(Option.getOrThrow(yield* store.get("ses_2")).parent_session_id)
      assert.strictEqual((yield* Effect.flip(store.delete("ses_1"))).reason, "not_found")
      assert.strictEqual((yield* Effect.flip(store.append("ses_1", [user("u2", "late")]))).reason, "not_found")
    }))

  it.effect("the file is <data>/sessions.db and outlives the layer", () =>
    Effect.gen(function*() {
      const layer = Layer.provide(SessionStore.layer, Dirs.layerTest(path.join(root, "life")))
      yield* Effect.provide(Effect.flatMap(SessionStore, (store) => store.create(session)), layer)
      assert.isTrue(fs.existsSync(path.join(root, "life", "data", "sessions.db")))
      const found = yield* Effect.provide(Effect.flatMap(SessionStore, (store) => store.list({})), Layer.fresh(layer))
      assert.deepStrictEqual(found.map((one) => one.id), ["ses_1"])
    }))
})

describe("runs and attempts", () => {
  it.effect("usage is booked once to attempt, run and session, failed attempts too; unknown prices stay unknown", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      yield* store.beginRun({ id: "run_1", session_id: "ses_1", model: "m" })
      yield* store.beginAttempt({ id: "att_1", run_id: "run_1", turn: 1, number: 1 })
      yield* store.endAttempt("att_1", { status: "failed", usage, cost_usd: null, error_code: "stalled" })
      assert.isNull((yield* summary).cost_usd)
      yield* store.beginAttempt({ id: "att_2", run_id: "run_1", turn: 1, number: 2 })
      yield* store.endAttempt("att_2", { status: "completed", usage, cost_usd: 0.25 }, [
        assistant("item:1", text("hi"))
      ])
      yield* store.endAttempt("att_2", { status: "completed", usage, cost_usd: 0.25 }, [
        assistant("item:1", text("hi"))
      ])
      yield* store.beginAttempt({ id: "att_3", run_id: "run_1", turn: 2, number: 1 })
      yield* store.endAttempt("att_3", { status: "cancelled", usage: null, cost_usd: null })
      yield* TestClock.setTime(2000)
      yield* store.endRun("run_1", {
        status: "failed",
        turns: 2,
        exit_code: 5,
        error: { code: "stalled", message: "no bytes" }
      })
      yield* store.endRun("run_1", { status: "completed", turns: 9, exit_code: 0 })
      const spent = {
        input_tokens: 20,
        output_tokens: 10,
        cache_read_tokens: 6,
        cache_write_tokens: 2,
        reasoning_tokens: 4
      }
      assert.deepStrictEqual(yield* store.runs("ses_1"), [{
        id: "run_1",
        session_id: "ses_1",
        status: "failed",
        model: "m",
        started_at: 0,
        ended_at: 2,
        turns: 2,
        exit_code: 5,
        error_code: "stalled",
        error_message: "no bytes",
        usage: spent,
        cost_usd: 0.25
      }])
      const found = yield* summary
      assert.deepStrictEqual(
        [found.usage, found.cost_usd, found.ended_at, found.end_reason, found.message_count],
        [spent, 0.25, 2, "failed", 1]
      )
      yield* store.beginRun({ id: "run_2", session_id: "ses_1", model: "m" })
      assert.isNull((yield* summary).ended_at)
    })))

  it.effect("an attempt or run nobody knows: not_found", () =>
    inMemory(Effect.gen(function*() {
      const store = yield* SessionStore
      assert.strictEqual(
        (yield* Effect.flip(store.endAttempt("att_9", { status: "failed", usage, cost_usd: 1 }))).reason,
        "not_found"
      )
      assert.strictEqual(
        (yield* Effect.flip(store.endRun("run_9", { status: "failed", turns: 0, exit_code: 1 }))).reason,
        "not_found"
      )
      assert.deepStrictEqual((yield* summary).usage.input_tokens, 0)
    })))

  it.scoped("an attempt is written with the next entries of its run, and interrupted with the run", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      const rows = sql`SELECT id, status FROM attempts ORDER BY id`.values
      yield* store.beginRun({ id: "run_1", session_id: "ses_1", model: "m" })
      yield* store.beginAttempt({ id: "att_1", run_id: "run_1", turn: 1, number: 1 })
      assert.deepStrictEqual(yield* rows, [])
      yield* store.append("ses_1", [user("u", "other", { run_id: "run_0" })])
      assert.deepStrictEqual(yield* rows, [])
      yield* store.append("ses_1", [assistant("item:1", text("hi"))])
      assert.deepStrictEqual(yield* rows, [["att_1", "running"]])
      yield* store.beginAttempt({ id: "att_2", run_id: "run_1", turn: 2, number: 1 })
      yield* store.endRun("run_1", { status: "cancelled", turns: 2, exit_code: 130 })
      assert.deepStrictEqual(yield* rows, [["att_1", "interrupted"], ["att_2", "interrupted"]])
    }))

  it.scoped("recover: runs of processes that are gone become interrupted, the others stay", () =>
    Effect.gen(function*() {
      let self = { pid: 1, started: "boot/ns/1" }
      const gone = new Set(["boot/ns/2"])
      const { store } = yield* opened({
        self: Effect.sync(() => self),
        liveness: (identity) =>
          Effect.sync(() =>
            identity.started === "boot/other/3" ? "unknown" : gone.has(identity.started) ? "gone" : "alive"
          )
      })
      for (
        const [id, started] of [["run_1", "boot/ns/1"], ["run_2", "boot/ns/2"], ["run_3", "boot/other/3"]] as const
      ) {
        self = { pid: 1, started }
        yield* store.create({ ...session, id: `ses_${id}` })
        yield* store.beginRun({ id, session_id: `ses_${id}`, model: "m" })
        yield* store.append(`ses_${id}`, [user("u", "x", { run_id: id })])
      }
      const states = Effect.forEach(
        ["run_1", "run_2", "run_3"],
        (id) => Effect.map(store.runs(`ses_${id}`), (runs) => runs[0]?.status)
      )
      assert.strictEqual(yield* store.recover, 1)
      assert.deepStrictEqual(yield* states, ["running", "interrupted", "running"])
      assert.strictEqual(Option.getOrThrow(yield* store.get("ses_run_2")).end_reason, "interrupted")
      assert.strictEqual(yield* store.recover, 0)
      yield* TestClock.adjust("2 hours")
      assert.strictEqual(yield* store.recover, 1, "no sign of life for an hour from a place that cannot be looked into")
      assert.deepStrictEqual(yield* states, ["running", "interrupted", "interrupted"])
      yield* store.endRun("run_3", { status: "completed", turns: 1, exit_code: 0 })
      assert.deepStrictEqual(yield* states, ["running", "interrupted", "completed"], "its owner lived after all")
    }))

  it("a process is told from a later one with its number", async () => {
    const { livenessOf } = await import("../../src/platform/ProcessIdentity.ts")
    const self = identify(process.pid)
    assert.strictEqual(livenessOf(self), "alive")
    if (process.platform !== "linux") return
    const [boot, namespace, ticks] = self.started.split("/")
    assert.strictEqual(livenessOf({ ...self, started: `${boot}/${namespace}/${Number(ticks) - 1}` }), "gone")
    assert.strictEqual(livenessOf({ ...self, started: `other/${namespace}/${ticks}` }), "gone")
    assert.strictEqual(livenessOf({ ...self, started: `${boot}/pid:[1]/${ticks}` }), "unknown")
  })
})

describe("limits", () => {
  it.scoped("a run of 20 turns with a tool each takes at most 60 transactions (protocols 13)", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      let transactions = 0
      const original = sql.withTransaction
      Object.assign(sql, {
        withTransaction: <R, E, A>(effect: Effect.Effect<A, E, R>) =>
          Effect.suspend(() => {
            transactions++
            return original(effect)
          })
      })
      const answer = (turn: number, entries: ReadonlyArray<Entry>) =>
        Effect.zipRight(
          store.beginAttempt({ id: `att_${turn}`, run_id: "run_1", turn, number: 1 }),
          store.endAttempt(`att_${turn}`, { status: "completed", usage, cost_usd: 0.01 }, entries)
        )
      yield* store.beginRun({ id: "run_1", session_id: "ses_1", model: "m" })
      yield* store.append("ses_1", [user("user:run_1:0", "go")])
      for (let turn = 1; turn <= 20; turn++) {
        yield* answer(turn, [assistant(`assistant:${turn}`, call(`${turn}`), { turn })])
        yield* store.append("ses_1", [result(`${turn}`, "out", { turn })])
      }
      yield* answer(21, [assistant("item:last", text("done"), { turn: 21 })])
      yield* store.endRun("run_1", { status: "completed", turns: 21, exit_code: 0 })
      assert.isAtMost(transactions, 60)
      assert.isAbove(transactions, 40, "each call is a transaction")
      assert.strictEqual((yield* store.history("ses_1")).length, 42)
    }))

  it.scoped("a full disk: full with a remedy, counters and history agree, and it goes on with space", () =>
    Effect.gen(function*() {
      const { sql, store } = yield* opened()
      yield* sql`PRAGMA max_page_count = 60`
      let stored = 0
      const error = yield* Effect.flip(
        Effect.forever(
          Effect.suspend(() =>
            Effect.tap(
              store.append("ses_1", [user(`user:${stored}`, "x".repeat(5000))]),
              () => Effect.sync(() => stored++)
            )
          )
        )
      )
      assert.strictEqual(error.reason, "full")
      assert.include(error.message, "Free some space")
      assert.isAbove(stored, 3)
      assert.strictEqual((yield* store.history("ses_1")).length, stored)
      assert.strictEqual(Option.getOrThrow(yield* store.get("ses_1")).message_count, stored)
      yield* sql`PRAGMA max_page_count = 10000`
      yield* store.append("ses_1", [user(`user:${stored}`, "x".repeat(5000))])
      assert.strictEqual((yield* store.history("ses_1")).length, stored + 1)
    }))
})
