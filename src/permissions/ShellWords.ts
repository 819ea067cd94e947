/**
 * Words of a command line after quote removal (reading 7.6). Pure.
 *
 * Every character of a word is looked at again here, by bash's own rules: what the grammar took for plain text must not
 * hold a quote, an operator or the start of an expansion, else the word is refused.
 *
 * @since 0.1.0
 */
import type { ShellNode } from "../platform/ShellGrammar.ts"

/** @since 0.1.0 @category models */
export interface ShellWord {
  /** After quote removal; expansions, globs and braces stand as they were written. */
  readonly text: string
  /** What the word surely begins with when the rest depends on an expansion, a glob or braces; null = all of it is known. */
  readonly known: string | null
  /** Nothing of it was quoted or escaped. */
  readonly bare: boolean
  readonly start: number
  readonly end: number
}

/** What a word's expansions hold is read by the caller. @since 0.1.0 @category models */
export interface WordHost {
  readonly source: string
  /** Says why this text cannot be read. */
  readonly problem: (why: string) => void
  /** A node inside a word that may run commands or evaluate: any kind of expansion or substitution. */
  readonly expansion: (node: ShellNode, in_double_quotes: boolean) => void
}

/** @since 0.1.0 @category constants */
export const expansionTypes: ReadonlySet<string> = new Set([
  "simple_expansion",
  "expansion",
  "command_substitution",
  "process_substitution",
  "arithmetic_expansion"
])

/** @since 0.1.0 @category constants */
export const wordTypes: ReadonlySet<string> = new Set([
  ...expansionTypes,
  "word",
  "string",
  "raw_string",
  "ansi_c_string",
  "concatenation",
  "number",
  "brace_expression",
  "variable_name"
])

