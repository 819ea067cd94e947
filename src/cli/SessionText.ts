/**
 * Sessions as lines for people.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import { line } from "../codec/TerminalText.ts"
import { dollars } from "../render/Transcript.ts"
import type { SessionSummary } from "../storage/SessionStore.ts"
import { columns } from "./Output.ts"

/** Seconds since the epoch as `2026-11-29 18:05` (UTC). @since 0.1.0 @category encoding */
export const moment = (seconds: number): string =>
  DateTime.formatIso(DateTime.unsafeMake(seconds * 1000)).slice(0, 16).replace("T", " ")

/** What a session is about, in one line; pinned ones are marked. @since 0.1.0 @category encoding */
export const about = (session: SessionSummary, width: number): string =>
  line(`${session.is_pinned ? "* " : ""}${session.title ?? session.preview ?? "(no title)"}`, width)

/** One line a session: id, last activity, messages, cost, what it is about. @since 0.1.0 @category encoding */
export const sessionRows = (sessions: ReadonlyArray<SessionSummary>): string =>
  columns(sessions.map((session) => [
    session.id,
    moment(session.last_active),
    `${session.message_count} messages`,
    session.cost_usd === null ? "-" : dollars(session.cost_usd),
    about(session, 60)
  ]))
