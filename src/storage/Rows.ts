/**
 * Between entries and rows: pure. What `messages` shows is for people and other programs, what `message_details` keeps is
 * for the next request.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { line } from "../codec/TerminalText.ts"
import type { Message, Part, ReasoningPart } from "../domain/Message.ts"
import { partsOf, textOf, toolCallsOf } from "../domain/MessageParts.ts"
import { once } from "../domain/Once.ts"
import type { Usage } from "../domain/Usage.ts"

/** A tool result above this many bytes (UTF-8) is shortened in `messages.content`. */
const maxResultBytes: number = 32 * 1024
const headBytes = 24 * 1024
const tailBytes = 8 * 1024

/** The driver would cut a text at a NUL. */
const stored = (value: string): string => value.replaceAll("\0", "\uFFFD")

/**
 * A key as its column holds it: what the driver would change (NUL, lone surrogates; keys carry call ids of models) is
 * written as a JSON string.
 *
 * @since 0.1.0
 * @category encoding
 */
export const keyColumn = (key: string): string =>
  key.startsWith("\"") || key.includes("\0") || !key.isWellFormed() ? JSON.stringify(key) : key

/** The key of a column of `keyColumn`. @since 0.1.0 @category decoding */
export const keyOf = (column: string): string => {
  if (!column.startsWith("\"")) return column
  try {
    return String(JSON.parse(column))
  } catch {
    return column
  }
}

/** Call ids out of a JSON array of the columns of `assistant:<call_id>` keys. @since 0.1.0 @category decoding */
export const callIdsOf = (json: string): ReadonlyArray<string> => {
  const columns: unknown = JSON.parse(json)
  return Array.isArray(columns)
    ? columns.map((column: unknown) => keyOf(String(column)).slice("assistant:".length))
    : []
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A UTF-8 continuation byte: a cut in front of it would split a character. */
const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/**
 * First 24 KiB, a marker with the number of bytes left out, last 8 KiB, cut between characters. The exact text is kept in
 * `message_details`, so that a replayed request is the original one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const shorten = (value: string): string => {
  if (value.length * 3 <= maxResultBytes) return value
  const bytes = encoder.encode(value)
  if (bytes.length <= maxResultBytes) return value
  let head = headBytes
  while (isInside(bytes[head])) head--
  let tail = bytes.length - tailBytes
  while (isInside(bytes[tail])) tail++
  return `${decoder.decode(bytes.subarray(0, head))}\n[... ${tail - head} bytes left out ...]\n${
    decoder.decode(bytes.subarray(tail))
  }`
}

/** Long pastes: only the beginning can be part of the result. */
const short = (value: string, max: number): string | null => line(value.slice(0, max * 16), max) || null

/** A title of at most 80 characters in one line, null when nothing is left. @since 0.1.0 @category combinators */
export const titleOf = (value: string): string | null => short(value, 80)

/** What a list shows of a session: at most 200 characters in one line. @since 0.1.0 @category combinators */
export const previewOf = (value: string): string | null => short(value, 200)

/** A text of any length in one line without controls. @since 0.1.0 @category combinators */
export const oneLine = (value: string): string => line(value, Number.MAX_SAFE_INTEGER)

const shown = (part: Part): string => {
  switch (part.type) {
    case "text":
      return part.text
    case "image":
      return `[image ${part.media_type}]`
    case "file":
      return `[file ${part.filename ?? part.media_type}]`
    case "reasoning":
    case "tool_call":
      return ""
  }
}

const contentOf = (message: Message): string => {
  if (typeof message.content === "string") return message.content
  return message.content.map(shown).filter((value) => value !== "").join(message.role === "assistant" ? "" : "\n")
}

/** The three reasoning columns of an assistant row. @since 0.1.0 @category models */
export interface ReasoningColumns {
  readonly reasoning: string | null
  readonly reasoning_details: string | null
  readonly reasoning_content: string | null
}

/** @since 0.1.0 @category combinators */
export const reasoningColumns = (parts: ReadonlyArray<ReasoningPart>): ReasoningColumns => {
  if (parts.length === 0) return { reasoning: null, reasoning_details: null, reasoning_content: null }
  const texts = (some: ReadonlyArray<ReasoningPart>) => some.map((part) => part.text).filter((value) => value !== "")
  const content = texts(parts.filter((part) => part.replay?.field === "reasoning_content"))
  return {
    reasoning: stored(texts(parts).join("\n\n")),
    reasoning_details: JSON.stringify(parts),
    reasoning_content: content.length === 0 ? null : stored(content.join("\n\n"))
  }
}

/** @since 0.1.0 @category combinators */
export const reasoningOf = (message: Message): ReadonlyArray<ReasoningPart> =>
  partsOf(message).filter((part): part is ReasoningPart => part.type === "reasoning")

/** @since 0.1.0 @category models */
export interface MessageColumns {
  readonly content: string
  readonly tool_call_id: string | null
  readonly tool_calls: string | null
  readonly tool_name: string | null
  readonly token_count: number | null
  readonly exact: string
  readonly reasoning_only: boolean
  readonly tool_call_count: number
  /** Text that may become title or preview. */
  readonly text: string
}

/** @since 0.1.0 @category encoding */
export const columnsOf = (message: Message): MessageColumns => {
  const parts = partsOf(message)
  const assistant = message.role === "assistant"
  const calls = assistant ? toolCallsOf(message) : []
  const content = contentOf(message)
  return {
    content: stored(message.role === "tool" ? shorten(content) : content),
    tool_call_id: message.tool_call_id === undefined ? null : stored(message.tool_call_id),
    tool_calls: calls.length === 0 ? null : JSON.stringify(
      calls.map((call) => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }))
    ),
    tool_name: message.tool_name ?? null,
    token_count: message.token_count ?? null,
    exact: JSON.stringify(message),
    reasoning_only: assistant && parts.length > 0 && parts.every((part) => part.type === "reasoning"),
    tool_call_count: calls.length,
    text: message.role === "user" || assistant ? textOf(message) : ""
  }
}

