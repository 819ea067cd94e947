/**
 * The servers of a workspace behind `Lsp`: who serves which file, answers of several put together.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Config } from "../config/Config.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import { Files } from "../platform/Files.ts"
import { residentBytes } from "../platform/GroupMemory.ts"
import { lookAtAll } from "../platform/Look.ts"
import { definitionsOf, directoriesUp, languageId, type ServerDefinition, serves } from "./Definitions.ts"
import { knownServers } from "./KnownServers.ts"
import type { FileDiagnostics, LspNeeds, LspOptions, LspService, Place, ServerCheck, ServerStatus } from "./Lsp.ts"
import { type LspClient, settleMs, unique } from "./LspClient.ts"
import { LspError } from "./LspError.ts"
import { find, type Found, onPath, type ProgramServices } from "./Programs.ts"
import * as Reader from "./Reader.ts"
import { ServerSpawner } from "./ServerSpawner.ts"
import * as Sessions from "./Sessions.ts"
import * as Slots from "./Slots.ts"
import { type Location, sameRange } from "./Types.ts"
import { keyOf, uriOf } from "./Uri.ts"
import * as Watched from "./Watched.ts"

/** A server's first answer, its start included (reading 8.5). @since 0.1.0 @category constants */
export const firstAnswerMs = 15_000
/** So many late answers in a row, and a server is waited for only {@link lateMs} until it is in time again. */
const mostLate = 3
const lateMs = 500
/** A program that was not there is looked for again after so long. */
const lookAgainMs = 30_000

