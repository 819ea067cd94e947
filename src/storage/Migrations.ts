/**
 * The schema of the session database, grown by numbered steps. A step runs once, in one transaction with the change of
 * `PRAGMA user_version`, and only forward. `sessions` and `messages` keep the columns of the Web UI's session storage;
 * what else is needed stands in tables of its own.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { placeAll } from "./Replacements.ts"
import { spendingStep } from "./SpendingStep.ts"
import { fromSql, StorageError } from "./StorageError.ts"

/** @since 0.1.0 @category models */
export interface Migration {
  /** Dense from 1; the value of `PRAGMA user_version` after it. */
  readonly version: number
  readonly name: string
  readonly statements: ReadonlyArray<string>
  /** What statements alone cannot do, in the same transaction, behind them. */
  readonly after?: (sql: SqlClient) => Effect.Effect<void, SqlError>
}

/**
 * `sessions`: times are seconds since the epoch with milliseconds behind the point, costs US dollars.
 * `estimated_cost_usd` is NULL until an attempt had a price. `ended_at` is NULL while a run is on.
 */
const sessions = `CREATE TABLE IF NOT EXISTS sessions (
  id TEXT PRIMARY KEY,
  profile TEXT NOT NULL DEFAULT 'default',
  source TEXT NOT NULL DEFAULT 'cli',
  agent TEXT NOT NULL DEFAULT 'hanzo-dev',
  agent_mode TEXT NOT NULL DEFAULT '',
  agent_session_id TEXT NOT NULL DEFAULT '',
  agent_native_session_id TEXT NOT NULL DEFAULT '',
  model TEXT NOT NULL DEFAULT '',
  provider TEXT NOT NULL DEFAULT '',
  title TEXT,
  parent_session_id TEXT,
  started_at REAL NOT NULL,
  ended_at REAL,
  end_reason TEXT,
  message_count INTEGER NOT NULL DEFAULT 0,
  tool_call_count INTEGER NOT NULL DEFAULT 0,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  estimated_cost_usd REAL,
  actual_cost_usd REAL,
  preview TEXT,
  last_active REAL NOT NULL,
  is_archived INTEGER NOT NULL DEFAULT 0,
  workspace TEXT
)`

/** `messages`: what a person reads. A row with finish_reason `failed` was withdrawn and is not part of the conversation. */
const messages = `CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  content TEXT NOT NULL DEFAULT '',
  display_role TEXT,
  display_content TEXT,
  tool_call_id TEXT,
  tool_calls TEXT,
  tool_name TEXT,
  timestamp REAL NOT NULL,
  token_count INTEGER,
  finish_reason TEXT,
  reasoning TEXT,
  reasoning_details TEXT,
  reasoning_content TEXT
)`

/**
 * `message_details`: what is replayed, exactly. `message` is the JSON of the Message, whole also where `messages.content`
 * is shortened. `message_id` is the id of the row in `messages`; a reasoning entry gives its row up once the assistant
 * row behind it carries its text (`folded_into`). A key is unique among the entries of a session that are not withdrawn.
 */
const messageDetails = `CREATE TABLE message_details (
  message_id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  entry_key TEXT NOT NULL,
  run_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  role TEXT NOT NULL,
  message TEXT NOT NULL,
  finish_reason TEXT,
  timestamp REAL NOT NULL,
  reasoning_only INTEGER NOT NULL DEFAULT 0,
  tool_calls INTEGER NOT NULL DEFAULT 0,
  folded_into INTEGER,
  replaces TEXT,
  withdrawn INTEGER NOT NULL DEFAULT 0
)`

/** `owner_*` say which process runs it, so that another one can tell whether it still lives. */
const runs = `CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  status TEXT NOT NULL,
  model TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  turns INTEGER NOT NULL DEFAULT 0,
  exit_code INTEGER,
  error_code TEXT,
  error_message TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL,
  owner_pid INTEGER NOT NULL,
  owner_started TEXT NOT NULL
)`

const attempts = `CREATE TABLE attempts (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  number INTEGER NOT NULL,
  status TEXT NOT NULL,
  started_at REAL NOT NULL,
  ended_at REAL,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cache_read_tokens INTEGER,
  cache_write_tokens INTEGER,
  reasoning_tokens INTEGER,
  cost_usd REAL,
  error_code TEXT,
  request_id TEXT,
  finish_reason TEXT
)`

