/**
 * What a scripted upstream can be told to do. Everything here is plain JSON except where a function is said to be
 * allowed, so that the same options drive the program (`upstream.main.ts`) and an in-process server.
 */

export type Wire = "anthropic" | "responses" | "chat"

/** How a response ends. `length_in_arguments` cuts the stream inside the JSON of its last call. */
export type End =
  | "normal"
  | "length"
  | "length_in_arguments"
  | "refusal"
  | "content_filter"
  | "stop_sequence"
  | "pause_turn"
  | "context_window"

export type Block =
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "redacted_thinking"; readonly data: string }
  | { readonly kind: "text"; readonly text: string }
  /** A string is sent as it stands, also when it is no JSON. */
  | { readonly kind: "call"; readonly name: string; readonly arguments: string | Readonly<Record<string, unknown>> }

export interface Turn {
  readonly blocks: ReadonlyArray<Block>
  readonly end?: End
}

/** What a script function may look at. `turn` counts model requests of this prompt from 1. */
export interface TurnRequest {
  readonly wire: Wire
  readonly turn: number
  readonly body: Readonly<Record<string, unknown>>
  /** Texts of the tool results that came with this request, in order. */
  readonly results: ReadonlyArray<string>
  /** Text of the last user message that is no tool result. */
  readonly prompt: string
}

export type Fault =
  /** An HTTP error. `retry_after` in seconds or an HTTP date. */
  | {
    readonly kind: "status"
    readonly status: number
    readonly message?: string
    readonly type?: string
    readonly code?: string
    readonly retry_after?: number | string
    readonly retry_after_ms?: number
    readonly should_retry?: boolean
    readonly headers?: Readonly<Record<string, string>>
    /** Sent instead of the wire's own error body. */
    readonly body?: string
    readonly content_type?: string
  }
  /** The wire's error event after `after` events (default: half of them), then a clean end. */
  | {
    readonly kind: "error_event"
    readonly after?: number
    readonly type?: string
    readonly code?: string
    readonly message?: string
    /** Responses: `failed` (default) or the bare `error` event. */
    readonly form?: "failed" | "error"
  }
  /** The socket is destroyed after `after` events (0 = after the headers). */
  | { readonly kind: "drop"; readonly after?: number }
  /** The socket is destroyed before any header. */
  | { readonly kind: "drop_before_headers" }
  /** A clean end of the body after `after` events, without a terminal event. */
  | { readonly kind: "truncate"; readonly after?: number }
  /** Nothing is answered until `release()` or the client leaves. */
  | { readonly kind: "hang_before_headers" }
  /** The stream stops after `after` events until `release()`; with `pings` it goes on pinging every that many ms. */
  | { readonly kind: "hang"; readonly after?: number; readonly pings?: number }
  /** Status 200, JSON error body, also where a stream was asked. */
  | { readonly kind: "json_error"; readonly type?: string; readonly code?: string; readonly message?: string }
  | { readonly kind: "html"; readonly status?: number }
  | { readonly kind: "empty"; readonly status?: number }
  /** A body that begins as JSON and stops. */
  | { readonly kind: "broken_json" }
  /** The scripted turn, but with this end. */
  | { readonly kind: "end"; readonly end: End }

export interface UpstreamUsage {
  /** Without cached and written tokens. */
  readonly input?: number
  readonly output?: number
  readonly cached?: number
  readonly written?: number
  readonly reasoning?: number
}

/** Harmless oddities seen with compatible servers. */
export type Quirk =
  /** Chat: calls have no id at all. */
  | "no_ids"
  /** Chat: every argument fragment repeats id and name. */
  | "repeat_ids"
  /** Chat: later fragments have an empty id. */
  | "empty_ids"
  /** Chat: the whole argument text stands in the first fragment. */
  | "arguments_in_opener"
  /** Chat: fragments have no index. */
  | "no_index"
  /** Chat: the name comes in the second fragment. */
  | "late_name"
  /** Chat: finish_reason "stop" although there are calls. */
  | "stop_with_calls"
  /** Chat: usage in the chunk of the finish reason. */
  | "usage_with_finish"
  /** Responses: no argument deltas, only `.done`. */
  | "arguments_only_done"
  /** Responses: the done item has another id than the added one (same call_id). */
  | "changed_item_id"
  /** Responses: a `[DONE]` after the terminal event. */
  | "responses_done"
  /** Anthropic: an event of a kind nobody knows. */
  | "unknown_event"
  /** Parallel calls share one id. */
  | "duplicate_ids"

