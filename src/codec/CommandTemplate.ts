/**
 * The text of a command of the user's own: what in it is a shell line or a file to insert, and where its arguments go.
 * Pure. Inserts are found in the template, never in an argument, and not in fenced code.
 *
 * | in the text | stands for |
 * | --- | --- |
 * | `!` and a line in backticks, at the start of a line or behind a blank | what the line prints |
 * | `@path` with a `/`, a `.` or a `$` in it, in the same places | the file |
 * | `$ARGUMENTS`, `$1` to `$9` | what was typed behind the name, its words; `\$` is a dollar |
 *
 * @since 0.1.0
 */
import { withoutTrailing } from "./Trailing.ts"

/** `line` counts from 1 in the template. @since 0.1.0 @category models */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "shell"; readonly command: string; readonly line: number }
  | { readonly kind: "file"; readonly path: string; readonly line: number }

/** What was typed behind the name, and its words. @since 0.1.0 @category models */
export interface Arguments {
  readonly raw: string
  readonly words: ReadonlyArray<string>
}

const insert = /(^|[ \t(>])(?:!`([^`\n]+)`|@([^\s`'"<>|;]+))/g

const fence = /^ {0,3}(`{3,}|~{3,})/

/** A name behind an `@`: with neither a slash, a dot nor a variable in it, it is a mention of somebody. */
const pathIn = (text: string): string | null => {
  const path = withoutTrailing(text, ".,;:!?)]}*_")
  return /[./$]/.test(path) && !path.includes(":") && !path.startsWith("@") ? path : null
}

/** The pieces of a template, in order; the texts joined with the inserts are the whole. @since 0.1.0 @category decoding */
export const parse = (body: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let text = ""
  let closing = ""
  const lines = body.split("\n")
  lines.forEach((line, index) => {
    if (index > 0) text += "\n"
    const found = fence.exec(line)?.[1]
    if (found !== undefined) {
      if (closing === "") closing = found
      else if (found.startsWith(closing) && line.trim() === found) closing = ""
      text += line
      return
    }
    if (closing !== "") {
      text += line
      return
    }
    let from = 0
    for (const match of line.matchAll(insert)) {
      const [whole, before = "", command, name] = match
      const start = match.index + before.length
      const path = name === undefined ? null : pathIn(name)
      if (path === null && (command === undefined || command.trim() === "")) continue
      text += line.slice(from, start)
      if (text !== "") pieces.push({ kind: "text", text })
      text = ""
      if (command !== undefined) {
        pieces.push({ kind: "shell", command: command.trim(), line: index + 1 })
        from = match.index + whole.length
      } else if (path !== null) {
        pieces.push({ kind: "file", path, line: index + 1 })
        from = start + 1 + path.length
      }
    }
    text += line.slice(from)
  })
  if (text !== "") pieces.push({ kind: "text", text })
  return pieces
}

/**
 * Words as a shell splits them, as far as people mean it: a quote counts at the start of a word and when it closes at the
 * end of one, so that `don't` is a word; a backslash takes the blank or quote behind it literally.
 *
 * @since 0.1.0
 * @category decoding
 */
export const split = (raw: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  let at = 0
  while (at < raw.length) {
    if (/\s/.test(raw[at] ?? "")) {
      at++
      continue
    }
    const quote = raw[at]
    if (quote === "'" || quote === "\"") {
      let text = ""
      let end = at + 1
      for (; end < raw.length && raw[end] !== quote; end++) {
        if (quote === "\"" && raw[end] === "\\" && /["\\]/.test(raw[end + 1] ?? "")) end++
        text += raw[end] ?? ""
      }
      if (end < raw.length && /^(?:\s|$)/.test(raw[end + 1] ?? "")) {
        words.push(text)
        at = end + 1
        continue
      }
    }
    let word = ""
    for (; at < raw.length && !/\s/.test(raw[at] ?? ""); at++) {
      if (raw[at] === "\\" && /[\s"'\\]/.test(raw[at + 1] ?? "")) at++
      word += raw[at] ?? ""
    }
    words.push(word)
  }
  return words
}

/** @since 0.1.0 @category constructors */
export const argumentsOf = (raw: string): Arguments => ({ raw: raw.trim(), words: split(raw) })

const variable = /\\\$|\$(ARGUMENTS(?![A-Za-z0-9_])|[1-9])/g

/** Whether the template says where its arguments go. @since 0.1.0 @category combinators */
export const takesArguments = (pieces: ReadonlyArray<Piece>): boolean =>
  pieces.some((piece) => {
    const text = piece.kind === "text" ? piece.text : piece.kind === "shell" ? piece.command : piece.path
    return [...text.matchAll(variable)].some(([, name]) => name !== undefined)
  })

const valueOf = (name: string, { raw, words }: Arguments): string =>
  name === "ARGUMENTS" ? raw : words[Number(name) - 1] ?? ""

/** Arguments put into a text, as they were typed. @since 0.1.0 @category combinators */
export const fill = (text: string, given: Arguments): string =>
  text.replace(variable, (_, name: string | undefined) => name === undefined ? "$" : valueOf(name, given))

const single = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** How the shell reads the place an argument stands in. */
type Quoting = "plain" | "single" | "double"

const quotedFor = (quoting: Quoting, name: string, given: Arguments): string => {
  switch (quoting) {
    case "plain":
      return name === "ARGUMENTS" ? given.words.map(single).join(" ") : single(valueOf(name, given))
    case "single":
      return valueOf(name, given).replaceAll("'", "'\\''")
    case "double":
      return valueOf(name, given).replaceAll(/[\\"$`]/g, "\\$&")
  }
}

/** Forms in which it takes more than a look at quotes and parentheses to say how the shell reads a place. */
const unclear = /\$[{'[]|\$\$|\(\(|(?<!<)<<(?!<)|(?:^|[\s;&|(])case\s/

/**
 * Arguments put into a shell line, quoted for the place each of them stands in: whatever they hold, they are words of a
 * command and never a part of its grammar. `$ARGUMENTS` outside of quotes is its words.
 *
 * @since 0.1.0
 * @category combinators
 */
export const fillShell = (
  command: string,
  given: Arguments
): { readonly command: string } | { readonly problem: string } => {
  if (unclear.test(command) && takesArguments([{ kind: "shell", command, line: 1 }])) {
    return {
      problem:
        "no argument can be put safely beside ${...}, $'...', $[...], $$, ((...)), << or case; write the line without them"
    }
  }
  const stack: Array<Quoting> = ["plain"]
  let out = ""
  for (let at = 0; at < command.length; at++) {
    const character = command[at] ?? ""
    const quoting = stack.at(-1) ?? "plain"
    const found = character === "$"
      ? /^\$(ARGUMENTS(?![A-Za-z0-9_])|[1-9])/.exec(command.slice(at, at + 11))?.[1]
      : undefined
    if (found !== undefined) {
      // A line break would end a comment, a NUL the whole line.
      if (/[\0\n\r]/.test(valueOf(found, given))) {
        return { problem: `$${found} has a line break in it, which cannot go into a shell line` }
      }
      out += quotedFor(quoting, found, given)
      at += found.length
      continue
    }
    out += character
    const next = command[at + 1]
    if (quoting === "single") {
      if (character === "'") stack.pop()
      continue
    }
    if (character === "\\") {
      if (next !== undefined) {
        out += next
        at++
      }
      continue
    }
    if (character === "\"") {
      if (quoting === "double") stack.pop()
      else stack.push("double")
    } else if (character === "$" && next === "(") {
      out += next
      at++
      stack.push("plain")
    } else if (quoting === "plain") {
      if (character === "'") stack.push("single")
      else if (character === "(") stack.push("plain")
      else if (character === ")" && stack.length > 1) stack.pop()
    }
  }
  return { command: out }
}
