/**
 * From the syntax tree of a command line to everything it runs (reading 7.6). Pure.
 *
 * The tree is not taken at its word: every token, every gap between tokens and every here-document is checked against
 * bash's own rules. What is not understood beyond doubt is a problem, and the line with it.
 *
 * @since 0.1.0
 */
import type { ShellNode, ShellParser } from "../platform/ShellGrammar.ts"
import { CommandReader } from "./ShellCommands.ts"
import { type ExpansionReader, isGap, type Redirection, shortened, type SimpleCommand } from "./ShellExpansions.ts"
import { expansionTypes, literalWord, wordTypes } from "./ShellWords.ts"

/** @since 0.1.0 @category models */
export interface ShellReading {
  /** In the order of the line. */
  readonly commands: ReadonlyArray<SimpleCommand>
  readonly writes: ReadonlyArray<Redirection>
  /** Why the line cannot be read for sure; empty = everything it runs is in `commands`. */
  readonly problems: ReadonlyArray<string>
}

const maxNesting = 16
const maxCommands = 2_000

const sequences: ReadonlySet<string> = new Set([
  "program",
  "list",
  "pipeline",
  "negated_command",
  "subshell",
  "compound_statement",
  "if_statement",
  "elif_clause",
  "else_clause",
  "while_statement",
  "do_group",
  "command_substitution",
  "process_substitution"
])

const tokens: ReadonlySet<string> = new Set([
  ..."; & && || | |& ( ) { } $( <( >( ! if then elif else fi while until do done ;;".split(" "),
  "\n"
])

class Reader extends CommandReader {
  protected readInner(text: string, start: number): ExpansionReader {
    const reader = new Reader(text, this.parse, this.depth + 1, start)
    reader.read()
    return reader
  }

  read(): void {
    // eslint-disable-next-line no-control-regex
    if (/[\0-\x08\x0b-\x1f\x7f]/.test(this.source)) this.problem("a control character")
    if (this.depth > maxNesting) return this.problem("it is nested too deep")
    const root = this.parse(this.source)
    if (root === null) return this.problem("it is too long or too tangled")
    this.root = root
    if (!isGap(this.source.slice(0, root.start)) || !isGap(this.source.slice(root.end))) {
      this.problem("characters that the grammar left out")
    }
    if (root.broken) this.problem("a syntax error")
    this.statement(root)
    if (this.hidden && this.arithmetic) {
      this.problem("text that looks like a command beside something that evaluates text")
    }
    if (this.data && this.variable) this.problem("arithmetic over variables whose values are not in the line")
  }

  protected statement(node: ShellNode): void {
    if (this.commands.length > maxCommands) return this.problem("too many commands")
    if (node.broken) this.problem(`a syntax error at ${JSON.stringify(shortened(node.text))}`)
    if (node.type === "redirected_statement") return this.redirected(node)
    this.gaps(node)
    if (node.type === "compound_statement" && node.text.startsWith("((")) return this.evaluated(node, "((", "))")
    if (sequences.has(node.type) || node.type === "ERROR") return this.sequence(node, node.children)
    switch (node.type) {
      case "command":
        return this.command(node, [])
      case "test_command":
        return this.test(node, [])
      case "declaration_command":
      case "unset_command":
        return this.declaration(node, [])
      case "variable_assignment":
        return this.reserve(node.start)([this.assignment(node)], [])
      case "variable_assignments":
        return this.reserve(node.start)(node.children.map((child) => this.assignment(child)), [])
      case "for_statement":
        return this.loop(node)
      case "c_style_for_statement":
        return this.countingLoop(node)
      case "case_statement":
        return this.choice(node)
      case "function_definition":
        return this.definition(node)
      case "comment":
        return this.comment(node)
      default:
        this.problem(`an unusual construct (${node.type})`)
        for (const child of node.children) if (child.named) this.statement(child)
    }
  }

  /** Statements one after another: between two of them something must part them. */
  protected sequence(node: ShellNode, children: ReadonlyArray<ShellNode>): void {
    let before: ShellNode | null = null
    for (const child of children) {
      if (!child.named) {
        if (!tokens.has(child.type) || child.text.trim() !== child.type.trim()) {
          this.problem(`an unusual token (${JSON.stringify(shortened(child.type))})`)
        }
        before = null
        continue
      }
      if (child.type === "comment") {
        this.comment(child)
        continue
      }
      // A branch of `if` brings the end of its last command with it.
      if (before !== null && !/[;&]$/.test(before.text) && !this.source.slice(before.end, child.start).includes("\n")) {
        this.problem("two commands with nothing between them")
      }
      if (child.type === "file_redirect") this.redirect(child)
      else this.statement(child)
      before = child
    }
    if (node.broken) this.problem("a syntax error")
  }

