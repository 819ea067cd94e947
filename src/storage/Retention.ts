/**
 * Sessions that are kept no longer: which ones, and how much room they take.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { leave } from "./Descent.ts"
import { query } from "./Query.ts"

/** A session that may go, with about how many bytes it takes. @since 0.1.0 @category models */
export interface Candidate {
  readonly id: string
  readonly last_active: number
  readonly bytes: number
}

/** What is kept. Absent = no limit. @since 0.1.0 @category models */
export interface Policy {
  /** Seconds since the epoch: what was active last before it may go. */
  readonly before?: number
  /** The record may take this many bytes. */
  readonly max_bytes?: number
}

/**
 * What a policy lets go of: everything too old, then the oldest of the rest until the record is small enough. `sessions`
 * come with the one first that was active longest ago, `used` is what the record takes in bytes. Pure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const expired = <A extends Candidate>(
  sessions: ReadonlyArray<A>,
  used: number,
  { before, max_bytes }: Policy
): ReadonlyArray<A> => {
  let left = used
  return sessions.filter((session) => {
    const old = before !== undefined && session.last_active < before
    if (!old && (max_bytes === undefined || left <= max_bytes)) return false
    left -= session.bytes
    return true
  })
}

/** Neither pinned nor archived, nor with a run that is on; those of subagents go with the session they worked for. */
const mayGo =
  "is_archived = 0 AND (s.source <> 'subagent' OR s.parent_session_id IS NULL) AND NOT EXISTS (SELECT 1 FROM pins p WHERE p.session_id = s.id) AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = s.id AND r.status = 'running')"

/** Sessions that may go at all, the one that was active longest ago first. @since 0.1.0 @category constructors */
export const candidates = (
  sql: SqlClient,
  sized: boolean
): Effect.Effect<ReadonlyArray<Candidate>, SqlError> =>
  query<Candidate>(
    sql,
    `SELECT s.id, s.last_active, ${
      sized
        ? `(SELECT COALESCE(SUM(octet_length(d.message) + 200), 0) FROM message_details d WHERE d.session_id = s.id) +
          (SELECT COALESCE(SUM(octet_length(m.content) + 200), 0) FROM messages m WHERE m.session_id = s.id)`
        : "0"
    } AS bytes
      FROM sessions s WHERE ${mayGo} ORDER BY s.last_active, s.rowid`
  )

/** Bytes of the record that are in use. @since 0.1.0 @category constructors */
export const used = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    query<{ readonly bytes: number }>(
      sql,
      `SELECT (c.page_count - f.freelist_count) * z.page_size AS bytes
        FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size z`
    ),
    (rows) => rows[0]?.bytes ?? 0
  )

/** Deletes those of these sessions that still may go; gives their ids, and those of their subagents. @since 0.1.0 @category combinators */
export const remove = (
  sql: SqlClient,
  ids: ReadonlyArray<string>
): Effect.Effect<{ readonly gone: ReadonlyArray<string>; readonly below: ReadonlyArray<string> }, SqlError> =>
  Effect.gen(function*() {
    const json = JSON.stringify(ids)
    const deleted = yield* query<{ readonly id: string }>(
      sql,
      `DELETE FROM sessions AS s WHERE s.id IN (SELECT value FROM json_each(?)) AND ${mayGo} RETURNING id`,
      [json]
    )
    const gone = deleted.map(({ id }) => id)
    return { gone, below: yield* leave(sql, gone) }
  })
