/**
 * Where a conversation may be cut, so that what stands before the cut is a whole one: pure.
 *
 * @since 0.1.0
 */

/** An entry that counts, in the order stored. @since 0.1.0 @category models */
export interface CutRow {
  readonly id: number
  readonly role: string
  readonly run_id: string
  readonly turn: number
  /** Ids of the calls in it. */
  readonly calls: ReadonlyArray<string>
  /** The call it is the result of. */
  readonly answers: string | null
  /** It stands for others: a summary, a shortened result. */
  readonly stands: boolean
}

const said = (row: CutRow): boolean => !row.stands && (row.role === "assistant" || row.role === "tool")

/**
 * The entries behind which a conversation may be cut: not between the pieces of one answer, nor between a call and its
 * result. A call that was never answered keeps nothing open.
 *
 * @since 0.1.0
 * @category combinators
 */
export const cutsOf = (rows: ReadonlyArray<CutRow>): ReadonlyArray<number> => {
  const answered = new Set(rows.map((row) => row.answers))
  const open = new Set<string>()
  return rows.flatMap((row, index) => {
    for (const call of row.calls) if (answered.has(call)) open.add(call)
    if (row.answers !== null) open.delete(row.answers)
    const next = rows[index + 1]
    const inside = next !== undefined && said(row) && said(next) && next.run_id === row.run_id && next.turn === row.turn
    return open.size === 0 && !inside ? [row.id] : []
  })
}

/** The nearest places before and after one that is none. @since 0.1.0 @category combinators */
export const nearestCuts = (cuts: ReadonlyArray<number>, id: number): ReadonlyArray<number> => {
  const before = cuts.filter((cut) => cut < id).at(-1)
  const after = cuts.find((cut) => cut > id)
  return [before, after].filter((cut) => cut !== undefined)
}
