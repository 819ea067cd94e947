/**
 * `hanzo-dev lsp ...`: language servers without an agent, for people and for CI.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { line, neutralise } from "../codec/TerminalText.ts"
import { ExitCode } from "../domain/Failure.ts"
import { Workspace } from "../domain/Workspace.ts"
import { severityWords } from "../lsp/Enrichment.ts"
import { knownServers } from "../lsp/KnownServers.ts"
import { type FileDiagnostics, Lsp, type Place, type ServerCheck } from "../lsp/Lsp.ts"
import { LspError } from "../lsp/LspError.ts"
import { comparePositions, type Diagnostic, type Location } from "../lsp/Types.ts"
import { Files } from "../platform/Files.ts"
import { Terminal } from "../platform/Terminal.ts"
import { Changes } from "../tools/Changes.ts"
import { FileState } from "../tools/FileState.ts"
import { nameProblem, placeIn } from "../tools/lsp/Calls.ts"
import * as Edits from "../tools/lsp/Edits.ts"
import * as Text from "../tools/lsp/Text.ts"
import { isInside, Paths } from "../tools/Paths.ts"
import { CliExit, failed, usage } from "./Exit.ts"
import type {
  LspDiagnostics,
  LspDoctor,
  LspHover,
  LspLocations,
  LspRename,
  LspStatus,
  LspSymbols
} from "./LspSchemas.ts"
import { columns, print, printJson, soundConfig } from "./Output.ts"
import type * as Spec from "./Spec.ts"

const defaultTimeoutMs = 120_000

/** A server that could not answer is exit code 2, as are all mistakes before it. */
const exitOf = (error: LspError): CliExit => new CliExit({ exit_code: ExitCode.usage, lines: [error.message] })

/** Absolute, canonical; an existing file. */
const fileAt = (given: string) =>
  Effect.gen(function*() {
    const path = yield* Path.Path
    const files = yield* Files
    const { cwd } = yield* Workspace
    const found = yield* Effect.mapError(
      files.canonical(path.resolve(cwd, given)),
      (error) => usage(error.message)
    )
    if (found.kind === null) return yield* usage(`there is no file ${given}`)
    if (found.kind !== "file") return yield* usage(`${given} is no file; give the files, for example src/*.ts`)
    return found.path
  })

const display = Effect.map(
  Workspace,
  ({ cwd }) => (path: string): string => path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path
)

const textAt = (path: string) =>
  Effect.flatMap(Files, (files) =>
    Effect.mapBoth(files.read(path, 64 * 1024 * 1024), {
      onFailure: (error) => usage(error.message),
      onSuccess: ({ bytes }) => new TextDecoder().decode(bytes)
    }))

const within = <A, E, R>(effect: Effect.Effect<A, E, R>, timeout_ms: number | undefined) =>
  Effect.timeoutFail(effect, {
    duration: Duration.millis(timeout_ms ?? defaultTimeoutMs),
    onTimeout: () =>
      new CliExit({
        exit_code: ExitCode.usage,
        lines: [`no answer within ${timeout_ms ?? defaultTimeoutMs} ms (--timeout-ms)`]
      })
  })

/** `FILE:LINE[:COLUMN]`; the file's name may hold colons itself. */
const placeOf = (given: string) =>
  Effect.gen(function*() {
    const match = /^(.+?):([1-9]\d{0,8})(?::([1-9]\d{0,8}))?$/su.exec(given)
    if (match === null) {
      return yield* usage(
        `${JSON.stringify(given)} is no place`,
        "give FILE:LINE or FILE:LINE:COLUMN, for example src/a.ts:3:5"
      )
    }
    const [, file = "", row = "", column] = match
    const path = yield* fileAt(file)
    const place: Place = yield* placeIn(
      yield* Lsp,
      path,
      yield* textAt(path),
      Number(row),
      column === undefined ? undefined : Number(column)
    )
    return place
  })

const diagnosticText = (one: Diagnostic, name: (path: string) => string): string => {
  const { character, line: row } = one.range.start
  const about = [one.source, one.code ?? ""].filter((text) => text !== "").join(" ")
  return `${Text.fileText(one.uri, name)}:${row + 1}:${character + 1}: ${severityWords[one.severity]}: ${
    line(one.message, 1000)
  }${about === "" ? "" : ` [${line(about, 100)}]`}`
}

const byPlace = (a: Diagnostic, b: Diagnostic): number => comparePositions(a.range.start, b.range.start)

const problemOf = (error: LspError) => ({ server: error.server, reason: error.reason, message: error.message })

