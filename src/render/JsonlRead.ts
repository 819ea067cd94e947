/**
 * Reads back what `Jsonl` writes, a line at a time. The file may come from anywhere: whatever does not fit is refused with
 * its line, and nothing of it is believed that could harm the record.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { line as oneLine } from "../codec/TerminalText.ts"
import { Message } from "../domain/Message.ts"
import { Usage } from "../domain/Usage.ts"

/** Seconds since the epoch, up to the year 9999. */
const Time = Schema.Number.pipe(Schema.between(0, 253_402_300_799))
const Count = Schema.Number.pipe(Schema.int(), Schema.between(0, Number.MAX_SAFE_INTEGER))
const Amount = Schema.NullOr(Schema.Number.pipe(Schema.finite(), Schema.nonNegative()))
const Name = Schema.String.pipe(Schema.maxLength(1000))
const Words = Schema.String.pipe(Schema.maxLength(100_000))
const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(200))
const RowId = Schema.Number.pipe(Schema.int(), Schema.between(1, Number.MAX_SAFE_INTEGER))
/** A key carries the call id of a model. */
const Key = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000))
const v = Schema.Literal(1)

const SessionLine = Schema.Struct({
  v,
  type: Schema.Literal("session"),
  id: Id,
  title: Schema.NullOr(Words),
  preview: Schema.NullOr(Words),
  workspace: Words,
  provider: Name,
  model: Name,
  parent_session_id: Schema.NullOr(Id),
  started_at: Time,
  last_active: Time,
  ended_at: Schema.NullOr(Time),
  end_reason: Schema.NullOr(Name),
  message_count: Count,
  tool_call_count: Count,
  usage: Usage,
  cost_usd: Amount,
  is_archived: Schema.Boolean,
  is_pinned: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

const RunLine = Schema.Struct({
  v,
  type: Schema.Literal("run"),
  id: Id,
  session_id: Id,
  status: Schema.Literal("running", "completed", "failed", "cancelled", "interrupted"),
  model: Name,
  started_at: Time,
  ended_at: Schema.NullOr(Time),
  turns: Count,
  exit_code: Schema.NullOr(Count),
  error_code: Schema.NullOr(Name),
  error_message: Schema.NullOr(Words),
  usage: Usage,
  cost_usd: Amount
})

const EntryLine = Schema.Struct({
  v,
  type: Schema.Literal("entry"),
  id: RowId,
  key: Key,
  run_id: Id,
  turn: Count,
  timestamp: Time,
  withdrawn: Schema.Boolean,
  hidden: Schema.optionalWith(RowId, { exact: true }),
  finish_reason: Schema.optionalWith(Name, { exact: true }),
  replaces: Schema.optionalWith(Schema.Array(Key), { exact: true }),
  message: Message
})

const decodeSession = Schema.decodeUnknownEither(SessionLine)
const decodeRun = Schema.decodeUnknownEither(RunLine)
const decodeEntry = Schema.decodeUnknownEither(EntryLine)

const decodeTokens = Schema.decodeUnknownEither(Count.pipe(Schema.lessThanOrEqualTo(100_000_000)))

/** What a file tells. @since 0.1.0 @category models */
export interface ReadSession {
  readonly session: typeof SessionLine.Type
  readonly runs: ReadonlyArray<typeof RunLine.Type>
  readonly entries: ReadonlyArray<typeof EntryLine.Type>
}

const typeOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "type" in value ? value.type : undefined

const versionOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "v" in value ? value.v : undefined

const parsed = (text: string): Either.Either<unknown, string> =>
  Either.try({ try: (): unknown => JSON.parse(text), catch: () => "is no JSON: the file was cut off or changed" })

const why = (error: ParseResult.ParseError): string => {
  const [first] = ParseResult.ArrayFormatter.formatErrorSync(error)
  return first === undefined
    ? "does not fit"
    : `${first.path.map(String).join(".") || "it"}: ${oneLine(first.message, 200)}`
}

/** Takes the lines of one file in order. @since 0.1.0 @category models */
export class Reader {
  #session: typeof SessionLine.Type | null = null
  readonly #runs: Array<typeof RunLine.Type> = []
  readonly #entries: Array<typeof EntryLine.Type> = []
  readonly #runIds = new Set<string>()
  /** Keys of entries that are not withdrawn. */
  readonly #keys = new Set<string>()

  /** Takes a line without its end; says what is wrong with it, null = nothing. */
  push(text: string): string | null {
    if (text.trim() === "") return null
    const value = parsed(text)
    if (Either.isLeft(value)) return value.left
    const type = typeOf(value.right)
    const version = versionOf(value.right)
    if (type === undefined || version === undefined) return "is no line of an exported session"
    if (version !== 1) return "was written by a newer version of the program: update this one"
    if (this.#session === null && type !== "session") return "comes before the session: the first line must be that"
    switch (type) {
      case "session":
        return this.#takeSession(value.right)
      case "run":
        return this.#takeRun(value.right)
      case "entry":
        return this.#takeEntry(value.right)
      default:
        return `has the unknown type ${oneLine(JSON.stringify(type), 60)}`
    }
  }

  /** All of it, or why that is no session. */
  end(): Either.Either<ReadSession, string> {
    return this.#session === null
      ? Either.left("it holds no session")
      : Either.right({ session: this.#session, runs: this.#runs, entries: this.#entries })
  }

  #takeSession(value: unknown): string | null {
    if (this.#session !== null) return "is a second session: one file holds one"
    const session = decodeSession(value)
    if (Either.isLeft(session)) return why(session.left)
    this.#session = session.right
    return null
  }

  #takeRun(value: unknown): string | null {
    const run = decodeRun(value)
    if (Either.isLeft(run)) return why(run.left)
    if (run.right.session_id !== this.#session?.id) return "session_id: is that of another session"
    if (this.#runIds.has(run.right.id)) return "id: stands there twice"
    this.#runIds.add(run.right.id)
    this.#runs.push(run.right)
    return null
  }

  #takeEntry(value: unknown): string | null {
    const entry = decodeEntry(value)
    if (Either.isLeft(entry)) return why(entry.left)
    const { id, key, message, withdrawn } = entry.right
    if (id <= (this.#entries.at(-1)?.id ?? 0)) return "id: does not grow from entry to entry"
    // What steers the model is made anew for every request: a file must not bring it along.
    if (message.role === "system") return "message.role: an entry of the system is no part of a session"
    // A false count would keep the conversation from ever being compacted, or always.
    if (message.token_count !== undefined && Either.isLeft(decodeTokens(message.token_count))) {
      return "message.token_count: is no number of tokens"
    }
    if (!withdrawn) {
      if (this.#keys.has(key)) return "key: stands there twice"
      this.#keys.add(key)
    }
    this.#entries.push(entry.right)
    return null
  }
}
