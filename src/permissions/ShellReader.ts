/**
 * From the syntax tree of a command line to everything it runs (reading 7.6). Pure.
 *
 * The tree is not taken at its word: every token, every gap between tokens and every here-document is checked against
 * bash's own rules. What is not understood beyond doubt is a problem, and the line with it.
 *
 * @since 0.1.0
 */
import type { ShellNode, ShellParser } from "../platform/ShellGrammar.ts"
import {
  ExpansionReader,
  isGap,
  type Redirection,
  reservedWords,
  shortened,
  type SimpleCommand
} from "./ShellExpansions.ts"
import { checkHereText, expansionTypes, literalWord, type ShellWord, wordTypes } from "./ShellWords.ts"

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

/** The variables that a builtin fills; null = it fills none. */
const targetsOf = (program: string, rest: ReadonlyArray<ShellWord>): ReadonlyArray<ShellWord> | null => {
  if (program === "printf") {
    const [first, second] = rest
    if (first === undefined) return null
    // An option that is not known may be `-v`.
    if (first.known !== null) return first.text.startsWith("\"") || first.known !== "" ? null : [first]
    if (first.text === "-v") return second === undefined ? null : [second]
    return first.text.startsWith("-v") ? [{ ...first, text: first.text.slice(2) }] : null
  }
  if (program === "getopts") return rest.slice(1, 2)
  if (!/^(?:read|mapfile|readarray)$/.test(program)) return null
  const valued = program === "read" ? /^-[ers]*([adinNptu])([\s\S]*)$/ : /^-t*([dnOsuCc])([\s\S]*)$/
  const targets: Array<ShellWord> = []
  let at = 0
  for (; at < rest.length; at++) {
    const word = rest[at]
    if (word === undefined || !/^-./.test(word.text)) break
    if (word.text === "--") {
      at++
      break
    }
    const option = valued.exec(word.text)
    if (option === null) continue
    const value = option[2] === "" ? rest[++at] : { ...word, text: option[2] ?? "" }
    if (option[1] === "a" && program === "read" && value !== undefined) targets.push(value)
  }
  return [...targets, ...rest.slice(at)]
}

class Reader extends ExpansionReader {
  private readonly hereLines = new Set<number>()
  private root: ShellNode | null = null

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