/** Exit code 1 with an error, else 2 when a server could not answer, else 0. @since 0.1.0 @category combinators */
export const diagnostics = Effect.fn("Cli.lsp.diagnostics")(function*(
  values: Spec.Values<typeof Spec.lspDiagnostics>
) {
  yield* soundConfig
  const lsp = yield* Lsp
  const terminal = yield* Terminal
  const { root } = yield* Workspace
  const nobody = (path: string): LspError =>
    new LspError({
      reason: "no_server",
      server: "",
      message: isInside(root, path)
        ? `no language server is known for ${path}`
        : `${path} is outside the workspace ${root}; language servers look only inside`
    })
  const paths = [...new Set(yield* Effect.forEach(values.args, fileAt))]
  const timeout = values["timeout-ms"] ?? defaultTimeoutMs
  const found = yield* Effect.forEach(
    paths,
    (path): Effect.Effect<FileDiagnostics> =>
      Effect.map(
        lsp.diagnostics(path, timeout),
        (file) =>
          file.servers.length > 0 || file.problems.length > 0
            ? { ...file, diagnostics: file.diagnostics.toSorted(byPlace) }
            : { ...file, problems: [nobody(path)] }
      ),
    { concurrency: 4 }
  )
  const wrong = found.some((file) => file.diagnostics.some(({ severity }) => severity === 1))
  const unanswered = found.some((file) => !file.ready)
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        ok: !wrong && !unanswered,
        files: found.map((file) => ({ ...file, problems: file.problems.map(problemOf) }))
      } satisfies LspDiagnostics
    )
  } else {
    const name = yield* display
    const all = found.flatMap((file) => file.diagnostics)
    yield* print(all.map((one) => `${diagnosticText(one, name)}\n`).join(""))
    for (const message of new Set(found.flatMap((file) => file.problems.map((problem) => problem.message)))) {
      yield* terminal.err(`${line(message, 2000)}\n`)
    }
  }
  // nothing said is not always nothing found
  const answered = new Set(found.flatMap((file) => file.servers))
  if (knownServers.some(({ checker, name }) => checker !== undefined && answered.has(name))) {
    for (const { note, server } of yield* lsp.doctor) {
      if (note !== null && answered.has(server)) yield* terminal.err(`${line(note, 2000)}\n`)
    }
  }
  return wrong ? ExitCode.failed : unanswered ? ExitCode.usage : ExitCode.done
})

const locations = (
  values: Spec.Values<typeof Spec.lspDefinition>,
  ask: (place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError, Lsp>
) =>
  Effect.gen(function*() {
    yield* soundConfig
    const found = yield* within(
      Effect.flatMap(placeOf(values.args[0] ?? ""), (place) => Effect.mapError(ask(place), exitOf)),
      values["timeout-ms"]
    )
    if (values.json) yield* printJson({ v: 1, locations: found } satisfies LspLocations)
    else {
      const name = yield* display
      yield* print(found.map((location) => `${Text.locationText(location, name)}\n`).join(""))
    }
    return found.length === 0 ? ExitCode.failed : ExitCode.done
  })

/** Exit code 1 when nothing is known of the place. @since 0.1.0 @category combinators */
export const definition = Effect.fn("Cli.lsp.definition")((values: Spec.Values<typeof Spec.lspDefinition>) =>
  locations(values, (place) => Effect.flatMap(Lsp, (lsp) => lsp.definition(place)))
)

/** Exit code 1 when nothing is known of the place. @since 0.1.0 @category combinators */
export const references = Effect.fn("Cli.lsp.references")((values: Spec.Values<typeof Spec.lspReferences>) =>
  locations(values, (place) => Effect.flatMap(Lsp, (lsp) => lsp.references(place)))
)

/** Exit code 1 when nothing is known of the place. @since 0.1.0 @category combinators */
export const hover = Effect.fn("Cli.lsp.hover")(function*(values: Spec.Values<typeof Spec.lspHover>) {
  yield* soundConfig
  const lsp = yield* Lsp
  const text = yield* within(
    Effect.flatMap(placeOf(values.args[0] ?? ""), (place) => Effect.mapError(lsp.hover(place), exitOf)),
    values["timeout-ms"]
  )
  if (values.json) yield* printJson({ v: 1, text } satisfies LspHover)
  else if (text !== null) yield* print(`${neutralise(text)}\n`)
  return text === null ? ExitCode.failed : ExitCode.done
})

/** @since 0.1.0 @category combinators */
export const symbols = Effect.fn("Cli.lsp.symbols")(function*(values: Spec.Values<typeof Spec.lspSymbols>) {
  yield* soundConfig
  const lsp = yield* Lsp
  const path = yield* fileAt(values.args[0] ?? "")
  const found = yield* within(Effect.mapError(lsp.symbols(path), exitOf), values["timeout-ms"])
  if (values.json) yield* printJson({ v: 1, symbols: found } satisfies LspSymbols)
  else if (found.length > 0) yield* print(`${Text.symbolsText(found, null)}\n`)
  return ExitCode.done
})

/** All files are written or none. @since 0.1.0 @category combinators */
export const rename = Effect.fn("Cli.lsp.rename")(function*(values: Spec.Values<typeof Spec.lspRename>) {
  yield* soundConfig
  const [place = "", new_name = ""] = values.args
  const wrong = nameProblem(new_name)
  if (wrong !== null) return yield* usage(wrong)
  const lsp = yield* Lsp
  const edit = yield* within(
    Effect.flatMap(placeOf(place), (at) => Effect.mapError(lsp.rename(at, new_name), exitOf)),
    values["timeout-ms"]
  )
  if (edit === null) return yield* failed("the language server finds nothing to rename here")
  const files = yield* Effect.gen(function*() {
    const services = { changes: yield* Changes, paths: yield* Paths }
    const planned = yield* Effect.mapError(Edits.plan(edit, services), ({ message }) => failed(message))
    const outside = planned.find(({ target }) => !target.inside)
    if (outside !== undefined) {
      return yield* failed(`${outside.target.path} is outside the workspace; nothing was changed`)
    }
    if (!values["dry-run"]) {
      yield* Effect.mapError(Edits.apply("cli", planned, services.changes), ({ message }) => failed(message))
    }
    return planned
  }).pipe(
    Effect.provide(Changes.layer.pipe(Layer.provideMerge(Layer.merge(Paths.layer, FileState.layer))))
  )
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        applied: !values["dry-run"],
        files: files.map(({ diff, target }) => ({ path: target.path, added: diff.added, removed: diff.removed }))
      } satisfies LspRename
    )
  } else yield* print(`${neutralise(Edits.report(values["dry-run"] ? "Would change" : "Renamed", files))}\n`)
  return ExitCode.done
})

