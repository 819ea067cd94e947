/**
 * One process at a time: a lock file beside the file it guards (reading 6.8).
 *
 * `TARGET.lock` is made with `O_CREAT|O_EXCL` and says who holds it; its modification time is the heartbeat, renewed
 * every 5 s by the Clock. It is free again when its holder removes it, when that process has verifiably ended on this
 * host, or when the heartbeat has not come for 30 s. A heartbeat that was old already when it was first seen is watched
 * for a while longer, since after a sleep of the machine every heartbeat is old.
 *
 * Whoever removes a lock file, its holder too, first takes the claim `TARGET.lock.TOKEN`, which is named after that one
 * lock and taken in the same way, and looks again: two waiters that find the same lock stale can never remove two.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { TaggedError } from "../domain/TaggedError.ts"
import { canonicalPath } from "./CanonicalPath.ts"
import { flags, nodeCalls } from "./FileCalls.ts"
import { FileError, fromCause } from "./FileError.ts"
import { makeDirectories } from "./MakeDirectories.ts"
import { type Identity, ProcessIdentity, type ProcessIdentityService } from "./ProcessIdentity.ts"

/**
 * | reason | meaning |
 * | --- | --- |
 * | `busy` | somebody else held it until the time was over |
 * | `unwritable` | no lock file can be made there: a read-only or missing directory, no permission, a full disk |
 *
 * @since 0.1.0
 * @category errors
 */
export class LockError extends TaggedError("@hanzo/dev/platform/LockError")("LockError", () => ({
  reason: Schema.Literal("busy", "unwritable"),
  /** The lock file. */
  path: Schema.String,
  message: Schema.String
})) {}

/** @since 0.1.0 @category models */
export interface LockOptions {
  /** How long to wait for another holder, by the Clock; absent = for ever. */
  readonly timeout?: Duration.Duration
  /** Makes missing directories above the target with this mode. Absent = they must exist. */
  readonly create_parents?: number
}

/** @since 0.1.0 @category models */
export interface HeldLock {
  /** The lock file. */
  readonly path: string
  /** False once another process took the lock because the heartbeat had stopped: ask before what must not happen twice. */
  readonly held: Effect.Effect<boolean>
}

/** @since 0.1.0 @category models */
export interface FileLockService {
  /**
   * Takes the lock of `target` (absolute; a symbolic link is followed, so that all names of a file have one lock) and
   * holds it as long as the scope. Waiting can be interrupted.
   */
  readonly acquire: (target: string, options?: LockOptions) => Effect.Effect<HeldLock, LockError, Scope.Scope>
}

/** Milliseconds. @since 0.1.0 @category constants */
export const heartbeatMs = 5_000
/** Milliseconds. @since 0.1.0 @category constants */
export const staleMs = 30_000
/** How long an old heartbeat is watched before it counts. */
const watchMs = heartbeatMs + 1_000
/** Waiting longer than this is told. */
const quietMs = 2_000
const firstPollMs = 5
const lastPollMs = 200
/** Looking at a process may cost a child process of its own. */
const livenessMs = 1_000
const maxClaims = 8
const maxBytes = 4_096

interface Holder {
  readonly token: string
  /** Null when the file does not say: half written, or not ours. */
  readonly identity: (Identity & { readonly host: string }) | null
  /** Milliseconds since the epoch. */
  readonly beat: number
}

/** A lock file of ours. The open descriptor keeps its inode from being given to another file. */
interface Taken {
  readonly path: string
  readonly token: string
  readonly fd: number
}

/** What a waiter knows of a lock file it waits for. */
interface Watch {
  token: string
  beat: number
  since: number
  looked: number
}

const parse = (text: string): Pick<Holder, "token" | "identity"> | null => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null) return null
    const [pid, started, host, token] = ["pid", "started", "host", "token"].map((key) => Reflect.get(value, key))
    return typeof pid === "number" && typeof started === "string" && typeof host === "string" &&
        typeof token === "string" && /^[0-9a-f]{16}$/u.test(token)
      ? { token, identity: { pid, started, host } }
      : null
  } catch {
    return null
  }
}

