/**
 * Reads TOML 1.0: settings of other programs. Pure; never throws, whatever the text.
 *
 * @since 0.1.0
 */

/** Dates and times are the text that stands there; integers beyond 2^53 lose digits. @since 0.1.0 @category models */
export type TomlValue = string | number | boolean | ReadonlyArray<TomlValue> | TomlTable

/** Without prototype: `__proto__` is a key like any other. @since 0.1.0 @category models */
export interface TomlTable {
  readonly [key: string]: TomlValue
}

/** `offset`: UTF-16 units from the beginning. @since 0.1.0 @category models */
export type TomlResult = { readonly ok: TomlTable } | { readonly problem: string; readonly offset: number }

/** Deepest nesting of arrays, inline tables and keys. */
const maxDepth = 200

type Mutable = { [key: string]: TomlValue | Mutable | Array<TomlValue | Mutable> }

/** How a table came to be decides who may add to it. `header`: by `[a]`; `path`: on the way to one; `dotted`: by `a.b = 1`. */
type Origin = "header" | "path" | "dotted"

class Fault {
  readonly message: string
  readonly offset: number
  constructor(message: string, offset: number) {
    this.message = message
    this.offset = offset
  }
}

const bare = /[A-Za-z0-9_-]+/y
const special = /[+-]?(?:inf|nan)/y
const prefixed = /0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*/y
const decimal = /[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?/y
const moment =
  /[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?)?|[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?/y
/** A backslash at the end of a line takes it and the blanks behind it away. */
const continued = /\\[ \t]*\r?\n(?:[ \t\n]|\r\n)*/y
const escapes: Readonly<Record<string, string>> = {
  b: "\b",
  t: "\t",
  n: "\n",
  f: "\f",
  r: "\r",
  "\"": "\"",
  "\\": "\\"
}

const isTable = (value: unknown): value is Mutable =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isControl = (code: number): boolean => (code < 0x20 && code !== 0x09) || code === 0x7f

const numberOf = (text: string): number => {
  const plain = text.replaceAll("_", "")
  const bareText = plain.replace(/^[+-]/, "")
  if (bareText === "inf") return plain.startsWith("-") ? -Infinity : Infinity
  return bareText === "nan" ? Number.NaN : Number(plain)
}

/** @since 0.1.0 @category decoding */
export const parse = (source: string): TomlResult => {
  const text = source.startsWith("\uFEFF") ? source.slice(1) : source
  const root: Mutable = Object.create(null) as Mutable
  const origins = new WeakMap<object, Origin>([[root, "header"]])
  /** Arrays of tables, which `[[a]]` may add to. */
  const open = new WeakSet<object>()
  let at = 0

  const fail = (message: string, offset = at): never => {
    throw new Fault(message, offset)
  }
  const has = (table: Mutable, key: string): boolean => Object.hasOwn(table, key)
  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? null
    if (found !== null) at += found.length
    return found
  }
  const blanks = (): void => {
    while (text[at] === " " || text[at] === "\t") at++
  }
  const comment = (): void => {
    if (text[at] !== "#") return
    while (at < text.length && text[at] !== "\n" && !(text[at] === "\r" && text[at + 1] === "\n")) {
      if (isControl(text.charCodeAt(at))) fail("a control character in a comment")
      at++
    }
  }
  const newline = (): boolean => {
    if (text[at] === "\n") at++
    else if (text[at] === "\r" && text[at + 1] === "\n") at += 2
    else return false
    return true
  }
  /** Blanks, comments and ends of lines. */
  const gap = (): void => {
    do {
      blanks()
      comment()
    } while (newline())
  }
  const endOfLine = (): void => {
    blanks()
    comment()
    if (at < text.length && !newline()) fail("something stands behind the value on this line")
  }

  const escaped = (): string => {
    const char = text[at + 1] ?? ""
    if (char === "u" || char === "U") {
      const length = char === "u" ? 4 : 8
      const digits = text.slice(at + 2, at + 2 + length)
      const code = /^[0-9A-Fa-f]+$/.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : -1
      if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) fail(`\\${char} names no character`)
      at += 2 + length
      return String.fromCodePoint(code)
    }
    const found = Object.hasOwn(escapes, char) ? escapes[char] : undefined
    if (found === undefined) return fail("this escape sequence is not known")
    at += 2
    return found
  }

  const shortString = (quote: string): string => {
    const from = at++
    let value = ""
    for (;;) {
      const char = text[at]
      if (char === undefined || char === "\n") return fail("this text is not closed on its line", from)
      if (char === quote) break
      if (isControl(text.charCodeAt(at))) fail("a control character in a text must be escaped")
      if (char === "\\" && quote === "\"") value += escaped()
      else {
        value += char
        at++
      }
    }
    at++
    return value
  }

  const longString = (quote: string): string => {
    const from = at
    const mark = quote.repeat(3)
    at += 3
    newline()
    let value = ""
    for (;;) {
      const char = text[at]
      if (char === undefined) return fail("this text is not closed", from)
      if (text.startsWith(mark, at)) {
        // up to two quotes may stand before the three that end it
        let more = 0
        while (more < 2 && text[at + 3 + more] === quote) more++
        at += 3 + more
        return value + quote.repeat(more)
      }
      if (char === "\\" && quote === "\"") {
        if (match(continued) === null) value += escaped()
      } else if (newline()) value += "\n"
      else {
        if (isControl(text.charCodeAt(at))) fail("a control character in a text must be escaped")
        value += char
        at++
      }
    }
  }

  const key = (): string => {
    const char = text[at]
    if (char === "\"" || char === "'") return shortString(char)
    return match(bare) ?? fail("a key is missing here")
  }
  const keys = (): ReadonlyArray<string> => {
    const found = [key()]
    for (;;) {
      blanks()
      if (text[at] !== ".") return found
      at++
      blanks()
      found.push(key())
      if (found.length > maxDepth) fail(`more than ${maxDepth} levels`)
    }
  }

  /** Adds `a.b.c = value` to a table. */
  const assign = (table: Mutable, depth: number): void => {
    const offset = at
    const path = keys()
    if (text[at] !== "=") fail("an equals sign is missing here")
    at++
    blanks()
    let target = table
    for (const name of path.slice(0, -1)) {
      const inner = has(target, name) ? target[name] : undefined
      if (inner === undefined) {
        const made = Object.create(null) as Mutable
        origins.set(made, "dotted")
        target[name] = made
        target = made
      } else if (isTable(inner) && origins.get(inner) === "dotted") target = inner
      else fail(`${name} is there already`, offset)
    }
    const last = path.at(-1) ?? ""
    if (has(target, last)) fail(`${last} is there already`, offset)
    target[last] = value(depth + path.length)
  }

  const value = (depth: number): TomlValue | Mutable | Array<TomlValue | Mutable> => {
    if (depth > maxDepth) fail(`more than ${maxDepth} levels`)
    const char = text[at] ?? ""
    if (char === "\"" || char === "'") {
      return text.startsWith(char.repeat(3), at) ? longString(char) : shortString(char)
    }
    if (char === "[") {
      const items: Array<TomlValue | Mutable> = []
      at++
      for (;;) {
        gap()
        if (text[at] === "]") break
        items.push(value(depth + 1) as TomlValue | Mutable)
        gap()
        if (text[at] === ",") at++
        else if (text[at] !== "]") fail("a comma or a closing bracket ] is missing here")
      }
      at++
      return items
    }
    if (char === "{") {
      const table = Object.create(null) as Mutable
      at++
      blanks()
      if (text[at] !== "}") {
        for (;;) {
          blanks()
          assign(table, depth + 1)
          blanks()
          if (text[at] !== ",") break
          at++
        }
      }
      if (text[at] !== "}") fail("a comma or a closing brace } is missing here")
      at++
      close(table)
      return table
    }
    const from = at
    const date = match(moment)
    if (date !== null) return ended(date, from)
    const word = match(/true|false/y)
    if (word !== null) return ended(word === "true", from)
    const number = match(special) ?? match(prefixed) ?? match(decimal)
    return number === null ? fail("this is no value (texts need quotes)") : ended(numberOf(number), from)
  }

  const ended = <A>(found: A, from: number): A =>
    at < text.length && !/[\s,\]}#]/.test(text[at] ?? "") ? fail("this is no value (texts need quotes)", from) : found

  /** Nothing is added to an inline table, nor to those in it, once it has ended. */
  const close = (table: Mutable): void => {
    origins.delete(table)
    for (const inner of Object.values(table)) if (isTable(inner)) close(inner)
  }

  /** The table of `[a.b]` or `[[a.b]]`. */
  const header = (): Mutable => {
    const offset = at
    const many = text.startsWith("[[", at)
    at += many ? 2 : 1
    blanks()
    const path = keys()
    if (!text.startsWith(many ? "]]" : "]", at)) fail("a closing bracket ] is missing here")
    at += many ? 2 : 1
    const last = path.at(-1) ?? ""
    let target = root
    for (const name of path.slice(0, -1)) {
      const found = has(target, name) ? target[name] : undefined
      const inner: unknown = Array.isArray(found) && open.has(found) ? found.at(-1) : found
      if (inner === undefined) {
        const made = Object.create(null) as Mutable
        origins.set(made, "path")
        target[name] = made
        target = made
      } else if (isTable(inner) && origins.has(inner)) target = inner
      else fail(`${name} is there already and cannot be added to`, offset)
    }
    const found = has(target, last) ? target[last] : undefined
    if (!many && isTable(found) && origins.get(found) === "path") {
      origins.set(found, "header")
      return found
    }
    const made = Object.create(null) as Mutable
    origins.set(made, "header")
    if (many && Array.isArray(found) && open.has(found)) found.push(made)
    else if (found !== undefined) fail(`${last} is there already`, offset)
    else if (many) {
      const tables = [made]
      open.add(tables)
      target[last] = tables
    } else target[last] = made
    return made
  }

  try {
    let table = root
    for (;;) {
      gap()
      if (at >= text.length) return { ok: root as TomlTable }
      if (text[at] === "[") table = header()
      else assign(table, 1)
      endOfLine()
    }
  } catch (fault) {
    if (fault instanceof Fault) return { problem: fault.message, offset: fault.offset }
    throw fault
  }
}
