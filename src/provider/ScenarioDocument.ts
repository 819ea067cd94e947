/**
 * Scenarios as files: the Schema of the document, and its reading with the place of every complaint. Texts of a document
 * are templates (ScenarioTemplate); comments and trailing commas are allowed.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Document from "../config/Document.ts"
import { ApiErrorReason } from "../domain/Failure.ts"
import { StopReason, StreamEvent } from "../domain/StreamEvent.ts"
import { JsonObject } from "../domain/Json.ts"
import { type Conversation, lookupIn } from "./Conversation.ts"
import { type CallInput, make, type Piece, type Scenario, type TurnInput } from "./Scenario.ts"
import * as Template from "./ScenarioTemplate.ts"
import { Condition, Expectation } from "./ScenarioConditions.ts"
import { problemsOf } from "./ScenarioTests.ts"

const Count = Schema.Number.pipe(Schema.int(), Schema.nonNegative())
const Positive = Schema.Number.pipe(Schema.int(), Schema.positive())
const Text = Schema.Union(Schema.String, Schema.Array(Schema.String)).annotations({
  description: "A template, or the pieces in which the text is streamed."
})

const Call = Schema.Struct({
  id: Schema.optional(Schema.String),
  name: Schema.String,
  arguments: Schema.optional(Schema.Union(Schema.String, JsonObject)).annotations({
    description: "Templates at any depth; a text is sent as it stands, also when it is no JSON."
  })
}).annotations({ identifier: "Call" })

const PieceSchema = Schema.Union(
  Schema.Struct({ text: Text, chunk: Schema.optional(Positive), refusal: Schema.optional(Schema.Boolean) }),
  Schema.Struct({ reasoning: Text, chunk: Schema.optional(Positive) }),
  Schema.Struct({ call: Call }),
  Schema.Struct({ delay_ms: Count }),
  Schema.Struct({ events: Schema.Array(StreamEvent) })
).annotations({ identifier: "Piece" })

const Fault = Schema.Union(
  Schema.Struct({
    kind: Schema.Literal("api_error"),
    reason: ApiErrorReason,
    message: Schema.optional(Schema.String),
    retryable: Schema.optional(Schema.Boolean),
    status: Schema.optional(Count),
    code: Schema.optional(Schema.String),
    retry_after_ms: Schema.optional(Count)
  }),
  Schema.Struct({
    kind: Schema.Literal("error_event"),
    reason: Schema.optional(ApiErrorReason),
    message: Schema.optional(Schema.String),
    retryable: Schema.optional(Schema.Boolean),
    retry_after_ms: Schema.optional(Count),
    after: Schema.optional(Count)
  }),
  Schema.Struct({ kind: Schema.Literal("truncated"), after: Schema.optional(Count) }),
  Schema.Struct({ kind: Schema.Literal("hang"), after: Schema.optional(Count) })
).annotations({ identifier: "Fault", description: "What goes wrong; `after` counts deltas." })

const TurnSchema = Schema.Struct({
  comment: Schema.optional(Schema.String),
  when: Schema.optional(Condition),
  expect: Schema.optional(Expectation),
  reasoning: Schema.optional(Text),
  text: Schema.optional(Text),
  calls: Schema.optional(Schema.Array(Call)),
  content: Schema.optional(Schema.Array(PieceSchema)).annotations({
    description: "Pieces in their own order; `reasoning`, `text` and `calls` come before them."
  }),
  chunk: Schema.optional(Positive).annotations({ description: "Code points a delta." }),
  delay_ms: Schema.optional(Count),
  delta_delay_ms: Schema.optional(Count),
  usage: Schema.optional(Schema.NullOr(Schema.Struct({
    input_tokens: Schema.optional(Count),
    output_tokens: Schema.optional(Count),
    cache_read_tokens: Schema.optional(Count),
    cache_write_tokens: Schema.optional(Count),
    reasoning_tokens: Schema.optional(Count)
  }))),
  stop: Schema.optional(StopReason),
  stop_sequence: Schema.optional(Schema.String),
  fault: Schema.optional(Fault),
  repeat: Schema.optional(Schema.Union(Positive, Schema.Literal("forever")))
}).annotations({ identifier: "Turn" })

/** @since 0.1.0 @category schemas */
export const ScenarioDocument = Schema.Struct({
  $schema: Schema.optional(Schema.String),
  name: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  order: Schema.optional(Schema.Literal("in_order", "first_match")).annotations({
    description: "Which turn answers: the next one (default), or the first whose `when` holds."
  }),
  turns: Schema.Array(TurnSchema)
}).annotations({ identifier: "Scenario", title: "Scenario of the scripted model" })
/** @since 0.1.0 @category models */
export type ScenarioDocument = typeof ScenarioDocument.Type

