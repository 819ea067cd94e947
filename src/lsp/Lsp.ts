/**
 * Code intelligence from language servers (HIP-301 section 8): found by the kind of file and its project's root, started
 * when the first file tool asks, shared by all sessions of the workspace. Nothing is loaded before that.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import type { Config } from "../config/Config.ts"
import type { Workspace } from "../domain/Workspace.ts"
import type { Environment } from "../platform/Environment.ts"
import type { Files } from "../platform/Files.ts"
import type { LspError } from "./LspError.ts"
import type { ServerSpawner } from "./ServerSpawner.ts"
import type { CallSite, CodeAction, CodeSymbol, Diagnostic, Location, Position, Range, WorkspaceEdit } from "./Types.ts"

/**
 * | phase | meaning |
 * | --- | --- |
 * | `idle` | it would start with the first use |
 * | `starting`, `ready` | as they say |
 * | `paused` | it ended; it starts again with the next use after a pause |
 * | `failed` | it ended too often, and is left alone until `restart` |
 * | `missing` | its program is not installed |
 * | `held_back` | its program is not run in a workspace that is not trusted |
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerStatus {
  readonly server: string
  readonly languages: string
  /** Absolute. */
  readonly root: string
  readonly phase: "idle" | "starting" | "ready" | "paused" | "failed" | "missing" | "held_back"
  readonly pid: number | null
  readonly open_documents: number
  readonly error: string | null
  /** What brings it; null = nothing is to be done. */
  readonly fix: string | null
}

/** Of one file, from all its servers. @since 0.1.0 @category models */
export interface FileDiagnostics {
  /** Absolute, canonical. */
  readonly path: string
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** All servers have looked at the file as it is. False is not "no errors" (reading 8.5). */
  readonly ready: boolean
  /** Those that answered. */
  readonly servers: ReadonlyArray<string>
  /** Those that did not, with the reason. Empty while `servers` is empty too: nothing serves this file. */
  readonly problems: ReadonlyArray<LspError>
}

/** A place in a file. `path` absolute, canonical. @since 0.1.0 @category models */
export interface Place extends Position {
  readonly path: string
}

/** What was known of files before they are changed. @since 0.1.0 @category models */
export interface Baseline {
  readonly files: ReadonlyArray<{
    readonly path: string
    /** null = the servers had not looked at it. */
    readonly diagnostics: ReadonlyArray<Diagnostic> | null
    /** null = there was no such file. */
    readonly text: string | null
  }>
}

/** What `lsp doctor` says of a server. @since 0.1.0 @category models */
export interface ServerCheck {
  readonly server: string
  readonly languages: string
  /** Files of its kind are in the workspace, and no other of its family serves them. */
  readonly wanted: boolean
  /** One of those files; null = there is none. */
  readonly example: string | null
  readonly program: string | null
  readonly problem: string | null
  readonly install: string | null
  /** It runs, and something of it is missing, with the command that brings it. */
  readonly note: string | null
}

/**
 * Paths are absolute and canonical. A file outside the workspace is served by nobody. Waits are bounded by the limits of
 * reading 8; interruption cancels what was asked.
 *
 * @since 0.1.0
 * @category models
 */
