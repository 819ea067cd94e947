/**
 * A connected MCP server, whichever transport and revision (HIP-301 section 1: `McpConnection`). The registry above names
 * its tools and decides what may be called; what a server asks of us goes to the injected handlers.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { JsonRpcObject, JsonRpcRequest, JsonRpcResponse } from "../codec/JsonRpc.ts"
import type { JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import type { McpError } from "./McpError.ts"
import type { McpEra, TransportReport } from "./Transport.ts"

/** The legacy revisions, the newest first, then what `protocol: "2026-07-28"` means. @since 0.1.0 @category constants */
export const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const
/** Stateless revisions we speak, the newest first. @since 0.1.0 @category constants */
export const modernVersions = ["2026-07-28"] as const

/** Pages of one listing; the next one is an error (1.11). @since 0.1.0 @category constants */
export const maxPages = 1_000
/** Rounds of `input_required` in one call (1.2). @since 0.1.0 @category constants */
export const maxInputRounds = 10
/** Bytes of one resource (1.14). @since 0.1.0 @category constants */
export const maxResourceBytes = 8 * 1024 * 1024

/** Milliseconds (1.4). @since 0.1.0 @category models */
export interface McpLimits {
  /** Spawn or TCP, probe, initialize. Default 10,000. */
  readonly connect_timeout_ms: number
  /** A page. Default 30,000. */
  readonly list_timeout_ms: number
  /** Default 60,000; progress starts it anew. */
  readonly call_timeout_ms: number
  /** A call in all. Default 600,000. */
  readonly call_max_ms: number
}

/** @since 0.1.0 @category constants */
export const defaultLimits: McpLimits = {
  connect_timeout_ms: 10_000,
  list_timeout_ms: 30_000,
  call_timeout_ms: 60_000,
  call_max_ms: 600_000
}

/** What a server says of itself: for display only. @since 0.1.0 @category models */
export interface McpServerInfo {
  readonly name: string
  readonly version: string
  readonly title?: string
}

/**
 * A tool as its server describes it. Schemas are unchanged; `raw` is the whole description. `task` is
 * `execution.taskSupport` (2025-11-25).
 *
 * @since 0.1.0
 * @category models
 */
export interface McpTool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly input_schema: JsonRpcObject
  readonly output_schema?: JsonRpcObject
  /** Hints of the server; not to be trusted. */
  readonly annotations?: JsonRpcObject
  readonly task: "forbidden" | "optional" | "required"
  readonly raw: JsonRpcObject
}

/** @since 0.1.0 @category models */
export interface McpResource {
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mime_type?: string
  /** Bytes, as the server says. */
  readonly size?: number
  readonly raw: JsonRpcObject
}

/** @since 0.1.0 @category models */
export interface McpResourceTemplate {
  readonly uri_template: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mime_type?: string
  readonly raw: JsonRpcObject
}

/** @since 0.1.0 @category models */
export interface McpPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments: ReadonlyArray<
    { readonly name: string; readonly title?: string; readonly description?: string; readonly required: boolean }
  >
  readonly raw: JsonRpcObject
}

/**
 * A listing. `problem` says why it ended early: `items` is what was read before. `dropped` are entries that could not be
 * used, one line each. `ttl_ms`: how long the server calls it fresh; 0 = stale at once.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpListing<A> {
  readonly items: ReadonlyArray<A>
  readonly problem: McpError | null
  readonly dropped: ReadonlyArray<string>
  readonly ttl_ms: number
  readonly pages: number
}

/** A content block as the server sent it; `type` is text, image, audio, resource_link, resource or something newer. @since 0.1.0 @category models */
export interface McpContent extends JsonRpcObject {
  readonly type: string
}

/**
 * What a tool gave back. `schema_problem`: `structured_content` does not fit the tool's output schema, or is missing
 * although it has one; null = it fits or nothing was to be checked.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpCallResult {
  readonly content: ReadonlyArray<McpContent>
  readonly structured_content?: unknown
  readonly is_error: boolean
  readonly schema_problem: string | null
  readonly meta?: JsonRpcObject
}

/** @since 0.1.0 @category models */
export type McpResourceContent =
  & { readonly uri: string; readonly mime_type?: string; readonly meta?: JsonRpcObject }
  & ({ readonly text: string } | { /** Base64. */ readonly blob: string })

/** @since 0.1.0 @category models */
export interface McpPromptResult {
  readonly description?: string
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: McpContent }>
}

/** @since 0.1.0 @category models */
export interface McpProgress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** @since 0.1.0 @category models */
export interface McpCallOptions {
  /** Called in place for each progress notification; must not wait. */
  readonly onProgress?: (progress: McpProgress) => Effect.Effect<void>
  /** The tool as it was listed: headers (HTTP), output check and tasks come from it. Default: that of the last listing. */
  readonly tool?: McpTool
  /** The call changes nothing (decided by the caller, not by the server's hint): it may be sent again when its stream was lost. */
  readonly read_only?: boolean
  /** Overrides of the connection's limits, milliseconds. */
  readonly call_timeout_ms?: number
  readonly call_max_ms?: number
  /** Handed to the handlers as `call.token` when the server asks something during this call. */
  readonly token?: string
}

