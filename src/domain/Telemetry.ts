/**
 * What the runtime tells of itself to whoever watches it: spans and metrics by the conventions for generative AI of
 * OpenTelemetry. The rooms know these types alone; what records and sends stands in `telemetry`, and is loaded when an
 * endpoint is configured.
 *
 * A span that is on is in the fiber (`CurrentSpan`): what is done below it finds it there, and with it the recorder.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AgentEventBody } from "./AgentEvent.ts"
import type { SendOptions } from "./ApiClient.ts"
import type { ApiError } from "./Failure.ts"
import type { JsonObject } from "./Json.ts"
import type { Message, Part } from "./Message.ts"
import type { StreamEvent } from "./StreamEvent.ts"
import type { ToolDef, ToolResult } from "./Tool.ts"

/** A piece of work with its beginning and its end. @since 0.1.0 @category models */
export interface Span {
  /** 32 hex digits. */
  readonly trace_id: string
  /** 16 hex digits. */
  readonly span_id: string
  readonly ended: () => boolean
  readonly recorder: Recorder
}

/** A request to a model, as it goes out. @since 0.1.0 @category models */
export interface ChatRequest {
  readonly provider: string
  readonly model: string
  /** Base address; null = the model is played on this machine. */
  readonly address: string | null
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
  readonly options: SendOptions
  /** US dollars of what was used; null = there is no price. */
  readonly cost: (usage: Extract<StreamEvent, { readonly type: "usage" }>["usage"]) => number | null
}

/** @since 0.1.0 @category models */
export interface ToolRequest {
  readonly name: string
  readonly input: JsonObject
  readonly session_id: string
  readonly call_id: string
}

/** @since 0.1.0 @category models */
export interface RunRequest {
  readonly session_id: string
  readonly run_id: string
  /** The label of a subagent; "" = the session's own agent. */
  readonly agent: string
  readonly provider: string
  readonly model: string
  readonly permission_mode: string
  readonly prompt: string | ReadonlyArray<Part>
}

/** A request to an MCP server. @since 0.1.0 @category models */
export interface McpRequest {
  readonly server: string
  readonly method: string
  /** The tool, the prompt or the resource that it is about. */
  readonly target: string | null
  readonly version: string | null
  readonly transport: "stdio" | "http" | "sse"
}

/** A run under way. @since 0.1.0 @category models */
export interface RunSpan {
  readonly span: Span
  /** Everything that the run says; its terminal event ends the span. */
  readonly observe: (events: ReadonlyArray<AgentEventBody>) => void
  /** For a run that has no terminal event; again it changes nothing. */
  readonly end: () => void
}

/** @since 0.1.0 @category models */
export interface Recorder {
  /** `stream` with a span around it and its metrics; chunks stay as they are. */
  readonly chat: (
    request: ChatRequest,
    stream: Stream.Stream<StreamEvent, ApiError>
  ) => Stream.Stream<StreamEvent, ApiError>
  /** `execute` gets what is to hear the events of the call. */
  readonly tool: (
    request: ToolRequest,
    execute: (heard: (event: AgentEventBody) => void) => Effect.Effect<ToolResult>
  ) => Effect.Effect<ToolResult>
  /** `send` gets the `traceparent` of the span (W3C Trace Context). */
  readonly mcp: <A, E extends { readonly reason: string }>(
    request: McpRequest,
    send: (traceparent: string) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
  readonly run: (request: RunRequest) => Effect.Effect<RunSpan>
}

/** The span that is on. @since 0.1.0 @category services */
export class CurrentSpan extends Context.Tag("@hanzo/dev/domain/CurrentSpan")<CurrentSpan, Span>() {}

/** `recorder` null = nothing is configured, and nothing was loaded. @since 0.1.0 @category models */
export interface TelemetryService {
  readonly recorder: Recorder | null
}

/** @since 0.1.0 @category services */
export class Telemetry extends Context.Tag("@hanzo/dev/domain/Telemetry")<Telemetry, TelemetryService>() {}
