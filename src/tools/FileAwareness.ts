/**
 * File tools that language servers see (reading 8.10): a file that was read has its servers started, a write says which
 * diagnostics it brought and which it took. A server that is dead or slow never fails a tool.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { JsonObject } from "../domain/Json.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { Workspace, type WorkspaceService } from "../domain/Workspace.ts"
import { Lsp, type LspService } from "../lsp/Lsp.ts"
import type { NativeTool, PreparedCall, ToolRun } from "./Tool.ts"

const readers: ReadonlySet<string> = new Set(["read"])
const writers: ReadonlySet<string> = new Set(["write", "edit", "apply_patch"])
/** May change any file. */
const commands: ReadonlySet<string> = new Set(["bash"])

/** Subjects of file tools back to paths (reading 7.5). @since 0.1.0 @category decoding */
export const pathOfSubject = ({ root }: Pick<WorkspaceService, "root">, subject: string): string =>
  subject.startsWith("/") ? subject : subject === "." ? root : `${root === "/" ? "" : root}/${subject}`

/** The lines that a call of `read` is about, from 0; null = the whole file. */
const linesOf = ({ limit, offset }: JsonObject): { readonly first: number; readonly last: number } | null => {
  if (typeof limit !== "number" || limit > 200) return null
  const first = Math.max(0, (typeof offset === "number" ? offset : 1) - 1)
  return { first, last: first + limit - 1 }
}

const safe = <A>(effect: Effect.Effect<A>, otherwise: A): Effect.Effect<A> =>
  Effect.catchAllDefect(
    effect,
    (defect) => Effect.as(Effect.logError(`language servers: ${Cause.pretty(Cause.die(defect))}`), otherwise)
  )

/** One line to the user about each server that came to an end; nothing of it reaches the model. @since 0.1.0 @category combinators */
export const tellNotices = (lsp: LspService, run: ToolRun): Effect.Effect<void> =>
  Effect.flatMap(
    lsp.notices,
    (lines) =>
      Effect.forEach(lines, (message) =>
        run.report?.({ type: "notice", code: "language_server", message }) ?? Effect.void, {
        discard: true
      })
  )

const aware = (lsp: LspService, workspace: WorkspaceService, tool: NativeTool): NativeTool => {
  const { name } = tool.definition
  const around = (input: JsonObject, call: PreparedCall): PreparedCall["run"] => {
    const paths = call.subjects.map((subject) => pathOfSubject(workspace, subject))
    if (readers.has(name)) {
      const lines = linesOf(input)
      return (run) =>
        Effect.tap(
          call.run(run),
          () =>
            safe(
              Effect.forEach(paths, (path) => lsp.reading(run.session_id, path, lines), { discard: true }),
              undefined
            )
        ).pipe(Effect.zipLeft(safe(tellNotices(lsp, run), undefined)))
    }
    if (commands.has(name)) return (run) => Effect.ensuring(call.run(run), safe(lsp.changed(null), undefined))
    return (run) =>
      Effect.gen(function*() {
        const before = yield* safe(lsp.editing(run.session_id, paths), { files: [] })
        const result: ToolResult = yield* call.run(run)
        const told = result.is_error ? "" : yield* safe(lsp.edited(run.session_id, before), "")
        yield* safe(tellNotices(lsp, run), undefined)
        return told === "" ? result : { ...result, output: `${result.output}\n\n${told}` }
      })
  }
  return {
    ...tool,
    // a getter, made when it is first asked for
    definition: tool.definition,
    prepare: (input) => Effect.map(tool.prepare(input), (call) => ({ ...call, run: around(input, call) }))
  }
}

/**
 * The tools with those that touch files seen by the language servers.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withLsp = <E, R>(
  makers: Effect.Effect<ReadonlyArray<NativeTool>, E, R>
): Effect.Effect<ReadonlyArray<NativeTool>, E, R | Lsp | Workspace> =>
  Effect.gen(function*() {
    const lsp = yield* Lsp
    const workspace = yield* Workspace
    const tools = yield* makers
    return tools.map((tool) => {
      const { name } = tool.definition
      return readers.has(name) || writers.has(name) || commands.has(name) ? aware(lsp, workspace, tool) : tool
    })
  })
