/**
 * The inside of words and the space between tokens: expansions, substitutions, arithmetic, gaps (reading 7.6). Pure.
 *
 * @since 0.1.0
 */
import type { ShellNode, ShellParser } from "../platform/ShellGrammar.ts"
import { expansionTypes, readWord, type ShellWord, type WordHost } from "./ShellWords.ts"

/** @since 0.1.0 @category models */
export interface SimpleCommand {
  /** `NAME=value` before the command, or alone. */
  readonly assignments: ReadonlyArray<ShellWord>
  readonly words: ReadonlyArray<ShellWord>
  readonly start: number
}

/** A file that an output redirection opens. @since 0.1.0 @category models */
export interface Redirection {
  /** As written, quotes removed; null = it is not known before the line runs. */
  readonly path: string | null
  readonly text: string
  readonly start: number
  /** It stands in text that a command of the line is given to run. */
  readonly nested?: boolean
}

/** Words that only the shell itself understands where a command is expected. @since 0.1.0 @category constants */
export const reservedWords: ReadonlySet<string> = new Set(
  "! { } [[ ]] case do done elif else esac fi for function if in select then until while".split(" ")
)

/** Nodes that read as one line: a newline between their parts would end them. */
const oneLine: ReadonlySet<string> = new Set([
  "command",
  "declaration_command",
  "unset_command",
  "test_command",
  "file_redirect",
  "herestring_redirect",
  "variable_assignments",
  "negated_command"
])

/** Nodes whose parts may lie apart by text that is no token. */
const textual: ReadonlySet<string> = new Set(["string", "heredoc_body", "expansion", "heredoc_redirect"])

/** Only blanks, newlines, and escaped newlines that stand beside a blank. @since 0.1.0 @category combinators */
export const isGap = (gap: string): boolean => {
  const blank = (at: number): boolean => gap[at] === " " || gap[at] === "\t" || gap[at] === "\n"
  for (let at = 0; at < gap.length; at++) {
    if (blank(at)) continue
    if (gap[at] !== "\\" || gap[at + 1] !== "\n" || !(blank(at - 1) || blank(at + 2))) return false
    at++
  }
  return true
}

/** @since 0.1.0 @category combinators */
export const shortened = (text: string): string => text.length > 40 ? `${text.slice(0, 40)}...` : text

/** What reads expansions; the statements inside them are read by whoever extends it. @since 0.1.0 @category models */
export abstract class ExpansionReader implements WordHost {
  readonly commands: Array<SimpleCommand> = []
  readonly writes: Array<Redirection> = []
  readonly problems: Array<string> = []
  readonly source: string
  /** Text that would run if something evaluated it. */
  hidden = false
  /** Something evaluates text as arithmetic. */
  arithmetic = false
  /** Variables take values that are not in the line: what they hold may be anything. */
  data = false
  /** Arithmetic takes in a variable, whose value is evaluated in turn. */
  variable = false
  /** Here-documents so far. */
  protected heres = 0
  protected readonly parse: ShellParser
  protected readonly depth: number
  /** Where the text stands in the whole line; what is nested all stands where it begins. */
  private readonly offset: number | null

  constructor(source: string, parse: ShellParser, depth: number, offset: number | null) {
    this.source = source
    this.parse = parse
    this.depth = depth
    this.offset = offset
  }

  /** Statements one after another. */
  protected abstract sequence(node: ShellNode, children: ReadonlyArray<ShellNode>): void

  /** Reads a text of its own that runs where this one stands. */
  protected abstract readInner(text: string, start: number): ExpansionReader

  readonly problem = (why: string): void => {
    if (this.problems.length < 20) this.problems.push(why)
  }

  protected at(position: number): number {
    return this.offset ?? position
  }

