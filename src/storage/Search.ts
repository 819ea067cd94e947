/**
 * Search over all sessions. The words of messages are in an index of their own, `search.db` beside the record (SQLite FTS5,
 * words only, no texts), which is brought up to date when somebody searches, so that a run pays nothing for it. It holds
 * nothing that the record does not: damaged, or of another version, it is made anew. A driver without FTS5 reads the
 * record instead, from its end.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { partsOf } from "../domain/MessageParts.ts"
import * as Sqlite from "../platform/Sqlite.ts"
import { entryRows } from "./EntryRecords.ts"
import { query } from "./Query.ts"
import * as Rows from "./Rows.ts"
import * as SearchQuery from "./SearchQuery.ts"
import type { SearchMatch, SearchOptions } from "./SessionStore.ts"
import { fromSql, fromSqlite, StorageError } from "./StorageError.ts"

const version = 1

const schema = [
  "CREATE TABLE docs (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL)",
  "CREATE INDEX docs_by_session ON docs(session_id)",
  // One row: up to which message the record has been read, and whose message that was.
  "CREATE TABLE mark (id INTEGER PRIMARY KEY CHECK (id = 1), message_id INTEGER NOT NULL, session_id TEXT NOT NULL)",
  "INSERT INTO mark VALUES (1, 0, '')",
  "CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2')",
  `PRAGMA user_version = ${version}`
]

/** Messages that are read and written at once: in between others may write. */
const batch = 100

/** A longer text is not looked through to its end. */
const maxIndexed = 1_000_000

const textOf = (json: string): Effect.Effect<string> =>
  Effect.map(entryRows, ({ decodeMessage }) => {
    const message = decodeMessage(json)
    if (Either.isLeft(message)) return ""
    return partsOf(message.right).map((part) =>
      part.type === "text"
        ? part.text
        : part.type === "tool_call"
        ? `${part.name} ${part.arguments}`
        : part.type === "file"
        ? part.filename ?? ""
        : ""
    ).filter((text) => text !== "").join("\n")
  })

interface Row {
  readonly message_id: number
  readonly session_id: string
  readonly role: string
  readonly kind: string
  readonly message: string
  readonly timestamp: number
}

/** What has words to be found: withdrawn entries, reasoning, and shortened copies of results are left out. */
const findable = "d.withdrawn = 0 AND d.reasoning_only = 0 AND NOT (d.role = 'tool' AND d.replaces IS NOT NULL)"

const kindOf = "CASE WHEN d.role = 'user' THEN 'prompt' WHEN d.role = 'tool' THEN 'result' " +
  "WHEN d.tool_calls > 0 THEN 'call' WHEN d.replaces IS NOT NULL THEN 'summary' ELSE 'answer' END AS kind"

const isWithoutFts = (error: SqlError): boolean => /no such module: fts5|unrecognized option/i.test(error.message)

