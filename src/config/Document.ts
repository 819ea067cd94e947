/**
 * A settings file as text: JSONC (comments, trailing commas, one leading BOM; reading 4.4) to a tree that keeps the
 * order of keys, duplicates and the place of everything.
 *
 * `JSON.parse` cannot serve here: it reorders integer-like keys, drops duplicates and knows no places. Keys such as
 * `__proto__` are ordinary keys of the tree; plain values made from it have no prototype.
 *
 * @since 0.1.0
 */
import * as jsonc from "jsonc-parser"
import { readTree } from "./TreeReader.ts"

/** Deepest nesting accepted (reading G3). @since 0.1.0 @category constants */
export const maxDepth = 200

/** `offset` counts UTF-16 units in `Document.text`. @since 0.1.0 @category models */
export type Node =
  | { readonly type: "object"; readonly offset: number; readonly members: ReadonlyArray<Member> }
  | { readonly type: "array"; readonly offset: number; readonly items: ReadonlyArray<Node> }
  | { readonly type: "string"; readonly offset: number; readonly value: string }
  | { readonly type: "number"; readonly offset: number; readonly value: number }
  | { readonly type: "boolean"; readonly offset: number; readonly value: boolean }
  | { readonly type: "null"; readonly offset: number; readonly value: null }

/** One `"key": value` as it stands in the file. @since 0.1.0 @category models */
export interface Member {
  readonly key: string
  readonly key_offset: number
  readonly value: Node
}

/** What makes a text no JSONC. @since 0.1.0 @category models */
export interface SyntaxProblem {
  readonly offset: number
  readonly message: string
}

/**
 * `root` is null when the text is empty or holds only blanks and comments, or when `problem` says why it is no JSONC.
 *
 * @since 0.1.0
 * @category models
 */
export interface Document {
  readonly text: string
  readonly root: Node | null
  readonly problem: SyntaxProblem | null
}

/** Line and column count from 1, the column in code points. @since 0.1.0 @category models */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Token numbers of jsonc-parser's scanner, whose own names exist for the compiler only. @since 0.1.0 @category constants */
export const Token = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  colon: 6,
  text: 10,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  trivia: 15,
  unknown: 16,
  eof: 17
} as const

const problems: Record<string, string> = {
  InvalidSymbol: "this is no JSON value (texts need double quotes)",
  InvalidNumberFormat: "this is no JSON number",
  PropertyNameExpected: "a key in double quotes is missing here",
  ValueExpected: "a value is missing here",
  ColonExpected: "a colon is missing here",
  CommaExpected: "a comma is missing before this",
  CloseBraceExpected: "a closing brace } is missing",
  CloseBracketExpected: "a closing bracket ] is missing",
  EndOfFileExpected: "the settings ended before this; only one value may stand in the file",
  UnexpectedEndOfComment: "this comment is not closed",
  UnexpectedEndOfString: "this text is not closed with a double quote on its line",
  UnexpectedEndOfNumber: "this number is not complete",
  InvalidUnicode: "\\u needs four hexadecimal digits",
  InvalidEscapeCharacter: "this escape sequence is not known to JSON",
  InvalidCharacter: "control characters in a text must be escaped"
}

/** Whether the text holds nothing but blanks and comments, and where nesting first goes too deep. */
const survey = (text: string): { readonly blank: boolean; readonly tooDeepAt: number | null } => {
  const scanner = jsonc.createScanner(text, false)
  let blank = true
  let depth = 0
  while (true) {
    const token: number = scanner.scan()
    switch (token) {
      case Token.eof:
        return { blank, tooDeepAt: null }
      case Token.trivia:
      case Token.lineBreak:
      case Token.lineComment:
        break
      case Token.blockComment:
        if (Number(scanner.getTokenError()) !== 0) blank = false
        break
      case Token.openBrace:
      case Token.openBracket:
        blank = false
        depth += 1
        if (depth > maxDepth) return { blank, tooDeepAt: scanner.getTokenOffset() }
        break
      case Token.closeBrace:
      case Token.closeBracket:
        blank = false
        depth -= 1
        break
      default:
        blank = false
    }
  }
}