  protected word(node: ShellNode): ShellWord {
    // What the word's own expansions hold is read; only text that stays text counts.
    if (/\$\(|`/.test(node.text) && /\$\(|`/.test(this.literalParts(node))) this.hidden = true
    return readWord(this, node)
  }

  protected literalParts(node: ShellNode): string {
    if (expansionTypes.has(node.type)) return ""
    return node.children.length === 0 ? node.text : node.children.map((child) => this.literalParts(child)).join("")
  }

  /** Between the parts of a node there is nothing but blanks. */
  protected gaps(node: ShellNode): void {
    if (node.children.length === 0 || textual.has(node.type) || node.type === "concatenation") return
    const single = oneLine.has(node.type)
    let at = node.start
    for (const child of node.children) {
      this.gap(at, child.start, single)
      at = child.end
    }
    this.gap(at, node.end, single)
  }

  protected gap(from: number, to: number, single: boolean): void {
    if (from >= to) return
    const gap = this.source.slice(from, to)
    if (!isGap(gap)) return this.problem(`characters that the grammar left out (${JSON.stringify(shortened(gap))})`)
    if (single && gap.replaceAll("\\\n", "").includes("\n")) {
      this.problem("a command that goes on after the end of its line")
    }
  }

  /** Between backquotes a backslash hides dollar, backquote, backslash, and in double quotes the double quote. */
  protected inner(content: string, start: number, in_double_quotes: boolean): void {
    const text = content.replaceAll(in_double_quotes ? /\\([$`\\"])/g : /\\([$`\\])/g, "$1")
    const reader = this.readInner(text, this.at(start))
    this.commands.push(...reader.commands)
    this.writes.push(...reader.writes)
    for (const why of reader.problems) this.problem(why)
    this.hidden ||= reader.hidden
    this.arithmetic ||= reader.arithmetic
    this.data ||= reader.data
    this.variable ||= reader.variable
  }

  readonly expansion = (node: ShellNode, in_double_quotes: boolean): void => {
    if (node.broken) return this.problem("a syntax error in an expansion")
    switch (node.type) {
      case "simple_expansion": {
        const name = /^\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])$/.exec(node.text)
        const next = this.source[node.end] ?? ""
        if (name === null || (/^\$[A-Za-z_]/.test(node.text) && /\w/.test(next))) this.problem("an unusual expansion")
        return
      }
      case "command_substitution": {
        if (node.text.startsWith("`")) {
          if (!/^`(?:[^`\\]|\\[\s\S])*`$/.test(node.text)) return this.problem("backquotes that do not fit")
          return this.inner(node.text.slice(1, -1), node.start, in_double_quotes)
        }
        // Two parentheses may be arithmetic to bash.
        if (!node.text.startsWith("$(") || node.text.startsWith("$((")) return this.problem("an ambiguous substitution")
        this.gaps(node)
        const before = this.heres
        this.sequence(node, node.children)
        const [only, ...others] = node.children.filter((child) => child.named)
        // Bash puts a substitution together anew before it runs it, and loses separators beside a here-document.
        if (this.heres > before && (only?.type !== "redirected_statement" || others.length > 0)) {
          this.problem("a here-document among other commands of a substitution")
        }
        return
      }
      case "process_substitution":
        if (in_double_quotes || /^[<>]\(\(/.test(node.text)) return this.problem("an ambiguous substitution")
        this.gaps(node)
        return this.sequence(node, node.children)
      case "arithmetic_expansion":
        return node.text.startsWith("$((") ? this.evaluated(node, "$((", "))") : this.problem("$[...]")
      default:
        if (node.text.startsWith("${!")) this.problem("an expansion of a name that is not known (${!...})")
        if (node.text.endsWith("@P}")) this.problem("an expansion that runs what it holds (@P)")
        if (/^\$\{\w+(?:\[[^\]]*\])?:?=/.test(node.text)) this.problem("an expansion that assigns")
        return this.nested(node, false, in_double_quotes)
    }
  }

  /** `${...}` and subscripts: the expansions inside, and nothing else that could be one. */
  protected nested(node: ShellNode, arithmetic: boolean, in_double_quotes = false): void {
    let rest = ""
    let at = node.start
    const walk = (part: ShellNode): void => {
      if (part.broken) this.problem("a syntax error in an expansion")
      const inner = part !== node && (expansionTypes.has(part.type) || (part.type === "string" && !in_double_quotes))
      if (!inner) {
        if (part.type === "subscript") this.arithmetic = true
        return part.children.forEach(walk)
      }
      rest += this.source.slice(at, part.start)
      at = part.end
      if (part.type === "string") this.word(part)
      else this.expansion(part, in_double_quotes)
    }
    walk(node)
    rest += this.source.slice(at, node.end)
    if (arithmetic) this.arithmetic = true
    const inside = rest.startsWith("${") && rest.endsWith("}") ? rest.slice(2, -1) : rest
    if (/['"\\{}`$<>()|;&\n]/.test(inside)) this.problem("an expansion that is hard to read")
    // `${name:start:length}` and subscripts are arithmetic.
    const range = /:\s*[^-+=?\s][\s\S]*$/.exec(inside)
    if (range !== null || inside.includes("[")) this.arithmetic = true
    const index = /\[([^\]]*)\]?/.exec(node.text)?.[1]
    const whole = this.source.slice(node.start, node.end)
    if (range !== null && /[A-Za-z_$`]/.test(whole.slice(whole.indexOf(":") + 1))) this.variable = true
    if (index !== undefined && /[A-Za-z_$`]/.test(index)) this.variable = true
  }

  /** Arithmetic: plain characters, balanced parentheses, and expansions that are read like any other. */
  protected evaluated(node: ShellNode, open: string, close: string): void {
    this.arithmetic = true
    let rest = ""
    let at = node.start
    const walk = (part: ShellNode): void => {
      if (part.broken) this.problem("a syntax error in arithmetic")
      if (part === node || !expansionTypes.has(part.type)) return part.children.forEach(walk)
      rest += `${this.source.slice(at, part.start)}0`
      at = part.end
      this.expansion(part, true)
    }
    walk(node)
    rest += this.source.slice(at, node.end)
    const inside = rest.slice(open.length, -close.length)
    if (/[A-Za-z_$`]/.test(node.text.slice(open.length))) this.variable = true
    // What a command writes is evaluated as it comes.
    if (/\$\((?!\()|`/.test(node.text.slice(open.length))) this.data = true
    let depth = 0
    for (const char of inside) {
      if (char === "(") depth++
      if (char === ")" && --depth < 0) break
    }
    if (
      !rest.startsWith(open) || !rest.endsWith(close) || depth !== 0 ||
      !/^[\w\s+\-*/%<>=!&|^~?:,.#()[\]]*$/.test(inside)
    ) {
      this.problem("arithmetic that is hard to read")
    }
  }
}
