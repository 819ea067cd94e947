/**
 * The expressions of a scenario file: text with `{{ source | operation ... }}` in it, computed from the conversation.
 * Every expression ends: it gives a value, or says what it did not find. Nothing is executed and nothing loops.
 *
 * ```
 * expression = source ("|" operation)*
 * source     = name [":" key] ["#" pointer]  |  "a text"
 * operation  = name argument*
 * argument   = /pattern/flags  |  "a text"  |  number  |  word
 * ```
 *
 * Sources are listed in `sources`, operations in `operations`; `docs/scenarios.md` shows them at work.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { nearest } from "../codec/Distance.ts"

/** What a source name gives; `missing` says in words what was not there. */
type Looked = { readonly value: string } | { readonly missing: string }

/** Answers a source; `key` is the part after the colon. @since 0.1.0 @category models */
export type Lookup = (name: SourceName, key: string | null) => Looked

/** @since 0.1.0 @category constants */
export const sources = {
  prompt: "text of the last user message",
  system: "the system prompt",
  last_tool_result: "text of the last tool result",
  tool_result: "text of the last result of `KEY`, a tool's name or a call's id",
  tool_arguments: "arguments (JSON text) of the last call of `KEY`",
  last_text: "text of the last assistant message",
  request: "number of this request in the session, from 1",
  model: "model that was asked for",
  session_id: "id of the session",
  tools: "names of the offered tools, joined with commas"
} as const
type SourceName = keyof typeof sources

const keyed: ReadonlySet<string> = new Set(["tool_result", "tool_arguments"])

/** Name, and how many arguments at least and at most. @since 0.1.0 @category constants */
export const operations = {
  match: [1, 2],
  replace: [2, 2],
  after: [1, 1],
  before: [1, 1],
  line: [1, 1],
  lines: [2, 2],
  trim: [0, 0],
  lower: [0, 0],
  upper: [0, 0],
  json: [0, 0],
  quote: [0, 0],
  default: [1, 1]
} as const
type OperationName = keyof typeof operations

type Argument = { readonly text: string } | { readonly pattern: RegExp }
interface Operation {
  readonly name: OperationName
  readonly args: ReadonlyArray<Argument>
}
interface Expression {
  readonly source: { readonly literal: string } | { readonly name: SourceName; readonly key: string | null }
  readonly pointer: ReadonlyArray<string> | null
  readonly operations: ReadonlyArray<Operation>
  readonly written: string
}

/** @since 0.1.0 @category models */
export interface Template {
  readonly parts: ReadonlyArray<string | Expression>
}

class Reader {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }
  skip(): void {
    while (/\s/.test(this.text.charAt(this.at))) this.at++
  }
  eat(expected: string): boolean {
    if (!this.text.startsWith(expected, this.at)) return false
    this.at += expected.length
    return true
  }
  take(pattern: RegExp): string | null {
    const match = new RegExp(pattern.source, "uy")
    match.lastIndex = this.at
    const found = match.exec(this.text)?.[0]
    if (found === undefined || found === "") return null
    this.at += found.length
    return found
  }
}

const bad = (message: string): Either.Either<never, string> => Either.left(message)

const suggest = (word: string, names: Readonly<Record<string, unknown>>): string => {
  const all = Object.keys(names)
  const close = nearest(word, all)
  return close === undefined ? `; known are ${all.join(", ")}` : `; did you mean "${close}"?`
}

const isKey = <K extends string>(names: Readonly<Record<K, unknown>>, word: string): word is K =>
  Object.hasOwn(names, word)

const readQuoted = (reader: Reader): Either.Either<string, string> => {
  const written = reader.take(/"(?:[^"\\]|\\[^])*"/)
  if (written === null) return bad("a text is not closed with a double quote")
  try {
    return Either.right(JSON.parse(written) as string)
  } catch {
    return bad(`${written} is no JSON text`)
  }
}

const readPattern = (reader: Reader): Either.Either<RegExp, string> => {
  const written = reader.take(/\/(?:[^/\\\n]|\\[^\n])+\/[a-z]*/)
  if (written === null) return bad("a pattern is not closed with a slash")
  const end = written.lastIndexOf("/")
  return compilePattern(written.slice(1, end), written.slice(end + 1))
}

/**
 * A regular expression of a scenario; `u` is always on.
 *
 * @since 0.1.0
 * @category decoding
 */
