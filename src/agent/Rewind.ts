/**
 * Going back to before a message, in the conversation, in the files, or both; and forward again. What is undone stays: the
 * record keeps the messages, the snapshots the files as they were.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { textOf } from "../domain/MessageParts.ts"
import type { FileChange, Restored, Snapshot, SnapshotError, SnapshotsService } from "../snapshots/Snapshots.ts"
import type { HiddenPart, SessionStoreService, StorageError, StoredEntry } from "../storage/SessionStore.ts"

/** A message that can be gone back to. @since 0.1.0 @category models */
export interface RewindPoint {
  readonly entry_id: number
  readonly key: string
  readonly text: string
  /** Seconds since the epoch. */
  readonly at: number
  /** The files as they were before it; null = nothing has changed them since, as far as is known. */
  readonly snapshot_id: string | null
}

const isLive = (entry: StoredEntry): boolean => !entry.withdrawn && entry.hidden === undefined

const isSaid = (entry: StoredEntry): boolean => entry.message.role === "user" && entry.message.kind !== "summary"

/** The messages of the user in a conversation, oldest first. @since 0.1.0 @category constructors */
export const pointsOf = (
  entries: ReadonlyArray<StoredEntry>,
  snapshots: ReadonlyArray<Snapshot>
): ReadonlyArray<RewindPoint> => {
  const ids = new Map<string, number>()
  for (const entry of entries) ids.set(entry.key, entry.id)
  const kept = snapshots.flatMap(({ id, key, kind }) => {
    const entry_id = kind === "before" && key !== null ? ids.get(key) : undefined
    return entry_id === undefined ? [] : [{ id, entry_id }]
  })
  return entries.filter((entry) => isLive(entry) && isSaid(entry)).map((entry) => ({
    entry_id: entry.id,
    key: entry.key,
    text: textOf(entry.message),
    at: entry.timestamp,
    // what a later message found is what this one has left behind
    snapshot_id: kept.find(({ entry_id }) => entry_id >= entry.id)?.id ?? null
  }))
}

/**
 * The files that the last way back has left, if nothing has changed since; null = there is no way forward. Snapshots of one
 * session, oldest first.
 *
 * @since 0.1.0
 * @category combinators
 */
export const filesForward = (snapshots: ReadonlyArray<Snapshot>): Snapshot | null => {
  const ways: Array<Snapshot> = []
  let present: Snapshot | null = null
  for (const snapshot of snapshots) {
    switch (snapshot.kind) {
      case "before":
      case "after":
        ways.length = 0
        present = null
        break
      case "present":
        present = snapshot
        break
      case "restored":
        if (present === null) break
        if (present.key === null) ways.pop()
        else ways.push(present)
        present = null
    }
  }
  return ways.at(-1) ?? null
}

/** What `redo` brings back; both null = nothing. @since 0.1.0 @category models */
export interface Forward {
  readonly conversation: HiddenPart | null
  readonly files: Snapshot | null
}

/** `hidden`: the part that went last first. @since 0.1.0 @category combinators */
export const forwardOf = (
  entries: ReadonlyArray<StoredEntry>,
  hidden: ReadonlyArray<HiddenPart>,
  snapshots: ReadonlyArray<Snapshot>
): Forward => {
  const last = entries.findLast(isLive)
  const part = hidden[0]
  const conversation = part !== undefined && part.mark > (last?.id ?? 0) ? part : null
  const way = filesForward(snapshots)
  // a message since then began something new
  const files = way !== null && way.at / 1000 >= (last?.timestamp ?? 0) ? way : null
  if (conversation === null || files === null) return { conversation, files }
  if (entries.find(({ id }) => id === conversation.mark)?.key === files.key) return { conversation, files }
  return conversation.at * 1000 >= files.at ? { conversation, files: null } : { conversation: null, files }
}

/** @since 0.1.0 @category models */
export interface Done {
  readonly conversation: boolean
  /** Null = the files were not touched. */
  readonly files: Restored | null
}

/** Asked before anything changes: false leaves everything as it is. @since 0.1.0 @category models */
export type Approve<E, R> = (changes: ReadonlyArray<FileChange>) => Effect.Effect<boolean, E, R>

type Failure = SnapshotError | StorageError

interface Services {
  readonly store: SessionStoreService
  readonly snapshots: SnapshotsService
}

/**
 * Back to before a message. Null = it was not approved. The conversation goes first, since another process may hold it, and
 * comes back when the files cannot follow.
 *
 * @since 0.1.0
 * @category combinators
 */
export const rewind = <E, R>(
  { snapshots, store }: Services,
  session_id: string,
  point: RewindPoint,
  what: { readonly conversation: boolean; readonly files: boolean },
  approve: Approve<E, R>
): Effect.Effect<Done | null, Failure | E, R> =>
  Effect.gen(function*() {
    const plan = what.files && point.snapshot_id !== null
      ? yield* snapshots.plan({ session_id, snapshot_id: point.snapshot_id, key: point.key })
      : null
    if (!(yield* approve(plan?.changes ?? []))) return null
    const mark = what.conversation ? yield* store.hide(session_id, point.entry_id) : null
    const files = plan === null ? null : yield* Effect.tapErrorCause(
      plan.apply,
      () => mark === null ? Effect.void : Effect.ignoreLogged(store.unhide(session_id, mark))
    )
    return { conversation: mark !== null, files }
  })

/** What the last way back has left comes back. Null = it was not approved. @since 0.1.0 @category combinators */
export const forward = <E, R>(
  { snapshots, store }: Services,
  session_id: string,
  way: Forward,
  approve: Approve<E, R>
): Effect.Effect<Done | null, Failure | E, R> =>
  Effect.gen(function*() {
    const plan = way.files === null
      ? null
      : yield* snapshots.plan({ session_id, snapshot_id: way.files.id, key: null })
    if (!(yield* approve(plan?.changes ?? []))) return null
    if (way.conversation !== null) yield* store.unhide(session_id, way.conversation.mark)
    const from = way.conversation?.mark
    const files = plan === null ? null : yield* Effect.tapErrorCause(
      plan.apply,
      () => from === undefined ? Effect.void : Effect.ignoreLogged(store.hide(session_id, from))
    )
    return { conversation: way.conversation !== null, files }
  })

/** What there is to go back to and forward to; without git only the conversation. @since 0.1.0 @category constructors */
export const look = ({ snapshots, store }: Services, session_id: string) =>
  Effect.gen(function*() {
    const entries = yield* store.entries(session_id)
    const hidden = yield* store.hidden(session_id)
    const listed = yield* Effect.either(snapshots.list(session_id))
    const kept = listed._tag === "Right" ? listed.right : []
    return {
      points: pointsOf(entries, kept),
      forward: forwardOf(entries, hidden, kept),
      snapshots: kept,
      entries,
      /** Why the files cannot be gone back to; null = they can. */
      problem: listed._tag === "Left" ? listed.left.message : null,
      now: yield* Clock.currentTimeMillis
    }
  })
