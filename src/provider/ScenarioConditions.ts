/**
 * The forms of what a scenario asks of a request: conditions that choose a turn, and expectations that fail the run.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Role } from "../domain/Message.ts"

/** @since 0.1.0 @category models */
export type TextTest = string | {
  readonly equals?: string | undefined
  readonly contains?: string | ReadonlyArray<string> | undefined
  readonly matches?: string | undefined
  readonly not?: TextTest | undefined
}

/**
 * A test of a text. A bare text is what it must contain; several keys must all hold. `matches` is a regular expression
 * (Unicode mode) that must match somewhere.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TextTest: Schema.Schema<TextTest> = Schema.Union(
  Schema.String,
  Schema.Struct({
    equals: Schema.optional(Schema.String),
    contains: Schema.optional(Schema.Union(Schema.String, Schema.Array(Schema.String))),
    matches: Schema.optional(Schema.String),
    not: Schema.optional(Schema.suspend((): Schema.Schema<TextTest> => TextTest))
  })
).annotations({
  identifier: "TextTest",
  description: "A test of a text: what it must contain, or all of the given keys."
})

/** @since 0.1.0 @category models */
export interface Condition {
  readonly value?: string | undefined
  readonly is?: TextTest | undefined
  readonly prompt?: TextTest | undefined
  readonly last_tool_result?: TextTest | undefined
  readonly is_error?: boolean | undefined
  readonly request?: number | undefined
  readonly tool?: string | undefined
  readonly all?: ReadonlyArray<Condition> | undefined
  readonly any?: ReadonlyArray<Condition> | undefined
  readonly not?: Condition | undefined
}

const condition = (): Schema.Schema<Condition> => Condition

/**
 * When a turn answers. All given keys must hold: `value` (a template) passes `is`; the last user text passes `prompt`;
 * the last tool result passes `last_tool_result` and failed or not (`is_error`); the request has that number; a tool of
 * that name is offered. What is not there passes no test.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Condition: Schema.Schema<Condition> = Schema.Struct({
  value: Schema.optional(Schema.String),
  is: Schema.optional(TextTest),
  prompt: Schema.optional(TextTest),
  last_tool_result: Schema.optional(TextTest),
  is_error: Schema.optional(Schema.Boolean),
  request: Schema.optional(Schema.Number),
  tool: Schema.optional(Schema.String),
  all: Schema.optional(Schema.Array(Schema.suspend(condition))),
  any: Schema.optional(Schema.Array(Schema.suspend(condition))),
  not: Schema.optional(Schema.suspend(condition))
}).annotations({ identifier: "Condition", description: "All given keys must hold." })

/** One message of a request; only the given keys are compared. */
const ExpectedMessage = Schema.Struct({
  role: Schema.optional(Role),
  text: Schema.optional(TextTest),
  /** Names of the tools called, in order. */
  calls: Schema.optional(Schema.Array(Schema.String)),
  is_error: Schema.optional(Schema.Boolean)
})
/** @since 0.1.0 @category models */
export type ExpectedMessage = typeof ExpectedMessage.Type

/**
 * What the request must be; only the given keys are compared. `messages` names every message in order, `last` the last
 * ones. `tools` are all names that are offered, `offers` some of them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Expectation = Schema.Struct({
  system: Schema.optional(TextTest),
  prompt: Schema.optional(TextTest),
  last_tool_result: Schema.optional(TextTest),
  roles: Schema.optional(Schema.Array(Role)),
  messages: Schema.optional(Schema.Array(ExpectedMessage)),
  last: Schema.optional(Schema.Array(ExpectedMessage)),
  tools: Schema.optional(Schema.Array(Schema.String)),
  offers: Schema.optional(Schema.Array(Schema.String)),
  options: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: "Expectation" })
/** @since 0.1.0 @category models */
export type Expectation = typeof Expectation.Type
