/**
 * The record of sessions: what was said, run and spent, written as things happen.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Message } from "../domain/Message.ts"
import type { Usage } from "../domain/Usage.ts"

/** @since 0.1.0 @category errors */
export class StorageError extends Schema.TaggedError<StorageError>("@hanzo/dev/storage/StorageError")("StorageError", {
  reason: Schema.Literal("open", "busy", "corrupt", "full", "migration", "too_new", "not_found", "query"),
  message: Schema.String,
  path: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect)
}) {}

/** Times are seconds since the epoch, costs US dollars. @since 0.1.0 @category models */
export interface SessionSummary {
  readonly id: string
  readonly title: string | null
  readonly preview: string | null
  readonly workspace: string
  readonly provider: string
  readonly model: string
  readonly parent_session_id: string | null
  readonly started_at: number
  readonly last_active: number
  readonly ended_at: number | null
  readonly end_reason: string | null
  readonly message_count: number
  readonly tool_call_count: number
  readonly usage: Usage
  readonly cost_usd: number | null
  readonly is_archived: boolean
}

/** @since 0.1.0 @category models */
export interface NewSession {
  readonly id: string
  readonly workspace: string
  readonly provider: string
  readonly model: string
  readonly parent_session_id?: string
  readonly title?: string
}

/**
 * One stored piece of the conversation. `key` is unique within the session and makes the write idempotent:
 * `user:<run_id>:<n>`, `item:<item_id>` for text and reasoning, `assistant:<call_id>` for a tool call, `tool:<call_id>`
 * for its result. An assistant entry holds one item; `history` joins neighbours of one turn into one message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Entry {
  readonly key: string
  readonly run_id: string
  readonly turn: number
  readonly message: Message
  readonly finish_reason?: string
}

/** @since 0.1.0 @category models */
export interface StoredEntry extends Entry {
  readonly id: number
  readonly timestamp: number
  readonly withdrawn: boolean
}

/** @since 0.1.0 @category models */
export type RunStatus = "running" | "completed" | "failed" | "cancelled" | "interrupted"

/** @since 0.1.0 @category models */
export interface RunRecord {
  readonly id: string
  readonly session_id: string
  readonly status: RunStatus
  readonly model: string
  readonly started_at: number
  readonly ended_at: number | null
  readonly turns: number
  readonly exit_code: number | null
  readonly error_code: string | null
  readonly error_message: string | null
  readonly usage: Usage
  readonly cost_usd: number | null
}

/** @since 0.1.0 @category models */
export interface RunEnd {
  readonly status: Exclude<RunStatus, "running">
  readonly turns: number
  readonly exit_code: number
  readonly error?: { readonly code: string; readonly message: string }
}

/** One HTTP attempt of a turn. Its usage is booked once, also when it failed. @since 0.1.0 @category models */
export interface AttemptEnd {
  readonly status: "completed" | "failed" | "cancelled"
  readonly usage: Usage | null
  readonly cost_usd: number | null
  readonly error_code?: string
  readonly request_id?: string
  readonly finish_reason?: string
}

/**
 * Writes are one transaction a call. All of them are safe to interrupt: a call has happened or it has not.
 *
 * @since 0.1.0
 * @category models
 */
export interface SessionStoreService {
  readonly create: (session: NewSession) => Effect.Effect<SessionSummary, StorageError>
  readonly get: (id: string) => Effect.Effect<Option.Option<SessionSummary>, StorageError>
  /** A full id, or a prefix that fits exactly one session; several = StorageError `not_found` that lists them. */
  readonly find: (id_or_prefix: string) => Effect.Effect<SessionSummary, StorageError>
  /** The session of this workspace that was active last. */
  readonly latest: (workspace: string) => Effect.Effect<Option.Option<SessionSummary>, StorageError>
  readonly list: (
    filter: {
      readonly workspace?: string
      readonly limit?: number
      readonly offset?: number
      readonly archived?: boolean
    }
  ) => Effect.Effect<ReadonlyArray<SessionSummary>, StorageError>
  readonly delete: (id: string) => Effect.Effect<void, StorageError>
  readonly setTitle: (id: string, title: string) => Effect.Effect<void, StorageError>

  /** All entries in order, withdrawn ones too (flagged). */
  readonly entries: (id: string) => Effect.Effect<ReadonlyArray<StoredEntry>, StorageError>
  /** The conversation for the next request: withdrawn entries left out, items of one turn joined. Not yet repaired. */
  readonly history: (id: string) => Effect.Effect<ReadonlyArray<Message>, StorageError>
  readonly append: (session_id: string, entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>
  readonly withdraw: (session_id: string, keys: ReadonlyArray<string>) => Effect.Effect<void, StorageError>

  readonly beginRun: (
    run: { readonly id: string; readonly session_id: string; readonly model: string }
  ) => Effect.Effect<void, StorageError>
  /** Terminal update with all counters of run and session. */
  readonly endRun: (run_id: string, end: RunEnd) => Effect.Effect<void, StorageError>
  readonly runs: (session_id: string) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
  /** Runs still `running` whose process is gone become `interrupted`; returns how many. Called once at start. */
  readonly recover: Effect.Effect<number, StorageError>
  readonly beginAttempt: (
    attempt: { readonly id: string; readonly run_id: string; readonly turn: number; readonly number: number }
  ) => Effect.Effect<void, StorageError>
  readonly endAttempt: (attempt_id: string, end: AttemptEnd) => Effect.Effect<void, StorageError>
}

/** @since 0.1.0 @category services */
export class SessionStore extends Context.Tag("@hanzo/dev/storage/SessionStore")<SessionStore, SessionStoreService>() {}
