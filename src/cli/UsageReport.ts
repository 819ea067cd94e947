/**
 * What was spent, put together by turn, session, day, model or kind of request; pure but for the zone of the process.
 *
 * @since 0.1.0
 */
import * as LocalTime from "../platform/LocalTime.ts"
import type { SpendingRow } from "../storage/SessionStore.ts"
import { add, empty, type Usage } from "../domain/Usage.ts"

/** @since 0.1.0 @category models */
export type By = "turn" | "session" | "day" | "model" | "kind"

/**
 * Sums over requests. Without a price a request is in no cost: `cost_usd` is null when none had one, and says less than
 * all of it while `unpriced_requests` is over 0. `unreported_requests` were answered without a count of tokens.
 *
 * @since 0.1.0
 * @category models
 */
export interface Amount {
  readonly requests: number
  readonly unreported_requests: number
  readonly unpriced_requests: number
  readonly usage: Usage
  readonly cost_usd: number | null
}

/** What a line is about: of the fields those that belong to the kind of report. @since 0.1.0 @category models */
export interface Group extends Amount {
  readonly day?: string
  readonly model?: string
  /** What the requests were for: turn, subagent, compaction, title, commit_message, sampling, other. */
  readonly kind?: string
  /** Null = of sessions that were deleted, or of none. */
  readonly session_id?: string | null
  readonly title?: string | null
  readonly run_id?: string | null
  readonly turn?: number
  /** End of the latest request, seconds since the epoch. */
  readonly at: number
}

/** @since 0.1.0 @category models */
export interface Report {
  readonly by: By
  readonly groups: ReadonlyArray<Group>
  /** The same requests by what they were for. */
  readonly kinds: ReadonlyArray<Amount & { readonly kind: string }>
  /** Models of requests without a price. */
  readonly unpriced_models: ReadonlyArray<string>
  readonly total: Amount
}

interface Sum {
  requests: number
  unreported: number
  unpriced: number
  usage: Usage
  /** Billionths: sums of whole numbers have no digits of their own. */
  nanos: number
  at: number
}

const zero = (): Sum => ({ requests: 0, unreported: 0, unpriced: 0, usage: empty, nanos: 0, at: 0 })

const take = (sum: Sum, row: SpendingRow): void => {
  sum.requests += row.requests
  sum.unreported += row.unreported
  sum.unpriced += row.unpriced
  sum.usage = add(sum.usage, row.usage)
  sum.nanos += Math.round(row.cost_usd * 1e9)
  sum.at = Math.max(sum.at, row.at)
}

const amountOf = ({ nanos, requests, unpriced, unreported, usage }: Sum): Amount => ({
  requests,
  unreported_requests: unreported,
  unpriced_requests: unpriced,
  usage,
  cost_usd: unpriced >= requests && requests > 0 ? null : nanos / 1e9
})

type Fields = Omit<Group, keyof Amount | "at">

const fieldsOf = (by: By, row: SpendingRow): Fields => {
  switch (by) {
    case "day":
      return { day: LocalTime.dayOf(row.at * 1000) }
    case "model":
      return { model: row.model }
    case "kind":
      return { kind: row.purpose }
    case "session":
      return { session_id: row.session_id, title: row.title }
    case "turn":
      return { session_id: row.session_id, title: row.title, run_id: row.run_id, turn: row.turn }
  }
}

const keyOf = (by: By, row: SpendingRow): string =>
  by === "day"
    ? LocalTime.dayOf(row.at * 1000)
    : by === "model"
    ? row.model
    : by === "kind"
    ? row.purpose
    : JSON.stringify(by === "session" ? [row.session_id] : [row.session_id, row.run_id, row.turn])

const nameOf = ({ kind, model }: Fields): string => model ?? kind ?? ""

/** In the order of time, by model and by kind the dearest first. @since 0.1.0 @category combinators */
export const make = (by: By, rows: ReadonlyArray<SpendingRow>): Report => {
  const groups = new Map<string, { readonly fields: Fields; readonly sum: Sum }>()
  const kinds = new Map<string, Sum>()
  const unpriced = new Set<string>()
  const total = zero()
  for (const row of rows) {
    const key = keyOf(by, row)
    let group = groups.get(key)
    if (group === undefined) groups.set(key, group = { fields: fieldsOf(by, row), sum: zero() })
    let kind = kinds.get(row.purpose)
    if (kind === undefined) kinds.set(row.purpose, kind = zero())
    for (const sum of [group.sum, kind, total]) take(sum, row)
    // what has no count of tokens has no cost either, whatever the price
    if (row.unpriced > row.unreported) unpriced.add(row.model)
  }
  const ordered = [...groups.values()].toSorted((a, b) =>
    by === "model" || by === "kind"
      ? b.sum.nanos - a.sum.nanos || b.sum.requests - a.sum.requests || (nameOf(a.fields) < nameOf(b.fields) ? -1 : 1)
      : a.sum.at - b.sum.at
  )
  return {
    by,
    groups: ordered.map(({ fields, sum }) => ({ ...fields, at: sum.at, ...amountOf(sum) })),
    kinds: [...kinds].toSorted(([, a], [, b]) => b.nanos - a.nanos || b.requests - a.requests)
      .map(([kind, sum]) => ({ kind, ...amountOf(sum) })),
    unpriced_models: [...unpriced].toSorted(),
    total: amountOf(total)
  }
}

const daysAgo = /^(\d{1,5})d$/
const localTime = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?$/
const zonedTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

/** A day `YYYY-MM-DD` out of the words for one; null = it is none. */
const dayIn = (text: string, now: number): string | null => {
  const today = LocalTime.dayOf(now)
  const back = text === "today" ? 0 : text === "yesterday" ? 1 : null
  const days = daysAgo.exec(text)
  // `7d` is a week that ends with today
  const before = back ?? (days === null || Number(days[1]) === 0 ? null : Number(days[1]) - 1)
  if (before !== null) {
    const start = LocalTime.startOfDay(today, -before)
    return start === null ? null : LocalTime.dayOf(start)
  }
  return LocalTime.startOfDay(text) === null ? null : text
}

/**
 * A moment of the command line in milliseconds since the epoch: a day (its beginning, or with `end` the beginning of the
 * next), `Nd`, `today`, `yesterday`, a local time, a time with its offset. Null = it is none.
 *
 * @since 0.1.0
 * @category decoding
 */
export const momentOf = (text: string, now: number, end: boolean): number | null => {
  const given = text.trim()
  const day = dayIn(given, now)
  if (day !== null) return LocalTime.startOfDay(day, end ? 1 : 0)
  const local = localTime.exec(given)
  if (local !== null) {
    const [hours, minutes, seconds] = [Number(local[2]), Number(local[3]), Number(local[4] ?? 0)]
    if (LocalTime.startOfDay(local[1] ?? "") === null || hours > 23 || minutes > 59 || seconds > 59) return null
    return Date.parse(`${local[1]}T${local[2]}:${local[3]}:${local[4] ?? "00"}`)
  }
  const moment = zonedTime.test(given) ? Date.parse(given) : Number.NaN
  return Number.isNaN(moment) ? null : moment
}
