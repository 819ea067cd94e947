/**
 * Sessions made from what there is already: a fork of another one, and one that comes from a file. The statements run in
 * the transaction of the caller.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { checkCut, cutRows } from "./CutRows.ts"
import * as EntryRecords from "./EntryRecords.ts"
import { query } from "./Query.ts"
import { placeAll } from "./Replacements.ts"
import * as Rows from "./Rows.ts"
import type { ForeignSession, Fork, MakeId } from "./SessionStore.ts"
import type { StorageError } from "./StorageError.ts"

/**
 * A session with a copy of what stands in another one, up to and with message `at`. What was withdrawn or hidden stays behind,
 * what was spent too.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fork = (sql: SqlClient, wanted: Fork, now: number): Effect.Effect<void, SqlError | StorageError> =>
  Effect.gen(function*() {
    const { at, from, id } = wanted
    if (at !== undefined) yield* checkCut(from, yield* cutRows(sql, from), at)
    const last = at ?? Number.MAX_SAFE_INTEGER
    const bounds = yield* query<{ readonly top: number; readonly first: number }>(
      sql,
      `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0) AS top,
        COALESCE((SELECT MIN(message_id) FROM message_details WHERE session_id = ?), 1) AS first`,
      [from]
    )
    const { first, top } = bounds[0] ?? { first: 1, top: 0 }
    // The copies keep their distances, so that what refers to a message by its id is moved by the same.
    const offset = top - first + 1
    yield* query(
      sql,
      `INSERT INTO sessions (id, profile, source, agent, agent_mode, model, provider, title, parent_session_id, started_at,
          last_active, workspace)
        SELECT ?, profile, 'cli', agent, agent_mode, model, provider, title, id, ?, ?, workspace FROM sessions WHERE id = ?`,
      [id, now, now, from]
    )
    yield* query(
      sql,
      `INSERT INTO messages (id, session_id, role, content, display_role, display_content, tool_call_id, tool_calls,
          tool_name, timestamp, token_count, finish_reason, reasoning, reasoning_details, reasoning_content)
        SELECT m.id + ?, ?, m.role, m.content, m.display_role, m.display_content, m.tool_call_id, m.tool_calls,
          m.tool_name, m.timestamp, m.token_count, m.finish_reason, m.reasoning, m.reasoning_details, m.reasoning_content
        FROM message_details d JOIN messages m ON m.id = d.message_id
        WHERE d.session_id = ? AND d.withdrawn = 0 AND d.hidden = 0 AND d.message_id <= ? ORDER BY d.message_id`,
      [offset, id, from, last]
    )
    yield* query(
      sql,
      `INSERT INTO message_details (message_id, session_id, entry_key, run_id, turn, role, message, finish_reason, timestamp,
          reasoning_only, tool_calls, folded_into, replaces, replaced, place)
        SELECT message_id + ?, ?, entry_key, run_id, turn, role, message, finish_reason, timestamp, reasoning_only,
          tool_calls, IIF(folded_into <= ?, folded_into + ?, NULL), replaces, replaced, place + ?
        FROM message_details
        WHERE session_id = ? AND withdrawn = 0 AND hidden = 0 AND message_id <= ? ORDER BY message_id`,
      [offset, id, last, offset, offset, from, last]
    )
    // What a later compaction has replaced stands for itself in a copy that ends before it.
    if (at !== undefined) yield* placeAll(sql, id)
    yield* EntryRecords.recount(sql, id)
  })

const sessionIds = /^ses_[0-9A-Za-z-]{1,64}$/
const runIds = /^run_[0-9A-Za-z_-]{1,96}$/

/** A file must not use the numbers up: from here on, or over longer gaps, messages are numbered one by one. */
const keptNumbers = 1_000_000_000
const keptGap = 1_000_000

/**
 * Says before each message which id it has in the file. It gets that id where the record has not come so far yet, else one
 * at the same distance from the others.
 */
const numbering = (sql: SqlClient, entries: ForeignSession["entries"]) =>
  Effect.gen(function*() {
    const rows = yield* query<{ readonly seq: number }>(
      sql,
      "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'messages'), 0) AS seq"
    )
    const top = rows[0]?.seq ?? 0
    const first = entries[0]?.id ?? 1
    const last = entries.at(-1)?.id ?? 1
    if (last > keptNumbers || top > keptNumbers || last - first > keptGap + entries.length * 100) {
      return () => Effect.void
    }
    if (entries.length > 0) {
      yield* query(
        sql,
        `INSERT INTO sqlite_sequence (name, seq) SELECT 'messages', 0
          WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'messages')`
      )
    }
    const offset = first > top ? 0 : top - first + 1
    return (id: number): Effect.Effect<void, SqlError> =>
      Effect.asVoid(
        query(sql, "UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = 'messages'", [id + offset - 1])
      )
  })