const statusRows = (checks: ReadonlyArray<ServerCheck>): string =>
  columns(checks.map(({ languages, note, problem, program, server }) => [
    server,
    languages,
    program === null ? "-" : line(program, 500),
    line(problem ?? note ?? "", 1000)
  ]))

/** @since 0.1.0 @category combinators */
export const status = Effect.fn("Cli.lsp.status")(function*(values: Spec.Values<typeof Spec.lspStatus>) {
  yield* soundConfig
  const checks = (yield* (yield* Lsp).doctor).filter(({ wanted }) => wanted)
  if (values.json) {
    yield* printJson(
      {
        v: 1,
        servers: checks.map(({ install, languages, note, problem, program, server }) => ({
          server,
          languages,
          program,
          problem,
          install: program === null ? install : null,
          note
        }))
      } satisfies LspStatus
    )
  } else {
    yield* print(
      checks.length === 0
        ? "no file of this project is of a kind that a language server is known for\n"
        : statusRows(checks)
    )
  }
  return ExitCode.done
})

/** Exit code 1 when one that is wanted does not answer. @since 0.1.0 @category combinators */
export const doctor = Effect.fn("Cli.lsp.doctor")(function*(values: Spec.Values<typeof Spec.lspDoctor>) {
  yield* soundConfig
  const lsp = yield* Lsp
  const wanted = (yield* lsp.doctor).filter((check) => check.wanted)
  const servers = yield* Effect.forEach(wanted, (check) =>
    Effect.gen(function*() {
      const { example, install, languages, note, problem, program, server } = check
      const base = { server, languages, program, example, problem, install: program === null ? install : null, note }
      if (program === null || example === null) return { ...base, ok: false }
      const found = yield* lsp.diagnostics(example, values["timeout-ms"] ?? defaultTimeoutMs)
      const wrong = found.problems.find((one) => one.server === server)
      return { ...base, ok: wrong === undefined, problem: wrong?.message ?? null }
    }), { concurrency: 2 })
  const ok = servers.every((one) => one.ok)
  if (values.json) yield* printJson({ v: 1, ok, servers } satisfies LspDoctor)
  else {
    const name = yield* display
    yield* print(
      servers.length === 0
        ? "no file of this project is of a kind that a language server is known for\n"
        : columns(servers.map((one) => [
          one.ok ? "ok" : "FAIL",
          one.server,
          one.languages,
          one.ok
            ? `answers about ${line(name(one.example ?? ""), 500)}${one.note === null ? "" : `; ${one.note}`}`
            : line(one.problem ?? "it does not answer", 1000)
        ]))
    )
  }
  return ok ? ExitCode.done : ExitCode.failed
})