/** A tool call of ours during which a server asks something. @since 0.1.0 @category models */
export interface McpCallInFlight {
  readonly tool: string
  readonly token: string | null
}

/**
 * Where a question of the server comes from. `call` is the tool call it belongs to when that is certain (modern rounds,
 * HTTP response streams, or the only call in flight); `calls` are all in flight.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpAsking {
  readonly server: string
  readonly era: McpEra
  readonly version: string
  readonly call: McpCallInFlight | null
  readonly calls: ReadonlyArray<McpCallInFlight>
}

/** @since 0.1.0 @category models */
export interface McpRoot {
  /** `file://` URI. */
  readonly uri: string
  readonly name?: string
}

/** `params` of `sampling/createMessage` as they came; only `messages` and `maxTokens` have been looked at. @since 0.1.0 @category models */
export interface McpSamplingRequest {
  readonly messages: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: ReadonlyArray<McpContent> }>
  readonly system_prompt?: string
  readonly max_tokens: number
  readonly temperature?: number
  readonly stop_sequences?: ReadonlyArray<string>
  readonly model_preferences?: JsonRpcObject
  readonly include_context?: string
  /** Only in revisions that have tools in sampling (2025-11-25 and later). */
  readonly tools?: ReadonlyArray<McpTool>
  readonly tool_choice?: "auto" | "required" | "none"
  readonly params: JsonRpcObject
}

/** `content`: one block, or several where the revision allows it. `stop_reason`: endTurn, stopSequence, maxTokens, toolUse. @since 0.1.0 @category models */
export interface McpSamplingResult {
  readonly model: string
  readonly content: ReadonlyArray<McpContent>
  readonly stop_reason?: string
}

/**
 * One field of a form.
 *
 * `choices` are the values with what to show for them; `format` is email, uri, date or date-time.
 *
 * @since 0.1.0
 * @category models
 */
export type McpFormField =
  & {
    readonly name: string
    readonly title: string | null
    readonly description: string | null
    readonly required: boolean
  }
  & (
    | {
      readonly kind: "string"
      readonly min_length?: number
      readonly max_length?: number
      readonly format?: McpTextFormat
      readonly default?: string
    }
    | {
      readonly kind: "number" | "integer"
      readonly minimum?: number
      readonly maximum?: number
      readonly default?: number
    }
    | { readonly kind: "boolean"; readonly default?: boolean }
    | { readonly kind: "choice"; readonly choices: ReadonlyArray<McpChoice>; readonly default?: string }
    | {
      readonly kind: "choices"
      readonly choices: ReadonlyArray<McpChoice>
      readonly min_items?: number
      readonly max_items?: number
      readonly default?: ReadonlyArray<string>
    }
  )

/** @since 0.1.0 @category models */
export type McpTextFormat = "email" | "uri" | "date" | "date-time"

/** @since 0.1.0 @category models */
export interface McpChoice {
  readonly value: string
  readonly title: string
}

/** @since 0.1.0 @category models */
export interface McpFormRequest {
  readonly message: string
  readonly fields: ReadonlyArray<McpFormField>
}

/** @since 0.1.0 @category models */
export interface McpUrlRequest {
  readonly message: string
  /** Whole, as the server gave it; nothing opens or fetches it here. */
  readonly url: string
  readonly host: string
  /** Null in revisions without it. */
  readonly elicitation_id: string | null
}

/** A value of a form. @since 0.1.0 @category models */
export type McpFormValue = string | number | boolean | ReadonlyArray<string>

/**
 * The user's answer. With `accept`, fields left out take their defaults; the whole is checked before it is sent, and what
 * does not fit is not sent: the answer becomes `cancel`, with a warning.
 *
 * @since 0.1.0
 * @category models
 */
export type McpFormAnswer =
  | { readonly action: "accept"; readonly content: { readonly [name: string]: McpFormValue } }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }

/** @since 0.1.0 @category models */
export type McpLogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"

/** Made safe for a terminal by whoever shows it (G8). @since 0.1.0 @category models */
export interface McpLogMessage {
  readonly level: McpLogLevel
  readonly logger: string | null
  readonly data: unknown
}

/** @since 0.1.0 @category models */
export type McpListKind = "tools" | "prompts" | "resources"