/**
 * A session from a file, as it was, under its own id where that is free. Ids are never taken over what stands here
 * already; nothing in it counts as running; it belongs to the given workspace. Gives its id.
 *
 * @since 0.1.0
 * @category combinators
 */
export const adopt = (
  sql: SqlClient,
  { entries, runs, session }: ForeignSession,
  options: { readonly workspace: string; readonly make: MakeId; readonly now: number }
): Effect.Effect<string, SqlError | StorageError> =>
  Effect.gen(function*() {
    const { make, now, workspace } = options
    const isFree = (table: "sessions" | "runs", id: string) =>
      Effect.map(query(sql, `SELECT 1 AS found FROM ${table} WHERE id = ?`, [id]), (rows) => rows.length === 0)
    const id = sessionIds.test(session.id) && (yield* isFree("sessions", session.id)) ? session.id : yield* make("ses")
    const renamed = new Map<string, string>()
    for (const run_id of new Set([...runs.map((run) => run.id), ...entries.map((entry) => entry.run_id)])) {
      const free = runIds.test(run_id) && (yield* isFree("runs", run_id))
      renamed.set(run_id, free ? run_id : yield* make("run"))
    }
    const runOf = (run_id: string): string => renamed.get(run_id) ?? run_id
    const parent = session.parent_session_id !== null && !(yield* isFree("sessions", session.parent_session_id))
      ? session.parent_session_id
      : null
    const { usage } = session
    const broken = runs.some((run) => run.status === "running")
    yield* query(
      sql,
      `INSERT INTO sessions (id, model, provider, title, parent_session_id, started_at, last_active, ended_at, end_reason,
          input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd,
          is_archived, workspace) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        id,
        session.model,
        session.provider,
        Rows.titleOf(session.title ?? ""),
        parent,
        session.started_at,
        // One of the future would be the latest for ever.
        Math.min(session.last_active, now),
        broken ? session.last_active : session.ended_at,
        broken ? "interrupted" : session.end_reason,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens ?? 0,
        session.cost_usd,
        session.is_archived ? 1 : 0,
        workspace
      ]
    )
    const hidden = new Map<number, number>()
    const ids = new Map<number, number>()
    const next = yield* numbering(sql, entries)
    for (const { id: old, hidden: from, timestamp, withdrawn, ...entry } of entries) {
      yield* next(old)
      yield* EntryRecords.append(sql, id, [{ ...entry, run_id: runOf(entry.run_id) }], timestamp)
      if (withdrawn) yield* EntryRecords.withdrawRows(sql, id, [entry.key])
      const stored = yield* query<{ readonly id: number }>(
        sql,
        "SELECT MAX(message_id) AS id FROM message_details WHERE session_id = ?",
        [id]
      )
      const own = stored[0]?.id ?? 0
      ids.set(old, own)
      if (from !== undefined && !withdrawn) hidden.set(own, from)
    }
    // Once all of it is there: what is hidden may stand for others.
    for (const [own, from] of hidden) {
      yield* query(sql, "UPDATE message_details SET hidden = ? WHERE message_id = ?", [ids.get(from) ?? own, own])
    }
    if (hidden.size > 0) yield* placeAll(sql, id)
    if (session.is_pinned) yield* query(sql, "INSERT OR IGNORE INTO pins (session_id) VALUES (?)", [id])
    // Behind the entries: nothing is appended to a run that has ended.
    for (const run of runs) {
      yield* query(
        sql,
        `INSERT INTO runs (id, session_id, status, model, started_at, ended_at, turns, exit_code, error_code, error_message,
            input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd, owner_pid,
            owner_started) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')`,
        [
          runOf(run.id),
          id,
          run.status === "running" ? "interrupted" : run.status,
          run.model,
          run.started_at,
          run.status === "running" ? session.last_active : run.ended_at,
          run.turns,
          run.exit_code,
          run.error_code,
          run.error_message,
          run.usage.input_tokens,
          run.usage.output_tokens,
          run.usage.cache_read_tokens,
          run.usage.cache_write_tokens,
          run.usage.reasoning_tokens ?? 0,
          run.cost_usd
        ]
      )
    }
    yield* EntryRecords.recount(sql, id)
    yield* query(sql, "UPDATE sessions SET title = ?, preview = ?, last_active = ? WHERE id = ?", [
      Rows.titleOf(session.title ?? ""),
      Rows.previewOf(session.preview ?? ""),
      Math.min(session.last_active, now),
      id
    ])
    return id
  })
