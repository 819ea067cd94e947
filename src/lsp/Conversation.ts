/**
 * The conversation with one language server: its documents, questions with their limits, and positions in its units and
 * ours.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { JsonRpcParams } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import { JsonRpcError } from "../rpc/JsonRpcPeer.ts"
import type { Method, ServerCapabilities } from "./Capabilities.ts"
import { Documents, type DocumentsInput, type OpenDocument } from "./Documents.ts"
import { LspError } from "./LspError.ts"
import { type Lines, rangeFromServer } from "./Positions.ts"
import type { ServerConnection } from "./ServerProcess.ts"
import type { Range } from "./Types.ts"
import { pathOf } from "./Uri.ts"

/** Reading 8.3. @since 0.1.0 @category constants */
export const requestTimeoutMs = 10_000

/** @since 0.1.0 @category constructors */
export const exited = (server: string): LspError =>
  new LspError({ reason: "server_exited", server, message: `the language server ${server} has ended` })

/** @since 0.1.0 @category combinators */
export const toLspError = (server: string, error: JsonRpcError | LspError): LspError => {
  if (error._tag === "LspError") return error
  switch (error.reason) {
    case "remote":
      return new LspError({
        reason: "remote",
        server,
        message: `the language server ${server} answered ${error.method} with an error: ${
          TerminalText.line(error.message, 1_000)
        }`,
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

/** @since 0.1.0 @category models */
export interface ConversationInput extends Omit<DocumentsInput, "notify"> {
  readonly connection: ServerConnection
  readonly timeout_ms: number
}

/** @since 0.1.0 @category models */
export class Conversation {
  readonly server: string
  readonly capabilities: ServerCapabilities
  readonly documents: Documents
  readonly timeout_ms: number
  readonly #connection: ServerConnection

  constructor(input: ConversationInput) {
    this.server = input.server
    this.capabilities = input.capabilities
    this.timeout_ms = input.timeout_ms
    this.#connection = input.connection
    this.documents = new Documents({ ...input, notify: (method, params) => this.notify(method, params) })
  }

  notify(method: string, params: JsonRpcParams): Effect.Effect<void, LspError> {
    return Effect.mapError(this.#connection.peer.notify(method, params), (error) => toLspError(this.server, error))
  }

  /** As the peer says it; a request that is given up is cancelled on the wire. */
  peerRequest(
    method: string,
    params: JsonRpcParams,
    timeout_ms: number
  ): Effect.Effect<unknown, JsonRpcError | LspError> {
    return this.#connection.peer.request(method, params, { timeout: Duration.millis(timeout_ms) })
  }

  /** `timeout_ms` default: the limit of requests. Cancelled on the wire when it runs out or is interrupted. */
  request(method: string, params: JsonRpcParams, timeout_ms = this.timeout_ms): Effect.Effect<unknown, LspError> {
    const content_modified = (error: unknown): boolean => error instanceof JsonRpcError && error.code === -32_801
    return this.peerRequest(method, params, timeout_ms).pipe(
      // the document changed meanwhile: the server asks to be asked again
      Effect.retry({ times: 2, while: content_modified }),
      Effect.mapError((error) => toLspError(this.server, error))
    )
  }

  need(method: Method): Effect.Effect<void, LspError> {
    return Effect.suspend(() =>
      this.capabilities.has(method) ? Effect.void : new LspError({
        reason: "unsupported",
        server: this.server,
        message: `the language server ${this.server} cannot do this (${method})`
      })
    )
  }

  document(uri: string): Effect.Effect<OpenDocument, LspError> {
    const path = pathOf(uri)
    return path === null
      ? new LspError({ reason: "not_opened", server: this.server, message: `${uri} is no file` })
      : this.documents.sync(path)
  }

  /** Ranges of any files into our units; a file that cannot be read keeps the server's. */
  converted<A>(
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
}
