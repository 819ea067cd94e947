/**
 * The block between two lines `---` at the head of a Markdown file: a part of YAML that can be read without surprises.
 * Pure; the time is linear in the text.
 *
 * | form | read as |
 * | --- | --- |
 * | `key: value`, `'single'`, `"double\n"` | a text; nothing is taken for a number, a date, a boolean or null |
 * | `key: [a, "b"]`, or lines `- a` below it | a list of texts |
 * | `key: {a: b}`, or lines `a: b` below it | a map of texts, one level |
 * | `key: \|`, `key: >`, with `-`, `+` and an indentation | a block of text, as it stands or folded |
 * | lines that go on, further in | the same text, joined by blanks |
 * | anything deeper | `other`: known to be there, not read |
 *
 * Anchors, aliases, tags and directives are refused, a key stands once. What YAML itself refuses and people write all the
 * same is a text: a colon in it, words behind a bracket (`[file] [line]`).
 *
 * @since 0.1.0
 */

/** `line` is that of the key, from 1 in the file. @since 0.1.0 @category models */
export type FrontValue =
  | { readonly kind: "text"; readonly text: string; readonly line: number }
  | { readonly kind: "list"; readonly items: ReadonlyArray<string>; readonly line: number }
  | { readonly kind: "map"; readonly entries: ReadonlyMap<string, string>; readonly line: number }
  | { readonly kind: "other"; readonly line: number }

/** `body_line` is where the body begins, from 1. @since 0.1.0 @category models */
export interface FrontMatter {
  readonly data: ReadonlyMap<string, FrontValue>
  readonly body: string
  readonly body_line: number
}

/** Why it cannot be read, and where. @since 0.1.0 @category models */
export interface FrontProblem {
  readonly problem: string
  readonly line: number
}

/** Largest front matter, in UTF-16 units. @since 0.1.0 @category constants */
export const maxFrontUnits = 64 * 1024

const maxKeys = 200
const maxItems = 1000

/** Thrown inside, never out of this module. */
class Broken {
  readonly problem: string
  readonly line: number
  constructor(problem: string, line: number) {
    this.problem = problem
    this.line = line
  }
}

interface Line {
  /** Without its indentation and without a comment at its end; block texts take `raw`. */
  readonly text: string
  readonly raw: string
  readonly indent: number
  readonly number: number
}

const escapes: Readonly<Record<string, string>> = {
  "0": "\0",
  a: "\u0007",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\u001b",
  " ": " ",
  "\"": "\"",
  "/": "/",
  "\\": "\\",
  N: "\u0085",
  _: "\u00a0",
  L: "\u2028",
  P: "\u2029"
}

const hexLength: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

interface Quoted {
  readonly text: string
  /** Behind the closing quote. */
  readonly end: number
}

const singleQuoted = (text: string, from: number, line: number): Quoted => {
  let out = ""
  for (let at = from + 1; at < text.length; at++) {
    const character = text[at] ?? ""
    if (character !== "'") out += character
    else if (text[at + 1] === "'") {
      out += "'"
      at++
    } else return { text: out, end: at + 1 }
  }
  throw new Broken("a text in single quotes does not end in its line", line)
}

const doubleQuoted = (text: string, from: number, line: number): Quoted => {
  let out = ""
  for (let at = from + 1; at < text.length; at++) {
    const character = text[at] ?? ""
    if (character === "\"") return { text: out, end: at + 1 }
    if (character !== "\\") {
      out += character
      continue
    }
    const name = text[++at] ?? ""
    const digits = Object.hasOwn(hexLength, name) ? hexLength[name] ?? 0 : 0
    if (digits > 0) {
      const hex = text.slice(at + 1, at + 1 + digits)
      const code = Number.parseInt(hex, 16)
      if (hex.length !== digits || !/^[0-9a-fA-F]+$/.test(hex) || code > 0x10ffff) {
        throw new Broken(`\\${name} wants ${digits} hexadecimal digits of a character`, line)
      }
      out += String.fromCodePoint(code)
      at += digits
    } else if (Object.hasOwn(escapes, name)) out += escapes[name] ?? ""
    else throw new Broken(`\\${name} is no escape of a text in double quotes`, line)
  }
  throw new Broken("a text in double quotes does not end in its line", line)
}

const quotedAt = (text: string, from: number, line: number): Quoted | null =>
  text[from] === "'" ? singleQuoted(text, from, line) : text[from] === "\"" ? doubleQuoted(text, from, line) : null

