/**
 * The layers of each command, built once a process. Imports stay inside functions: a command loads only what it needs.
 *
 * @since 0.1.0
 */
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Agent } from "../agent/Agent.ts"
import type * as RuntimeModule from "../app/Runtime.ts"
import { Config, type ConfigFlags, type ConfigService } from "../config/Config.ts"
import type { PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import type { Workspace } from "../domain/Workspace.ts"
import { Environment } from "../platform/Environment.ts"
import type { NodePlatform } from "../platform/NodePlatform.ts"
import type { Models } from "../provider/Models.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { type CliExit, failed, usage } from "./Exit.ts"
import { soundConfig } from "./Output.ts"
import type { AgentValues } from "./Run.ts"

type Runtime = typeof RuntimeModule

/** What a command that runs the agent uses. @since 0.1.0 @category models */
export type AgentServices = Agent | Config | Models | SessionStore | Workspace

/** What the command line says about the composition. @since 0.1.0 @category models */
export interface AgentOptions {
  /** `-C`; absent = the working directory of the process. */
  readonly directory?: string
  readonly flags: ConfigFlags
  /** Asked in order; none = headless. */
  readonly prompters: ReadonlyArray<PermissionPrompterService>
  /** `--no-session`: the record lives in memory and ends with the process. */
  readonly in_memory: boolean
  readonly trust_workspace: boolean
  /** `--scenario`: file of the scripted model. */
  readonly scenario?: string
  /** Settings that were read before, in place of reading them. */
  readonly config?: ConfigService
}

/** @since 0.1.0 @category constructors */
export const flagsOf = (values: Pick<AgentValues, "model" | "allow" | "deny">): ConfigFlags => ({
  settings: values.model === undefined ? {} : { model: values.model },
  allow: values.allow,
  deny: values.deny
})

/** @since 0.1.0 @category constructors */
export const optionsOf = (
  values: AgentValues,
  prompters: ReadonlyArray<PermissionPrompterService>
): AgentOptions => ({
  ...(values.directory === undefined ? {} : { directory: values.directory }),
  flags: flagsOf(values),
  prompters,
  in_memory: values["no-session"],
  trust_workspace: values["trust-workspace"],
  ...(values.scenario === undefined ? {} : { scenario: values.scenario })
})

/**
 * `--scenario FILE` is the model `scripted/NAME`, after the file's name. Another model beside it would leave the file
 * aside: exit code 2.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withScenario = <V extends Pick<AgentValues, "model" | "scenario">>(
  values: V
): Effect.Effect<V, CliExit, Path.Path | Environment> =>
  Effect.gen(function*() {
    if (values.scenario === undefined) return values
    const { scenarioName } = yield* Effect.promise(() => import("../provider/ScriptedModels.ts"))
    const path = yield* Path.Path
    const { cwd } = yield* Environment
    const model = `scripted/${scenarioName(path.resolve(cwd, values.scenario))}`
    if (values.model !== undefined && values.model !== model) {
      return yield* usage(
        `--scenario ${values.scenario} is played by the model ${model}; -m names another one, ${values.model}`,
        "leave -m out, or leave --scenario out"
      )
    }
    return { ...values, model }
  })

/** What kept the layers from being built, as the end of the command: a wrong directory is a mistake of the caller. */
const compositionExit = (error: { readonly _tag: string; readonly message: string }): CliExit => {
  const lines = error.message.split("\n")
  return error._tag === "StorageError" ? failed(...lines) : usage(...lines)
}

/** What lives as long as the process. @since 0.1.0 @category models */
export type ProcessServices = Layer.Layer.Success<ReturnType<Runtime["layerProcess"]>>

/** @since 0.1.0 @category layers */
export const processLayer = (in_memory: boolean): Layer.Layer<ProcessServices, CliExit, NodePlatform> =>
  Layer.unwrapEffect(
    Effect.map(
      Effect.promise(() => import("../app/Runtime.ts")),
      (runtime) => Layer.mapError(runtime.layerProcess({ memory: in_memory }), compositionExit)
    )
  )

/**
 * What the settings keep no longer goes, when the record is one of files; nothing is loaded where they keep everything.
 *
 * @since 0.1.0
 * @category combinators
 */
export const retained = (
  { session_retention }: Pick<ConfigService["config"], "session_retention">,
  in_memory: boolean
): Effect.Effect<void, never, NodePlatform | SessionStore> =>
  in_memory || (session_retention.max_age_days === undefined && session_retention.max_megabytes === undefined)
    ? Effect.void
    : Effect.flatMap(Effect.promise(() => import("./Retain.ts")), ({ retain }) => retain(session_retention))

/** Everything of one workspace over the process. Build it anew for other settings. @since 0.1.0 @category layers */
export const workspaceLayer = (
  options: AgentOptions
): Layer.Layer<Exclude<AgentServices, SessionStore>, CliExit, NodePlatform | ProcessServices> =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const runtime = yield* Effect.promise(() => import("../app/Runtime.ts"))
    const path = yield* Path.Path
    const { cwd } = yield* Environment
    return Layer.mapError(runtime.layerWorkspace(workspaceOptions(options, path, cwd)), compositionExit)
  }))

const workspaceOptions = (options: AgentOptions, path: Path.Path, cwd: string): RuntimeModule.WorkspaceOptions => ({
  ...settingsOf(options),
  compact_to_window: true,
  ...(options.config === undefined ? {} : { config: options.config }),
  prompters: options.prompters,
  ...(options.scenario === undefined ? {} : { scenario_file: path.resolve(cwd, options.scenario) })
})

