/**
 * The servers of a workspace behind `Lsp`: who serves which file, answers of several put together.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Scope from "effect/Scope"
import { Config } from "../config/Config.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { residentBytes } from "../platform/GroupMemory.ts"
import { lookAtAll } from "../platform/Look.ts"
import * as Answers from "./Answers.ts"
import { definitionsOf, languageId, serves } from "./Definitions.ts"
import { settleMs, unique } from "./Diagnosing.ts"
import { knownServers } from "./KnownServers.ts"
import type { LspNeeds, LspOptions, LspService, Place } from "./Lsp.ts"
import type { LspClient } from "./LspClient.ts"
import { LspError } from "./LspError.ts"
import type { ProgramServices } from "./Programs.ts"
import * as Reader from "./Reader.ts"
import * as Resolving from "./Resolving.ts"
import { ServerSpawner } from "./ServerSpawner.ts"
import * as Sessions from "./Sessions.ts"
import * as Slots from "./Slots.ts"
import * as Status from "./Status.ts"
import { type Location, sameRange } from "./Types.ts"
import { keyOf, uriOf } from "./Uri.ts"
import * as Watched from "./Watched.ts"

/** A server's first answer, its start included (reading 8.5). @since 0.1.0 @category constants */
export const firstAnswerMs = 15_000
const placeKey = ({ range, uri }: Location): string =>
  `${keyOf(uri)}:${range.start.line}:${range.start.character}-${range.end.line}:${range.end.character}`

const uniqueLocations = (all: ReadonlyArray<Location>): ReadonlyArray<Location> => {
  const seen = new Set<string>()
  return all.filter((one) => {
    const key = placeKey(one)
    return seen.has(key) ? false : (seen.add(key), true)
  })
}