/**
 * What a server may ask and say. A capability is declared when its handler is there, so handlers are given once, at the
 * start. The `on...` ones run in place, in the order of the wire, and must not wait for the server; requests run in
 * fibers of their own and are interrupted when the server cancels them.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpHandlers {
  readonly roots?: Effect.Effect<ReadonlyArray<McpRoot>>
  readonly sampling?: (
    request: McpSamplingRequest,
    asking: McpAsking
  ) => Effect.Effect<McpSamplingResult, JsonRpcRefusal>
  /** Tools in sampling are declared too (where a revision has them). */
  readonly sampling_tools?: boolean
  readonly elicitForm?: (request: McpFormRequest, asking: McpAsking) => Effect.Effect<McpFormAnswer>
  readonly elicitUrl?: (request: McpUrlRequest, asking: McpAsking) => Effect.Effect<"accept" | "decline" | "cancel">
  /** Every single one, also a thousand a second; also after a gap in which some may have been missed. */
  readonly onListChanged?: (kind: McpListKind) => Effect.Effect<void>
  readonly onResourceUpdated?: (uri: string) => Effect.Effect<void>
  readonly onLog?: (message: McpLogMessage) => Effect.Effect<void>
  /** The page of an URL elicitation is done (2025-11-25). */
  readonly onElicitationComplete?: (elicitation_id: string) => Effect.Effect<void>
}

/** @since 0.1.0 @category models */
export interface McpCompletionRef {
  readonly ref: { readonly type: "prompt"; readonly name: string } | { readonly type: "resource"; readonly uri: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** Arguments that are known already (from 2025-06-18). */
  readonly context?: { readonly [name: string]: string }
}

/** @since 0.1.0 @category models */
export interface McpCompletion {
  readonly values: ReadonlyArray<string>
  readonly total?: number
  readonly has_more: boolean
}

/** @since 0.1.0 @category models */
export interface McpConnection {
  readonly server: string
  readonly kind: "stdio" | "http" | "sse"
  readonly era: McpEra
  /** The revision in force. */
  readonly version: string
  readonly server_info: McpServerInfo | null
  /** As the server sent them. */
  readonly capabilities: JsonRpcObject
  /** For the model; text of the server. */
  readonly instructions: string | null

  /** Fails only if nothing at all was read; an error on a later page is `problem`. `not_offered` without the capability. */
  readonly listTools: Effect.Effect<McpListing<McpTool>, McpError>
  readonly listResources: Effect.Effect<McpListing<McpResource>, McpError>
  readonly listResourceTemplates: Effect.Effect<McpListing<McpResourceTemplate>, McpError>
  readonly listPrompts: Effect.Effect<McpListing<McpPrompt>, McpError>

  /**
   * Sent once; never repeated by us but for `read_only` calls whose stream was lost and calls that a server refused
   * without running them. Interruption cancels it on the wire.
   */
  readonly callTool: (
    name: string,
    args: JsonRpcObject,
    options?: McpCallOptions
  ) => Effect.Effect<McpCallResult, McpError>
  readonly readResource: (uri: string) => Effect.Effect<ReadonlyArray<McpResourceContent>, McpError>
  readonly getPrompt: (
    name: string,
    args: { readonly [name: string]: string }
  ) => Effect.Effect<McpPromptResult, McpError>
  readonly complete: (request: McpCompletionRef) => Effect.Effect<McpCompletion, McpError>
  /** Round trip; the modern era has no ping, there it is a `server/discover`. */
  readonly ping: Effect.Effect<Duration.Duration, McpError>
  /** From now on, log messages of this level and above are wanted. Nothing without the capability. */
  readonly setLogLevel: (level: McpLogLevel) => Effect.Effect<void, McpError>
  /** `onResourceUpdated` is called for it from now on. `not_offered` without the capability. */
  readonly subscribeResource: (uri: string) => Effect.Effect<void, McpError>
  readonly unsubscribeResource: (uri: string) => Effect.Effect<void, McpError>
  /** The roots are others now: tells a legacy server. */
  readonly rootsChanged: Effect.Effect<void, McpError>

  /**
   * HIP-301's own: any request, its answer as a JSON-RPC response under the id that was given. On the wire it has an id of
   * ours and the metadata of the era; the limits are those of a call. An error of the server is an answer, not a failure.
   */
  readonly send: (request: JsonRpcRequest) => Effect.Effect<JsonRpcResponse, McpError>
  /** Ends it before its scope does; returns when nothing of it runs any more. Calls in flight fail with `closed`. */
  readonly close: Effect.Effect<void>

  /** Returns when the connection has ended, with the reason; `closed` when we ended it. */
  readonly closed: Effect.Effect<McpError>
  /** Tool calls without a result. */
  readonly calls: () => ReadonlyArray<McpCallInFlight>
  readonly report: Effect.Effect<TransportReport>
}

/** What `connect` needs. @since 0.1.0 @category models */
export interface ConnectOptions {
  readonly limits?: Partial<McpLimits>
  readonly handlers?: McpHandlers
  /** `protocol` of the definition; default auto. */
  readonly protocol?: "auto" | "legacy" | "2026-07-28"
  /** What an earlier connection to the same process or origin found out: no probe. A wrong one is corrected. */
  readonly era?: McpEra
  readonly client_info: { readonly name: string; readonly version: string; readonly title?: string }
  /** Log level wanted from the start; absent = the server's default (legacy) or none (modern). */
  readonly log_level?: McpLogLevel
}