/** Without a comment, which begins with `#` at the start or behind a blank; inside quotes there is none. */
const withoutComment = (text: string): string => {
  let quote = ""
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ""
    if (quote !== "") {
      if (character === "\\" && quote === "\"") at++
      else if (character === quote) quote = ""
    } else if ((character === "\"" || character === "'") && /[\s:,[{-]|^$/.test(text[at - 1] ?? "")) {
      quote = character
    } else if (character === "#" && (at === 0 || /\s/.test(text[at - 1] ?? ""))) return text.slice(0, at).trimEnd()
  }
  return text.trimEnd()
}

const refuseForeign = (text: string, line: number): void => {
  const found = /^(?:&|\*|!|@|`|%)/.exec(text)?.[0]
  if (found === undefined) return
  const what = found === "&"
    ? "anchors"
    : found === "*"
    ? "aliases"
    : found === "!"
    ? "tags"
    : `texts that begin with ${found}`
  throw new Broken(`${what} are not read here; put the text in quotes`, line)
}

/** A text of one line: quoted, or as it stands. */
const scalar = (text: string, line: number): string => {
  const quoted = quotedAt(text, 0, line)
  if (quoted === null) {
    refuseForeign(text, line)
    return text
  }
  if (text.slice(quoted.end).trim() !== "") throw new Broken("there is text behind the closing quote", line)
  return quoted.text
}

/** Items between brackets; null = the brackets do not close at the end, so that it is a text. */
const flow = (text: string, close: string, line: number): ReadonlyArray<string> | null => {
  const items: Array<string> = []
  let at = 1
  for (;;) {
    while (/\s/.test(text[at] ?? "")) at++
    if (text[at] === close) {
      return text.slice(at + 1).trim() === "" ? items : null
    }
    const quoted = quotedAt(text, at, line)
    let end = quoted === null ? at : quoted.end
    let depth = 0
    for (; end < text.length; end++) {
      const character = text[end] ?? ""
      // a map's value may be quoted behind its colon
      if (quoted === null && (character === "\"" || character === "'") && /[\s:]/.test(text[end - 1] ?? "")) {
        end = (quotedAt(text, end, line)?.end ?? end + 1) - 1
        continue
      }
      if (depth === 0 && (character === "," || character === close)) break
      // "(" is no YAML, and rules of permissions have commas in it
      if (character === "[" || character === "{" || character === "(") depth++
      if ((character === "]" || character === "}" || character === ")") && depth > 0) depth--
    }
    if (end >= text.length) return null
    items.push(text.slice(at, end).trim())
    if (items.length > maxItems) throw new Broken(`there are more than ${maxItems} items`, line)
    at = text[end] === "," ? end + 1 : end
  }
}

/** The key a line begins with, and where its value begins. */
const keyOf = (text: string, line: number): { readonly key: string; readonly value: string } | null => {
  const quoted = quotedAt(text, 0, line)
  if (quoted !== null) {
    const rest = /^\s*:(?:\s+|$)/.exec(text.slice(quoted.end))
    return rest === null ? null : { key: quoted.text, value: text.slice(quoted.end + rest[0].length) }
  }
  if (/^(?:[[\]{},#&*!|>%@`]|-\s)/.test(text)) return null
  for (let at = text.indexOf(":"); at >= 0; at = text.indexOf(":", at + 1)) {
    const next = text[at + 1]
    if (next !== undefined && !/\s/.test(next)) continue
    const key = text.slice(0, at).trimEnd()
    return key === "" ? null : { key, value: text.slice(at + 1) }
  }
  return null
}

const pair = (text: string, line: number): readonly [string, string] => {
  const found = keyOf(text, line)
  if (found === null) throw new Broken("expected `name: text` between the braces", line)
  return [found.key, scalar(found.value.trim(), line)]
}

