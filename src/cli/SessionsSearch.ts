/**
 * `hanzo-dev sessions search`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { line } from "../codec/TerminalText.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Terminal } from "../platform/Terminal.ts"
import { type SearchMatch, SessionStore } from "../storage/SessionStore.ts"
import { print, printJson, stdoutStyle } from "./Output.ts"
import { storageExit } from "./Sessions.ts"
import type { SessionsSearch } from "./SessionsSchemas.ts"
import { moment } from "./SessionText.ts"
import type * as Spec from "./Spec.ts"
import type { Style } from "./Style.ts"

const marked = ({ matches, text }: SearchMatch, style: Style): string => {
  let out = ""
  let from = 0
  for (const [start, end] of matches) {
    out += text.slice(from, start) + style.bold(style.yellow(text.slice(start, end)))
    from = end
  }
  return out + text.slice(from)
}

/** Two lines a place that was found; those of one session together under its name. @since 0.1.0 @category encoding */
export const searchText = (matches: ReadonlyArray<SearchMatch>, style: Style, with_workspace: boolean): string => {
  let last = ""
  return matches.map((match) => {
    const head = match.session_id === last
      ? ""
      : `${style.bold(match.session_id)}  ${moment(match.last_active)}  ${line(match.title ?? "", 60)}${
        with_workspace ? style.dim(`  ${line(match.workspace, 80)}`) : ""
      }${match.is_archived ? style.dim("  archived") : ""}\n`
    last = match.session_id
    return match.kind === "title" ? head : `${head}  ${style.dim(match.kind.padEnd(7))} ${marked(match, style)}\n`
  }).join("")
}

/** @since 0.1.0 @category combinators */
export const execute = Effect.fn("Cli.sessions.search")(function*(values: Spec.Values<typeof Spec.sessionsSearch>) {
  const store = yield* SessionStore
  const terminal = yield* Terminal
  const { root } = yield* Workspace
  const query = values.args.join(" ")
  const limit = values.limit ?? 20
  const found = yield* Effect.mapError(
    store.search(query, {
      archived: values.archived,
      limit: limit + 1,
      ...(values.project ? { workspace: root } : {})
    }),
    storageExit
  )
  const more = found.length > limit
  const matches = found.slice(0, limit)
  if (values.json) {
    yield* printJson({ v: 1, query, more, matches } satisfies SessionsSearch)
    return 0
  }
  if (matches.length === 0) {
    yield* terminal.err(`nothing was found for ${line(query, 200)}\n`)
    return 1
  }
  yield* print(searchText(matches, yield* stdoutStyle, !values.project))
  if (more) yield* terminal.err(`there is more; -n ${limit * 5} shows it\n`)
  return 0
})
