/**
 * MCP over the pipes of a child process (HIP-301 section 1: `StdioMcpTransport`; readings 1.1, 1.3, 1.5, G5, G6).
 *
 * One JSON object a line each way. The child has a process group of its own, an environment without credentials, and an
 * end on every path: its input is closed, 2 s later its group gets TERM, 3 s later KILL.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { defaultMaxMessageBytes } from "../codec/Framing.ts"
import * as LineFraming from "../codec/LineFraming.ts"
import * as LastWords from "../codec/LastWords.ts"
import * as Sha256 from "../codec/Sha256.ts"
import type { AppendLogService } from "../platform/AppendLog.ts"
import { childEnvironment, knownSecrets } from "../platform/ChildEnvironment.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import type { ExitStatus, ProcessesService, RunningProcess } from "../platform/Processes.ts"
import * as PipeWriter from "../rpc/PipeWriter.ts"
import * as StreamDuplex from "../rpc/StreamDuplex.ts"
import { connect } from "./Connect.ts"
import type { ConnectOptions, McpConnection } from "./Connection.ts"
import { McpError } from "./McpError.ts"
import * as ServerLog from "./ServerLog.ts"
import type { McpTransport, OpenTransport } from "./Transport.ts"

/** Of a definition with `command`, variables expanded (1.1). @since 0.1.0 @category models */
export interface StdioDefinition {
  /** The server's name in the settings. */
  readonly server: string
  /** Program and arguments, never through a shell. */
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** Absolute. */
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Default 32 MiB. */
  readonly max_message_bytes?: number
}

/** @since 0.1.0 @category models */
export interface StdioServices {
  /** The plain one: servers are the user's own; the enforcing one with `sandbox: true`. */
  readonly processes: ProcessesService
  readonly log: AppendLogService
  /** Our own environment. */
  readonly vars: ReadonlyMap<string, string>
  /** Names of the variables that hold keys by the settings: no child gets them. */
  readonly key_variables?: ReadonlyArray<string>
  /** Absolute; log files go into it. */
  readonly log_directory: string
}

/** From closing its input to TERM. @since 0.1.0 @category constants */
export const inputGrace = Duration.seconds(2)
/** From TERM to KILL. @since 0.1.0 @category constants */
export const termGrace = Duration.seconds(3)
/** Silence of the probe for so long means a legacy server (1.2). @since 0.1.0 @category constants */
export const probeSilence = Duration.seconds(2)
/**
 * A child that closed a pipe has so long to end by itself before it counts as one that goes on without: so many looks of so
 * long each, as a machine that stands still takes no more than one of them.
 */
const endGrace = { looks: 10, each: Duration.millis(50) }

/** Waits in an uninterruptible region too, but never longer. */
const within = <A>(effect: Effect.Effect<A>, duration: Duration.Duration): Effect.Effect<Option.Option<A>> =>
  effect.pipe(Effect.interruptible, Effect.timeoutOption(duration))

/** The same for {@link endGrace}. */
const soon = <A>(effect: Effect.Effect<A>, looks = endGrace.looks): Effect.Effect<Option.Option<A>> =>
  Effect.flatMap(
    within(effect, endGrace.each),
    (found) => Option.isSome(found) || looks <= 1 ? Effect.succeed(found) : soon(effect, looks - 1)
  )

const words = (status: ExitStatus): string =>
  status.signal === null ? `exit code ${status.code}` : `ended by ${status.signal}`

/** @since 0.1.0 @category models */
export class StdioMcpTransport implements McpTransport {
  readonly kind = "stdio"
  readonly server: string
  readonly probe_silence = probeSilence
  readonly open: Effect.Effect<OpenTransport, McpError, Scope.Scope>

  constructor(definition: StdioDefinition, services: StdioServices) {
    this.server = definition.server
    this.open = open(definition, services)
  }

  /** Starts the server, finds out its era and shakes hands. Everything ends with the scope. */
  connect(options: ConnectOptions): Effect.Effect<McpConnection, McpError, Scope.Scope> {
    return connect(this, options)
  }
}

const startError = (server: string, cwd: string, error: ProcessError): McpError => {
  const remedy = error.reason === "not_found"
    ? "; install it, or give its absolute path as command"
    : error.reason === "bad_directory"
    ? `; correct cwd (${cwd})`
    : ""
  return new McpError({ reason: "start_failed", server, sent: false, message: `${error.message}${remedy}` })
}

/** The last lines of its stderr, for a message. */
const lastWords = (tail: string): string => {
  const text = LastWords.of(tail, { lines: 5, limit: 500 })
  return text === "" ? "; it wrote nothing to stderr" : `; the last it wrote to stderr: ${text}`
}