const blank = /[ \t\n]/
const operator = /[;|&()<>]/
/** After an unquoted or double-quoted `$`: the first character of an expansion. */
const startsExpansion = /[A-Za-z0-9_({[*@#?$!-]/

const ansiEscapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  "\"": "\"",
  "?": "?"
}

const codePoint = (digits: string, base: number): string => {
  const code = Number.parseInt(digits, base)
  return code > 0x10_ffff ? "\ufffd" : String.fromCodePoint(code)
}

/** The text of `$'...'` without its frame; null when it holds a NUL, which ends the text in bash. */
const ansiText = (body: string): string | null => {
  const text = body.replaceAll(
    /\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([\s\S])|([\s\S]))/g,
    (whole, octal?: string, hex?: string, short?: string, long?: string, control?: string, other?: string) =>
      octal !== undefined
        ? String.fromCodePoint(Number.parseInt(octal, 8) & 0xff)
        : hex !== undefined
        ? codePoint(hex, 16)
        : short !== undefined
        ? codePoint(short, 16)
        : long !== undefined
        ? codePoint(long, 16)
        : control !== undefined
        ? String.fromCodePoint((control.codePointAt(0) ?? 0) & 0x1f)
        : ansiEscapes[other ?? ""] ?? whole
  )
  // Bytes above 0x7f are bytes of UTF-8 to bash, not code points: they are left to nobody's guess.
  return text.includes("\0") || /\\(?:[2-3][0-7]{2}|x[89A-Fa-f][0-9A-Fa-f])/.test(body) ? null : text
}

/** An opening brace, then a comma or two dots, then a closing brace. */
const hasBraces = (bare: string): boolean => {
  const open = bare.indexOf("{")
  const parts = open < 0 ? [] : [bare.indexOf(",", open), bare.indexOf("..", open)].filter((at) => at >= 0)
  return parts.length > 0 && bare.includes("}", Math.min(...parts))
}

class Builder {
  text = ""
  known: string | null = null
  quoted = false
  /** The unquoted text, with NUL for what was quoted. */
  bare = ""
  private brace = -1

  literal(text: string): void {
    this.text += text
  }

  /** From here on the text is not known. */
  hole(): void {
    this.known ??= this.text
  }

  plain(char: string): void {
    if (char === "{" && this.brace < 0) this.brace = this.text.length
    this.text += char
    this.bare += char
  }

  quote(text: string): void {
    this.quoted = true
    this.text += text
    this.bare += "\0"
  }

  word(start: number, end: number): ShellWord {
    if (this.brace >= 0 && hasBraces(this.bare)) {
      const before = this.text.slice(0, this.brace)
      if (this.known === null || this.known.length > before.length) this.known = before
    }
    return { text: this.text, known: this.known, bare: !this.quoted, start, end }
  }
}

const unquoted = (host: WordHost, into: Builder, from: number, to: number, first: boolean): void => {
  const { source } = host
  for (let i = from; i < to; i++) {
    const char = source[i] ?? ""
    if (char === "\\") {
      const next = source[++i]
      if (next === undefined || i >= to) return host.problem("a backslash at the end")
      if (next !== "\n") into.quote(next)
      continue
    }
    if (blank.test(char) || operator.test(char) || char === "'" || char === "\"" || char === "`") {
      return host.problem(`${JSON.stringify(char)} inside a word`)
    }
    if (char === "$" && i + 1 < source.length && /["']/.test(source[i + 1] ?? "")) {
      return host.problem("a quote of an unusual kind")
    }
    if (char === "$" && startsExpansion.test(source[i + 1] ?? "")) return host.problem("an expansion that was not seen")
    if (char === "#" && first && i === from) return host.problem("a comment that was not seen")
    if (char === "*" || char === "?" || char === "[" || (char === "~" && first && i === from)) into.hole()
    into.plain(char)
  }
}

/** Text between double quotes (or in a here-document), outside its expansions. */
const doubleQuoted = (host: WordHost, into: Builder, from: number, to: number): void => {
  const { source } = host
  for (let i = from; i < to; i++) {
    const char = source[i] ?? ""
    if (char === "\\" && i + 1 < to) {
      const next = source[i + 1] ?? ""
      if (next === "\n") i++
      else if (next === "$" || next === "`" || next === "\"" || next === "\\") {
        into.literal(next)
        i++
      } else into.literal("\\")
      continue
    }
    if (char === "\"" || char === "`") return host.problem(`${JSON.stringify(char)} inside double quotes`)
    if (char === "$" && i + 1 < source.length && startsExpansion.test(source[i + 1] ?? "")) {
      return host.problem("an expansion that was not seen")
    }
    into.literal(char)
  }
}

const scan = (host: WordHost, into: Builder, node: ShellNode, first: boolean): void => {
  if (node.broken) return host.problem("text that does not fit the grammar")
  if (expansionTypes.has(node.type)) {
    into.hole()
    into.literal(node.text)
    into.bare += "\0"
    return host.expansion(node, false)
  }
  switch (node.type) {
    case "word":
    case "number":
    case "brace_expression":
    case "variable_name":
      // The pieces of `{1..3}` and numbers with a base are text of the word.
      return unquoted(host, into, node.start, node.end, first)
    case "raw_string":
      if (!/^'[^']*'$/.test(node.text)) return host.problem("single quotes that do not fit")
      return into.quote(node.text.slice(1, -1))
    case "ansi_c_string": {
      const text = /^\$'(?:[^'\\]|\\[\s\S])*'$/.test(node.text) ? ansiText(node.text.slice(2, -1)) : null
      return text === null ? host.problem("text in $'...' that is no plain text") : into.quote(text)
    }
    case "string": {
      if (node.text.length < 2 || !node.text.startsWith("\"") || !node.text.endsWith("\"")) {
        return host.problem("double quotes that do not fit")
      }
      into.quote("")
      let at = node.start + 1
      for (const child of node.children) {
        if (child.broken) return host.problem("text that does not fit the grammar")
        if (!expansionTypes.has(child.type)) continue
        doubleQuoted(host, into, at, child.start)
        into.hole()
        into.literal(child.text)
        host.expansion(child, true)
        at = child.end
      }
      return doubleQuoted(host, into, at, node.end - 1)
    }
    case "concatenation": {
      let at = node.start
      for (const [index, child] of node.children.entries()) {
        if (child.start !== at) return host.problem("parts of a word that do not touch")
        scan(host, into, child, first && index === 0)
        at = child.end
      }
      return at === node.end ? undefined : host.problem("parts of a word that do not touch")
    }
    default:
      return host.problem(`an unusual word (${node.type})`)
  }
}

/** Reads one word. @since 0.1.0 @category decoding */
export const readWord = (host: WordHost, node: ShellNode): ShellWord => {
  const into = new Builder()
  scan(host, into, node, true)
  return into.word(node.start, node.end)
}

/** A word of known text. @since 0.1.0 @category constructors */
export const literalWord = (node: ShellNode): ShellWord => ({
  text: node.text,
  known: null,
  bare: true,
  start: node.start,
  end: node.end
})

/** Words joined by one space, and what the joined text surely begins with. @since 0.1.0 @category combinators */
export const join = (words: ReadonlyArray<ShellWord>): { readonly text: string; readonly known: string | null } => {
  const text = words.map((word) => word.text).join(" ")
  const open = words.findIndex((word) => word.known !== null)
  if (open < 0) return { text, known: null }
  const before = words.slice(0, open).map((word) => `${word.text} `).join("")
  return { text, known: before + (words[open]?.known ?? "") }
}

/** What is between double quotes of a here-document's lines, checked. @since 0.1.0 @category decoding */
export const checkHereText = (host: WordHost, from: number, to: number): void => {
  const { source } = host
  for (let i = from; i < to; i++) {
    const char = source[i]
    if (char === "\\") i++
    else if (char === "$" && /[({[]/.test(source[i + 1] ?? "")) return host.problem("an expansion that was not seen")
  }
}
