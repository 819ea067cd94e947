import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Sqlite from "../../src/platform/Sqlite.ts"

const root = fs.mkdtempSync(path.join(os.tmpdir(), "hanzo-sqlite-"))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
let files = 0
const fresh = (): string => path.join(root, `dir${files++}`, "deep", "file.db")
const mode = (file: string): number => fs.statSync(file).mode & 0o777

const open = (options: Sqlite.OpenOptions) => Effect.scoped(Sqlite.open(options))
const refused = <A>(effect: Effect.Effect<A, Sqlite.SqliteError>) => Effect.flip(effect)

describe("opening", () => {
  it.scoped("a missing directory is created; directory 0700, every file 0600 (G4)", () =>
    Effect.gen(function*() {
      const file = fresh()
      const sql = yield* Sqlite.open({ path: file })
      yield* sql`CREATE TABLE t (a)`
      assert.strictEqual(mode(path.dirname(file)), 0o700)
      assert.strictEqual(mode(path.dirname(path.dirname(file))), 0o700)
      assert.deepStrictEqual(
        fs.readdirSync(path.dirname(file)).sort().map((name) => [name, mode(path.join(path.dirname(file), name))]),
        [["file.db", 0o600], ["file.db-shm", 0o600], ["file.db-wal", 0o600]]
      )
    }))

  it.scoped("WAL, synchronous NORMAL, foreign keys on, busy timeout 5 s", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: fresh() })
      const pragma = (name: string) => Effect.map(sql.unsafe(`PRAGMA ${name}`).values, (rows) => rows[0]?.[0])
      assert.deepStrictEqual(
        [
          yield* pragma("journal_mode"),
          yield* pragma("synchronous"),
          yield* pragma("foreign_keys"),
          yield* pragma("busy_timeout")
        ],
        ["wal", 1, 1, 5000]
      )
    }))

  it.scoped("the log of a large transaction is given back", () =>
    Effect.gen(function*() {
      const file = fresh()
      const sql = yield* Sqlite.open({ path: file })
      yield* sql`CREATE TABLE t (a)`
      for (const size of [30_000_000, 1, 1, 1]) {
        yield* sql.withTransaction(sql`INSERT INTO t VALUES (zeroblob(${size}))`)
      }
      assert.isAtMost(fs.statSync(`${file}-wal`).size, 8 * 1024 * 1024)
    }))

  it.effect("closing the scope closes the connection; what was written is there for the next", () =>
    Effect.gen(function*() {
      const file = fresh()
      const closed = yield* Effect.scoped(
        Effect.tap(
          Sqlite.open({ path: file }),
          (sql) => sql`CREATE TABLE t (a)`.pipe(Effect.zipRight(sql`INSERT INTO t VALUES (1)`))
        )
      )
      assert.include((yield* Effect.flip(closed`SELECT 1`)).message, "not open")
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        assert.strictEqual((yield* sql`SELECT a FROM t`).length, 1)
      }))
    }))

  for (const content of ["x".repeat(5000), "SQLite format 3\0" + "\0".repeat(3000), "short"]) {
    it.effect(`not a database (${content.length} bytes): corrupt, untouched, the remedy named`, () =>
      Effect.gen(function*() {
        const file = fresh()
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, content)
        const error = yield* refused(open({ path: file }))
        assert.strictEqual(error.reason, "corrupt")
        assert.include(error.message, file)
        assert.include(error.message, "move it away")
        assert.strictEqual(fs.readFileSync(file, "utf8"), content)
      }))
  }

  it.effect("a newer schema is refused before the first write, whatever its journal mode", () =>
    Effect.gen(function*() {
      const file = fresh()
      yield* Effect.scoped(Effect.gen(function*() {
        const sql = yield* Sqlite.open({ path: file })
        yield* sql`CREATE TABLE t (a)`
        yield* sql`PRAGMA journal_mode = DELETE`
        yield* sql`PRAGMA user_version = 7`
      }))
      const before = fs.readFileSync(file)
      const error = yield* refused(open({ path: file, newest_version: 6 }))
      assert.strictEqual(error.reason, "too_new")
      assert.include(error.message, "update the program")
      assert.isTrue(before.equals(fs.readFileSync(file)))
      assert.deepStrictEqual(fs.readdirSync(path.dirname(file)), ["file.db"])
      yield* open({ path: file, newest_version: 7 })
    }))

  it.effect("a directory that cannot be: open, with file and remedy", () =>
    Effect.gen(function*() {
      const file = fresh()
      fs.mkdirSync(path.dirname(path.dirname(file)), { recursive: true })
      fs.writeFileSync(path.dirname(file), "a file where the directory should be")
      const error = yield* refused(open({ path: file }))
      assert.strictEqual(error.reason, "open")
      assert.include(error.message, file)
      assert.include(error.message, "HANZO_DATA_HOME")
    }))
})

