/**
 * What of a program's stderr goes into a message about its end: its last lines, and the line that says what went wrong
 * where that stands further up, as it does above the frames of a stack.
 *
 * @since 0.1.0
 */
import * as TerminalText from "./TerminalText.ts"

/** Words of a line that tells of a fault; `Error` and `Exception` end the names of such. */
const telling =
  /(?:error|exception)\b|\b(?:fatal|cannot|can't|could not|unable to|not found|no such|denied|refused|failed|panic|panicked)\b/iu

/** npm begins all its lines with the same word. */
const opening = /^npm (?:ERR!|error)\s*/u

/** A frame of a stack, or a heading over frames. */
const frame = /^(?:at\s|File "|goroutine \d|\d+:\s|throw\s|raise\s|stack backtrace:|Traceback \()/u

/** A property of an error that was printed as an object: `code: 'ERR_NOT_FOUND',`. */
const property = /^(?:\w+|'[^']*'|"[^"]*"): (?:'.*'|".*"|`.*`|[\w-]+|\[.*|\{.*),?$/u

/** It is over when there is nothing in it to read: brackets, carets, rules. */
const legible = /[\p{L}\p{N}]/u

const isTelling = (text: string): boolean => {
  const said = text.replace(opening, "")
  return telling.test(said) && !frame.test(said) && !property.test(said)
}

const between = " | "
const gap = " \u2026 "
/** Less of a line than this is not worth showing. */
const least = 40

/**
 * At most `lines` lines and `limit` code points, in the order in which they were written, as one line that is safe to show;
 * empty = there is nothing to read in it. The last line that tells of a fault is among them, with the one below it where it
 * ends in a colon; `…` stands for what was left out between two.
 *
 * @since 0.1.0
 * @category encoding
 */
export const of = (stderr: string, { limit, lines }: { readonly lines: number; readonly limit: number }): string => {
  const all = stderr.split("\n").map((text) => text.trim()).filter((text) => legible.test(text))
  const fault = all.findLastIndex(isTelling)
  const first = fault === -1 ? [] : all[fault]?.endsWith(":") === true ? [fault, fault + 1] : [fault]
  const wanted = [...new Set([...first, ...[...all.keys()].reverse()])]
  const shown = new Map<number, string>()
  let left = limit
  for (const n of wanted) {
    const text = all[n]
    if (text === undefined) continue
    const room = left - (shown.size === 0 ? 0 : between.length)
    if (shown.size >= lines || (shown.size > 0 && room < least)) break
    const fitting = TerminalText.line(text, room)
    left = room - [...fitting].length
    shown.set(n, fitting)
  }
  return [...shown].toSorted(([a], [b]) => a - b).map(([n, text], at, row) => {
    const before = row[at - 1]
    return `${before === undefined ? "" : n - before[0] === 1 ? between : gap}${text}`
  }).join("")
}
