/**
 * The record of sessions: what was said, run and spent, written as things happen.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Layers from "../domain/Layers.ts"
import type { RequestPurpose } from "../domain/ApiClient.ts"
import type { Message } from "../domain/Message.ts"
import type { Usage } from "../domain/Usage.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { StorageError } from "./StorageError.ts"

export { StorageError } from "./StorageError.ts"

/**
 * Times are seconds since the epoch with milliseconds behind the point, costs US dollars. `ended_at` and `end_reason` are
 * those of the last run, null while one is on. `message_count` counts what the conversation holds: neither withdrawn
 * entries nor reasoning on its own. `title` is the first text of the user unless one was set, `preview` the latest text.
 *
 * @since 0.1.0
 * @category models
 */
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
  /** Who opened it; default `cli`. A `subagent` session is never the one `latest` finds. */
  readonly source?: string
}

/**
 * One stored piece of the conversation. `key` is unique within the session and makes the write idempotent:
 * `user:<run_id>:<n>`, `item:<item_id>` for text and reasoning, `assistant:<call_id>` for a tool call, `tool:<call_id>`
 * for its result. An assistant entry holds one item; `history` joins neighbours of one turn into one message.
 * Call ids must be unique within the session before they become keys: an entry whose key stands there already is taken
 * for the same entry and left out. A withdrawn entry frees its key.
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
  /**
   * Keys of the entries that this one stands for in `history` (compaction, reading 5.10): they stay in the record, it
   * takes the place of the first of them. `History.joined` tells which keys a message of the conversation was made of.
   */
  readonly replaces?: ReadonlyArray<string>
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
  /** Default `turn`. */
  readonly purpose?: RequestPurpose
}

/** A request to a model beside every run. `workspace` is the root it was made for. @since 0.1.0 @category models */
export interface SpentCall {
  readonly id: string
  readonly session_id: string | null
  readonly workspace: string | null
  readonly purpose: RequestPurpose
  /** `provider/model`. */
  readonly model: string
  readonly usage: Usage | null
  readonly cost_usd: number | null
}

/**
 * Sums over requests that have everything of `per` in common: a quarter of an hour (every zone's days begin with one),
 * or a turn. `session_id` is the session that the person knows, that of a subagent's outermost parent; null = the session
 * was deleted, or there was none. `at` is the end of the latest request, seconds since the epoch. `unreported` requests
 * have no counts, `unpriced` ones no cost.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpendingRow {
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
  readonly usage: Usage
  /** 0 where nothing had a price. */
  readonly cost_usd: number
}

/** `since` inclusive, `until` exclusive, seconds; `session_id` with its subagents. @since 0.1.0 @category models */
export interface SpendingFilter {
  readonly per: "quarter" | "turn"
  readonly since?: number
  readonly until?: number
  readonly workspace?: string
  readonly session_id?: string
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
  /** Last active first. Without `archived`, or with `archived: false`, those not archived; `true` = the archived ones. */
  readonly list: (
    filter: {
      readonly workspace?: string
      readonly limit?: number
      readonly offset?: number
      readonly archived?: boolean
    }
  ) => Effect.Effect<ReadonlyArray<SessionSummary>, StorageError>
  /** With all messages, runs and attempts; sessions that came from it stay and have no parent any more. */
  readonly delete: (id: string) => Effect.Effect<void, StorageError>
  readonly setTitle: (id: string, title: string) => Effect.Effect<void, StorageError>

  /** All entries in order, withdrawn ones too (flagged). */
  readonly entries: (id: string) => Effect.Effect<ReadonlyArray<StoredEntry>, StorageError>
  /** The conversation for the next request: withdrawn entries left out, items of one turn joined. Not yet repaired. */
  readonly history: (id: string) => Effect.Effect<ReadonlyArray<Message>, StorageError>
  readonly append: (session_id: string, entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>
  readonly withdraw: (session_id: string, keys: ReadonlyArray<string>) => Effect.Effect<void, StorageError>

  /**
   * One run of a session at a time, over all processes: fails with `session_busy` while another one that lives has a run
   * of it. A run whose process has gone is ended as interrupted.
   */
  readonly beginRun: (
    run: { readonly id: string; readonly session_id: string; readonly model: string }
  ) => Effect.Effect<void, StorageError>
  /** Terminal update with all counters of run and session. */
  readonly endRun: (run_id: string, end: RunEnd) => Effect.Effect<void, StorageError>
  readonly runs: (session_id: string) => Effect.Effect<ReadonlyArray<RunRecord>, StorageError>
  /** Runs still `running` whose process is gone become `interrupted`; returns how many. Called once at start. */
  readonly recover: Effect.Effect<number, StorageError>
  /** Noted at once, written together with the next entries of the run or with its own end: no transaction of its own. */
  readonly beginAttempt: (
    attempt: { readonly id: string; readonly run_id: string; readonly turn: number; readonly number: number }
  ) => Effect.Effect<void, StorageError>
  /** Books the usage to attempt, run and session, once. `entries` are appended in the same transaction. */
  readonly endAttempt: (
    attempt_id: string,
    end: AttemptEnd,
    entries?: ReadonlyArray<Entry>
  ) => Effect.Effect<void, StorageError>

  /** Books a request beside every run. */
  readonly recordCall: (call: SpentCall) => Effect.Effect<void, StorageError>
  /** US dollars of a session, its subagents and the session it is a subagent of; or of everything since a time (seconds). */
  readonly spent: (
    what: { readonly session_id: string } | { readonly since: number }
  ) => Effect.Effect<number, StorageError>
  /** In the order of time. */
  readonly spending: (filter: SpendingFilter) => Effect.Effect<ReadonlyArray<SpendingRow>, StorageError>
}

/** @since 0.1.0 @category services */
export class SessionStore extends Context.Tag("@hanzo/dev/storage/SessionStore")<SessionStore, SessionStoreService>() {
  /** `<data>/sessions.db`, created when it is missing. Database and driver are loaded when the layer is built. */
  static readonly layer: Layer.Layer<SessionStore, StorageError, Dirs> = Layers.scoped(
    SessionStore,
    Effect.gen(function*() {
      const dirs = yield* Dirs
      const live = yield* Effect.promise(() => import("./SqliteSessionStore.ts"))
      return yield* live.open(`${dirs.data}/sessions.db`)
    })
  )

  /** The same store on a database in memory that ends with the layer. */
  static readonly layerMemory: Layer.Layer<SessionStore, StorageError> = Layers.scoped(
    SessionStore,
    Effect.flatMap(Effect.promise(() => import("./SqliteSessionStore.ts")), (live) => live.open(":memory:"))
  )
}
