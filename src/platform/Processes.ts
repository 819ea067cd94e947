/**
 * Child processes (reading 0, G5): each in its own process group that is registered at spawn, with nothing inherited
 * beyond descriptors 0-2, a deadline kept by the parent, output always drained, and an end on every path: closing the
 * scope, the deadline and `stop` send TERM to the whole group, wait a grace time, then send KILL. What ends them when
 * this process goes down is said in `ProcessGroups`.
 *
 * The direct child's exit is the end: a grandchild that still holds a pipe delays it by at most 100 ms, then the pipes
 * are closed and the rest of the group is stopped.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Layers from "../domain/Layers.ts"
import * as Streams from "../domain/Streams.ts"
import { ProcessError, words } from "./ProcessError.ts"
import * as ProcessGroups from "./ProcessGroups.ts"
import { type Descriptor, makeProcessOutput, type OutputChunk } from "./ProcessOutput.ts"
import { start } from "./ProcessStart.ts"

/** @since 0.1.0 @category models */
export interface SpawnInput {
  /** Program and arguments; a shell only where it is named here. */
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** Absolute path. */
  readonly cwd: string
  /** The whole environment of the child; build it with `childEnvironment`. */
  readonly env: ReadonlyMap<string, string>
  /** `closed` (default) reads as empty; bytes are written, then it is closed; `pipe` stays open for `write`. */
  readonly stdin?: "closed" | "pipe" | Uint8Array
  /** From spawn, by the Clock; absent = none. */
  readonly timeout?: Duration.Duration
  /** Between TERM and KILL; default 2 s. */
  readonly grace?: Duration.Duration
}

/** `code` null = ended by `signal`; `timed_out` = the deadline ended it. @since 0.1.0 @category models */
export interface ExitStatus {
  readonly code: number | null
  readonly signal: string | null
  readonly timed_out: boolean
}

/**
 * A running child. A stream of output is read by one reader; it is chunked as the reads came, ends at the child's end,
 * and slows the child while its reader lags. What nobody reads is drained: 1 MiB of it is kept, the rest dropped.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningProcess {
  /** Also the id of its process group. */
  readonly pid: number
  readonly stdout: Stream.Stream<Uint8Array>
  readonly stderr: Stream.Stream<Uint8Array>
  /** Both, as they come; take this or the two above. */
  readonly output: Stream.Stream<OutputChunk>
  /** The same without a stream around it. */
  readonly reads: Effect.Effect<Streams.Pull<OutputChunk>, never, Scope.Scope>
  /** Waits for the end; by then all output is in the streams. */
  readonly exit: Effect.Effect<ExitStatus>
  /** TERM to the group, grace, KILL; returns when it is over. */
  readonly stop: Effect.Effect<ExitStatus>
  /** With `stdin: "pipe"`: returns when the bytes are on their way. Fails with `closed` when nobody reads them. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, ProcessError>
  /** `write` of a text, without a fiber: calls back later, once; false = nobody reads it. */
  readonly post: (text: string, done: (ok: boolean) => void) => void
  /**
   * `stdout` without a fiber for every read, for one reader, until the scope closes: `ready` is called once, with what has
   * come; nothing = the end. It may be called before that returns. The returned function takes the request back. Absent =
   * there is no such way.
   */
  readonly arrivals?: Effect.Effect<
    (ready: (pieces: ReadonlyArray<Uint8Array>) => void) => () => void,
    never,
    Scope.Scope
  >
  /** With `stdin: "pipe"`: closes the child's input. */
  readonly endInput: Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface RunInput extends SpawnInput {
  /** Kept of each stream; the rest is drained and dropped. Default 10 MiB. */
  readonly max_bytes?: number
}

/** @since 0.1.0 @category models */
export interface Completed extends ExitStatus {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Something did not fit `max_bytes`. */
  readonly truncated: boolean
}

/** @since 0.1.0 @category models */
export interface ProcessesService {
  /** Starts a process that lives at most as long as the scope. */
  readonly spawn: (input: SpawnInput) => Effect.Effect<RunningProcess, ProcessError, Scope.Scope>
  /** Runs to the end and collects both streams; interruption stops the group. A non-zero code is no error here. */
  readonly run: (input: RunInput) => Effect.Effect<Completed, ProcessError>
}