export interface LspService {
  /** `wait_ms`: in all, the start included. Default: 15 s for a server's first answer, then 3 s (reading 8.5). */
  readonly diagnostics: (path: string, wait_ms?: number) => Effect.Effect<FileDiagnostics>
  /** Of all the workspace, as far as the running servers of this file, or all that run (null), know. */
  readonly workspaceDiagnostics: (path: string | null) => Effect.Effect<ReadonlyArray<Diagnostic>, LspError>
  readonly definition: (place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>
  readonly implementation: (place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>
  readonly references: (place: Place) => Effect.Effect<ReadonlyArray<Location>, LspError>
  /** null = nothing is known of the place. */
  readonly hover: (place: Place) => Effect.Effect<string | null, LspError>
  readonly symbols: (path: string) => Effect.Effect<ReadonlyArray<CodeSymbol>, LspError>
  /** By a part of their names; of the servers that run. */
  readonly workspaceSymbols: (query: string) => Effect.Effect<ReadonlyArray<CodeSymbol>, LspError>
  readonly calls: (
    place: Place,
    direction: "incoming" | "outgoing"
  ) => Effect.Effect<ReadonlyArray<CallSite>, LspError>
  /** Changes nothing; null = there is nothing to rename. */
  readonly rename: (place: Place, new_name: string) => Effect.Effect<WorkspaceEdit | null, LspError>
  readonly codeActions: (path: string, range: Range) => Effect.Effect<ReadonlyArray<CodeAction>, LspError>
  /** A tool has changed these files; null = it may have changed any (a command). */
  readonly changed: (paths: ReadonlyArray<string> | null) => Effect.Effect<void>
  /** A session has read lines of a file (from 0, both included; null = no place of it): its servers start, nobody waits. */
  readonly reading: (
    session_id: string,
    path: string,
    lines: { readonly first: number; readonly last: number } | null
  ) => Effect.Effect<void>
  /** Before a session changes files. */
  readonly editing: (session_id: string, paths: ReadonlyArray<string>) => Effect.Effect<Baseline>
  /** After it: what the change brought and took, for the result of the write; "" = nothing. */
  readonly edited: (session_id: string, baseline: Baseline) => Effect.Effect<string>
  /** The last part of the system prompt; "" = there is nothing to say. The same text until a file tool has run. */
  readonly context: (session_id: string) => Effect.Effect<string>
  /** One line for the user about each server that has come to an end, or is missing; each is given once. */
  readonly notices: Effect.Effect<ReadonlyArray<string>>
  readonly status: Effect.Effect<ReadonlyArray<ServerStatus>>
  readonly doctor: Effect.Effect<ReadonlyArray<ServerCheck>>
  /** Of a server's name; false = there is none. */
  readonly restart: (server: string) => Effect.Effect<boolean>
}

export { ServerSpawner } from "./ServerSpawner.ts"

/** @since 0.1.0 @category models */
export type LspNeeds = Config | Environment | Files | Path.Path | ServerSpawner | Workspace

/** @since 0.1.0 @category models */
export interface LspOptions {
  /** A server that nobody asked for so long is stopped. Default 10 min. */
  readonly idle_ms?: number
  /** Resident memory of a server and its children; over it is stopped. Default 4 GiB. */
  readonly max_memory_bytes?: number
  /** How often both are looked at. Default 30 s. */
  readonly watch_ms?: number
  /** A server's first answer about diagnostics, its start included. Default 15 s (reading 8.5). */
  readonly first_answer_ms?: number
  /** Its later ones, after a change. Default 3 s (reading 8.5). */
  readonly settle_ms?: number
}

const make = (options: LspOptions) =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const needs = yield* Effect.context<LspNeeds>()
    const turn = Effect.unsafeMakeSemaphore(1)
    let made: LspService | null = null
    /** What was read since the last context was made. */
    const readings: Array<Fiber.RuntimeFiber<void>> = []

    const load = Effect.promise(() => import("./Servers.ts")).pipe(
      Effect.flatMap((servers) => servers.make(options)),
      Effect.provide(needs),
      Scope.extend(scope),
      Effect.map((service) => made = service),
      Effect.uninterruptible
    )
    const loaded: Effect.Effect<LspService> = Effect.suspend(() =>
      made !== null
        ? Effect.succeed(made)
        : turn.withPermits(1)(Effect.suspend(() => made === null ? load : Effect.succeed(made)))
    )
    const ask = <A, E>(use: (service: LspService) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.flatMap(loaded, use)
    /** Nothing is known as long as nothing was asked. */
    const unless = <A>(nothing: A, use: (service: LspService) => Effect.Effect<A>): Effect.Effect<A> =>
      Effect.suspend(() => made === null ? Effect.succeed(nothing) : use(made))

    const service: LspService = {
      diagnostics: (path, wait_ms) => ask((lsp) => lsp.diagnostics(path, wait_ms)),
      workspaceDiagnostics: (path) => ask((lsp) => lsp.workspaceDiagnostics(path)),
      definition: (place) => ask((lsp) => lsp.definition(place)),
      implementation: (place) => ask((lsp) => lsp.implementation(place)),
      references: (place) => ask((lsp) => lsp.references(place)),
      hover: (place) => ask((lsp) => lsp.hover(place)),
      symbols: (path) => ask((lsp) => lsp.symbols(path)),
      workspaceSymbols: (query) => ask((lsp) => lsp.workspaceSymbols(query)),
      calls: (place, direction) => ask((lsp) => lsp.calls(place, direction)),
      rename: (place, new_name) => ask((lsp) => lsp.rename(place, new_name)),
      codeActions: (path, range) => ask((lsp) => lsp.codeActions(path, range)),
      changed: (paths) => unless(undefined, (lsp) => lsp.changed(paths)),
      // beside the tool: it does not wait for the loading either
      reading: (session_id, path, lines) =>
        Effect.map(
          Effect.forkIn(Effect.interruptible(ask((lsp) => lsp.reading(session_id, path, lines))), scope),
          (fiber) => void readings.push(fiber)
        ),
      editing: (session_id, paths) => ask((lsp) => lsp.editing(session_id, paths)),
      edited: (session_id, baseline) => ask((lsp) => lsp.edited(session_id, baseline)),
      context: (session_id) =>
        Effect.suspend(() =>
          Effect.zipRight(
            Fiber.awaitAll(readings.splice(0)),
            unless("", (lsp) => lsp.context(session_id))
          )
        ),
      notices: unless([], (lsp) => lsp.notices),
      status: ask((lsp) => lsp.status),
      doctor: ask((lsp) => lsp.doctor),
      restart: (server) => ask((lsp) => lsp.restart(server))
    }
    return service
  })

/** @since 0.1.0 @category services */
export class Lsp extends Context.Tag("@hanzo/dev/lsp/Lsp")<Lsp, LspService>() {
  static readonly layer: Layer.Layer<Lsp, never, LspNeeds> = Layers.scoped(Lsp, make({}))

  /** With other limits; call once. */
  static readonly layerWith = (options: LspOptions): Layer.Layer<Lsp, never, LspNeeds> =>
    Layers.scoped(Lsp, make(options))
}
