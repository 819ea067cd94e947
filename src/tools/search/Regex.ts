/**
 * Regular expressions of ripgrep's default engine (the syntax of Rust's regex crate) as JavaScript ones, for the search
 * without ripgrep: same patterns, same matches within one line. What the other engine does not have (look-around,
 * backreferences) is refused here too, and what cannot be said in JavaScript is refused with its name.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"

class BadRegex extends Error {}

const word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"
const boundary = `(?:(?<=[${word}])(?![${word}])|(?<![${word}])(?=[${word}]))`
const no_boundary = `(?:(?<=[${word}])(?=[${word}])|(?<![${word}])(?![${word}]))`

/**
 * Stands for a byte that is no UTF-8 in a line that is searched: like ripgrep, nothing but its own escape matches it, no
 * dot and no negated class. A line never holds it otherwise.
 *
 * @since 0.1.0
 * @category constants
 */
export const noCharacter = "\n"

const but = (set: string): string => `[${set}--\\n]`

const perl: Readonly<Record<string, string>> = {
  d: "\\p{Nd}",
  D: but("\\P{Nd}"),
  s: but("\\p{White_Space}"),
  S: "\\P{White_Space}",
  w: `[${word}]`,
  W: but(`[^${word}]`)
}

const controls: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

const posix: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\u{0}-\\u{7f}",
  blank: "\\u{9}\\u{20}",
  cntrl: "\\u{0}-\\u{1f}\\u{7f}",
  digit: "0-9",
  graph: "\\u{21}-\\u{7e}",
  lower: "a-z",
  print: "\\u{20}-\\u{7e}",
  punct: "\\u{21}-\\u{2f}\\u{3a}-\\u{40}\\u{5b}-\\u{60}\\u{7b}-\\u{7e}",
  space: "\\u{9}-\\u{d}\\u{20}",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f"
}

const point = (code: number): string => `\\u{${code.toString(16)}}`
/** A character as itself, inside or outside of a class. */
const literal = (char: string): string => /^[\p{L}\p{N}_ ]$/u.test(char) ? char : point(char.codePointAt(0) ?? 0)

const escape = (pattern: string, at: number, in_class: boolean): { readonly text: string; readonly end: number } => {
  const char = String.fromCodePoint(pattern.codePointAt(at + 1) ?? 0)
  if (at + 1 >= pattern.length) throw new BadRegex("it ends in a backslash")
  const rest = pattern.slice(at + 2)
  const known = perl[char]
  if (known !== undefined) return { text: known, end: at + 2 }
  const control = controls[char]
  if (control !== undefined) return { text: point(control), end: at + 2 }
  if (char === "p" || char === "P") {
    const braced = /^\{([^}]*)\}/u.exec(rest)
    if (braced !== null) {
      const name = (braced[1] ?? "").replace(/^\^/u, "")
      const negated = (char === "P") !== (braced[1] ?? "").startsWith("^")
      return { text: but(`\\${negated ? "P" : "p"}{${name.replace(":", "=")}}`), end: at + 2 + braced[0].length }
    }
    return { text: but(`\\${char}{${rest.charAt(0)}}`), end: at + 3 }
  }
  if (char === "x" || char === "u" || char === "U") {
    const braced = /^\{([0-9A-Fa-f]{1,8})\}/u.exec(rest)
    if (braced !== null) {
      return { text: point(Number.parseInt(braced[1] ?? "", 16)), end: at + 2 + braced[0].length }
    }
    const digits = char === "x" ? 2 : char === "u" ? 4 : 8
    const found = rest.slice(0, digits)
    if (!/^[0-9A-Fa-f]+$/u.test(found) || found.length !== digits) {
      throw new BadRegex(`\\${char} needs ${digits} hex digits`)
    }
    return { text: point(Number.parseInt(found, 16)), end: at + 2 + digits }
  }
  if (!in_class) {
    if (char === "b") return { text: boundary, end: at + 2 }
    if (char === "B") return { text: no_boundary, end: at + 2 }
    if (char === "A") return { text: "^", end: at + 2 }
    if (char === "z") return { text: "$", end: at + 2 }
    if (/[1-9]/u.test(char)) throw new BadRegex(`backreferences (\\${char}) are not supported`)
  }
  if (/[\p{L}\p{N}]/u.test(char)) throw new BadRegex(`unknown escape \\${char}`)
  return { text: literal(char), end: at + 1 + char.length }
}

/** Two classes joined by a set operation; left to right, as they come. */
const combine = (left: string, operation: string, right: string): string =>
  operation === "~~" ? `[[${left}--${right}][${right}--${left}]]` : `[${left}${operation}${right}]`

