/**
 * The library: services and Layers by name. Importing it does nothing; a Layer works when it is built.
 *
 * `layerWorkspace` over `layerProcess` over `NodePlatform.layer` is the whole runtime. Each service can also be taken
 * alone, from here or from its own entry (`@hanzo/dev/Config`, `@hanzo/dev/Permissions`, ...), and be replaced by a
 * Layer of your own.
 *
 * @since 0.1.0
 */
export { Agent, type AgentService, type RunInput } from "./agent/Agent.ts"
export { locate as locateWorkspace, WorkspaceError } from "./app/ProjectRoot.ts"
export {
  layerModels,
  layerProcess,
  layerSettings,
  layerTools,
  layerWorkspace,
  type ProcessOptions,
  type WorkspaceOptions
} from "./app/Runtime.ts"
export { SseError, type SseFrame, SseFrameBuffer } from "./codec/Sse.ts"
export { CompactionError } from "./compactor/CompactionError.ts"
export { type CompactionResult, type CompactOptions, Compactor, type CompactorService } from "./compactor/Compactor.ts"
export { SessionCompactor } from "./compactor/SessionCompactor.ts"
export { Config, type ConfigService, type LoadOptions } from "./config/Config.ts"
export { HanzoConfig, HookConfig, SandboxConfig } from "./config/Schema.ts"
export { Trust } from "./config/Trust.ts"
export { CredentialError } from "./credentials/CredentialError.ts"
export { type Credential, Credentials, type CredentialsService } from "./credentials/Credentials.ts"
export { CredentialStore, type CredentialStoreService } from "./credentials/CredentialStore.ts"
export { Login, type LoginOptions, type LoginService } from "./credentials/Login.ts"
export type { LoginEvent } from "./credentials/LoginEvents.ts"
export { OAuthError } from "./credentials/OAuthClient.ts"
export { PkceChallenge } from "./credentials/PkceChallenge.ts"
export type { ProviderCredential } from "./credentials/ProviderCredential.ts"
export { AgentEvent, type TerminalEvent } from "./domain/AgentEvent.ts"
export { ApiClient, type ApiClientService, type SendOptions } from "./domain/ApiClient.ts"
export { Backoff, schedule as backoffSchedule } from "./domain/Backoff.ts"
export { AgentError, ApiError, ExitCode, type RunError } from "./domain/Failure.ts"
export { Ids } from "./domain/Ids.ts"
export { Message, Part } from "./domain/Message.ts"
export { PermissionMode, PermissionRule } from "./domain/Permission.ts"
export {
  type PermissionDecision,
  PermissionPrompter,
  type PermissionPrompterService
} from "./domain/PermissionPrompter.ts"
export { ResponseEvent } from "./domain/ResponseEvent.ts"
export { isTerminal } from "./domain/RunEnd.ts"
export { StreamEvent } from "./domain/StreamEvent.ts"
export { type ToolDef, ToolResult } from "./domain/Tool.ts"
export { ToolExecutor, type ToolExecutorService } from "./domain/ToolExecutor.ts"
export { Usage } from "./domain/Usage.ts"
export { Workspace, type WorkspaceService } from "./domain/Workspace.ts"
export { HookRunner } from "./hooks/HookRunner.ts"
export { Hooks, type HooksService } from "./hooks/Hooks.ts"
export { Instructions, type InstructionsService } from "./instructions/Instructions.ts"
export { Lsp, type LspService } from "./lsp/Lsp.ts"
export { LspClient, type LspClientOptions, type LspClientServices } from "./lsp/LspClient.ts"
export { LspError } from "./lsp/LspError.ts"
export { ServerSpawner, type ServerSpawnerService } from "./lsp/ServerSpawner.ts"
export { Mcp, type McpService } from "./mcp/Mcp.ts"
export { Permissions, type PermissionsService } from "./permissions/Permissions.ts"
export { PermissionPolicy } from "./permissions/Policy.ts"
export * as NodePlatform from "./platform/NodePlatform.ts"
export { ModelError, Models, type ResolvedModel } from "./provider/Models.ts"
export * as Scenario from "./provider/Scenario.ts"
export { layerEnforcing, layerEnforcingServers } from "./sandbox/Enforcing.ts"
export { Sandbox, type SandboxService } from "./sandbox/Sandbox.ts"
export { SessionStore, type SessionStoreService, type SessionSummary, StorageError } from "./storage/SessionStore.ts"
export { defineTool } from "./tools/Define.ts"
export { type NativeTool, type PreparedCall, ToolFailure } from "./tools/Tool.ts"