/** The longest wait a timer takes as one number (reading 0, G7). */
const longest = 2 ** 31 - 1

const sleep = (duration: Duration.Duration): Effect.Effect<void> => {
  const millis = Duration.toMillis(duration)
  return millis <= longest
    ? Effect.sleep(duration)
    : Effect.zipRight(Effect.sleep(longest), Effect.suspend(() => sleep(Duration.millis(millis - longest))))
}

/** Waits inside an uninterruptible region, but never longer than `duration`. */
const awaitFor = <A>(deferred: Deferred.Deferred<A>, duration: Duration.Duration): Effect.Effect<boolean> =>
  // most often there is nothing left to wait for, and a race takes three fibers
  Effect.flatMap(Deferred.isDone(deferred), (done) =>
    done
      ? Effect.succeed(true)
      : Deferred.await(deferred).pipe(Effect.interruptible, Effect.timeoutOption(duration), Effect.map(Option.isSome)))

/** Lets the event loop read what already lies in the pipes. */
const readTurn: Effect.Effect<void> = Effect.async((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** With what else it takes, a grandchild at the pipe costs 100 ms at most. */
const pipeGrace = Duration.millis(80)
const defaultGrace = Duration.seconds(2)
/** A child that KILL does not end within this hangs in the kernel; nothing more can be done about it. */
const killWait = Duration.seconds(5)

const spawn = (input: SpawnInput): Effect.Effect<RunningProcess, ProcessError, Scope.Scope> =>
  Effect.uninterruptible(Effect.gen(function*() {
    const scope = yield* Effect.scope
    const exited = yield* Deferred.make<void>()
    const drained = yield* Deferred.make<void>()
    const settled = yield* Deferred.make<ExitStatus>()
    const grace = input.grace ?? defaultGrace
    const child = yield* start(input)
    const group = child.pid ?? 0
    let timedOut = false
    let stopping = false
    let over = false

    child.once("exit", () => Deferred.unsafeDone(exited, Effect.void))
    const output = makeProcessOutput(
      [[1, child.stdout], [2, child.stderr]],
      () => Deferred.unsafeDone(drained, Effect.void)
    )
    child.stdin?.on("error", () => undefined)
    if (input.stdin instanceof Uint8Array) child.stdin?.end(input.stdin)

    const signal = (name: NodeJS.Signals): boolean => !over && ProcessGroups.signalGroup(group, name)

    // Once: after this the group's number may belong to somebody else, so it is never signalled again.
    const bury = (): void => {
      if (over) return
      signal("SIGKILL")
      over = true
      ProcessGroups.unregister(group)
    }

    const reaper = Effect.gen(function*() {
      yield* Deferred.await(exited)
      output.unpause()
      if (!(yield* awaitFor(drained, stopping ? grace : pipeGrace))) yield* readTurn
      if (!stopping && signal("SIGTERM")) yield* Effect.forkIn(Effect.zipRight(sleep(grace), Effect.sync(bury)), scope)
      else bury()
      output.close()
      child.stdin?.destroy()
      yield* Deferred.succeed(settled, { code: child.exitCode, signal: child.signalCode, timed_out: timedOut })
    })

    const stop: Effect.Effect<ExitStatus> = Effect.uninterruptible(Effect.gen(function*() {
      if (!(yield* Deferred.isDone(settled))) {
        stopping = true
        signal("SIGTERM")
        output.unpause()
        if (!(yield* awaitFor(settled, grace))) {
          signal("SIGKILL")
          yield* awaitFor(exited, killWait)
          output.close()
        }
      }
      bury()
      if (!(yield* awaitFor(settled, killWait))) {
        yield* Deferred.succeed(settled, { code: null, signal: "SIGKILL", timed_out: timedOut })
      }
      return yield* Deferred.await(settled)
    }))

    yield* Effect.forkIn(Effect.interruptible(reaper), scope)
    if (input.timeout !== undefined) {
      const deadline = Effect.zipRight(
        sleep(input.timeout),
        Effect.suspend(() => {
          // A child that has exited was in time, even if a grandchild still holds its pipes.
          if (child.exitCode !== null || child.signalCode !== null) return Effect.void
          timedOut = true
          return stop
        })
      )
      yield* Effect.forkIn(Effect.interruptible(deadline), scope)
    }
    // Registered last, so that it runs first: the reaper must live until the child is gone.
    yield* Effect.addFinalizer(() => stop)

    const reading = (fds: ReadonlyArray<Descriptor>) =>
      Effect.acquireRelease(
        Effect.sync(() => output.open(fds)),
        () => Effect.sync(() => output.release(fds))
      )
    const readsOf = (fds: ReadonlyArray<Descriptor>): Effect.Effect<Streams.Pull<OutputChunk>, never, Scope.Scope> => {
      const pull: Streams.Pull<OutputChunk> = Effect.async((resume) => {
        const cancel = output.wait(fds, () => {
          const chunks = output.take(fds) ?? []
          resume(chunks.length === 0 ? Effect.fail(Option.none()) : Effect.succeed(Chunk.unsafeFromArray(chunks)))
        })
        return Effect.sync(cancel)
      })
      return Effect.as(reading(fds), pull)
    }
    const bytesOf = (fd: Descriptor): Stream.Stream<Uint8Array> =>
      Stream.mapChunks(Streams.fromPull(readsOf([fd])), (chunks) => Chunk.map(chunks, (chunk) => chunk.bytes))

    const put = (data: Uint8Array | string, done: (ok: boolean) => void): void => {
      if (child.stdin === null || !child.stdin.writable) process.nextTick(done, false)
      else child.stdin.write(data, (cause) => done(cause === undefined || cause === null))
    }
    const notOpen = new ProcessError({
      reason: "closed",
      program: input.argv[0],
      message: `cannot write to ${input.argv[0]}: ${words.closed}`
    })
    return {
      pid: group,
      stdout: bytesOf(1),
      stderr: bytesOf(2),
      output: Streams.fromPull(readsOf([1, 2])),
      reads: readsOf([1, 2]),
      exit: Deferred.await(settled),
      stop,
      write: (bytes) =>
        Effect.async<void, ProcessError>((resume) => {
          put(bytes, (ok) => resume(ok ? Effect.void : Effect.fail(notOpen)))
        }),
      post: put,
      arrivals: Effect.as(
        reading([1]),
        (ready) => output.wait([1], () => ready((output.take([1]) ?? []).map(({ bytes }) => bytes)))
      ),
      endInput: Effect.sync(() => void child.stdin?.end())
    }
  }))

/** Joins chunks, keeping at most `limit` bytes. */
const collect = (
  stream: Stream.Stream<Uint8Array>,
  limit: number
): Effect.Effect<{ readonly bytes: Uint8Array; readonly truncated: boolean }> =>
  Effect.suspend(() => {
    const kept: Array<Uint8Array> = []
    let size = 0
    let truncated = false
    const keep = (bytes: Uint8Array): void => {
      const room = limit - size
      if (bytes.byteLength > room) truncated = true
      const part = bytes.byteLength > room ? bytes.subarray(0, room) : bytes
      if (part.byteLength > 0) kept.push(part)
      size += part.byteLength
    }
    return Effect.map(
      Streams.forEachChunk(stream, (chunks) =>
        Effect.sync(() => {
          for (const bytes of chunks) keep(bytes)
        })),
      () => {
        const all = new Uint8Array(size)
        let at = 0
        for (const part of kept) {
          all.set(part, at)
          at += part.byteLength
        }
        return { bytes: all, truncated }
      }
    )
  })

/**
 * The whole service from a way to spawn, for policies that only change how a process starts.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromSpawn = (spawnWith: ProcessesService["spawn"]): ProcessesService => ({
  spawn: spawnWith,
  run: (input) =>
    Effect.scoped(Effect.gen(function*() {
      const limit = input.max_bytes ?? 10 * 1024 * 1024
      const running = yield* spawnWith(input)
      const [stdout, stderr] = yield* Effect.all([collect(running.stdout, limit), collect(running.stderr, limit)], {
        concurrency: 2
      })
      const status = yield* running.exit
      return {
        ...status,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        truncated: stdout.truncated || stderr.truncated
      }
    }))
})

/** @since 0.1.0 @category services */
export class Processes extends Context.Tag("@hanzo/dev/platform/Processes")<Processes, ProcessesService>() {
  static readonly layer: Layer.Layer<Processes> = Layers.succeed(Processes, fromSpawn(spawn))
}