const charClass = (pattern: string, start: number): { readonly text: string; readonly end: number } => {
  let at = start + 1
  const negated = pattern[at] === "^"
  if (negated) at++
  let before: { readonly set: string; readonly operation: string } | undefined
  let set = ""
  let items = 0
  const closed = (): string => before === undefined ? `[${set}]` : combine(before.set, before.operation, `[${set}]`)
  for (let first = true; at < pattern.length; first = false) {
    const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0)
    if (char === "]" && !first) return { text: negated ? but(`[^${closed()}]`) : closed(), end: at + 1 }
    const operation = pattern.slice(at, at + 2)
    if (char === "[") {
      const named = /^\[:(\^?)([a-z]+):\]/u.exec(pattern.slice(at))
      if (named === null) {
        const inner = charClass(pattern, at)
        set += inner.text
        at = inner.end
      } else {
        const body = posix[named[2] ?? ""]
        if (body === undefined) throw new BadRegex(`unknown class ${named[0]}`)
        set += named[1] === "^" ? but(`[^${body}]`) : `[${body}]`
        at += named[0].length
      }
    } else if (char === "\\") {
      const found = escape(pattern, at, true)
      set += found.text
      at = found.end
    } else if (operation === "&&" || operation === "--" || operation === "~~") {
      before = { set: closed(), operation }
      set = ""
      items = -1
      at += 2
    } else if (char === "-") {
      // A range stands between two characters; at either end it is itself.
      set += items === 0 || pattern[at + 1] === "]" ? literal(char) : "-"
      at++
    } else {
      set += literal(char)
      at += char.length
    }
    items++
  }
  throw new BadRegex("a [ is not closed")
}

/** Left = what is wrong, in words. @since 0.1.0 @category constructors */
export const toJavaScript = (pattern: string): Either.Either<RegExp, string> => {
  try {
    let flags = "v"
    let at = 0
    const inline = /^\(\?([a-zA-Z]+)\)/u.exec(pattern)
    if (inline !== null) {
      for (const flag of inline[1] ?? "") {
        if (flag === "i") flags += flags.includes("i") ? "" : "i"
        else if (flag !== "s" && flag !== "m" && flag !== "u") throw new BadRegex(`the flag (?${flag}) needs ripgrep`)
      }
      at = inline[0].length
    }
    let out = ""
    while (at < pattern.length) {
      const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0)
      if (char === "\\") {
        const found = escape(pattern, at, false)
        out += found.text
        at = found.end
      } else if (char === "[") {
        const found = charClass(pattern, at)
        out += found.text
        at = found.end
      } else if (char === "(" && pattern[at + 1] === "?") {
        const open = /^\(\?(?::|P?<([A-Za-z_]\w*)>)/u.exec(pattern.slice(at))
        if (open === null) {
          throw new BadRegex(
            /^\(\?<?[=!]/u.test(pattern.slice(at))
              ? "look-around is not supported"
              : "flags inside of a pattern need ripgrep; put (?i) in front"
          )
        }
        out += open[1] === undefined ? "(?:" : `(?<${open[1]}>`
        at += open[0].length
      } else if (char === "]" || char === "}") {
        out += `\\${char}`
        at++
      } else if (char === "{") {
        const counted = /^\{\d+(?:,\d*)?\}/u.exec(pattern.slice(at))
        if (counted === null) {
          throw new BadRegex("a { must begin a repetition such as {2,5}; for the character write \\{")
        }
        out += counted[0]
        at += counted[0].length
      } else if (char === ".") {
        out += "[^\\n]"
        at++
      } else if (/[\^$*+?()|]/u.test(char)) {
        out += char
        at++
      } else {
        out += literal(char)
        at += char.length
      }
    }
    return Either.right(new RegExp(out, flags))
  } catch (error) {
    if (error instanceof BadRegex) return Either.left(error.message)
    if (error instanceof SyntaxError) {
      return Either.left(error.message.replace(/^Invalid regular expression: \/.*\/\w*: /su, "").toLowerCase())
    }
    throw error
  }
}

/** The pattern speaks of a line break, which a search line by line can never find. @since 0.1.0 @category combinators */
export const spansLines = (pattern: string): boolean => pattern.includes("\n") || /(?<!\\)(?:\\\\)*\\n/u.test(pattern)

/**
 * The same pattern for any release of ripgrep: escapes of characters that need none (`\/`, `\"`), which older ones
 * refuse, are written without.
 *
 * @since 0.1.0
 * @category combinators
 */
export const portable = (pattern: string): string =>
  pattern.replaceAll(/\\([^])/gu, (whole, char: string) => /["'/,:;<>=!@%`_ ]/u.test(char) ? char : whole)
