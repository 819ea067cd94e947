/**
 * Which servers serve a file: by its kind, at its project's root, the first of each family whose program is there (readings
 * 8, 8.3).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { lookAtAll } from "../platform/Look.ts"
import { directoriesUp, type ServerDefinition, serves } from "./Definitions.ts"
import { LspError } from "./LspError.ts"
import { find, type Found, type ProgramServices } from "./Programs.ts"
import type * as Slots from "./Slots.ts"

/** A program that was not there is looked for again after so long. */
const lookAgainMs = 30_000

/** What a family comes to at a root. @since 0.1.0 @category models */
export type Resolved =
  | { readonly _tag: "Slot"; readonly slot: Slots.Slot }
  | { readonly _tag: "Absent"; readonly definition: ServerDefinition; readonly error: LspError; readonly at: number }

/** @since 0.1.0 @category combinators */
export const definitionOf = (one: Resolved): ServerDefinition =>
  one._tag === "Slot" ? one.slot.definition : one.definition

/** Why its program does not run. @since 0.1.0 @category constructors */
export const absent = (definition: ServerDefinition, found: Exclude<Found, { _tag: "Program" }>): LspError =>
  found._tag === "HeldBack"
    ? new LspError({
      reason: "held_back",
      server: definition.name,
      message: `the language server ${definition.name} is not started: ${found.path}: ${found.why}. Trust the ` +
        `workspace, or name the command as lsp.servers.${definition.name}.command in your own settings`
    })
    : new LspError({
      reason: "missing",
      server: definition.name,
      message: `the language server ${definition.name} for ${definition.languages} is not installed` +
        (definition.install === null
          ? `: there is no ${found.program} (lsp.servers.${definition.name}.command)`
          : `; to install it: ${definition.install}`)
    })

/** @since 0.1.0 @category models */
export interface ResolvingInput {
  readonly definitions: ReadonlyArray<ServerDefinition>
  readonly programs: ProgramServices
  /** Absolute. */
  readonly workspace: string
  readonly envOf: (definition: ServerDefinition) => ReadonlyMap<string, string>
  readonly slots: Slots.Slots
  /** One line for the user. */
  readonly tell: (line: string) => void
}

/** @since 0.1.0 @category models */
export interface Resolving {
  /** None: nothing serves this kind of file, or it lies outside the workspace. */
  readonly serversFor: (path: string) => Effect.Effect<ReadonlyArray<Resolved>>
  /** Why nobody serves it. */
  readonly nobody: (path: string) => LspError
  /** The nearest directory with a marker, else the workspace; null = it needs one and has none. */
  readonly rootFor: (definition: ServerDefinition, path: string) => Effect.Effect<string | null>
  readonly all: () => ReadonlyArray<Resolved>
  /** Those of a server's name are looked for anew with the next use; what they came to. */
  readonly forget: (server: string) => ReadonlyArray<Resolved>
}

/** @since 0.1.0 @category constructors */
export const make = (input: ResolvingInput): Resolving => {
  const { definitions, envOf, programs, slots, tell, workspace } = input
  const resolved = new Map<string, Resolved>()
  const turn = Effect.unsafeMakeSemaphore(1)

  /** The first of a family that is there, else why the first is not. */
  const resolve = (
    family: ReadonlyArray<ServerDefinition>,
    root: string
  ): Effect.Effect<Resolved> =>
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      let none: { readonly definition: ServerDefinition; readonly error: LspError } | null = null
      for (const definition of family) {
        const found = yield* find(definition, root, programs)
        if (found._tag === "Program") {
          return {
            _tag: "Slot",
            slot: slots.make(definition, root, {
              server: definition.name,
              argv: found.argv,
              cwd: root,
              root,
              env: envOf(definition),
              initialization_options: found.initialization_options,
              settings: definition.settings,
              silent_when_clean: definition.silent_when_clean ?? false,
              ...(definition.initialize_timeout_ms === undefined
                ? {}
                : { initialize_timeout_ms: definition.initialize_timeout_ms }),
              ...(definition.request_timeout_ms === undefined
                ? {}
                : { request_timeout_ms: definition.request_timeout_ms })
            })
          }
        }
        if (none === null || (found._tag === "HeldBack" && none.error.reason === "missing")) {
          none = { definition, error: absent(definition, found) }
        }
      }
      const [definition] = family
      if (none === null || definition === undefined) return yield* Effect.dieMessage("a family without a member")
      return { _tag: "Absent", ...none, at: now }
    })

  const rootFor = (definition: ServerDefinition, path: string): Effect.Effect<string | null> =>
    Effect.gen(function*() {
      const directories = directoriesUp(workspace, path)
      for (const directory of directories) {
        const looks = yield* lookAtAll(definition.root_markers.map((marker) => `${directory}/${marker}`))
        if (looks.some((look) => look !== null)) return directory
      }
      return definition.needs_marker === true ? null : workspace
    })

  const serversFor = (path: string): Effect.Effect<ReadonlyArray<Resolved>> =>
    directoriesUp(workspace, path).length === 0 ? Effect.succeed([]) : turn.withPermits(1)(Effect.gen(function*() {
      const families = new Map<string, Array<ServerDefinition>>()
      for (const definition of definitions) {
        if (!serves(definition, path)) continue
        const family = families.get(definition.family)
        if (family === undefined) families.set(definition.family, [definition])
        else family.push(definition)
      }
      const out: Array<Resolved> = []
      for (const [name, family] of families) {
        const [first] = family
        const root = first === undefined ? null : yield* rootFor(first, path)
        if (root === null) continue
        const key = `${name}\0${root}`
        const known = resolved.get(key)
        const now = yield* Clock.currentTimeMillis
        const stale = known?._tag === "Absent" && now - known.at >= lookAgainMs
        const found = known === undefined || stale ? yield* resolve(family, root) : known
        resolved.set(key, found)
        if (found._tag === "Absent") tell(found.error.message)
        out.push(found)
      }
      // Deno's files are not for the other servers of the language
      return out.some((one) => one._tag === "Slot" && one.slot.definition.name === "deno")
        ? out.filter((one) => definitionOf(one).family !== "typescript")
        : out
    }))

  const nobody = (path: string): LspError =>
    new LspError({
      reason: "no_server",
      server: "",
      message: directoriesUp(workspace, path).length === 0
        ? `${path} is outside the workspace ${workspace}; language servers look only inside`
        : `no language server is known for ${path}; name one as lsp.servers.NAME {command, extensions} in the settings`
    })

  return {
    serversFor,
    nobody,
    rootFor,
    all: () => [...resolved.values()],
    forget: (server) =>
      [...resolved].flatMap(([key, one]) => {
        if (definitionOf(one).name !== server) return []
        resolved.delete(key)
        return [one]
      })
  }
}
