/**
 * `bash`, `bash_output`, `bash_kill`: commands in the workspace, in the foreground with a time limit or as background
 * jobs (reading 2.10, subjects 7.5).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Streams from "../domain/Streams.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { failure, success } from "../domain/ToolExecutor.ts"
import type { ExitStatus } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"
import { defineTool } from "./Define.ts"
import { Jobs, type JobView } from "./Jobs.ts"
import { OutputFiles } from "./OutputFiles.ts"
import { makeRecorder, type Recorded } from "./Recorder.ts"
import { Shell } from "./Shell.ts"
import { type NativeTool, ToolFailure, type ToolRun } from "./Tool.ts"

const defaultTimeoutMs = 120_000
const maxTimeoutMs = 600_000

const BashInput = () =>
  Schema.Struct({
    command: Schema.NonEmptyString.annotations({ description: "The command line, run by bash." }),
    timeout_ms: Schema.optional(
      Schema.Int.pipe(Schema.between(1, maxTimeoutMs)).annotations({
        description:
          `Stops the command after this many milliseconds. Default ${defaultTimeoutMs}, at most ${maxTimeoutMs}; ` +
          "a background job has no limit unless this is given."
      })
    ),
    background: Schema.optional(
      Schema.Boolean.annotations({
        description: "Start it as a job and return its id at once; read it with bash_output, end it with bash_kill."
      })
    )
  })

const JobInput = () =>
  Schema.Struct({
    id: Schema.NonEmptyString.annotations({ description: "Id of the job, as bash returned it." })
  })

const seconds = (ms: number): string => `${ms / 1000} s`

const ended = (exit: ExitStatus): string =>
  exit.code !== null ? `exit code ${exit.code}` : `ended by signal ${exit.signal ?? "unknown"}`

const withRecorded = (result: ToolResult, recorded: Recorded): ToolResult => ({
  ...result,
  output: recorded.output,
  ...(recorded.truncated === undefined ? {} : { truncated: recorded.truncated })
})

const settle = (recorded: Recorded, exit: ExitStatus, timeout_ms: number): ToolResult => {
  if (exit.timed_out) {
    const remedy = timeout_ms < maxTimeoutMs
      ? `raise timeout_ms (at most ${maxTimeoutMs}) or use background: true`
      : "use background: true"
    return withRecorded(
      failure(
        `timed out after ${
          seconds(timeout_ms)
        }; the command and everything it started were stopped. To let it run longer, ${remedy}.`
      ),
      recorded
    )
  }
  if (exit.code !== 0) return withRecorded(failure(ended(exit)), recorded)
  return recorded.output === "" ? success("(no output, exit code 0)") : withRecorded(success(""), recorded)
}

const status = (job: JobView): string => {
  if (job.exit === null) return `job ${job.id} is running`
  if (job.killed) return `job ${job.id} was stopped by bash_kill (${ended(job.exit)})`
  if (job.exit.timed_out) return `job ${job.id} reached its time limit and was stopped`
  return `job ${job.id} has ended: ${ended(job.exit)}`
}

/**
 * The three tools. A foreground command's process group ends with the call, however the call ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeBashTools = Effect.gen(function*() {
  const shell = yield* Shell
  const spawner = yield* Spawner
  const files = yield* OutputFiles
  const jobs = yield* Jobs

  const foreground = (command: string, timeout_ms: number, run: ToolRun): Effect.Effect<ToolResult, ToolFailure> =>
    Effect.scoped(Effect.gen(function*() {
      const recorder = yield* makeRecorder(files, run)
      const child = yield* spawner.spawn({ ...shell.commandLine(command), timeout: Duration.millis(timeout_ms) })
      const show = (text: string): Effect.Effect<void> => text === "" ? Effect.void : run.emit(text)
      yield* Streams.forEachPulled(yield* child.reads, (chunks) =>
        Effect.gen(function*() {
          for (const { bytes } of chunks) yield* show(yield* recorder.push(bytes))
        }))
      const exit = yield* child.exit
      yield* show(yield* recorder.end)
      return settle(yield* recorder.result, exit, timeout_ms)
    })).pipe(Effect.catchTag("ProcessError", (error) => Effect.fail(new ToolFailure({ message: error.message }))))

  const background = (
    command: string,
    timeout_ms: number | undefined,
    session_id: string
  ): Effect.Effect<ToolResult, ToolFailure> =>
    jobs.start(command, {
      ...shell.commandLine(command),
      ...(timeout_ms === undefined ? {} : { timeout: Duration.millis(timeout_ms) })
    }, session_id).pipe(
      Effect.map((job) =>
        success(`started job ${job.id}. Read its output with bash_output, end it with bash_kill (id: "${job.id}").`)
      ),
      Effect.catchAll((error) => Effect.fail(new ToolFailure({ message: error.message })))
    )

  const unknown = (id: string): Effect.Effect<never, ToolFailure> =>
    Effect.flatMap(jobs.list, (all) =>
      Effect.fail(
        new ToolFailure({
          message: `there is no job "${id}"; ${
            all.length === 0 ? "none was started" : `known jobs: ${all.map((job) => job.id).join(", ")}`
          }`
        })
      ))

  const bash = defineTool({
    name: "bash",
    description:
      "Runs a command line with bash in the workspace directory and returns stdout and stderr together, in their order. " +
      "Every call starts a new shell: directory and variables do not carry over. Standard input is empty, so nothing can " +
      "be answered; long output is cut in the middle and kept whole in a file. What the command left running ends with " +
      "the call; use background: true for servers and watchers.",
    input: BashInput,
    kind: "execute",
    read_only: false,
    prepare: ({ background: detached, command, timeout_ms }) =>
      Effect.succeed({
        subjects: [command],
        inside_workspace: false,
        run: (run) =>
          detached === true
            ? background(command, timeout_ms, run.session_id)
            : foreground(command, timeout_ms ?? defaultTimeoutMs, run)
      })
  })

  const bashOutput = defineTool({
    name: "bash_output",
    description: "Returns what a background job has written since the last call, and whether it still runs.",
    input: JobInput,
    kind: "read",
    read_only: true,
    prepare: ({ id }) =>
      Effect.succeed({
        subjects: [],
        inside_workspace: false,
        run: (run) =>
          Effect.scoped(Effect.gen(function*() {
            const news = yield* jobs.read(id)
            if (Option.isNone(news)) return yield* unknown(id)
            const { dropped_bytes, text } = news.value
            const recorder = yield* makeRecorder(files, run)
            yield* recorder.push(new TextEncoder().encode(text))
            yield* recorder.end
            const recorded = yield* recorder.result
            const lost = dropped_bytes === 0 ? "" : `[${dropped_bytes} older bytes were not kept]\n`
            const body = recorded.output === "" || recorded.output.endsWith("\n")
              ? recorded.output
              : `${recorded.output}\n`
            return withRecorded(success(""), { ...recorded, output: `${lost}${body}[${status(news.value)}]` })
          }))
      })
  })

  const bashKill = defineTool({
    name: "bash_kill",
    description: "Stops a background job and everything it started.",
    input: JobInput,
    kind: "other",
    read_only: false,
    prepare: ({ id }) =>
      Effect.succeed({
        subjects: [],
        inside_workspace: false,
        run: () =>
          Effect.flatMap(jobs.kill(id), (job) =>
            Option.isNone(job) ? unknown(id) : Effect.succeed(success(status(job.value))))
      })
  })

  const tools: ReadonlyArray<NativeTool> = [{ ...bash, release: jobs.endOf }, bashOutput, bashKill]
  return tools
})
