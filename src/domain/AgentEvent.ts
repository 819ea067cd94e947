/**
 * What the loop says: one line of `--output-format stream-json` as it stands. A run has exactly one terminal event,
 * its last; ends of items, settlements and terminals are stored before they are offered, deltas are live only.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ReasoningReplay } from "./Message.ts"
import { PermissionMode, RunPermissionMode } from "./Permission.ts"
import { SandboxDecision, SandboxEnforcement, SandboxMode } from "./SandboxRuling.ts"
import { ToolResult } from "./Tool.ts"
import { JsonObject } from "./Json.ts"
import { Usage } from "./Usage.ts"

const RunErrorSchema = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  status: Schema.optional(Schema.Number),
  request_id: Schema.optional(Schema.String),
  retry_after_ms: Schema.optional(Schema.Number)
})

const event = <const T extends string, F extends Schema.Struct.Fields>(type: T, fields: F) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

/** @since 0.1.0 @category schemas */
export const RunStarted = event("run.started", {
  model: Schema.String,
  cwd: Schema.String,
  permission_mode: RunPermissionMode,
  tools: Schema.Array(Schema.String)
})
/** `turn` counts model requests of the run from 1; a retry keeps its number. @since 0.1.0 @category schemas */
export const TurnStarted = event("turn.started", { turn: Schema.Number })
/** @since 0.1.0 @category schemas */
export const TextDelta = event("text.delta", { item_id: Schema.String, text: Schema.String })
/** @since 0.1.0 @category schemas */
export const ReasoningTextDelta = event("reasoning.delta", { item_id: Schema.String, text: Schema.String })
/** @since 0.1.0 @category schemas */
export const ItemCompleted = event("item.completed", {
  item_id: Schema.String,
  item: Schema.Union(
    Schema.Struct({ type: Schema.Literal("message"), text: Schema.String, refusal: Schema.optional(Schema.Boolean) }),
    Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, replay: Schema.optional(ReasoningReplay) }),
    Schema.Struct({
      type: Schema.Literal("tool_call"),
      call_id: Schema.String,
      name: Schema.String,
      arguments: Schema.String
    })
  )
})
/** What the broken attempt had shown is void; none of its tool calls has run. @since 0.1.0 @category schemas */
export const ItemWithdrawn = event("item.withdrawn", { item_ids: Schema.Array(Schema.String), reason: Schema.String })
/** The call begins its way through permissions, hooks and sandbox; `tool.ran` says that it came out. @since 0.1.0 @category schemas */
export const ToolStarted = event("tool.started", { call_id: Schema.String, tool: Schema.String, input: JsonObject })
/** Live output of a running tool, in the order it came. @since 0.1.0 @category schemas */
export const ToolOutput = event("tool.output", { call_id: Schema.String, text: Schema.String })
/**
 * The tool itself has ended, by its own end: after `sandbox.decided` and all `tool.output`, before the hooks that follow.
 * Without it the tool did not run, or was interrupted. `duration_ms` is the tool's alone.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolRan = event("tool.ran", {
  call_id: Schema.String,
  tool: Schema.String,
  outcome: Schema.Literal("ok", "error"),
  duration_ms: Schema.Number
})
/** The settlement: exactly one for every `tool.started`. @since 0.1.0 @category schemas */
export const ToolCompleted = event("tool.completed", {
  call_id: Schema.String,
  tool: Schema.String,
  result: ToolResult,
  duration_ms: Schema.Number,
  interrupted: Schema.optional(Schema.Boolean)
})
/** @since 0.1.0 @category schemas */
export const PermissionAsked = event("permission.asked", {
  call_id: Schema.String,
  tool: Schema.String,
  subject: Schema.optional(Schema.String)
})
/** `decided_by`: rule, default, session, user, prompter:NAME, mode, extension, no_prompter. @since 0.1.0 @category schemas */
export const PermissionDecided = event("permission.decided", {
  call_id: Schema.String,
  tool: Schema.String,
  mode: PermissionMode,
  decided_by: Schema.String,
  rule_matched: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String)
})
/** @since 0.1.0 @category schemas */
export const HookCompleted = event("hook.completed", {
  call_id: Schema.NullOr(Schema.String),
  event: Schema.String,
  hook: Schema.Number,
  decision: Schema.Literal("allow", "deny", "error"),
  reason: Schema.String,
  duration_ms: Schema.Number
})
/**
 * The last look before the tool, after the permissions and the hooks before it; `allowed` is followed by the run. `mode`
 * is null where no sandbox has answered. Of a refusal `rule` and `reason` are known; `path` is the canonical path, if
 * it was for one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SandboxDecided = event("sandbox.decided", {
  call_id: Schema.String,
  tool: Schema.String,
  decision: SandboxDecision,
  enforcement: SandboxEnforcement,
  mode: Schema.NullOr(SandboxMode),
  path: Schema.NullOr(Schema.String),
  rule: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String)
})
/** A wait before the next attempt, announced before it begins. @since 0.1.0 @category schemas */
export const Retry = event("retry", {
  attempt: Schema.Number,
  max_attempts: Schema.Number,
  delay_ms: Schema.Number,
  reason: Schema.String,
  message: Schema.String
})
/** @since 0.1.0 @category schemas */
export const Compaction = event("compaction", {
  compacted_count: Schema.Number,
  tokens_saved: Schema.Number,
  over_budget: Schema.Boolean,
  fallback: Schema.Boolean
})
/** Usage of one finished response, and of the run so far. @since 0.1.0 @category schemas */
export const UsageReported = event("usage", {
  turn: Schema.Number,
  usage: Usage,
  total: Usage,
  cost_usd: Schema.NullOr(Schema.Number)
})
/** Something the user should know that is not an error of the run. @since 0.1.0 @category schemas */
export const Notice = event("notice", { code: Schema.String, message: Schema.String })

