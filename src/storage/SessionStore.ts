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
import type { IdPrefix } from "../domain/Ids.ts"
import { Dirs } from "../platform/Dirs.ts"
import type { JoinedMessage } from "./History.ts"
import type { Policy } from "./Retention.ts"
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
  /** With that of its subagents, as `cost_usd`. */
  readonly usage: Usage
  readonly cost_usd: number | null
  readonly is_archived: boolean
  readonly is_pinned: boolean
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
  /** The conversation went back to before the message with this id: not part of it until it is brought back. */
  readonly hidden?: number
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

/** What `hide` took at once: its mark, and when, in seconds since the epoch. @since 0.1.0 @category models */
export interface HiddenPart {
  readonly mark: number
  readonly at: number
}

/** Makes an id of a kind: `Ids.make`. @since 0.1.0 @category models */
export type MakeId = (prefix: IdPrefix) => Effect.Effect<string>

/** A copy to be made. @since 0.1.0 @category models */
export interface Fork {
  /** The id of the copy. */
  readonly id: string
  /** The session it is made from. */
  readonly from: string
  /** The last message that is copied (`StoredEntry.id`); absent = all of them. */
  readonly at?: number
}

/** A session as a file tells it. @since 0.1.0 @category models */
export interface ForeignSession {
  readonly session: SessionSummary
  readonly runs: ReadonlyArray<RunRecord>
  readonly entries: ReadonlyArray<StoredEntry>
}

/** @since 0.1.0 @category models */
export interface SearchOptions {
  /** Absent = the sessions of every project. */
  readonly workspace?: string
  /** Archived sessions too. */
  readonly archived?: boolean
  /** Default 20. */
  readonly limit?: number
}

/**
 * Something that was found. `text` is a piece of it in one line, without controls; `matches` are the places of the words in
 * it, in UTF-16 units. A title has no message.
 *
 * @since 0.1.0
 * @category models
 */
export interface SearchMatch {
  readonly session_id: string
  readonly title: string | null
  readonly workspace: string
  readonly is_archived: boolean
  readonly last_active: number
  readonly kind: "title" | "prompt" | "answer" | "call" | "result" | "summary"
  readonly message_id: number | null
  readonly timestamp: number
  readonly text: string
  readonly matches: ReadonlyArray<readonly [number, number]>
}

/** A session that a policy lets go of. @since 0.1.0 @category models */
export interface Expired {
  readonly session: SessionSummary
  /** About how many bytes of the record it takes; 0 where nobody asked for room. */
  readonly bytes: number
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
  /** Pinned ones first, then the one that was active last. Without `archived`, or with `archived: false`, those not archived; `true` = the archived ones. */
  readonly list: (
    filter: {
      readonly workspace?: string
      readonly limit?: number
      readonly offset?: number
      readonly archived?: boolean
      /** Those of subagents too. */
      readonly subagents?: boolean
    }
  ) => Effect.Effect<ReadonlyArray<SessionSummary>, StorageError>
  /**
   * With all messages, runs and attempts, and the sessions of its subagents; other sessions that came from it stay and
   * have no parent any more. With `idle` only while there is no run of it, else `session_busy`.
   */
  readonly delete: (id: string, options?: { readonly idle?: boolean }) => Effect.Effect<void, StorageError>
  /** With `instead_of` only while the title is still that one. */
  readonly setTitle: (id: string, title: string, instead_of?: string | null) => Effect.Effect<void, StorageError>
  /** Archived sessions are in no list and are not gone on with unasked; they are kept whatever the retention. */
  readonly archive: (id: string, archived: boolean) => Effect.Effect<void, StorageError>
  /** Pinned sessions are the first of every list, and are kept whatever the retention. */
  readonly pin: (id: string, pinned: boolean) => Effect.Effect<void, StorageError>
  /**
   * The conversation goes back to before message `from` (`StoredEntry.id`): it and what came after it stay in the record,
   * hidden. Gives the mark for `unhide`. `invalid` inside an answer, `session_busy` while there is a run.
   */
  readonly hide: (id: string, from: number) => Effect.Effect<number, StorageError>
  /** Brings back what `hide` took; `invalid` once the session has gone on without it. */
  readonly unhide: (id: string, mark: number) => Effect.Effect<void, StorageError>
  /** What is hidden, the part that went last first. */
  readonly hidden: (id: string) => Effect.Effect<ReadonlyArray<HiddenPart>, StorageError>
  /**
   * A session of its own with a copy of what stands in another one; that one stays as it is. A cut inside an answer, or
   * between a call and its result, is `invalid`.
   */
  readonly fork: (fork: Fork) => Effect.Effect<SessionSummary, StorageError>
  /** A session from a file, all of it or nothing. Its ids are kept where they are free. */
  readonly adopt: (
    foreign: ForeignSession,
    options: { readonly workspace: string; readonly make: MakeId }
  ) => Effect.Effect<SessionSummary, StorageError>
  /**
   * Titles first, then messages, the latest first. Words are found whole, in any case and with any accents; all of them
   * must be there. `"a phrase"`, `begin*`.
   */
  readonly search: (query: string, options: SearchOptions) => Effect.Effect<ReadonlyArray<SearchMatch>, StorageError>
  /** What a policy lets go of: neither pinned and archived sessions nor such with a run that is on. */
  readonly expired: (policy: Policy) => Effect.Effect<ReadonlyArray<Expired>, StorageError>
  /** Deletes those of these sessions that have no run and are neither pinned nor archived; gives their ids. */
  readonly prune: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** Gives the room of what was deleted back to the system. Needs the record for itself for a while. */
  readonly vacuum: Effect.Effect<void, StorageError>

  /** All entries in order, withdrawn and hidden ones too (flagged). */
  readonly entries: (id: string) => Effect.Effect<ReadonlyArray<StoredEntry>, StorageError>
  /** The conversation for the next request: withdrawn and hidden entries left out, items of one turn joined. Not yet repaired. */
  readonly history: (id: string) => Effect.Effect<ReadonlyArray<Message>, StorageError>
  /** The same with the keys of the entries that each message was made of. What was replaced is not read. */
  readonly conversation: (id: string) => Effect.Effect<ReadonlyArray<JoinedMessage>, StorageError>
  /** Ids of the calls that have entries of their own in the record, of replaced and hidden ones too. */
  readonly callIds: (id: string) => Effect.Effect<ReadonlyArray<string>, StorageError>
  readonly append: (session_id: string, entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>
  readonly withdraw: (session_id: string, keys: ReadonlyArray<string>) => Effect.Effect<void, StorageError>

  /**
   * One run of a session at a time, over all processes: fails with `session_busy` while another one that lives has a run
   * of it. A run whose process has gone is ended as interrupted. With `takeover` one that lives is ended too: nothing more
   * of it is recorded.
   */
  readonly beginRun: (
    run: { readonly id: string; readonly session_id: string; readonly model: string; readonly takeover?: boolean }
  ) => Effect.Effect<void, StorageError>
  /** Asks the run of another process to stop and waits until it has, or for ten seconds. */
  readonly askToStop: (session_id: string) => Effect.Effect<void, StorageError>
  /** The process that asks for the end of a run. */
  readonly stopAsked: (run_id: string) => Effect.Effect<Option.Option<number>, StorageError>
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