  private statement(node: ShellNode): void {
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

  private push(assignments: ReadonlyArray<ShellWord>, words: ReadonlyArray<ShellWord>, start: number): void {
    this.commands.push({ assignments, words, start: this.at(start) })
  }

  private reserve(start: number): (assignments: ReadonlyArray<ShellWord>, words: ReadonlyArray<ShellWord>) => void {
    // A command stands before what its own substitutions run.
    const index = this.commands.length
    this.push([], [], start)
    return (assignments, words) => {
      this.commands[index] = { assignments, words, start: this.at(start) }
    }
  }

  private command(node: ShellNode, more: ReadonlyArray<ShellNode>, extra: ReadonlyArray<ShellWord> = []): void {
    const done = this.reserve(node.start)
    const assignments: Array<ShellWord> = []
    const words: Array<ShellWord> = []
    let before: ShellNode | null = null
    for (const child of [...node.children, ...more]) {
      const isWord = child.type === "command_name" || child.field === "argument" || child.field === "destination"
      if (before !== null && isWord && child.start === before.end && before.type !== "file_redirect") {
        this.problem("words that touch each other")
      }
      before = isWord || child.type === "variable_assignment" ? child : null
      if (child.type === "variable_assignment") assignments.push(this.assignment(child))
      else if (child.type === "command_name") {
        const [inner] = child.children
        if (inner === undefined || child.children.length !== 1) this.problem("a command without a name")
        else words.push(this.word(inner))
      } else if (child.type === "file_redirect") words.push(...this.redirect(child))
      else if (child.type === "herestring_redirect") this.hereString(child)
      else if (wordTypes.has(child.type)) words.push(this.word(child))
      else if (!child.named && /^(?:=~|==|\$)$/.test(child.type)) words.push(literalWord(child))
      else {
        this.problem(`an unusual part of a command (${shortened(child.type)})`)
        this.statement(child)
      }
      if (isWord && /^\d+$|^\{\w+\}$/.test(child.text) && /[<>]/.test(this.source[child.end] ?? "")) {
        this.problem("a word that is a descriptor")
      }
    }
    words.push(...extra)
    const [name] = words
    if (name !== undefined && name.bare && reservedWords.has(name.text)) {
      this.problem(`${JSON.stringify(name.text)} where a command is expected`)
    }
    if (
      /^(?:let|test|declare|typeset|local|export|readonly|read|printf|unset|wait|mapfile|readarray|getopts)$/.test(
        name?.text ?? ""
      )
    ) {
      this.arithmetic = true
    }
    this.sets(words, node.start)
    done(assignments, words)
  }

  /** Builtins that set variables from data, or evaluate the names they are given. */
  private sets(words: ReadonlyArray<ShellWord>, start: number): void {
    const at = words.findIndex((word) => !/^(?:command|builtin|time|-p|--|!)$/.test(word.text))
    const [builtin, ...rest] = at < 0 ? [] : words.slice(at)
    const program = builtin?.text ?? ""
    if (/^(?:let|test|\[|unset|wait)$/.test(program) && rest.length > 0) {
      if (program !== "test" && program !== "[" || rest.some((word) => word.text === "-v")) this.variable = true
    }
    if (program === "set" || program === "shift") this.data = true
    const targets = targetsOf(program, rest)
    if (targets === null) return
    this.data = true
    for (const target of targets) {
      const { known, text } = target
      if (known !== null || text.includes("[")) this.variable = true
      // As with a loop: names in capitals reach the programs that are run.
      if (known !== null || !/^[a-z_][a-z0-9_]*$/.test(text) || text.endsWith("_proxy")) {
        this.push([{ ...target, text: `${text}=`, known: known ?? `${text}=` }], [], start)
      }
    }
  }

  private declaration(node: ShellNode, more: ReadonlyArray<ShellNode>): void {
    const done = this.reserve(node.start)
    this.arithmetic = true
    const words = [...node.children, ...more].map((child) =>
      child.type === "variable_assignment"
        ? this.assignment(child)
        : wordTypes.has(child.type)
        ? this.word(child)
        : this.tokenWord(child, /^[a-z]+$/)
    )
    done([], words)
  }

  private tokenWord(node: ShellNode, allowed: RegExp): ShellWord {
    if (node.named || !allowed.test(node.type)) this.problem(`an unusual token (${shortened(node.type)})`)
    return literalWord(node)
  }

  /** `[ ... ]` is a command; `[[ ... ]]` is none, but what its words run is. */
  private test(node: ShellNode, more: ReadonlyArray<ShellNode>): void {
    this.arithmetic = true
    const compared = node.text.startsWith("[[") ? /\s-(?:v|eq|ne|lt|le|gt|ge)\s/ : /\s-v\s/
    if (compared.test(node.text) && /[A-Za-z_$`]/.test(node.text.replaceAll(/\s-[a-z]+\s/g, " "))) this.variable = true
    const double = node.text.startsWith("[[")
    if (node.text.includes("\n")) this.problem("a test over several lines")
    const done = double ? null : this.reserve(node.start)
    const words: Array<ShellWord> = []
    const walk = (part: ShellNode): void => {
      if (part.broken) this.problem("a syntax error in a test")
      this.gaps(part)
      if (wordTypes.has(part.type)) words.push(this.word(part))
      else if (part.type === "test_operator") words.push(literalWord(part))
      else if (double && (part.type === "regex" || part.type === "extglob_pattern")) {
        if (/[\s;&<>"'`\\]|\$\(|\$\{/.test(part.text) || (part.type === "extglob_pattern" && /[()|]/.test(part.text))) {
          this.problem("a pattern that is no plain text")
        }
      } else if (part.children.length > 0) part.children.forEach(walk)
      else if (double) this.tokenWord(part, /^(?:\[\[|\]\]|&&|\|\||!|=~|==?|!=|<|>|\(|\)|-[a-z]+)$/)
      else words.push(this.tokenWord(part, /^(?:\[|\]|!|==?|!=|=~|-[a-z]+|\+|-)$/))
    }
    node.children.forEach(walk)
    more.forEach(walk)
    done?.([], words)
  }

  private assignment(node: ShellNode): ShellWord {
    if (node.type !== "variable_assignment") {
      this.problem(`an unusual assignment (${node.type})`)
      return literalWord(node)
    }
    let text = ""
    let known: string | null = null
    let at = node.start
    for (const child of node.children) {
      if (child.start !== at) this.problem("an assignment in pieces")
      at = child.end
      if (child.field === "name") {
        if (child.type !== "variable_name") this.nested(child, true)
        text += child.text
      } else if (!child.named) text += child.text
      else if (child.type === "array") {
        this.gaps(child)
        for (const item of child.children) if (item.named) this.word(item)
        known ??= text
        text += child.text
      } else {
        const value = this.word(child)
        if (value.known !== null) known ??= text + value.known
        text += value.text
      }
    }
    return { text, known, bare: true, start: node.start, end: node.end }
  }

  private hereString(node: ShellNode): void {
    this.gaps(node)
    for (const child of node.children) if (child.named) this.word(child)
  }

  /** Gives the words after the file, which belong to the command. */
  private redirect(node: ShellNode): ReadonlyArray<ShellWord> {
    if (node.broken) this.problem("a syntax error in a redirection")
    this.gaps(node)
    const operators = node.children.filter((child) => !child.named)
    const [operator] = operators
    const descriptor = node.children.find((child) => child.field === "descriptor")
    const named = node.children.filter((child) => child.named && child !== descriptor)
    for (const child of node.children) if (child.broken) this.problem("a syntax error in a redirection")
    if (descriptor !== undefined) {
      if (!/^\d+$/.test(descriptor.text) || /[^\s;|&()<>]/.test(this.source[descriptor.start - 1] ?? " ")) {
        this.problem("a descriptor that is part of a word")
      }
      if (operator !== undefined && operator.start !== descriptor.end) {
        this.problem("a descriptor apart from its operator")
      }
    }
    const kind = operator?.text ?? ""
    if (operators.length !== 1 || !/^(?:[<>]|>>|>\||<>|&>|&>>|[<>]&|[<>]&-)$/.test(kind)) {
      this.problem(`an unusual redirection (${JSON.stringify(shortened(node.text))})`)
    }
    if (kind === ">&-" || kind === "<&-") return named.map((child) => this.word(child))
    const [target, ...rest] = named
    if (target === undefined) {
      this.problem("a redirection without a file")
      return []
    }
    if (target.type === "process_substitution") this.expansion(target, false)
    else {
      const file = this.word(target)
      const network = file.known === null && /^\/dev\/(?:tcp|udp)\//.test(file.text)
      const copy = kind === "<&" || (kind === ">&" && file.known === null && /^(?:\d+-?|-)$/.test(file.text))
      const free = file.known === null && /^\/dev\/(?:null|stdout|stderr|fd\/\d+)$/.test(file.text)
      if (!copy && !free && (kind !== "<" || network)) {
        this.writes.push({
          path: file.known === null ? file.text : null,
          text: file.text,
          start: this.at(node.start)
        })
      }
    }
    let at = target.end
    return rest.map((child) => {
      if (child.start === at) this.problem("words that touch each other")
      at = child.end
      return this.word(child)
    })
  }

  private redirected(node: ShellNode): void {
    const more: Array<ShellNode> = []
    let body: ShellNode | null = null
    const redirects: Array<ShellNode> = []
    const dashes: Array<ShellWord> = []
    let at = node.start
    for (const child of node.children) {
      // The grammar loses the word `-` before a here-document.
      const dash = /^([ \t]+)-[ \t]*$/.exec(this.source.slice(at, child.start))
      if (dash !== null && body?.type === "command" && at === body.end) {
        const start = at + (dash[1] ?? "").length
        dashes.push({ text: "-", known: null, bare: true, start, end: start + 1 })
      } else this.gap(at, child.start, true)
      at = child.end
      if (child.field === "body") body = child
      else redirects.push(child)
    }
    // The words that the grammar counts among the files of a redirection are the command's.
    const plain: Array<ShellNode> = []
    const here: Array<ShellNode> = []
    for (const child of redirects) {
      if (child.type === "file_redirect") plain.push(child)
      else if (child.type === "heredoc_redirect") {
        here.push(child)
        more.push(...child.children.filter((part) => part.field === "argument"))
      } else if (child.type === "herestring_redirect") this.hereString(child)
      else this.problem(`an unusual redirection (${child.type})`)
    }
    const words = plain.concat(here.flatMap((child) => child.children.filter((part) => part.type === "file_redirect")))
    if (body === null) {
      for (const child of words) if (this.redirect(child).length > 0) this.problem("words after a redirection")
    } else if (body.type === "command") {
      if (body.broken) this.problem("a syntax error")
      this.gaps(body)
      this.command(body, [...words, ...more], dashes)
    } else {
      this.statement(body)
      for (const child of words) if (this.redirect(child).length > 0) this.problem("words after a redirection")
      if (more.length > 0) this.problem("words after a here-document")
    }
    for (const child of here) this.hereDocument(child)
  }

  /** A here-document ends where bash ends it, or the line is not understood. */
  private hereDocument(node: ShellNode): void {
    const { source } = this
    this.heres++
    const start = node.children.find((child) => child.type === "heredoc_start")
    const end = node.children.find((child) => child.type === "heredoc_end")
    const body = node.children.find((child) => child.type === "heredoc_body")
    const [operator] = node.children
    const strange = (why: string): void => this.problem(`a here-document ${why}`)
    if (start === undefined || end === undefined || body === undefined || operator === undefined || end.broken) {
      return strange("without an end")
    }
    const quoted = /^(?:'([\w.@%+-]+)'|"([\w.@%+-]+)"|\\([\w.@%+-]+))$/.exec(start.text)
    const delimiter = quoted === null ? start.text : quoted[1] ?? quoted[2] ?? quoted[3] ?? ""
    if (!/^[\w.@%+-]+$/.test(delimiter) || !/[\s;|&()<>]/.test(source[start.end] ?? "")) {
      return strange("with an unusual delimiter")
    }
    const line = source.indexOf("\n", start.end)
    if (line < 0 || source[line - 1] === "\\" || this.hereLines.has(line)) return strange("that shares its line")
    this.hereLines.add(line)
    if (this.root !== null && spans(this.root, line)) return strange("within a longer text")

    if (operator.text !== "<<" && operator.text !== "<<-") return strange("that touches a word")
    const tabs = operator.text === "<<-"
    let at = line + 1
    for (;;) {
      const stop = source.indexOf("\n", at)
      const text = source.slice(at, stop < 0 ? source.length : stop)
      const name = tabs ? text.replace(/^\t+/, "") : text
      if (name === delimiter) {
        if (end.text !== delimiter || end.start !== at + text.length - name.length || end.end !== at + text.length) {
          return strange("that ends elsewhere")
        }
        break
      }
      if (stop < 0) return strange("without an end")
      if (quoted === null && /(?:^|[^\\])(?:\\\\)*\\$/.test(text)) return strange("with joined lines")
      at = stop + 1
    }
    if (body.start < line + 1 || body.end > end.start) return strange("that ends elsewhere")

    for (const child of node.children) {
      if (child === start || child === end || child === body || child === operator) continue
      if (child.broken) strange("with a syntax error")
      if (child.end > line) return strange("that shares its line")
      if (child.type === "file_redirect" || child.field === "argument") continue
      if (child.named) {
        this.statement(child)
      } else if (!/^(?:&&|\|\||[|;&]|\|&)$/.test(child.type)) strange("beside an unusual token")
    }
    // Everything on the line after the delimiter is part of some node.
    const inLine = node.children.filter((child) => child.start > start.start && child.end <= line)
    let here = start.end
    for (const child of inLine) {
      this.gap(here, child.start, true)
      here = child.end
    }

    if (quoted !== null) {
      if (body.children.some((child) => child.children.length > 0)) strange("that is read differently")
      return
    }
    const text = (from: number, to: number): void => {
      checkHereText(this, from, to)
      this.backquotes(from, to)
    }
    let from = line + 1
    for (const child of body.children) {
      if (!expansionTypes.has(child.type)) continue
      text(from, child.start)
      this.expansion(child, true)
      from = child.end
    }
    text(from, at)
  }

  /** Backquoted commands in the text of a here-document, which the grammar does not see. */
  private backquotes(from: number, to: number): void {
    let open = -1
    for (let i = from; i < to; i++) {
      const char = this.source[i]
      if (char === "\\") i++
      else if (char === "`") {
        if (open < 0) open = i
        else {
          this.inner(this.source.slice(open + 1, i), open, true)
          open = -1
        }
      }
    }
    if (open >= 0) this.problem("a backquote without its other half")
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

/** A token reaches over this place. */
const spans = (node: ShellNode, position: number): boolean => {
  if (position <= node.start || node.end <= position) return false
  const inner = node.children.find((child) => child.start < position && position < child.end)
  return inner === undefined ? node.children.length === 0 || node.type === "string" : spans(inner, position)
}

/** Everything a command line runs. @since 0.1.0 @category decoding */
export const read = (line: string, parse: ShellParser): ShellReading => {
  const reader = new Reader(line, parse, 0, null)
  reader.read()
  return { commands: reader.commands, writes: reader.writes, problems: reader.problems }
}