describe("transactions", () => {
  const counted = Effect.gen(function*() {
    const sql = yield* Sqlite.open({ path: ":memory:" })
    yield* sql`CREATE TABLE t (a INTEGER PRIMARY KEY)`
    const all = Effect.map(sql`SELECT a FROM t ORDER BY a`.values, (rows) => rows.map((row) => row[0]))
    return { sql, all }
  })

  it.scoped("commit, rollback on failure, rollback on interrupt", () =>
    Effect.gen(function*() {
      const { all, sql } = yield* counted
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (1)`)
      const failed = yield* Effect.either(
        sql.withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (2)`, Effect.fail("no")))
      )
      assert.deepStrictEqual(failed, Either.left("no"))
      const inside = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(sql.withTransaction(
        sql`INSERT INTO t VALUES (3)`.pipe(
          Effect.zipRight(Deferred.succeed(inside, undefined)),
          Effect.zipRight(Effect.never)
        )
      ))
      yield* Deferred.await(inside)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(yield* all, [1])
    }))

  it.scoped("a nested one undoes only itself", () =>
    Effect.gen(function*() {
      const { all, sql } = yield* counted
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`INSERT INTO t VALUES (1)`
        for (const n of [2, 3]) {
          yield* Effect.either(
            sql.withTransaction(Effect.zipRight(sql`INSERT INTO t VALUES (${n})`, Effect.fail("no")))
          )
        }
        yield* sql.withTransaction(sql.withTransaction(sql`INSERT INTO t VALUES (4)`))
      }))
      assert.deepStrictEqual(yield* all, [1, 4])
    }))

  it.scoped("a statement of another fiber waits for the end of the transaction", () =>
    Effect.gen(function*() {
      const { all, sql } = yield* counted
      const inside = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const transaction = yield* Effect.fork(
        sql.withTransaction(
          sql`INSERT INTO t VALUES (1)`.pipe(
            Effect.zipRight(Deferred.succeed(inside, undefined)),
            Effect.zipRight(Deferred.await(go)),
            Effect.zipRight(Effect.fail("undone"))
          )
        ).pipe(Effect.either)
      )
      yield* Deferred.await(inside)
      const other = yield* Effect.fork(sql`INSERT INTO t VALUES (2)`)
      const reader = yield* Effect.fork(all)
      yield* Effect.yieldNow()
      assert.isNull(yield* Fiber.poll(other).pipe(Effect.map((exit) => exit._tag === "None" ? null : exit)))
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(transaction)
      yield* Fiber.join(other)
      assert.notInclude(yield* Fiber.join(reader), 1)
      assert.deepStrictEqual(yield* all, [2])
    }))

  it.scoped("waiting for the connection can be interrupted", () =>
    Effect.gen(function*() {
      const { all, sql } = yield* counted
      const inside = yield* Deferred.make<void>()
      const holder = yield* Effect.fork(
        sql.withTransaction(Effect.zipRight(Deferred.succeed(inside, undefined), Effect.never))
      )
      yield* Deferred.await(inside)
      const waiters = yield* Effect.forEach([
        sql`INSERT INTO t VALUES (1)`,
        sql.withTransaction(sql`INSERT INTO t VALUES (2)`)
      ], Effect.fork)
      yield* Effect.yieldNow()
      yield* Fiber.interruptAll(waiters)
      yield* Fiber.interrupt(holder)
      assert.deepStrictEqual(yield* all, [])
    }))

  it.scoped("a commit that fails is an error, is undone, and the connection goes on", () =>
    Effect.gen(function*() {
      const { sql } = yield* counted
      yield* sql`CREATE TABLE child (t INTEGER REFERENCES t(a) DEFERRABLE INITIALLY DEFERRED)`
      const error = yield* Effect.flip(sql.withTransaction(sql`INSERT INTO child VALUES (99)`))
      assert.include(error.message, "FOREIGN KEY")
      assert.deepStrictEqual(yield* sql`SELECT * FROM child`, [])
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (99)`)
      yield* sql.withTransaction(sql`INSERT INTO child VALUES (99)`)
    }))

  it.scoped("another process' lock beyond the timeout: busy, and free again afterwards", () =>
    Effect.gen(function*() {
      const file = fresh()
      const one = yield* Sqlite.open({ path: file })
      const two = yield* Sqlite.open({ path: file, busy_timeout_ms: 20 })
      yield* one`CREATE TABLE t (a)`
      yield* one`BEGIN IMMEDIATE`
      const error = yield* Effect.flip(two.withTransaction(two`INSERT INTO t VALUES (1)`))
      yield* one`ROLLBACK`
      assert.strictEqual(Sqlite.reasonOf(error), "busy")
      yield* two.withTransaction(two`INSERT INTO t VALUES (1)`)
      assert.strictEqual((yield* one`SELECT * FROM t`).length, 1)
    }))
})

const system = (command: string, args: ReadonlyArray<string>) => execFileSync(command, args, { stdio: "ignore" })

/** A small disk where the machine lets us mount one, else a database that may not grow: the same result code. */
const smallDisk = (mount: boolean) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = path.join(root, `disk${files++}`)
      fs.mkdirSync(folder)
      if (!mount) return { folder, mounted: false }
      try {
        system("mount", ["-t", "tmpfs", "-o", "size=768k", "tmpfs", folder])
        fs.writeFileSync(path.join(folder, "ballast"), "x".repeat(300_000))
        return { folder, mounted: true }
      } catch {
        return { folder, mounted: false }
      }
    }),
    // Lazily: a statement that is not garbage yet may hold the file.
    ({ folder, mounted }) => Effect.sync(() => mounted ? void system("umount", ["-l", folder]) : undefined)
  )

describe.each([true, false])("a full disk (mounted where possible: %s)", (mount) => {
  it.scoped("full, what was stored before is kept, and writing goes on once there is space", () =>
    Effect.gen(function*() {
      const { folder, mounted } = yield* smallDisk(mount)
      const sql = yield* Sqlite.open({ path: path.join(folder, "file.db") })
      yield* sql`CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)`
      if (!mounted) yield* sql`PRAGMA max_page_count = 40`
      const big = "b".repeat(20_000)
      let stored = 0
      const error = yield* Effect.flip(
        Effect.forever(
          Effect.suspend(() =>
            Effect.tap(sql.withTransaction(sql`INSERT INTO t (b) VALUES (${big})`), () => Effect.sync(() => stored++))
          )
        )
      )
      assert.strictEqual(Sqlite.reasonOf(error), "full")
      assert.isAbove(stored, 2)
      assert.strictEqual((yield* sql`SELECT a FROM t WHERE b = ${big}`).length, stored)
      if (mounted) fs.rmSync(path.join(folder, "ballast"))
      else yield* sql`PRAGMA max_page_count = 1000`
      yield* sql.withTransaction(sql`INSERT INTO t (b) VALUES (${big})`)
      assert.strictEqual((yield* sql`SELECT a FROM t WHERE b = ${big}`).length, stored + 1)
      assert.deepStrictEqual(yield* sql`PRAGMA integrity_check`.values, [["ok"]])
    }))
})

describe("values", () => {
  it.scoped("booleans, dates, bytes, big integers, absent values; rows as arrays and as a stream", () =>
    Effect.gen(function*() {
      const sql = yield* Sqlite.open({ path: ":memory:" })
      const [row] = yield* sql`SELECT ${true} AS a, ${new Date(0)} AS b, ${new Uint8Array([
        1,
        2
      ])} AS c, ${12n} AS d, ${null} AS e`
      assert.deepStrictEqual({ ...row }, {
        a: 1,
        b: "1970-01-01T00:00:00.000Z",
        c: new Uint8Array([1, 2]),
        d: 12,
        e: null
      })
      assert.deepStrictEqual(yield* sql`SELECT 1 AS a, 2 AS b`.values, [[1, 2]])
      // More statements than are kept prepared.
      for (let n = 0; n < 300; n++) {
        assert.deepStrictEqual(yield* sql.unsafe(`SELECT ${n % 150} AS n`).values, [[n % 150]])
      }
    }))
})
