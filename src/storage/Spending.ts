/**
 * What requests to models used and cost. The statements run in the transaction of the caller, if there is one.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Usage } from "../domain/Usage.ts"
import { query } from "./Query.ts"
import type { SpendingFilter, SpendingRow, SpentCall } from "./SessionStore.ts"

/** A request as its row keeps it. */
interface SpentRequest extends SpentCall {
  readonly run_id: string | null
  readonly turn: number
}

/** Once: a row that stands there is the same request. @since 0.1.0 @category combinators */
export const insert = (sql: SqlClient, request: SpentRequest, now: number): Effect.Effect<void, SqlError> =>
  Effect.asVoid(query(
    sql,
    `INSERT INTO spending (id, at, session_id, run_id, turn, workspace, purpose, model, input_tokens, output_tokens,
      cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    [
      request.id,
      now,
      request.session_id,
      request.run_id,
      request.turn,
      request.workspace,
      request.purpose,
      request.model,
      request.usage?.input_tokens ?? null,
      request.usage?.output_tokens ?? null,
      request.usage?.cache_read_tokens ?? null,
      request.usage?.cache_write_tokens ?? null,
      request.usage === null ? null : request.usage.reasoning_tokens ?? 0,
      request.cost_usd
    ]
  ))

/** The session of `?`, the one it is a subagent of, and all subagents of that. */
const family = `WITH RECURSIVE up(id, parent, source) AS (
    SELECT id, parent_session_id, source FROM sessions WHERE id = ?
    UNION
    SELECT s.id, s.parent_session_id, s.source FROM sessions s JOIN up ON s.id = up.parent WHERE up.source = 'subagent'
  ), tree(id) AS (
    SELECT id FROM up WHERE source <> 'subagent' OR parent IS NULL
    UNION
    SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id WHERE s.source = 'subagent'
  )`

/** In billionths: sums of whole numbers have no digits of their own. */
const nanos = "COALESCE(SUM(CAST(ROUND(cost_usd * 1e9) AS INTEGER)), 0) AS nanos"

/** @since 0.1.0 @category combinators */
export const spent = (
  sql: SqlClient,
  what: { readonly session_id: string } | { readonly since: number }
): Effect.Effect<number, SqlError> =>
  Effect.map(
    "since" in what
      ? query<{ readonly nanos: number }>(sql, `SELECT ${nanos} FROM spending WHERE at >= ?`, [what.since])
      : query<{ readonly nanos: number }>(
        sql,
        `${family} SELECT ${nanos} FROM spending WHERE session_id IN (SELECT id FROM tree)`,
        [what.session_id]
      ),
    (rows) => (rows[0]?.nanos ?? 0) / 1e9
  )

interface Row extends Omit<Usage, "reasoning_tokens"> {
  readonly reasoning_tokens: number
  readonly at: number
  readonly session_id: string | null
  readonly title: string | null
  readonly run_id: string | null
  readonly turn: number
  readonly purpose: string
  readonly model: string
  readonly requests: number
  readonly unreported: number
  readonly unpriced: number
  readonly nanos: number
}

const rowOf = (row: Row): SpendingRow => ({
  at: row.at,
  session_id: row.session_id,
  title: row.title,
  run_id: row.run_id,
  turn: row.turn,
  purpose: row.purpose,
  model: row.model,
  requests: row.requests,
  unreported: row.unreported,
  unpriced: row.unpriced,
  usage: {
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    cache_read_tokens: row.cache_read_tokens,
    cache_write_tokens: row.cache_write_tokens,
    ...(row.reasoning_tokens > 0 ? { reasoning_tokens: row.reasoning_tokens } : {})
  },
  cost_usd: row.nanos / 1e9
})

const sums = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"]
  .map((column) => `COALESCE(SUM(${column}), 0) AS ${column}`).join(", ")

/** Every session with the one that its person knows. */
const rooted = `rooted(id, root) AS (
    SELECT id, id FROM sessions WHERE source <> 'subagent' OR parent_session_id IS NULL
    UNION
    SELECT s.id, rooted.root FROM sessions s JOIN rooted ON s.parent_session_id = rooted.id WHERE s.source = 'subagent'
  )`

/** A session and its subagents. */
const below = `WITH RECURSIVE tree(id) AS (
    SELECT ?
    UNION
    SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id = tree.id WHERE s.source = 'subagent'
  ) SELECT id FROM tree`

/** @since 0.1.0 @category combinators */
export const rows = (sql: SqlClient, filter: SpendingFilter): Effect.Effect<ReadonlyArray<SpendingRow>, SqlError> => {
  const where: Array<string> = []
  const params: Array<unknown> = []
  const add = (condition: string, value: unknown): void => {
    where.push(condition)
    params.push(value)
  }
  if (filter.since !== undefined) add("p.at >= ?", filter.since)
  if (filter.until !== undefined) add("p.at < ?", filter.until)
  if (filter.workspace !== undefined) add("p.workspace = ?", filter.workspace)
  if (filter.session_id !== undefined) add(`p.session_id IN (${below})`, filter.session_id)
  const [shown, grouped] = filter.per === "turn"
    ? ["run_id, turn", "run_id, turn"]
    : ["NULL AS run_id, 0 AS turn", "CAST(at / 900 AS INTEGER)"]
  return Effect.map(
    query<Row>(
      sql,
      `WITH RECURSIVE ${rooted}, picked AS (
          SELECT p.at, p.run_id, p.turn, p.model, p.input_tokens, p.output_tokens, p.cache_read_tokens,
            p.cache_write_tokens, p.reasoning_tokens, p.cost_usd, COALESCE(rooted.root, p.session_id) AS session_id,
            CASE WHEN s.source = 'subagent' AND p.purpose = 'turn' THEN 'subagent' ELSE p.purpose END AS purpose
          FROM spending p LEFT JOIN sessions s ON s.id = p.session_id LEFT JOIN rooted ON rooted.id = p.session_id
          ${where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`}
        ), summed AS (
          SELECT MAX(at) AS at, session_id, ${shown}, purpose, model, COUNT(*) AS requests,
            SUM(input_tokens IS NULL) AS unreported, SUM(cost_usd IS NULL) AS unpriced, ${sums}, ${nanos}
          FROM picked GROUP BY session_id, purpose, model, ${grouped}
        )
        SELECT summed.*, t.title FROM summed LEFT JOIN sessions t ON t.id = summed.session_id ORDER BY summed.at`,
      params
    ),
    (found) => found.map(rowOf)
  )
}
