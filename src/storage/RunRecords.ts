/**
 * Runs and their HTTP attempts. The statements run in the transaction of the caller.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { empty } from "../domain/Usage.ts"
import type { Identity, Liveness, ProcessIdentityService } from "../platform/ProcessIdentity.ts"
import { query } from "./Query.ts"
import type { AttemptEnd, RunEnd } from "./SessionStore.ts"
import { insert } from "./Spending.ts"
import { notFound, StorageError } from "./StorageError.ts"

interface Note {
  readonly id: string
  readonly run_id: string
  readonly turn: number
  readonly number: number
  readonly started_at: number
  readonly written: boolean
}

interface Owned {
  readonly id: string
  readonly pid: number
  readonly started: string
  readonly seen: number
  readonly since: number
}

const owned = `SELECT r.id, r.owner_pid AS pid, r.owner_started AS started, s.last_active AS seen,
  r.started_at AS since FROM runs r JOIN sessions s ON s.id = r.session_id WHERE r.status = 'running'`

/** Without a sign of life for this long (seconds), a run in a process namespace we cannot look into counts as ended. */
const unknownGrace = 3600

const pricey = (column: string): string =>
  `${column} = CASE WHEN ? IS NULL THEN ${column} ELSE ROUND(COALESCE(${column}, 0) + ?, 9) END`

const tokens = "input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, " +
  "cache_read_tokens = cache_read_tokens + ?, cache_write_tokens = cache_write_tokens + ?, " +
  "reasoning_tokens = reasoning_tokens + ?"

/** A length of time as people say it: `45 seconds`, `12 minutes`. */
const lasting = (seconds: number): string => {
  const [amount, unit] = seconds < 90
    ? [seconds, "second"]
    : seconds < 5400
    ? [seconds / 60, "minute"]
    : seconds < 129_600
    ? [seconds / 3600, "hour"]
    : [seconds / 86_400, "day"]
  const whole = Math.max(0, Math.round(amount))
  return `${whole} ${unit}${whole === 1 ? "" : "s"}`
}

interface Judged extends Owned {
  readonly life: Liveness
  readonly gone: boolean
}

const busy = (session_id: string, run: Judged, now: number): StorageError =>
  new StorageError({
    reason: "session_busy",
    message:
      `session ${session_id} has a run already, in process ${run.pid}${
        run.life === "unknown" ? " of another container or machine" : ""
      }, for ${lasting(now - run.since)}: wait for its end, take the session over (--takeover), or go on with a copy ` +
      `(--fork)`
  })

interface Ending {
  readonly code: string
  readonly message: string
}

const processGone: Ending = { code: "process_gone", message: "the process ended before the run did" }

