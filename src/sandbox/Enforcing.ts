/**
 * The policy in force for every process that a tool or a language server starts (reading 10.4): the same Tag as the
 * plain one, so that nothing above knows the difference.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "@effect/platform/FileSystem"
import type * as Layer from "effect/Layer"
import * as Path from "@effect/platform/Path"
import type * as Scope from "effect/Scope"
import * as Layers from "../domain/Layers.ts"
import { Dirs } from "../platform/Dirs.ts"
import { Config } from "../config/Config.ts"
import { secretVariables } from "../config/Secrets.ts"
import { Workspace } from "../domain/Workspace.ts"
import { childEnvironment } from "../platform/ChildEnvironment.ts"
import { Environment } from "../platform/Environment.ts"
import type { ProcessError } from "../platform/ProcessError.ts"
import { fromSpawn, Processes, type RunningProcess, type SpawnInput } from "../platform/Processes.ts"
import { Spawner } from "../platform/Spawner.ts"
import { Sandbox, type SandboxStatus } from "./Sandbox.ts"
import type { SpawnPolicy } from "./Spawning.ts"

const make = (policy: SpawnPolicy) =>
  Effect.gen(function*() {
    const sandbox = yield* Sandbox
    const processes = yield* Processes
    return fromSpawn((input) => Effect.flatMap(sandbox.wrapSpawn(input, policy), processes.spawn))
  })

/** `Spawner.layerEnforcing`: tools. @since 0.1.0 @category layers */
export const layerEnforcing: Layer.Layer<Spawner, never, Sandbox | Processes> = Layers.effect(Spawner, make({}))

/**
 * Language servers: the same, and a cache directory of their own, `<cache home>/lsp`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerEnforcingServers: Layer.Layer<
  Spawner,
  never,
  Sandbox | Processes | Dirs | FileSystem.FileSystem | Path.Path
> = Layers.effect(
  Spawner,
  Effect.gen(function*() {
    const path = yield* Path.Path
    const fs = yield* FileSystem.FileSystem
    const cache = path.join((yield* Dirs).cache, "lsp")
    yield* Effect.ignore(fs.makeDirectory(cache, { recursive: true, mode: 0o700 }))
    const real = yield* Effect.orElseSucceed(fs.realPath(cache), () => cache)
    const spawner = yield* make({ extra_write_roots: [real] })
    return fromSpawn((input) => spawner.spawn({ ...input, env: new Map([...input.env, ["XDG_CACHE_HOME", real]]) }))
  })
)

/** `sandbox status [--json]`: the data as they stand. @since 0.1.0 @category constructors */
export const sandboxStatus: Effect.Effect<SandboxStatus, never, Sandbox> = Effect.flatMap(
  Sandbox,
  (sandbox) => sandbox.status
)

/**
 * `sandbox exec -- CMD`: the command as a tool would run it, in the session's directory, without credentials in its
 * environment. Its exit code is the command's; 128 + n after signal n, as of a shell.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sandboxExec = (
  argv: SpawnInput["argv"],
  options: Pick<SpawnInput, "stdin" | "timeout"> = {}
): Effect.Effect<RunningProcess, ProcessError, Spawner | Environment | Config | Workspace | Scope.Scope> =>
  Effect.gen(function*() {
    const spawner = yield* Spawner
    const environment = yield* Environment
    const { config } = yield* Config
    const { cwd } = yield* Workspace
    const env = childEnvironment(environment.vars, { drop: secretVariables(config), set: { PWD: cwd, ...config.env } })
    return yield* spawner.spawn({ ...options, argv, cwd, env })
  })