/** Ids such as `/schemas/unknown` stand many times in one document, which validators refuse. */
const withoutIds = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withoutIds)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(
      Object.entries(value)
        .filter(([key, entry]) => key !== "$id" || typeof entry !== "string" || !entry.startsWith("/schemas/"))
        .map(([key, entry]) => [key, withoutIds(entry)])
    )
    : value

/** JSON Schema of a scenario file, as published in `docs/schema/scenario.schema.json`. @since 0.1.0 @category encoding */
export const jsonSchema = (): JsonObject => withoutIds(JSONSchema.make(ScenarioDocument)) as JsonObject

/** `line` and `column` count from 1; null in a document that is no file. @since 0.1.0 @category models */
export interface DocumentProblem {
  readonly place: string
  readonly message: string
  readonly line: number | null
  readonly column: number | null
}

const compile = (text: string): Template.Template => {
  const template = Template.parse(text)
  if (Either.isLeft(template)) throw new Error(template.left)
  return template.right
}
const valueOf = (template: Template.Template, conversation: Conversation): unknown => {
  const value = Template.evaluate(template, lookupIn(conversation))
  if (Either.isLeft(value)) throw new Error(value.left)
  return value.right
}
const asText = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

const isPlain = (template: Template.Template): boolean => template.parts.every((part) => typeof part === "string")

const textOf = (text: string): string | ((conversation: Conversation) => string) => {
  const template = compile(text)
  return isPlain(template) ? text : (conversation) => asText(valueOf(template, conversation))
}

const textsOf = (text: string | ReadonlyArray<string>) => {
  if (typeof text === "string") return textOf(text)
  const compiled = text.map(textOf)
  return (conversation: Conversation): ReadonlyArray<string> =>
    compiled.map((part) => typeof part === "string" ? part : part(conversation))
}

/** Templates at any depth of a JSON value. */
const deep = (value: unknown): (conversation: Conversation) => unknown => {
  if (typeof value === "string") {
    const template = compile(value)
    return isPlain(template) ? () => value : (conversation) => valueOf(template, conversation)
  }
  if (Array.isArray(value)) {
    const items = value.map(deep)
    return (conversation) => items.map((item) => item(conversation))
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([key, entry]) => [key, deep(entry)] as const)
    return (conversation) => {
      const object: Record<string, unknown> = Object.create(null)
      for (const [key, entry] of members) object[key] = entry(conversation)
      return object
    }
  }
  return () => value
}

const callOf = (call: typeof Call.Type): CallInput => {
  const args = call.arguments
  return {
    ...(call.id === undefined ? {} : { id: textOf(call.id) }),
    name: textOf(call.name),
    ...(args === undefined
      ? {}
      : { arguments: typeof args === "string" ? textOf(args) : deep(args) as (c: Conversation) => JsonObject })
  }
}

const pieceOf = (piece: typeof PieceSchema.Type): Piece =>
  "text" in piece
    ? { ...piece, text: textsOf(piece.text) }
    : "reasoning" in piece
    ? { ...piece, reasoning: textsOf(piece.reasoning) }
    : "call" in piece
    ? { call: callOf(piece.call) }
    : piece

