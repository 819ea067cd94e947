/**
 * The names a mistyped name may have meant, for messages to models and users.
 *
 * @since 0.1.0
 */
import { distance } from "../codec/Distance.ts"

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "")

/**
 * Up to `limit` candidates close to `name`, nearest first: the same letters in other case or with other separators,
 * one contained in the other, or an edit distance of at most a third of the length. Names over 128 units are cut.
 *
 * @since 0.1.0
 * @category combinators
 */
export const nearest = (name: string, candidates: ReadonlyArray<string>, limit = 3): ReadonlyArray<string> => {
  const wanted = plain(name.slice(0, 128))
  if (wanted === "") return []
  const scored: Array<{ readonly candidate: string; readonly score: number }> = []
  for (const candidate of candidates) {
    const other = plain(candidate.slice(0, 128))
    const edits = distance(wanted, other)
    const contained = Math.min(wanted.length, other.length) >= 3 && (wanted.includes(other) || other.includes(wanted))
    if (edits <= Math.max(1, Math.floor(Math.max(wanted.length, other.length) / 3)) || contained) {
      scored.push({ candidate, score: contained ? Math.min(edits, 2) : edits })
    }
  }
  return scored.sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1)).slice(0, limit).map((s) =>
    s.candidate
  )
}
