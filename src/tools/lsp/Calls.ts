/**
 * The calls of `lsp`, from their input to what runs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ToolResult } from "../../domain/Tool.ts"
import { success } from "../../domain/ToolExecutor.ts"
import type { WorkspaceService } from "../../domain/Workspace.ts"
import type { LspService, Place } from "../../lsp/Lsp.ts"
import type { LspError } from "../../lsp/LspError.ts"
import { Lines } from "../../lsp/Positions.ts"
import type { Location, WorkspaceEdit } from "../../lsp/Types.ts"
import { pathOf } from "../../lsp/Uri.ts"
import type { ChangesService } from "../Changes.ts"
import { decode, isText } from "../edit/Text.ts"
import { tellNotices } from "../FileAwareness.ts"
import type { FileStateService } from "../FileState.ts"
import type { LspInput } from "../Lsp.ts"
import type { PathsService, ResolvedPath } from "../Paths.ts"
import { type PreparedCall, ToolFailure, type ToolRun } from "../Tool.ts"
import * as Edits from "./Edits.ts"
import * as Text from "./Text.ts"

/** @since 0.1.0 @category models */
export interface LspToolServices {
  readonly lsp: LspService
  readonly paths: PathsService
  readonly changes: ChangesService
  readonly state: FileStateService
  readonly workspace: WorkspaceService
}

const failed = (error: LspError): ToolFailure => new ToolFailure({ message: `${error.message}.` })

/**
 * Why something cannot be the name of a symbol in any language; null = it may be one. Some servers write whatever they
 * are given.
 *
 * @since 0.1.0
 * @category decoding
 */
