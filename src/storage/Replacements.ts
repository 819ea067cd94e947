/**
 * Which entries a compaction has replaced, and where what stands for them has its place: kept in the columns `replaced` and
 * `place` of `message_details`, so that a conversation is read without reading what it has left behind.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { query } from "./Query.ts"

/** The entries of one session with these keys, given as JSON. */
const those = "session_id = ? AND withdrawn = 0 AND hidden = 0 AND entry_key IN (SELECT value FROM json_each(?))"

/**
 * Marks what an entry that is about to be stored stands for; gives its place, null when none of it is there. In the
 * transaction of the caller.
 *
 * @since 0.1.0
 * @category combinators
 */
export const replace = (
  sql: SqlClient,
  session_id: string,
  columns: string
): Effect.Effect<number | null, SqlError> =>
  Effect.gen(function*() {
    const found = yield* query<{ readonly place: number | null }>(
      sql,
      `SELECT MIN(COALESCE(place, message_id)) AS place FROM message_details WHERE ${those}`,
      [session_id, columns]
    )
    yield* query(sql, `UPDATE message_details SET replaced = 1 WHERE replaced = 0 AND ${those}`, [session_id, columns])
    return found[0]?.place ?? null
  })

/**
 * Finds both columns anew, for one session or for all of them: after a step of the schema, a copy, or when what stood for
 * something is no longer part of the conversation. In the transaction of the caller.
 *
 * @since 0.1.0
 * @category combinators
 */
export const placeAll = (sql: SqlClient, session_id?: string): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    const [where, params] = session_id === undefined ? ["", []] : ["AND session_id = ?", [session_id]]
    yield* query(
      sql,
      `UPDATE message_details SET replaced = 0, place = NULL WHERE (replaced = 1 OR place IS NOT NULL) ${where}`,
      params
    )
    const standing = yield* query<
      { readonly message_id: number; readonly session_id: string; readonly replaces: string }
    >(
      sql,
      `SELECT message_id, session_id, replaces FROM message_details WHERE replaces IS NOT NULL AND withdrawn = 0 AND hidden = 0 ${where}
        ORDER BY message_id`,
      params
    )
    for (const one of standing) {
      const place = yield* replace(sql, one.session_id, one.replaces)
      yield* query(sql, "UPDATE message_details SET place = MIN(?, message_id) WHERE message_id = ?", [
        place,
        one.message_id
      ])
    }
  })
