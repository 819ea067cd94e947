/**
 * Diagnostics of one server, pushed or pulled, and when it has looked at a file as it is (reading 8.5).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { isJsonObject, own } from "../codec/JsonRpc.ts"
import { JsonRpcError } from "../rpc/JsonRpcPeer.ts"
import { type PullProvider, selects } from "./Capabilities.ts"
import { type Conversation, toLspError } from "./Conversation.ts"
import type { OpenDocument } from "./Documents.ts"
import { LspError } from "./LspError.ts"
import { maxDiagnostics, maxFiles, Published } from "./Published.ts"
import * as Results from "./Results.ts"
import type { Signal } from "./Signal.ts"
import type { Diagnostic } from "./Types.ts"
import { keyOf } from "./Uri.ts"

/** After a change (reading 8.5). @since 0.1.0 @category constants */
export const settleMs = 3_000
/** Without another set, what was pushed holds (reading 8.5). @since 0.1.0 @category constants */
export const quietMs = 150
/** The same for an empty set of no version: some servers push one before they have looked. @since 0.1.0 @category constants */
export const quietEmptyMs = 1_000
/** Before a pull that the server put off is tried again. */
const retriggerMs = 100

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

/** @since 0.1.0 @category models */
export interface Pulled {
  readonly result_id: string | null
  readonly items: ReadonlyArray<Diagnostic>
}

/** What comes in without being asked. @since 0.1.0 @category models */
export interface Incoming {
  readonly published: Published
  readonly pulled: Map<string, Pulled>
  readonly signal: Signal
  /** Takers of parts of answers, by token. */
  readonly partial: Map<string, (value: unknown) => void>
  /** Why the conversation has ended. */
  readonly ended: { error: LspError | null }
}

/** @since 0.1.0 @category models */
export class Diagnosing {
  readonly #with: Conversation
  readonly #published: Published
  readonly #pulled: Map<string, Pulled>
  readonly #signal: Signal
  readonly #partial: Map<string, (value: unknown) => void>
  readonly #ended: { error: LspError | null }
  #tokens = 0

  constructor(conversation: Conversation, { ended, partial, published, pulled, signal }: Incoming) {
    this.#with = conversation
    this.#published = published
    this.#pulled = pulled
    this.#signal = signal
    this.#partial = partial
    this.#ended = ended
  }