const Count = Schema.Number

const UsageColumns = Schema.Struct({
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  reasoning_tokens: Count
})

const usageOf = (row: typeof UsageColumns.Type): Usage => ({
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cache_read_tokens: row.cache_read_tokens,
  cache_write_tokens: row.cache_write_tokens,
  ...(row.reasoning_tokens > 0 ? { reasoning_tokens: row.reasoning_tokens } : {})
})

const Text = Schema.NullOr(Schema.String)
const Amount = Schema.NullOr(Schema.Number)

const SessionRow = Schema.Struct({
  id: Schema.String,
  title: Text,
  preview: Text,
  workspace: Text,
  provider: Schema.String,
  model: Schema.String,
  parent_session_id: Text,
  started_at: Schema.Number,
  last_active: Schema.Number,
  ended_at: Amount,
  end_reason: Text,
  message_count: Count,
  tool_call_count: Count,
  ...UsageColumns.fields,
  cost_usd: Amount,
  is_archived: Count,
  is_pinned: Count
})

/** Columns of a session in the order of `SessionRow`. @since 0.1.0 @category constants */
export const sessionColumns: string =
  `id, title, preview, workspace, provider, model, parent_session_id, started_at, last_active, ended_at, end_reason, ` +
  `message_count, tool_call_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, ` +
  `COALESCE(actual_cost_usd, estimated_cost_usd) AS cost_usd, is_archived, ` +
  `EXISTS (SELECT 1 FROM pins WHERE session_id = sessions.id) AS is_pinned`

/** @since 0.1.0 @category decoding */
export const decodeSessions = Schema.decodeUnknownEither(Schema.Array(SessionRow))

/** @since 0.1.0 @category combinators */
export const sessionOf = (row: typeof SessionRow.Type) => ({
  id: row.id,
  title: row.title,
  preview: row.preview,
  workspace: row.workspace ?? "",
  provider: row.provider,
  model: row.model,
  parent_session_id: row.parent_session_id,
  started_at: row.started_at,
  last_active: row.last_active,
  ended_at: row.ended_at,
  end_reason: row.end_reason,
  message_count: row.message_count,
  tool_call_count: row.tool_call_count,
  usage: usageOf(row),
  cost_usd: row.cost_usd,
  is_archived: row.is_archived !== 0,
  is_pinned: row.is_pinned !== 0
})

const RunRow = once(() =>
  Schema.Struct({
    id: Schema.String,
    session_id: Schema.String,
    status: Schema.Literal("running", "completed", "failed", "cancelled", "interrupted"),
    model: Schema.String,
    started_at: Schema.Number,
    ended_at: Amount,
    turns: Count,
    exit_code: Amount,
    error_code: Text,
    error_message: Text,
    ...UsageColumns.fields,
    cost_usd: Amount
  })
)
type RunRow = ReturnType<typeof RunRow>["Type"]

/** @since 0.1.0 @category constants */
export const runColumns: string =
  `id, session_id, status, model, started_at, ended_at, turns, exit_code, error_code, error_message, ` +
  `input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd`

/** @since 0.1.0 @category decoding */
export const decodeRuns = (rows: unknown) => Schema.decodeUnknownEither(Schema.Array(RunRow()))(rows)

/** @since 0.1.0 @category combinators */
export const runOf = (row: RunRow) => ({
  id: row.id,
  session_id: row.session_id,
  status: row.status,
  model: row.model,
  started_at: row.started_at,
  ended_at: row.ended_at,
  turns: row.turns,
  exit_code: row.exit_code,
  error_code: row.error_code,
  error_message: row.error_message,
  usage: usageOf(row),
  cost_usd: row.cost_usd
})

/** @since 0.1.0 @category constants */
export const entryColumns: string =
  `message_id, entry_key, run_id, turn, message, finish_reason, timestamp, replaces, withdrawn, hidden`

/**
 * The conversation in its order, without what was withdrawn, replaced or hidden. A result that stands for an earlier one belongs
 * to the turn of that one.
 *
 * @since 0.1.0
 * @category constants
 */
export const conversationQuery: string = `SELECT d.entry_key,
    CASE WHEN d.role = 'tool' AND p.run_id IS NOT NULL THEN p.run_id ELSE d.run_id END AS run_id,
    CASE WHEN d.role = 'tool' AND p.turn IS NOT NULL THEN p.turn ELSE d.turn END AS turn, d.message
  FROM message_details d INDEXED BY message_details_now LEFT JOIN message_details p ON p.message_id = d.place
  WHERE d.session_id = ? AND d.withdrawn = 0 AND d.replaced = 0 AND d.hidden = 0
  ORDER BY COALESCE(d.place, d.message_id), d.message_id`
