/**
 * From a process that a tool wants to the process that runs it inside: places looked at and closed, the private files of
 * the session, the proxy where the network is filtered.
 *
 * @since 0.1.0
 */
import type * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { isPublicAddress } from "../codec/IpAddress.ts"
import type { WorkspaceService } from "../domain/Workspace.ts"
import type { FileError } from "../platform/FileError.ts"
import { fingerprint, isAnyFile, lookAtAll } from "../platform/Look.ts"
import { ProcessError } from "../platform/ProcessError.ts"
import type { SpawnInput } from "../platform/Processes.ts"
import { makeSandboxFiles, runtimeProgram, type SandboxFiles } from "../platform/SandboxFiles.ts"
import { isWithin } from "./CheckPath.ts"
import { type Closing, placeOf } from "./Closing.ts"
import type { ProtectedPlace } from "./GitPlaces.ts"
import { bridgedArgv, proxyVariables, refusedHost } from "./Network.ts"
import { controlSockets } from "./Places.ts"
import { isVisible, type Place, plan } from "./Plan.ts"
import type { SandboxSettings } from "./Settings.ts"
import type { Survey } from "./Survey.ts"
import { type Method, wrap } from "./Wrap.ts"

/** @since 0.1.0 @category models */
export interface SpawnPolicy {
  /** Writable directories beside those of the mode, made when missing; a language server's cache. Absolute. */
  readonly extra_write_roots?: ReadonlyArray<string>
}

/** Fails with `refused` where the policy cannot be kept. @since 0.1.0 @category models */
export type WrapSpawn = (
  input: SpawnInput,
  policy?: SpawnPolicy
) => Effect.Effect<SpawnInput, ProcessError, Scope.Scope>

/** Of the filtering proxy: all addresses of a name, and where connections may go. For tests. @since 0.1.0 @category models */
export interface ConnectOptions {
  readonly resolve?: (host: string) => Promise<ReadonlyArray<string>>
  readonly mayConnect?: (address: string) => boolean
}

/** @since 0.1.0 @category models */
export interface SpawningInput {
  readonly settings: SandboxSettings
  readonly workspace: WorkspaceService
  readonly path: Path.Path
  /** Ends what is made once a session. */
  readonly owner: Scope.Scope
  readonly surveyed: Effect.Effect<Survey>
  readonly closing: Closing
  /** Why no command may start. */
  readonly refusal: Effect.Effect<string | null>
  /** The way of enforcement; null = there is none. */
  readonly method: Effect.Effect<Method | null>
  readonly options: ConnectOptions
}

