/**
 * Drives an adapter (reading 18.4): any command that answers requests line by line.
 *
 * All requests of a domain are written ahead, so that adapters may answer late, in any order or only at the end of their
 * input. When something goes wrong and does not say itself which case it concerns, the first unanswered one is suspected:
 * it is asked again alone, in a process of its own, and that process says what becomes of it. The rest then goes on in a
 * new one. So each verdict is that of the case itself, and no fault costs more than one case.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Processes } from "../platform/Processes.ts"
import type { Answer } from "./Compare.ts"
import { isFields } from "./Domain.ts"
import { LineBuffer } from "./Lines.ts"
import { CheckError } from "./VectorFile.ts"

/** A request: `line` is written as it stands, with an LF behind it; its `id` is unique among those of one run. @since 0.1.0 @category models */
export interface Request {
  readonly id: string
  readonly line: string
}

/**
 * `timeout`: no answer within the limit. `crash`: the process ended before it answered. `protocol_error`: something on
 * stdout that is no answer; `got` is its beginning.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fault {
  readonly kind: "timeout" | "crash" | "protocol_error"
  readonly message: string
  readonly got?: string
}

/** @since 0.1.0 @category models */
export interface AdapterResult {
  readonly verdicts: ReadonlyMap<string, Answer | Fault>
  /** A fault behind the last answer: a bad exit, output nobody asked for. */
  readonly ending: Fault | null
}

/** How long after the end of its input an adapter may take to exit. */
const exitLimit = 5000
const grace = Duration.millis(500)
const shownBytes = 2000

interface Session {
  readonly answers: ReadonlyMap<string, Answer>
  readonly fault: Fault | null
  /** The request that the fault names itself. */
  readonly culprit: string | null
  /** The exit code, when the process ended by itself without any answer. */
  readonly exit_code: number | null
}

/** `id` is whose answer it was meant to be, when that can be read. */
interface Unusable {
  readonly id: string | null
  readonly what: string
}

const answerOf = (value: unknown): { readonly id: string; readonly answer: Answer } | Unusable => {
  if (!isFields(value)) return { id: null, what: "a line that is no JSON object" }
  const { error, id, output } = value
  if (typeof id !== "string") return { id: null, what: "an answer whose id is no string" }
  if (Object.hasOwn(value, "output") === Object.hasOwn(value, "error")) {
    return { id, what: "an answer that has not exactly one of output and error" }
  }
  if (Object.hasOwn(value, "output")) return { id, answer: { output } }
  return isFields(error) && typeof error["code"] === "string"
    ? { id, answer: { error: { code: error["code"] } } }
    : { id, what: "an error without a code" }
}

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const protocolError = (what: string, line: string): Fault => ({
  kind: "protocol_error",
  message: `the adapter wrote ${what}`,
  got: line.length > 200 ? `${line.slice(0, 200)}...` : line
})