const convert = (node: jsonc.Node): Node => {
  const offset = node.offset
  switch (node.type) {
    case "object": {
      const members: Array<Member> = []
      for (const property of node.children ?? []) {
        const [key, value] = property.children ?? []
        if (key !== undefined && value !== undefined) {
          members.push({ key: String(key.value), key_offset: key.offset, value: convert(value) })
        }
      }
      return { type: "object", offset, members }
    }
    case "array":
      return { type: "array", offset, items: (node.children ?? []).map(convert) }
    case "string":
      return { type: "string", offset, value: String(node.value) }
    case "number":
      return { type: "number", offset, value: Number(node.value) }
    case "boolean":
      return { type: "boolean", offset, value: node.value === true }
    default:
      return { type: "null", offset, value: null }
  }
}

/** Never throws, whatever the text. @since 0.1.0 @category decoding */
export const parse = (source: string): Document => {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source
  const usual = readTree(text, maxDepth)
  if (usual !== null) return { text, root: usual, problem: null }
  const { blank, tooDeepAt } = survey(text)
  if (blank) return { text, root: null, problem: null }
  if (tooDeepAt !== null) {
    return {
      text,
      root: null,
      problem: { offset: tooDeepAt, message: `nested deeper than ${maxDepth} levels` }
    }
  }
  const errors: Array<jsonc.ParseError> = []
  const tree = jsonc.parseTree(text, errors, { allowTrailingComma: true })
  const first = errors[0]
  if (first !== undefined || tree === undefined) {
    const name = first === undefined ? "ValueExpected" : jsonc.printParseErrorCode(first.error)
    return {
      text,
      root: null,
      problem: { offset: first?.offset ?? 0, message: problems[name] ?? "this is no JSON" }
    }
  }
  return { text, root: convert(tree), problem: null }
}

/**
 * The plain value of a tree: objects without prototype, the last of duplicate keys at the place of the first.
 *
 * @since 0.1.0
 * @category decoding
 */
export const toValue = (node: Node): unknown => {
  switch (node.type) {
    case "object": {
      const object: Record<string, unknown> = Object.create(null)
      for (const member of node.members) object[member.key] = toValue(member.value)
      return object
    }
    case "array":
      return node.items.map(toValue)
    default:
      return node.value
  }
}

/** A tree without places, from a plain value; what JSON does not know becomes null. @since 0.1.0 @category constructors */
export const fromValue = (value: unknown): Node => {
  switch (typeof value) {
    case "string":
      return { type: "string", offset: 0, value }
    case "number":
      return { type: "number", offset: 0, value }
    case "boolean":
      return { type: "boolean", offset: 0, value }
    case "object":
      if (value === null) break
      return Array.isArray(value)
        ? { type: "array", offset: 0, items: value.map(fromValue) }
        : {
          type: "object",
          offset: 0,
          members: Object.entries(value).map(([key, member]) => ({ key, key_offset: 0, value: fromValue(member) }))
        }
    default:
  }
  return { type: "null", offset: 0, value: null }
}

/** So many are compared with each other as fast as they are put into a map. */
const few = 8

const firstOf = (members: ReadonlyArray<Member>, key: string): number => {
  for (let at = 0; at < members.length; at++) if (members[at]?.key === key) return at
  return -1
}

/**
 * Members with each key once: first place, last value (reading 4.5), and the later ones that made it a duplicate.
 *
 * @since 0.1.0
 * @category combinators
 */
export const unique = (
  members: ReadonlyArray<Member>
): { readonly members: ReadonlyArray<Member>; readonly duplicates: ReadonlyArray<Member> } => {
  if (members.length <= few && members.every(({ key }, at) => firstOf(members, key) === at)) {
    return { members, duplicates: [] }
  }
  const byKey = new Map<string, Member>()
  const duplicates: Array<Member> = []
  for (const member of members) {
    if (byKey.has(member.key)) duplicates.push(member)
    byKey.set(member.key, member)
  }
  return duplicates.length === 0 ? { members, duplicates } : { members: [...byKey.values()], duplicates }
}

const hidden = "\u2022"

/** Spans of a text that a message must not show: values in quotes, unknown symbols, comments; in order. */
const secretSpans = (text: string): ReadonlyArray<readonly [start: number, end: number]> => {
  const spans: Array<readonly [number, number]> = []
  const scanner = jsonc.createScanner(text, false)
  let pending: readonly [number, number] | null = null
  while (true) {
    const token: number = scanner.scan()
    const start = scanner.getTokenOffset()
    const end = start + scanner.getTokenLength()
    if (token === Token.trivia || token === Token.lineBreak) continue
    // a text is a key, and may be shown, only if a colon follows it
    if (pending !== null && token !== Token.colon) spans.push(pending)
    pending = null
    if (token === Token.eof) return spans
    if (token === Token.text) pending = [start + 1, end]
    else if (token === Token.unknown) spans.push([start, end])
    else if (token === Token.lineComment || token === Token.blockComment) spans.push([start + 2, end])
  }
}

