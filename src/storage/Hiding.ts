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
import type { StorageError } from "./StorageError.ts"

const settled = (sql: SqlClient, session_id: string): Effect.Effect<void, SqlError> =>
  Effect.zipRight(placeAll(sql, session_id), EntryRecords.recount(sql, session_id))

/** Hides message `from` and all behind it; gives the mark that brings them back. @since 0.1.0 @category combinators */
export const hide = (
  sql: SqlClient,
  session_id: string,
  from: number
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
    yield* settled(sql, session_id)
  })

/** The marks of a session, the latest first. @since 0.1.0 @category constructors */
export const marks = (sql: SqlClient, session_id: string): Effect.Effect<ReadonlyArray<number>, SqlError> =>
  Effect.map(
    query<{ readonly hidden: number }>(
      sql,
      "SELECT DISTINCT hidden FROM message_details WHERE session_id = ? AND withdrawn = 0 AND hidden > 0 ORDER BY hidden DESC",
      [session_id]
    ),
    (rows) => rows.map(({ hidden }) => hidden)
  )
