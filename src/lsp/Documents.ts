/**
 * The documents a server has open: opened on demand with their full text, told of every change, closed when there are
 * too many (reading 8.4).
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { JsonRpcParams } from "../codec/JsonRpc.ts"
import type { FileStamp } from "../platform/FileCalls.ts"
import type { ServerCapabilities } from "./Capabilities.ts"
import { LspError } from "./LspError.ts"
import { Lines, positionToServer } from "./Positions.ts"
import type { Reader } from "./Reader.ts"
import { replacement } from "./TextChanges.ts"
import { pathOf, uriOf } from "./Uri.ts"

/** Documents open at one time. @since 0.1.0 @category constants */
export const maxOpen = 100

/** @since 0.1.0 @category models */
export interface OpenDocument {
  readonly uri: string
  readonly path: string
  readonly language_id: string
  /** As the server knows it. */
  readonly version: number
  readonly lines: Lines
  readonly stamp: FileStamp
  /** Clock milliseconds of the last time the server was told something of it. */
  readonly changed_at: number
  /** Sets that had been published when the server was told. */
  readonly changed_seq: number
}

/** @since 0.1.0 @category models */
export interface DocumentsInput {
  readonly server: string
  readonly capabilities: ServerCapabilities
  readonly reader: Reader
  readonly languageId: (path: string) => string
  readonly notify: (method: string, params: JsonRpcParams) => Effect.Effect<void, LspError>
  readonly now: () => number
  readonly seq: () => number
  /** Says nothing when a clean file stays clean: it is told by closing and opening. */
  readonly reopens: (document: OpenDocument) => boolean
}

const why: Readonly<Record<"missing" | "too_large" | "not_text" | "unreadable", string>> = {
  missing: "does not exist",
  too_large: "is larger than 2 MiB, which language servers are not told",
  not_text: "is not text",
  unreadable: "cannot be read"
}

/** @since 0.1.0 @category models */
export class Documents {
  readonly #input: DocumentsInput
  readonly #open = new Map<string, OpenDocument>()
  /** Versions go on when a document is opened again. */
  readonly #versions = new Map<string, number>()
  readonly #turn = Effect.unsafeMakeSemaphore(1)
  /** Of any document: clock milliseconds, and the sets that had been published by then. */
  last_change = { at: 0, seq: 0 }

  constructor(input: DocumentsInput) {
    this.#input = input
  }

  paths(): ReadonlyArray<string> {
    return [...this.#open.keys()]
  }

  get(path: string): OpenDocument | undefined {
    return this.#open.get(path)
  }

  #nextVersion(path: string): number {
    const next = (this.#versions.get(path) ?? 0) + 1
    this.#versions.set(path, next)
    return next
  }

  /** A change of content, which may change what is said of others. */
  #changed(): void {
    this.last_change = { at: this.#input.now(), seq: this.#input.seq() }
  }

  #remember(document: OpenDocument): void {
    this.#open.delete(document.path)
    this.#open.set(document.path, document)
  }

  #didClose(document: OpenDocument): Effect.Effect<void, LspError> {
    this.#open.delete(document.path)
    return this.#input.notify("textDocument/didClose", { textDocument: { uri: document.uri } })
  }

  #didOpen(path: string, text: string, stamp: FileStamp): Effect.Effect<OpenDocument, LspError> {
    return Effect.gen(this, function*() {
      const { languageId, notify, now, seq } = this.#input
      const [oldest] = this.#open.values()
      if (oldest !== undefined && this.#open.size >= maxOpen) yield* this.#didClose(oldest)
      const document: OpenDocument = {
        uri: uriOf(path),
        path,
        language_id: languageId(path),
        version: this.#nextVersion(path),
        lines: new Lines(text),
        stamp,
        changed_at: now(),
        changed_seq: seq()
      }
      this.#remember(document)
      yield* notify("textDocument/didOpen", {
        textDocument: { uri: document.uri, languageId: document.language_id, version: document.version, text }
      })
      return document
    })
  }

  #didChange(document: OpenDocument, text: string, stamp: FileStamp): Effect.Effect<OpenDocument, LspError> {
    return Effect.gen(this, function*() {
      const { capabilities, notify, now, reopens, seq } = this.#input
      if (document.lines.text === text) {
        const same = { ...document, stamp }
        this.#remember(same)
        return same
      }
      this.#changed()
      if (reopens(document)) {
        yield* this.#didClose(document)
        return yield* this.#didOpen(document.path, text, stamp)
      }
      const version = this.#nextVersion(document.path)
      const changed: OpenDocument = {
        ...document,
        version,
        stamp,
        lines: new Lines(text),
        changed_at: now(),
        changed_seq: seq()
      }
      this.#remember(changed)
      const textDocument = { uri: document.uri, version }
      const change = replacement(document.lines.text, text)
      if (capabilities.sync === 2 && change !== null) {
        const { encoding } = capabilities
        const at = (offset: number) => positionToServer(encoding, document.lines, document.lines.position(offset))
        yield* notify("textDocument/didChange", {
          textDocument,
          contentChanges: [{ range: { start: at(change.from), end: at(change.to) }, text: change.text }]
        })
      } else if (capabilities.sync !== 0) {
        yield* notify("textDocument/didChange", { textDocument, contentChanges: [{ text }] })
      }
      if (capabilities.save !== null) {
        yield* notify("textDocument/didSave", {
          textDocument: { uri: document.uri },
          ...(capabilities.save.include_text ? { text } : {})
        })
      }
      return changed
    })
  }

  /** The document as it is on disk now, and the server knows it so. `again`: also when its stamp is the same. */
  sync(path: string, again = false): Effect.Effect<OpenDocument, LspError> {
    return this.#turn.withPermits(1)(Effect.gen(this, function*() {
      const known = this.#open.get(path)
      const read = yield* this.#input.reader(path, known === undefined || again ? null : known.stamp)
      if (read._tag === "None") {
        if (known !== undefined) yield* this.#didClose(known)
        return yield* new LspError({
          reason: "not_opened",
          server: this.#input.server,
          message: `${path} ${why[read.why]}`
        })
      }
      if (read._tag === "Same" && known !== undefined) {
        this.#remember(known)
        return known
      }
      if (read._tag === "Same") return yield* Effect.dieMessage("a file that was not asked about cannot be the same")
      return yield* known === undefined
        ? this.#didOpen(path, read.text, read.stamp)
        : this.#didChange(known, read.text, read.stamp)
    })).pipe(Effect.uninterruptible)
  }

  /** The lines of any file, for positions in it: those the server knows, else those on disk; null = it cannot be read. */
  linesOf(uri: string): Effect.Effect<Lines | null> {
    const path = pathOf(uri)
    if (path === null) return Effect.succeed(null)
    const known = this.#open.get(path)
    if (known !== undefined) return Effect.succeed(known.lines)
    return Effect.map(this.#input.reader(path, null), (read) => read._tag === "Text" ? new Lines(read.text) : null)
  }
}
