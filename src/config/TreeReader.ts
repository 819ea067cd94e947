/**
 * JSONC to a tree in one pass, for texts that are as they should be. What is not (and says what is wrong with it), is left
 * to the parser that can tell; so settings of any size cost a start little.
 *
 * @since 0.1.0
 */
import { endOfDisabled } from "./DisabledServer.ts"
import type { Member, Node } from "./Document.ts"

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
/** A text as far as it holds nothing that needs a second look. */
const ordinary = /[^"\\\u0000-\u001f]*/y

/** Thrown where a careful parser must look; without a stack, which nobody reads. */
const unusual = Symbol("unusual")

/**
 * A server that is switched off and has nothing wrong with it (see `endOfDisabled`): its members are read when somebody
 * asks for them.
 *
 * @since 0.1.0
 * @category models
 */
export class DisabledServer {
  readonly type = "object"
  readonly offset: number
  private readonly text: string
  private readonly end: number
  private read: ReadonlyArray<Member> | undefined

  constructor(text: string, offset: number, end: number) {
    this.text = text
    this.offset = offset
    this.end = end
  }

  /** Its plain value. */
  get value(): unknown {
    return JSON.parse(this.text.slice(this.offset, this.end))
  }

  get members(): ReadonlyArray<Member> {
    if (this.read === undefined) {
      const { node } = readValue(this.text, this.offset, Number.POSITIVE_INFINITY)
      this.read = node.type === "object" ? node.members : []
    }
    return this.read
  }
}

/** Deep enough for what a disabled server holds. */
const serverDepth = 4

/** The value that begins at `from` or behind blanks and comments, and where it ends. Throws `unusual`. */
const readValue = (text: string, from: number, max_depth: number): { readonly node: Node; readonly end: number } => {
  let at = from

  const skip = (): void => {
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) at++
      else if (code !== 0x2f) return
      else if (text.charCodeAt(at + 1) === 0x2f) {
        const [feed, back] = [text.indexOf("\n", at), text.indexOf("\r", at)]
        at = Math.min(feed === -1 ? text.length : feed, back === -1 ? text.length : back)
      } else {
        const end = text.charCodeAt(at + 1) === 0x2a ? text.indexOf("*/", at + 2) : -1
        if (end === -1) throw unusual
        at = end + 2
      }
    }
  }

  const string = (): string => {
    const from = at + 1
    for (at = from;;) {
      if (at >= text.length) throw unusual
      ordinary.lastIndex = at
      ordinary.test(text)
      at = ordinary.lastIndex
      const code = text.charCodeAt(at)
      if (code === 0x22) break
      if (code !== 0x5c) throw unusual
      at += 2
    }
    const raw = text.slice(from, at++)
    return raw.includes("\\") ? String(JSON.parse(`"${raw}"`)) : raw
  }

  const literal = <A extends Node>(word: string, node: A): A => {
    if (!text.startsWith(word, at) || /[\w$]/.test(text.charAt(at + word.length))) throw unusual
    at += word.length
    return node
  }

  /** Behind an element: true = another one follows. A comma may stand before the end. */
  const more = (end: number): boolean => {
    skip()
    const code = text.charCodeAt(at)
    if (code === 0x2c) {
      at++
      skip()
      return text.charCodeAt(at) !== end
    }
    if (code !== end) throw unusual
    return false
  }

  /** `name` is the key that it stands under. */
  const value = (depth: number, name: string): Node => {
    const offset = at
    switch (text.charCodeAt(at)) {
      case 0x7b: {
        if (depth > max_depth) throw unusual
        const members: Array<Member> = []
        const servers = depth === 2 && (name === "mcp_servers" || name === "mcpServers") && max_depth >= serverDepth
        at++
        skip()
        if (text.charCodeAt(at) !== 0x7d) {
          do {
            const key_offset = at
            if (text.charCodeAt(at) !== 0x22) throw unusual
            const key = string()
            skip()
            if (text.charCodeAt(at++) !== 0x3a) throw unusual
            skip()
            const end = servers ? endOfDisabled(text, at) : -1
            if (end === -1) members.push({ key, key_offset, value: value(depth + 1, key) })
            else {
              members.push({ key, key_offset, value: new DisabledServer(text, at, end) })
              at = end
            }
          } while (more(0x7d))
        }
        at++
        return { type: "object", offset, members }
      }
      case 0x5b: {
        if (depth > max_depth) throw unusual
        const items: Array<Node> = []
        at++
        skip()
        if (text.charCodeAt(at) !== 0x5d) {
          do items.push(value(depth + 1, ""))
          while (more(0x5d))
        }
        at++
        return { type: "array", offset, items }
      }
      case 0x22:
        return { type: "string", offset, value: string() }
      case 0x74:
        return literal("true", { type: "boolean", offset, value: true })
      case 0x66:
        return literal("false", { type: "boolean", offset, value: false })
      case 0x6e:
        return literal("null", { type: "null", offset, value: null })
      default: {
        number.lastIndex = at
        if (!number.test(text) || /[\w$.]/.test(text.charAt(number.lastIndex))) throw unusual
        at = number.lastIndex
        return { type: "number", offset, value: Number(text.slice(offset, at)) }
      }
    }
  }

  skip()
  const node = value(1, "")
  skip()
  return { node, end: at }
}

/**
 * The tree of one value with blanks, comments and trailing commas; null when the text is no such value, is nested deeper
 * than `max_depth`, or has any peculiarity.
 *
 * @since 0.1.0
 * @category decoding
 */
export const readTree = (text: string, max_depth: number): Node | null => {
  try {
    const { end, node } = readValue(text, 0, max_depth)
    return end === text.length ? node : null
  } catch {
    // an escape sequence that JSON does not know, too
    return null
  }
}
