/**
 * The embedded database: an `@effect/sql` `SqlClient` over the synchronous `node:sqlite` API.
 *
 * Driver: the built-in `node:sqlite` where Node offers it (22.13 and later), else the optional package
 * `@photostructure/sqlite` with the same API. It is loaded when the first database is opened, never at import time.
 *
 * A client has one connection and one semaphore: a statement outside a transaction waits until the transaction of
 * another fiber has ended. `withTransaction` is `BEGIN IMMEDIATE`, nested calls are savepoints; a commit that fails
 * (a disk that is full shows itself there) is rolled back and reported as `SqlError`, it is no defect.
 * The driver blocks the thread, so nothing but SQL belongs into a transaction.
 *
 * @since 0.1.0
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { TaggedError } from "../domain/TaggedError.ts"
import { makeDirectories } from "./MakeDirectories.ts"
import * as NativeSqlite from "./NativeSqlite.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `unavailable` | this Node has no `node:sqlite` and the optional package is not installed |
 * | `open` | directory or file cannot be created, read or written |
 * | `busy` | another process held the write lock for longer than the busy timeout |
 * | `corrupt` | the file is not a database, or its pages are damaged |
 * | `full` | no space left (disk, quota or page limit) |
 * | `too_new` | `user_version` is above what the caller knows |
 * | `query` | everything else: a wrong statement, a violated constraint |
 *
 * @since 0.1.0
 * @category schemas
 */
export const SqliteReason = Schema.Literal("unavailable", "open", "busy", "corrupt", "full", "too_new", "query")
/** @since 0.1.0 @category models */
export type SqliteReason = typeof SqliteReason.Type

/** A database that could not be opened; the message says what to do. @since 0.1.0 @category errors */
export class SqliteError extends TaggedError("@hanzo/dev/platform/SqliteError")("SqliteError", () => ({
  reason: SqliteReason,
  message: Schema.String,
  path: Schema.String,
  cause: Schema.optional(Schema.Defect)
})) {}

/** @since 0.1.0 @category models */
export interface OpenOptions {
  /** Absolute path, or `":memory:"`. A missing directory is created with mode 0700, a missing file with 0600. */
  readonly path: string
  /** The highest `PRAGMA user_version` the caller understands; a file above it is refused before anything is written. */
  readonly newest_version?: number
  /** Milliseconds to wait for the write lock of another process; default 5000. The thread is blocked meanwhile. */
  readonly busy_timeout_ms?: number
}

/** What is used of the `node:sqlite` API: what Node 22.13 has. */
interface Prepared {
  readonly all: (...params: ReadonlyArray<unknown>) => ReadonlyArray<Record<string, unknown>>
  readonly run: (...params: ReadonlyArray<unknown>) => unknown
}
interface Database {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Prepared
  readonly close: () => void
}
interface Driver {
  readonly DatabaseSync: new(path: string) => Database
}

const isDriver = (u: unknown): u is Driver =>
  typeof u === "object" && u !== null && "DatabaseSync" in u && typeof u.DatabaseSync === "function"

/** Loading the built-in module warns that it is experimental; only that warning is held back. */
const builtin = (): unknown => {
  const emit = process.emitWarning
  const quiet = (warning: string | Error, ...rest: ReadonlyArray<unknown>): void => {
    if (String(warning).includes("SQLite is an experimental feature")) return
    Reflect.apply(emit, process, [warning, ...rest])
  }
  process.emitWarning = quiet as typeof process.emitWarning
  try {
    return process.getBuiltinModule?.("node:sqlite")
  } finally {
    process.emitWarning = emit
  }
}

const packaged = (): unknown => createRequire(import.meta.url)("@photostructure/sqlite")

let loaded: Driver | undefined
const driver = (): Driver => {
  if (loaded !== undefined) return loaded
  for (const ask of [builtin, () => NativeSqlite.load(import.meta.dirname), packaged]) {
    const found = ask()
    if (isDriver(found)) return loaded = found
  }
  throw new Error("@photostructure/sqlite has no DatabaseSync")
}

const field = (u: unknown, name: string): unknown =>
  typeof u === "object" && u !== null ? Reflect.get(u, name) : undefined

const words = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** The numeric result code of the driver's error, extended codes included; 0 = not one of SQLite's. */
const resultCode = (error: unknown): number => {
  const code = field(error, "errcode")
  return typeof code === "number" ? code : 0
}

const IOERR_SHMSIZE = 4874

/** The texts of sqlite3_errmsg for the codes that matter, for errors that come without their code. */
const texts: ReadonlyArray<readonly [string, SqliteReason]> = [
  ["file is not a database", "corrupt"],
  ["database disk image is malformed", "corrupt"],
  ["database is locked", "busy"],
  ["database table is locked", "busy"],
  ["database or disk is full", "full"],
  ["unable to open database file", "open"],
  ["attempt to write a readonly database", "open"],
  ["disk I/O error", "open"]
]

/**
 * What kind of failure an error of the client is (result codes: https://www.sqlite.org/rescode.html).
 *
 * @since 0.1.0
 * @category combinators
 */
