/**
 * The MCP servers of a workspace and their tools under their names (HIP-301 section 1; readings 1.5 to 1.14). Servers
 * connect when the first run attends; until then nothing starts. One connection a definition, shared by all sessions.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Config } from "../config/Config.ts"
import { secretVariables } from "../config/Secrets.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import * as Layers from "../domain/Layers.ts"
import { PermissionPrompter } from "../domain/PermissionPrompter.ts"
import { Workspace } from "../domain/Workspace.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Environment, variable } from "../platform/Environment.ts"
import { Http } from "../platform/Http.ts"
import { Processes } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"
import { clientInfo } from "./ClientInfo.ts"
import type { McpService, McpWorld } from "./McpService.ts"
import { make } from "./Registry.ts"
import { type HttpDefinition, transportOf } from "./Transports.ts"

export type { McpAttendance, McpServerResources, McpService, McpWorld } from "./McpService.ts"
export { make }

/** What the servers of a workspace stand on, where nothing answers them. @since 0.1.0 @category models */
export type McpPlainNeeds =
  | Config
  | Workspace
  | Environment
  | Dirs
  | Processes
  | Spawner
  | AppendLog
  | Path.Path

/** @since 0.1.0 @category models */
export type McpNeeds = McpPlainNeeds | Permissions | PermissionPrompter

/** The world of a workspace in which nobody answers what servers ask. @since 0.1.0 @category constructors */
export const plainWorld: Effect.Effect<McpWorld, never, McpPlainNeeds> = Effect.gen(function*() {
  const path = yield* Path.Path
  const environment = yield* Environment
  const { root } = yield* Workspace
  const config = yield* Config
  const dirs = yield* Dirs
  const processes = yield* Processes
  const spawner = yield* Spawner
  const log = yield* AppendLog
  const url = yield* Effect.orDie(path.toFileUrl(root))
  const http = Option.getOrNull(yield* Effect.serviceOption(Http))
  const logins = Option.getOrNull(yield* Effect.serviceOption(CredentialStore))
  const remote = http === null || logins === null
    ? null
    : yield* Effect.cached(Effect.flatMap(
      Effect.promise(() => import("./HttpServers.ts")),
      ({ make }) =>
        make.pipe(
          Effect.provideService(Http, http),
          Effect.provideService(CredentialStore, logins),
          Effect.provideService(Environment, environment)
        )
    ))
  const world: McpWorld = {
    config,
    root,
    variable: (name) => variable(environment, name) ?? config.config.env[name],
    join: (from, to) => path.resolve(from, to),
    roots: [{ uri: url.href, name: path.basename(root) }],
    transport: transportOf({
      processes,
      spawner,
      log,
      vars: environment.vars,
      key_variables: secretVariables(config.config),
      log_directory: path.join(dirs.state, "mcp"),
      ...(remote === null ? {} : {
        http: (definition: HttpDefinition) =>
          Effect.flatMap(remote, (ways) => ways.transportOf(definition, config.config))
      })
    }),
    permissions: null,
    prompters: [],
    client_info: clientInfo
  }
  return world
})

/** The world that the services of a workspace make. @since 0.1.0 @category constructors */
export const worldOf: Effect.Effect<McpWorld, never, McpNeeds> = Effect.gen(function*() {
  const world = yield* plainWorld
  return { ...world, permissions: yield* Permissions, prompters: yield* PermissionPrompter }
})

/** @since 0.1.0 @category services */
export class Mcp extends Context.Tag("@hanzo/dev/mcp/Mcp")<Mcp, McpService>() {
  /** The servers of the settings of a workspace. Nothing starts before a run attends, or one is asked for by name. */
  static readonly layer: Layer.Layer<Mcp, never, McpNeeds> = Layers.scoped(
    Mcp,
    Effect.flatMap(worldOf, make)
  )

  /** Over a world of the caller's own. */
  static readonly layerOf = (world: McpWorld): Layer.Layer<Mcp> => Layers.scoped(Mcp, make(world))
}