/** @since 0.1.0 @category constructors */
export const make = (options: LspOptions): Effect.Effect<LspService, never, LspNeeds | Scope.Scope> =>
  Effect.gen(function*() {
    const config = yield* Config
    const environment = yield* Environment
    const files = yield* Files
    const spawner = yield* ServerSpawner
    const { cwd, root: workspace } = yield* Workspace
    const outer = yield* Effect.scope
    // side by side: the end of one does not wait for another's
    const scope = yield* Scope.fork(outer, ExecutionStrategy.parallel)

    const reader = Reader.make(files)
    const definitions = definitionsOf(config.config.lsp.servers)
    const keys = Object.values(config.config.providers).flatMap(({ api_key_env }) => api_key_env ?? [])
    const envOf = (definition: { readonly env: Readonly<Record<string, string>> }): ReadonlyMap<string, string> =>
      childEnvironment(environment.vars, { drop: keys, set: { ...config.config.env, ...definition.env } })
    const programs: ProgramServices = {
      files,
      processes: spawner.processes,
      enforced: spawner.enforced,
      env: envOf({ env: {} }),
      trusted: config.trust.status === "trusted" || config.trust.status === "this_run",
      workspace
    }

    const first_ms = options.first_answer_ms ?? firstAnswerMs
    const settle_ms = options.settle_ms ?? settleMs
    const told = new Set<string>()
    let notices: Array<string> = []
    const tell = (line: string): void => {
      if (told.has(line)) return
      told.add(line)
      notices.push(line)
    }

    const slots = Slots.make({
      scope,
      services: Effect.map(spawner.processes, (processes) => ({ processes, reader })),
      language_id: languageId,
      memory: residentBytes,
      limits: {
        idle_ms: options.idle_ms ?? 600_000,
        max_memory_bytes: options.max_memory_bytes ?? 4 * 1024 * 1024 * 1024,
        watch_ms: options.watch_ms ?? 30_000
      },
      tell
    })
    yield* Effect.addFinalizer(() => Effect.sync(slots.shut))

    const resolving = Resolving.make({ definitions, programs, workspace, envOf, slots, tell })
    const { serversFor } = resolving

    const running = (): ReadonlyArray<LspClient> =>
      resolving.all().flatMap((one) =>
        one._tag === "Slot" && one.slot.state._tag === "Ready" ? [one.slot.state.client] : []
      )

    const watched = Watched.make({
      files,
      workspace,
      isOfInterest: (path) =>
        definitions.some((one) => serves(one, path) || one.root_markers.some((name) => path.endsWith(`/${name}`)))
    })
    let stale = false
    const turn = yield* Effect.makeSemaphore(1)

    /** After a command, the servers that run are told what it did to files. */
    const refreshed: Effect.Effect<void> = turn.withPermits(1)(Effect.suspend(() => {
      if (!stale || running().length === 0) return Effect.void
      stale = false
      return Effect.gen(function*() {
        const { files: changes, packages } = yield* watched.changes
        if (packages) {
          // what servers have read of packages is out of date as a whole
          for (const one of resolving.all()) {
            if (one._tag === "Slot" && one.slot.state._tag === "Ready") yield* slots.reset(one.slot)
          }
          return
        }
        yield* Effect.forEach(running(), (client) =>
          Effect.zipRight(
            Effect.ignore(client.changedOnDisk(changes)),
            Effect.forEach(
              changes.filter(({ path }) => client.documents.get(path) !== undefined),
              ({ path }) => Effect.ignore(client.documents.sync(path)),
              { discard: true }
            )
          ), { concurrency: "unbounded", discard: true })
      })
    }))

    const clientOf = (one: Resolving.Resolved): Effect.Effect<LspClient, LspError> =>
      one._tag === "Absent"
        ? Effect.fail(one.error)
        : Effect.zipRight(
          // what there is now is what the server finds when it starts
          one.slot.state._tag === "Ready" ? refreshed : Effect.asVoid(Effect.forkIn(watched.begin, scope)),
          slots.obtain(one.slot)
        )

    const { askAll, diagnostics } = Answers.make({ resolving, clientOf, first_ms, settle_ms, tell })

    const locations =
      (use: (client: LspClient, place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>) =>
      (place: Place): Effect.Effect<ReadonlyArray<Location>, LspError> =>
        Effect.map(askAll(place.path, (client) => use(client, place)), (all) => uniqueLocations(all.flat()))

    const changed: LspService["changed"] = (paths) =>
      paths === null
        ? Effect.sync(() => {
          stale = true
          sessions.stale()
        })
        : Effect.forEach(paths, watched.known, { discard: true }).pipe(
          Effect.zipRight(Effect.forEach(running(), (client) =>
            Effect.forEach(paths, (path) =>
              Effect.gen(function*() {
                const open = client.documents.get(path)
                const [look] = yield* lookAtAll([path])
                if (open !== undefined) yield* Effect.ignore(client.documents.sync(path, true))
                const kind = look === null ? "deleted" : open === undefined ? "created" : "changed"
                yield* Effect.ignore(client.changedOnDisk([{ path, kind }]))
              }), { discard: true }), { concurrency: "unbounded", discard: true }))
        )

    const display = (path: string): string =>
      path === cwd ? "." : path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path

    const symbols: LspService["symbols"] = (path) =>
      Effect.map(askAll(path, (client) => client.documentSymbols(uriOf(path))), (all) => all.flat())

    const hover: LspService["hover"] = (place) =>
      Effect.map(
        askAll(place.path, (client) => client.hover(uriOf(place.path), place.line, place.character)),
        (all) => {
          const texts = [...new Set(all.filter((text) => text !== null))]
          return texts.length === 0 ? null : texts.join("\n\n")
        }
      )

    const textOf = (path: string): Effect.Effect<string | null> =>
      Effect.map(reader(path, null), (read) => read._tag === "Text" ? read.text : null)

    const sessions = Sessions.make({
      scope,
      display,
      diagnostics,
      symbols,
      hover,
      textOf,
      changed,
      isServed: (path) => Effect.map(serversFor(path), (servers) => servers.some((one) => one._tag === "Slot")),
      isWarm: (path) =>
        Effect.map(
          serversFor(path),
          (servers) =>
            servers.every((one) => one._tag === "Absent" || one.slot.warm || one.slot.state._tag === "Failed")
        )
    })

    const service: LspService = {
      diagnostics,
      workspaceDiagnostics: (path) =>
        path === null
          ? Effect.map(
            Effect.forEach(running(), (client) => Effect.option(client.workspaceDiagnostics()), {
              concurrency: "unbounded"
            }),
            (all) => unique(all.flatMap((one) => one._tag === "Some" ? one.value.diagnostics : []))
          )
          : Effect.map(
            askAll(path, (client) => client.workspaceDiagnostics()),
            (all) => unique(all.flatMap((one) => one.diagnostics))
          ),
      definition: locations((client, { path, ...at }) => client.definitions(uriOf(path), at)),
      implementation: locations((client, { path, ...at }) => client.implementations(uriOf(path), at)),
      references: locations((client, { character, line, path }) => client.findReferences(uriOf(path), line, character)),
      hover,
      symbols,
      workspaceSymbols: (query) =>
        Effect.gen(function*() {
          const clients = running()
          if (clients.length === 0) {
            return yield* new LspError({
              reason: "no_server",
              server: "",
              message: "no language server runs yet; ask about a file of the project first"
            })
          }
          const answers = yield* Effect.forEach(clients, (client) => Effect.either(client.workspaceSymbols(query)), {
            concurrency: "unbounded"
          })
          const good = answers.flatMap((answer) => answer._tag === "Right" ? [answer.right] : [])
          const [failed] = answers.flatMap((answer) => answer._tag === "Left" ? [answer.left] : [])
          return good.length === 0 && failed !== undefined ? yield* failed : good.flat()
        }),
      calls: (place, direction) =>
        Effect.map(
          askAll(place.path, (client) => client.callHierarchy(uriOf(place.path), place, direction)),
          (all) => all.flat()
        ),
      rename: (place, new_name) =>
        Effect.map(
          askAll(place.path, (client) => client.rename(uriOf(place.path), place, new_name)),
          (all) => all.find((edit) => edit !== null && (edit.files.length > 0 || edit.unsupported !== null)) ?? null
        ),
      codeActions: (path, range) =>
        Effect.gen(function*() {
          const about = (yield* diagnostics(path)).diagnostics.filter((one) =>
            one.range.start.line <= range.end.line && one.range.end.line >= range.start.line
          )
          const whole = about.find((one) => !sameRange(one.range, range))?.range
          const all = yield* askAll(path, (client) => client.codeActions(uriOf(path), whole ?? range, about))
          return all.flat()
        }),
      changed,
      reading: sessions.reading,
      editing: sessions.editing,
      edited: sessions.edited,
      context: sessions.context,
      notices: Effect.sync(() => {
        const all = notices
        notices = []
        return all
      }),
      status: Effect.sync(() => resolving.all().map((one) => Status.statusOf(workspace, one))),
      doctor: Status.doctor({ files, definitions, programs, resolving, trust: config.trust, workspace }),
      restart: (server) =>
        Effect.gen(function*() {
          const known = resolving.forget(server)
          for (const one of known) if (one._tag === "Slot") yield* slots.reset(one.slot)
          return known.length > 0 || definitions.some(({ name }) => name === server) ||
            knownServers.some(({ name }) => name === server)
        })
    }
    return service
  })
