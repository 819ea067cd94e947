/**
 * The composition roots. Two lifetimes: the process (record, HTTP, processes, ids) and the workspace (settings, rules,
 * tools, models, the agent). Each function is called once and its layer kept.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { Agent } from "../agent/Agent.ts"
import { RunTree } from "../agent/RunTree.ts"
import { Tasks } from "../agent/Tasks.ts"
import { Compactor } from "../compactor/Compactor.ts"
import { AllowAlways } from "../config/AllowAlways.ts"
import { SettingsWriter } from "../config/SettingsWriter.ts"
import { Trust } from "../config/Trust.ts"
import { Credentials } from "../credentials/Credentials.ts"
import { CredentialStore } from "../credentials/CredentialStore.ts"
import { ApiClient } from "../domain/ApiClient.ts"
import { Ids } from "../domain/Ids.ts"
import { PermissionPrompter, type PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import { ToolExecutor } from "../domain/ToolExecutor.ts"
import { Hooks } from "../hooks/Hooks.ts"
import { Instructions } from "../instructions/Instructions.ts"
import { Lsp, type LspOptions } from "../lsp/Lsp.ts"
import { Allowances } from "../permissions/Allowances.ts"
import { PermissionAudit } from "../permissions/Audit.ts"
import { Permissions } from "../permissions/Permissions.ts"
import { PersistAllow } from "../permissions/PersistAllow.ts"
import { AppendLog } from "../platform/AppendLog.ts"
import { AtomicFile } from "../platform/AtomicFile.ts"
import { Files } from "../platform/Files.ts"
import { Http } from "../platform/Http.ts"
import * as Layers from "../domain/Layers.ts"
import { Processes } from "../platform/Processes.ts"
import { ShellGrammar } from "../platform/ShellGrammar.ts"
import { Spawner } from "../platform/Spawner.ts"
import { AgentRunGateway } from "../provider/AgentRunGateway.ts"
import * as ApiClientLive from "../provider/ApiClientLive.ts"
import { LocalServers } from "../provider/LocalServers.ts"
import * as Metered from "../provider/Metered.ts"
import { Models } from "../provider/Models.ts"
import type { Scenario } from "../provider/Scenario.ts"
import { ScriptedModels } from "../provider/ScriptedModels.ts"
import { Targets } from "../provider/Targets.ts"
import { Container } from "../sandbox/Detect.ts"
import { layerEnforcing } from "../sandbox/Enforcing.ts"
import { Enforcement } from "../sandbox/Enforcement.ts"
import { Sandbox } from "../sandbox/Sandbox.ts"
import { Snapshots } from "../snapshots/Snapshots.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import * as TelemetryLive from "../telemetry/TelemetryLive.ts"
import * as Traced from "../telemetry/Traced.ts"
import { withLsp } from "../tools/FileAwareness.ts"
import { FileTools } from "../tools/FileTools.ts"
import { layerReadRules, withFolderInstructions } from "../tools/FolderInstructions.ts"
import { Changes } from "../tools/Changes.ts"
import { FetchPolicy } from "../tools/Fetch.ts"
import { FileState } from "../tools/FileState.ts"
import { Guard } from "../tools/Guard.ts"
import { layerHookSlot } from "../tools/HookSlot.ts"
import { Jobs } from "../tools/Jobs.ts"
import { systemTools } from "../tools/Layers.ts"
import { makeLspTool } from "../tools/Lsp.ts"
import { McpAccess } from "../tools/McpAccess.ts"
import { McpHost } from "../tools/McpHost.ts"
import { layerMcpAccess, layerMcpTools, McpRoom } from "../tools/McpRoom.ts"
import { OutputFiles } from "../tools/OutputFiles.ts"
import { Paths } from "../tools/Paths.ts"
import { layer as layerRegistry, NativeTools } from "../tools/Registry.ts"
import { layerSandboxSlot } from "../tools/SandboxSlot.ts"
import { layerSecretSlot } from "../tools/SecretSlot.ts"
import { Shell } from "../tools/Shell.ts"
import { makeSkillTool } from "../tools/Skill.ts"
import { makeTaskTool } from "../tools/Task.ts"
import { TaskSlot } from "../tools/TaskSlot.ts"
import { Todos } from "../tools/Todo.ts"
import { layerServerSpawner } from "./LanguageServers.ts"
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
  /** Limits of language servers. */
  readonly lsp?: LspOptions
  /** Where the settings name no `max_tokens`, conversations are kept within the model's window; else they have no limit. */
  readonly compact_to_window?: boolean
}

