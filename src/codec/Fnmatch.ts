/**
 * Globs over names: the language of Python's `fnmatch.fnmatchcase` (reading 7.3), over code points, whole string, case
 * kept. `*` is any run, dots, slashes and newlines too; `?` one code point; `[...]` a class, `[!...]` its complement.
 * There is no escape and nothing else is special: not `^`, braces, `\`, nor an unclosed `[`.
 *
 * @since 0.1.0
 */

/** Code point ranges, both ends included. @internal */
interface CharacterClass {
  readonly negated: boolean
  readonly ranges: ReadonlyArray<readonly [number, number]>
}

type Token = number | CharacterClass

const any = -1
const star = -2

const bang = 0x21
const asterisk = 0x2a
const hyphen = 0x2d
const question = 0x3f
const opening = 0x5b
const closing = 0x5d

const codePoints = (text: string): ReadonlyArray<number> => Array.from(text, (char) => char.codePointAt(0) ?? 0)

/**
 * The class between `[` and `]`. The body is cut at the hyphens that join two characters; a range that runs backwards
 * is taken out together with its ends. What stands first afterwards decides about negation.
 */
const parseClass = (body: ReadonlyArray<number>): Token => {
  const parts: Array<ReadonlyArray<number>> = []
  let from = 0
  let at = body.indexOf(hyphen, body[0] === bang ? 2 : 1)
  while (at !== -1) {
    parts.push(body.slice(from, at))
    from = at + 1
    at = body.indexOf(hyphen, at + 3)
  }
  const rest = body.slice(from)
  if (rest.length > 0) parts.push(rest)
  else parts.push([...(parts.pop() ?? []), hyphen])

  for (let i = parts.length - 1; i > 0; i--) {
    const left = parts[i - 1] ?? []
    const right = parts[i] ?? []
    if ((left.at(-1) ?? 0) > (right[0] ?? 0)) parts.splice(i - 1, 2, [...left.slice(0, -1), ...right.slice(1)])
  }

  const negated = parts[0]?.[0] === bang
  const ranges: Array<readonly [number, number]> = []
  parts.forEach((part, i) => {
    const next = parts[i + 1]
    const last = part.length - 1
    part.forEach((point, k) => {
      if ((i === 0 && k === 0 && negated) || (i > 0 && k === 0)) return
      if (k < last || next === undefined) ranges.push([point, point])
    })
    if (next !== undefined) ranges.push([part[last] ?? 0, next[0] ?? 0])
  })
  return { negated, ranges }
}

const parse = (pattern: string): ReadonlyArray<Token> => {
  const points = codePoints(pattern)
  const tokens: Array<Token> = []
  let i = 0
  while (i < points.length) {
    const point = points[i++] ?? 0
    if (point === asterisk) {
      if (tokens.at(-1) !== star) tokens.push(star)
    } else if (point === question) tokens.push(any)
    else if (point === opening) {
      let end = i
      if (points[end] === bang) end++
      if (points[end] === closing) end++
      while (end < points.length && points[end] !== closing) end++
      if (end >= points.length) tokens.push(opening)
      else {
        tokens.push(parseClass(points.slice(i, end)))
        i = end + 1
      }
    } else tokens.push(point)
  }
  return tokens
}

const accepts = (token: Token, point: number): boolean => {
  if (typeof token === "number") return token === point || token === any
  for (const [low, high] of token.ranges) if (low <= point && point <= high) return !token.negated
  return token.negated
}

const width = (point: number): number => point > 0xffff ? 2 : 1

/** Goes back only to the last star: pattern times name steps at worst. */
const matches = (tokens: ReadonlyArray<Token>, name: string, fromToken: number, fromUnit: number): boolean => {
  let t = fromToken
  let i = fromUnit
  let starToken = -1
  let starUnit = 0
  while (i < name.length) {
    const token = tokens[t]
    const point = name.codePointAt(i) ?? 0
    if (token === star) {
      if (t === tokens.length - 1) return true
      starToken = t++
      starUnit = i
    } else if (token !== undefined && accepts(token, point)) {
      t++
      i += width(point)
    } else if (starToken !== -1) {
      starUnit += width(name.codePointAt(starUnit) ?? 0)
      i = starUnit
      t = starToken + 1
    } else return false
  }
  return t === tokens.length || (t === tokens.length - 1 && tokens[t] === star)
}

/** The runs of literal characters, in order. */
const literalParts = (tokens: ReadonlyArray<Token>): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let open = false
  for (const token of tokens) {
    const literal = typeof token === "number" && token >= 0
    if (literal) {
      const text = String.fromCodePoint(token)
      if (open) parts[parts.length - 1] += text
      else parts.push(text)
    }
    open = literal
  }
  return parts
}

/** A beginning, then parts in their order with anything between; the last one ends the name unless `open`. */
const between = (literal: string, parts: ReadonlyArray<string>, open: boolean): (name: string) => boolean => {
  const last = open ? "" : parts.at(-1) ?? ""
  const inner = open ? parts : parts.slice(0, -1)
  return (name) => {
    if (!name.startsWith(literal) || !name.endsWith(last)) return false
    const end = name.length - last.length
    let at = literal.length
    if (end < at) return false
    for (const part of inner) {
      const found = name.indexOf(part, at)
      if (found === -1 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}

/**
 * Reads a pattern once; the result answers for a name. Every pattern is valid.
 *
 * @example
 * compile("mcp__*__read")("mcp__files__read") // true
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (pattern: string): (name: string) => boolean => {
  const tokens = parse(pattern)
  const special = tokens.findIndex((token) => typeof token !== "number" || token < 0)
  if (special === -1) return (name) => name === pattern
  const literal = tokens.slice(0, special).map((token) => String.fromCodePoint(token as number)).join("")
  // Half a surrogate pair at the end of the literal would also match the first half of a whole one.
  const last = literal.charCodeAt(literal.length - 1)
  if (last >= 0xd800 && last <= 0xdbff) return (name) => matches(tokens, name, 0, 0)
  if (tokens[special] === star && special === tokens.length - 1) return (name) => name.startsWith(literal)
  // Without halves of pairs in the pattern, its literal parts can be searched for by UTF-16 units.
  if (/[\ud800-\udfff]/.test(pattern)) {
    return (name) => name.startsWith(literal) && matches(tokens, name, special, literal.length)
  }
  const parts = literalParts(tokens)
  if (tokens.every((token) => token === star || (typeof token === "number" && token >= 0))) {
    return between(literal, parts.slice(literal === "" ? 0 : 1), tokens.at(-1) === star)
  }
  const needed = parts.reduce((longest, part) => part.length > longest.length ? part : longest, "")
  return (name) => name.startsWith(literal) && name.includes(needed) && matches(tokens, name, special, literal.length)
}

/**
 * What a pattern holds that is hardly meant: a `[` without its `]`, which is a plain character (`open`); a class without
 * characters, which nothing matches (`empty`).
 *
 * @since 0.1.0
 * @category combinators
 */
export const flaw = (pattern: string): "open" | "empty" | null => {
  const tokens = parse(pattern)
  // every other `[` begins a class
  return tokens.includes(opening)
    ? "open"
    : tokens.some((token) => typeof token !== "number" && !token.negated && token.ranges.length === 0)
    ? "empty"
    : null
}

/** `compile(pattern)(name)`, for a pattern that is used once. @since 0.1.0 @category combinators */
export const fnmatchcase = (name: string, pattern: string): boolean => compile(pattern)(name)