/** Runs a program on the whole runtime of one workspace, which ends with it. @since 0.1.0 @category combinators */
export const withAgent = <A>(
  options: AgentOptions,
  program: Effect.Effect<A, CliExit, AgentServices | NodePlatform>
): Effect.Effect<A, CliExit, NodePlatform> =>
  Effect.scoped(Effect.gen(function*() {
    const { layerProgram } = yield* Effect.promise(() => import("../app/Runtime.ts"))
    const path = yield* Path.Path
    const { cwd } = yield* Environment
    const layer = layerProgram({ memory: options.in_memory, ...workspaceOptions(options, path, cwd) })
    const services = yield* Effect.mapError(Layer.build(layer), compositionExit)
    return yield* Effect.provide(program, services)
  }))

const settingsOf = ({ directory, flags, trust_workspace }: SettingsChoice) => ({
  ...(directory === undefined ? {} : { directory }),
  ...(flags === undefined ? {} : { flags }),
  ...(trust_workspace === true ? { trust: "all" } as const : {})
})

/** Which settings: of what directory, under what the command line says. @since 0.1.0 @category models */
export interface SettingsChoice extends Partial<Pick<AgentOptions, "flags" | "trust_workspace">> {
  /** `-C`. */
  readonly directory?: string | undefined
}

/** Where a directory belongs to and what the settings say there. Call once. @since 0.1.0 @category layers */
export const settingsLayer = (
  choice: SettingsChoice = {}
): Layer.Layer<Config | Workspace, CliExit, NodePlatform> =>
  Layer.unwrapEffect(
    Effect.map(Effect.promise(() => import("../app/Settings.ts")), ({ layerSettings }) =>
      Layer.mapError(layerSettings(settingsOf(choice)), compositionExit))
  )

/**
 * The settings of a command that runs the agent, before anything of the workspace is built: with any error all of them
 * are printed and nothing is started (exit code 2, reading 4.6).
 *
 * @since 0.1.0
 * @category constructors
 */
export const loadSettings = (options: AgentOptions): Effect.Effect<ConfigService, CliExit, NodePlatform> =>
  Effect.provide(
    Effect.flatMap(Config, (config) => config.errors.length > 0 ? soundConfig : Effect.succeed(config)),
    settingsLayer(options)
  )

/** The record of sessions and the project that `directory` belongs to. Call once. @since 0.1.0 @category layers */
export const recordLayer = (
  directory: string | undefined
): Layer.Layer<SessionStore | Workspace, CliExit, NodePlatform> =>
  Layer.unwrapEffect(
    Effect.map(Effect.promise(() => import("../app/ProjectRoot.ts")), (root) =>
      Layer.mapError(Layer.merge(SessionStore.layer, root.layer(directory)), compositionExit))
  )

/** The sandbox of a directory, and what starts processes in it. Call once. @since 0.1.0 @category layers */
export const sandboxLayer = (directory: string | undefined) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const [{ layerEnforcing }, { Sandbox }, { Enforcement }, { Container }, { Files }, { Processes }] = yield* Effect
      .promise(() =>
        Promise.all([
          import("../sandbox/Enforcing.ts"),
          import("../sandbox/Sandbox.ts"),
          import("../sandbox/Enforcement.ts"),
          import("../sandbox/Detect.ts"),
          import("../platform/Files.ts"),
          import("../platform/Processes.ts")
        ])
      )
    return layerEnforcing.pipe(
      Layer.provideMerge(Sandbox.layer),
      Layer.provideMerge(Layer.mergeAll(Enforcement.layer, Container.layer, settingsLayer({ directory }))),
      Layer.provideMerge(Layer.merge(Processes.layer, Files.layer))
    )
  }))

/** The tools of a workspace behind their Guard, with nobody to ask. Call once. @since 0.1.0 @category layers */
export const toolsLayer = (choice: SettingsChoice) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const [{ layerProcess, layerSettings, layerTools }, { Credentials }, { inOrder }] = yield* Effect.promise(() =>
      Promise.all([
        import("../app/Runtime.ts"),
        import("../credentials/Credentials.ts"),
        import("../domain/Layers.ts")
      ])
    )
    const options = settingsOf(choice)
    return Layer.mapError(
      inOrder(layerProcess({ memory: true }), layerSettings(options), Credentials.layerStore, layerTools(options)),
      compositionExit
    )
  }))

/** A model for one request of a command, on the record of spending; no tools. Call once. @since 0.1.0 @category layers */
export const modelLayer = (choice: SettingsChoice & { readonly scenario?: string | undefined }) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const [runtime, { Credentials }, { inOrder }, Metered, TelemetryLive, Traced] = yield* Effect.promise(() =>
      Promise.all([
        import("../app/Runtime.ts"),
        import("../credentials/Credentials.ts"),
        import("../domain/Layers.ts"),
        import("../provider/Metered.ts"),
        import("../telemetry/TelemetryLive.ts"),
        import("../telemetry/Traced.ts")
      ])
    )
    const { layerModels, layerProcess, layerSettings } = runtime
    const path = yield* Path.Path
    const { cwd } = yield* Environment
    const { scenario } = choice
    return Layer.mapError(
      inOrder(
        layerProcess(),
        layerSettings(settingsOf(choice)),
        Credentials.layerStore,
        TelemetryLive.layer,
        layerModels(scenario === undefined ? {} : { scenario_file: path.resolve(cwd, scenario) }),
        Traced.layerClient,
        Metered.layer
      ),
      compositionExit
    )
  }))

/** The built-in demo. @since 0.1.0 @category constructors */
export const demo: Effect.Effect<number, CliExit, NodePlatform> = Effect.gen(function*() {
  const { prompt, run } = yield* Effect.promise(() => import("../app/Demo.ts"))
  const Demo = yield* Effect.promise(() => import("./Demo.ts"))
  return yield* Demo.execute(prompt, run)
})
