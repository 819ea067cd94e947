/**
 * What each session has seen and changed, for what the model is told without asking (reading 8.10).
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { contextBlock, diff, editText, type FileView, type SymbolView } from "./Enrichment.ts"
import { maxSymbolsShown } from "./Enrichment.ts"
import type { Baseline, FileDiagnostics, LspService } from "./Lsp.ts"
import type { LspError } from "./LspError.ts"
import { Lines } from "./Positions.ts"
import { byInnermost, changedLines, contains } from "./TextChanges.ts"
import type { CodeSymbol, Diagnostic } from "./Types.ts"

/** Files of a session that the block is about: the latest. */
const maxFiles = 20
const maxSessions = 200
/** What a request waits for the first look at a file that was only read; later ones have it. */
const readWaitMs = 1_000
/** The time for hovers of one block. */
const hoverWaitMs = 2_000

/** What the model is to take for "not looked at"; of servers that are not there, the user is told. */
const notLooked: ReadonlySet<LspError["reason"]> = new Set(["not_ready", "timeout", "remote", "protocol"])

interface Span {
  readonly first: number
  readonly last: number
}

interface Seen {
  readonly path: string
  /** What was there when the session first saw it; null = not known yet. */
  baseline: ReadonlyArray<Diagnostic> | null
  baseline_lines: Lines | null
  /** Of the last edit, or of the part that was read. */
  span: Span | null
  edited: boolean
}

interface Session {
  readonly files: Map<string, Seen>
  /** Counts what has happened; the block is of `made`. */
  touched: number
  made: number
  block: string
}

/** @since 0.1.0 @category models */
export interface SessionsInput {
  /** Of what goes on beside the tools. */
  readonly scope: Scope.Scope
  readonly display: (path: string) => string
  readonly diagnostics: (path: string, wait_ms?: number) => Effect.Effect<FileDiagnostics>
  readonly symbols: LspService["symbols"]
  readonly hover: LspService["hover"]
  readonly textOf: (path: string) => Effect.Effect<string | null>
  readonly changed: LspService["changed"]
  /** Some server could answer about it. */
  readonly isServed: (path: string) => Effect.Effect<boolean>
  /** All of its servers have given a first answer, or give none. */
  readonly isWarm: (path: string) => Effect.Effect<boolean>
}

/** @since 0.1.0 @category models */
export interface SessionsService extends Pick<LspService, "reading" | "editing" | "edited" | "context"> {
  /** A command may have changed any file. */
  readonly stale: () => void
}

