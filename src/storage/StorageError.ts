/**
 * How the record of sessions fails, and how failures of the database become it.
 *
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Schema from "effect/Schema"
import { TaggedError } from "../domain/TaggedError.ts"
import { explain, reasonOf, type SqliteError } from "../platform/Sqlite.ts"

/**
 * | reason | meaning | what to do |
 * | --- | --- | --- |
 * | `unavailable` | no SQLite driver on this Node | the message names the Node version or package that has one |
 * | `open` | directory or file cannot be created, read or written | check it, or set `HANZO_DATA_HOME` |
 * | `busy` | another process kept the write lock beyond the busy timeout | try again |
 * | `corrupt` | not a database, damaged pages, or a stored row that does not decode | move away or rescue |
 * | `full` | no space left | free some; what was stored before is kept |
 * | `migration` | the tables in the file are not what this version expects | move away |
 * | `too_new` | written by a newer version | update |
 * | `not_found` | no such session, run or attempt, or a prefix that fits several | the message lists them |
 * | `session_busy` | another process has a run of this session, or has taken it over | the message names the process |
 * | `invalid` | what was asked for makes no sense: a place that is none, a query without a word | the message says why |
 * | `query` | anything else the database refused | report it |
 *
 * @since 0.1.0
 * @category errors
 */
export class StorageError extends TaggedError("@hanzo/dev/storage/StorageError")("StorageError", () => ({
  reason: Schema.Literal(
    "unavailable",
    "open",
    "busy",
    "corrupt",
    "full",
    "migration",
    "too_new",
    "not_found",
    "session_busy",
    "invalid",
    "query"
  ),
  message: Schema.String,
  path: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect)
})) {}

/** @since 0.1.0 @category constructors */
export const fromSqlite = (error: SqliteError): StorageError =>
  new StorageError({ reason: error.reason, message: error.message, path: error.path, cause: error.cause })

/** @since 0.1.0 @category constructors */
export const fromSql = (path: string) => (error: SqlError): StorageError => {
  const reason = reasonOf(error)
  return new StorageError({ reason, message: explain(reason, path, error.message), path, cause: error.cause })
}

/** @since 0.1.0 @category constructors */
export const notFound = (message: string): StorageError => new StorageError({ reason: "not_found", message })
