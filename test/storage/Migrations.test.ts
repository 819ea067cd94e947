import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Sqlite from "../../src/platform/Sqlite.ts"
import { migrate, type Migration, migrations, newest } from "../../src/storage/Migrations.ts"
import * as SqliteSessionStore from "../../src/storage/SqliteSessionStore.ts"
import { temporary } from "./support.ts"

const root = temporary()
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
let files = 0
const fresh = () => path.join(root, `${files++}.db`)
const columns = (table: string) => (sql: Effect.Effect.Success<ReturnType<typeof Sqlite.open>>) =>
  Effect.map(
    sql.unsafe<{ readonly name: string }>(`PRAGMA table_info(${table})`),
    (rows) => rows.map((row) => row.name)
  )

describe("the schema (protocols 13)", () => {
  it.scoped("sessions and messages have exactly the columns of the Web UI's storage", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: ":memory:" })
      yield* migrate(sql, ":memory:")
      assert.deepStrictEqual(yield* columns("sessions")(sql), [
        "id",
        "profile",
        "source",
        "agent",
        "agent_mode",
        "agent_session_id",
        "agent_native_session_id",
        "model",
        "provider",
        "title",
        "parent_session_id",
        "started_at",
        "ended_at",
        "end_reason",
        "message_count",
        "tool_call_count",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "estimated_cost_usd",
        "actual_cost_usd",
        "preview",
        "last_active",
        "is_archived",
        "workspace"
      ])
      assert.deepStrictEqual(yield* columns("messages")(sql), [
        "id",
        "session_id",
        "role",
        "content",
        "display_role",
        "display_content",
        "tool_call_id",
        "tool_calls",
        "tool_name",
        "timestamp",
        "token_count",
        "finish_reason",
        "reasoning",
        "reasoning_details",
        "reasoning_content"
      ])
      assert.deepStrictEqual(
        yield* sql`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`
          .values,
        [["attempts"], ["message_details"], ["messages"], ["pins"], ["rewinds"], ["runs"], ["sessions"], ["spending"]]
      )
    }))

  it("versions are dense from 1", () => {
    assert.deepStrictEqual(migrations.map((one) => one.version), Array.from({ length: newest }, (_, n) => n + 1))
  })
})

const step = (version: number, ...statements: ReadonlyArray<string>): Migration => ({
  version,
  name: `step ${version}`,
  statements
})