/** What a family comes to at a root. */
type Resolved =
  | { readonly _tag: "Slot"; readonly slot: Slots.Slot }
  | { readonly _tag: "Absent"; readonly definition: ServerDefinition; readonly error: LspError; readonly at: number }

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

    const resolved = new Map<string, Resolved>()
    const turn = yield* Effect.makeSemaphore(1)

    const absent = (definition: ServerDefinition, found: Exclude<Found, { _tag: "Program" }>): LspError =>
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

    /** The nearest directory with a marker, else the workspace; null = it needs one and has none. */
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
          ? out.filter((one) => (one._tag === "Slot" ? one.slot.definition : one.definition).family !== "typescript")
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

    const running = (): ReadonlyArray<LspClient> =>
      [...resolved.values()].flatMap((one) =>
        one._tag === "Slot" && one.slot.state._tag === "Ready" ? [one.slot.state.client] : []
      )

    const watched = Watched.make({
      files,
      workspace,
      isOfInterest: (path) =>
        definitions.some((one) => serves(one, path) || one.root_markers.some((name) => path.endsWith(`/${name}`)))
    })
    let stale = false

    /** After a command, the servers that run are told what it did to files. */
    const refreshed: Effect.Effect<void> = Effect.suspend(() => {
      if (!stale || running().length === 0) return Effect.void
      stale = false
      return turn.withPermits(1)(Effect.gen(function*() {
        const { files: changes, packages } = yield* watched.changes
        if (packages) {
          // what servers have read of packages is out of date as a whole
          for (const one of resolved.values()) {
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
      }))
    })

    const clientOf = (one: Resolved): Effect.Effect<LspClient, LspError> =>
      one._tag === "Absent"
        ? Effect.fail(one.error)
        : Effect.zipRight(
          // what there is now is what the server finds when it starts
          one.slot.state._tag === "Ready" ? refreshed : Effect.asVoid(Effect.forkIn(watched.begin, scope)),
          slots.obtain(one.slot)
        )

    /** Asks every server of a file; those that cannot do it are passed over. Fails when none has answered. */
    const askAll = <A>(
      path: string,
      use: (client: LspClient) => Effect.Effect<A, LspError>
    ): Effect.Effect<ReadonlyArray<A>, LspError> =>
      Effect.gen(function*() {
        const servers = yield* serversFor(path)
        if (servers.length === 0) return yield* nobody(path)
        const answers = yield* Effect.forEach(
          servers,
          (one) => Effect.either(Effect.flatMap(clientOf(one), use)),
          { concurrency: "unbounded" }
        )
        const good = answers.flatMap((answer) => answer._tag === "Right" ? [answer.right] : [])
        if (good.length > 0) return good
        const errors = answers.flatMap((answer) => answer._tag === "Left" ? [answer.left] : [])
        return yield* errors.find((error) => error.reason !== "unsupported") ?? errors[0] ?? nobody(path)
      })

    const locations =
      (use: (client: LspClient, place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>) =>
      (place: Place): Effect.Effect<ReadonlyArray<Location>, LspError> =>
        Effect.map(askAll(place.path, (client) => use(client, place)), (all) => uniqueLocations(all.flat()))

    const notReady = (server: string, path: string, ms: number): LspError =>
      new LspError({
        reason: "not_ready",
        server,
        message: `the language server ${server} has not looked at ${path} within ${
          Math.round(ms / 100) / 10
        } s, which does not mean that there are no errors`
      })

    /** A server has its first answer's time once, counted from its start; one that is late again and again has little. */
    const patienceWith = ({ late, started_at, state, warm }: Slots.Slot, now: number): number => {
      const since = state._tag === "Starting" || state._tag === "Ready" ? now - started_at : 0
      return warm || since >= first_ms - settle_ms
        ? late >= mostLate ? Math.min(lateMs, settle_ms) : settle_ms
        : first_ms - since
    }

    const diagnostics = (path: string, wait_ms?: number): Effect.Effect<FileDiagnostics> =>
      Effect.gen(function*() {
        const servers = yield* serversFor(path)
        const answers = yield* Effect.forEach(servers, (one) =>
          Effect.gen(function*() {
            const began = yield* Clock.currentTimeMillis
            const all = wait_ms ?? (one._tag === "Slot" ? patienceWith(one.slot, began) : first_ms)
            const name = one._tag === "Slot" ? one.slot.definition.name : one.definition.name
            const client = yield* clientOf(one).pipe(Effect.timeoutOption(Duration.millis(all)))
            if (Option.isNone(client)) return yield* notReady(name, path, all)
            const now = yield* Clock.currentTimeMillis
            const answer = yield* client.value.diagnostics(uriOf(path), Math.max(0, all - (now - began)))
            if (one._tag === "Slot") {
              one.slot.late = answer.ready ? 0 : one.slot.late + 1
              if (answer.ready) one.slot.warm = true
            }
            return { name, answer, problem: answer.ready ? null : notReady(name, path, all) }
          }).pipe(Effect.either), { concurrency: "unbounded" })
        const good = answers.flatMap((one) => one._tag === "Right" ? [one.right] : [])
        const problems = answers.flatMap((one) =>
          one._tag === "Left" ? [one.left] : one.right.problem === null ? [] : [one.right.problem]
        )
        return {
          path,
          diagnostics: unique(good.flatMap(({ answer }) => answer.diagnostics)),
          ready: servers.length > 0 && problems.length === 0,
          servers: good.filter(({ problem }) => problem === null).map(({ name }) => name),
          problems
        }
      })

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

    const statusOf = (one: Resolved): ServerStatus => {
      const definition = one._tag === "Slot" ? one.slot.definition : one.definition
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

    /** Extensions and names of files in the workspace, as far as a look of bounded size goes. */
    const kindsHere = Effect.map(
      Effect.option(files.walk({ directory: workspace, pattern: "**" })),
      (walked) => walked._tag === "Some" ? walked.value.files : []
    )

    const doctor: LspService["doctor"] = Effect.gen(function*() {
      const here = yield* kindsHere
      const checks: Array<ServerCheck> = []
      const served = new Set<string>()
      for (const definition of definitions) {
        const example = here.find((file) => serves(definition, file))
        const root = example === undefined ? workspace : yield* rootFor(definition, `${workspace}/${example}`)
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
          install: definition.install
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
      const waiting = config.trust.status === "untrusted" ? config.trust.definitions : []
      return [
        ...waiting.filter(({ kind }) => kind === "lsp_server").map(({ key }): ServerCheck => ({
          server: key.slice("lsp.servers.".length),
          languages: "defined by this workspace",
          wanted: true,
          example: null,
          program: null,
          problem: "the settings of this workspace that define it are not trusted",
          install: null
        })),
        ...judged
      ]
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
      status: Effect.sync(() => [...resolved.values()].map(statusOf)),
      doctor,
      restart: (server) =>
        Effect.gen(function*() {
          const known = [...resolved].filter(([, one]) =>
            (one._tag === "Slot" ? one.slot.definition : one.definition).name === server
          )
          for (const [key, one] of known) {
            resolved.delete(key)
            if (one._tag === "Slot") yield* slots.reset(one.slot)
          }
          return known.length > 0 || definitions.some(({ name }) => name === server) ||
            knownServers.some(({ name }) => name === server)
        })
    }
    return service
  })
