/**
 * One language server and all that can be asked of it (HIP-301 section 8, `LspClient`).
 *
 * Paths and URIs of files are canonical. Positions go in and come out in UTF-16 units, whatever the server counts in; a
 * file is opened when it is first asked about, and read again when it has changed on disk.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isJsonObject, type JsonRpcObject, type JsonRpcParams, own } from "../codec/JsonRpc.ts"
import type { ProcessesService } from "../platform/Processes.ts"
import { JsonRpcError, JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import { clientCapabilities, type Method, type PullProvider, selects, ServerCapabilities } from "./Capabilities.ts"
import { Documents, type OpenDocument } from "./Documents.ts"
import { LspError } from "./LspError.ts"
import { type Lines, positionToServer, rangeFromServer, rangeToServer } from "./Positions.ts"
import { maxDiagnostics, Published } from "./Published.ts"
import type { Reader } from "./Reader.ts"
import * as Results from "./Results.ts"
import * as ServerProcess from "./ServerProcess.ts"
import { answerTo } from "./ServerRequests.ts"
import { Signal } from "./Signal.ts"
import { type CallSite, type CodeAction, type CodeSymbol, type Diagnostic, type Location } from "./Types.ts"
import type { Position, Range, WorkspaceEdit } from "./Types.ts"
import { keyOf, pathOf, uriOf } from "./Uri.ts"
import type { WatchedChange } from "./Watched.ts"

/** Reading 8.3. @since 0.1.0 @category constants */
export const initializeTimeoutMs = 30_000
/** Reading 8.3. @since 0.1.0 @category constants */
export const requestTimeoutMs = 10_000
/** After a change (reading 8.5). @since 0.1.0 @category constants */
export const settleMs = 3_000
/** Without another set, what was pushed holds (reading 8.5). @since 0.1.0 @category constants */
export const quietMs = 150
/** The same for an empty set of no version: some servers push one before they have looked. @since 0.1.0 @category constants */
export const quietEmptyMs = 1_000
/** Before a pull that the server put off is tried again. */
const retriggerMs = 100
/** Symbols of one answer that are kept. */
const maxSymbols = 2_000
const maxLocations = 5_000

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
export interface LspClientServices {
  readonly processes: ProcessesService
  readonly reader: Reader
}

/** `ready` false: the server has not looked at the file as it is now, which is not "no errors". @since 0.1.0 @category models */
export interface DiagnosticsAnswer {
  readonly ready: boolean
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** @since 0.1.0 @category combinators */
export const unique = (diagnostics: ReadonlyArray<Diagnostic>): ReadonlyArray<Diagnostic> => {
  const seen = new Set<string>()
  return diagnostics.filter((one) => {
    const { end, start } = one.range
    const key = `${keyOf(one.uri)}\0${start.line}:${start.character}-${end.line}:${end.character}\0${one.message}`
    return seen.has(key) ? false : (seen.add(key), true)
  })
}

const exited = (server: string): LspError =>
  new LspError({ reason: "server_exited", server, message: `the language server ${server} has ended` })

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1) || "/"

interface Pulled {
  readonly result_id: string | null
  readonly items: ReadonlyArray<Diagnostic>
}

/** @since 0.1.0 @category models */
export class LspClient {
  readonly server: string
  readonly root: string
  readonly capabilities: ServerCapabilities
  readonly documents: Documents
  readonly #connection: ServerProcess.ServerConnection
  readonly #published: Published
  readonly #pulled: Map<string, Pulled>
  readonly #signal: Signal
  readonly #timeout_ms: number
  readonly #partial: Map<string, (value: unknown) => void>
  readonly #ended: { error: LspError | null }
  #tokens = 0
  #stopped = false

  private constructor(
    options: LspClientOptions,
    connection: ServerProcess.ServerConnection,
    capabilities: ServerCapabilities,
    state: {
      readonly published: Published
      readonly pulled: Map<string, Pulled>
      readonly signal: Signal
      readonly partial: Map<string, (value: unknown) => void>
      readonly ended: { error: LspError | null }
    },
    reader: Reader,
    now: () => number
  ) {
    this.server = options.server
    this.root = options.root
    this.capabilities = capabilities
    this.#connection = connection
    this.#published = state.published
    this.#pulled = state.pulled
    this.#signal = state.signal
    this.#partial = state.partial
    this.#ended = state.ended
    this.#timeout_ms = options.request_timeout_ms ?? requestTimeoutMs
    this.documents = new Documents({
      server: options.server,
      capabilities,
      reader,
      languageId: options.language_id,
      now,
      seq: () => state.published.seq,
      notify: (method, params) => this.#notify(method, params),
      reopens: (document) => options.silent_when_clean === true && state.published.get(document.uri)?.items.length === 0
    })
  }

