/**
 * The places of `Cuts` in a stored session.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type CutRow, cutsOf, nearestCuts } from "./Cuts.ts"
import { query } from "./Query.ts"
import { StorageError } from "./StorageError.ts"

/** @since 0.1.0 @category constructors */
export const invalid = (message: string): StorageError => new StorageError({ reason: "invalid", message })

const callIds = (json: string | null): ReadonlyArray<string> => {
  if (json === null) return []
  const calls: unknown = JSON.parse(json)
  return Array.isArray(calls)
    ? calls.flatMap((call: unknown) =>
      typeof call === "object" && call !== null && "id" in call && typeof call.id === "string" ? [call.id] : []
    )
    : []
}

/** The entries of the conversation in the order stored. @since 0.1.0 @category constructors */
export const cutRows = (sql: SqlClient, session_id: string): Effect.Effect<ReadonlyArray<CutRow>, SqlError> =>
  Effect.map(
    query<{
      readonly id: number
      readonly role: string
      readonly run_id: string
      readonly turn: number
      readonly calls: string | null
      readonly answers: string | null
      readonly stands: number
    }>(
      sql,
      `SELECT d.message_id AS id, d.role, d.run_id, d.turn, m.tool_calls AS calls, m.tool_call_id AS answers,
          d.replaces IS NOT NULL AS stands
        FROM message_details d LEFT JOIN messages m ON m.id = d.message_id
        WHERE d.session_id = ? AND d.withdrawn = 0 AND d.hidden = 0 ORDER BY d.message_id`,
      [session_id]
    ),
    (rows) => rows.map((row) => ({ ...row, calls: callIds(row.calls), stands: row.stands !== 0 }))
  )

/**
 * Fails with `invalid` where a conversation may not be cut behind message `at`, and names the nearest places.
 *
 * @since 0.1.0
 * @category combinators
 */
export const checkCut = (
  session_id: string,
  rows: ReadonlyArray<CutRow>,
  at: number
): Effect.Effect<void, StorageError> =>
  Effect.gen(function*() {
    if (!rows.some((row) => row.id === at)) {
      return yield* invalid(
        `session ${session_id} has no message ${at}: hanzo-dev sessions show --json ${session_id} lists them (entries, id)`
      )
    }
    const cuts = cutsOf(rows)
    if (cuts.includes(at)) return
    const near = nearestCuts(cuts, at)
    return yield* invalid(
      `a conversation cannot be cut behind message ${at}, which is inside an answer or has calls whose results come later; ` +
        (near.length === 0 ? "there is no place to cut in it" : `the nearest places are behind ${near.join(" and ")}`)
    )
  })
