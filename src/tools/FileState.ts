/**
 * What each session knows of the files it works on, so that nothing is overwritten unseen.
 *
 * A file that was read and has another content now, or that is to be replaced as a whole without having been read, is
 * refused with the remedy: read it again. What a session wrote it knows. Kept in memory for the life of the process; the
 * files forgotten for want of room have to be read again, which is safe.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Layers from "../domain/Layers.ts"
import type { FileStamp } from "../platform/FileCalls.ts"
import { ToolFailure } from "./Tool.ts"

/** A version of a file; `sha256` of all its bytes decides, the stamp is for messages and for the rename. */
interface SeenFile {
  readonly stamp: FileStamp
  readonly sha256: string
}

/** @since 0.1.0 @category models */
export interface FileStateService {
  /**
   * The session knows this version: `whole` = it has read or written it, `part` = it has changed a place of it, which is
   * as much as it knew before.
   */
  readonly saw: (session_id: string, path: string, seen: SeenFile, extent: "whole" | "part") => Effect.Effect<void>
  /** The file is gone. */
  readonly dropped: (session_id: string, path: string) => Effect.Effect<void>
  /**
   * Fails when the file is not the one the session saw last. `must_have_seen`: also when it never saw the whole of it.
   * `display` is the name in the message.
   */
  readonly check: (
    session_id: string,
    path: string,
    current: SeenFile,
    options: { readonly display: string; readonly must_have_seen: boolean }
  ) => Effect.Effect<void, ToolFailure>
  /** Runs while nobody else in this process changes one of the files. Paths are canonical. */
  readonly exclusive: (
    paths: ReadonlyArray<string>
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The session has ended. */
  readonly forget: (session_id: string) => Effect.Effect<void>
}

const max_sessions = 500
const max_files = 10_000

/** Puts a value last and lets the oldest go beyond the limit. */
const remember = <K, V>(map: Map<K, V>, key: K, value: V, limit: number): void => {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= limit) return
    map.delete(oldest)
  }
}

const make = (): FileStateService => {
  const sessions = new Map<string, Map<string, SeenFile & { readonly whole: boolean }>>()
  const locks = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()

  const withLock = (path: string) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const lock = locks.get(path) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
        lock.users++
        locks.set(path, lock)
        return lock
      }),
      (lock) => lock.semaphore.withPermits(1)(effect),
      (lock) =>
        Effect.sync(() => {
          if (--lock.users === 0) locks.delete(path)
        })
    )

  return {
    saw: (session_id, path, seen, extent) =>
      Effect.sync(() => {
        const files = sessions.get(session_id) ?? new Map<string, SeenFile & { readonly whole: boolean }>()
        remember(sessions, session_id, files, max_sessions)
        const whole = extent === "whole" || files.get(path)?.whole === true
        remember(files, path, { ...seen, whole }, max_files)
      }),
    dropped: (session_id, path) => Effect.sync(() => void sessions.get(session_id)?.delete(path)),
    check: (session_id, path, current, { display, must_have_seen }) =>
      Effect.suspend(() => {
        const seen = sessions.get(session_id)?.get(path)
        if (seen !== undefined && seen.sha256 !== current.sha256) {
          return new ToolFailure({
            message:
              `${display} has changed on disk since it was read. Read it again, then repeat the change on what ` +
              "is there now."
          })
        }
        return must_have_seen && seen?.whole !== true
          ? new ToolFailure({
            message: `${display} exists and has not been read in this session. Read it first, then write it; ` +
              "or use edit to change a part of it."
          })
          : Effect.void
      }),
    // In one order for everybody, so that two patches cannot wait for each other.
    exclusive: (paths) => (effect) =>
      Array.from(new Set(paths)).sort().reduceRight((inner, path) => withLock(path)(inner), effect),
    forget: (session_id) => Effect.sync(() => void sessions.delete(session_id))
  }
}

/** @since 0.1.0 @category services */
export class FileState extends Context.Tag("@hanzo/dev/tools/FileState")<FileState, FileStateService>() {
  static readonly layer: Layer.Layer<FileState> = Layers.sync(FileState, make)
}