/**
 * What an MCP server is doing now: at the first prompt, and whenever it changes. `phase`: connecting, ready, closed (the
 * next call connects again), failed, needs_login.
 *
 * @since 0.1.0
 * @category schemas
 */
export const McpServer = event("mcp.server", {
  server: Schema.String,
  phase: Schema.String,
  tools: Schema.Number,
  error: Schema.NullOr(Schema.Struct({ code: Schema.String, message: Schema.String }))
})
/** What an MCP server says to whoever watches it; without control characters and known secrets. @since 0.1.0 @category schemas */
export const McpLog = event("mcp.log", {
  server: Schema.String,
  level: Schema.String,
  logger: Schema.NullOr(Schema.String),
  text: Schema.String
})

const terminal = {
  result: Schema.String,
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number),
  turns: Schema.Number,
  exit_code: Schema.Number
}
/** @since 0.1.0 @category schemas */
export const RunCompleted = event("run.completed", { ...terminal, stop_reason: Schema.String })
/** @since 0.1.0 @category schemas */
export const RunFailed = event("run.failed", { ...terminal, error: RunErrorSchema })
/** @since 0.1.0 @category schemas */
export const RunCancelled = event("run.cancelled", { ...terminal, reason: Schema.String })

const subagent = {
  /** The names of the agents from the run down to this one, with `/` between them. */
  agent: Schema.String,
  child_session_id: Schema.String
}
/** `call_id` is the call of `task` that it works for, null for a command of the user; `depth` counts from 1. @since 0.1.0 @category schemas */
export const SubagentStarted = event("subagent.started", {
  ...subagent,
  call_id: Schema.NullOr(Schema.String),
  depth: Schema.Number,
  model: Schema.String,
  tools: Schema.Array(Schema.String)
})
/** What any run says between its beginning and its end. */
const during = [
  TurnStarted,
  TextDelta,
  ReasoningTextDelta,
  ItemCompleted,
  ItemWithdrawn,
  ToolStarted,
  ToolOutput,
  ToolRan,
  ToolCompleted,
  PermissionAsked,
  PermissionDecided,
  HookCompleted,
  SandboxDecided,
  Retry,
  Compaction,
  UsageReported,
  Notice
] as const
/** What a subagent's run says between its beginning and its end, in order. @since 0.1.0 @category schemas */
export const SubagentEvent = event("subagent.event", { ...subagent, event: Schema.Union(...during) })
/** The end of a subagent; usage and cost are with those of its own subagents. @since 0.1.0 @category schemas */
export const SubagentCompleted = event("subagent.completed", {
  ...subagent,
  call_id: Schema.NullOr(Schema.String),
  status: Schema.Literal("completed", "failed", "cancelled"),
  result: Schema.String,
  error: Schema.NullOr(RunErrorSchema),
  usage: Usage,
  cost_usd: Schema.NullOr(Schema.Number),
  turns: Schema.Number
})

/** An event without its envelope. @since 0.1.0 @category schemas */
export const AgentEventBody = Schema.Union(
  RunStarted,
  ...during,
  McpServer,
  McpLog,
  SubagentStarted,
  SubagentEvent,
  SubagentCompleted,
  RunCompleted,
  RunFailed,
  RunCancelled
)
/** @since 0.1.0 @category models */
export type AgentEventBody = typeof AgentEventBody.Type

/** @since 0.1.0 @category models */
export interface EventEnvelope {
  readonly v: 1
  /** Dense from 0 within a run. */
  readonly seq: number
  readonly session_id: string
  readonly run_id: string
}

const Envelope = Schema.Struct({
  v: Schema.Literal(1),
  seq: Schema.Number,
  session_id: Schema.String,
  run_id: Schema.String
})

/** @since 0.1.0 @category schemas */
export const AgentEvent = Schema.extend(Envelope, AgentEventBody)
/** @since 0.1.0 @category models */
export type AgentEvent = EventEnvelope & AgentEventBody

/** @since 0.1.0 @category models */
export type TerminalEvent =
  & EventEnvelope
  & (typeof RunCompleted.Type | typeof RunFailed.Type | typeof RunCancelled.Type)