/** @since 0.1.0 @category constructors */
export const make = (sql: SqlClient, path: string, scope: Scope.Scope) =>
  Effect.gen(function*() {
    const file = path === ":memory:" ? path : path.replace(/[^/\\]*$/, "search.db")
    const toError = fromSql(file)

    const openOnce = Effect.gen(function*() {
      const index = yield* Effect.mapError(Sqlite.open({ path: file, newest_version: version }), fromSqlite)
      yield* index.withTransaction(Effect.gen(function*() {
        const found = yield* query<{ readonly user_version: number }>(index, "PRAGMA user_version")
        if (found[0]?.user_version === version) return
        for (const statement of schema) yield* query(index, statement)
      }))
      return Option.some(index)
    }).pipe(
      Effect.catchTag("SqlError", (error) => isWithoutFts(error) ? Effect.succeedNone : Effect.fail(toError(error))),
      Effect.provideService(Scope.Scope, scope)
    )

    /** None = there is no FTS5. */
    const open = yield* Effect.cached(
      Effect.catchIf(
        openOnce,
        (error) => error.reason === "corrupt" || error.reason === "too_new",
        () => Effect.zipRight(Sqlite.remove(file), openOnce)
      )
    )

    const forget = (index: SqlClient, session_ids: ReadonlyArray<string>) =>
      index.withTransaction(Effect.gen(function*() {
        const ids = JSON.stringify(session_ids)
        yield* query(
          index,
          "DELETE FROM words WHERE rowid IN (SELECT id FROM docs WHERE session_id IN (SELECT value FROM json_each(?)))",
          [ids]
        )
        yield* query(index, "DELETE FROM docs WHERE session_id IN (SELECT value FROM json_each(?))", [ids])
      }))

    const markOf = Effect.fnUntraced(function*(index: SqlClient) {
      const rows = yield* query<{ readonly message_id: number; readonly session_id: string }>(
        index,
        "SELECT message_id, session_id FROM mark"
      )
      const mark = rows[0] ?? { message_id: 0, session_id: "" }
      const there = yield* query<{ readonly session_id: string }>(
        sql,
        "SELECT session_id FROM message_details WHERE message_id = ?",
        [mark.message_id]
      )
      const last = yield* query<{ readonly seq: number }>(
        sql,
        "SELECT seq FROM sqlite_sequence WHERE name = 'messages'"
      )
      const other = there[0] !== undefined && there[0].session_id !== mark.session_id
      if (!other && mark.message_id <= (last[0]?.seq ?? 0)) return mark.message_id
      // It is the index of another record: all of it is read anew.
      yield* index.withTransaction(Effect.gen(function*() {
        yield* query(index, "DELETE FROM words WHERE rowid IN (SELECT id FROM docs)")
        yield* query(index, "DELETE FROM docs")
        yield* query(index, "UPDATE mark SET message_id = 0, session_id = ''")
      }))
      return 0
    })

    const update = Effect.fnUntraced(function*(index: SqlClient) {
      const known = yield* query<{ readonly session_id: string }>(index, "SELECT DISTINCT session_id FROM docs")
      const there = new Set(
        (yield* query<{ readonly id: string }>(sql, "SELECT id FROM sessions")).map(({ id }) => id)
      )
      const gone = known.flatMap(({ session_id }) => there.has(session_id) ? [] : [session_id])
      if (gone.length > 0) yield* forget(index, gone)
      let mark = yield* markOf(index)
      for (;;) {
        const rows = yield* query<Row>(
          sql,
          `SELECT d.message_id, d.session_id, d.role, ${kindOf}, d.timestamp, IIF(${findable}, d.message, '') AS message
            FROM message_details d WHERE d.message_id > ? ORDER BY d.message_id LIMIT ${batch}`,
          [mark]
        )
        const last = rows.at(-1)
        if (last === undefined) return
        const texts = yield* Effect.forEach(
          rows,
          (row) => row.message === "" ? Effect.succeed("") : textOf(row.message)
        )
        yield* index.withTransaction(Effect.gen(function*() {
          for (const [n, row] of rows.entries()) {
            const text = texts[n] ?? ""
            if (text === "") continue
            const added = yield* query(
              index,
              "INSERT INTO docs (id, session_id) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
              [row.message_id, row.session_id]
            )
            // Another process may be at it as well.
            if (added.length === 0) continue
            yield* query(index, "INSERT INTO words (rowid, text) VALUES (?, ?)", [
              row.message_id,
              SearchQuery.indexText(text.slice(0, maxIndexed)).replaceAll("\0", " ")
            ])
          }
          yield* query(
            index,
            "UPDATE mark SET message_id = ?, session_id = ? WHERE message_id < ?",
            [last.message_id, last.session_id, last.message_id]
          )
        }))
        mark = last.message_id
      }
    })

    const sessionsOf = (options: SearchOptions) =>
      Effect.map(
        query<
          {
            readonly id: string
            readonly title: string | null
            readonly workspace: string | null
            readonly last_active: number
            readonly is_archived: number
          }
        >(
          sql,
          `SELECT id, title, workspace, last_active, is_archived FROM sessions WHERE 1
            ${options.archived === true ? "" : "AND is_archived = 0"}
            ${options.workspace === undefined ? "" : "AND workspace = ?"} ORDER BY last_active DESC, rowid DESC`,
          options.workspace === undefined ? [] : [options.workspace]
        ),
        (rows) => new Map(rows.map((row) => [row.id, row]))
      )

    const columns = `d.message_id, d.session_id, d.role, ${kindOf}, d.message, d.timestamp`

    /** Ids of messages from the latest on, below `before`. */
    const page = (index: SqlClient, match: string, before: number) =>
      Effect.map(
        query<{ readonly rowid: number }>(
          index,
          "SELECT rowid FROM words WHERE words MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT 200",
          [match, before]
        ),
        (rows) => rows.map(({ rowid }) => rowid)
      )

    const found = Effect.fnUntraced(
      function*(terms: ReadonlyArray<SearchQuery.Term>, options: SearchOptions, limit: number) {
        const sessions = yield* sessionsOf(options)
        const out: Array<SearchMatch> = []
        const add = (
          session_id: string,
          kind: SearchMatch["kind"],
          message_id: number | null,
          timestamp: number,
          text: string
        ): void => {
          const session = sessions.get(session_id)
          if (session === undefined) return
          out.push({
            session_id,
            title: session.title,
            workspace: session.workspace ?? "",
            is_archived: session.is_archived !== 0,
            last_active: session.last_active,
            kind,
            message_id,
            timestamp,
            ...SearchQuery.snippet(Rows.oneLine(text), terms)
          })
        }
        for (const session of sessions.values()) {
          if (out.length >= limit) return out
          if (session.title !== null && SearchQuery.matches(session.title, terms)) {
            add(session.id, "title", null, session.last_active, session.title)
          }
        }
        const opened = yield* open
        if (Option.isSome(opened)) {
          yield* Effect.mapError(update(opened.value), (error) => error._tag === "SqlError" ? toError(error) : error)
        }
        const match = SearchQuery.toMatch(terms)
        let before = Number.MAX_SAFE_INTEGER
        while (out.length < limit) {
          let rows: ReadonlyArray<Row>
          if (Option.isSome(opened)) {
            const ids = yield* Effect.mapError(page(opened.value, match, before), toError)
            const last = ids.at(-1)
            if (last === undefined) return out
            before = last
            rows = yield* query<Row>(
              sql,
              `SELECT ${columns} FROM message_details d WHERE d.message_id IN (SELECT value FROM json_each(?))
                AND ${findable} AND d.hidden = 0 ORDER BY d.message_id DESC`,
              [JSON.stringify(ids)]
            )
          } else {
            rows = yield* query<Row>(
              sql,
              `SELECT ${columns} FROM message_details d WHERE d.message_id < ? AND ${findable} AND d.hidden = 0
                ORDER BY d.message_id DESC LIMIT ${batch}`,
              [before]
            )
            const last = rows.at(-1)
            if (last === undefined) return out
            before = last.message_id
          }
          for (const row of rows) {
            if (out.length >= limit) break
            if (!sessions.has(row.session_id)) continue
            const text = yield* textOf(row.message)
            if (Option.isNone(opened) && !SearchQuery.matches(text, terms)) continue
            add(row.session_id, row.kind as SearchMatch["kind"], row.message_id, row.timestamp, text)
          }
        }
        return out
      }
    )

    return {
      search: (wanted: string, options: SearchOptions) =>
        Effect.gen(function*() {
          const terms = SearchQuery.parse(wanted)
          if (terms.length === 0) {
            return yield* new StorageError({
              reason: "invalid",
              message: "there is no word to search for: give one, \"a phrase\", or the beginning of a word (begin*)"
            })
          }
          return yield* found(terms, options, options.limit ?? 20)
        }),

      /** What was deleted leaves the index too, when there is one. */
      forget: (session_ids: ReadonlyArray<string>): Effect.Effect<void, StorageError> =>
        Effect.gen(function*() {
          if (session_ids.length === 0 || !Sqlite.exists(file)) return
          const index = yield* open
          if (Option.isSome(index)) yield* Effect.mapError(forget(index.value, session_ids), toError)
        })
    }
  })
