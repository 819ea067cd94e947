/**
 * HIP-301's ApiClient protocol (section 2). Whoever writes another one emits the events of `StreamEvent`.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Stream from "effect/Stream"
import type { ApiError } from "./Failure.ts"
import type { Message } from "./Message.ts"
import type { StreamEvent } from "./StreamEvent.ts"
import type { ToolDef } from "./Tool.ts"

/** @since 0.1.0 @category models */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max"

/**
 * What a request is for, as the record of spending keeps it: the loop's own `turn`, or one beside it. (What reports call
 * `subagent` are the turns of a subagent's session.)
 *
 * @since 0.1.0
 * @category models
 */
export type RequestPurpose = "turn" | "compaction" | "sampling" | "title" | "commit_message" | "other"

/**
 * Per-request options; everything absent is left to the target's settings.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  /** `provider/model` or a bare model; absent = the configured one. */
  readonly model?: string
  readonly max_output_tokens?: number
  readonly effort?: Effort
  readonly tool_choice?: "auto" | "required" | "none" | { readonly name: string }
  readonly parallel_tool_calls?: boolean
  readonly stop?: ReadonlyArray<string>
  readonly temperature?: number
  readonly top_p?: number
  readonly session_id?: string
  /** For the record of spending; absent = `other`, unless `booked`. */
  readonly purpose?: RequestPurpose
  /** The caller records what the answer used itself. Else whoever composes the client does it. */
  readonly booked?: true
}

/**
 * One request to the model. The stream ends in exactly one of `message_stop` or `error` (reading 2.5), or fails with
 * an ApiError when nothing was streamed (connect, HTTP status, refusal of the request). It is chunked as the network
 * reads came, never waits after its terminal, and closing it closes the connection. It does not retry: the agent does.
 *
 * @since 0.1.0
 * @category models
 */
export interface ApiClientService {
  readonly sendMessage: (
    messages: ReadonlyArray<Message>,
    tools: ReadonlyArray<ToolDef>,
    options?: SendOptions
  ) => Stream.Stream<StreamEvent, ApiError>
}

/** @since 0.1.0 @category services */
export class ApiClient extends Context.Tag("@hanzo/dev/domain/ApiClient")<ApiClient, ApiClientService>() {}
