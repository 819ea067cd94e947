/**
 * Redirections of a command line: the files they open, the words behind them, here-documents (reading 7.6). Pure.
 *
 * @since 0.1.0
 */
import type { ShellNode } from "../platform/ShellGrammar.ts"
import { ExpansionReader, shortened } from "./ShellExpansions.ts"
import { checkHereText, expansionTypes, type ShellWord } from "./ShellWords.ts"

/** A token reaches over this place. */
const spans = (node: ShellNode, position: number): boolean => {
  if (position <= node.start || node.end <= position) return false
  const inner = node.children.find((child) => child.start < position && position < child.end)
  return inner === undefined ? node.children.length === 0 || node.type === "string" : spans(inner, position)
}

/** What reads redirections; the statements behind a here-document are read by whoever extends it. @since 0.1.0 @category models */
export abstract class RedirectionReader extends ExpansionReader {
  private readonly hereLines = new Set<number>()
  /** The whole tree of the text. */
  protected root: ShellNode | null = null

  protected abstract statement(node: ShellNode): void

  protected hereString(node: ShellNode): void {
    this.gaps(node)
    for (const child of node.children) if (child.named) this.word(child)
  }

  /** Gives the words after the file, which belong to the command. */
  protected redirect(node: ShellNode): ReadonlyArray<ShellWord> {
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

  /** A here-document ends where bash ends it, or the line is not understood. */
  protected hereDocument(node: ShellNode): void {
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
}
