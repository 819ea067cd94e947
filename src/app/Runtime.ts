/**
 * The composition roots. Two lifetimes: the process (record, HTTP, processes, ids) and the workspace (settings, rules,
 * tools, models, the agent). Each function is called once and its layer kept.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent } from "../agent/Agent.ts"
import { AllowAlways } from "../config/AllowAlways.ts"
import { SettingsWriter } from "../config/SettingsWriter.ts"
import { Trust } from "../config/Trust.ts"
import { Credentials } from "../credentials/Credentials.ts"
import { Ids } from "../domain/Ids.ts"
import { PermissionPrompter, type PermissionPrompterService } from "../domain/Permission.ts"
import { Hooks } from "../hooks/Hooks.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { PersistAllow } from "../permissions/PersistAllow.ts"
import { AtomicFile } from "../platform/AtomicFile.ts"
import { Files } from "../platform/Files.ts"
import { Http } from "../platform/Http.ts"
import { Processes } from "../platform/Processes.ts"
import { AgentRunGateway } from "../provider/AgentRunGateway.ts"
import * as ApiClientLive from "../provider/ApiClientLive.ts"
import { LocalServers } from "../provider/LocalServers.ts"
import { Models } from "../provider/Models.ts"
import type { Scenario } from "../provider/Scenario.ts"
import { ScriptedModels } from "../provider/ScriptedModel.ts"
import { Targets } from "../provider/Targets.ts"
import { Container } from "../sandbox/Detect.ts"
import { layerEnforcing } from "../sandbox/Enforcing.ts"
import { Enforcement } from "../sandbox/Enforcement.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { FileTools } from "../tools/FileTools.ts"
import { layerHookSlot } from "../tools/HookSlot.ts"
import { layerExecutor, layerSystemServices, systemTools } from "../tools/Layers.ts"
import { McpTools } from "../tools/McpTools.ts"
import { NativeTools } from "../tools/Registry.ts"
import { layerSandboxSlot } from "../tools/SandboxSlot.ts"
import { layerSettings, type SettingsOptions } from "./Settings.ts"

/** @since 0.1.0 @category models */
export interface ProcessOptions {
  /** The record in memory, for `--no-session` and the demo. */
  readonly memory?: boolean
}

/** @since 0.1.0 @category models */
export interface WorkspaceOptions extends SettingsOptions {
  /** Asked in order; none = nobody can be asked. */
  readonly prompters?: ReadonlyArray<PermissionPrompterService>
  /** Absolute path of `--scenario FILE`. */
  readonly scenario_file?: string
  readonly scenarios?: ReadonlyArray<Scenario>
}

/** Record, HTTP, processes, files, ids. @since 0.1.0 @category layers */
export const layerProcess = (options: ProcessOptions = {}) =>
  Layer.mergeAll(
    options.memory === true ? SessionStore.layerMemory : SessionStore.layer,
    Layer.provideMerge(LocalServers.layer, Http.layer),
    AtomicFile.layer,
    Ids.layer,
    Enforcement.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(Processes.layer, Files.layer, Container.layer))
  )

export { layerSettings }

/** Names to models, and requests to them. @since 0.1.0 @category layers */
export const layerModels = (options: WorkspaceOptions = {}) =>
  ApiClientLive.layer.pipe(
    Layer.provide(AgentRunGateway.layer),
    Layer.provideMerge(Models.layer),
    Layer.provideMerge(Targets.layer),
    Layer.provideMerge(Credentials.layer),
    Layer.provideMerge(ScriptedModels.layerWith({
      ...(options.scenario_file === undefined ? {} : { file: options.scenario_file }),
      ...(options.scenarios === undefined ? {} : { scenarios: options.scenarios })
    }))
  )

const layerNativeTools = NativeTools.layerOf([Effect.map(FileTools, (tools) => tools), systemTools])

/** "Always" is written to the workspace's local settings. */
const layerPersistAllow = Layer.effect(PersistAllow, AllowAlways).pipe(
  Layer.provide(AllowAlways.layer),
  Layer.provide(Layer.merge(SettingsWriter.layer, Trust.layer))
)

/** The tools behind their Guard, with rules and prompters. @since 0.1.0 @category layers */
export const layerTools = (options: WorkspaceOptions = {}) =>
  layerExecutor.pipe(
    Layer.provide(layerNativeTools),
    Layer.provide(FileTools.layer),
    Layer.provide(layerSystemServices),
    Layer.provide(Layer.mergeAll(McpTools.layerEmpty, layerHookSlot, layerSandboxSlot)),
    Layer.provideMerge(layerEnforcing),
    Layer.provideMerge(
      Layer.mergeAll(Layer.provide(Permissions.layer, layerPersistAllow), Hooks.layer, Sandbox.layer)
    ),
    Layer.provideMerge(Layer.succeed(PermissionPrompter, options.prompters ?? []))
  )

/** Everything of a workspace, the agent on top. Needs the platform and `layerProcess`. @since 0.1.0 @category layers */
export const layerWorkspace = (options: WorkspaceOptions = {}) =>
  Agent.layer.pipe(
    Layer.provideMerge(Layer.merge(layerTools(options), layerModels(options))),
    Layer.provideMerge(layerSettings(options))
  )
