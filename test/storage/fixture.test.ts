import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Sqlite from "../../src/platform/Sqlite.ts"
import { textOf } from "../../src/domain/MessageParts.ts"
import { joined } from "../../src/storage/History.ts"
import { newest } from "../../src/storage/Migrations.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { temporary } from "./support.ts"

const root = temporary()
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

/** A database of schema 1, made by the program as it was then, with a session that was killed. */
const fixture = fileURLToPath(new URL("./fixtures/schema-1.db", import.meta.url))
let count = 0
const copy = (): string => {
  const file = path.join(root, `${++count}.db`)
  fs.copyFileSync(fixture, file)
  return file
}

describe("a database of schema 1", () => {
  it.effect("is upgraded once; what was said, run and spent is there as before", () =>
    Effect.gen(function*() {
      const file = copy()
      for (const round of [1, 2]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const store = yield* SqliteSessionStore.open(file)
          const sessions = yield* store.list({})
          assert.deepStrictEqual(
            sessions.map((one) => [one.id, one.is_pinned, one.is_archived]).toSorted(),
            [
              ["ses_fixture-compacted", false, false],
              ["ses_fixture-killed", false, false],
              ["ses_fixture-whole", false, false]
            ],
            `round ${round}`
          )
          const whole = yield* store.find("fixture-whole")
          assert.strictEqual(whole.title, "Which files are here? ä文😀")
          assert.deepStrictEqual([whole.cost_usd, whole.usage.input_tokens], [0.003, 300])
          const said = yield* store.history(whole.id)
          assert.deepStrictEqual(said.map(({ role }) => role), [
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "user",
            "assistant"
          ])
          // The withdrawn beginning of the first answer is not in it; reasoning with its signature is.
          const [, answer] = said
          assert.deepStrictEqual(answer?.content, [
            {
              type: "reasoning",
              text: "I should list them.",
              replay: { origin: "anthropic:messages", signature: "c2lnbmF0dXJl" }
            },
            { type: "text", text: "I look." },
            { type: "tool_call", id: "call_1", name: "bash", arguments: "{\"command\":\"ls\"}" },
            { type: "tool_call", id: "call_2", name: "bash", arguments: "{\"command\":\"cat a.txt\"}" }
          ])
          assert.deepStrictEqual((yield* store.runs(whole.id)).map(({ status }) => status), ["completed", "completed"])
        }))
      }
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        assert.deepStrictEqual(yield* sql`PRAGMA user_version`.values, [[newest]])
      }))
    }))

  it.scoped("what two compactions had replaced is found out: the conversation is that of before, and a later one goes on", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(copy())
      const id = "ses_fixture-compacted"
      const conversation = yield* store.conversation(id)
      assert.deepStrictEqual(conversation, joined(yield* store.entries(id)))
      assert.deepStrictEqual(conversation.map(({ message }) => [message.role, textOf(message).slice(0, 20).trim()]), [
        ["assistant", "Summary of the first"],
        ["user", "question 3"],
        ["assistant", ""],
        ["tool", "3 3 3 [shortened]"],
        ["assistant", "answer 3"],
        ["user", "question 4"],
        ["assistant", ""],
        ["tool", "4 4 4 4 4 4 4 4 4 4"],
        ["assistant", "answer 4"],
        ["user", "question 5"],
        ["assistant", ""],
        ["tool", "5 5 5 5 5 5 5 5 5 5"],
        ["assistant", "answer 5"]
      ])
      assert.deepStrictEqual((yield* store.callIds(id)).toSorted(), ["c0", "c1", "c2", "c3", "c4", "c5"])
      yield* store.append(id, [{
        key: "compaction:run_c1:9",
        run_id: "run_c1",
        turn: 20,
        message: { role: "user", kind: "summary", content: "All of it." },
        replaces: conversation.slice(0, 9).flatMap(({ keys }) => keys)
      }])
      const after = yield* store.conversation(id)
      assert.deepStrictEqual(after.map(({ message }) => textOf(message).slice(0, 10)), [
        "All of it.",
        "question 5",
        "",
        "5 5 5 5 5 ",
        "answer 5"
      ])
      assert.deepStrictEqual(after, joined(yield* store.entries(id)))
    }))

  it.scoped("the run that was killed under the old version is ended, its session goes on", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(copy())
      const id = "ses_fixture-killed"
      yield* store.beginRun({ id: "run_new", session_id: id, model: "m" })
      assert.deepStrictEqual((yield* store.runs(id)).map(({ id, status }) => [id, status]).toSorted(), [
        ["run_k1", "interrupted"],
        ["run_new", "running"]
      ])
      yield* store.append(id, [{
        key: "user:run_new:0",
        run_id: "run_new",
        turn: 0,
        message: { role: "user", content: "go on" }
      }])
      assert.strictEqual(textOf((yield* store.history(id)).at(-1) ?? { role: "user", content: "" }), "go on")
    }))

  it.scoped("it is searched and spent sums are known from then on", () =>
    Effect.gen(function*() {
      const store = yield* SqliteSessionStore.open(copy())
      assert.deepStrictEqual(
        (yield* store.search("permission denied", {})).map(({ kind, session_id }) => [session_id, kind]),
        [
          ["ses_fixture-whole", "result"]
        ]
      )
      assert.strictEqual(yield* store.spent({ session_id: "ses_fixture-whole" }), 0.003)
    }))

  it.effect("a step that fails leaves it at schema 1, byte for byte", () =>
    Effect.gen(function*() {
      const file = copy()
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        // What the upgrade wants to make is there already.
        yield* sql`CREATE TABLE pins (other TEXT)`
        yield* sql`PRAGMA journal_mode = DELETE`
      }))
      const error = yield* Effect.flip(Effect.scoped(SqliteSessionStore.open(file)))
      assert.strictEqual(error.reason, "migration")
      assert.include(error.message, "It was left as it is")
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        assert.deepStrictEqual(yield* sql`PRAGMA user_version`.values, [[1]])
        assert.deepStrictEqual(yield* sql`SELECT COUNT(*) FROM sessions`.values, [[3]])
        assert.notInclude(JSON.stringify(yield* sql`PRAGMA table_info(message_details)`), "hidden")
      }))
    }))
})
