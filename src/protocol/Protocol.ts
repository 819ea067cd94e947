/**
 * The shape that every model protocol has: pure functions and one state machine a stream. The three modules
 * (AnthropicMessages, Responses, ChatCompletions) each export `protocol: Protocol`.
 *
 * @since 0.1.0
 */
import type { SseFrame } from "../codec/Sse.ts"
import type { ApiError } from "../domain/Failure.ts"
import type { Message } from "../domain/Message.ts"
import type { ResponseEvent } from "../domain/ResponseEvent.ts"
import type { Effort } from "../domain/ApiClient.ts"
import type { ToolDef } from "../domain/Tool.ts"
import type { JsonObject } from "../domain/Json.ts"

/** @since 0.1.0 @category models */
export type ProtocolName = "anthropic" | "responses" | "chat"

/**
 * What a model can do, from the catalogue and the settings. Absent = unknown: assume the usual of the protocol.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelTraits {
  /** Tokens of prompt and answer together. */
  readonly context_window?: number
  readonly max_output_tokens?: number
  readonly reasoning?: boolean
  readonly images?: boolean
  readonly documents?: boolean
  /** Anthropic: the model takes adaptive thinking with `output_config.effort`, not a budget. */
  readonly adaptive_thinking?: boolean
  /** Chat: `max_completion_tokens` in place of `max_tokens`. */
  readonly max_completion_tokens?: boolean
  /** Longest tool name; 64 unless known. */
  readonly tool_name_limit?: number
  /** Anthropic proper (not a compatible server): cache breakpoints and its betas are understood. */
  readonly cache_control?: boolean
  /** Responses, Chat: the server knows `prompt_cache_key`; false leaves it out. */
  readonly prompt_cache_key?: boolean
  /** Chat: call ids are exactly nine letters and digits (Mistral). */
  readonly short_call_ids?: boolean
}

/** @since 0.1.0 @category models */
export interface EncodeInput {
  /** The model's name as the provider knows it. */
  readonly model: string
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
  readonly traits: ModelTraits
  /** `<provider>:<protocol>`; reasoning of another origin is left out of the request. */
  readonly origin: string
  readonly stream: boolean
  readonly max_output_tokens?: number
  readonly effort?: Effort
  readonly tool_choice?: "auto" | "required" | "none" | { readonly name: string }
  readonly parallel_tool_calls?: boolean
  readonly stop?: ReadonlyArray<string>
  readonly temperature?: number
  readonly top_p?: number
  /** Becomes the prompt cache key where the protocol has one. */
  readonly session_id?: string
}

/**
 * `names` maps a name as sent back to the canonical one (reading 1.9); empty when nothing was shortened. `dropped`
 * lists fields the protocol cannot carry, for the debug log.
 *
 * @since 0.1.0
 * @category models
 */
export interface EncodedRequest {
  readonly body: JsonObject
  readonly names: ReadonlyMap<string, string>
  readonly dropped: ReadonlyArray<string>
  /** Stop sequences that the caller must cut locally (a protocol without them, or more than it takes). */
  readonly local_stop: ReadonlyArray<string>
}

/** @since 0.1.0 @category models */
export interface DecodeOptions {
  readonly origin: string
  /** Fallbacks when the stream does not name them. */
  readonly model: string
  readonly names: ReadonlyMap<string, string>
  /** Mints ids the upstream left out; deterministic per response. */
  readonly mint?: (kind: "resp" | "msg" | "rs" | "fc" | "call", n: number) => string
}

/**
 * One response. `push` takes a frame and returns its canonical events; after a terminal both return nothing. `end` is
 * called when the body ended (or broke) and gives the failure `truncated` if no terminal was seen; partial usage is kept.
 *
 * @since 0.1.0
 * @category models
 */
export interface StreamDecoder {
  readonly push: (frame: SseFrame) => ReadonlyArray<ResponseEvent>
  readonly end: (failure?: { readonly reason: string; readonly message: string }) => ReadonlyArray<ResponseEvent>
  readonly done: () => boolean
  /**
   * The upstream has named its finish; only counts may still follow. A transport that reads no more for a short while
   * after this (two seconds are ample) calls `end`, which then gives the success terminal. True after a terminal too.
   */
  readonly settled: () => boolean
}

/** Facts of an HTTP answer that is not 2xx. Header names are lower-case. @since 0.1.0 @category models */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Capped text of the body. */
  readonly body: string
  /** Milliseconds since the epoch, for a Retry-After date. */
  readonly now: number
}

/** @since 0.1.0 @category models */
export interface Protocol {
  readonly name: ProtocolName
  /** Where requests go below the resolved root. */
  readonly endpoint: "messages" | "responses" | "chat/completions"
  readonly encodeRequest: (input: EncodeInput) => EncodedRequest
  readonly streamDecoder: (options: DecodeOptions) => StreamDecoder
  /** A whole (not streamed) answer as the same canonical events. Throws nothing: a bad body is a `failed` terminal. */
  readonly decodeResponse: (body: unknown, options: DecodeOptions) => ReadonlyArray<ResponseEvent>
  readonly decodeError: (answer: ErrorAnswer) => ApiError
  /** Headers of authentication and version for a key. */
  readonly headers: (key: string | null) => Readonly<Record<string, string>>
}
