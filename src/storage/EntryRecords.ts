/**
 * Entries: written, withdrawn, counted. The statements run in the transaction of the caller.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { ReasoningPart } from "../domain/Message.ts"
import { decoded } from "./Decoded.ts"
import { query } from "./Query.ts"
import { placeAll, replace } from "./Replacements.ts"
import * as Rows from "./Rows.ts"
import type { Entry } from "./SessionStore.ts"
import { notFound, StorageError } from "./StorageError.ts"

/** What reads rows back is not needed by a session that begins. @since 0.1.0 @category constructors */
export const entryRows = Effect.promise(() => import("./EntryRows.ts"))

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

/**
 * Fails when the session has gone, or when another process has taken it over from the run of these entries: what comes
 * after that belongs to the other one alone.
 */
const check = (sql: SqlClient, session_id: string, run_id: string) =>
  Effect.gen(function*() {
    const found = yield* query<{ readonly taken: number | null }>(
      sql,
      `SELECT (SELECT COALESCE(r.stop_asked, 0) FROM runs r WHERE r.id = ? AND r.status = 'interrupted'
          AND (r.error_code = 'taken_over'
            OR EXISTS (SELECT 1 FROM runs n WHERE n.session_id = r.session_id AND n.rowid > r.rowid))) AS taken
        FROM sessions WHERE id = ?`,
      [run_id, session_id]
    )
    const [session] = found
    if (session === undefined) {
      return yield* notFound(`there is no session ${session_id}; it may have been deleted meanwhile`)
    }
    if (session.taken === null) return
    return yield* new StorageError({
      reason: "session_busy",
      message: `session ${session_id} was taken over by ${
        session.taken === 0 ? "another process" : `process ${session.taken}`
      }: this run records nothing any more`
    })
  })

/**
 * Appends. An entry whose key stands there already is left out. `now` is in seconds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const append = (
  sql: SqlClient,
  session_id: string,
  entries: ReadonlyArray<Entry>,
  now: number
): Effect.Effect<void, SqlError | StorageError> =>
  Effect.gen(function*() {
    const [first] = entries
    if (first === undefined) return
    yield* check(sql, session_id, first.run_id)
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
      const replaces = entry.replaces === undefined ? null : JSON.stringify(entry.replaces.map(Rows.keyColumn))
      const place = replaces === null ? null : yield* replace(sql, session_id, replaces)
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
          timestamp, reasoning_only, tool_calls, replaces, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
          replaces,
          place
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

/** Counters and preview anew, from what is there. @since 0.1.0 @category combinators */
export const recount = (sql: SqlClient, session_id: string): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    const latest = yield* query<{ readonly content: string }>(
      sql,
      `SELECT m.content FROM message_details d JOIN messages m ON m.id = d.message_id WHERE d.session_id = ?
        AND d.withdrawn = 0 AND d.hidden = 0 AND d.role IN ('user', 'assistant') AND m.content <> '' ORDER BY d.message_id DESC LIMIT 1`,
      [session_id]
    )
    yield* query(
      sql,
      `UPDATE sessions SET preview = ?,
        message_count = (SELECT COUNT(*) FROM message_details
          WHERE session_id = ? AND withdrawn = 0 AND hidden = 0 AND reasoning_only = 0),
        tool_call_count = (SELECT COALESCE(SUM(tool_calls), 0) FROM message_details
          WHERE session_id = ? AND withdrawn = 0 AND hidden = 0)
        WHERE id = ?`,
      [Rows.previewOf(latest[0]?.content ?? ""), session_id, session_id, session_id]
    )
  })

/** Marks entries as withdrawn; true when there were any. The counters are the caller's affair. @since 0.1.0 @category combinators */
export const withdrawRows = (
  sql: SqlClient,
  session_id: string,
  keys: ReadonlyArray<string>
): Effect.Effect<boolean, SqlError | StorageError> =>
  Effect.gen(function*() {
    const gone = yield* query<
      { readonly message_id: number; readonly folded_into: number | null; readonly stood: number }
    >(
      sql,
      `UPDATE message_details SET withdrawn = 1 WHERE session_id = ? AND withdrawn = 0
        AND entry_key IN (SELECT value FROM json_each(?))
        RETURNING message_id, folded_into, replaces IS NOT NULL AS stood`,
      [session_id, JSON.stringify(keys.map(Rows.keyColumn))]
    )
    if (gone.length === 0) return false
    const ids = JSON.stringify(gone.map((row) => row.message_id))
    yield* query(sql, "UPDATE messages SET finish_reason = 'failed' WHERE id IN (SELECT value FROM json_each(?))", [
      ids
    ])
    // Reasoning whose row was withdrawn under it waits again; a row that lost its reasoning shows what is left of it.
    yield* query(
      sql,
      "UPDATE message_details SET folded_into = NULL WHERE withdrawn = 0 AND session_id = ? " +
        "AND folded_into IN (SELECT value FROM json_each(?))",
      [session_id, ids]
    )
    for (const target of new Set(gone.flatMap((row) => row.folded_into === null ? [] : [row.folded_into]))) {
      const left = yield* query<{ readonly message: string }>(
        sql,
        `SELECT message FROM message_details WHERE withdrawn = 0 AND session_id = ?
          AND (folded_into = ? OR message_id = ?) ORDER BY message_id`,
        [session_id, target, target]
      )
      const columns = Rows.reasoningColumns(yield* reasoningIn(left))
      yield* query(
        sql,
        `UPDATE messages SET reasoning = ?, reasoning_details = ?, reasoning_content = ?
          WHERE id = ? AND finish_reason IS NOT 'failed'`,
        [columns.reasoning, columns.reasoning_details, columns.reasoning_content, target]
      )
    }
    // What a withdrawn entry stood for stands for itself again.
    if (gone.some((row) => row.stood !== 0)) yield* placeAll(sql, session_id)
    return true
  })

/** Withdraws: rows are marked, counters and preview computed anew. @since 0.1.0 @category combinators */
export const withdraw = (
  sql: SqlClient,
  session_id: string,
  keys: ReadonlyArray<string>
): Effect.Effect<void, SqlError | StorageError> =>
  Effect.flatMap(
    withdrawRows(sql, session_id, keys),
    (changed) => changed ? recount(sql, session_id) : Effect.void
  )
