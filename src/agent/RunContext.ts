/**
 * What the parts of one run share: its identity, its output, its services.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AgentEventBody } from "../domain/AgentEvent.ts"
import type { IdsService } from "../domain/Ids.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { Part } from "../domain/Message.ts"
import type { PermissionPrompterService } from "../domain/PermissionPrompter.ts"
import type { ApiClientService, SendOptions } from "../domain/ApiClient.ts"
import type { ToolExecutorService } from "../domain/ToolExecutor.ts"
import type { WorkspaceService } from "../domain/Workspace.ts"
import type { CostLimits } from "../provider/CostLimits.ts"
import type { ResolvedModel } from "../provider/Models.ts"
import type { SessionStoreService } from "../storage/SessionStore.ts"
import type { Expansion } from "../tools/McpAccess.ts"
import type { CompactionGate } from "./CompactionGate.ts"
import type { RunHooks } from "./RunHooks.ts"
import type { RunNode } from "./RunTree.ts"

/** @since 0.1.0 @category models */
export interface RunServices {
  readonly api: ApiClientService
  readonly tools: ToolExecutorService
  readonly store: SessionStoreService
  readonly prompters: ReadonlyArray<PermissionPrompterService>
  readonly ids: IdsService
  readonly workspace: WorkspaceService
}

/** @since 0.1.0 @category models */
export interface RunContext extends RunServices {
  readonly hooks: RunHooks
  /** Null = the conversation has no budget and is never compacted. */
  readonly compaction: CompactionGate | null
  /** A prompt with what it names: resources and prompts of MCP servers. */
  readonly expand: (content: string | ReadonlyArray<Part>) => Effect.Effect<Expansion>
  /** What language servers say of the files of this session: the last part of the system prompt; "" = nothing. */
  readonly code: Effect.Effect<string>
  readonly session_id: string
  readonly run_id: string
  readonly model: ResolvedModel
  readonly permission_mode: RunPermissionMode
  readonly send: SendOptions
  readonly max_turns: number
  readonly max_cost_usd: number | null
  /** The run among those that have started it, or that it starts. */
  readonly node: RunNode
  /** Of the session and the day; null = the settings limit nothing. */
  readonly limits: CostLimits | null
  /** Offers events in order, with back-pressure; gives up at once when the consumer has gone. */
  readonly emit: (events: ReadonlyArray<AgentEventBody>) => Effect.Effect<void>
  readonly nextItemId: () => string
  readonly claimCallId: (id: string) => string
}