export const nameProblem = (name: string): string | null =>
  name === "" || name.length > 1_000 || /[\s\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/u.test(name)
    ? `${JSON.stringify(name.slice(0, 100))} cannot be a name`
    : null

/** Where a symbol is that a call names by its line, or by line and column. @since 0.1.0 @category decoding */
export const placeIn = (
  lsp: Pick<LspService, "symbols">,
  path: string,
  text: string,
  line: number,
  character: number | undefined
): Effect.Effect<Place> =>
  Effect.gen(function*() {
    const lines = new Lines(text)
    const index = Math.min(line, lines.count) - 1
    if (character !== undefined) {
      return { path, line: index, character: Math.min(character - 1, lines.line(index).length) }
    }
    const symbols = yield* Effect.orElseSucceed(lsp.symbols(path), () => [])
    const declared = symbols.find(({ selection }) => selection.start.line === index)
    if (declared !== undefined) return { path, ...declared.selection.start }
    return { path, line: index, character: Math.max(0, lines.line(index).search(/\S/u)) }
  })

/** @since 0.1.0 @category constructors */
export const prepare = (input: LspInput, services: LspToolServices): Effect.Effect<PreparedCall, ToolFailure> =>
  Effect.gen(function*() {
    const { changes, lsp, paths, state } = services
    const { action } = input
    const fail = (message: string) => new ToolFailure({ message })
    const target = yield* paths.resolve(input.path)
    const display: Text.Display = paths.display

    const textOf = (of: ResolvedPath): Effect.Effect<string, ToolFailure> =>
      Effect.gen(function*() {
        const content = yield* changes.load(of.path)
        if (content === null) return yield* fail(yield* paths.missing(of))
        const file = decode(content.bytes)
        return isText(file) ? file.text : yield* fail(`${of.display} is not text.`)
      })

    const needLine = Effect.suspend(() =>
      input.line === undefined ? fail(`${action} needs a line (counting from 1)`) : Effect.succeed(input.line)
    )
    const place: Effect.Effect<Place, ToolFailure> = Effect.gen(function*() {
      const line = yield* needLine
      return yield* placeIn(lsp, target.path, yield* textOf(target), line, input.character)
    })

    /** Without what is in files that a rule denies this tool. */
    const visible = <A>(
      all: ReadonlyArray<A>,
      uri: (one: A) => string,
      run: ToolRun
    ): Effect.Effect<ReadonlyArray<A>> => {
      const { denies } = run
      if (denies === undefined) return Effect.succeed(all)
      const known = new Map<string, boolean>()
      return Effect.filter(all, (one) =>
        Effect.gen(function*() {
          const at = uri(one)
          const path = pathOf(at)
          const before = known.get(at)
          if (path === null || before !== undefined) return before ?? true
          const resolved = yield* Effect.option(paths.resolve(path))
          const shown = resolved._tag === "Some" && !denies(resolved.value.subject)
          known.set(at, shown)
          return shown
        }))
    }

    const locations = (
      ask: (place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>,
      none: string
    ) =>
    (run: ToolRun): Effect.Effect<ToolResult, ToolFailure> =>
      Effect.gen(function*() {
        const all = yield* visible(yield* Effect.mapError(ask(yield* place), failed), ({ uri }) => uri, run)
        if (all.length === 0) return success(none)
        const texts = new Map<string, Lines>()
        for (const { uri } of all.slice(0, Text.maxEntries)) {
          const path = pathOf(uri)
          if (path === null || texts.has(uri)) continue
          const resolved = yield* Effect.option(paths.resolve(path))
          // the lines of files outside are for calls that are about those
          if (resolved._tag === "None" || !resolved.value.inside) continue
          const content = yield* Effect.option(changes.load(resolved.value.path))
          const file = content._tag === "Some" && content.value !== null ? decode(content.value.bytes) : null
          if (file !== null && isText(file)) texts.set(uri, new Lines(file.text))
        }
        return success(
          Text.locationsText(all, display, ({ range, uri }) => texts.get(uri)?.line(range.start.line) ?? "")
        )
      })

    const read = (run: (context: ToolRun) => Effect.Effect<ToolResult, ToolFailure>): PreparedCall => ({
      subjects: [target.subject],
      inside_workspace: target.inside,
      run: (context) => Effect.ensuring(run(context), tellNotices(lsp, context))
    })

    /** Asks now, without changing anything, so that the Guard can decide about the files it would change. */
    const write = (what: string, edit: WorkspaceEdit | null): Effect.Effect<PreparedCall, ToolFailure> =>
      Effect.gen(function*() {
        const files = edit === null ? [] : yield* Edits.plan(edit, services)
        if (files.length === 0) return yield* fail(`${what}: the language server finds nothing to change here`)
        const all = files.map((file) => file.target.path)
        return {
          subjects: files.map((file) => file.target.subject),
          inside_workspace: files.every((file) => file.target.inside),
          kind: "edit",
          read_only: false,
          run: (context) =>
            Effect.gen(function*() {
              const before = yield* lsp.editing(context.session_id, all)
              yield* Edits.apply(context.session_id, files, changes).pipe(state.exclusive(all))
              const told = yield* lsp.edited(context.session_id, before)
              yield* tellNotices(lsp, context)
              const done = Edits.report(what, files)
              return success(told === "" ? done : `${done}\n\n${told}`)
            })
        }
      })

    switch (action) {
      case "definition":
        return read(locations(lsp.definition, "The language server knows no definition of this place."))
      case "implementation":
        return read(locations(lsp.implementation, "The language server knows no implementation of this place."))
      case "references":
        return read(locations(lsp.references, "The language server knows no use of this place."))
      case "hover":
        return read(() =>
          Effect.gen(function*() {
            const text = yield* Effect.mapError(lsp.hover(yield* place), failed)
            return success(text ?? "The language server knows nothing of this place; give the column of the name.")
          })
        )
      case "calls":
        return read((run) =>
          Effect.gen(function*() {
            const at = yield* place
            const calls = (direction: "incoming" | "outgoing") =>
              Effect.flatMap(Effect.mapError(lsp.calls(at, direction), failed), (all) =>
                visible(all, ({ symbol }) => symbol.uri, run))
            const incoming = yield* calls("incoming")
            const outgoing = yield* calls("outgoing")
            const part = (title: string, text: string): string =>
              `${title}:\n${text === "" ? "(none)" : text}`
            return success([
              part("Callers", Text.callsText(incoming, display)),
              part("Calls", Text.callsText(outgoing, display))
            ].join("\n\n"))
          })
        )
      case "symbols":
        return read((run) =>
          Effect.gen(function*() {
            const directory = target.kind === "directory"
            const found = yield* Effect.mapError(
              directory ? lsp.workspaceSymbols(input.new_name ?? "") : lsp.symbols(target.path),
              failed
            )
            const all = yield* visible(found, ({ uri }) => uri, run)
            return success(all.length === 0 ? "No symbols." : Text.symbolsText(all, directory ? display : null))
          })
        )
      case "diagnostics":
        return read((run) =>
          Effect.gen(function*() {
            if (target.kind === "directory") {
              const found = yield* Effect.mapError(lsp.workspaceDiagnostics(null), failed)
              const all = yield* visible(found, ({ uri }) => uri, run)
              return success(
                all.length === 0
                  ? "The language servers that run report nothing; they look at the files they were asked about."
                  : Text.diagnosticsText(all, display)
              )
            }
            if (target.kind === null) return yield* fail(yield* paths.missing(target))
            const found = yield* lsp.diagnostics(target.path)
            const [problem] = found.problems
            if (problem === undefined && found.servers.length === 0) {
              return yield* fail(`no language server is known for ${target.display}`)
            }
            const text = Text.diagnosticsText(found.diagnostics, display)
            if (problem !== undefined && found.servers.length === 0 && text === "") return yield* failed(problem)
            return success(
              [text === "" ? `No diagnostics in ${target.display}.` : text, ...found.problems.map((one) => one.message)]
                .join("\n")
            )
          })
        )
      case "rename": {
        const { new_name } = input
        if (new_name === undefined || new_name === "") return yield* fail("rename needs new_name")
        const wrong = nameProblem(new_name)
        if (wrong !== null) return yield* fail(wrong)
        if (!target.inside) return yield* fail("rename works inside the workspace only")
        const edit = yield* Effect.mapError(lsp.rename(yield* place, new_name), failed)
        return yield* write(`Renamed to ${new_name}`, edit)
      }
      case "code_action": {
        const line = (yield* needLine) - 1
        const range = {
          start: { line, character: 0 },
          end: { line, character: Math.max(0, (input.character ?? 1) - 1) }
        }
        const all = Effect.mapError(lsp.codeActions(target.path, range), failed)
        const { new_name } = input
        if (new_name === undefined) {
          return read(() =>
            Effect.map(all, (found) =>
              success(
                found.length === 0 ? "The language server offers no fix for this line." : Text.actionsText(found)
              ))
          )
        }
        if (!target.inside) return yield* fail("code_action works inside the workspace only")
        const found = yield* all
        const chosen = found.find(({ title }) => title === new_name)
        if (chosen === undefined) {
          return yield* fail(
            found.length === 0
              ? "The language server offers no fix for this line."
              : `There is no fix of this title; the fixes are:\n${Text.actionsText(found)}`
          )
        }
        return yield* write(`Applied "${new_name}"`, chosen.edit)
      }
    }
  })
