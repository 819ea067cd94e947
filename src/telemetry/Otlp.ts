/**
 * Spans and histograms as OTLP in JSON (opentelemetry-proto 1.x, section "JSON Protobuf Encoding": ids in hex, 64-bit
 * numbers as strings, enums as numbers). Pure.
 *
 * @since 0.1.0
 */

/** A number with `double` is one also where it has no fraction. @since 0.1.0 @category models */
export type AttributeValue = string | number | boolean | ReadonlyArray<string> | { readonly double: number }

/** Members that are undefined or null are left out. @since 0.1.0 @category models */
export interface Attributes {
  readonly [name: string]: AttributeValue | null | undefined
}

/** @since 0.1.0 @category models */
export interface SpanData {
  readonly trace_id: string
  readonly span_id: string
  readonly parent_span_id: string | null
  readonly name: string
  readonly kind: "internal" | "client"
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Attributes
  readonly events: ReadonlyArray<{ readonly name: string; readonly at: bigint; readonly attributes: Attributes }>
  readonly dropped_events: number
  readonly failed: boolean
}

/** One series of a histogram since `start`. @since 0.1.0 @category models */
export interface HistogramPoint {
  readonly attributes: Attributes
  readonly start: bigint
  readonly at: bigint
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
  readonly buckets: ReadonlyArray<number>
}

/** @since 0.1.0 @category models */
export interface HistogramData {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly bounds: ReadonlyArray<number>
  readonly points: ReadonlyArray<HistogramPoint>
}

/** Where the data comes from. @since 0.1.0 @category models */
export interface Origin {
  readonly resource: Attributes
  readonly version: string
}

type Clean = (text: string) => string

/** Longest text of an attribute, in UTF-16 units. @since 0.1.0 @category constants */
export const maxText = 65_536

const bounded = (text: string): string =>
  text.length <= maxText ? text : text.slice(0, maxText).replace(/[\uD800-\uDBFF]$/u, "")

const valueOf = (value: AttributeValue, clean: Clean): object => {
  switch (typeof value) {
    case "string":
      return { stringValue: bounded(clean(value)) }
    case "boolean":
      return { boolValue: value }
    case "number":
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return "double" in value
        ? { doubleValue: value.double }
        : { arrayValue: { values: value.map((each) => ({ stringValue: bounded(clean(each)) })) } }
  }
}

const attributesOf = (attributes: Attributes, clean: Clean): ReadonlyArray<object> =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: valueOf(value, clean) }]
  )

const kinds = { internal: 1, client: 3 } as const
const schemaUrl = "https://opentelemetry.io/schemas/1.41.0"

const spanOf = (span: SpanData, clean: Clean): object => ({
  traceId: span.trace_id,
  spanId: span.span_id,
  ...(span.parent_span_id === null ? {} : { parentSpanId: span.parent_span_id }),
  // sampled
  flags: 1,
  name: clean(span.name),
  kind: kinds[span.kind],
  startTimeUnixNano: String(span.start),
  endTimeUnixNano: String(span.end),
  attributes: attributesOf(span.attributes, clean),
  events: span.events.map((event) => ({
    timeUnixNano: String(event.at),
    name: event.name,
    attributes: attributesOf(event.attributes, clean)
  })),
  ...(span.dropped_events === 0 ? {} : { droppedEventsCount: span.dropped_events }),
  status: span.failed ? { code: 2 } : {}
})

const scope = ({ version }: Origin): object => ({ name: "hanzo-dev", version })

/** The body of a request to `/v1/traces`; `clean` takes known secrets out of every text. @since 0.1.0 @category encoding */
export const traces = (origin: Origin, spans: ReadonlyArray<SpanData>, clean: Clean): string =>
  JSON.stringify({
    resourceSpans: [{
      resource: { attributes: attributesOf(origin.resource, clean) },
      scopeSpans: [{ scope: scope(origin), spans: spans.map((span) => spanOf(span, clean)), schemaUrl }]
    }]
  })

/** Sums since the beginning of the process. */
const cumulative = 2

/** The body of a request to `/v1/metrics`. @since 0.1.0 @category encoding */
export const metrics = (origin: Origin, histograms: ReadonlyArray<HistogramData>, clean: Clean): string =>
  JSON.stringify({
    resourceMetrics: [{
      resource: { attributes: attributesOf(origin.resource, clean) },
      scopeMetrics: [{
        scope: scope(origin),
        metrics: histograms.map(({ bounds, description, name, points, unit }) => ({
          name,
          description,
          unit,
          histogram: {
            aggregationTemporality: cumulative,
            dataPoints: points.map((point) => ({
              attributes: attributesOf(point.attributes, clean),
              startTimeUnixNano: String(point.start),
              timeUnixNano: String(point.at),
              count: String(point.count),
              sum: point.sum,
              min: point.min,
              max: point.max,
              bucketCounts: point.buckets.map(String),
              explicitBounds: bounds
            }))
          }
        })),
        schemaUrl
      }]
    }]
  })
