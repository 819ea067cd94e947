/**
 * The session store on the embedded database. Every method is one transaction at most; the body of a transaction holds
 * nothing but SQL, so that an interrupt finds it done or not begun.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ProcessIdentity, type ProcessIdentityService } from "../platform/ProcessIdentity.ts"
import * as Sqlite from "../platform/Sqlite.ts"
import { decoded } from "./Decoded.ts"
import { leave } from "./Descent.ts"
import * as EntryRecords from "./EntryRecords.ts"
import { grouped } from "./History.ts"
import { migrate, newest } from "./Migrations.ts"
import { query } from "./Query.ts"
import * as Rows from "./Rows.ts"
import * as RunRecords from "./RunRecords.ts"
import * as Spending from "./Spending.ts"
import type { SessionStoreService } from "./SessionStore.ts"
import { fromSql, fromSqlite, notFound, type StorageError } from "./StorageError.ts"

/** Seconds since the epoch, to the millisecond. */
const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (now) => now / 1000)

/** Milliseconds that another process has to end its run, and between two looks. */
const stopPatience = 10_000
const stopPoll = 100

/** The service over an open and migrated client. @since 0.1.0 @category constructors */
export const make = (
  sql: SqlClient,
  path: string,
  identity: ProcessIdentityService
): Effect.Effect<SessionStoreService, never, Scope.Scope> =>
  Effect.gen(function*() {
    const toError = fromSql(path)
    const storing = <A>(effect: Effect.Effect<A, SqlError | StorageError>): Effect.Effect<A, StorageError> =>
      Effect.catchTag(effect, "SqlError", (error) => Effect.fail(toError(error)))
    const writing = <A>(effect: Effect.Effect<A, SqlError | StorageError>): Effect.Effect<A, StorageError> =>
      storing(sql.withTransaction(effect))

    const sessionsWhere = (where: string, params: ReadonlyArray<unknown>) =>
      query(sql, `SELECT ${Rows.sessionColumns} FROM sessions WHERE ${where}`, params).pipe(
        Effect.flatMap((rows) => decoded(path, "sessions", Rows.decodeSessions(rows))),
        Effect.map((rows) => rows.map(Rows.sessionOf))
      )
    const oneWhere = (where: string, params: ReadonlyArray<unknown>) =>
      Effect.map(sessionsWhere(where, params), (found) => Option.fromNullable(found[0]))
    const required = (id: string) =>
      Effect.flatMap(
        oneWhere("id = ?", [id]),
        Option.match({ onNone: () => Effect.fail(notFound(`there is no session ${id}`)), onSome: Effect.succeed })
      )

    const entries = (id: string) =>
      Effect.gen(function*() {
        const rows = yield* query(
          sql,
          `SELECT ${Rows.entryColumns} FROM message_details WHERE session_id = ? ORDER BY message_id`,
          [id]
        )
        if (rows.length === 0) {
          yield* required(id)
          return []
        }
        const { decodeEntries, entryOf } = yield* EntryRecords.entryRows
        return (yield* decoded(path, "message_details", decodeEntries(rows))).map(entryOf)
      })

    const conversation = (id: string) =>
      Effect.gen(function*() {
        const rows = yield* query(sql, Rows.conversationQuery, [id])
        if (rows.length === 0) {
          yield* required(id)
          return []
        }
        const { decodeLive, liveOf } = yield* EntryRecords.entryRows
        return grouped((yield* decoded(path, "message_details", decodeLive(rows))).map(liveOf))
      })

    const records = yield* RunRecords.make(sql, identity)
    // What a run has no use for is loaded by whoever asks for it.
    const copies = Effect.promise(() => import("./Copies.ts"))
    const hiding = Effect.promise(() => import("./Hiding.ts"))
    const retention = Effect.promise(() => import("./Retention.ts"))
    const scope = yield* Effect.scope
    const search = yield* Effect.cached(
      Effect.flatMap(Effect.promise(() => import("./Search.ts")), (module) => module.make(sql, path, scope))
    )
    const forget = (ids: ReadonlyArray<string>) => Effect.flatMap(search, (found) => found.forget(ids))

    /** A change of a session that nobody runs. */
    const idle = <A>(id: string, change: Effect.Effect<A, SqlError | StorageError>) =>
      Effect.gen(function*() {
        const now = yield* seconds
        return yield* writing(Effect.zipRight(
          required(id),
          Effect.zipRight(records.mustBeIdle(id, now), change)
        ))
      })

    const recover = Effect.gen(function*() {
      const now = yield* seconds
      const gone = yield* storing(records.orphans(now))
      return gone.length === 0 ? 0 : yield* writing(records.interrupt(gone, now))
    }).pipe(Effect.withSpan("SessionStore.recover"))

    return {
      create: Effect.fnUntraced(function*(session) {
        const now = yield* seconds
        return yield* writing(Effect.zipRight(
          query(
            sql,
            `INSERT INTO sessions (id, source, model, provider, title, parent_session_id, started_at, last_active, workspace)
              VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
            [
              session.id,
              session.source ?? "cli",
              session.model,
              session.provider,
              Rows.titleOf(session.title ?? ""),
              session.parent_session_id ?? null,
              now,
              now,
              session.workspace
            ]
          ),
          required(session.id)
        ))
      }),

      get: Effect.fn("SessionStore.get")((id) => storing(oneWhere("id = ?", [id]))),

      find: Effect.fn("SessionStore.find")((wanted) =>
        storing(Effect.gen(function*() {
          const exact = yield* oneWhere("id = ?", [wanted])
          if (Option.isSome(exact)) return exact.value
          const prefix = wanted.startsWith("ses_") ? wanted : `ses_${wanted}`
          const several = wanted === "" ? [] : yield* sessionsWhere(
            "id >= ? AND id < ? || char(1114111) ORDER BY last_active DESC, rowid DESC LIMIT 11",
            [prefix, prefix]
          )
          const [only, second] = several
          if (only !== undefined && second === undefined) return only
          if (only === undefined) {
            return yield* notFound(
              `there is no session ${JSON.stringify(wanted)}: hanzo-dev sessions list shows those that there are`
            )
          }
          const names = several.slice(0, 10).map((one) => `  ${one.id}  ${one.title ?? "(no title)"}`)
          return yield* notFound(
            `${JSON.stringify(wanted)} fits several sessions, give more of the id:\n${names.join("\n")}` +
              (several.length > 10 ? "\n  ..." : "")
          )
        }))
      ),

      latest: Effect.fn("SessionStore.latest")((workspace) =>
        storing(oneWhere(
          "workspace = ? AND source <> 'subagent' AND is_archived = 0 ORDER BY last_active DESC, rowid DESC LIMIT 1",
          [workspace]
        ))
      ),

      list: Effect.fn("SessionStore.list")((filter) =>
        storing(sessionsWhere(
          `is_archived = ? ${filter.workspace === undefined ? "" : "AND workspace = ?"}
            ${filter.subagents === true ? "" : "AND (source <> 'subagent' OR parent_session_id IS NULL)"}
            ORDER BY is_pinned DESC, last_active DESC, rowid DESC LIMIT ? OFFSET ?`,
          [
            filter.archived === true ? 1 : 0,
            ...(filter.workspace === undefined ? [] : [filter.workspace]),
            filter.limit ?? -1,
            filter.offset ?? 0
          ]
        ))
      ),

      delete: Effect.fn("SessionStore.delete")((id, options) =>
        Effect.flatMap(
          Effect.flatMap(seconds, (now) =>
            writing(Effect.gen(function*() {
              yield* required(id)
              if (options?.idle === true) yield* records.mustBeIdle(id, now)
              yield* query(sql, "DELETE FROM sessions WHERE id = ?", [id])
              return [id, ...yield* leave(sql, [id])]
            }))),
          forget
        )
      ),

      setTitle: Effect.fn("SessionStore.setTitle")((id, title, instead_of) =>
        writing(Effect.gen(function*() {
          yield* required(id)
          yield* query(
            sql,
            `UPDATE sessions SET title = ? WHERE id = ? ${instead_of === undefined ? "" : "AND title IS ?"}`,
            [Rows.titleOf(title), id, ...(instead_of === undefined ? [] : [instead_of])]
          )
        }))
      ),

      archive: Effect.fn("SessionStore.archive")((id, archived) =>
        writing(Effect.gen(function*() {
          yield* required(id)
          yield* query(sql, "UPDATE sessions SET is_archived = ? WHERE id = ?", [archived, id])
        }))
      ),

      pin: Effect.fn("SessionStore.pin")((id, pinned) =>
        writing(Effect.gen(function*() {
          yield* required(id)
          yield* query(
            sql,
            pinned ? "INSERT OR IGNORE INTO pins (session_id) VALUES (?)" : "DELETE FROM pins WHERE session_id = ?",
            [id]
          )
        }))
      ),

      hide: Effect.fn("SessionStore.hide")(function*(id, from) {
        const { hide } = yield* hiding
        return yield* idle(id, hide(sql, id, from, yield* seconds))
      }),

      unhide: Effect.fn("SessionStore.unhide")(function*(id, mark) {
        const { unhide } = yield* hiding
        return yield* idle(id, unhide(sql, id, mark))
      }),

      hidden: Effect.fn("SessionStore.hidden")(function*(id) {
        const { marks } = yield* hiding
        return yield* storing(Effect.zipRight(required(id), marks(sql, id)))
      }),

      fork: Effect.fn("SessionStore.fork")(function*(wanted) {
        const now = yield* seconds
        const { fork } = yield* copies
        return yield* writing(Effect.gen(function*() {
          yield* required(wanted.from)
          yield* fork(sql, wanted, now)
          return yield* required(wanted.id)
        }))
      }),

      adopt: Effect.fn("SessionStore.adopt")(function*(foreign, options) {
        const now = yield* seconds
        const { adopt } = yield* copies
        return yield* writing(
          Effect.flatMap(adopt(sql, foreign, { ...options, now }), required)
        )
      }),

      search: Effect.fn("SessionStore.search")(function*(wanted, options) {
        return yield* storing(Effect.flatMap(search, (found) => found.search(wanted, options)))
      }),

      expired: Effect.fn("SessionStore.expired")(function*(policy) {
        yield* recover
        const { candidates, expired, used } = yield* retention
        return yield* storing(Effect.gen(function*() {
          const going = expired(yield* candidates(sql, policy.max_bytes !== undefined), yield* used(sql), policy)
          const bytes = new Map(going.map((one) => [one.id, one.bytes]))
          const sessions = yield* sessionsWhere(
            "id IN (SELECT value FROM json_each(?)) ORDER BY last_active, rowid",
            [JSON.stringify([...bytes.keys()])]
          )
          return sessions.map((session) => ({ session, bytes: bytes.get(session.id) ?? 0 }))
        }))
      }),

      prune: Effect.fn("SessionStore.prune")(function*(ids) {
        const { remove } = yield* retention
        const { below, gone } = yield* writing(remove(sql, ids))
        yield* forget([...gone, ...below])
        return gone
      }),

      vacuum: storing(Effect.zipRight(query(sql, "VACUUM"), query(sql, "PRAGMA wal_checkpoint(TRUNCATE)"))).pipe(
        Effect.asVoid,
        Effect.withSpan("SessionStore.vacuum")
      ),

      entries: Effect.fn("SessionStore.entries")((id) => storing(entries(id))),

      history: Effect.fn("SessionStore.history")((id) =>
        storing(Effect.map(conversation(id), (all) => all.map(({ message }) => message)))
      ),

      conversation: Effect.fn("SessionStore.conversation")((id) => storing(conversation(id))),

      callIds: Effect.fn("SessionStore.callIds")((id) =>
        storing(Effect.map(
          query<{ readonly keys: string }>(
            sql,
            `SELECT json_group_array(entry_key) AS keys FROM message_details INDEXED BY message_details_live
              WHERE session_id = ? AND withdrawn = 0 AND (entry_key >= 'assistant:' AND entry_key < 'assistant;'
                OR entry_key >= '"assistant:' AND entry_key < '"assistant;')`,
            [id]
          ),
          (rows) => Rows.callIdsOf(rows[0]?.keys ?? "[]")
        ))
      ),

      append: Effect.fnUntraced(function*(session_id, some) {
        if (some.length === 0) return
        const now = yield* seconds
        const noted = yield* records.notes(some)
        yield* writing(Effect.zipRight(noted.write, EntryRecords.append(sql, session_id, some, now)))
        yield* noted.done
      }),

      withdraw: Effect.fn("SessionStore.withdraw")((session_id, keys) =>
        keys.length === 0 ? Effect.void : writing(EntryRecords.withdraw(sql, session_id, keys))
      ),

      beginRun: Effect.fnUntraced(function*(run) {
        const now = yield* seconds
        const owner = yield* identity.self
        yield* writing(Effect.zipRight(required(run.session_id), records.beginRun(run, owner, now)))
      }),

      askToStop: Effect.fn("SessionStore.askToStop")(function*(session_id) {
        const owner = yield* identity.self
        for (let waited = 0; waited < stopPatience; waited += stopPoll) {
          const now = yield* seconds
          const living = yield* storing(records.living(session_id, owner, now))
          if (living.length === 0) return
          if (waited === 0) yield* writing(records.askToStop(living, owner))
          yield* Effect.sleep(stopPoll)
        }
      }),

      stopAsked: (run_id) => storing(records.stopAsked(run_id)),

      endRun: Effect.fnUntraced(function*(run_id, end) {
        const now = yield* seconds
        yield* writing(records.endRun(run_id, end, now))
        yield* records.forgetRun(run_id)
      }),

      runs: Effect.fn("SessionStore.runs")((session_id) =>
        storing(Effect.gen(function*() {
          const rows = yield* query(
            sql,
            `SELECT ${Rows.runColumns} FROM runs WHERE session_id = ? ORDER BY started_at, rowid`,
            [session_id]
          )
          return (yield* decoded(path, "runs", Rows.decodeRuns(rows))).map(Rows.runOf)
        }))
      ),

      recover,

      beginAttempt: Effect.fnUntraced(function*(attempt) {
        yield* records.noteAttempt(attempt, yield* seconds)
      }),

      endAttempt: Effect.fnUntraced(function*(attempt_id, end, some = []) {
        const now = yield* seconds
        yield* writing(Effect.gen(function*() {
          const session_id = yield* records.endAttempt(attempt_id, end, now)
          if (some.length > 0) yield* EntryRecords.append(sql, session_id, some, now)
        }))
        yield* records.forgetAttempt(attempt_id)
      }),

      recordCall: Effect.fnUntraced(function*(call) {
        const now = yield* seconds
        yield* writing(Spending.insert(sql, { ...call, run_id: null, turn: 0 }, now))
      }),

      spent: (what) => storing(Spending.spent(sql, what)),

      spending: Effect.fn("SessionStore.spending")((filter) => storing(Spending.rows(sql, filter)))
    } satisfies SessionStoreService
  })

/**
 * Opens, migrates and serves the database at `path` (absolute, or `":memory:"`) for the time of the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = Effect.fnUntraced(function*(path: string) {
  const sql = yield* Effect.mapError(Sqlite.open({ path, newest_version: newest }), fromSqlite)
  yield* migrate(sql, path)
  const identity = yield* Effect.provide(ProcessIdentity, ProcessIdentity.layer)
  return yield* make(sql, path, identity)
})
