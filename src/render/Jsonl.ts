/**
 * A stored session for other programs, and for another record: `sessions export`. Pure; `JsonlRead` reads it back.
 *
 * @since 0.1.0
 */
import type { Transcript } from "./Transcript.ts"

// What JSON leaves bare although a terminal may act on it: DEL, C1, line separators, bidirectional controls.
const bare = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

const json = (value: object): string =>
  JSON.stringify(value).replace(bare, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`)

/**
 * One JSON object a line, each with `v: 1` and `type`; fields are only ever added:
 *
 * | line | fields |
 * | --- | --- |
 * | `session`, the first | those of TranscriptSession |
 * | `run`, in order of start | those of TranscriptRun |
 * | `entry`, in the order stored, withdrawn and hidden ones too | `id`, `key`, `run_id`, `turn`, `timestamp`, `withdrawn`, `hidden?`, `finish_reason?`, `replaces?`, `message` (exact) |
 *
 * Lossless: what a terminal could act on stands as `\uXXXX`.
 *
 * @since 0.1.0
 * @category encoding
 */
export function* jsonlLines(transcript: Transcript): Generator<string> {
  const { session } = transcript
  const of = (value: object): string => `${json(value)}\n`
  yield of(
    {
      v: 1,
      type: "session",
      id: session.id,
      title: session.title,
      preview: session.preview,
      workspace: session.workspace,
      provider: session.provider,
      model: session.model,
      parent_session_id: session.parent_session_id,
      started_at: session.started_at,
      last_active: session.last_active,
      ended_at: session.ended_at,
      end_reason: session.end_reason,
      message_count: session.message_count,
      tool_call_count: session.tool_call_count,
      usage: session.usage,
      cost_usd: session.cost_usd,
      is_archived: session.is_archived,
      is_pinned: session.is_pinned
    }
  )
  for (const run of transcript.runs) {
    yield of({
      v: 1,
      type: "run",
      id: run.id,
      session_id: run.session_id,
      status: run.status,
      model: run.model,
      started_at: run.started_at,
      ended_at: run.ended_at,
      turns: run.turns,
      exit_code: run.exit_code,
      error_code: run.error_code,
      error_message: run.error_message,
      usage: run.usage,
      cost_usd: run.cost_usd
    })
  }
  for (const entry of transcript.entries) {
    yield of({
      v: 1,
      type: "entry",
      id: entry.id,
      key: entry.key,
      run_id: entry.run_id,
      turn: entry.turn,
      timestamp: entry.timestamp,
      withdrawn: entry.withdrawn,
      hidden: entry.hidden,
      finish_reason: entry.finish_reason,
      replaces: entry.replaces,
      message: entry.message
    })
  }
}