  /**
   * Starts the server and shakes hands. It is stopped with the scope: shutdown, exit, TERM, KILL.
   *
   * Fails with `missing`, `start_failed`, `initialize_timeout`, `server_exited` or `protocol`; nothing of it runs then.
   */
  static start(
    options: LspClientOptions,
    { processes, reader }: LspClientServices
  ): Effect.Effect<LspClient, LspError, Scope.Scope> {
    return Effect.gen(function*() {
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
        if (capabilities === null) early.push(act)
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
              if (typeof uri !== "string") return
              published.set(
                uri,
                Results.readDiagnostics(uri, own(params, "diagnostics"), maxDiagnostics),
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
              message: `the language server ${server} refused initialize: ${error.message}`
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
      return new LspClient(options, connection, known, { published, pulled, signal, partial, ended }, reader, now)
    })
  }

  get pid(): number {
    return this.#connection.pid
  }

  /** Returns when the conversation has ended, with the reason. */
  get closed(): Effect.Effect<LspError> {
    return Effect.map(this.#connection.peer.closed, (error) => error ?? exited(this.server))
  }

  /** The last of its stderr. */
  get stderr(): string {
    return this.#connection.tail()
  }

  /** shutdown, exit, TERM, KILL; closing the scope does the same. */
  get shutdown(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#stopped) return Effect.void
      this.#stopped = true
      return Effect.asVoid(this.#connection.stop(true))
    })
  }

  #notify(method: string, params: JsonRpcParams): Effect.Effect<void, LspError> {
    return Effect.mapError(this.#connection.peer.notify(method, params), (error) => toLspError(this.server, error))
  }

  /** `timeout_ms` default: the limit of requests. Cancelled on the wire when it runs out or is interrupted. */
  #request(method: string, params: JsonRpcParams, timeout_ms = this.#timeout_ms): Effect.Effect<unknown, LspError> {
    const ask = this.#connection.peer.request(method, params, { timeout: Duration.millis(timeout_ms) })
    const content_modified = (error: unknown): boolean => error instanceof JsonRpcError && error.code === -32_801
    return ask.pipe(
      // the document changed meanwhile: the server asks to be asked again
      Effect.retry({ times: 2, while: content_modified }),
      Effect.mapError((error) => toLspError(this.server, error))
    )
  }

