/**
 * The repository of the snapshots as a place: made when it is first needed, held by one writer at a time over all
 * processes, mended where it is damaged.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { FileLockService } from "../platform/FileLock.ts"
import * as Kept from "../platform/KeptFiles.ts"
import type { Git } from "./Git.ts"
import type { Ignores } from "./Ignores.ts"
import { SnapshotError } from "./Snapshots.ts"

/** @since 0.1.0 @category models */
export interface Repository {
  readonly isMade: () => boolean
  /** It is there, with the rules of the project as they are now. */
  readonly ready: Effect.Effect<void, SnapshotError>
  /** One at a time, in this process and in all others. */
  readonly exclusive: <A>(effect: Effect.Effect<A, SnapshotError>) => Effect.Effect<A, SnapshotError>
  /** Once more where something was damaged, then with what to do. */
  readonly mending: <A>(effect: Effect.Effect<A, SnapshotError>) => Effect.Effect<A, SnapshotError>
  /** For what only reads: as `mending`, and alone only where something was damaged. */
  readonly reading: <A>(effect: Effect.Effect<A, SnapshotError>) => Effect.Effect<A, SnapshotError>
}

/** Milliseconds to wait for another process. */
const patience = 20_000

/** Writes files; `act` throws the system's error. @since 0.1.0 @category constructors */
export const attempt = (act: () => void): Effect.Effect<void, SnapshotError> =>
  Effect.try({
    try: act,
    catch: (error) =>
      new SnapshotError({
        reason: "failed",
        message: `snapshots cannot be written: ${error instanceof Error ? error.message : String(error)}`
      })
  })

/**
 * `repo` is the git directory, `home` the directory it lies in. `forget`: what is remembered of the files is not to be
 * trusted any more.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  lock: FileLockService,
  git: Git,
  ignores: Ignores,
  places: { readonly root: string; readonly repo: string; readonly home: string },
  forget: () => void
): Repository => {
  const { home, repo, root } = places
  const made = `${home}/root`
  const turn = Effect.unsafeMakeSemaphore(1)
  let mended = false

  const isMade = (): boolean => Kept.readText(made) !== null

  const exclusive = <A>(effect: Effect.Effect<A, SnapshotError>): Effect.Effect<A, SnapshotError> =>
    turn.withPermits(1)(Effect.scoped(Effect.zipRight(
      Effect.mapError(
        lock.acquire(repo, { timeout: Duration.millis(patience), create_parents: 0o700 }),
        (error) => new SnapshotError({ reason: error.reason === "busy" ? "busy" : "failed", message: error.message })
      ),
      effect
    )))

  const begin = Effect.gen(function*() {
    yield* git.ok({ args: ["init", "--quiet", "--bare", "--template="], variables: { GIT_DEFAULT_HASH: "sha1" } })
    yield* git.ok({ args: ["config", "core.bare", "true"] })
    yield* attempt(() => {
      Kept.ensure(`${repo}/info`)
      Kept.replaceText(made, `${root}\n`)
    })
  })

  /** What can be made again where the repository is damaged; nothing that it holds goes, and all files are read anew. */
  const mend = Effect.suspend(() => {
    mended = true
    Kept.forget(`${repo}/config`)
    forget()
    return begin
  })

  const isDamage = (error: SnapshotError): boolean => error.reason === "failed" && !mended

  const advised = (error: SnapshotError): SnapshotError =>
    error.reason !== "failed" || !error.message.startsWith("git ") ||
      /no space left|out of disk/iu.test(error.message)
      ? error
      : new SnapshotError({
        reason: "failed",
        message: `${error.message}. If that stays: remove ${home} to begin anew, without what is kept in it`
      })

  const mending = <A>(effect: Effect.Effect<A, SnapshotError>): Effect.Effect<A, SnapshotError> =>
    effect.pipe(
      Effect.catchIf(isDamage, (error) => mend.pipe(Effect.mapError(() => error), Effect.zipRight(effect))),
      Effect.mapError(advised)
    )

  return {
    isMade,
    ready: Effect.gen(function*() {
      if (!isMade()) yield* begin
      yield* attempt(ignores.refresh)
    }),
    exclusive,
    mending,
    reading: (effect) =>
      effect.pipe(
        Effect.catchIf(isDamage, () => exclusive(mending(effect))),
        Effect.mapError(advised)
      )
  }
}