  private comment(node: ShellNode): void {
    const before = node.start === 0 ? "\n" : this.source[node.start - 1] ?? ""
    const after = this.source[node.end] ?? "\n"
    if (
      !node.text.startsWith("#") || !/[ \t\n;|&()<>]/.test(before) || after !== "\n" || /[\n`]/.test(node.text)
    ) this.problem("a comment that may be none")
  }

  private loop(node: ShellNode): void {
    for (const child of node.children) {
      if (child.type === "variable_name" && child.field === "variable") {
        // Names in capitals reach the programs that are run, PATH before all.
        if (!/^[a-z_][a-z0-9_]*$/.test(child.text) || child.text.endsWith("_proxy")) {
          this.push([{ ...literalWord(child), text: `${child.text}=`, known: `${child.text}=` }], [], child.start)
        }
      } else if (wordTypes.has(child.type)) {
        if (this.word(child).known !== null) this.data = true
      } else if (!child.named) {
        if (child.type === "select") this.data = true
        if (!/^(?:for|select|in|;|\n)$/.test(child.type)) this.problem("an unusual loop")
      } else this.statement(child)
    }
  }

  private countingLoop(node: ShellNode): void {
    const body = node.children.find((child) => child.field === "body")
    const close = node.children.find((child) => child.type === "))")
    const open = node.children.find((child) => child.type === "((")
    if (body === undefined || close === undefined || open === undefined) return this.problem("an unusual loop")
    const head = node.children.filter((child) => child.start >= open.start && child.end <= close.end)
    const text = this.source.slice(open.start, close.end)
    if (!/^\(\([\w\s+\-*/%<>=!&|^~?:,.;]*\)\)$/.test(text)) {
      this.problem("arithmetic that is hard to read")
      const walk = (part: ShellNode): void => {
        if (expansionTypes.has(part.type)) this.expansion(part, true)
        else part.children.forEach(walk)
      }
      head.forEach(walk)
    }
    this.arithmetic = true
    this.statement(body)
  }

  private choice(node: ShellNode): void {
    for (const child of node.children) {
      if (child.type === "case_item") this.choiceItem(child)
      else if (wordTypes.has(child.type)) this.word(child)
      else if (child.type === "comment") this.comment(child)
      else if (child.named || !/^(?:case|in|esac|\n|;)$/.test(child.type)) this.problem("an unusual case")
    }
  }

  private choiceItem(node: ShellNode): void {
    if (node.broken) this.problem("a syntax error in a case")
    this.gaps(node)
    const body: Array<ShellNode> = []
    let inPatterns = true
    for (const child of node.children) {
      if (!inPatterns) {
        if (child.named || !/^(?:;;|;&|;;&)$/.test(child.type)) body.push(child)
      } else if (child.type === ")") inPatterns = false
      else if (child.type === "extglob_pattern") {
        if (/[\s;&<>"'`\\()|]|\$[({]/.test(child.text)) this.problem("a pattern that is no plain text")
      } else if (wordTypes.has(child.type)) this.word(child)
      else if (child.named || (child.type !== "(" && child.type !== "|")) this.problem("an unusual case")
    }
    if (inPatterns) this.problem("an unusual case")
    this.sequence(node, body)
  }

  private definition(node: ShellNode): void {
    // What it is called with may be anything.
    if (/\$\{?[0-9@*]/.test(node.text)) this.data = true
    for (const child of node.children) {
      if (child.field === "name") {
        if (child.type !== "word" || !/^[\w.:+-]+$/.test(child.text)) this.problem("a function with an unusual name")
      } else if (!child.named) {
        if (!/^(?:function|\(|\)|\n)$/.test(child.type)) this.problem("an unusual function")
      } else if (child.type === "file_redirect") {
        if (this.redirect(child).length > 0) this.problem("words after a redirection")
      } else if (child.type === "herestring_redirect") this.hereString(child)
      else this.statement(child)
    }
  }
}

/** Everything a command line runs. @since 0.1.0 @category decoding */
export const read = (line: string, parse: ShellParser): ShellReading => {
  const reader = new Reader(line, parse, 0, null)
  reader.read()
  return { commands: reader.commands, writes: reader.writes, problems: reader.problems }
}