/** All templates of a turn with their places, for the check at reading. */
const templateProblems = (value: unknown, place: string): ReadonlyArray<readonly [string, string]> => {
  if (typeof value === "string") {
    const template = Template.parse(value)
    return Either.isLeft(template) ? [[place, template.left]] : []
  }
  if (Array.isArray(value)) return value.flatMap((entry: unknown, i) => templateProblems(entry, `${place}[${i}]`))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, entry]) => templateProblems(entry, `${place}.${key}`))
}

const problemsIn = (turn: typeof TurnSchema.Type, place: string): ReadonlyArray<readonly [string, string]> => [
  ...problemsOf(turn.when, `${place}.when`),
  ...problemsOf(turn.expect, `${place}.expect`),
  ...templateProblems(turn.reasoning, `${place}.reasoning`),
  ...templateProblems(turn.text, `${place}.text`),
  ...templateProblems(turn.calls, `${place}.calls`),
  ...(turn.content ?? []).flatMap((piece, i) =>
    "events" in piece ? [] : templateProblems(piece, `${place}.content[${i}]`)
  )
]

const turnOf = (turn: typeof TurnSchema.Type): TurnInput => ({
  ...turn,
  reasoning: turn.reasoning === undefined ? undefined : textsOf(turn.reasoning),
  text: turn.text === undefined ? undefined : textsOf(turn.text),
  calls: turn.calls?.map(callOf),
  content: turn.content?.map(pieceOf)
})

const placeOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (all, key) =>
      typeof key === "number" || /^\d+$/.test(String(key))
        ? `${all}[${String(key)}]`
        : all === ""
        ? String(key)
        : `${all}.${String(key)}`,
    ""
  )

const decode = Schema.decodeUnknownEither(ScenarioDocument, { onExcessProperty: "error", errors: "all" })

/**
 * A scenario from a decoded JSON value. `name` is used when the document gives none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromValue = (
  value: unknown,
  name = "scenario"
): Either.Either<Scenario, ReadonlyArray<readonly [place: string, message: string]>> => {
  const decoded = decode(value)
  if (Either.isLeft(decoded)) {
    // Every optional key may also be undefined, which nobody writes into a file.
    return Either.left(
      ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
        .filter((issue) => !issue.message.startsWith("Expected undefined,"))
        .map((issue) => [placeOf(issue.path), issue.message])
    )
  }
  const document = decoded.right
  const problems = document.turns.flatMap((turn, i) => problemsIn(turn, `turns[${i}]`))
  if (document.turns.length === 0) return Either.left([["turns", "a scenario needs at least one turn"]])
  if (problems.length > 0) return Either.left(problems)
  return Either.right(
    make({ name: document.name ?? name, order: document.order, turns: document.turns.map(turnOf) })
  )
}

/** The node of a place such as `turns[1].calls[0].name`, or the nearest one above it. */
const nodeAt = (root: Document.Node, place: string): Document.Node => {
  let node = root
  for (const step of place.match(/[^.[\]]+/g) ?? []) {
    const next: Document.Node | undefined = node.type === "object"
      ? node.members.find((member) => member.key === step)?.value
      : node.type === "array"
      ? node.items[Number(step)]
      : undefined
    if (next === undefined) break
    node = next
  }
  return node
}

/**
 * A scenario from the text of a file (JSONC). All complaints come at once, each with its place.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromText = (
  text: string,
  name: string
): Either.Either<Scenario, ReadonlyArray<DocumentProblem>> => {
  const document = Document.parse(text)
  const { position } = Document.places(document.text)
  if (document.root === null) {
    const { column, line } = position(document.problem?.offset ?? 0)
    return Either.left([{ place: "", message: document.problem?.message ?? "the file is empty", line, column }])
  }
  const { root } = document
  return Either.mapLeft(
    fromValue(Document.toValue(root), name),
    (problems) => problems.map(([place, message]) => ({ place, message, ...position(nodeAt(root, place).offset) }))
  )
}
