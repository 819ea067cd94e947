/**
 * What is asked about places and symbols of code: definitions, uses, types, callers.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import type { Method } from "./Capabilities.ts"
import type { Conversation } from "./Conversation.ts"
import { type Diagnosing, settleMs } from "./Diagnosing.ts"
import type { OpenDocument } from "./Documents.ts"
import type { LspError } from "./LspError.ts"
import { positionToServer } from "./Positions.ts"
import * as Results from "./Results.ts"
import type { CallSite, CodeSymbol, Location, Position } from "./Types.ts"
import { pathOf } from "./Uri.ts"

/** Symbols of one answer that are kept. */
const maxSymbols = 2_000
const maxLocations = 5_000

/** @since 0.1.0 @category models */
export class Navigation {
  readonly #with: Conversation
  readonly #diagnosing: Diagnosing

  constructor(conversation: Conversation, diagnosing: Diagnosing) {
    this.#with = conversation
    this.#diagnosing = diagnosing
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
      const before = path === null ? undefined : this.#with.documents.get(path)
      const document = yield* this.#with.document(uri)
      const answer = yield* request(document)
      const nothing = answer === null || (Array.isArray(answer) && answer.length === 0)
      if (!nothing || before?.version === document.version) return answer
      yield* this.#diagnosing.settled(document, (yield* Clock.currentTimeMillis) + settleMs)
      return yield* request(document)
    })
  }

  #locations(value: unknown): Effect.Effect<ReadonlyArray<Location>> {
    return this.#with.converted(
      Results.readLocations(value).slice(0, maxLocations),
      ({ uri }) => uri,
      (location, range) => ({ ...location, range: range(location.range) })
    )
  }

  #symbols(symbols: ReadonlyArray<CodeSymbol>): Effect.Effect<ReadonlyArray<CodeSymbol>> {
    return this.#with.converted(symbols, ({ uri }) => uri, (symbol, range) => ({
      ...symbol,
      range: range(symbol.range),
      selection: range(symbol.selection)
    }))
  }

  /** A request about a place of a document. `asking` is called when the document is as it is asked about. */
  at(
    method: Method,
    uri: string,
    position: Position,
    more: JsonRpcObject = {},
    asking: () => void = () => undefined
  ): Effect.Effect<unknown, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#with.need(method)
      return yield* this.#ask(uri, (document) => {
        asking()
        return this.#with.request(method, {
          textDocument: { uri: document.uri },
          position: positionToServer(this.#with.capabilities.encoding, document.lines, position),
          ...more
        })
      })
    })
  }

  definitions(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(this.at("textDocument/definition", uri, position), (value) => this.#locations(value))
  }

  implementations(uri: string, position: Position): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(this.at("textDocument/implementation", uri, position), (value) => this.#locations(value))
  }

  /** HIP `find_references`, the declaration included. */
  findReferences(uri: string, line: number, character: number): Effect.Effect<ReadonlyArray<Location>, LspError> {
    return Effect.flatMap(
      this.at("textDocument/references", uri, { line, character }, { context: { includeDeclaration: true } }),
      (value) => this.#locations(value)
    )
  }

  /** Text without Markdown's fences; null = nothing is known of the place. */
  hover(uri: string, line: number, character: number): Effect.Effect<string | null, LspError> {
    return Effect.map(this.at("textDocument/hover", uri, { line, character }), Results.readHover)
  }

  documentSymbols(uri: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#with.need("textDocument/documentSymbol")
      const value = yield* this.#ask(
        uri,
        (document) => this.#with.request("textDocument/documentSymbol", { textDocument: { uri: document.uri } })
      )
      return yield* this.#symbols(Results.readSymbols(uri, value, maxSymbols))
    })
  }

  workspaceSymbols(query: string): Effect.Effect<ReadonlyArray<CodeSymbol>, LspError> {
    return Effect.gen(this, function*() {
      yield* this.#with.need("workspace/symbol")
      const value = yield* this.#with.request("workspace/symbol", { query })
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
      const items = yield* this.at("textDocument/prepareCallHierarchy", uri, position)
      const [item] = Array.isArray(items) ? items : []
      if (!isJsonObject(item)) return []
      const calls = yield* this.#with.request(`callHierarchy/${direction}Calls`, { item })
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
        ? yield* this.#with.converted(sites, ({ symbol }) => symbol.uri, (site, range) => ({
          ...site,
          ranges: site.ranges.map(range)
        }))
        : yield* this.#with.converted(sites, () => uri, (site, range) => ({ ...site, ranges: site.ranges.map(range) }))
      return yield* this.#with.converted(placed, ({ symbol }) => symbol.uri, ({ ranges, symbol }, range) => ({
        symbol: { ...symbol, range: range(symbol.range), selection: range(symbol.selection) },
        ranges
      }))
    })
  }
}