/** One process, from its start to its end. */
const session = (
  command: string,
  requests: ReadonlyArray<Request>,
  timeout_ms: number
): Effect.Effect<Session, CheckError, Processes | Environment> =>
  Effect.scoped(Effect.gen(function*() {
    const processes = yield* Processes
    const environment = yield* Environment
    const child = yield* Effect.mapError(
      processes.spawn({
        argv: ["sh", "-c", command],
        cwd: environment.cwd,
        env: childEnvironment(environment.vars),
        stdin: "pipe",
        grace
      }),
      (error) => new CheckError({ reason: "adapter", message: error.message })
    )

    const encoder = new TextEncoder()
    yield* Effect.forkScoped(
      Effect.forEach(requests, ({ line }) => child.write(encoder.encode(`${line}\n`)), { discard: true }).pipe(
        // It stopped reading; what it still says, and its end, decide.
        Effect.ignore,
        Effect.zipRight(child.endInput)
      )
    )
    let said = ""
    const decoder = new TextDecoder()
    const listener = yield* Effect.forkScoped(Stream.runForEachChunk(child.stderr, (chunks) =>
      Effect.sync(() => {
        for (const bytes of chunks) said = (said + decoder.decode(bytes, { stream: true })).slice(-shownBytes)
      })))

    const asked = new Set(requests.map(({ id }) => id))
    const answers = new Map<string, Answer>()
    const buffer = new LineBuffer()
    let culprit: string | null = null
    const take = (lines: ReturnType<LineBuffer["feed"]>): Fault | null => {
      for (const line of lines) {
        if (typeof line !== "string") {
          return protocolError(line.bad === "too_long" ? "a line of more than 64 MiB" : "a line that is not UTF-8", "")
        }
        const got = answerOf(parsed(line))
        if (got.id !== null && asked.has(got.id)) culprit = got.id
        if (!("answer" in got)) return protocolError(got.what, line)
        if (culprit === null) return protocolError("an answer to an id that was not asked", line)
        if (answers.has(got.id)) return protocolError("a second answer to one id", line)
        culprit = null
        answers.set(got.id, got.answer)
      }
      return null
    }

    const pull = yield* Stream.toPull(child.stdout)
    const ended = (fault: Fault | null, exit_code: number | null = null): Session => ({
      answers,
      fault,
      culprit,
      exit_code
    })
    let last = yield* Clock.currentTimeMillis
    while (true) {
      const complete = answers.size === requests.length
      const limit = complete ? exitLimit : timeout_ms
      const left = last + limit - (yield* Clock.currentTimeMillis)
      const read = yield* Effect.timeoutOption(Effect.option(pull), Duration.millis(Math.max(0, left)))
      if (Option.isNone(read)) {
        return ended(
          complete
            ? { kind: "protocol_error", message: `did not exit within ${exitLimit} ms of the end of its input` }
            : { kind: "timeout", message: `no answer within ${timeout_ms} ms` }
        )
      }
      if (Option.isNone(read.value)) break
      const before = answers.size
      const fault = take(Chunk.toReadonlyArray(read.value.value).flatMap((bytes) => buffer.feed(bytes)))
      if (fault !== null) return ended(fault)
      if (answers.size > before) last = yield* Clock.currentTimeMillis
    }

    const fault = take(buffer.finish())
    if (fault !== null) return ended(fault)
    const exit = yield* Effect.timeoutOption(child.exit, Duration.millis(exitLimit))
    yield* Effect.timeoutOption(Fiber.join(listener), grace)
    const how = Option.isNone(exit)
      ? "closed its output but did not exit"
      : exit.value.signal === null
      ? `exited with code ${exit.value.code}`
      : `ended by ${exit.value.signal}`
    const words = said.trim() === "" ? "" : `; stderr: ${said.trim()}`
    if (answers.size < requests.length) {
      const code = Option.isSome(exit) && answers.size === 0 ? exit.value.code : null
      return ended({ kind: "crash", message: `${how} before it answered${words}` }, code)
    }
    return Option.isSome(exit) && exit.value.code === 0
      ? ended(null)
      : ended({ kind: "protocol_error", message: `${how} after its last answer; it must exit with 0${words}` })
  }))

/**
 * Asks all requests and says for each what came. Fails only when the command cannot be started at all. `timeout_ms` is
 * the longest time without an answer while one is due.
 *
 * @since 0.1.0
 * @category combinators
 */
export const drive = (
  command: string,
  requests: ReadonlyArray<Request>,
  timeout_ms: number
): Effect.Effect<AdapterResult, CheckError, Processes | Environment> =>
  Effect.gen(function*() {
    const verdicts = new Map<string, Answer | Fault>()
    let pending = requests
    while (pending.length > 0) {
      const together = yield* session(command, pending, timeout_ms)
      const started = verdicts.size > 0 || together.answers.size > 0
      if (!started && (together.exit_code === 126 || together.exit_code === 127)) {
        return yield* new CheckError({
          reason: "adapter",
          message: `cannot start the adapter ${JSON.stringify(command)}: ${together.fault?.message ?? ""}`
        })
      }
      for (const [id, answer] of together.answers) verdicts.set(id, answer)
      if (together.culprit !== null && together.fault !== null) verdicts.set(together.culprit, together.fault)
      const unanswered = pending.filter(({ id }) => !verdicts.has(id))
      if (together.culprit !== null) {
        pending = unanswered
        continue
      }
      const [suspect] = unanswered
      if (suspect === undefined) return { verdicts, ending: together.fault }

      const alone = pending.length === 1 ? together : yield* session(command, [suspect], timeout_ms)
      const answer = alone.answers.get(suspect.id)
      const garbled = alone.fault?.got !== undefined
      verdicts.set(
        suspect.id,
        answer !== undefined && !garbled ? answer : alone.fault ?? { kind: "crash", message: "no answer" }
      )
      pending = unanswered.slice(1)
    }
    return { verdicts, ending: null }
  })