/** @since 0.1.0 @category constructors */
export const make = (input: SessionsInput): SessionsService => {
  const sessions = new Map<string, Session>()

  const sessionOf = (id: string): Session => {
    const known = sessions.get(id) ?? { files: new Map<string, Seen>(), touched: 0, made: 0, block: "" }
    sessions.delete(id)
    sessions.set(id, known)
    for (const oldest of sessions.keys()) {
      if (sessions.size <= maxSessions) break
      sessions.delete(oldest)
    }
    return known
  }

  const see = (session: Session, path: string): Seen => {
    const seen: Seen = session.files.get(path) ??
      { path, baseline: null, baseline_lines: null, span: null, edited: false }
    session.files.delete(path)
    session.files.set(path, seen)
    session.touched++
    return seen
  }

  const waitingOf = ({ problems }: FileDiagnostics): ReadonlyArray<string> =>
    problems.filter(({ reason }) => notLooked.has(reason)).map(({ server }) => server)

  const lineOf = (lines: Lines | null) => (line: number): string => lines?.line(line) ?? ""

  /** Symbols in a span: the innermost ones. */
  const symbolsIn = (all: ReadonlyArray<CodeSymbol>, span: Span): ReadonlyArray<CodeSymbol> => {
    const inside = all.filter(({ range }) => contains(range, span.first, span.last)).sort(byInnermost)
    const kept: Array<CodeSymbol> = []
    for (const symbol of inside) {
      // a part of a function that is named already adds nothing
      if (
        kept.some(({ range }) => range.start.line >= symbol.range.start.line && range.end.line <= symbol.range.end.line)
      ) {
        continue
      }
      kept.push(symbol)
    }
    return kept
  }

  const symbolViews = (files: ReadonlyArray<Seen>): Effect.Effect<ReadonlyArray<SymbolView>> =>
    Effect.gen(function*() {
      const views: Array<SymbolView> = []
      for (const { path, span } of files) {
        if (span === null || views.length >= maxSymbolsShown) continue
        const symbols = yield* Effect.orElseSucceed(input.symbols(path), () => [])
        for (const symbol of symbolsIn(symbols, span).slice(0, maxSymbolsShown - views.length)) {
          const { character, line } = symbol.selection.start
          const hover = yield* Effect.orElseSucceed(input.hover({ path, line, character }), () => null)
          if (hover === null) continue
          views.push({ display: input.display(path), line, character, name: symbol.name, hover })
        }
      }
      return views
    })

  return {
    stale: () => {
      for (const session of sessions.values()) if (session.files.size > 0) session.touched++
    },
    reading: (session_id, path, lines) =>
      Effect.suspend(() => {
        const session = sessionOf(session_id)
        const seen = see(session, path)
        if (!seen.edited) seen.span = lines
        // starts the servers and has the file looked at; what they say is asked for when it is needed
        const look = Effect.gen(function*() {
          if (!(yield* input.isServed(path)) || (yield* input.isWarm(path))) return
          const { ready } = yield* input.diagnostics(path)
          if (ready) session.touched++
        })
        return Effect.asVoid(Effect.forkIn(Effect.interruptible(look), input.scope))
      }),

    editing: (session_id, paths) =>
      Effect.gen(function*() {
        const session = sessionOf(session_id)
        const files = yield* Effect.forEach(paths, (path) =>
          Effect.gen(function*() {
            const text = yield* input.textOf(path)
            const seen = session.files.get(path)
            if (!(yield* input.isServed(path))) return { path, diagnostics: null, text }
            if (text === null) return { path, diagnostics: [], text }
            const found = yield* input.diagnostics(path)
            const known = found.ready ? found.diagnostics : null
            if (seen !== undefined && seen.baseline === null && known !== null) {
              seen.baseline = known
              seen.baseline_lines = new Lines(text)
            }
            return { path, diagnostics: known, text }
          }), { concurrency: 4 })
        return { files }
      }),

    edited: (session_id, baseline: Baseline) =>
      Effect.gen(function*() {
        const session = sessionOf(session_id)
        yield* input.changed(baseline.files.map(({ path }) => path))
        const views = yield* Effect.forEach(baseline.files, ({ diagnostics: before, path, text: old }) =>
          Effect.gen(function*() {
            if (!(yield* input.isServed(path))) {
              return null
            }
            const text = yield* input.textOf(path)
            if (text === null || text === old) {
              return null
            }
            const seen = see(session, path)
            seen.edited = true
            seen.span = old === null ? { first: 0, last: 0 } : changedLines(old, text)
            if (seen.baseline === null && before !== null) {
              seen.baseline = before
              seen.baseline_lines = old === null ? null : new Lines(old)
            }
            const found = yield* input.diagnostics(path)
            const after = new Lines(text)
            return {
              display: input.display(path),
              known_before: before !== null,
              diff: diff(before ?? [], found.ready || found.diagnostics.length > 0 ? found.diagnostics : before ?? [], {
                before: lineOf(old === null ? null : new Lines(old)),
                after: lineOf(after)
              }),
              waiting: waitingOf(found)
            }
          }), { concurrency: 4 })
        return editText(views.filter((view) =>
          view !== null
        ))
      }),

    context: (session_id) =>
      Effect.gen(function*() {
        const session = sessions.get(session_id)
        if (session === undefined || session.made === session.touched) return session?.block ?? ""
        const now = session.touched
        const latest = [...session.files.values()].slice(-maxFiles).reverse()
        const views = yield* Effect.forEach(latest, (seen) =>
          Effect.gen(function*(): Effect.fn.Return<FileView | null> {
            if (!(yield* input.isServed(seen.path))) {
              session.files.delete(seen.path)
              return null
            }
            const warm = yield* input.isWarm(seen.path)
            const found = yield* input.diagnostics(seen.path, warm || seen.edited ? undefined : readWaitMs)
            const text = yield* input.textOf(seen.path)
            if (text === null) {
              session.files.delete(seen.path)
              return null
            }
            const lines = new Lines(text)
            if (seen.baseline === null && found.ready && !seen.edited) {
              seen.baseline = found.diagnostics
              seen.baseline_lines = lines
            }
            const fresh = seen.baseline === null ? [] : diff(seen.baseline, found.diagnostics, {
              before: lineOf(seen.baseline_lines),
              after: lineOf(lines)
            }).introduced
            return {
              display: input.display(seen.path),
              diagnostics: found.diagnostics,
              fresh: new Set(fresh),
              waiting: seen.edited ? waitingOf(found) : []
            }
          }), { concurrency: 8 })
        const symbols = yield* symbolViews(latest.filter(({ path }) => session.files.has(path))).pipe(
          Effect.timeoutTo({
            duration: Duration.millis(hoverWaitMs),
            onSuccess: (found) => found,
            onTimeout: (): ReadonlyArray<SymbolView> => []
          })
        )
        session.block = contextBlock(views.filter((view) => view !== null), symbols)
        // what was read while this was made is for the next time
        session.made = now
        return session.block
      })
  }
}
