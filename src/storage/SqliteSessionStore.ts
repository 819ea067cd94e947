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
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ParseError } from "effect/ParseResult"
import type { ReasoningPart } from "../domain/Message.ts"
import { ProcessIdentity, type ProcessIdentityService } from "../platform/ProcessIdentity.ts"
import * as Sqlite from "../platform/Sqlite.ts"
import { joined } from "./History.ts"
import { migrate, newest } from "./Migrations.ts"
import { query } from "./Query.ts"
import * as Rows from "./Rows.ts"
import * as RunRecords from "./RunRecords.ts"
import * as Spending from "./Spending.ts"
import type { Entry, SessionStoreService } from "./SessionStore.ts"
import { fromSql, fromSqlite, notFound, StorageError } from "./StorageError.ts"

/** Seconds since the epoch, to the millisecond. */
const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (now) => now / 1000)

/** A decoded row, or `corrupt` with the place. */
const decoded = <A>(
  path: string,
  table: string,
  result: Either.Either<A, ParseError>
): Effect.Effect<A, StorageError> =>
  Either.isRight(result) ? Effect.succeed(result.right) : Effect.fail(
    new StorageError({
      reason: "corrupt",
      path,
      message: `A row of ${table} in ${path} cannot be read: ${result.left.message}. ` +
        `Move the file away to begin anew, or repair the row`
    })
  )

/** What reads rows back is not needed by a session that begins. */
const entryRows = Effect.promise(() => import("./EntryRows.ts"))