/** @since 0.1.0 @category constants */
export const migrations: ReadonlyArray<Migration> = [
  {
    version: 1,
    name: "sessions, messages, runs, attempts",
    statements: [
      sessions,
      messages,
      messageDetails,
      runs,
      attempts,
      "CREATE INDEX IF NOT EXISTS idx_messages_session_id ON messages(session_id)",
      "CREATE INDEX sessions_by_workspace ON sessions(workspace)",
      "CREATE INDEX message_details_by_session ON message_details(session_id)",
      "CREATE UNIQUE INDEX message_details_live ON message_details(session_id, entry_key) WHERE withdrawn = 0",
      "CREATE INDEX runs_by_session ON runs(session_id)",
      "CREATE INDEX runs_unfinished ON runs(id) WHERE status = 'running'",
      "CREATE INDEX attempts_by_run ON attempts(run_id)",
      // Fails, and with it the whole step, when tables of these names stood there with other columns.
      `SELECT id, profile, source, agent, agent_mode, agent_session_id, agent_native_session_id, model, provider, title,
        parent_session_id, started_at, ended_at, end_reason, message_count, tool_call_count, input_tokens, output_tokens,
        cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, actual_cost_usd, preview, last_active,
        is_archived, workspace FROM sessions LIMIT 0`,
      `SELECT id, session_id, role, content, display_role, display_content, tool_call_id, tool_calls, tool_name, timestamp,
        token_count, finish_reason, reasoning, reasoning_details, reasoning_content FROM messages LIMIT 0`
    ]
  },
  { version: 2, name: "spending", statements: spendingStep },
  {
    version: 3,
    name: "what a conversation has left behind, who asks for a run, pins",
    statements: [
      // `replaced`: another entry stands for this one, so that a conversation is read without what it has left behind.
      "ALTER TABLE message_details ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0",
      // `place`: the message_id where an entry that stands for others has its place in the conversation.
      "ALTER TABLE message_details ADD COLUMN place INTEGER",
      // `hidden`: the conversation went back to before this message_id; 0 = it is part of it.
      "ALTER TABLE message_details ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0",
      `CREATE INDEX message_details_now ON message_details(session_id, message_id)
        WHERE withdrawn = 0 AND replaced = 0 AND hidden = 0`,
      // Who wants this run to stop, so that it can take the session over: its process id.
      "ALTER TABLE runs ADD COLUMN stop_asked INTEGER",
      "CREATE TABLE pins (session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE)"
    ],
    after: (sql) => placeAll(sql)
  },
  {
    version: 4,
    name: "when a conversation went back",
    statements: [
      // `mark`: the value of message_details.hidden; `at`: seconds.
      `CREATE TABLE rewinds (
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        mark INTEGER NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (session_id, mark)
      ) WITHOUT ROWID`
    ]
  }
]

/** The schema version this program writes. @since 0.1.0 @category constants */
export const newest: number = migrations.reduce((max, one) => Math.max(max, one.version), 0)

const versionOf = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(sql.unsafe<{ readonly user_version: number }>("PRAGMA user_version"), (rows) => rows[0]?.user_version ?? 0)

/**
 * Brings the database to the newest schema: one read when it is there already, else one transaction in which the version
 * is read again, since another process may have been quicker. Fails with `migration`, naming the step, `too_new`, or as
 * the database does; the file is then as it was.
 *
 * @since 0.1.0
 * @category combinators
 */
export const migrate = Effect.fnUntraced(
  function*(sql: SqlClient, path: string, steps: ReadonlyArray<Migration> = migrations) {
    const last = steps.reduce((max, one) => Math.max(max, one.version), 0)
    const toError = fromSql(path)
    const found = yield* Effect.mapError(versionOf(sql), toError)
    if (found === last) return
    yield* sql.withTransaction(Effect.gen(function*() {
      const version = yield* versionOf(sql)
      if (version > last) {
        return yield* new StorageError({
          reason: "too_new",
          path,
          message: `The database ${path} has schema ${version}, this program knows up to ${last}: update the program`
        })
      }
      for (const step of steps) {
        if (step.version <= version) continue
        yield* Effect.forEach(step.statements, (statement) => sql.unsafe(statement), { discard: true }).pipe(
          Effect.zipRight(version === 0 || step.after === undefined ? Effect.void : step.after(sql)),
          Effect.mapError((error) => {
            const known = toError(error)
            return known.reason !== "query" ? known : new StorageError({
              reason: "migration",
              path,
              message: `Cannot bring ${path} to schema ${step.version} (${step.name}): ${error.message}. ` +
                `It was left as it is: move it away, or set HANZO_DATA_HOME to another directory`,
              cause: error.cause
            })
          })
        )
        yield* sql.unsafe(`PRAGMA user_version = ${step.version}`)
      }
    })).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(toError(error))))
  }
)
