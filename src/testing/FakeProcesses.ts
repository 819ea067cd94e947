/**
 * Processes that are played, not started: what would have run is written down, output and exit are given beforehand.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { ProcessError } from "../platform/ProcessError.ts"
import { type ExitStatus, Processes, type ProcessesService, type SpawnInput } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"

/** `output` are pieces in the order in which they come; `delay_ms` waits by the Clock before a piece or the exit. @since 0.1.0 @category models */
export type FakeOutput =
  | { readonly stdout: string | Uint8Array }
  | { readonly stderr: string | Uint8Array }
  | { readonly delay_ms: number }

/**
 * How a process goes. `output` comes first, then it exits with `code` (default 0) or `signal`; with `hang` it goes on
 * until it is stopped or its deadline passes. `error` keeps it from starting.
 *
 * @since 0.1.0
 * @category models
 */
export interface FakeProcess {
  readonly output?: ReadonlyArray<FakeOutput>
  readonly code?: number
  readonly signal?: string
  readonly hang?: boolean
  readonly error?: ProcessError["reason"]
}

/** What became of a process. `stdin` is all text that was written. @since 0.1.0 @category models */
export interface StartedProcess {
  readonly input: SpawnInput
  readonly pid: number
  readonly stdin: string
  /** Null while it runs. */
  readonly exit: ExitStatus | null
}

/** @since 0.1.0 @category models */
export interface FakeProcessesService {
  /** Every process that was started, in order. */
  readonly started: Effect.Effect<ReadonlyArray<StartedProcess>>
}

/** Answers what a process does; null = there is no such program. @since 0.1.0 @category models */
export type FakeProgram = (input: SpawnInput) => FakeProcess | null

const encoder = new TextEncoder()
const decoder = new TextDecoder()

interface Record {
  readonly input: SpawnInput
  readonly pid: number
  stdin: string
  exit: ExitStatus | null
}

/** Everything that was said is in `pieces` before the process is over: readers may come late. */
const outputOf = (
  pieces: ReadonlyArray<{ readonly fd: 1 | 2; readonly bytes: Uint8Array }>,
  changed: () => Deferred.Deferred<void>,
  over: () => boolean
): Stream.Stream<{ readonly fd: 1 | 2; readonly bytes: Uint8Array }> => {
  const from = (at: number): Stream.Stream<{ readonly fd: 1 | 2; readonly bytes: Uint8Array }> =>
    Stream.suspend(() => {
      const fresh = pieces.slice(at)
      if (fresh.length > 0) return Stream.concat(Stream.fromIterable(fresh), from(at + fresh.length))
      if (over()) return Stream.empty
      return Stream.flatMap(Stream.fromEffect(Deferred.await(changed())), () => from(at))
    })
  return from(0)
}

