/**
 * The nearest of some names to a mistyped one, for messages ("did you mean ...").
 *
 * @since 0.1.0
 */

/**
 * Optimal string alignment distance over code points: insert, delete, replace, swap of neighbours cost one each.
 *
 * @since 0.1.0
 * @category combinators
 */
export const distance = (left: string, right: string): number => {
  const a = [...left]
  const b = [...right]
  let before: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let best = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (before[j - 2] ?? 0) + 1)
      }
      current.push(best)
    }
    before = previous
    previous = current
  }
  return previous[b.length] ?? 0
}

/**
 * The candidate closest to `word`, case ignored, if it is close enough to be a slip (a third of the longer name, at
 * least one edit) or begins with what was typed; the first of equals. Words over 64 characters have no neighbour.
 *
 * @since 0.1.0
 * @category combinators
 */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  const typed = word.toLowerCase()
  if (typed.length === 0 || typed.length > 64) return undefined
  let best: string | undefined
  let cost = Infinity
  for (const candidate of candidates) {
    const name = candidate.toLowerCase()
    const limit = Math.max(1, Math.floor(Math.max(name.length, typed.length) / 3))
    const edits = distance(typed, name)
    const own = edits <= limit ? edits : typed.length >= 3 && name.startsWith(typed) ? limit + 1 : Infinity
    if (own < cost) {
      best = candidate
      cost = own
    }
  }
  return best
}