/** Record, HTTP, processes, files, ids. @since 0.1.0 @category layers */
export const layerProcess = (options: ProcessOptions = {}) =>
  Layers.inOrder(
    Processes.layer,
    Files.layer,
    AtomicFile.layer,
    Ids.layer,
    Container.layer,
    Enforcement.layer,
    Http.layer,
    LocalServers.layer,
    McpHost.layer,
    // one flight of a refresh in the whole process
    CredentialStore.layer,
    options.memory === true ? SessionStore.layerMemory : SessionStore.layer
  )

export { layerSettings }

/** Names to models, and requests to them. @since 0.1.0 @category layers */
export const layerModels = (options: WorkspaceOptions = {}) =>
  Layers.keeping(
    Layers.inOrder(
      ScriptedModels.layerWith({
        ...(options.scenario_file === undefined ? {} : { file: options.scenario_file }),
        ...(options.scenarios === undefined ? {} : { scenarios: options.scenarios })
      }),
      Targets.layer,
      Models.layer,
      AgentRunGateway.layer,
      ApiClientLive.layer
    ),
    ScriptedModels,
    Targets,
    Models,
    ApiClient
  )

/** The tools behind their Guard, with rules and prompters. @since 0.1.0 @category layers */
export const layerTools = (options: WorkspaceOptions = {}) =>
  // whoever held `NativeTools` could call a tool without the Guard: what composes the tools is not given out
  Layers.keeping(
    Layers.inOrder(
      Layers.succeed(PermissionPrompter, options.prompters ?? []),
      // "always" is written to the workspace's local settings
      SettingsWriter.layer,
      Trust.layer,
      AllowAlways.layer,
      Layers.effect(PersistAllow, AllowAlways),
      ShellGrammar.layer,
      AppendLog.layer,
      PermissionAudit.layerFile,
      Allowances.layer,
      Permissions.layerOver,
      layerReadRules,
      Instructions.layer,
      Hooks.layer,
      Sandbox.layer,
      layerEnforcing,
      layerServerSpawner,
      options.lsp === undefined ? Lsp.layer : Lsp.layerWith(options.lsp),
      layerHookSlot,
      layerSandboxSlot,
      layerSecretSlot,
      OutputFiles.layer,
      McpRoom.layer,
      layerMcpTools,
      layerMcpAccess,
      Shell.layer,
      Jobs.layer,
      Todos.layer,
      TaskSlot.layer,
      FetchPolicy.layer,
      Paths.layer,
      FileState.layer,
      Changes.layer,
      FileTools.layerOver,
      NativeTools.layerOf([
        withLsp(
          Effect.zipWith(withFolderInstructions(FileTools), systemTools, (files, system) => [...files, ...system])
        ),
        Effect.all([makeTaskTool, makeSkillTool, makeLspTool])
      ]),
      Guard.layer,
      layerRegistry
    ),
    ToolExecutor,
    Spawner,
    Allowances,
    Permissions,
    Instructions,
    Hooks,
    Sandbox,
    PermissionPrompter,
    McpAccess,
    Lsp,
    TaskSlot
  )

/** Everything of a workspace, the agent on top. Needs the platform and `layerProcess`. @since 0.1.0 @category layers */
export const layerWorkspace = (options: WorkspaceOptions = {}) =>
  Layers.inOrder(
    layerSettings(options),
    Credentials.layerStore,
    TelemetryLive.layer,
    layerTools(options),
    Traced.layerTools,
    layerModels(options),
    Traced.layerClient,
    Metered.layer,
    options.compact_to_window === true ? Compactor.layerWindow : Compactor.layer,
    RunTree.layer,
    Snapshots.layer,
    Agent.layer,
    Tasks.layer
  )

/** Process and workspace in one, for a program that has one workspace. @since 0.1.0 @category layers */
export const layerProgram = (options: ProcessOptions & WorkspaceOptions = {}) =>
  Layers.inOrder(layerProcess(options), layerWorkspace(options))
