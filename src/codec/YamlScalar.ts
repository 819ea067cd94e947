/**
 * Scalars of YAML (YAML 1.2.2, chapters 6.5 and 7.3): texts in quotes with their escapes, texts as they stand, keys, lines that
 * are folded into one text. No text is taken for a number, a date, a boolean or null.
 *
 * @since 0.1.0
 */

/** Thrown while a block is read, never out of `FrontMatter.parse`. @since 0.1.0 @category errors */
export class Broken {
  readonly problem: string
  readonly line: number
  constructor(problem: string, line: number) {
    this.problem = problem
    this.line = line
  }
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

/** A quoted text that begins here; null = there is none. @since 0.1.0 @category decoding */
export const quotedAt = (text: string, from: number, line: number): Quoted | null =>
  text[from] === "'" ? singleQuoted(text, from, line) : text[from] === "\"" ? doubleQuoted(text, from, line) : null

/** Without a comment, which begins with `#` at the start or behind a blank; inside quotes there is none. @since 0.1.0 @category combinators */
export const withoutComment = (text: string): string => {
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

/** A text of one line: quoted, or as it stands. @since 0.1.0 @category decoding */
export const scalar = (text: string, line: number): string => {
  const quoted = quotedAt(text, 0, line)
  if (quoted === null) {
    refuseForeign(text, line)
    return text
  }
  if (text.slice(quoted.end).trim() !== "") throw new Broken("there is text behind the closing quote", line)
  return quoted.text
}

/** The key a line begins with, and where its value begins; null = it begins with none. @since 0.1.0 @category decoding */
export const keyOf = (text: string, line: number): { readonly key: string; readonly value: string } | null => {
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

/** Lines of one text: joined by blanks, empty ones are line breaks. @since 0.1.0 @category combinators */
export const folded = (lines: ReadonlyArray<string>): string => {
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

/** As `folded`, but lines further in, and those beside them, stay lines. @since 0.1.0 @category combinators */
export const foldedBlock = (lines: ReadonlyArray<string>): string => {
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
