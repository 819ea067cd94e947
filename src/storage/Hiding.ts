/**
 * A conversation that goes back: what came after a message is hidden, and may come back. The statements run in the
 * transaction of the caller.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { checkCut, cutRows, invalid } from "./CutRows.ts"
import * as EntryRecords from "./EntryRecords.ts"
import { query } from "./Query.ts"
import { placeAll } from "./Replacements.ts"
import type { HiddenPart } from "./SessionStore.ts"
import type { StorageError } from "./StorageError.ts"

const settled = (sql: SqlClient, session_id: string): Effect.Effect<void, SqlError> =>
  Effect.zipRight(placeAll(sql, session_id), EntryRecords.recount(sql, session_id))

/**
 * Hides message `from` and all behind it; gives the mark that brings them back. `now` is in seconds.
 *
 * @since 0.1.0
 * @category combinators
 */
export const hide = (
  sql: SqlClient,
  session_id: string,
  from: number,
  now: number
): Effect.Effect<number, SqlError | StorageError> =>
  Effect.gen(function*() {
    const rows = yield* cutRows(sql, session_id)
    const at = rows.findIndex((row) => row.id === from)
    if (at < 0) return yield* invalid(`session ${session_id} has no message ${from} in its conversation`)
    const before = rows[at - 1]
    if (before !== undefined) yield* checkCut(session_id, rows, before.id)
    yield* query(
      sql,
      "UPDATE message_details SET hidden = ? WHERE session_id = ? AND withdrawn = 0 AND hidden = 0 AND message_id >= ?",
      [from, session_id, from]
    )
    yield* query(sql, "INSERT OR REPLACE INTO rewinds (session_id, mark, at) VALUES (?, ?, ?)", [session_id, from, now])
    yield* settled(sql, session_id)
    return from
  })

/** Brings back what was hidden under a mark. @since 0.1.0 @category combinators */
export const unhide = (
  sql: SqlClient,
  session_id: string,
  mark: number
): Effect.Effect<void, SqlError | StorageError> =>
  Effect.gen(function*() {
    const found = yield* query<{ readonly hidden: number; readonly later: number }>(
      sql,
      `SELECT
        (SELECT COUNT(*) FROM message_details WHERE session_id = ? AND hidden = ?) AS hidden,
        (SELECT COUNT(*) FROM message_details WHERE session_id = ? AND withdrawn = 0 AND hidden = 0 AND message_id >= ?) AS later`,
      [session_id, mark, session_id, mark]
    )
    const { hidden, later } = found[0] ?? { hidden: 0, later: 0 }
    if (hidden === 0) return yield* invalid(`nothing of session ${session_id} is hidden from message ${mark} on`)
    if (later > 0) {
      return yield* invalid(
        `session ${session_id} went on after it went back to before message ${mark}: what came then cannot be joined to ` +
          `what was before; a fork goes on from either`
      )
    }
    yield* query(sql, "UPDATE message_details SET hidden = 0 WHERE session_id = ? AND hidden = ?", [session_id, mark])
    yield* query(sql, "DELETE FROM rewinds WHERE session_id = ? AND mark = ?", [session_id, mark])
    yield* settled(sql, session_id)
  })

/** What is hidden of a session, the last that went first. @since 0.1.0 @category constructors */
export const marks = (sql: SqlClient, session_id: string): Effect.Effect<ReadonlyArray<HiddenPart>, SqlError> =>
  query<{ readonly mark: number; readonly at: number }>(
    sql,
    `SELECT d.hidden AS mark, COALESCE(r.at, 0) AS at FROM message_details d
      LEFT JOIN rewinds r ON r.session_id = d.session_id AND r.mark = d.hidden
      WHERE d.session_id = ? AND d.withdrawn = 0 AND d.hidden > 0 GROUP BY d.hidden ORDER BY at DESC, mark`,
    [session_id]
  )