/** @since 0.1.0 @category constructors */
export const makeSpawning = (
  { closing, method: methodInForce, options, owner, path, refusal, settings, surveyed, workspace }: SpawningInput
): Effect.Effect<WrapSpawn> =>
  Effect.gen(function*() {
    const isolate = settings.network !== "on"
    const filtered = typeof settings.network === "object"
    const allowed = typeof settings.network === "object" ? settings.network.allow : []

    // One of each a session, made when the first command needs it.
    const inOwner = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<Effect.Effect<A, E>> =>
      Effect.cached(Effect.uninterruptible(Scope.extend(effect, owner)))
    const sandboxFiles = yield* inOwner(makeSandboxFiles)
    const proxy = yield* inOwner(Effect.gen(function*() {
      const { sockets } = yield* sandboxFiles
      const socket = path.join(sockets, "proxy")
      const { makeFilterProxy } = yield* Effect.promise(() => import("../platform/FilterProxy.ts"))
      yield* makeFilterProxy({
        socket,
        refusal: (host, port) => refusedHost(allowed, host, port),
        mayConnect: options.mayConnect ?? isPublicAddress,
        ...(options.resolve === undefined ? {} : { resolve: options.resolve })
      })
      return socket
    }))

    const existing = (places: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Place>> =>
      Effect.map(lookAtAll(places), (found) =>
        places.flatMap((at, index) => {
          const kind = placeOf(found[index] ?? null)
          return kind === null ? [] : [{ path: at, kind }]
        }))
    /** Sockets have no kind of their own here: they are covered like files. */
    const sockets: Effect.Effect<ReadonlyArray<Place>> = Effect.map(lookAtAll(controlSockets), (found) =>
      controlSockets.flatMap((at, index): ReadonlyArray<Place> => {
        const kind = found[index] ?? null
        return kind === null || kind === "link" ? [] : [{ path: at, kind: kind === "directory" ? "directory" : "file" }]
      }))

    const refuse = (input: SpawnInput, why: string): ProcessError =>
      new ProcessError({
        reason: "refused",
        program: input.argv[0],
        message: `${input.argv[0]} was not started: ${why}`
      })
    const prepared = (input: SpawnInput) => (error: FileError): ProcessError =>
      refuse(input, `the sandbox could not be prepared: ${error.message}`)

    /** So that a missing program is told apart from a sandbox that does not start. */
    const isFound = (input: SpawnInput): Effect.Effect<boolean> => {
      const [program] = input.argv
      const candidates = program.includes(path.sep)
        ? [path.resolve(input.cwd, program)]
        : (input.env.get("PATH") ?? "/usr/bin:/bin").split(":").map((directory) =>
          path.resolve(input.cwd, directory === "" ? "." : directory, program)
        )
      return isAnyFile(candidates)
    }

    const wrapSpawn: WrapSpawn = (input, policy = {}) =>
      Effect.gen(function*() {
        if (settings.mode === "off") {
          return input
        }
        const refused = yield* refusal
        if (refused !== null) {
          return yield* refuse(input, refused)
        }
        const method = yield* methodInForce
        if (method === null) {
          return input
        }
        // The plain way says it better.
        if (!(yield* isFound(input)) || (yield* fingerprint([input.cwd])) === "-") {
          return input
        }

        const { git, land, wholeWorkspace } = yield* surveyed
        const own: SandboxFiles = yield* Effect.mapError(sandboxFiles, prepared(input))
        const runtime: Place = { path: own.directory, kind: "directory" }
        const { closed, roots } = yield* closing.exclusively(Effect.gen(function*() {
          const repository = yield* git
          const roots = yield* existing([
            ...land.roots,
            ...(wholeWorkspace ? repository.write_roots : []),
            ...(policy.extra_write_roots ?? []),
            ...(settings.private_tmp ? [] : [own.temporary])
          ])
          const places: ReadonlyArray<ProtectedPlace> = [
            ...repository.protected,
            ...(wholeWorkspace
              ? [{ path: path.join(land.workspace, ".hanzo"), missing: "directory" as const }]
              : []),
            ...[...land.roots, workspace.cwd].map((root) => ({
              path: path.join(root, ".hanzo"),
              missing: "none" as const
            })),
            ...land.roots.flatMap((root) =>
              ["hooks", "config"].map((name) => ({ path: path.join(root, ".git", name), missing: "none" as const }))
            ),
            ...land.always_protected.map((at) => ({
              path: at,
              missing: at === land.config_home ? "directory" as const : "file" as const
            })),
            ...land.missing
          ]
          return {
            roots,
            closed: yield* closing.close(
              places,
              roots.map((root) =>
                root.path
              )
            )
          }
        }))
        const inside = roots.map((root) => root.path)
        const made = plan({
          write_roots: roots,
          read_only: closed.read_only,
          masked: closed.masked,
          // What the next sandbox is built from: nobody inside may meddle with it.
          exposed: inside.some((root) => isWithin(root, own.directory))
            ? [runtime]
            : filtered
            ? [{ path: own.sockets, kind: "directory" }]
            : [],
          hidden: [...(yield* existing(land.credentials)), ...(yield* sockets)],
          private_tmp: settings.private_tmp
        })
        if (!isVisible(made, input.cwd)) {
          return yield* refuse(input, `its directory ${input.cwd} is not to be seen in the sandbox`)
        }
        const env = new Map(input.env)
        for (const name of ["TMPDIR", "TMP", "TEMP"]) {
          if (!settings.private_tmp) env.set(name, own.temporary)
          else if (made.private_tmp && env.has(name)) env.set(name, "/tmp")
        }
        let argv: ReadonlyArray<string> = input.argv
        if (filtered) {
          const socket = yield* Effect.mapError(proxy, prepared(input))
          for (const [name, value] of Object.entries(proxyVariables)) env.set(name, value)
          argv = bridgedArgv(runtimeProgram(), socket, argv)
        }
        const wrapped = yield* wrap(method, own, made, { argv, cwd: input.cwd, env }, {
          isolate,
          needs_loopback: filtered
        }).pipe(Effect.mapError(prepared(input)))
        return { ...input, ...wrapped }
      })

    return wrapSpawn
  })
