/**
 * Block collections of YAML (YAML 1.2.2, chapter 8): names with their values line by line, with what stands further in below
 * them, and block texts.
 *
 * @since 0.1.0
 */
import type { FrontValue } from "./FrontMatter.ts"
import { flow, mappingOf, maxItems, sequenceOf } from "./YamlFlow.ts"
import { Broken, folded, foldedBlock, keyOf, scalar } from "./YamlScalar.ts"

const maxKeys = 200

/** A line of a block; `number` from 1 in the file. @since 0.1.0 @category models */
export interface Line {
  /** Without its indentation and without a comment at its end; block texts take `raw`. */
  readonly text: string
  readonly raw: string
  readonly indent: number
  readonly number: number
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
        return sequenceOf(items, line)
      }
    }
    if (text.startsWith("{")) {
      const items = flow(text, "}", line)
      if (items !== null) {
        this.nothingBelow()
        return mappingOf(items, line)
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

/** The values of all names, in their order. Throws `Broken`. @since 0.1.0 @category decoding */
export const read = (lines: ReadonlyArray<Line>): ReadonlyMap<string, FrontValue> => new Reader(lines).read()
