/**
 * What is said of servers to people: how each is, and which this project wants.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { ConfigService } from "../config/Config.ts"
import type { FilesService } from "../platform/Files.ts"
import { type ServerDefinition, serves } from "./Definitions.ts"
import type { ServerCheck, ServerStatus } from "./Lsp.ts"
import { find, onPath, type ProgramServices } from "./Programs.ts"
import * as Reader from "./Reader.ts"
import { absent, definitionOf, type Resolved, type Resolving } from "./Resolving.ts"

/** @since 0.1.0 @category encoding */
export const statusOf = (workspace: string, one: Resolved): ServerStatus => {
  const definition = definitionOf(one)
  const base = { server: definition.name, languages: definition.languages, pid: null, open_documents: 0, fix: null }
  if (one._tag === "Absent") {
    const missing = one.error.reason === "missing"
    return {
      ...base,
      root: workspace,
      phase: missing ? "missing" : "held_back",
      error: one.error.message,
      fix: missing ? definition.install : null
    }
  }
  const { root, state } = one.slot
  switch (state._tag) {
    case "Idle":
      return { ...base, root, phase: "idle", error: null }
    case "Starting":
      return { ...base, root, phase: "starting", error: null }
    case "Ready":
      return {
        ...base,
        root,
        phase: "ready",
        pid: state.client.pid,
        open_documents: state.client.documents.paths().length,
        error: null
      }
    case "Paused":
      return { ...base, root, phase: "paused", error: state.error.message }
    case "Failed":
      return {
        ...base,
        root,
        phase: state.error.reason === "missing" ? "missing" : "failed",
        error: state.error.message,
        fix: definition.install
      }
  }
}

/** Files of a kind that are looked at for one that a server can be told. */
const mostExamples = 20

const lacking = ({ checker, name }: ServerDefinition, env: ReadonlyMap<string, string>): string | null =>
  checker === undefined || onPath(env, checker.program) !== null
    ? null
    : `${name} has no diagnostics without ${checker.program}; to install it: ${checker.install}`

/** @since 0.1.0 @category models */
export interface DoctorInput {
  readonly files: FilesService
  readonly definitions: ReadonlyArray<ServerDefinition>
  readonly programs: ProgramServices
  readonly resolving: Resolving
  readonly trust: ConfigService["trust"]
  /** Absolute. */
  readonly workspace: string
}

/** Nothing is started. @since 0.1.0 @category constructors */
export const doctor = (
  { definitions, files, programs, resolving, trust, workspace }: DoctorInput
): Effect.Effect<ReadonlyArray<ServerCheck>> =>
  Effect.gen(function*() {
    /** Extensions and names of files in the workspace, as far as a look of bounded size goes. */
    const here = yield* Effect.map(
      Effect.option(files.walk({ directory: workspace, pattern: "**" })),
      (walked) => walked._tag === "Some" ? walked.value.files : []
    )
    const checks: Array<ServerCheck> = []
    const served = new Set<string>()
    const reader = Reader.make(files)
    /** The first that a server can be told, else the first of all. */
    const exampleOf = (definition: ServerDefinition): Effect.Effect<string | undefined> =>
      Effect.gen(function*() {
        const some = here.filter((file) => serves(definition, file)).slice(0, mostExamples)
        for (const file of some) if ((yield* reader(`${workspace}/${file}`, null))._tag === "Text") return file
        return some[0]
      })
    for (const definition of definitions) {
      const example = yield* exampleOf(definition)
      const root = example === undefined ? workspace : yield* resolving.rootFor(definition, `${workspace}/${example}`)
      const found = root === null ? null : yield* find(definition, root, programs)
      const program = found?._tag === "Program" ? found.argv[0] : null
      const wanted = example !== undefined && root !== null && !served.has(definition.family)
      if (program !== null && example !== undefined) served.add(definition.family)
      checks.push({
        server: definition.name,
        languages: definition.languages,
        wanted,
        example: example === undefined ? null : `${workspace}/${example}`,
        program: program === null || program.includes("/") ? program : onPath(programs.env, program) ?? program,
        problem: found === null || found._tag === "Program" ? null : absent(definition, found).message,
        install: definition.install,
        note: program === null ? null : lacking(definition, programs.env)
      })
    }
    // of a family the first one that is there counts, else the first of all; the others are not missed
    const families = new Map(definitions.map(({ family, name }) => [name, family]))
    const missed = new Set<string>()
    const judged = checks.map((check) => {
      const family = families.get(check.server) ?? ""
      if (!check.wanted || check.program !== null) return check
      const other = served.has(family) || missed.has(family)
      missed.add(family)
      return other ? { ...check, wanted: false } : check
    })
    const waiting = trust.status === "untrusted" ? trust.definitions : []
    return [
      ...waiting.filter(({ kind }) => kind === "lsp_server").map(({ key }): ServerCheck => ({
        server: key.slice("lsp.servers.".length),
        languages: "defined by this workspace",
        wanted: true,
        example: null,
        program: null,
        problem: "the settings of this workspace that define it are not trusted",
        install: null,
        note: null
      })),
      ...judged
    ]
  })
