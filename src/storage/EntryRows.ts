/**
 * Rows of `message_details`, read back as they were written. Only a session that goes on has any.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Message } from "../domain/Message.ts"
import { keyOf } from "./Rows.ts"

const EntryRow = Schema.Struct({
  message_id: Schema.Number,
  entry_key: Schema.String,
  run_id: Schema.String,
  turn: Schema.Number,
  message: Schema.parseJson(Message),
  finish_reason: Schema.NullOr(Schema.String),
  timestamp: Schema.Number,
  replaces: Schema.NullOr(Schema.parseJson(Schema.Array(Schema.String))),
  withdrawn: Schema.Number,
  hidden: Schema.Number
})

/** One exact message as `message_details` keeps it. @since 0.1.0 @category decoding */
export const decodeMessage = Schema.decodeUnknownEither(Schema.parseJson(Message))

/** @since 0.1.0 @category decoding */
export const decodeEntries = Schema.decodeUnknownEither(Schema.Array(EntryRow))

const LiveRow = Schema.Struct({
  entry_key: Schema.String,
  run_id: Schema.String,
  turn: Schema.Number,
  message: Schema.parseJson(Message)
})

/** Rows of `Rows.conversationQuery`. @since 0.1.0 @category decoding */
export const decodeLive = Schema.decodeUnknownEither(Schema.Array(LiveRow))

/** @since 0.1.0 @category combinators */
export const liveOf = (row: typeof LiveRow.Type) => ({
  key: keyOf(row.entry_key),
  run_id: row.run_id,
  turn: row.turn,
  message: row.message
})

/** @since 0.1.0 @category combinators */
export const entryOf = (row: typeof EntryRow.Type) => ({
  id: row.message_id,
  key: keyOf(row.entry_key),
  run_id: row.run_id,
  turn: row.turn,
  message: row.message,
  timestamp: row.timestamp,
  withdrawn: row.withdrawn !== 0,
  ...(row.hidden === 0 ? {} : { hidden: row.hidden }),
  ...(row.finish_reason === null ? {} : { finish_reason: row.finish_reason }),
  ...(row.replaces === null ? {} : { replaces: row.replaces.map(keyOf) })
})
