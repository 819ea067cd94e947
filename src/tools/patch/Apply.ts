/**
 * Hunks onto a text.
 *
 * Removed lines must be there exactly (but for their CR). Context may differ in white space, which is then said in a
 * note, and the file's own context lines stay as they are. A hunk that fits at several places is refused, unless its line
 * number or its anchor decides.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { candidates } from "../edit/Candidates.ts"
import { lineEndings } from "../edit/Text.ts"
import { unifiedDiff } from "../edit/UnifiedDiff.ts"
import { type Hunk, type HunkLine, type Patch, quoteLine } from "./Patch.ts"

/** @since 0.1.0 @category models */
export interface Applied {
  readonly text: string
  readonly notes: ReadonlyArray<string>
}

const noCr = (line: string): string => line.endsWith("\r") ? line.slice(0, -1) : line
const squeeze = (line: string): string => line.trim().replaceAll(/\s+/gu, " ")

/** From exact to generous; the words are for the note. */
const levels: ReadonlyArray<{ readonly same: (file: string, patch: HunkLine) => boolean; readonly note?: string }> = [
  { same: (file, patch) => file === patch.text },
  { same: (file, patch) => noCr(file) === noCr(patch.text) },
  {
    same: (file, patch) => patch.op === "-" ? noCr(file) === noCr(patch.text) : file.trimEnd() === patch.text.trimEnd(),
    note: "context matched except for blanks at line ends"
  },
  {
    same: (file, patch) => patch.op === "-" ? noCr(file) === noCr(patch.text) : squeeze(file) === squeeze(patch.text),
    note: "context matched except for white space"
  }
]

interface Place {
  readonly at: number
  readonly level: number
  readonly note?: string
}

class Misfit extends Error {}

/** At most this many places are looked for: one decides, more are only told. */
const max_places = 12

const find = (
  file: ReadonlyArray<string>,
  old: ReadonlyArray<HunkLine>,
  from: number,
  level: number,
  limit: number
): Array<number> => {
  const same = levels[level]?.same
  const found: Array<number> = []
  if (same === undefined) return found
  for (let at = from; at + old.length <= file.length && found.length < limit; at++) {
    let i = 0
    for (const line of old) {
      if (!same(file[at + i] ?? "", line)) break
      i++
    }
    if (i === old.length) found.push(at)
  }
  return found
}

const numbers = (places: ReadonlyArray<number>): string =>
  places.slice(0, max_places - 1).map((at) => at + 1).join(", ") + (places.length >= max_places ? ", ..." : "")

const describe = (file: ReadonlyArray<string>, old: ReadonlyArray<HunkLine>, cursor: number): string => {
  for (let level = 0; level < levels.length; level++) {
    const earlier = find(file, old, 0, level, 2).filter((at) => at < cursor)
    if (earlier[0] !== undefined) {
      return `it fits at line ${
        earlier[0] + 1
      }, which is before or inside the hunk above it; put the hunks in the order of the file`
    }
  }
  const wanted = old.map((line) => noCr(line.text)).join("\n")
  const [near] = candidates(file.map(noCr), wanted, 1)
  if (near === undefined) {
    const first = old.find((line) => line.text.trim() !== "") ?? old[0]
    return `nothing like it is in the file; first line looked for: ${quoteLine(first?.text ?? "")}. ` +
      "Read the file again and make the patch from what is there"
  }
  const diff = unifiedDiff(`${wanted}\n`, `${near.lines.join("\n")}\n`, { context: 1, max_lines: 24 })
  const first = near.line + old.findIndex((line, i) => !(levels[3]?.same(file[near.line - 1 + i] ?? "", line) ?? false))
  const where = near.lines.length > 1 ? `lines ${near.line}-${near.line + near.lines.length - 1}` : `line ${near.line}`
  return `nearest: ${where} of the file, first difference at line ${first}; - is the patch, + is the file:\n${
    diff.text || near.lines.join("\n")
  }`
}

const anchorAt = (file: ReadonlyArray<string>, anchor: string, from: number): number => {
  const wanted = squeeze(anchor)
  const tests: ReadonlyArray<(line: string) => boolean> = [
    (line) => noCr(line) === noCr(anchor),
    (line) => squeeze(line) === wanted,
    (line) => squeeze(line).startsWith(wanted),
    (line) => line.includes(anchor.trim())
  ]
  for (const test of tests) {
    const at = file.findIndex((line, i) => i >= from && test(line))
    if (at !== -1) return at
  }
  return -1
}