/** @since 0.1.0 @category constructors */
export const make = (sql: SqlClient, identity: ProcessIdentityService) =>
  Effect.gen(function*() {
    /** Attempts that have begun and not ended, in this process. */
    const open = yield* Ref.make<ReadonlyMap<string, Note>>(new Map())
    const forget = (which: (note: Note) => boolean) =>
      Ref.update(open, (notes) => new Map([...notes].filter(([, note]) => !which(note))))

    const insertAttempt = (note: Note, status: string) =>
      query(
        sql,
        `INSERT INTO attempts (id, run_id, turn, number, status, started_at) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (id) DO NOTHING`,
        [note.id, note.run_id, note.turn, note.number, status, note.started_at]
      )

    const runOf = (run_id: string) =>
      Effect.gen(function*() {
        const rows = yield* query<{ readonly session_id: string; readonly status: string }>(
          sql,
          "SELECT session_id, status FROM runs WHERE id = ?",
          [run_id]
        )
        const run = rows[0]
        return run === undefined
          ? yield* notFound(`There is no run ${run_id}; its session may have been deleted meanwhile`)
          : run
      })

    /** Has the process of this run ended, as far as can be told? */
    const abandoned = (row: Owned, now: number) =>
      Effect.map(identity.liveness({ pid: row.pid, started: row.started }), (life): Judged => ({
        ...row,
        life,
        gone: life === "gone" || (life === "unknown" && now - row.seen > unknownGrace)
      }))

    /** The runs of this session in other processes. */
    const others = (session_id: string, owner: Identity, now: number) =>
      Effect.flatMap(
        query<Owned>(sql, `${owned} AND r.session_id = ? AND NOT (r.owner_pid = ? AND r.owner_started = ?)`, [
          session_id,
          owner.pid,
          owner.started
        ]),
        (rows) => Effect.forEach(rows, (row) => abandoned(row, now))
      )

    const interrupt = (run_ids: ReadonlyArray<string>, now: number, why: Ending = processGone) =>
      Effect.gen(function*() {
        const ids = JSON.stringify(run_ids)
        const changed = yield* query<{ readonly session_id: string }>(
          sql,
          `UPDATE runs SET status = 'interrupted', ended_at = ?, error_code = ?, error_message = ?
              WHERE status = 'running' AND id IN (SELECT value FROM json_each(?)) RETURNING session_id`,
          [now, why.code, why.message, ids]
        )
        yield* query(
          sql,
          `UPDATE attempts SET status = 'interrupted', ended_at = ?
              WHERE status = 'running' AND run_id IN (SELECT value FROM json_each(?))`,
          [now, ids]
        )
        yield* query(
          sql,
          `UPDATE sessions SET ended_at = last_active, end_reason = 'interrupted' WHERE id IN (SELECT value FROM json_each(?))
              AND NOT EXISTS (SELECT 1 FROM runs WHERE session_id = sessions.id AND status = 'running')`,
          [JSON.stringify(changed.map((row) => row.session_id))]
        )
        return changed.length
      })

    return {
      /**
       * Fails with `session_busy` while a run of the session belongs to another process that lives, unless it is taken
       * over: then that run is over, whatever its process does. One whose process has gone is ended as interrupted first.
       * This process keeps its own runs apart.
       */
      beginRun: (
        run: {
          readonly id: string
          readonly session_id: string
          readonly model: string
          readonly takeover?: boolean
        },
        owner: Identity,
        now: number
      ) =>
        Effect.gen(function*() {
          const judged = yield* others(run.session_id, owner, now)
          const living = judged.filter((one) => !one.gone)
          const [first] = living
          if (first !== undefined && run.takeover !== true) return yield* busy(run.session_id, first, now)
          if (living.length > 0) {
            yield* query(
              sql,
              "UPDATE runs SET stop_asked = ? WHERE status = 'running' AND id IN (SELECT value FROM json_each(?))",
              [owner.pid, JSON.stringify(living.map((one) => one.id))]
            )
            yield* interrupt(living.map((one) => one.id), now, {
              code: "taken_over",
              message: `process ${owner.pid} took the session over`
            })
          }
          const gone = judged.filter((one) => one.gone)
          if (gone.length > 0) yield* interrupt(gone.map((one) => one.id), now)
          yield* query(
            sql,
            `INSERT INTO runs (id, session_id, status, model, started_at, owner_pid, owner_started)
              VALUES (?, ?, 'running', ?, ?, ?, ?)`,
            [run.id, run.session_id, run.model, now, owner.pid, owner.started]
          )
          yield* query(
            sql,
            "UPDATE sessions SET ended_at = NULL, end_reason = NULL, last_active = MAX(last_active, ?) WHERE id = ?",
            [now, run.session_id]
          )
        }),

      endRun: (run_id: string, end: RunEnd, now: number) =>
        Effect.gen(function*() {
          const run = yield* runOf(run_id)
          // The owner knows better than whoever took it for dead; what it has ended once stays.
          if (run.status !== "running" && run.status !== "interrupted") return
          const notes = [...(yield* Ref.get(open)).values()].filter((note) => note.run_id === run_id)
          yield* Effect.forEach(notes, (note) => insertAttempt(note, "running"), { discard: true })
          yield* query(
            sql,
            "UPDATE attempts SET status = 'interrupted', ended_at = ? WHERE run_id = ? AND status = 'running'",
            [now, run_id]
          )
          yield* query(
            sql,
            `UPDATE runs SET status = ?, ended_at = ?, turns = ?, exit_code = ?, error_code = ?, error_message = ? WHERE id = ?`,
            [end.status, now, end.turns, end.exit_code, end.error?.code ?? null, end.error?.message ?? null, run_id]
          )
          yield* query(
            sql,
            `UPDATE sessions SET ended_at = ?, end_reason = ?, last_active = MAX(last_active, ?) WHERE id = ?
              AND NOT EXISTS (SELECT 1 FROM runs WHERE session_id = sessions.id AND status = 'running')`,
            [now, end.status, now, run.session_id]
          )
        }),

      forgetRun: (run_id: string) => forget((note) => note.run_id === run_id),

      noteAttempt: (
        attempt: { readonly id: string; readonly run_id: string; readonly turn: number; readonly number: number },
        now: number
      ) => Ref.update(open, (notes) => new Map(notes).set(attempt.id, { ...attempt, started_at: now, written: false })),

      /** The attempts that have begun in the runs of these entries and have no row yet. */
      notes: (entries: ReadonlyArray<{ readonly run_id: string }>) =>
        Effect.map(Ref.get(open), (notes) => {
          const runs = new Set(entries.map((entry) => entry.run_id))
          const fresh = [...notes.values()].filter((note) => !note.written && runs.has(note.run_id))
          return {
            write: Effect.forEach(fresh, (note) =>
              query(
                sql,
                `INSERT INTO attempts (id, run_id, turn, number, status, started_at)
                  SELECT ?, id, ?, ?, 'running', ? FROM runs WHERE id = ? ON CONFLICT (id) DO NOTHING`,
                [note.id, note.turn, note.number, note.started_at, note.run_id]
              ), { discard: true }),
            done: fresh.length === 0 ? Effect.void : Ref.update(open, (all) => {
              const next = new Map(all)
              for (const note of fresh) {
                if (next.has(note.id)) next.set(note.id, { ...note, written: true })
              }
              return next
            })
          }
        }),

      /** Ends the attempt and books its usage; gives the session's id. */
      endAttempt: (attempt_id: string, end: AttemptEnd, now: number) =>
        Effect.gen(function*() {
          const note = (yield* Ref.get(open)).get(attempt_id)
          if (note !== undefined) {
            yield* runOf(note.run_id)
            yield* insertAttempt(note, "running")
          }
          const rows = yield* query<
            {
              readonly run_id: string
              readonly status: string
              readonly turn: number
              readonly session_id: string
              readonly model: string
              readonly workspace: string | null
              readonly source: string
            }
          >(
            sql,
            `SELECT a.run_id, a.status, a.turn, r.session_id, r.model, s.workspace, s.source FROM attempts a
              JOIN runs r ON r.id = a.run_id JOIN sessions s ON s.id = r.session_id WHERE a.id = ?`,
            [attempt_id]
          )
          const attempt = rows[0]
          if (attempt === undefined) {
            return yield* notFound(`There is no attempt ${attempt_id}`)
          }
          if (attempt.status !== "running" && attempt.status !== "interrupted") return attempt.session_id
          const usage = end.usage
          yield* query(
            sql,
            `UPDATE attempts SET status = ?, ended_at = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
              cache_write_tokens = ?, reasoning_tokens = ?, cost_usd = ?, error_code = ?, request_id = ?, finish_reason = ?
              WHERE id = ?`,
            [
              end.status,
              now,
              usage?.input_tokens ?? null,
              usage?.output_tokens ?? null,
              usage?.cache_read_tokens ?? null,
              usage?.cache_write_tokens ?? null,
              usage?.reasoning_tokens ?? null,
              end.cost_usd,
              end.error_code ?? null,
              end.request_id ?? null,
              end.finish_reason ?? null,
              attempt_id
            ]
          )
          // A request that failed without a count was refused or broke off before there was anything to pay.
          if (usage !== null || end.status !== "failed") {
            yield* insert(sql, {
              id: attempt_id,
              session_id: attempt.session_id,
              run_id: attempt.run_id,
              turn: attempt.turn,
              workspace: attempt.workspace,
              purpose: end.purpose ?? "turn",
              model: attempt.model,
              usage,
              cost_usd: end.cost_usd
            }, now)
          }
          const spent = usage ?? empty
          const booked = [
            spent.input_tokens,
            spent.output_tokens,
            spent.cache_read_tokens,
            spent.cache_write_tokens,
            spent.reasoning_tokens ?? 0,
            end.cost_usd,
            end.cost_usd
          ]
          yield* query(sql, `UPDATE runs SET ${tokens}, ${pricey("cost_usd")}, turns = MAX(turns, ?) WHERE id = ?`, [
            ...booked,
            note?.turn ?? 0,
            attempt.run_id
          ])
          yield* query(
            sql,
            `UPDATE sessions SET ${tokens}, ${
              pricey("estimated_cost_usd")
            }, last_active = MAX(last_active, ?) WHERE id = ?`,
            [...booked, now, attempt.session_id]
          )
          // What subagents use is what the sessions that they work for use.
          if (attempt.source === "subagent") {
            yield* query(
              sql,
              `UPDATE sessions SET ${tokens}, ${pricey("estimated_cost_usd")} WHERE id IN (
                WITH RECURSIVE above(id) AS (
                  SELECT parent_session_id FROM sessions WHERE id = ?
                  UNION
                  SELECT s.parent_session_id FROM sessions s JOIN above ON s.id = above.id WHERE s.source = 'subagent'
                ) SELECT id FROM above WHERE id IS NOT NULL)`,
              [...booked, attempt.session_id]
            )
          }
          return attempt.session_id
        }),

      forgetAttempt: (attempt_id: string) => forget((note) => note.id === attempt_id),

      /** The runs of this session that live in other processes. */
      living: (session_id: string, owner: Identity, now: number) =>
        Effect.map(others(session_id, owner, now), (judged) => judged.filter((one) => !one.gone).map((one) => one.id)),

      /** Fails with `session_busy` while this process or another one that lives has a run of the session. */
      mustBeIdle: (session_id: string, now: number) =>
        Effect.gen(function*() {
          const rows = yield* query<Owned>(sql, `${owned} AND r.session_id = ?`, [session_id])
          const living = (yield* Effect.forEach(rows, (row) => abandoned(row, now))).find((one) => !one.gone)
          if (living !== undefined) return yield* busy(session_id, living, now)
        }),

      /** Asks the owners of these runs to stop. */
      askToStop: (run_ids: ReadonlyArray<string>, owner: Identity) =>
        query(
          sql,
          "UPDATE runs SET stop_asked = ? WHERE status = 'running' AND id IN (SELECT value FROM json_each(?))",
          [owner.pid, JSON.stringify(run_ids)]
        ),

      /** The process that asks for this run's end. */
      stopAsked: (run_id: string) =>
        Effect.map(
          query<{ readonly stop_asked: number | null }>(sql, "SELECT stop_asked FROM runs WHERE id = ?", [run_id]),
          (rows) => Option.fromNullable(rows[0]?.stop_asked)
        ),

      /** Runs marked `running` whose process is gone. */
      orphans: (now: number) =>
        Effect.gen(function*() {
          const judged = yield* Effect.forEach(yield* query<Owned>(sql, owned), (row) => abandoned(row, now))
          return judged.flatMap((one) => one.gone ? [one.id] : [])
        }),

      interrupt
    }
  })