export const reasonOf = (error: unknown): SqliteReason => {
  const cause = error instanceof SqlError ? error.cause : error
  const code = resultCode(cause)
  if (code === 0) {
    const message = words(cause)
    return texts.find(([text]) => message.includes(text))?.[1] ?? "query"
  }
  if (code === IOERR_SHMSIZE) return "full"
  switch (code & 0xff) {
    case 3: // PERM
    case 8: // READONLY
    case 10: // IOERR
    case 14: // CANTOPEN
    case 23: // AUTH
      return "open"
    case 5: // BUSY
    case 6: // LOCKED
      return "busy"
    case 11: // CORRUPT
    case 26: // NOTADB
      return "corrupt"
    case 13: // FULL
      return "full"
    default:
      return "query"
  }
}

/**
 * A sentence on what happened to the database at `path`, and what to do about it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const explain = (reason: SqliteReason, path: string, detail: string): string => {
  switch (reason) {
    case "unavailable":
      return `No SQLite on this Node (${process.version}): use Node 22.13 or later, ` +
        `or install the optional package: npm install @photostructure/sqlite (${detail})`
    case "open":
      return `Cannot open or write the database ${path}: ${detail}. ` +
        `Check that its directory exists, is writable and is on a local disk, or choose another with HANZO_DATA_HOME`
    case "busy":
      return `The database ${path} is locked by another process: ${detail}. Try again; if it stays, end that process`
    case "corrupt":
      return `The file ${path} is damaged or not a database: ${detail}. It was left as it is: move it away to begin anew, ` +
        `or rescue it with: sqlite3 ${path} .recover`
    case "full":
      return `No space left for the database ${path}: ${detail}. Free some space and try again; what was stored before is kept`
    case "too_new":
      return `The database ${path} was written by a newer version of the program (${detail}). It was left as it is: ` +
        `update the program, or choose another directory with HANZO_DATA_HOME`
    case "query":
      return `The database ${path} refused a statement: ${detail}`
  }
}

const failure = (reason: SqliteReason, path: string, error: unknown): SqliteError =>
  new SqliteError({ reason, path, message: explain(reason, path, words(error)), cause: error })

/** Directory 0700 and file 0600 from their creation; what exists keeps its mode. WAL and index files take the file's. */
const prepareFile = (file: string): void => {
  makeDirectories(path.dirname(file), 0o700)
  try {
    fs.closeSync(fs.openSync(file, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_RDWR, 0o600))
  } catch (error) {
    if (field(error, "code") !== "EEXIST") throw error
  }
}

/** Is there such a file? @since 0.1.0 @category predicates */
export const exists = (file: string): boolean => file === ":memory:" || fs.existsSync(file)

/**
 * Removes a database that holds nothing of its own, with what belongs to it. What cannot be removed stays.
 *
 * @since 0.1.0
 * @category combinators
 */
export const remove = (file: string): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const end of ["", "-wal", "-shm"]) {
      try {
        fs.rmSync(`${file}${end}`, { force: true })
      } catch {
        // opening it again says what is wrong
      }
    }
  })

const number = (db: Database, pragma: string): number => {
  const value = db.prepare(`PRAGMA ${pragma}`).all()[0]?.[pragma]
  return typeof value === "number" ? value : 0
}

/**
 * The switch to WAL needs the file for itself and does not wait for the busy timeout when two processes create the
 * database at once, so it is tried again here.
 */
const enterWal = (db: Database, timeout_ms: number): void => {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  for (let waited = 0;; waited += 10) {
    try {
      db.exec("PRAGMA journal_mode = WAL")
      return
    } catch (error) {
      if (reasonOf(error) !== "busy" || waited >= timeout_ms) throw error
      Atomics.wait(pause, 0, 0, 10)
    }
  }
}