export interface UpstreamOptions {
  /** 0 = a free port on 127.0.0.1. */
  readonly port?: number
  /** Model requests that call tools before the final text; default 0. */
  readonly tool_turns?: number
  /** Calls in each of them; default 1. */
  readonly parallel?: number
  /** Default `bash`. */
  readonly tool?: string
  /** Text or object with `{{turn}}` and `{{call}}` (from 1), or a function; default `{"command": "echo turn-<n>"}`. */
  readonly arguments?:
    | string
    | Readonly<Record<string, unknown>>
    | ((turn: number, call: number) => string | Readonly<Record<string, unknown>>)
  /** Arguments are the empty text. */
  readonly empty_arguments?: boolean
  /** Text before the calls of each tool turn; default none. */
  readonly preface?: string
  readonly final_text?: string
  /** Thinking (Anthropic), a reasoning item (Responses), reasoning_content (Chat) at the head of each turn. */
  readonly thinking?: boolean
  readonly thinking_text?: string
  /** Replaces everything above: the turns of one prompt; the last one repeats. */
  readonly script?: ReadonlyArray<Turn> | ((request: TurnRequest) => Turn)
  /** A user message without results starts the script again. Default: the script runs once in a conversation. */
  readonly restart?: boolean
  /** End of the final turn (`length_in_arguments`: of the first tool turn). */
  readonly end?: End
  readonly stop_sequence?: string

  /** Size of the writes: bytes, one write an event (default), or the whole body at once. */
  readonly chunk?: number | "event" | "whole"
  /** Also cut inside every multi-byte character. */
  readonly split_utf8?: boolean
  /** Deltas of one UTF-16 unit, so that a surrogate pair spans two of them. */
  readonly split_surrogates?: boolean
  readonly line_end?: "lf" | "crlf" | "cr"
  readonly bom?: boolean
  /** No space after the colon of each field. */
  readonly no_space?: boolean
  /** A ping (Anthropic) or comment between any two events. */
  readonly pings?: boolean
  /** Characters a delta; default 8. */
  readonly delta_chars?: number
  /** Milliseconds between two events. */
  readonly pace_ms?: number
  /** Fragments of parallel calls alternate (Chat, Responses). */
  readonly interleave?: boolean
  /** Responses: item ids equal call ids. Default false. */
  readonly item_id_is_call_id?: boolean
  /** false = none is sent. */
  readonly usage?: UpstreamUsage | false
  /** Chat: false = no `[DONE]`. */
  readonly done?: boolean
  /** The last event has no blank line after it. */
  readonly unterminated?: boolean
  readonly gzip?: boolean
  readonly quirks?: ReadonlyArray<Quirk>
  /** Chat: the field of reasoning. */
  readonly reasoning_field?: "reasoning_content" | "reasoning"
  /** Responses: reasoning as raw text, not as a summary. */
  readonly raw_reasoning?: boolean

  /** By number of the model request from 1; `all` for every one without its own. */
  readonly faults?: Readonly<Record<string, Fault>>

  /** false = requests are not judged. */
  readonly validate?: boolean
  /** Keys that are accepted; default any, but one must be there. */
  readonly keys?: ReadonlyArray<string>
  /** false = no key is needed. */
  readonly auth?: boolean
  /** Models that exist; default any name. */
  readonly models?: ReadonlyArray<string>
  /** false = 404 for count_tokens. */
  readonly count_tokens?: boolean
  /** Longest call id of Chat and Responses; default 64. */
  readonly call_id_max?: number
  /** Chat: assistant messages with calls must bring their reasoning back. */
  readonly require_reasoning?: boolean
  /** Wires that exist here; others answer 404. */
  readonly wires?: ReadonlyArray<Wire>
}

/** One request as it came. Keys are cut from the headers. */
export interface LoggedRequest {
  /** From 1, over all requests. */
  readonly n: number
  /** From 1, over model requests; null for the others. */
  readonly generation: number | null
  readonly kind: "generate" | "count_tokens" | "models" | "other"
  readonly wire: Wire | null
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  /** Which headers carried a key: `x-api-key`, `bearer`, `api-key`. */
  readonly auth: ReadonlyArray<string>
  /** Parsed JSON, or the text. */
  readonly body: unknown
  readonly stream: boolean
  /** Turn that was served, 0 when none was. */
  turn: number
  status: number
  fault: string | null
  /** What the request broke, in words. */
  violation: string | null
  events_sent: number
  events_total: number
  /** The client left before the answer was complete. */
  client_closed: boolean
  /** Waiting for `release()`. */
  hanging: boolean
  finished: boolean
}

export interface Upstream {
  readonly port: number
  /** `http://127.0.0.1:<port>` */
  readonly url: string
  readonly log: ReadonlyArray<LoggedRequest>
  readonly counts: () => {
    readonly requests: number
    readonly generations: number
    readonly violations: number
    readonly client_closed: number
    readonly open: number
  }
  readonly violations: () => ReadonlyArray<string>
  /** Lets everything that hangs go on. */
  readonly release: () => void
  /** Resolves when the predicate holds for the log; judged after every change of it. */
  readonly until: (predicate: (log: ReadonlyArray<LoggedRequest>) => boolean) => Promise<void>
  readonly close: () => Promise<void>
}