  #diagnostics(items: ReadonlyArray<Diagnostic>): Effect.Effect<ReadonlyArray<Diagnostic>> {
    return this.#with.converted(items, ({ uri }) => uri, (one, range) => ({ ...one, range: range(one.range) }))
  }

  /**
   * HIP `diagnostics`: of the file as it is on disk now. Waits at most `limit_ms` for the server to have looked (reading
   * 8.5); what is known by then comes with `ready: false`.
   */
  diagnostics(uri: string, limit_ms: number = settleMs): Effect.Effect<DiagnosticsAnswer, LspError> {
    return Effect.gen(this, function*() {
      const until = (yield* Clock.currentTimeMillis) + limit_ms
      const document = yield* this.#with.document(uri)
      const pull = yield* this.settled(document, until)
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
  settled(
    document: OpenDocument,
    until: number
  ): Effect.Effect<"push" | "late" | ReadonlyArray<PullProvider>, LspError> {
    return Effect.gen(this, function*() {
      let fenced = -1
      for (;;) {
        const pulls = this.#with.capabilities.pulls.filter((provider) => selects(provider, document.language_id))
        if (pulls.length > 0) return pulls
        if (this.#ended.error !== null) return yield* this.#ended.error
        const now = yield* Clock.currentTimeMillis
        const set = this.#published.get(document.uri)
        let wait = until - now
        // not the server's word on an older version of it
        const fresh = set !== undefined && set.seq > document.changed_seq &&
          (set.version === null || set.version >= document.version)
        if (fresh) {
          const { at, seq } = this.#with.documents.last_change
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
    return this.#with.capabilities.has("textDocument/documentSymbol")
      ? Effect.map(
        Effect.either(
          this.#with.request("textDocument/documentSymbol", { textDocument: { uri: document.uri } }, limit_ms)
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

  /** The oldest make room. */
  #keep(key: string, pulled: Pulled): void {
    this.#pulled.delete(key)
    this.#pulled.set(key, pulled)
    for (const oldest of this.#pulled.keys()) {
      if (this.#pulled.size <= maxFiles) break
      this.#pulled.delete(oldest)
    }
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
        const answer = yield* Effect.either(this.#with.peerRequest("textDocument/diagnostic", {
          textDocument: { uri: document.uri },
          ...(provider.identifier === null ? {} : { identifier: provider.identifier }),
          ...(before?.result_id === undefined || before.result_id === null
            ? {}
            : { previousResultId: before.result_id })
        }, left))
        if (answer._tag === "Left") {
          const error = answer.left
          if (error instanceof JsonRpcError && error.reason === "timeout") return null
          if (error instanceof JsonRpcError && (error.code === -32_801 || error.code === -32_802)) {
            const again = isJsonObject(error.data) ? own(error.data, "retriggerRequest") !== false : true
            if (!again) return null
            yield* this.#signal.wait(Math.min(retriggerMs, left))
            continue
          }
          return yield* toLspError(this.#with.server, error)
        }
        const report = Results.readReport(answer.right)
        if (report === null) {
          return yield* new LspError({
            reason: "protocol",
            server: this.#with.server,
            message: `the language server ${this.#with.server} answered a question for diagnostics with no report`
          })
        }
        for (const [uri, one] of Object.entries(report.related)) {
          const related = Results.readReport(one)
          if (related === null || related.unchanged) continue
          this.#keep(keyFor(uri), {
            result_id: related.result_id,
            items: Results.readDiagnostics(uri, related.items, maxDiagnostics)
          })
        }
        if (report.unchanged) {
          // said to who has nothing, it says nothing
          return before?.items ?? null
        }
        const items = Results.readDiagnostics(document.uri, report.items, maxDiagnostics)
        this.#keep(key, { result_id: report.result_id, items })
        return items
      }
    })
  }

  /**
   * Of the whole workspace: asked for where the server offers it, within `limit_ms` (some never end their answer, what
   * came is kept), and what was pushed of any file.
   */
  workspaceDiagnostics(limit_ms: number = this.#with.timeout_ms): Effect.Effect<DiagnosticsAnswer, LspError> {
    return Effect.gen(this, function*() {
      const pulls = this.#with.capabilities.pulls.filter((provider) => provider.workspace)
      const now = yield* Clock.currentTimeMillis
      let ready = pulls.length > 0
      const all: Array<Diagnostic> = []
      for (const provider of pulls) {
        const found = new Published()
        const take = (value: unknown): void => {
          const items = isJsonObject(value) ? own(value, "items") : undefined
          for (const one of Array.isArray(items) ? items : []) {
            const report = Results.readReport(one)
            const uri = isJsonObject(one) ? own(one, "uri") : undefined
            if (report === null || report.unchanged || typeof uri !== "string" || uri.length > Results.maxUri) continue
            found.set(uri, Results.readDiagnostics(uri, report.items, maxDiagnostics), null, now)
          }
        }
        const token = `hanzo-${++this.#tokens}`
        this.#partial.set(token, take)
        const previousResultIds = [...this.#pulled].flatMap(([key, { result_id }]) => {
          const [identifier, uri] = key.split("\0")
          return result_id === null || identifier !== (provider.identifier ?? "") || uri === undefined
            ? []
            : [{ uri, value: result_id }]
        })
        for (const { uri } of previousResultIds) {
          found.set(uri, this.#pulled.get(`${provider.identifier ?? ""}\0${uri}`)?.items ?? [], null, now)
        }
        const answer = yield* Effect.either(this.#with.request("workspace/diagnostic", {
          previousResultIds,
          partialResultToken: token,
          ...(provider.identifier === null ? {} : { identifier: provider.identifier })
        }, limit_ms)).pipe(Effect.ensuring(Effect.sync(() => this.#partial.delete(token))))
        if (answer._tag === "Right") take(answer.right)
        else if (answer.left.reason !== "timeout") return yield* answer.left
        else if (found.seq === 0) ready = false
        for (const { items } of found.all()) all.push(...items)
      }
      const pushed = this.#published.all().flatMap((set) => set.items)
      return {
        ready,
        diagnostics: yield* this.#diagnostics(unique([...all, ...pushed]))
      }
    })
  }
}
