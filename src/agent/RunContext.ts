/**
 * What the parts of one run share: its identity, its output, its services.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
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
import { restricted } from "../tools/ToolAccess.ts"
import type { CompactionGate } from "./CompactionGate.ts"
import type { PromptExpansion } from "./PromptExpansion.ts"
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

/** Questions of a subagent carry its name. */
const named = (agent: string) => (prompter: PermissionPrompterService): PermissionPrompterService => ({
  name: prompter.name,
  requestPermission: (tool_name, input, context) => prompter.requestPermission(tool_name, input, { ...context, agent }),
  ...(prompter.ask === undefined
    ? {}
    : {
      ask: (question, context) =>
        prompter.ask?.(question, { ...context, agent }) ?? Effect.succeed({ action: "escalate" })
    })
})

/** `used` are ids of calls that are taken; those of the run come to them. @since 0.1.0 @category constructors */
export const make = (
  services: RunServices,
  run: Pick<RunContext, "node" | "hooks" | "compaction" | "code" | "limits" | "emit"> & {
    readonly expansion: PromptExpansion
    readonly used: Set<string>
  }
): RunContext => {
  const { expansion, node, used } = run
  const { effort, model, run_id, session_id } = node
  const child = node.parent !== null
  const stem = run_id.slice(run_id.indexOf("_") + 1)
  let items = 0
  const context: RunContext = {
    ...services,
    tools: restricted(services.tools, node.access, node.label),
    prompters: child ? services.prompters.map(named(node.label)) : services.prompters,
    hooks: run.hooks,
    compaction: run.compaction,
    expand: (content) => expansion.expand(context, content),
    code: run.code,
    session_id,
    run_id,
    model,
    permission_mode: node.permission_mode,
    send: {
      model: model.name,
      session_id,
      booked: true,
      ...(effort === undefined ? {} : { effort })
    },
    max_turns: node.max_turns,
    max_cost_usd: node.max_cost_usd,
    node,
    limits: run.limits,
    emit: run.emit,
    nextItemId: () => `item_${stem}_${items++}`,
    claimCallId: (id) => {
      let unique = id === "" ? `call_${stem}_${used.size}` : id
      for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`
      used.add(unique)
      return unique
    }
  }
  return context
}
