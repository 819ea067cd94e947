/**
 * A language server's process and the conversation with it: framing, requests, its end (readings 8.7 to 8.9, G5).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as ContentLengthFraming from "../codec/ContentLengthFraming.ts"
import * as LastWords from "../codec/LastWords.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import type { ExitStatus, ProcessesService, RunningProcess } from "../platform/Processes.ts"
import type { JsonRpcHandlers, JsonRpcPeer } from "../rpc/JsonRpcPeer.ts"
import * as Peer from "../rpc/Peer.ts"
import * as StreamDuplex from "../rpc/StreamDuplex.ts"
import { LspError } from "./LspError.ts"
import { Signal } from "./Signal.ts"

/** Of one message (reading 8.7). @since 0.1.0 @category constants */
export const maxMessageBytes = 64 * 1024 * 1024
/** For the answer to `shutdown`. @since 0.1.0 @category constants */
export const shutdownGrace = Duration.seconds(2)
/** From `exit` to TERM. @since 0.1.0 @category constants */
export const exitGrace = Duration.seconds(2)
/** From TERM to KILL. @since 0.1.0 @category constants */
export const termGrace = Duration.seconds(1)
/** Bytes that wait for a server to read them. */
const maxHeldBytes = 64 * 1024 * 1024
/** Over that, a message has so long to find room; then the server is taken for one that reads no more. */
const roomGrace = Duration.seconds(2)
/** Characters of stderr that are kept. */
const keptCharacters = 16_384
/** A child that closed its output has so long to end by itself before its code is not waited for. */
const endGrace = Duration.millis(500)

/** @since 0.1.0 @category models */
export interface ServerCommand {
  /** The server's name, for messages. */
  readonly server: string
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  /** Absolute. */
  readonly cwd: string
  readonly env: ReadonlyMap<string, string>
}

/** @since 0.1.0 @category models */
export interface ServerConnection {
  readonly pid: number
  readonly peer: JsonRpcPeer<LspError, unknown>
  /** The last of what it wrote to stderr, safe to show. */
  readonly tail: () => string
  /**
   * shutdown (only where it was initialized), exit, TERM to the group, KILL to the group, each with its limit (reading
   * 8.9). Whatever code it ends with.
   */
  readonly stop: (initialized: boolean) => Effect.Effect<ExitStatus>
}

const within = <A>(effect: Effect.Effect<A>, duration: Duration.Duration): Effect.Effect<Option.Option<A>> =>
  effect.pipe(Effect.interruptible, Effect.timeoutOption(duration))

const words = (status: ExitStatus): string =>
  status.signal === null ? `exit code ${status.code}` : `ended by ${status.signal}`

const startError = (server: string, error: ProcessError): LspError =>
  new LspError({
    reason: error.reason === "not_found" ? "missing" : "start_failed",
    server,
    message: `the language server ${server} did not start: ${error.message}`
  })

/** Starts the process; it ends with the scope at the latest. @since 0.1.0 @category constructors */
export const start = (
  command: ServerCommand,
  processes: ProcessesService,
  handlers: JsonRpcHandlers
): Effect.Effect<ServerConnection, LspError, Scope.Scope> =>
  Effect.gen(function*() {
    const { server } = command
    // Made first, so that it is closed last: the polite end of the server still speaks and listens.
    const scope = yield* Effect.acquireRelease(Scope.make(), (made, exit) => Scope.close(made, exit))
    const running: RunningProcess = yield* Effect.mapError(
      processes.spawn({ argv: command.argv, cwd: command.cwd, env: command.env, stdin: "pipe", grace: termGrace }),
      (error) => startError(server, error)
    )

    const decoder = new TextDecoder()
    let kept = ""
    yield* Effect.forkIn(
      Stream.runForEachChunk(running.stderr, (pieces) =>
        Effect.sync(() => {
          for (const bytes of pieces) kept += decoder.decode(bytes, { stream: true })
          if (kept.length > keptCharacters) kept = kept.slice(-keptCharacters)
        })),
      scope
    )
    const tail = (): string => TerminalText.neutralise(kept)
    const lastWords = (): string => {
      const said = LastWords.of(tail(), { lines: 3, limit: 300 })
      return said === "" ? "" : `; the last it wrote to stderr: ${said}`
    }

    // Whoever has something to say does not wait for the pipe: a server that reads no more would hold up every tool. What
    // waits is bounded, goes out whole and in order.
    const deaf = Effect.sync(() =>
      new LspError({
        reason: "server_exited",
        server,
        message: `the language server ${server} no longer reads its stdin${lastWords()}`
      })
    )
    const waiting = yield* Queue.unbounded<Uint8Array>()
    const room = new Signal()
    let held = 0
    let broken = false
    let hangUp: (error: LspError) => Effect.Effect<void> = () => Effect.void
    const pump = Effect.forever(Effect.flatMap(Queue.take(waiting), (bytes) =>
      Effect.map(running.write(bytes), () => {
        held -= bytes.byteLength
        room.raise()
      })))
    yield* Effect.forkIn(
      Effect.interruptible(Effect.catchAll(pump, () => Effect.sync(() => void (broken = true)))),
      scope
    )
    const fits = (bytes: Uint8Array): boolean => held === 0 || held + bytes.byteLength <= maxHeldBytes
    const write = (bytes: Uint8Array): Effect.Effect<void, LspError> =>
      Effect.gen(function*() {
        if (!broken && !fits(bytes)) {
          const waited = Effect.repeat(room.wait(Duration.toMillis(roomGrace)), { until: () => broken || fits(bytes) })
          if (Option.isNone(yield* within(waited, roomGrace))) {
            broken = true
            yield* hangUp(yield* deaf)
          }
        }
        if (broken) return yield* yield* deaf
        held += bytes.byteLength
        Queue.unsafeOffer(waiting, bytes)
      })

    const ended: Effect.Effect<LspError> = Effect.map(
      Effect.timeoutOption(running.exit, endGrace),
      (status) =>
        new LspError({
          reason: "server_exited",
          server,
          message: Option.isSome(status)
            ? `the language server ${server} ended (${words(status.value)})${lastWords()}`
            : `the language server ${server} closed its stdout${lastWords()}`
        })
    )

    const duplex = StreamDuplex.make<LspError>({
      incoming: running.stdout,
      write,
      framing: ContentLengthFraming.make({ max_message_bytes: maxMessageBytes }),
      encode: ContentLengthFraming.encode,
      onFault: (fault) =>
        fault.reason === "unfinished" ? ended : Effect.succeed(
          new LspError({
            reason: "protocol",
            server,
            message: `the language server ${server} sent ${fault.message}; the connection is closed`
          })
        ),
      onEnd: ended
    })
    const peer = yield* Scope.extend(
      Peer.make(duplex, handlers, {
        name: `language server ${server}`,
        cancel: ({ id }) => ({ method: "$/cancelRequest", params: { id } }),
        cancelled_answer: { code: -32_800, message: "cancelled" },
        // what the user suffers from is said in a line of its own
        warn: Effect.logDebug
      }),
      scope
    )
    hangUp = peer.close

    const stop: ServerConnection["stop"] = (initialized) =>
      Effect.uninterruptible(Effect.gen(function*() {
        if (initialized) {
          const polite = peer.request("shutdown", undefined, { cancellable: false }).pipe(Effect.exit)
          yield* within(polite, shutdownGrace)
          yield* within(Effect.ignore(peer.notify("exit")), shutdownGrace)
          yield* running.endInput
          yield* within(running.exit, exitGrace)
        }
        return yield* running.stop
      }))
    return { pid: running.pid, peer, tail, stop }
  })