const isMissing = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && Reflect.get(cause, "code") === "ENOENT"

/** The lock file as it stands, null = none. Throws what the system says. */
const look = (file: string): Holder | null => {
  let fd: number
  try {
    fd = fs.openSync(file, flags.read | flags.no_follow | flags.no_wait)
  } catch (cause) {
    if (isMissing(cause)) return null
    throw cause
  }
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    if (!stat.isFile()) throw new FileError({ reason: "not_regular", operation: "lock", path: file })
    const bytes = new Uint8Array(maxBytes)
    const text = new TextDecoder().decode(bytes.subarray(0, fs.readSync(fd, bytes, 0, maxBytes, 0)))
    const said = parse(text)
    return {
      token: said?.token ?? `${stat.ino.toString(16)}-${stat.ctimeNs.toString(16)}`,
      identity: said?.identity ?? null,
      beat: Number(stat.mtimeNs / 1_000_000n)
    }
  } finally {
    fs.closeSync(fd)
  }
}

const quietly = (run: () => void): void => {
  try {
    run()
  } catch {
    // what cannot be removed goes stale
  }
}

const stillThere = ({ fd, path: file }: Taken): boolean => {
  try {
    const [own, named] = [fs.fstatSync(fd, { bigint: true }), fs.lstatSync(file, { bigint: true })]
    return own.ino === named.ino && own.dev === named.dev
  } catch {
    return false
  }
}

const remedy = ({ reason }: FileError): string =>
  reason === "read_only" || reason === "permission"
    ? "; the directory must be writable, since a lock file is made in it"
    : reason === "no_space"
    ? "; free some space"
    : ""

