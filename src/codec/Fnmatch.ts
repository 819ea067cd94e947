/**
 * Shell globs over names: CPython's `fnmatch.fnmatchcase` over code points (reading 7.3).
 *
 * `*` any run, `?` one code point, `[...]` a class, `[!...]` its complement, `]` first in a class is literal, a reversed
 * range matches nothing, an unclosed `[` is literal. No escapes, no braces, no path rules. The whole string must match.
 * Own matcher without regular expressions: worst case pattern length times name length.
 *
 * @since 0.1.0
 */

type Token =
  | { readonly kind: "literal"; readonly code: number }
  | { readonly kind: "any" }
  | { readonly kind: "run" }
  | { readonly kind: "class"; readonly negated: boolean; readonly ranges: ReadonlyArray<readonly [number, number]> }

const codePoints = (text: string): ReadonlyArray<number> => {
  const out: Array<number> = []
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) ?? 0
    out.push(code)
    if (code > 0xffff) i++
  }
  return out
}

const OPEN = 0x5b
const CLOSE = 0x5d
const BANG = 0x21
const DASH = 0x2d

/** Chunks between the hyphens that separate ranges, as CPython splits them, then pairs of ends. */
const classRanges = (body: ReadonlyArray<number>): ReadonlyArray<readonly [number, number]> => {
  const ranges: Array<readonly [number, number]> = []
  let i = 0
  while (i < body.length) {
    const low = body[i] ?? 0
    const high = body[i + 2]
    if (body[i + 1] === DASH && high !== undefined) {
      if (low <= high) ranges.push([low, high])
      i += 3
    } else {
      ranges.push([low, low])
      i++
    }
  }
  return ranges
}

const tokenise = (pattern: string): ReadonlyArray<Token> => {
  const points = codePoints(pattern)
  const tokens: Array<Token> = []
  let i = 0
  while (i < points.length) {
    const code = points[i] ?? 0
    i++
    if (code === 0x2a) {
      if (tokens.at(-1)?.kind !== "run") tokens.push({ kind: "run" })
    } else if (code === 0x3f) tokens.push({ kind: "any" })
    else if (code === OPEN) {
      let end = i
      if (points[end] === BANG) end++
      if (points[end] === CLOSE) end++
      while (end < points.length && points[end] !== CLOSE) end++
      if (end >= points.length) {
        tokens.push({ kind: "literal", code })
        continue
      }
      const negated = points[i] === BANG
      tokens.push({ kind: "class", negated, ranges: classRanges(points.slice(negated ? i + 1 : i, end)) })
      i = end + 1
    } else tokens.push({ kind: "literal", code })
  }
  return tokens
}

const matchesOne = (token: Token, code: number): boolean => {
  switch (token.kind) {
    case "literal":
      return token.code === code
    case "any":
      return true
    case "run":
      return false
    case "class":
      return token.ranges.some(([low, high]) => low <= code && code <= high) !== token.negated
  }
}

const matchTokens = (tokens: ReadonlyArray<Token>, name: ReadonlyArray<number>): boolean => {
  let t = 0
  let n = 0
  let star = -1
  let mark = 0
  while (n < name.length) {
    const token = tokens[t]
    if (token !== undefined && token.kind !== "run" && matchesOne(token, name[n] ?? 0)) {
      t++
      n++
    } else if (token?.kind === "run") {
      star = t++
      mark = n
    } else if (star >= 0) {
      t = star + 1
      n = ++mark
    } else return false
  }
  while (tokens[t]?.kind === "run") t++
  return t === tokens.length
}

/** A matcher for many names. Literal patterns and `prefix*` are compared without walking. @since 0.1.0 @category constructors */
export const compile = (pattern: string): (name: string) => boolean => {
  const special = pattern.search(/[*?[]/)
  if (special < 0) return (name) => name === pattern
  if (pattern === "*") return () => true
  if (special === pattern.length - 1 && pattern.endsWith("*")) {
    const prefix = pattern.slice(0, -1)
    return (name) => name.startsWith(prefix)
  }
  const prefix = pattern.slice(0, special)
  const tokens = tokenise(pattern)
  return (name) => name.startsWith(prefix) && matchTokens(tokens, codePoints(name))
}

/** @since 0.1.0 @category combinators */
export const fnmatchcase = (name: string, pattern: string): boolean => compile(pattern)(name)