/** Index of the last element that is <= `value`, -1 when none is. */
const floorIndex = (length: number, at: (index: number) => number, value: number): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (at(middle) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Where things are in one text. @since 0.1.0 @category models */
export interface Places {
  /** Without the column, for which the line has to be read. */
  readonly line: (offset: number) => number
  readonly position: (offset: number) => Position
  /**
   * The line of a place, with a caret under it. Values in quotes, stray symbols and comments show as dots, since any of
   * them may be a secret (G2); long lines are cut around the place.
   */
  readonly frame: (offset: number) => string
}

const lineEnd = /\r\n?|\n/g

/** Where the line behind `from` begins, -1 when there is none. LF, CR and CRLF end a line. */
const nextLine = (text: string, from: number, returns: boolean): number => {
  if (!returns) {
    const feed = text.indexOf("\n", from)
    return feed === -1 ? -1 : feed + 1
  }
  lineEnd.lastIndex = from
  return lineEnd.test(text) ? lineEnd.lastIndex : -1
}

/** The text is read as far as the questions go, and each part once. @since 0.1.0 @category constructors */
export const places = (text: string): Places => {
  const known = [0]
  let complete = false
  let returns: boolean | undefined
  let spans: ReadonlyArray<readonly [start: number, end: number]> | undefined
  /** The line of the last question: the next one is mostly about it, or about the one behind it. */
  let last = 0
  /** Up to where columns are counted, in which line. */
  let counted = { line: 0, at: 0, column: 1 }

  /** Whether the place is between the two halves of one character. */
  const isCut = (at: number): boolean =>
    /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1))

  const lineAt = (offset: number): { readonly line: number; readonly start: number; readonly end: number } => {
    for (let start = known.at(-1) ?? 0; !complete && start <= offset;) {
      returns ??= text.includes("\r")
      start = nextLine(text, start, returns)
      if (start === -1) complete = true
      else known.push(start)
    }
    const startOf = (i: number): number => known[i] ?? Infinity
    if (offset >= startOf(last + 1) && offset < startOf(last + 2)) last++
    else if (offset < startOf(last) || offset >= startOf(last + 1)) last = floorIndex(known.length, startOf, offset)
    const index = last
    let end = known[index + 1] ?? text.length
    while (end > (known[index] ?? 0) && (text[end - 1] === "\n" || text[end - 1] === "\r")) end -= 1
    return { line: index + 1, start: known[index] ?? 0, end }
  }

  const isSecret = (offset: number): boolean => {
    spans ??= secretSpans(text)
    const known = spans
    const span = known[floorIndex(known.length, (i) => known[i]?.[0] ?? 0, offset)]
    return span !== undefined && offset < span[1]
  }

  return {
    line: (offset) => lineAt(Math.max(0, Math.min(offset, text.length))).line,
    position: (offset) => {
      const at = Math.max(0, Math.min(offset, text.length))
      const { line, start } = lineAt(at)
      // questions mostly go forward: of a long line each part is counted once, but for a cut pair
      if (counted.line !== line || counted.at > at || isCut(counted.at)) counted = { line, at: start, column: 1 }
      let column = counted.column
      for (const _ of text.slice(counted.at, at)) column += 1
      counted = { line, at, column }
      return { line, column }
    },
    frame: (offset) => {
      const at = Math.max(0, Math.min(offset, text.length))
      const { end, line, start } = lineAt(at)
      // only what is shown is looked at: a line may be as long as the file
      const shown: Array<string> = []
      let from = Math.min(at, end)
      if (from < end && from > start && isCut(from)) from -= 1
      let caret = 0
      for (; caret < 60 && from > start; caret++) from -= from - 2 >= start && isCut(from - 1) ? 2 : 1
      for (let i = from; i < end && shown.length < 100;) {
        const char = String.fromCodePoint(text.codePointAt(i) ?? 32)
        shown.push(
          isSecret(i)
            ? (char === "\"" ? char : hidden)
            : char === "\t"
            ? " "
            : /[\p{Cc}\p{Cf}]/u.test(char)
            ? "?"
            : char
        )
        i += char.length
      }
      const lead = from > start ? "..." : ""
      const gutter = String(line)
      return `  ${gutter} | ${lead}${shown.join("")}\n` +
        `  ${" ".repeat(gutter.length)} | ${" ".repeat(lead.length + caret)}^`
    }
  }
}