describe("migrations", () => {
  it.scoped("each step runs once, in order, forward only", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: ":memory:" })
      const one = step(1, "CREATE TABLE log (n INTEGER)", "INSERT INTO log VALUES (1)")
      const two = step(2, "INSERT INTO log VALUES (2)")
      yield* migrate(sql, ":memory:", [one])
      yield* migrate(sql, ":memory:", [one])
      yield* migrate(sql, ":memory:", [one, two])
      yield* migrate(sql, ":memory:", [one, two])
      assert.deepStrictEqual(yield* sql`SELECT n FROM log ORDER BY n`.values, [[1], [2]])
      const error = yield* Effect.flip(migrate(sql, ":memory:", [one]))
      assert.strictEqual(error.reason, "too_new")
    }))

  it.scoped("a step that fails leaves the file as it was and names itself", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: ":memory:" })
      yield* migrate(sql, ":memory:", [step(1, "CREATE TABLE log (n INTEGER)")])
      const bad = step(2, "INSERT INTO log VALUES (2)", "CREATE TABLE log (other)")
      const error = yield* Effect.flip(migrate(sql, "/x/sessions.db", [step(1), bad]))
      assert.strictEqual(error.reason, "migration")
      assert.include(error.message, "/x/sessions.db to schema 2 (step 2)")
      assert.deepStrictEqual(yield* sql`SELECT n FROM log`, [])
      assert.deepStrictEqual(yield* sql`PRAGMA user_version`.values, [[1]])
    }))

  it.effect("two that open a new database at once both find it whole", () =>
    Effect.gen(function*() {
      const file = fresh()
      const stores = yield* Effect.all(
        Array.from({ length: 4 }, () =>
          Effect.scoped(Effect.flatMap(SqliteSessionStore.open(file), (store) => store.list({})))),
        { concurrency: 4 }
      )
      assert.deepStrictEqual(stores, [[], [], [], []])
    }))

  it.effect("a database of a newer version: too_new, untouched", () =>
    Effect.gen(function*() {
      const file = fresh()
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        yield* sql.unsafe(`PRAGMA user_version = ${newest + 1}`)
        yield* sql`PRAGMA journal_mode = DELETE`
      }))
      const before = fs.readFileSync(file)
      const error = yield* Effect.flip(Effect.scoped(SqliteSessionStore.open(file)))
      assert.strictEqual(error.reason, "too_new")
      assert.strictEqual(error.path, file)
      assert.include(error.message, `schema ${newest + 1}, known up to ${newest}`)
      assert.isTrue(before.equals(fs.readFileSync(file)))
    }))

  it.effect("tables of the same names with other columns: migration, untouched", () =>
    Effect.gen(function*() {
      const file = fresh()
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        yield* sql`CREATE TABLE sessions (id TEXT)`
        yield* sql`INSERT INTO sessions VALUES ('theirs')`
      }))
      const error = yield* Effect.flip(Effect.scoped(SqliteSessionStore.open(file)))
      assert.strictEqual(error.reason, "migration")
      assert.include(error.message, file)
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        assert.deepStrictEqual(yield* sql`SELECT name FROM sqlite_master`.values, [["sessions"]])
        assert.deepStrictEqual(yield* sql`SELECT id FROM sessions`.values, [["theirs"]])
      }))
    }))

  for (
    const [what, damage] of [
      [
        "its first page",
        (file: string) =>
          fs.writeFileSync(file, Buffer.concat([Buffer.alloc(100, 7), fs.readFileSync(file).subarray(100)]))
      ],
      ["its other pages", (file: string) => {
        const bytes = fs.readFileSync(file)
        bytes.fill(0xab, 4096)
        fs.writeFileSync(file, bytes)
      }]
    ] as const
  ) {
    it.effect(`a database with damage to ${what}: corrupt, with file and remedy, left as it is`, () =>
      Effect.gen(function*() {
        const file = fresh()
        yield* Effect.scoped(Effect.gen(function*() {
          const store = yield* SqliteSessionStore.open(file)
          yield* store.create({ id: "ses_1", workspace: "/w", provider: "p", model: "m" })
        }))
        const copy = fresh()
        yield* Effect.scoped(Effect.gen(function*() {
          const sql = yield* Sqlite.open({ path: file })
          yield* sql`VACUUM INTO ${copy}`
        }))
        damage(copy)
        const before = fs.readFileSync(copy)
        const error = yield* Effect.flip(
          Effect.scoped(Effect.flatMap(SqliteSessionStore.open(copy), (store) => store.list({})))
        )
        assert.strictEqual(error.reason, "corrupt")
        assert.include(error.message, copy)
        assert.include(error.message, ".recover")
        assert.isTrue(before.subarray(4096).equals(fs.readFileSync(copy).subarray(4096)))
      }))
  }

  it.scoped("a row that does not decode: corrupt, naming table and file", () =>
    Effect.gen(function*() {
      const file = fresh()
      const store = yield* SqliteSessionStore.open(file)
      yield* store.create({ id: "ses_1", workspace: "/w", provider: "p", model: "m" })
      yield* store.append("ses_1", [{ key: "user:1", run_id: "r", turn: 0, message: { role: "user", content: "hi" } }])
      const sql = yield* Sqlite.open({ path: file })
      yield* sql`UPDATE message_details SET message = '{"role":"nobody"}'`
      const error = yield* Effect.flip(store.history("ses_1"))
      assert.strictEqual(error.reason, "corrupt")
      assert.include(error.message, `message_details in ${file}`)
    }))
})
