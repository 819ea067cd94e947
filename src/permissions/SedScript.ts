/**
 * Whether a sed script surely runs nothing and writes no file (reading 7.6). A script that is not understood to its end
 * does not count as one that is quiet. Pure.
 *
 * @since 0.1.0
 */
import type { ShellWord } from "./ShellWords.ts"

/** `brackets`: a delimiter between square brackets ends nothing; programs differ, so both readings must be quiet. */
const quiet = (script: string, brackets: boolean): boolean => {
  let at = 0
  const peek = (): string => script[at] ?? ""
  const skip = (chars: RegExp): void => {
    while (at < script.length && chars.test(peek())) at++
  }
  /** To the end of the line, escaped newlines taken along. */
  const line = (): void => {
    for (; at < script.length && peek() !== "\n"; at++) if (peek() === "\\") at++
  }
  /** Up to and with the delimiter. */
  const until = (delimiter: string, regex: boolean): boolean => {
    let opened = -1
    for (; at < script.length; at++) {
      const char = peek()
      if (char === "\\") {
        at++
        continue
      }
      if (opened >= 0) {
        const first = script[opened + 1] === "^" ? opened + 2 : opened + 1
        if (char === "]" && at > first) opened = -1
        continue
      }
      if (char === delimiter) {
        at++
        return true
      }
      if (char === "\n") return false
      if (char === "[" && regex && brackets) opened = at
    }
    return false
  }
  const delimited = (parts: number): boolean => {
    const delimiter = peek()
    if (delimiter === "" || delimiter === "\n" || delimiter === "\\") return false
    at++
    for (let part = 0; part < parts; part++) if (!until(delimiter, part === 0)) return false
    return true
  }
  const address = (): boolean => {
    const char = peek()
    if (char === "$") at++
    else if (/\d/.test(char)) skip(/[\d~]/)
    else if (char === "/" || char === "\\") {
      if (char === "\\") at++
      if (!delimited(1)) return false
      skip(/[IM]/)
    }
    return true
  }
  while (at < script.length) {
    skip(/[\s;]/)
    if (at >= script.length) break
    if (!address()) return false
    skip(/[ \t]/)
    if (peek() === ",") {
      at++
      skip(/[ \t+~]/)
      if (!address()) return false
    }
    skip(/[ \t!]/)
    const command = peek()
    at++
    if (command === "{") continue
    else if (/^[aic#rRv]$/.test(command)) line()
    else if (/^[btT:]$/.test(command)) skip(/[^;\n}]/)
    else if (command === "s") {
      if (!delimited(2)) return false
      skip(/[gpiImM0-9]/)
    } else if (command === "y") {
      if (!delimited(2)) return false
    } else if (/^[lLqQ]$/.test(command)) skip(/[ \t\d]/)
    else if (!/^[}=dDgGhHnNpPxzF]$/.test(command)) return false
    skip(/[ \t]/)
    if (at < script.length && !/[;\n}#]/.test(peek())) return false
  }
  return true
}

const longOptions =
  /^--(?:quiet|silent|null-data|zero-terminated|regexp-extended|separate|unbuffered|posix|debug|sandbox|follow-symlinks|help|version|in-place(?:=.*)?|line-length=\d+)$/s

/** @since 0.1.0 @category combinators */
export const sedIsQuiet = (rest: ReadonlyArray<ShellWord>): boolean => {
  const scripts: Array<string> = []
  const operands: Array<ShellWord> = []
  const script = (word: ShellWord | undefined, text = word?.text): boolean => {
    if (word === undefined || word.known !== null || text === undefined) return false
    scripts.push(text)
    return true
  }
  let only_operands = false
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at]
    if (word === undefined) break
    const { text } = word
    if (only_operands || !/^-./s.test(text)) {
      operands.push(word)
      continue
    }
    if (word.known !== null) return false
    if (text === "--") only_operands = true
    else if (text === "--expression") {
      if (!script(rest[++at])) return false
    } else if (text.startsWith("--expression=")) script(word, text.slice("--expression=".length))
    else if (text.startsWith("--")) {
      if (!longOptions.test(text)) return false
    } else {
      const valued = /^-[nrEsuzb]*([eil])([\s\S]*)$/.exec(text)
      if (valued === null) {
        if (!/^-[nrEsuzb]+$/.test(text)) return false
      } else if (valued[1] === "e") {
        if (valued[2] === "" ? !script(rest[++at]) : !script(word, valued[2])) return false
      } else if (valued[1] === "l" && valued[2] === "") at++
    }
  }
  if (scripts.length === 0) {
    const [first] = operands
    if (first === undefined) return true
    if (!script(first)) return false
  }
  const whole = scripts.join("\n")
  return whole.length <= 16_384 && quiet(whole, false) && quiet(whole, true)
}
