/**
 * Sessions that came from others, when those go. The statements run in the transaction of the caller.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { query } from "./Query.ts"

/**
 * After sessions were deleted: those of their subagents go too, others that came from them have no parent any more. Gives
 * the ids of those that went.
 *
 * @since 0.1.0
 * @category combinators
 */
export const leave = (sql: SqlClient, ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, SqlError> =>
  Effect.gen(function*() {
    const below = yield* query<{ readonly id: string }>(
      sql,
      `WITH RECURSIVE below(id) AS (
          SELECT id FROM sessions
            WHERE source = 'subagent' AND parent_session_id IN (SELECT value FROM json_each(?))
          UNION
          SELECT s.id FROM sessions s JOIN below ON s.parent_session_id = below.id WHERE s.source = 'subagent'
        )
        DELETE FROM sessions WHERE id IN (SELECT id FROM below) RETURNING id`,
      [JSON.stringify(ids)]
    )
    const gone = below.map(({ id }) => id)
    yield* query(
      sql,
      "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN (SELECT value FROM json_each(?))",
      [JSON.stringify([...ids, ...gone])]
    )
    return gone
  })