/** Appends in the transaction of the caller. */
const appendEntries = (sql: SqlClient, session_id: string, entries: ReadonlyArray<Entry>, now: number) =>
  Effect.gen(function*() {
    const known = yield* query(sql, "SELECT 1 AS found FROM sessions WHERE id = ?", [session_id])
    if (known.length === 0) {
      return yield* notFound(`there is no session ${session_id}; it may have been deleted meanwhile`)
    }
    let messages = 0
    let calls = 0
    let title: string | null = null
    let preview: string | null = null
    for (const entry of entries) {
      const key = Rows.keyColumn(entry.key)
      const present = yield* query(
        sql,
        "SELECT 1 AS found FROM message_details WHERE session_id = ? AND entry_key = ? AND withdrawn = 0",
        [session_id, key]
      )
      if (present.length > 0) continue
      const message = entry.message
      const columns = Rows.columnsOf(message)
      // Reasoning waits for the assistant row of its turn; that row then shows it in its own columns.
      const takes = message.role === "assistant" && !columns.reasoning_only
      const waiting = takes
        ? yield* query<{ readonly message_id: number; readonly message: string }>(
          sql,
          `SELECT message_id, message FROM message_details WHERE session_id = ? AND run_id = ? AND turn = ?
            AND reasoning_only = 1 AND withdrawn = 0 AND folded_into IS NULL ORDER BY message_id`,
          [session_id, entry.run_id, entry.turn]
        )
        : []
      const reasoning = Rows.reasoningColumns([
        ...(yield* reasoningIn(waiting)),
        ...(message.role === "assistant" ? Rows.reasoningOf(message) : [])
      ])
      const rows = yield* query<{ readonly id: number }>(
        sql,
        `INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, token_count,
          finish_reason, reasoning, reasoning_details, reasoning_content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          RETURNING id`,
        [
          session_id,
          message.role,
          columns.content,
          columns.tool_call_id,
          columns.tool_calls,
          columns.tool_name,
          now,
          columns.token_count,
          entry.finish_reason ?? null,
          reasoning.reasoning,
          reasoning.reasoning_details,
          reasoning.reasoning_content
        ]
      )
      const id = rows[0]?.id ?? null
      yield* query(
        sql,
        `INSERT INTO message_details (message_id, session_id, entry_key, run_id, turn, role, message, finish_reason,
          timestamp, reasoning_only, tool_calls, replaces) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        [
          id,
          session_id,
          key,
          entry.run_id,
          entry.turn,
          message.role,
          columns.exact,
          entry.finish_reason ?? null,
          now,
          columns.reasoning_only ? 1 : 0,
          columns.tool_call_count,
          entry.replaces === undefined ? null : JSON.stringify(entry.replaces)
        ]
      )
      for (const row of waiting) {
        yield* query(sql, "UPDATE message_details SET folded_into = ? WHERE message_id = ?", [id, row.message_id])
        yield* query(sql, "DELETE FROM messages WHERE id = ?", [row.message_id])
      }
      if (!columns.reasoning_only) messages++
      calls += columns.tool_call_count
      if (message.role === "user") title ??= Rows.titleOf(columns.text)
      if (message.kind !== "summary") preview = Rows.previewOf(columns.text) ?? preview
    }
    yield* query(
      sql,
      `UPDATE sessions SET message_count = message_count + ?, tool_call_count = tool_call_count + ?,
        title = COALESCE(title, ?), preview = COALESCE(?, preview), last_active = MAX(last_active, ?) WHERE id = ?`,
      [messages, calls, title, preview, now, session_id]
    )
  })

const reasoningIn = (
  rows: ReadonlyArray<{ readonly message: string }>
): Effect.Effect<ReadonlyArray<ReasoningPart>, StorageError> =>
  rows.length === 0
    ? Effect.succeed([])
    : Effect.flatMap(entryRows, ({ decodeMessage }) =>
      Effect.map(
        Effect.forEach(rows, (row) => decoded("the session database", "message_details", decodeMessage(row.message))),
        (messages) => messages.flatMap(Rows.reasoningOf)
      ))

/** Withdraws in the transaction of the caller: rows are marked, counters and preview computed anew. */
const withdrawEntries = (sql: SqlClient, session_id: string, keys: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const gone = yield* query<{ readonly message_id: number; readonly folded_into: number | null }>(
      sql,
      `UPDATE message_details SET withdrawn = 1 WHERE session_id = ? AND withdrawn = 0
        AND entry_key IN (SELECT value FROM json_each(?)) RETURNING message_id, folded_into`,
      [session_id, JSON.stringify(keys.map(Rows.keyColumn))]
    )
    if (gone.length === 0) return
    const ids = JSON.stringify(gone.map((row) => row.message_id))
    yield* query(sql, "UPDATE messages SET finish_reason = 'failed' WHERE id IN (SELECT value FROM json_each(?))", [
      ids
    ])
    // Reasoning whose row was withdrawn under it waits again; a row that lost its reasoning shows what is left of it.
    yield* query(
      sql,
      "UPDATE message_details SET folded_into = NULL WHERE withdrawn = 0 AND folded_into IN (SELECT value FROM json_each(?))",
      [ids]
    )
    for (const target of new Set(gone.flatMap((row) => row.folded_into === null ? [] : [row.folded_into]))) {
      const left = yield* query<{ readonly message: string }>(
        sql,
        `SELECT message FROM message_details WHERE withdrawn = 0 AND (folded_into = ? OR message_id = ?) ORDER BY message_id`,
        [target, target]
      )
      const columns = Rows.reasoningColumns(yield* reasoningIn(left))
      yield* query(
        sql,
        `UPDATE messages SET reasoning = ?, reasoning_details = ?, reasoning_content = ?
          WHERE id = ? AND finish_reason IS NOT 'failed'`,
        [columns.reasoning, columns.reasoning_details, columns.reasoning_content, target]
      )
    }
    const latest = yield* query<{ readonly content: string }>(
      sql,
      `SELECT m.content FROM message_details d JOIN messages m ON m.id = d.message_id WHERE d.session_id = ?
        AND d.withdrawn = 0 AND d.role IN ('user', 'assistant') AND m.content <> '' ORDER BY d.message_id DESC LIMIT 1`,
      [session_id]
    )
    yield* query(
      sql,
      `UPDATE sessions SET preview = ?,
        message_count = (SELECT COUNT(*) FROM message_details WHERE session_id = ? AND withdrawn = 0 AND reasoning_only = 0),
        tool_call_count = (SELECT COALESCE(SUM(tool_calls), 0) FROM message_details WHERE session_id = ? AND withdrawn = 0)
        WHERE id = ?`,
      [Rows.previewOf(latest[0]?.content ?? ""), session_id, session_id, session_id]
    )
  })

/** The service over an open and migrated client. @since 0.1.0 @category constructors */
export const make = (
  sql: SqlClient,
  path: string,
  identity: ProcessIdentityService
): Effect.Effect<SessionStoreService> =>
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
        const { decodeEntries, entryOf } = yield* entryRows
        return (yield* decoded(path, "message_details", decodeEntries(rows))).map(entryOf)
      })

    const records = yield* RunRecords.make(sql, identity)

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
            ORDER BY last_active DESC, rowid DESC LIMIT ? OFFSET ?`,
          [
            filter.archived === true ? 1 : 0,
            ...(filter.workspace === undefined ? [] : [filter.workspace]),
            filter.limit ?? -1,
            filter.offset ?? 0
          ]
        ))
      ),

      delete: Effect.fn("SessionStore.delete")((id) =>
        writing(Effect.gen(function*() {
          yield* required(id)
          yield* query(sql, "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", [id])
          yield* query(sql, "DELETE FROM sessions WHERE id = ?", [id])
        }))
      ),

      setTitle: Effect.fn("SessionStore.setTitle")((id, title) =>
        writing(Effect.gen(function*() {
          yield* required(id)
          yield* query(sql, "UPDATE sessions SET title = ? WHERE id = ?", [Rows.titleOf(title), id])
        }))
      ),

      entries: Effect.fn("SessionStore.entries")((id) => storing(entries(id))),

      history: Effect.fn("SessionStore.history")((id) =>
        storing(Effect.map(entries(id), (all) => joined(all).map(({ message }) => message)))
      ),

      append: Effect.fnUntraced(function*(session_id, some) {
        if (some.length === 0) return
        const now = yield* seconds
        const noted = yield* records.notes(some)
        yield* writing(Effect.zipRight(noted.write, appendEntries(sql, session_id, some, now)))
        yield* noted.done
      }),

      withdraw: Effect.fn("SessionStore.withdraw")((session_id, keys) =>
        keys.length === 0 ? Effect.void : writing(withdrawEntries(sql, session_id, keys))
      ),

      beginRun: Effect.fnUntraced(function*(run) {
        const now = yield* seconds
        const owner = yield* identity.self
        yield* writing(Effect.zipRight(required(run.session_id), records.beginRun(run, owner, now)))
      }),

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

      recover: Effect.gen(function*() {
        const now = yield* seconds
        const gone = yield* storing(records.orphans(now))
        return gone.length === 0 ? 0 : yield* writing(records.interrupt(gone, now))
      }).pipe(Effect.withSpan("SessionStore.recover")),

      beginAttempt: Effect.fnUntraced(function*(attempt) {
        yield* records.noteAttempt(attempt, yield* seconds)
      }),

      endAttempt: Effect.fnUntraced(function*(attempt_id, end, some = []) {
        const now = yield* seconds
        yield* writing(Effect.gen(function*() {
          const session_id = yield* records.endAttempt(attempt_id, end, now)
          if (some.length > 0) yield* appendEntries(sql, session_id, some, now)
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
