/**
 * What a benchmark reports, and how it measures: side by side in one run, medians of interleaved rounds.
 *
 * @since 0.1.0
 */

/**
 * One measured figure. `value` is judged against `target`: `at_least` or `at_most` it. `peer` names what it was compared
 * with in the same run.
 *
 * @since 0.1.0
 * @category models
 */
export interface BenchResult {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly target: { readonly at_least: number } | { readonly at_most: number }
  readonly peer?: string
  readonly ok: boolean
}

/** @since 0.1.0 @category constructors */
export const result = (options: Omit<BenchResult, "ok">): BenchResult => ({
  ...options,
  value: Math.round(options.value * 1000) / 1000,
  ok: "at_least" in options.target ? options.value >= options.target.at_least : options.value <= options.target.at_most
})

/** @since 0.1.0 @category combinators */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle] ?? Number.NaN
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2
}

/**
 * Milliseconds a round of each subject takes: a fifth of `rounds` (at least 5) to warm up, then `rounds` in which the
 * subjects take turns, so that what else the machine does falls on all of them alike. Many short rounds are better than
 * a few long ones.
 *
 * @since 0.1.0
 * @category combinators
 */
export const interleaved = (
  subjects: Readonly<Record<string, () => void>>,
  rounds = 7
): Readonly<Record<string, ReadonlyArray<number>>> => {
  const names = Object.keys(subjects)
  const times: Record<string, Array<number>> = Object.fromEntries(names.map((name) => [name, []]))
  const measured = Math.max(5, rounds)
  for (let round = -Math.ceil(measured / 5); round < measured; round++) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      const start = performance.now()
      subjects[name]?.()
      const took = performance.now() - start
      if (round >= 0) times[name]?.push(took)
    }
  }
  return times
}

/** Median over the rounds of `peer / own`: how many times faster than the peer. @since 0.1.0 @category combinators */
export const speedup = (own: ReadonlyArray<number>, peer: ReadonlyArray<number>): number =>
  median(own.map((ms, round) => (peer[round] ?? Number.NaN) / ms))
