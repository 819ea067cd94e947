/**
 * The histograms of the conventions, added up in this process. A plain holder; the exporter reads it.
 *
 * @since 0.1.0
 */
import type { Attributes, HistogramData } from "./Otlp.ts"

/** @since 0.1.0 @category models */
export type HistogramName =
  | "gen_ai.client.token.usage"
  | "gen_ai.client.operation.duration"
  | "gen_ai.client.operation.time_to_first_chunk"
  | "mcp.client.operation.duration"

const seconds: ReadonlyArray<number> = [
  0.01,
  0.02,
  0.04,
  0.08,
  0.16,
  0.32,
  0.64,
  1.28,
  2.56,
  5.12,
  10.24,
  20.48,
  40.96,
  81.92
]
const tokens: ReadonlyArray<number> = Array.from({ length: 14 }, (_, power) => 4 ** power)
const mcpSeconds: ReadonlyArray<number> = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

const instruments: Readonly<Record<HistogramName, Omit<HistogramData, "name" | "points">>> = {
  "gen_ai.client.token.usage": {
    unit: "{token}",
    description: "Number of input and output tokens used.",
    bounds: tokens
  },
  "gen_ai.client.operation.duration": { unit: "s", description: "Duration of an operation.", bounds: seconds },
  "gen_ai.client.operation.time_to_first_chunk": {
    unit: "s",
    description: "Time from the request to the first chunk of its answer.",
    bounds: seconds
  },
  "mcp.client.operation.duration": {
    unit: "s",
    description: "Duration of a request to an MCP server.",
    bounds: mcpSeconds
  }
}

/** Series of one histogram; what comes beyond them is one series together. @since 0.1.0 @category constants */
export const maxSeries = 1_000

interface Series {
  readonly attributes: Attributes
  count: number
  sum: number
  min: number
  max: number
  readonly buckets: Array<number>
}

/** @since 0.1.0 @category models */
export interface Histograms {
  readonly record: (name: HistogramName, value: number, attributes: Attributes) => void
  /** Null = nothing was recorded since it was read last. */
  readonly read: (at: bigint) => ReadonlyArray<HistogramData> | null
  /** What was read has not arrived. */
  readonly keep: () => void
}

const keyOf = (attributes: Attributes): string =>
  JSON.stringify(Object.entries(attributes).filter(([, value]) => value !== undefined && value !== null).toSorted())

/** A bucket holds what is at most its bound. */
const bucketOf = (bounds: ReadonlyArray<number>, value: number): number => {
  const at = bounds.findIndex((bound) => value <= bound)
  return at === -1 ? bounds.length : at
}

/** `start` is the beginning of all series, nanoseconds. @since 0.1.0 @category constructors */
export const make = (start: bigint): Histograms => {
  const all = new Map<HistogramName, Map<string, Series>>()
  let changed = false

  const seriesOf = (name: HistogramName, attributes: Attributes): Series => {
    let known = all.get(name)
    if (known === undefined) all.set(name, known = new Map())
    const own = keyOf(attributes)
    const fits = known.has(own) || known.size < maxSeries
    const key = fits ? own : "overflow"
    let series = known.get(key)
    if (series === undefined) {
      known.set(
        key,
        series = {
          attributes: fits ? attributes : { "otel.metric.overflow": true },
          count: 0,
          sum: 0,
          min: Number.POSITIVE_INFINITY,
          max: Number.NEGATIVE_INFINITY,
          buckets: Array.from({ length: instruments[name].bounds.length + 1 }, () => 0)
        }
      )
    }
    return series
  }

  return {
    record: (name, value, attributes) => {
      if (!Number.isFinite(value)) return
      const series = seriesOf(name, attributes)
      const bucket = bucketOf(instruments[name].bounds, value)
      series.count++
      series.sum += value
      series.min = Math.min(series.min, value)
      series.max = Math.max(series.max, value)
      series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
      changed = true
    },
    read: (at) => {
      if (!changed) return null
      changed = false
      return [...all].map(([name, series]) => ({
        name,
        ...instruments[name],
        points: [...series.values()].map((each) => ({ ...each, buckets: [...each.buckets], start, at }))
      }))
    },
    keep: () => {
      changed = true
    }
  }
}