const make = (program: FakeProgram) => {
  const started: Array<Record> = []

  const spawn: ProcessesService["spawn"] = (input) =>
    Effect.gen(function*() {
      const fake = program(input)
      if (fake === null || fake.error !== undefined) {
        const reason = fake?.error ?? "not_found"
        return yield* new ProcessError({
          reason,
          program: input.argv[0],
          message: `cannot start ${input.argv[0]}: ${reason} (FakeProcesses)`
        })
      }
      const record: Record = {
        input,
        pid: 1000 + started.length,
        stdin: input.stdin instanceof Uint8Array ? decoder.decode(input.stdin) : "",
        exit: null
      }
      started.push(record)
      const settled = yield* Deferred.make<ExitStatus>()
      const pieces: Array<{ readonly fd: 1 | 2; readonly bytes: Uint8Array }> = []
      let change = yield* Deferred.make<void>()
      const wake = Effect.gen(function*() {
        const before = change
        change = yield* Deferred.make<void>()
        yield* Deferred.succeed(before, undefined)
      })
      const settle = (status: ExitStatus) =>
        Effect.suspend(() => {
          if (record.exit !== null) return Effect.void
          record.exit = status
          return Effect.zipRight(Deferred.succeed(settled, status), wake)
        })

      const life = Effect.gen(function*() {
        for (const step of fake.output ?? []) {
          if ("delay_ms" in step) {
            yield* Effect.sleep(step.delay_ms)
            continue
          }
          const [fd, content] = "stdout" in step ? [1 as const, step.stdout] : [2 as const, step.stderr]
          pieces.push({ fd, bytes: typeof content === "string" ? encoder.encode(content) : content })
          yield* wake
        }
        if (fake.hang === true) return yield* Effect.never
        yield* settle({
          code: fake.signal === undefined ? fake.code ?? 0 : null,
          signal: fake.signal ?? null,
          timed_out: false
        })
      })
      const running = yield* Effect.forkScoped(life)
      const end = (timed_out: boolean) =>
        Effect.gen(function*() {
          yield* settle({ code: null, signal: "SIGTERM", timed_out })
          yield* Fiber.interruptFork(running)
          return yield* Deferred.await(settled)
        })
      if (input.timeout !== undefined) {
        yield* Effect.forkScoped(Effect.zipRight(Effect.sleep(input.timeout), end(true)))
      }
      yield* Effect.addFinalizer(() => end(false))

      const all = outputOf(pieces, () => change, () => record.exit !== null)
      const only = (fd: 1 | 2) => Stream.map(Stream.filter(all, (piece) => piece.fd === fd), (piece) => piece.bytes)
      return {
        pid: record.pid,
        stdout: only(1),
        stderr: only(2),
        output: all,
        reads: Stream.toPull(all),
        exit: Deferred.await(settled),
        stop: end(false),
        write: (bytes: Uint8Array) =>
          Effect.suspend(() => {
            if (input.stdin !== "pipe" || record.exit !== null) {
              return Effect.fail(
                new ProcessError({
                  reason: "closed",
                  program: input.argv[0],
                  message: `cannot write to ${input.argv[0]}: closed (FakeProcesses)`
                })
              )
            }
            record.stdin += decoder.decode(bytes)
            return Effect.void
          }),
        post: (text: string, done: (ok: boolean) => void) => {
          const open = input.stdin === "pipe" && record.exit === null
          if (open) record.stdin += text
          queueMicrotask(() => done(open))
        },
        endInput: Effect.void
      }
    })

  const run: ProcessesService["run"] = (input) =>
    Effect.scoped(Effect.gen(function*() {
      const limit = input.max_bytes ?? 10 * 1024 * 1024
      const running = yield* spawn(input)
      const kept = { 1: new Uint8Array(0), 2: new Uint8Array(0) }
      let truncated = false
      yield* Stream.runForEach(running.output, ({ bytes, fd }) =>
        Effect.sync(() => {
          const all = new Uint8Array([...kept[fd], ...bytes])
          truncated = truncated || all.length > limit
          kept[fd] = all.slice(0, limit)
        }))
      return { ...(yield* running.exit), stdout: kept[1], stderr: kept[2], truncated }
    }))

  const processes: ProcessesService = { spawn, run }
  return { processes, started: Effect.sync(() => started.map((record) => ({ ...record }))) }
}

/** @since 0.1.0 @category services */
export class FakeProcesses extends Context.Tag("@hanzo/dev/testing/FakeProcesses")<
  FakeProcesses,
  FakeProcessesService
>() {
  /**
   * Programs by name (`argv[0]`, without its directory), or one function for all. Serves `Processes` and `Spawner`.
   */
  static readonly layer = (
    programs: FakeProgram | Readonly<{ [program: string]: FakeProcess | FakeProgram }>
  ): Layer.Layer<FakeProcesses | Processes | Spawner> =>
    Layer.effectContext(Effect.sync(() => {
      const { processes, started } = make(
        typeof programs === "function" ? programs : (input) => {
          const name = input.argv[0].split("/").at(-1) ?? ""
          const found = Object.hasOwn(programs, name) ? programs[name] : undefined
          return found === undefined ? null : typeof found === "function" ? found(input) : found
        }
      )
      return Context.make(FakeProcesses, { started }).pipe(
        Context.add(Processes, processes),
        Context.add(Spawner, processes)
      )
    }))
}