const simpleItem = (text: string): boolean => text !== "" && !/^(?:-\s|-$|\?\s|\||>|\[|\{)/.test(text)

class Reader {
  private at = 0
  private readonly lines: ReadonlyArray<Line>

  constructor(lines: ReadonlyArray<Line>) {
    this.lines = lines
  }

  private peek(): Line | undefined {
    return this.lines[this.at]
  }

  private skipBlank(): Line | undefined {
    while (this.peek()?.text === "") this.at++
    return this.peek()
  }

  read(): ReadonlyMap<string, FrontValue> {
    const data = new Map<string, FrontValue>()
    for (let line = this.skipBlank(); line !== undefined; line = this.skipBlank()) {
      const { indent, number, text } = line
      if (indent > 0) throw new Broken("this line is further in than what stands before it", number)
      if (text.startsWith("%") || text === "---" || text === "...") {
        throw new Broken("directives and several documents are not read here", number)
      }
      const found = keyOf(text, number)
      if (found === null) throw new Broken("expected `name: value`", number)
      if (data.has(found.key)) throw new Broken(`${JSON.stringify(found.key)} stands here twice`, number)
      if (data.size >= maxKeys) throw new Broken(`there are more than ${maxKeys} names`, number)
      this.at++
      data.set(found.key, this.value(found.value.trim(), number))
    }
    return data
  }

  private value(text: string, line: number): FrontValue {
    if (text === "") return this.below(line)
    const header = /^([|>])(?:([1-9])([-+]?)|([-+])([1-9])?)?$/.exec(text)
    if (header !== null) {
      return this.block(
        line,
        header[1] === ">",
        header[3] || header[4] || "",
        Number(header[2] ?? header[5] ?? "0")
      )
    }
    if (text.startsWith("[")) {
      const items = flow(text, "]", line)
      if (items !== null) {
        this.nothingBelow()
        return items.some((item) => /^[[{]/.test(item))
          ? { kind: "other", line }
          : { kind: "list", items: items.filter((item) => item !== "").map((item) => scalar(item, line)), line }
      }
    }
    if (text.startsWith("{")) {
      const items = flow(text, "}", line)
      if (items !== null) {
        this.nothingBelow()
        if (items.some((item) => /:\s*[[{]/.test(item))) return { kind: "other", line }
        const entries = new Map<string, string>()
        for (const item of items) {
          if (item === "") continue
          const [key, value] = pair(item, line)
          if (entries.has(key)) throw new Broken(`${JSON.stringify(key)} stands here twice`, line)
          entries.set(key, value)
        }
        return { kind: "map", entries, line }
      }
    }
    const quoted = text.startsWith("'") || text.startsWith("\"")
    const first = scalar(text, line)
    if (quoted) {
      this.nothingBelow()
      return { kind: "text", text: first, line }
    }
    const words = [first]
    for (let next = this.peek(); next !== undefined && (next.indent > 0 || next.text === ""); next = this.peek()) {
      if (next.text !== "") {
        words.push(next.text)
        this.at++
        continue
      }
      const end = this.blankUntil()
      if ((this.lines[end]?.indent ?? 0) === 0) break
      // all of them at once: each looked at by itself would look at all behind it
      for (; this.at < end; this.at++) words.push("")
    }
    return { kind: "text", text: folded(words), line }
  }

  /** Where the blank lines end that begin here. */
  private blankUntil(): number {
    let at = this.at
    while (this.lines[at]?.text === "") at++
    return at
  }

  private nothingBelow(): void {
    const next = this.skipBlank()
    if (next !== undefined && next.indent > 0) {
      throw new Broken("this line is further in than what stands before it", next.number)
    }
  }

  /** What belongs to a key without a value of its own: a list, a map, or something deeper. */
  private below(line: number): FrontValue {
    const first = this.skipBlank()
    const list = first !== undefined && /^-(?:\s|$)/.test(first.text)
    if (first === undefined || (first.indent === 0 && !list)) return { kind: "text", text: "", line }
    const { indent } = first
    const items: Array<string> = []
    const entries = new Map<string, string>()
    const words: Array<string> = []
    let deeper = false
    for (let next = this.skipBlank(); next !== undefined; next = this.skipBlank()) {
      if (next.indent < indent || (indent === 0 && !/^-(?:\s|$)/.test(next.text) && next.indent === 0)) break
      this.at++
      if (items.length + entries.size >= maxItems) {
        throw new Broken(`there are more than ${maxItems} items`, next.number)
      }
      if (next.indent > indent) {
        deeper = true
        continue
      }
      if (list) {
        if (!/^-(?:\s|$)/.test(next.text)) throw new Broken("expected another item, `- text`", next.number)
        const item = next.text.slice(1).trim()
        if (!simpleItem(item) || (keyOf(item, next.number) !== null && !/^['"]/.test(item))) deeper = true
        else items.push(scalar(item, next.number))
        continue
      }
      const found = keyOf(next.text, next.number)
      if (found === null) {
        if (entries.size > 0) throw new Broken("expected `name: value`", next.number)
        words.push(scalar(next.text, next.number))
        continue
      }
      if (words.length > 0) {
        words.push(next.text)
        continue
      }
      if (entries.has(found.key)) throw new Broken(`${JSON.stringify(found.key)} stands here twice`, next.number)
      const value = found.value.trim()
      if (/^[[{|>]/.test(value)) deeper = true
      entries.set(found.key, deeper ? "" : scalar(value, next.number))
    }
    if (deeper) return { kind: "other", line }
    if (list) return { kind: "list", items, line }
    return words.length > 0 ? { kind: "text", text: folded(words), line } : { kind: "map", entries, line }
  }

  private block(line: number, fold: boolean, chomp: string, given: number): FrontValue {
    let indent = given
    const rows: Array<string> = []
    for (let next = this.peek(); next !== undefined; next = this.peek()) {
      const blank = next.raw.trim() === ""
      if (indent === 0 && !blank) indent = next.indent
      if (!blank && (next.indent < indent || next.indent === 0)) break
      rows.push(blank ? next.raw.slice(indent === 0 ? next.raw.length : indent) : next.raw.slice(indent))
      this.at++
    }
    let last = rows.length
    while (last > 0 && rows[last - 1] === "") last--
    const body = rows.slice(0, last)
    const text = fold ? foldedBlock(body) : body.join("\n")
    const end = body.length === 0 ? "" : chomp === "-" ? "" : "\n"
    return { kind: "text", text: text + (chomp === "+" ? "\n".repeat(rows.length - last) : "") + end, line }
  }
}

/** Lines of one text: joined by blanks, empty ones are line breaks. */
const folded = (lines: ReadonlyArray<string>): string => {
  let out = ""
  let breaks = 0
  for (const line of lines) {
    if (line === "") breaks++
    else {
      out += out === "" ? line : breaks > 0 ? "\n".repeat(breaks) + line : ` ${line}`
      breaks = 0
    }
  }
  return out
}

/** As `folded`, but lines further in, and those beside them, stay lines. */
const foldedBlock = (lines: ReadonlyArray<string>): string => {
  let out = ""
  let breaks = 0
  let before = ""
  for (const line of lines) {
    if (line === "") {
      breaks++
      continue
    }
    const kept = /^\s/.test(line) || /^\s/.test(before)
    out += before === "" ? "\n".repeat(breaks) : kept ? "\n".repeat(breaks + 1) : breaks > 0 ? "\n".repeat(breaks) : " "
    out += line
    before = line
    breaks = 0
  }
  return out
}

const fence = /^---[ \t]*$/
const fenceEnd = /^(?:---|\.\.\.)[ \t]*$/

/**
 * The front matter of a text and what stands behind it. A text that does not begin with a line `---` has none. A byte order
 * mark is dropped; lines end in LF or CRLF.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (given: string): FrontMatter | FrontProblem => {
  const text = (given.charCodeAt(0) === 0xfeff ? given.slice(1) : given).replaceAll("\r\n", "\n")
  const firstEnd = text.indexOf("\n")
  if (!fence.test(firstEnd < 0 ? text : text.slice(0, firstEnd))) return { data: new Map(), body: text, body_line: 1 }
  const lines: Array<Line> = []
  let number = 1
  try {
    for (let from = firstEnd < 0 ? text.length + 1 : firstEnd + 1; from <= text.length;) {
      const end = text.indexOf("\n", from)
      const raw = text.slice(from, end < 0 ? text.length : end)
      number++
      if (fenceEnd.test(raw)) {
        const body = end < 0 ? "" : text.slice(end + 1)
        return { data: new Reader(lines).read(), body, body_line: number + 1 }
      }
      if (from > maxFrontUnits) {
        return { problem: `the front matter is longer than ${maxFrontUnits / 1024} KiB, or does not end`, line: 1 }
      }
      const lead = /^[ \t]*/.exec(raw)?.[0] ?? ""
      if (lead.includes("\t") && raw.trim() !== "") {
        return { problem: "a line begins with a tab; use blanks", line: number }
      }
      lines.push({ raw, text: withoutComment(raw.slice(lead.length)), indent: lead.length, number })
      if (end < 0) break
      from = end + 1
    }
  } catch (error) {
    if (error instanceof Broken) return { problem: error.problem, line: error.line }
    throw error
  }
  return { problem: "the front matter does not end: a line `---` is missing", line: 1 }
}

/** The text of a name; undefined = it is not there, or is no text. @since 0.1.0 @category combinators */
export const textOf = ({ data }: Pick<FrontMatter, "data">, key: string): string | undefined => {
  const value = data.get(key)
  return value?.kind === "text" ? value.text : undefined
}
