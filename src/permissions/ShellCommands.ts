/**
 * Commands of a line: assignments, words, declarations, tests, and what builtins set (reading 7.6). Pure.
 *
 * @since 0.1.0
 */
import type { ShellNode } from "../platform/ShellGrammar.ts"
import { reservedWords, shortened } from "./ShellExpansions.ts"
import { RedirectionReader } from "./ShellRedirections.ts"
import { literalWord, type ShellWord, wordTypes } from "./ShellWords.ts"

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

/** What reads commands; statements are read by whoever extends it. @since 0.1.0 @category models */
export abstract class CommandReader extends RedirectionReader {
  protected push(assignments: ReadonlyArray<ShellWord>, words: ReadonlyArray<ShellWord>, start: number): void {
    this.commands.push({ assignments, words, start: this.at(start) })
  }

  protected reserve(start: number): (assignments: ReadonlyArray<ShellWord>, words: ReadonlyArray<ShellWord>) => void {
    // A command stands before what its own substitutions run.
    const index = this.commands.length
    this.push([], [], start)
    return (assignments, words) => {
      this.commands[index] = { assignments, words, start: this.at(start) }
    }
  }

  protected command(node: ShellNode, more: ReadonlyArray<ShellNode>, extra: ReadonlyArray<ShellWord> = []): void {
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

  protected declaration(node: ShellNode, more: ReadonlyArray<ShellNode>): void {
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
  protected test(node: ShellNode, more: ReadonlyArray<ShellNode>): void {
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

  protected assignment(node: ShellNode): ShellWord {
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

  protected redirected(node: ShellNode): void {
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
}