  #need(method: Method): Effect.Effect<void, LspError> {
    return Effect.suspend(() =>
      this.capabilities.has(method) ? Effect.void : new LspError({
        reason: "unsupported",
        server: this.server,
        message: `the language server ${this.server} cannot do this (${method})`
      })
    )
  }

  /**
   * Asks about a document. Some servers answer with nothing while they have not looked at what they were just told: then
   * it is waited for what they say of it, and asked once more.
   */
  #ask(
    uri: string,
    request: (document: OpenDocument) => Effect.Effect<unknown, LspError>
  ): Effect.Effect<unknown, LspError> {
    return Effect.gen(this, function*() {
      const path = pathOf(uri)
      const before = path === null ? undefined : this.documents.get(path)
      const document = yield* this.#document(uri)
      const answer = yield* request(document)
      const nothing = answer === null || (Array.isArray(answer) && answer.length === 0)
      if (!nothing || before?.version === document.version) return answer
      yield* this.#settled(document, (yield* Clock.currentTimeMillis) + settleMs)
      return yield* request(document)
    })
  }

  #document(uri: string): Effect.Effect<OpenDocument, LspError> {
    const path = pathOf(uri)
    return path === null
      ? new LspError({ reason: "not_opened", server: this.server, message: `${uri} is no file` })
      : this.documents.sync(path)
  }

  /** Ranges of any files into our units; a file that cannot be read keeps the server's. */
  #converted<A>(
    items: ReadonlyArray<A>,
    uriOfItem: (item: A) => string,
    convert: (item: A, range: (range: Range) => Range) => A
  ): Effect.Effect<ReadonlyArray<A>> {
    const { encoding } = this.capabilities
    if (encoding === "utf-16" || items.length === 0) return Effect.succeed(items)
    return Effect.gen(this, function*() {
      const files = new Map<string, Lines | null>()
      const out: Array<A> = []
      for (const item of items) {
        const uri = uriOfItem(item)
        if (!files.has(uri)) files.set(uri, yield* this.documents.linesOf(uri))
        const lines = files.get(uri) ?? null
        out.push(lines === null ? item : convert(item, (range) => rangeFromServer(encoding, lines, range)))
      }
      return out
    })
  }

  #locations(value: unknown): Effect.Effect<ReadonlyArray<Location>> {
    return this.#converted(
      Results.readLocations(value).slice(0, maxLocations),
      ({ uri }) => uri,
      (location, range) => ({ ...location, range: range(location.range) })
    )
  }

  #symbols(symbols: ReadonlyArray<CodeSymbol>): Effect.Effect<ReadonlyArray<CodeSymbol>> {
    return this.#converted(symbols, ({ uri }) => uri, (symbol, range) => ({
      ...symbol,
      range: range(symbol.range),
      selection: range(symbol.selection)
    }))
  }

  #diagnostics(items: ReadonlyArray<Diagnostic>): Effect.Effect<ReadonlyArray<Diagnostic>> {
    return this.#converted(items, ({ uri }) => uri, (one, range) => ({ ...one, range: range(one.range) }))
  }

  /** A request about a place of a document. */
  #at(
    method: Method,
    uri: string,
    position: Position,
    more: JsonRpcObject = {}
  ): Effect.Effect<unknown, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#need(method)
      return yield* this.#ask(uri, (document) =>
        this.#request(method, {
          textDocument: { uri: document.uri },
          position: positionToServer(this.capabilities.encoding, document.lines, position),
          ...more
        }))
    })
  }

  /** HIP `goto_definition`: the first of all there are, else null. */
  gotoDefinition(uri: string, line: number, character: number): Effect.Effect<Location | null, LspError> {
    return Effect.map(this.definitions(uri, { line, character }), ([first]) => first ?? null)
  }

  definitions(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(this.#at("textDocument/definition", uri, position), (value) => this.#locations(value))
  }

  implementations(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(this.#at("textDocument/implementation", uri, position), (value) => this.#locations(value))
  }

  /** HIP `find_references`, the declaration included. */
  findReferences(uri: string, line: number, character: number): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(
      this.#at("textDocument/references", uri, { line, character }, { context: { includeDeclaration: true } }),
      (value) => this.#locations(value)
    )
  }

  /** Text without Markdown's fences; null = nothing is known of the place. */
  hover(uri: string, line: number, character: number): Effect.Effect<string | null, LspError> {
    return Effect.map(this.#at("textDocument/hover", uri, { line, character }), Results.readHover)
  }

  documentSymbols(uri: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#need("textDocument/documentSymbol")
      const value = yield* this.#ask(
        uri,
        (document) => this.#request("textDocument/documentSymbol", { textDocument: { uri: document.uri } })
      )
      return yield* this.#symbols(Results.readSymbols(uri, value, maxSymbols))
    })
  }

  workspaceSymbols(query: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#need("workspace/symbol")
      const value = yield* this.#request("workspace/symbol", { query })
      return yield* this.#symbols(Results.readSymbols("", value, maxSymbols))
    })
  }

  /** Who calls it, or whom it calls. */
  callHierarchy(
    uri: string,
    position: Position,
    direction: "incoming" | "outgoing"
  ): Effect.Effect<ReadonlyArray<CallSite>, LspError> {
    return Effect.gen(this, function*() {
      const items = yield* this.#at("textDocument/prepareCallHierarchy", uri, position)
      const [item] = Array.isArray(items) ? items : []
      if (!isJsonObject(item)) return []
      const calls = yield* this.#request(`callHierarchy/${direction}Calls`, { item })
      const sites = (Array.isArray(calls) ? calls : []).flatMap((one): ReadonlyArray<CallSite> => {
        if (!isJsonObject(one)) return []
        const symbol = Results.readItem(own(one, direction === "incoming" ? "from" : "to"))
        const ranges = own(one, "fromRanges")
        return symbol === null
          ? []
          : [{
            symbol,
            ranges: (Array.isArray(ranges) ? ranges : []).flatMap((range) => Results.readRange(range) ?? [])
          }]
      })
      // the places of outgoing calls are in this caller, those of incoming ones in each caller
      const placed = direction === "incoming"
        ? yield* this.#converted(sites, ({ symbol }) => symbol.uri, (site, range) => ({
          ...site,
          ranges: site.ranges.map(range)
        }))
        : yield* this.#converted(sites, () => uri, (site, range) => ({ ...site, ranges: site.ranges.map(range) }))
      return yield* this.#converted(placed, ({ symbol }) => symbol.uri, ({ ranges, symbol }, range) => ({
        symbol: { ...symbol, range: range(symbol.range), selection: range(symbol.selection) },
        ranges
      }))
    })
  }

  #workspaceEdit(value: unknown): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.gen(this, function*() {
      if (value === null || value === undefined) return null
      const edit = Results.readWorkspaceEdit(value)
      if (edit === null) {
        return yield* new LspError({
          reason: "protocol",
          server: this.server,
          message: `the language server ${this.server} answered with an edit that cannot be read`
        })
      }
      const files = yield* this.#converted(edit.files, ({ uri }) => uri, ({ edits, uri }, range) => ({
        uri,
        edits: edits.map((one) => ({ ...one, range: range(one.range) }))
      }))
      return { ...edit, files }
    })
  }

  /** Nothing is changed by it; null = there is nothing to rename. */
  rename(uri: string, position: Position, new_name: string): Effect.Effect<WorkspaceEdit | null, LspError> {
    return Effect.flatMap(
      this.#at("textDocument/rename", uri, position, { newName: new_name }),
      (value) => this.#workspaceEdit(value)
    )
  }

  /** With their edits, as far as the server gives them without running something itself. */
  codeActions(
    uri: string,
    range: Range,
    about: ReadonlyArray<Diagnostic> = []
  ): Effect.Effect<ReadonlyArray<CodeAction>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#need("textDocument/codeAction")
      const document = yield* this.#document(uri)
      const { encoding } = this.capabilities
      const value = yield* this.#request("textDocument/codeAction", {
        textDocument: { uri: document.uri },
        range: rangeToServer(encoding, document.lines, range),
        context: {
          triggerKind: 1,
          diagnostics: about.map((one) => ({
            range: rangeToServer(encoding, document.lines, one.range),
            severity: one.severity,
            message: one.message,
            ...(one.source === "" ? {} : { source: one.source }),
            ...(one.code === undefined ? {} : { code: /^\d{1,9}$/u.test(one.code) ? Number(one.code) : one.code })
          }))
        }
      })
      const actions: Array<CodeAction> = []
      for (const one of (Array.isArray(value) ? value : []).slice(0, 50)) {
        if (!isJsonObject(one)) continue
        const title = own(one, "title")
        const disabled = own(one, "disabled")
        if (typeof title !== "string" || isJsonObject(disabled) || typeof own(one, "command") === "string") continue
        const kind = own(one, "kind")
        let edit = own(one, "edit")
        if (edit === undefined && this.capabilities.resolvesActions && own(one, "data") !== undefined) {
          const resolved = yield* Effect.either(this.#request("codeAction/resolve", one))
          if (resolved._tag === "Right" && isJsonObject(resolved.right)) edit = own(resolved.right, "edit")
        }
        actions.push({
          title,
          kind: typeof kind === "string" ? kind : "",
          preferred: own(one, "isPreferred") === true,
          edit: yield* this.#workspaceEdit(edit)
        })
      }
      return actions
    })
  }

  /** Files were made, changed or removed on disk. */
  changedOnDisk(changes: ReadonlyArray<WatchedChange>): Effect.Effect<void, LspError> {
    const types = { created: 1, changed: 2, deleted: 3 }
    return changes.length === 0 ? Effect.void : this.#notify("workspace/didChangeWatchedFiles", {
      changes: changes.map(({ kind, path }) => ({ uri: uriOf(path), type: types[kind] }))
    })
  }

  /**
   * HIP `diagnostics`: of the file as it is on disk now. Waits at most `limit_ms` for the server to have looked (reading
   * 8.5); what is known by then comes with `ready: false`.
   */
  diagnostics(uri: string, limit_ms: number = settleMs): Effect.Effect<DiagnosticsAnswer, LspError> {
    return Effect.gen(this, function*() {
      const until = (yield* Clock.currentTimeMillis) + limit_ms
      const document = yield* this.#document(uri)
      const pull = yield* this.#settled(document, until)
      const answers = pull === "push" || pull === "late" ? null : yield* this.#pullAll(document, pull, until)
      const pushed = this.#published.get(document.uri)
      if (pull === "push") return { ready: true, diagnostics: yield* this.#diagnostics(pushed?.items ?? []) }
      const known = answers ??
        [...this.#pulled].flatMap(([key, { items }]) => key.endsWith(`\0${document.uri}`) ? items : [])
      // beside an answer, what was pushed of an older text is in the way
      const stale = answers !== null && pushed !== undefined &&
        (pushed.version === null ? pushed.seq <= document.changed_seq : pushed.version < document.version)
      const items = unique([...known, ...(stale ? [] : pushed?.items ?? [])])
      return { ready: answers !== null, diagnostics: yield* this.#diagnostics(items) }
    })
  }

  /** `push`: what was pushed holds. A list: these are to be asked. `late`: the limit has passed. */
  #settled(
    document: OpenDocument,
    until: number
  ): Effect.Effect<"push" | "late" | ReadonlyArray<PullProvider>, LspError> {
    return Effect.gen(this, function*() {
      let fenced = -1
      for (;;) {
        const pulls = this.capabilities.pulls.filter((provider) => selects(provider, document.language_id))
        if (pulls.length > 0) return pulls
        if (this.#ended.error !== null) return yield* this.#ended.error
        const now = yield* Clock.currentTimeMillis
        const set = this.#published.get(document.uri)
        let wait = until - now
        // not the server's word on an older version of it
        const fresh = set !== undefined && set.seq > document.changed_seq &&
          (set.version === null || set.version >= document.version)
        if (fresh) {
          const { at, seq } = this.documents.last_change
          // another file has changed since, and what is said of this one may follow
          const quiet = set.seq <= seq
            ? at + quietEmptyMs - now
            : set.version !== null
            ? 0
            : set.at + (set.items.length > 0 ? quietMs : quietEmptyMs) - now
          if (quiet <= 0 && (set.version !== null || fenced === set.seq)) return "push"
          if (set.version === null && fenced !== set.seq && now < until) {
            // A set that says no version may be a part of what is to come: who answers a question has no check under way.
            fenced = set.seq
            if (!(yield* this.#fence(document, until - now))) return "late"
            yield* this.#signal.wait(Math.min(quietMs, Math.max(0, until - now)))
            continue
          }
          wait = Math.min(wait, Math.max(1, quiet))
        }
        if (now >= until) return "late"
        yield* this.#signal.wait(wait)
      }
    })
  }

  /** True = the server has answered a question about the document, or cannot be asked one. */
  #fence(document: OpenDocument, limit_ms: number): Effect.Effect<boolean> {
    return this.capabilities.has("textDocument/documentSymbol")
      ? Effect.map(
        Effect.either(
          this.#request("textDocument/documentSymbol", { textDocument: { uri: document.uri } }, limit_ms)
        ),
        (answer) => answer._tag === "Right" || answer.left.reason !== "timeout"
      )
      : Effect.succeed(true)
  }

  /** All providers' answers, or null when one of them had none in time. */
  #pullAll(
    document: OpenDocument,
    pulls: ReadonlyArray<PullProvider>,
    until: number
  ): Effect.Effect<ReadonlyArray<Diagnostic> | null, LspError> {
    return Effect.gen(this, function*() {
      const all = yield* Effect.forEach(pulls, (provider) => this.#pull(document, provider, until), {
        concurrency: "unbounded"
      })
      return all.some((one) => one === null) ? null : all.flatMap((one) => one ?? [])
    })
  }

  #pull(
    document: OpenDocument,
    provider: PullProvider,
    until: number
  ): Effect.Effect<ReadonlyArray<Diagnostic> | null, LspError> {
    const keyFor = (uri: string): string => `${provider.identifier ?? ""}\0${uri}`
    return Effect.gen(this, function*() {
      for (;;) {
        const left = until - (yield* Clock.currentTimeMillis)
        if (left <= 0) return null
        const key = keyFor(document.uri)
        const before = this.#pulled.get(key)
        const answer = yield* Effect.either(this.#connection.peer.request("textDocument/diagnostic", {
          textDocument: { uri: document.uri },
          ...(provider.identifier === null ? {} : { identifier: provider.identifier }),
          ...(before?.result_id === undefined || before.result_id === null
            ? {}
            : { previousResultId: before.result_id })
        }, { timeout: Duration.millis(left) }))
        if (answer._tag === "Left") {
          const error = answer.left
          if (error instanceof JsonRpcError && error.reason === "timeout") return null
          if (error instanceof JsonRpcError && (error.code === -32_801 || error.code === -32_802)) {
            const again = isJsonObject(error.data) ? own(error.data, "retriggerRequest") !== false : true
            if (!again) return null
            yield* this.#signal.wait(Math.min(retriggerMs, left))
            continue
          }
          return yield* toLspError(this.server, error)
        }
        const report = Results.readReport(answer.right)
        if (report === null) {
          return yield* new LspError({
            reason: "protocol",
            server: this.server,
            message: `the language server ${this.server} answered a question for diagnostics with no report`
          })
        }
        for (const [uri, one] of Object.entries(report.related)) {
          const related = Results.readReport(one)
          if (related === null || related.unchanged) continue
          this.#pulled.set(keyFor(uri), {
            result_id: related.result_id,
            items: Results.readDiagnostics(uri, related.items, maxDiagnostics)
          })
        }
        if (report.unchanged) {
          if (before !== undefined) return before.items
          return []
        }
        const items = Results.readDiagnostics(document.uri, report.items, maxDiagnostics)
        this.#pulled.delete(key)
        this.#pulled.set(key, { result_id: report.result_id, items })
        if (this.#pulled.size > maxDiagnostics) {
          const [oldest] = this.#pulled.keys()
          if (oldest !== undefined) this.#pulled.delete(oldest)
        }
        return items
      }
    })
  }

  /**
   * Of the whole workspace: asked for where the server offers it, within `limit_ms` (some never end their answer, what
   * came is kept), and what was pushed of any file.
   */
  workspaceDiagnostics(limit_ms: number = this.#timeout_ms): Effect.Effect<DiagnosticsAnswer, LspError> {
    return Effect.gen(this, function*() {
      const pulls = this.capabilities.pulls.filter((provider) => provider.workspace)
      const found = new Map<string, ReadonlyArray<Diagnostic>>()
      let ready = pulls.length > 0
      const take = (value: unknown): void => {
        const items = isJsonObject(value) ? own(value, "items") : undefined
        for (const one of Array.isArray(items) ? items : []) {
          const report = Results.readReport(one)
          const uri = isJsonObject(one) ? own(one, "uri") : undefined
          if (report === null || report.unchanged || typeof uri !== "string") continue
          found.set(keyOf(uri), Results.readDiagnostics(uri, report.items, maxDiagnostics))
        }
      }
      for (const provider of pulls) {
        const token = `hanzo-${++this.#tokens}`
        this.#partial.set(token, take)
        const previousResultIds = [...this.#pulled].flatMap(([key, { result_id }]) => {
          const [identifier, uri] = key.split("\0")
          return result_id === null || identifier !== (provider.identifier ?? "") || uri === undefined
            ? []
            : [{ uri, value: result_id }]
        })
        for (const { uri } of previousResultIds) {
          found.set(keyOf(uri), this.#pulled.get(`${provider.identifier ?? ""}\0${uri}`)?.items ?? [])
        }
        const answer = yield* Effect.either(this.#request("workspace/diagnostic", {
          previousResultIds,
          partialResultToken: token,
          ...(provider.identifier === null ? {} : { identifier: provider.identifier })
        }, limit_ms)).pipe(Effect.ensuring(Effect.sync(() => this.#partial.delete(token))))
        if (answer._tag === "Right") take(answer.right)
        else if (answer.left.reason !== "timeout") return yield* answer.left
        else if (found.size === 0) ready = false
      }
      const pushed = this.#published.all().flatMap((set) => set.items)
      return {
        ready,
        diagnostics: yield* this.#diagnostics(unique([...[...found.values()].flat(), ...pushed]))
      }
    })
  }

  /** What is known of a file without asking or waiting. */
  known(uri: string): Effect.Effect<ReadonlyArray<Diagnostic>> {
    const pulled = [...this.#pulled].flatMap(([key, { items }]) =>
      keyOf(key.slice(key.indexOf("\0") + 1)) === keyOf(uri) ? items : []
    )
    return this.#diagnostics(unique([...pulled, ...this.#published.get(uri)?.items ?? []]))
  }
}

const toLspError = (server: string, error: JsonRpcError | LspError): LspError => {
  if (error._tag === "LspError") return error
  switch (error.reason) {
    case "remote":
      return new LspError({
        reason: "remote",
        server,
        message: `the language server ${server} answered ${error.method} with an error: ${error.message}`,
        ...(error.code === undefined ? {} : { code: error.code })
      })
    case "timeout":
    case "max_timeout":
      return new LspError({
        reason: "timeout",
        server,
        message: `the language server ${server}: ${error.message} (request_timeout_ms)`
      })
    case "closed":
      return exited(server)
    case "invalid_response":
      return new LspError({ reason: "protocol", server, message: `the language server ${server}: ${error.message}` })
  }
}