export const compilePattern = (source: string, flags = ""): Either.Either<RegExp, string> => {
  if (!/^[gimsu]*$/.test(flags)) return bad(`pattern flags "${flags}": only g, i, m, s and u are known`)
  try {
    return Either.right(new RegExp(source, [...new Set(`${flags}u`)].join("")))
  } catch (cause) {
    return bad(cause instanceof Error ? cause.message : `/${source}/ is no regular expression`)
  }
}

const readSource = (reader: Reader): Either.Either<Pick<Expression, "source" | "pointer">, string> => {
  if (reader.text.charAt(reader.at) === "\"") {
    return Either.map(readQuoted(reader), (literal) => ({ source: { literal }, pointer: null }))
  }
  const name = reader.take(/[a-z_]+/)
  if (name === null) return bad("a source is missing after {{")
  if (!isKey(sources, name)) return bad(`unknown source "${name}"${suggest(name, sources)}`)
  let key: string | null = null
  if (reader.eat(":")) key = reader.take(/[^\s|#}]+/)
  if (keyed.has(name) !== (key !== null)) {
    return bad(keyed.has(name) ? `"${name}" needs a tool or call id: {{${name}:NAME}}` : `"${name}" takes no key`)
  }
  let pointer: ReadonlyArray<string> | null = null
  if (reader.eat("#")) {
    const written = reader.take(/[^\s|}]+/) ?? ""
    if (!written.startsWith("/")) return bad(`a pointer begins with a slash: #/key/0`)
    pointer = written.slice(1).split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
  }
  return Either.right({ source: { name, key }, pointer })
}

const readOperation = (reader: Reader): Either.Either<Operation, string> => {
  const name = reader.take(/[a-z]+/)
  if (name === null) return bad("an operation is missing after |")
  if (!isKey(operations, name)) return bad(`unknown operation "${name}"${suggest(name, operations)}`)
  const args: Array<Argument> = []
  for (;;) {
    reader.skip()
    const next = reader.text.charAt(reader.at)
    if (next === "" || next === "|" || reader.text.startsWith("}}", reader.at)) break
    if (next === "\"") {
      const text = readQuoted(reader)
      if (Either.isLeft(text)) return bad(text.left)
      args.push({ text: text.right })
    } else if (next === "/") {
      const pattern = readPattern(reader)
      if (Either.isLeft(pattern)) return bad(pattern.left)
      args.push({ pattern: pattern.right })
    } else {
      const word = reader.take(/[^\s|}"]+/)
      if (word === null) return bad(`"${next}" is not expected here`)
      args.push({ text: word })
    }
  }
  const [least, most] = operations[name]
  if (args.length < least || args.length > most) {
    return bad(`"${name}" takes ${least === most ? least : `${least} or ${most}`} arguments, not ${args.length}`)
  }
  if (name === "match" && !("pattern" in (args[0] ?? {}))) return bad("\"match\" needs a /pattern/")
  const plain = name === "match" || name === "replace" ? args.slice(1) : args
  if (plain.some((arg) => "pattern" in arg)) return bad(`"${name}" takes no /pattern/ in that place`)
  if ((name === "line" || name === "lines") && !args.every((arg) => "text" in arg && /^-?[1-9]\d*$/.test(arg.text))) {
    return bad(`"${name}" counts from 1, or from -1 at the end`)
  }
  return Either.right({ name, args })
}

/**
 * Reads a text with expressions. The failure says what is wrong and where it begins (UTF-16 units).
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (text: string): Either.Either<Template, string> => {
  const parts: Array<string | Expression> = []
  const reader = new Reader(text)
  for (;;) {
    const open = text.indexOf("{{", reader.at)
    if (open < 0) break
    if (open > reader.at) parts.push(text.slice(reader.at, open))
    reader.at = open + 2
    const failed = (message: string) => bad(`at character ${open + 1}: ${message}`)
    reader.skip()
    const source = readSource(reader)
    if (Either.isLeft(source)) return failed(source.left)
    const found: Array<Operation> = []
    reader.skip()
    while (reader.eat("|")) {
      reader.skip()
      const operation = readOperation(reader)
      if (Either.isLeft(operation)) return failed(operation.left)
      found.push(operation.right)
      reader.skip()
    }
    if (!reader.eat("}}")) return failed("the expression is not closed with }}")
    parts.push({ ...source.right, operations: found, written: text.slice(open, reader.at) })
  }
  if (reader.at < text.length) parts.push(text.slice(reader.at))
  return Either.right({ parts })
}

const asText = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

const excerpt = (text: string): string => {
  const points = Array.from(text)
  return JSON.stringify(points.length <= 120 ? text : `${points.slice(0, 120).join("")}...`)
}

type Outcome = { readonly value: unknown } | { readonly missing: string }

const parseJson = (text: string): Outcome => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { missing: `${excerpt(text)} is no JSON` }
  }
}

const point = (from: Outcome, pointer: ReadonlyArray<string>): Outcome => {
  if ("missing" in from) return from
  const parsed = parseJson(asText(from.value))
  if ("missing" in parsed) return parsed
  let value: unknown = parsed.value
  for (const token of pointer) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, token)) {
      return { missing: `there is no "${token}" in ${excerpt(asText(value))}` }
    }
    value = Reflect.get(value, token)
  }
  return { value }
}

const textArgument = (operation: Operation, i: number): string => {
  const argument = operation.args[i]
  return argument !== undefined && "text" in argument ? argument.text : ""
}

const matched = (operation: Operation, text: string): Outcome => {
  const argument = operation.args[0]
  if (argument === undefined || !("pattern" in argument)) return { missing: "no pattern" }
  const { pattern } = argument
  const found = new RegExp(pattern.source, pattern.flags.replace("g", "")).exec(text)
  if (found === null) return { missing: `/${pattern.source}/ does not match ${excerpt(text)}` }
  const group = operation.args.length > 1 ? textArgument(operation, 1) : found.length > 1 ? "1" : "0"
  const value = /^\d+$/.test(group) ? found[Number(group)] : found.groups?.[group]
  return value === undefined ? { missing: `/${pattern.source}/ has no group ${group} there` } : { value }
}

const apply = (operation: Operation, from: Outcome): Outcome => {
  if ("missing" in from) return operation.name === "default" ? { value: textArgument(operation, 0) } : from
  const text = asText(from.value)
  switch (operation.name) {
    case "match":
      return matched(operation, text)
    case "replace": {
      const argument = operation.args[0]
      const by = textArgument(operation, 1)
      return {
        value: argument !== undefined && "pattern" in argument
          ? text.replace(argument.pattern, by)
          : text.replaceAll(textArgument(operation, 0), () => by)
      }
    }
    case "after":
    case "before": {
      const mark = textArgument(operation, 0)
      const at = text.indexOf(mark)
      if (at < 0) return { missing: `${excerpt(mark)} does not occur in ${excerpt(text)}` }
      return { value: operation.name === "after" ? text.slice(at + mark.length) : text.slice(0, at) }
    }
    case "line":
    case "lines": {
      const lines = text.split(/\r\n|\r|\n/u)
      const index = (i: number) => {
        const n = Number(textArgument(operation, i))
        return n > 0 ? n - 1 : lines.length + n
      }
      const from = index(0)
      const to = operation.name === "line" ? from : index(1)
      return from < 0 || from >= lines.length || to < from
        ? { missing: `there is no line ${textArgument(operation, 0)} in a text of ${lines.length}` }
        : { value: lines.slice(from, to + 1).join("\n") }
    }
    case "trim":
      return { value: text.trim() }
    case "lower":
      return { value: text.toLowerCase() }
    case "upper":
      return { value: text.toUpperCase() }
    case "json":
      return parseJson(text)
    case "quote":
      return { value: JSON.stringify(text) }
    case "default":
      return from
  }
}

const evaluateExpression = (expression: Expression, lookup: Lookup): Outcome => {
  const { source } = expression
  const start: Outcome = "literal" in source ? { value: source.literal } : lookup(source.name, source.key)
  const at = expression.pointer === null ? start : point(start, expression.pointer)
  return expression.operations.reduce((value, operation) => apply(operation, value), at)
}

/**
 * The value of a template: a text, or, when it is one expression and nothing else, whatever JSON value that gives
 * (`json` and pointers give other values than texts). The failure names the expression and what it did not find.
 *
 * @since 0.1.0
 * @category combinators
 */
export const evaluate = (template: Template, lookup: Lookup): Either.Either<unknown, string> => {
  const only = template.parts.length === 1 ? template.parts[0] : undefined
  let text = ""
  for (const part of template.parts) {
    if (typeof part === "string") {
      text += part
      continue
    }
    const outcome = evaluateExpression(part, lookup)
    if ("missing" in outcome) return Either.left(`${part.written}: ${outcome.missing}`)
    if (only !== undefined) return Either.right(outcome.value)
    text += asText(outcome.value)
  }
  return Either.right(text)
}

/** The value as a text. @since 0.1.0 @category combinators */
export const evaluateText = (template: Template, lookup: Lookup): Either.Either<string, string> =>
  Either.map(evaluate(template, lookup), asText)
