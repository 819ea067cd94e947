/**
 * Where a text that was not found may have been meant.
 *
 * @since 0.1.0
 */
import { linesOf } from "./Text.ts"

/** Lines count from 1. @since 0.1.0 @category models */
export interface Candidate {
  readonly line: number
  readonly lines: ReadonlyArray<string>
  /** 0 to 1; 1 = equal but for white space. */
  readonly score: number
}

const squeeze = (line: string): string => line.trim().replaceAll(/\s+/gu, " ")

const bigrams = (text: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (let i = 0; i + 1 < text.length; i++) {
    const pair = text.slice(i, i + 2)
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return counts
}

/** Dice coefficient over pairs of characters. */
const likeness = (a: string, pairs: ReadonlyMap<string, number>, size: number, b: string): number => {
  if (a === b) return 1
  if (a.length < 2 || b.length < 2) return 0
  const left = new Map(pairs)
  let common = 0
  for (let i = 0; i + 1 < b.length; i++) {
    const pair = b.slice(i, i + 2)
    const count = left.get(pair) ?? 0
    if (count > 0) {
      left.set(pair, count - 1)
      common++
    }
  }
  return 2 * common / (size + b.length - 1)
}

/** Work that one search may cost: pairs of lines compared. */
const budget = 200_000
/** Characters of a line that are compared. */
const width = 300

/**
 * Up to `limit` places in `lines` that are most like `wanted`, best first, not overlapping. Only places with a score
 * above 0.5 count.
 *
 * @since 0.1.0
 * @category combinators
 */
export const candidates = (lines: ReadonlyArray<string>, wanted: string, limit = 3): ReadonlyArray<Candidate> => {
  const want = linesOf(wanted).map(squeeze)
  while (want.length > 0 && want.at(-1) === "") want.pop()
  let skipped = 0
  while (want.length > 0 && want[0] === "") {
    want.shift()
    skipped++
  }
  if (want.length === 0 || lines.length === 0) return []
  const prepared = want.map((line) => {
    const text = line.slice(0, width)
    return { text, pairs: bigrams(text), size: Math.max(0, text.length - 1), weight: 1 + Math.min(line.length, 40) }
  })
  const total = prepared.reduce((sum, line) => sum + line.weight, 0)
  const have = lines.map((line) => squeeze(line.slice(0, width * 2)).slice(0, width))
  const exact = new Set(prepared.map((line) => line.text).filter((text) => text.length > 3))
  // When everything cannot be compared, places are looked at that share at least one whole line.
  const all = lines.length * want.length <= budget
  const starts = new Set<number>()
  if (all) { for (let i = 0; i < lines.length; i++) starts.add(i) }
  else {
    for (let i = 0; i < lines.length && starts.size < budget / want.length; i++) {
      if (!exact.has(have[i] ?? "")) continue
      prepared.forEach((line, j) => {
        if (line.text === have[i] && i - j >= 0) starts.add(i - j)
      })
    }
  }
  const scored: Array<{ readonly at: number; readonly score: number }> = []
  for (const at of starts) {
    let sum = 0
    prepared.forEach((line, j) => {
      const other = have[at + j]
      if (other !== undefined) sum += line.weight * likeness(line.text, line.pairs, line.size, other)
    })
    const score = sum / total
    if (score > 0.5) scored.push({ at, score })
  }
  scored.sort((a, b) => b.score - a.score || a.at - b.at)
  const chosen: Array<{ readonly at: number; readonly score: number }> = []
  for (const one of scored) {
    if (chosen.length === limit) break
    if (chosen.every((other) => Math.abs(other.at - one.at) >= want.length)) chosen.push(one)
  }
  return chosen.map(({ at, score }) => {
    const from = Math.max(0, at - skipped)
    return { line: from + 1, lines: lines.slice(from, at + want.length), score }
  })
}
