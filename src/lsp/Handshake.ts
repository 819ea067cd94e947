/**
 * A server from its start to the end of the handshake: what it is told, what it says it can do, and what it says without
 * being asked.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import { clientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import { exited, toLspError } from "./Conversation.ts"
import type { Incoming, Pulled } from "./Diagnosing.ts"
import { LspError } from "./LspError.ts"
import { maxDiagnostics, Published } from "./Published.ts"
import * as Results from "./Results.ts"
import * as ServerProcess from "./ServerProcess.ts"
import { answerTo } from "./ServerRequests.ts"
import { Signal } from "./Signal.ts"
import { uriOf } from "./Uri.ts"

/** Reading 8.3. @since 0.1.0 @category constants */
export const initializeTimeoutMs = 30_000

/** @since 0.1.0 @category models */
export interface LspClientOptions extends ServerProcess.ServerCommand {
  /** Absolute, canonical: the workspace folder. */
  readonly root: string
  readonly language_id: (path: string) => string
  readonly initialization_options?: JsonRpcObject
  /** By section, for `workspace/configuration`. */
  readonly settings?: JsonRpcObject
  readonly initialize_timeout_ms?: number
  readonly request_timeout_ms?: number
  /** False: the server is not told that diagnostics can be pulled. Default true. */
  readonly pull?: boolean
  /** The server pushes nothing when a clean file stays clean. */
  readonly silent_when_clean?: boolean
}

/** @since 0.1.0 @category models */
export interface Greeted {
  readonly connection: ServerProcess.ServerConnection
  readonly capabilities: ServerCapabilities
  readonly incoming: Incoming
}

/** Registrations before the answer to `initialize` that are kept. */
const maxEarly = 1_000

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1) || "/"

/**
 * Starts the server and shakes hands. It is stopped with the scope: shutdown, exit, TERM, KILL.
 *
 * Fails with `missing`, `start_failed`, `initialize_timeout`, `server_exited` or `protocol`; nothing of it runs then.
 *
 * @since 0.1.0
 * @category constructors
 */
export const greet = (
  options: LspClientOptions,
  processes: ProcessesService
): Effect.Effect<Greeted, LspError, Scope.Scope> =>
  Effect.gen(function*() {
    const { server } = options
    const clock = yield* Effect.clock
    const now = (): number => clock.unsafeCurrentTimeMillis()
    const settings = options.settings ?? {}
    const published = new Published()
    const pulled = new Map<string, Pulled>()
    const signal = new Signal()
    const partial = new Map<string, (value: unknown) => void>()
    const folders = [{ uri: uriOf(options.root), name: nameOf(options.root) }]
    // What comes before the answer to `initialize` is kept until there is something to keep it in.
    let capabilities: ServerCapabilities | null = null
    const early: Array<(known: ServerCapabilities) => void> = []
    const onCapabilities = (act: (known: ServerCapabilities) => void): void => {
      if (capabilities === null) void (early.length < maxEarly && early.push(act))
      else act(capabilities)
      signal.raise()
    }

    const connection = yield* ServerProcess.start(options, processes, {
      onRequest: (request) =>
        Effect.suspend(() => {
          const answer = answerTo(request, {
            settings,
            folders,
            register: (id, method, given) => onCapabilities((known) => known.register(id, method, given)),
            unregister: (id) => onCapabilities((known) => known.unregister(id)),
            refreshDiagnostics: () => {
              pulled.clear()
              signal.raise()
            }
          })
          return answer.ok
            ? Effect.succeed(answer.result)
            : Effect.fail(new JsonRpcRefusal({ code: answer.code, message: answer.message }))
        }),
      onNotification: ({ method, params }) =>
        Effect.sync(() => {
          if (!isJsonObject(params)) return
          if (method === "textDocument/publishDiagnostics") {
            const uri = own(params, "uri")
            const version = own(params, "version")
            const items = own(params, "diagnostics")
            // what is no list says nothing, not even "none"
            if (typeof uri !== "string" || uri.length > Results.maxUri || !Array.isArray(items)) return
            published.set(
              uri,
              Results.readDiagnostics(uri, items, maxDiagnostics),
              typeof version === "number" ? version : null,
              now()
            )
            signal.raise()
          } else if (method === "$/progress") {
            const token = own(params, "token")
            if (typeof token === "string") partial.get(token)?.(own(params, "value"))
          }
        })
    })
    let initialized = false
    yield* Effect.addFinalizer(() => connection.stop(initialized))
    const ended: { error: LspError | null } = { error: null }
    yield* Effect.forkScoped(Effect.map(connection.peer.closed, (error) => {
      ended.error = error ?? exited(server)
      signal.raise()
    }))

    const limit = options.initialize_timeout_ms ?? initializeTimeoutMs
    const result = yield* connection.peer.request("initialize", {
      processId: null,
      clientInfo: { name: "hanzo-dev" },
      locale: "en",
      rootPath: options.root,
      rootUri: uriOf(options.root),
      workspaceFolders: folders,
      capabilities: clientCapabilities(options.pull ?? true),
      trace: "off",
      ...(options.initialization_options === undefined
        ? {}
        : { initializationOptions: options.initialization_options })
    }, { timeout: Duration.millis(limit) }).pipe(
      Effect.mapError((error) =>
        error._tag === "LspError"
          ? error
          : error.reason === "timeout"
          ? new LspError({
            reason: "initialize_timeout",
            server,
            message:
              `the language server ${server} did not answer initialize within ${limit} ms (initialize_timeout_ms)`
          })
          : new LspError({
            reason: "start_failed",
            server,
            message: `the language server ${server} refused initialize: ${TerminalText.line(error.message, 1_000)}`
          })
      )
    )
    initialized = true
    const known = new ServerCapabilities(result)
    capabilities = known
    for (const act of early) act(known)
    yield* connection.peer.notify("initialized", {}).pipe(Effect.mapError((error) => toLspError(server, error)))
    if (Object.keys(settings).length > 0) {
      yield* connection.peer.notify("workspace/didChangeConfiguration", { settings }).pipe(Effect.ignore)
    }
    return { connection, capabilities: known, incoming: { published, pulled, signal, partial, ended } }
  })
