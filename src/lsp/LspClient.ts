/**
 * One language server and all that can be asked of it (HIP-301 section 8, `LspClient`).
 *
 * Paths and URIs of files are canonical. Positions go in and come out in UTF-16 units, whatever the server counts in; a
 * file is opened when it is first asked about, and read again when it has changed on disk.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ProcessesService } from "../platform/Processes.ts"
import type { ServerCapabilities } from "./Capabilities.ts"
import { Changing } from "./Changing.ts"
import { Conversation, exited, requestTimeoutMs } from "./Conversation.ts"
import { Diagnosing, type DiagnosticsAnswer } from "./Diagnosing.ts"
import type { Documents } from "./Documents.ts"
import { greet, type Greeted, type LspClientOptions } from "./Handshake.ts"
import type { LspError } from "./LspError.ts"
import { Navigation } from "./Navigation.ts"
import type { Reader } from "./Reader.ts"
import type { CallSite, CodeAction, CodeSymbol, Diagnostic, Location, Position, Range, WorkspaceEdit } from "./Types.ts"
import { uriOf } from "./Uri.ts"
import type { WatchedChange } from "./Watched.ts"

export type { LspClientOptions } from "./Handshake.ts"

/** @since 0.1.0 @category models */
export interface LspClientServices {
  readonly processes: ProcessesService
  readonly reader: Reader
}

/** @since 0.1.0 @category models */
export class LspClient {
  readonly server: string
  readonly root: string
  readonly capabilities: ServerCapabilities
  readonly documents: Documents
  readonly #connection: Greeted["connection"]
  readonly #conversation: Conversation
  readonly #diagnosing: Diagnosing
  readonly #navigation: Navigation
  readonly #changing: Changing
  #stopped = false

  private constructor(options: LspClientOptions, greeted: Greeted, reader: Reader, now: () => number) {
    const { capabilities, connection, incoming } = greeted
    const { published } = incoming
    this.server = options.server
    this.root = options.root
    this.capabilities = capabilities
    this.#connection = connection
    this.#conversation = new Conversation({
      server: options.server,
      connection,
      capabilities,
      timeout_ms: options.request_timeout_ms ?? requestTimeoutMs,
      reader,
      languageId: options.language_id,
      now,
      seq: () => published.seq,
      reopens: (document) => options.silent_when_clean === true && published.get(document.uri)?.items.length === 0
    })
    this.documents = this.#conversation.documents
    this.#diagnosing = new Diagnosing(this.#conversation, incoming)
    this.#navigation = new Navigation(this.#conversation, this.#diagnosing)
    this.#changing = new Changing(this.#conversation, this.#navigation)
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
      const clock = yield* Effect.clock
      const greeted = yield* greet(options, processes)
      return new LspClient(options, greeted, reader, () => clock.unsafeCurrentTimeMillis())
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

  /** HIP `goto_definition`: the first of all there are, else null. */
  gotoDefinition(uri: string, line: number, character: number): Effect.Effect<Location | null, LspError> {
    return Effect.map(this.#navigation.definitions(uri, { line, character }), ([first]) => first ?? null)
  }

  definitions(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return this.#navigation.definitions(uri, position)
  }

  implementations(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return this.#navigation.implementations(uri, position)
  }

  /** HIP `find_references`, the declaration included. */
  findReferences(uri: string, line: number, character: number): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return this.#navigation.findReferences(uri, line, character)
  }

  /** Text without Markdown's fences; null = nothing is known of the place. */
  hover(uri: string, line: number, character: number): Effect.Effect<string | null, LspError> {
    return this.#navigation.hover(uri, line, character)
  }

  documentSymbols(uri: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return this.#navigation.documentSymbols(uri)
  }

  workspaceSymbols(query: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return this.#navigation.workspaceSymbols(query)
  }

  /** Who calls it, or whom it calls. */
  callHierarchy(
    uri: string,
    position: Position,
    direction: "incoming" | "outgoing"
  ): Effect.Effect<ReadonlyArray<CallSite>, LspError> {
    return this.#navigation.callHierarchy(uri, position, direction)
  }

  /** Nothing is changed by it; null = there is nothing to rename. */
  rename(uri: string, position: Position, new_name: string): Effect.Effect<WorkspaceEdit | null, LspError> {
    return this.#changing.rename(uri, position, new_name)
  }

  /** With their edits, as far as the server gives them without running something itself. */
  codeActions(
    uri: string,
    range: Range,
    about: ReadonlyArray<Diagnostic> = []
  ): Effect.Effect<ReadonlyArray<CodeAction>, LspError> {
    return this.#changing.codeActions(uri, range, about)
  }

  /** Files were made, changed or removed on disk. */
  changedOnDisk(changes: ReadonlyArray<WatchedChange>): Effect.Effect<void, LspError> {
    const types = { created: 1, changed: 2, deleted: 3 }
    return changes.length === 0 ? Effect.void : this.#conversation.notify("workspace/didChangeWatchedFiles", {
      changes: changes.map(({ kind, path }) => ({ uri: uriOf(path), type: types[kind] }))
    })
  }

  /**
   * HIP `diagnostics`: of the file as it is on disk now. Waits at most `limit_ms` for the server to have looked (reading
   * 8.5); what is known by then comes with `ready: false`.
   */
  diagnostics(uri: string, limit_ms?: number): Effect.Effect<DiagnosticsAnswer, LspError> {
    return this.#diagnosing.diagnostics(uri, limit_ms)
  }

  /**
   * Of the whole workspace: asked for where the server offers it, within `limit_ms` (some never end their answer, what
   * came is kept), and what was pushed of any file.
   */
  workspaceDiagnostics(limit_ms?: number): Effect.Effect<DiagnosticsAnswer, LspError> {
    return this.#diagnosing.workspaceDiagnostics(limit_ms)
  }
}