const openDatabase = (module: Driver, options: OpenOptions): Database => {
  const memory = options.path === ":memory:"
  const timeout = options.busy_timeout_ms ?? 5000
  if (!memory) prepareFile(options.path)
  const db = new module.DatabaseSync(options.path)
  try {
    db.exec(`PRAGMA busy_timeout = ${timeout}`)
    // The version is read before the first write, so that a file of a newer program stays byte for byte.
    const version = number(db, "user_version")
    if (options.newest_version !== undefined && version > options.newest_version) {
      throw new SqliteError({
        reason: "too_new",
        path: options.path,
        message: explain("too_new", options.path, `schema ${version}, known up to ${options.newest_version}`)
      })
    }
    if (!memory) enterWal(db, timeout)
    // Whoever opens the database next reads the whole log first: it is kept shorter than by itself (1000 pages). Each time costs
    // two syncs, so not too short either. What one large transaction has made of it is given back.
    db.exec(
      "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 400; PRAGMA journal_size_limit = 8388608"
    )
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const bind = (value: unknown): unknown =>
  value === undefined ?
    null
    : typeof value === "boolean"
    ? (value ? 1 : 0)
    : value instanceof Date
    ? value.toISOString()
    : value

const maxPrepared = 128

const connect = (db: Database): Connection => {
  const prepared = new Map<string, Prepared>()
  /** Least recently used goes first; a statement is freed with the garbage, as the API has no call for it. */
  const statement = (sql: string): Prepared => {
    const known = prepared.get(sql)
    if (known !== undefined) {
      prepared.delete(sql)
      prepared.set(sql, known)
      return known
    }
    const made = db.prepare(sql)
    prepared.set(sql, made)
    if (prepared.size > maxPrepared) {
      for (const oldest of prepared.keys()) {
        prepared.delete(oldest)
        break
      }
    }
    return made
  }
  const attempt = <A>(run: () => A): Effect.Effect<A, SqlError> =>
    Effect.try({ try: run, catch: (cause) => new SqlError({ cause, message: words(cause) }) })
  type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
  const all = (found: Prepared, params: ReadonlyArray<unknown>, transform: Transform) => {
    const rows = found.all(...params.map(bind))
    return transform === undefined ? rows : transform(rows)
  }
  const rows = (sql: string, params: ReadonlyArray<unknown>, transform: Transform) =>
    attempt(() => all(statement(sql), params, transform))
  return {
    execute: rows,
    executeRaw: (sql, params) => attempt(() => statement(sql).run(...params.map(bind))),
    executeValues: (sql, params) =>
      Effect.map(rows(sql, params, undefined), (found) => found.map((row) => Object.values(row))),
    executeUnprepared: (sql, params, transform) => attempt(() => all(db.prepare(sql), params, transform)),
    // The driver is synchronous: the rows are read at once and come as one chunk.
    executeStream: (sql, params, transform) =>
      Stream.unwrap(Effect.map(rows(sql, params, transform), (found) => Stream.fromIterable(found)))
  }
}

const makeClient = Effect.fnUntraced(function*(connection: Connection) {
  const semaphore = yield* Effect.makeSemaphore(1)
  const take = Effect.uninterruptibleMask((restore) =>
    Effect.zipRight(
      restore(semaphore.take(1)),
      Effect.as(
        Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, semaphore.release(1))),
        connection
      )
    )
  )
  const run = (sql: string) => connection.executeRaw(sql, [])
  const inside = <A, E, R>(effect: Effect.Effect<A, E, R>, depth: number): Effect.Effect<A, E, R> =>
    Effect.mapInputContext(
      effect,
      (context: Context.Context<R>) => Context.add(context, SqlClient.TransactionConnection, [connection, depth])
    )
  /** Runs between `begin` and `commit`; any other end, a failed commit too, undoes it. */
  const bracket = <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    sql: { readonly begin: string; readonly commit: string; readonly undo: string }
  ): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(
        run(sql.begin),
        Effect.flatMap(Effect.exit(restore(effect)), (exit): Effect.Effect<A, E | SqlError> => {
          // SQLite may have rolled back by itself already (disk full, I/O error); the second one then has nothing to do.
          const undo = Effect.ignore(run(sql.undo))
          return Exit.isSuccess(exit)
            ? Effect.as(Effect.tapError(run(sql.commit), () => undo), exit.value)
            : Effect.zipRight(undo, exit)
        })
      )
    )
  const withTransaction = <R, E, A>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.flatMap(
      Effect.serviceOption(SqlClient.TransactionConnection),
      Option.match({
        onNone: () =>
          Effect.uninterruptibleMask((restore) =>
            Effect.zipRight(
              restore(semaphore.take(1)),
              Effect.ensuring(
                restore(bracket(inside(self, 0), { begin: "BEGIN IMMEDIATE", commit: "COMMIT", undo: "ROLLBACK" })),
                semaphore.release(1)
              )
            )
          ),
        onSome: ([, depth]) => {
          const name = `nested_${depth + 1}`
          return bracket(inside(self, depth + 1), {
            begin: `SAVEPOINT ${name}`,
            commit: `RELEASE ${name}`,
            undo: `ROLLBACK TO ${name}`
          })
        }
      })
    )
  const client = yield* SqlClient.make({
    acquirer: take,
    compiler: Statement.makeCompilerSqlite(),
    spanAttributes: [["db.system.name", "sqlite"]],
    beginTransaction: "BEGIN IMMEDIATE"
  })
  return Object.assign(client, { withTransaction })
})

/**
 * Opens the database for the time of the scope: WAL, `synchronous=NORMAL`, `foreign_keys=ON`, busy timeout. Fails with
 * `unavailable`, `open`, `busy`, `corrupt`, `full` or `too_new`; an existing file is then left untouched.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = Effect.fnUntraced(function*(options: OpenOptions) {
  const module = yield* Effect.try({
    try: driver,
    catch: (cause) => failure("unavailable", options.path, cause)
  })
  const db = yield* Effect.acquireRelease(
    Effect.try({
      try: () => openDatabase(module, options),
      catch: (cause) => {
        if (cause instanceof SqliteError) return cause
        const code = field(cause, "code")
        const known = code === "ENOSPC" || code === "EDQUOT" ? "full" : reasonOf(cause)
        return failure(known === "query" ? "open" : known, options.path, cause)
      }
    }),
    (db) => Effect.ignore(Effect.try(() => db.close()))
  )
  return yield* Effect.provideServiceEffect(makeClient(connect(db)), Reactivity.Reactivity, Reactivity.make)
})