/** Where the hunk goes: index of the first line it replaces. `cursor` = end of the hunk before. */
const place = (
  file: ReadonlyArray<string>,
  hunk: Hunk,
  old: ReadonlyArray<HunkLine>,
  cursor: number,
  drift: number
): Place => {
  let from = cursor
  for (const anchor of hunk.anchors) {
    const at = anchorAt(file, anchor, from)
    if (at === -1) throw new Misfit(`its anchor ${quoteLine(anchor)} is not in the file below line ${from}`)
    from = at + 1
  }
  if (old.length === 0) {
    if (hunk.at_end || file.length === 0) return { at: file.length, level: 0 }
    if (hunk.anchors.length > 0) return { at: from, level: 0 }
    if (hunk.old_start === null) {
      throw new Misfit(
        "it only adds lines and nothing says where; give a context line, an @@ anchor or *** End of File"
      )
    }
    const at = hunk.old_start + drift
    if (at < cursor || at > file.length) {
      throw new Misfit(`it adds after line ${hunk.old_start}, but the file has ${file.length} lines`)
    }
    return { at, level: 0 }
  }
  // An anchor may also be repeated as the first line of the hunk.
  const starts = hunk.anchors.length > 0 ? [from, Math.max(cursor, from - 1)] : [from]
  for (let level = 0; level < levels.length; level++) {
    const note = levels[level]?.note
    const found = (at: number, extra?: string): Place => {
      const notes = [note, extra].filter((one) => one !== undefined)
      return { at, level, ...(notes.length === 0 ? {} : { note: notes.join("; ") }) }
    }
    if (hunk.at_end) {
      const at = file.length - old.length
      if (at >= from && find(file, old, at, level, 1)[0] === at) return found(at)
      continue
    }
    for (const start of starts) {
      if (hunk.old_start !== null && hunk.anchors.length === 0) {
        const expected = hunk.old_start - 1 + drift
        if (expected >= start && find(file.slice(0, expected + old.length), old, expected, level, 1).length > 0) {
          return found(expected)
        }
      }
      const places = find(file, old, start, level, hunk.anchors.length > 0 ? 1 : max_places)
      const [first] = places
      if (first === undefined) continue
      if (places.length > 1) {
        throw new Misfit(
          `it fits at lines ${numbers(places)}; add context lines${
            hunk.old_start === null ? " or an @@ anchor" : ""
          } until it fits at one place only`
        )
      }
      const off = hunk.old_start === null ? 0 : first - (hunk.old_start - 1)
      return found(first, off === 0 || off === drift ? undefined : `found at line ${first + 1}, not ${hunk.old_start}`)
    }
  }
  if (hunk.at_end) throw new Misfit(`it does not fit at the end of the file; ${describe(file, old, cursor)}`)
  throw new Misfit(describe(file, old, from))
}

/**
 * Applies the hunks in order. Left: one message for each hunk that does not fit, naming the hunk, its line in the patch
 * and what is in the file instead.
 *
 * @since 0.1.0
 * @category combinators
 */
export const applyHunks = (
  text: string,
  hunks: ReadonlyArray<Hunk>,
  format: Patch["format"]
): Either.Either<Applied, ReadonlyArray<string>> => {
  const file = text.split("\n")
  const terminated = file.at(-1) === ""
  if (terminated) file.pop()
  const uniform_crlf = lineEndings(text) === "crlf"
  const notes: Array<string> = []
  const errors: Array<string> = []
  const out: Array<string> = []
  let cursor = 0
  let drift = 0
  // Whether the last line of the result has a line break.
  let newline = text === "" || terminated
  // Where the file's own last line went, and whether the last line of all was given CR here.
  let own_last = -1
  let given_cr = false
  const keep = (to: number): void => {
    for (; cursor < to; cursor++) {
      if (cursor === file.length - 1) own_last = out.length
      out.push(file[cursor] ?? "")
      given_cr = false
    }
  }
  let converted = false
  hunks.forEach((hunk, index) => {
    const old = hunk.lines.filter((line) => line.op !== "+")
    const name = `hunk ${index + 1} (line ${hunk.patch_line} of the patch)`
    try {
      const spot = place(file, hunk, old, cursor, drift)
      if (spot.note !== undefined) notes.push(`${name}: ${spot.note}`)
      if (hunk.old_start !== null && old.length > 0) drift = spot.at - (hunk.old_start - 1)
      keep(spot.at)
      // CR in a unified diff is meant as it stands when its lines were found as they stand.
      const literal = spot.level === 0 &&
        (!uniform_crlf || (format === "unified" && hunk.lines.some((line) => line.text.endsWith("\r"))))
      const crlf = !literal && (uniform_crlf || nearCrlf(file, spot.at))
      if (crlf) converted = true
      for (const line of hunk.lines) {
        if (line.op === " ") keep(cursor + 1)
        else if (line.op === "-") cursor++
        else {
          out.push(literal ? line.text : crlf ? `${noCr(line.text)}\r` : noCr(line.text))
          given_cr = crlf
        }
      }
      if (format === "unified" && cursor === file.length) {
        // Without the mark for a missing line break the patch knows nothing of it: the file decides.
        const aware = terminated || old.length === 0 || old.at(-1)?.no_newline === true
        const last = hunk.lines.findLast((line) => line.op !== "-")
        if (last?.op === "+" && aware) newline = !last.no_newline
        else if (last === undefined || (last.op === " " && old.at(-1)?.op === "-")) newline = true
      }
    } catch (error) {
      if (!(error instanceof Misfit)) throw error
      errors.push(`${name} does not fit: ${error.message}`)
    }
  })
  if (errors.length > 0) return Either.left(errors)
  keep(file.length)
  // The CR belongs to the line break: a line that lost its break loses it, one that got a break gets it.
  const last = out.length - 1
  if (!newline && given_cr) out[last] = noCr(out[last] ?? "")
  if (converted && !terminated && own_last !== -1 && own_last !== last) out[own_last] = `${noCr(out[own_last] ?? "")}\r`
  const joined = out.join("\n")
  return Either.right({ text: out.length === 0 ? "" : newline ? `${joined}\n` : joined, notes })
}

/** The lines around a place end in CRLF. */
const nearCrlf = (file: ReadonlyArray<string>, at: number): boolean => (file[at] ?? file[at - 1] ?? "").endsWith("\r")