const open = (
  definition: StdioDefinition,
  services: StdioServices
): Effect.Effect<OpenTransport, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const { server } = definition
    const scope = yield* Effect.scope
    const log = ServerLog.make({
      log: services.log,
      file: `${services.log_directory}/${ServerLog.fileName(server, Sha256.sha256Hex(server))}`,
      server,
      secrets: knownSecrets(Object.entries(definition.env ?? {}))
    })
    const running: RunningProcess = yield* Effect.mapError(
      services.processes.spawn({
        argv: definition.argv,
        cwd: definition.cwd,
        env: childEnvironment(services.vars, {
          drop: services.key_variables ?? [],
          ...(definition.env === undefined ? {} : { set: definition.env })
        }),
        stdin: "pipe",
        grace: termGrace
      }),
      (error) => startError(server, definition.cwd, error)
    )
    yield* log.note(`started ${definition.argv[0]}, process ${running.pid}`)

    const reader = yield* Effect.forkIn(
      Stream.runForEachChunk(running.stderr, (pieces) => Effect.forEach(pieces, log.stderr, { discard: true })).pipe(
        Effect.ensuring(log.flush)
      ),
      scope
    )
    /** Its end is known; so is then all that it wrote to stderr. */
    const drained = soon(Fiber.await(reader))

    let told_to_end = false
    const ending: Effect.Effect<ExitStatus> = running.endInput.pipe(
      Effect.zipRight(within(running.exit, inputGrace)),
      Effect.flatMap((status) => {
        told_to_end = Option.isNone(status)
        return running.stop
      }),
      Effect.zipLeft(drained),
      Effect.tap((status) => log.note(words(status)))
    )
    const stopped = yield* Deferred.make<ExitStatus>()
    let stopping = false
    /** Once, in a fiber that no waiter's interruption reaches; all wait for it. */
    const stop: Effect.Effect<ExitStatus> = Effect.uninterruptible(Effect.suspend(() => {
      if (stopping) return Deferred.await(stopped)
      stopping = true
      return Effect.zipRight(Effect.forkDaemon(Effect.intoDeferred(ending, stopped)), Deferred.await(stopped))
    }))
    // After the spawn and the reader, so that it runs before the group is told to end and while stderr is still read.
    yield* Effect.addFinalizer(() => stop)
    const stopSoon = Effect.forkIn(stop, scope)

    // Nobody can be asked anything any more: the connection is over, also when the process goes on.
    const deaf = yield* Deferred.make<void>()
    yield* Effect.forkIn(Effect.interruptible(Effect.zipRight(Deferred.await(deaf), stop)), scope)
    /** Errors of writes: what became of the server was not known yet. */
    const unread = new WeakSet<McpError>()
    const writer = PipeWriter.make(running.post, (may_have_arrived) => {
      Deferred.unsafeDone(deaf, Effect.void)
      const error = new McpError({
        reason: "closed",
        server,
        ...(may_have_arrived ? {} : { sent: false }),
        message: `the MCP server ${server} no longer reads its stdin`
      })
      unread.add(error)
      return error
    })

    /** How its process ended; null = it goes on. */
    const exited = (sent: { readonly sent?: boolean | undefined }): Effect.Effect<McpError | null> =>
      Effect.gen(function*() {
        const status = yield* soon(running.exit)
        if (Option.isNone(status)) return null
        yield* drained
        const how = told_to_end && (yield* Deferred.isDone(deaf)) ? "no longer read its stdin and was stopped" : "ended"
        return new McpError({
          reason: "exited",
          server,
          ...(sent.sent === undefined ? {} : { sent: sent.sent }),
          message: `the MCP server ${server} ${how} (${words(status.value)})${lastWords(log.tail())}`
        })
      })
    const explain = (error: McpError): Effect.Effect<McpError> =>
      !unread.has(error) ? Effect.succeed(error) : Effect.map(
        exited(error),
        (found) =>
          found ?? new McpError({
            ...error,
            message: `${error.message} and is being stopped${lastWords(log.tail())}`
          })
      )

    const max = definition.max_message_bytes ?? defaultMaxMessageBytes
    let noisy = false
    const ended: Effect.Effect<McpError> = Effect.gen(function*() {
      const found = yield* exited({})
      if (found !== null) return found
      yield* stopSoon
      return new McpError({
        reason: "closed",
        server,
        message: `the MCP server ${server} closed its stdout and went on; it is being stopped${lastWords(log.tail())}`
      })
    })

    const duplex = StreamDuplex.make<McpError, string>({
      incoming: running.stdout,
      ...(running.arrivals === undefined ? {} : { arrivals: running.arrivals }),
      write: writer.write,
      post: writer.post,
      framing: LineFraming.make({ max_message_bytes: max }),
      encode: LineFraming.line,
      onFault: (fault) =>
        Effect.as(
          stopSoon,
          new McpError({
            reason: "message_too_large",
            server,
            message:
              `the MCP server ${server} sent ${fault.message} (max_message_bytes); the connection is closed, the server is being stopped`
          })
        ),
      onEnd: ended,
      onNoise: (text) => {
        const told = noisy
          ? Effect.void
          : Effect.logWarning(`MCP server ${server}: it writes to stdout what is no message; see ${log.file}`)
        noisy = true
        return Effect.zipRight(told, log.noise(text))
      }
    })

    return {
      ...duplex,
      negotiated: () => Effect.void,
      resetSession: Effect.void,
      cancelsBy: () => "notification",
      refusesTool: () => null,
      explain,
      report: Effect.sync(() => ({ stderr: log.tail(), pid: running.pid, log_file: log.file }))
    }
  })
