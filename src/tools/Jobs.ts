/**
 * Commands that run beside the conversation. They belong to the workspace: when its scope closes, all are stopped.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TaggedError } from "../domain/TaggedError.ts"
import * as Layers from "../domain/Layers.ts"
import { Ids } from "../domain/Ids.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import type { ExitStatus, RunningProcess, SpawnInput } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"

/** @since 0.1.0 @category models */
export interface JobView {
  readonly id: string
  readonly command: string
  /** null = it runs. */
  readonly exit: ExitStatus | null
  /** `kill` ended it. */
  readonly killed: boolean
}

/** `dropped_bytes` of this news were not kept: they came before `text`. */
interface JobNews extends JobView {
  readonly text: string
  readonly dropped_bytes: number
}

class JobLimitReached
  extends TaggedError("@hanzo/dev/tools/JobLimitReached")("JobLimitReached", () => ({ running: Schema.Number }))
{
  override get message(): string {
    return `${this.running} background jobs are running; stop one with bash_kill first`
  }
}

/** @since 0.1.0 @category models */
export interface JobsService {
  /** Returns as soon as the process stands. `session_id` is whose job it is. */
  readonly start: (
    command: string,
    input: SpawnInput,
    session_id?: string
  ) => Effect.Effect<JobView, ProcessError | JobLimitReached>
  /** Output since the last call, and how the job stands; none = no such job. */
  readonly read: (id: string) => Effect.Effect<Option.Option<JobNews>>
  /** Stops the job's process group and waits for its end; a job that has ended stays as it is. */
  readonly kill: (id: string) => Effect.Effect<Option.Option<JobView>>
  /** Stops all jobs of a session and waits for their ends. */
  readonly endOf: (session_id: string) => Effect.Effect<void>
  /** All that are known, oldest first. */
  readonly list: Effect.Effect<ReadonlyArray<JobView>>
}

/** Bytes of unread output kept for a job: the newest. @since 0.1.0 @category constants */
export const maxUnreadBytes = 1024 * 1024
/** @since 0.1.0 @category constants */
export const maxRunning = 32
/** Ended jobs that are remembered. */
const maxEnded = 100

const makeDecoder = () => new TextDecoder("utf-8", { ignoreBOM: true })

interface Job {
  readonly id: string
  readonly command: string
  readonly session_id: string | undefined
  readonly process: RunningProcess
  readonly decoder: ReturnType<typeof makeDecoder>
  readonly done: Deferred.Deferred<void>
  pieces: Array<Uint8Array>
  size: number
  dropped: number
  exit: ExitStatus | null
  killed: boolean
}

const view = (job: Job): JobView => ({ id: job.id, command: job.command, exit: job.exit, killed: job.killed })

const keep = (job: Job, bytes: Uint8Array): void => {
  job.pieces.push(bytes)
  job.size += bytes.byteLength
  while (job.size > maxUnreadBytes) {
    const first = job.pieces.shift()
    if (first === undefined) break
    job.size -= first.byteLength
    job.dropped += first.byteLength
  }
}

const news = (job: Job): JobNews => {
  const text = job.pieces.map((bytes) => job.decoder.decode(bytes, { stream: true })).join("") +
    (job.exit === null ? "" : job.decoder.decode())
  const answer = { ...view(job), text, dropped_bytes: job.dropped }
  job.pieces = []
  job.size = 0
  job.dropped = 0
  return answer
}

const make = Effect.gen(function*() {
  const spawner = yield* Spawner
  const ids = yield* Ids
  const owner = yield* Effect.scope
  const jobs = new Map<string, Job>()

  const forgetOldest = (): void => {
    const ended = Array.from(jobs.values()).filter((job) => job.exit !== null)
    for (const job of ended.slice(0, Math.max(0, ended.length - maxEnded))) jobs.delete(job.id)
  }

  const start: JobsService["start"] = (command, input, session_id) =>
    Effect.uninterruptible(Effect.gen(function*() {
      const running = Array.from(jobs.values()).filter((job) => job.exit === null).length
      if (running >= maxRunning) return yield* new JobLimitReached({ running })
      const scope = yield* Scope.make()
      const id = yield* ids.make("job")
      const done = yield* Deferred.make<void>()
      const child = yield* Effect.onError(
        Scope.extend(spawner.spawn(input), scope),
        () => Scope.close(scope, Exit.void)
      )
      const job: Job = {
        id,
        command,
        session_id,
        process: child,
        decoder: makeDecoder(),
        done,
        pieces: [],
        size: 0,
        dropped: 0,
        exit: null,
        killed: false
      }
      jobs.set(id, job)
      const watch = Effect.gen(function*() {
        yield* Stream.runForEachChunk(child.output, (chunks) =>
          Effect.sync(() => {
            for (const { bytes } of chunks) keep(job, bytes)
          }))
        job.exit = yield* child.exit
        forgetOldest()
      })
      // The workspace's scope owns the fiber; the process ends with it in every case.
      yield* Effect.forkIn(
        Effect.ensuring(
          Effect.interruptible(watch),
          Effect.zipRight(Scope.close(scope, Exit.void), Deferred.succeed(done, undefined))
        ),
        owner
      )
      return view(job)
    }))

  const stop = (job: Job): Effect.Effect<void> => {
    job.killed = true
    return Effect.zipRight(job.process.stop, Deferred.await(job.done))
  }

  return {
    start,
    read: (id) => Effect.sync(() => Option.map(Option.fromNullable(jobs.get(id)), news)),
    kill: (id) =>
      Effect.suspend(() => {
        const job = jobs.get(id)
        if (job === undefined) return Effect.succeedNone
        if (job.exit !== null) return Effect.succeedSome(view(job))
        return Effect.map(stop(job), () => Option.some(view(job)))
      }),
    endOf: (session_id) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...jobs.values()].filter((job) => job.session_id === session_id && job.exit === null),
          stop,
          { concurrency: "unbounded", discard: true }
        )
      ),
    list: Effect.sync(() => Array.from(jobs.values(), view))
  } satisfies JobsService
})

/** @since 0.1.0 @category services */
export class Jobs extends Context.Tag("@hanzo/dev/tools/Jobs")<Jobs, JobsService>() {
  static readonly layer: Layer.Layer<Jobs, never, Spawner | Ids> = Layers.scoped(Jobs, make)
}