const make = (processes: ProcessIdentityService): FileLockService => {
  const host = os.hostname()

  const acquire: FileLockService["acquire"] = (target, options = {}) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const unwritable = (file: string) => (cause: unknown): LockError => {
          const error = cause instanceof FileError ? cause : fromCause("lock", file, cause)
          return new LockError({
            reason: "unwritable",
            path: file,
            message: `cannot make the lock file ${file}: ${error.why}${remedy(error)}`
          })
        }
        const lock = `${
          (yield* Effect.mapError(canonicalPath(nodeCalls, target), unwritable(`${target}.lock`))).path
        }.lock`
        const attempt = <A>(run: () => A): Effect.Effect<A, LockError> =>
          Effect.try({ try: run, catch: unwritable(lock) })
        const { create_parents, timeout } = options
        if (create_parents !== undefined) yield* attempt(() => makeDirectories(path.dirname(lock), create_parents))
        const self = yield* processes.self
        const watched = new Map<string, Watch>()
        let busyWith: Holder | null = null

        const create = (file: string, now: number): Taken | null => {
          const token = randomBytes(8).toString("hex")
          let fd: number
          try {
            fd = fs.openSync(file, flags.write | flags.create | flags.exclusive | flags.no_follow, 0o600)
          } catch (cause) {
            if (Reflect.get(Object(cause), "code") === "EEXIST") return null
            throw cause
          }
          try {
            fs.writeSync(fd, `${JSON.stringify({ ...self, host, token })}\n`)
            fs.futimesSync(fd, now / 1000, now / 1000)
          } catch (cause) {
            // nobody can tell whose it is: it must not stay
            quietly(() => fs.unlinkSync(file))
            fs.closeSync(fd)
            throw cause
          }
          return { path: file, token, fd }
        }

        const drop = (taken: Taken): void => {
          if (stillThere(taken)) quietly(() => fs.unlinkSync(taken.path))
          quietly(() => fs.closeSync(taken.fd))
        }

        const isStale = (file: string, holder: Holder): Effect.Effect<boolean> =>
          Effect.gen(function*() {
            const now = yield* Clock.currentTimeMillis
            let watch = watched.get(file)
            if (watch?.token !== holder.token || watch.beat !== holder.beat) {
              const looked = watch?.token === holder.token ? watch.looked : Number.NEGATIVE_INFINITY
              watch = { token: holder.token, beat: holder.beat, since: now, looked }
              watched.set(file, watch)
            }
            if (holder.identity?.host === host && now - watch.looked >= livenessMs) {
              watch.looked = now
              if ((yield* processes.liveness(holder.identity)) === "gone") return true
            }
            const unchanged = now - watch.since
            return unchanged >= staleMs || (unchanged >= watchMs && now - holder.beat >= staleMs)
          })

        /** The lock, or null while somebody holds it. */
        const take = (file: string, claims: number): Effect.Effect<Taken | null, LockError> =>
          Effect.gen(function*() {
            for (;;) {
              const now = yield* Clock.currentTimeMillis
              const made = yield* attempt(() => create(file, now))
              if (made !== null) return made
              const holder = yield* attempt(() => look(file))
              if (holder === null) continue
              if (claims === 0) busyWith = holder
              if (claims >= maxClaims || !(yield* isStale(file, holder))) return null
              const claim = yield* take(`${file}.${holder.token}`, claims + 1)
              if (claim === null) return null
              yield* attempt(() => {
                try {
                  // Look again under the claim: only this one lock may go.
                  if (look(file)?.token === holder.token) fs.unlinkSync(file)
                } finally {
                  drop(claim)
                }
              })
            }
          })

        const release = (taken: Taken): Effect.Effect<void> =>
          Effect.gen(function*() {
            const claim = yield* Effect.orElseSucceed(take(`${taken.path}.${taken.token}`, 1), () => null)
            // Without the claim somebody is just taking it over: it is theirs to remove.
            yield* Effect.sync(() => {
              if (claim === null) return quietly(() => fs.closeSync(taken.fd))
              drop(taken)
              drop(claim)
            })
          })

        const busy = (): LockError => {
          const identity = busyWith?.identity ?? null
          return new LockError({
            reason: "busy",
            path: lock,
            message: identity === null
              ? `${lock} is held by another process; if none uses it, remove the file`
              : `${lock} is held by process ${identity.pid}${identity.host === host ? "" : ` on ${identity.host}`}; ` +
                `wait for it or end it`
          })
        }

        const until = timeout === undefined
          ? Number.POSITIVE_INFINITY
          : (yield* Clock.currentTimeMillis) + Duration.toMillis(timeout)
        const began = yield* Clock.currentTimeMillis
        let said = false
        let poll = firstPollMs
        let taken = yield* take(lock, 0)
        while (taken === null) {
          const left = until - (yield* Clock.currentTimeMillis)
          if (left <= 0) return yield* busy()
          if (!said && (yield* Clock.currentTimeMillis) - began >= quietMs) {
            said = true
            yield* Effect.logWarning(`waiting: ${busy().message}`)
          }
          // Waiters that came together must not all look at the same moments.
          const pause = poll * (0.5 + (yield* Random.next))
          yield* restore(Effect.sleep(Duration.millis(Math.min(pause, left))))
          poll = Math.min(poll * 2, lastPollMs)
          taken = yield* take(lock, 0)
        }
        const own = taken
        yield* Effect.addFinalizer(() => release(own))
        // Forked after the release was registered, so that it ends before the descriptor is closed.
        yield* Effect.sleep(Duration.millis(heartbeatMs)).pipe(
          Effect.zipRight(Clock.currentTimeMillis),
          Effect.map((now) => quietly(() => fs.futimesSync(own.fd, now / 1000, now / 1000))),
          Effect.forever,
          Effect.interruptible,
          Effect.forkScoped
        )
        return { path: lock, held: Effect.sync(() => stillThere(own)) }
      })
    )

  return { acquire }
}

/** @since 0.1.0 @category services */
export class FileLock extends Context.Tag("@hanzo/dev/platform/FileLock")<FileLock, FileLockService>() {
  /** Over a given view of the processes, for tests in which one of them ends. */
  static readonly layerProcesses: Layer.Layer<FileLock, never, ProcessIdentity> = Layer.effect(
    FileLock,
    Effect.map(ProcessIdentity, make)
  )

  static readonly layer: Layer.Layer<FileLock> = Layer.provide(FileLock.layerProcesses, ProcessIdentity.layer)
}
