/**
 * Open first, then check (reading 10.3): a descriptor cannot be swapped under its owner, so the path that was approved is
 * compared with where the descriptor really is, and what follows goes through the descriptor.
 *
 * On Linux `/proc/self/fd` says where a descriptor is and serves as the directory of later calls, so that no component
 * of the way can be exchanged in between. Elsewhere device, inode and the resolved path are compared; the moment between
 * that comparison and the call after it is a documented limit.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as path from "node:path"
import { type FileCalls, type FileStamp, flags } from "./FileCalls.ts"
import { FileError, fromCause } from "./FileError.ts"

/** An open directory. `entry` gives the path by which an entry of it is reached. @since 0.1.0 @category models */
export interface OpenDirectory {
  readonly fd: number
  readonly path: string
  readonly entry: (name: string) => string
}

/**
 * One system call as an Effect. Not interruptible, so that no call is still under way when its descriptor is closed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const call = <A>(operation: string, at: string, run: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.uninterruptible(Effect.tryPromise({ try: run, catch: (cause) => fromCause(operation, at, cause) }))

/** The entry's stamp, or null when there is none. @since 0.1.0 @category combinators */
export const lstatOrNull = (
  calls: FileCalls,
  operation: string,
  named: string,
  at: string
): Effect.Effect<FileStamp | null, FileError> =>
  call(operation, named, () => calls.lstat(at)).pipe(
    Effect.catchAll((error) => error.reason === "not_found" ? Effect.succeed(null) : Effect.fail(error))
  )

const procFd = (fd: number): string => `/proc/self/fd/${fd}`

const hasProc = process.platform === "linux"

/** Where a descriptor is now; null where the system does not tell. */
const whereIs = (calls: FileCalls, fd: number): Effect.Effect<string | null> =>
  hasProc
    ? Effect.uninterruptible(Effect.promise(() => calls.readlink(procFd(fd)).catch(() => null)))
    : Effect.succeed(null)

const moved = (operation: string, approved: string, found: string | null): FileError =>
  new FileError({
    reason: "moved",
    operation,
    path: approved,
    ...(found === null ? {} : {
      detail: `the path leads to ${found} now, not where it did when it was checked; nothing was touched`
    })
  })

/** Fails with `moved` unless the descriptor is at `approved`. @since 0.1.0 @category combinators */
export const verify = (
  calls: FileCalls,
  operation: string,
  fd: number,
  approved: string
): Effect.Effect<void, FileError> =>
  Effect.gen(function*() {
    const where = yield* whereIs(calls, fd)
    if (where !== null) {
      if (where !== approved) return yield* moved(operation, approved, where)
      return
    }
    const [own, named, real] = yield* Effect.all([
      call(operation, approved, () => calls.fstat(fd)),
      call(operation, approved, () => calls.lstat(approved)),
      call(operation, approved, () => calls.realpath(approved))
    ])
    if (own.dev !== named.dev || own.ino !== named.ino || real !== approved) {
      return yield* moved(operation, approved, real === approved ? null : real)
    }
  })

/** Opens `at`, which stands for the canonical path `named`; closed with the scope. @since 0.1.0 @category constructors */
export const openAt = (
  calls: FileCalls,
  operation: string,
  named: string,
  at: string,
  mode: number
): Effect.Effect<number, FileError, Scope.Scope> =>
  Effect.acquireRelease(
    call(operation, named, () => calls.open(at, mode)).pipe(
      // O_NOFOLLOW met a link: it was none when the path was made canonical.
      Effect.mapError((error) => error.code === "ELOOP" ? moved(operation, named, null) : error)
    ),
    (fd) => Effect.promise(() => calls.close(fd).catch(() => undefined))
  )

const directoryFlags = flags.read | flags.directory | flags.no_follow

const directoryOf = (calls: FileCalls, fd: number, canonical: string): Effect.Effect<OpenDirectory> =>
  Effect.map(whereIs(calls, fd), (where) => ({
    fd,
    path: canonical,
    entry: (name) => path.join(where === null ? canonical : procFd(fd), name)
  }))

/**
 * Opens the directory with this canonical path and checks that it is the one. With `create`, missing parents are made
 * first, each inside its already checked parent; they go again if the scope ends in failure.
 *
 * @since 0.1.0
 * @category constructors
 */
export const openDirectory = (
  calls: FileCalls,
  operation: string,
  canonical: string,
  create?: { readonly mode: number }
): Effect.Effect<OpenDirectory, FileError, Scope.Scope> =>
  Effect.gen(function*() {
    const direct = yield* Effect.either(openAt(calls, operation, canonical, canonical, directoryFlags))
    if (direct._tag === "Right") {
      yield* verify(calls, operation, direct.right, canonical)
      return yield* directoryOf(calls, direct.right, canonical)
    }
    const error = direct.left
    const parent = path.dirname(canonical)
    if (create === undefined || error.reason !== "not_found" || parent === canonical) return yield* error
    const above = yield* openDirectory(calls, operation, parent, create)
    const at = above.entry(path.basename(canonical))
    const made = yield* Effect.acquireRelease(
      call(operation, canonical, () => calls.mkdir(at, create.mode)).pipe(
        Effect.as(true),
        Effect.catchAll((e) => e.reason === "exists" ? Effect.succeed(false) : Effect.fail(e))
      ),
      // What did not come to its end leaves no empty directories behind.
      (fresh, exit) =>
        fresh && exit._tag === "Failure"
          ? Effect.promise(() => calls.rmdir(at).catch(() => undefined))
          : Effect.void
    )
    if (made) yield* syncDirectory(calls, operation, above)
    const fd = yield* openAt(calls, operation, canonical, at, directoryFlags)
    yield* verify(calls, operation, fd, canonical)
    return yield* directoryOf(calls, fd, canonical)
  })

/** Makes a rename, link or removal in the directory durable. @since 0.1.0 @category combinators */
export const syncDirectory = (
  calls: FileCalls,
  operation: string,
  directory: OpenDirectory
): Effect.Effect<void, FileError> =>
  call(operation, directory.path, () => calls.fsync(directory.fd)).pipe(
    // Some file systems cannot fsync a directory; there is nothing more to be done on them.
    Effect.catchAll((error) =>
      error.code === "EINVAL" || error.code === "ENOTSUP" || error.code === "EISDIR" || error.code === "EPERM"
        ? Effect.void
        : Effect.fail(error)
    )
  )
