/** A collector of telemetry on 127.0.0.1: what it was sent, checked against the shape of OTLP in JSON. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as http from "node:http"
import type { AddressInfo } from "node:net"

const digits = Schema.String.pipe(Schema.pattern(/^(0|[1-9]\d*)$/))
const hex = (length: number) =>
  Schema.String.pipe(Schema.pattern(new RegExp(`^[0-9a-f]{${length}}$`)), Schema.filter((id) => !/^0+$/.test(id)))

const text = Schema.Struct({ stringValue: Schema.String })
const AnyValue = Schema.Union(
  text,
  Schema.Struct({ boolValue: Schema.Boolean }),
  Schema.Struct({ intValue: Schema.String.pipe(Schema.pattern(/^-?\d+$/)) }),
  Schema.Struct({ doubleValue: Schema.JsonNumber }),
  Schema.Struct({ arrayValue: Schema.Struct({ values: Schema.Array(text) }) })
)
const attributes = Schema.Array(Schema.Struct({ key: Schema.NonEmptyString, value: AnyValue })).pipe(
  Schema.filter((all) => new Set(all.map(({ key }) => key)).size === all.length)
)
const resource = Schema.Struct({ attributes })
const scope = Schema.Struct({ name: Schema.NonEmptyString, version: Schema.String })

const Span = Schema.Struct({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: Schema.optional(hex(16)),
  flags: Schema.Int,
  name: Schema.NonEmptyString,
  kind: Schema.Literal(1, 2, 3, 4, 5),
  startTimeUnixNano: digits,
  endTimeUnixNano: digits,
  attributes,
  events: Schema.Array(Schema.Struct({ timeUnixNano: digits, name: Schema.NonEmptyString, attributes })),
  droppedEventsCount: Schema.optional(Schema.Int),
  status: Schema.Struct({ code: Schema.optional(Schema.Literal(0, 1, 2)), message: Schema.optional(Schema.String) })
}).pipe(Schema.filter((span) => BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano)))
export type Span = typeof Span.Type

const Traces = Schema.Struct({
  resourceSpans: Schema.NonEmptyArray(
    Schema.Struct({
      resource,
      scopeSpans: Schema.NonEmptyArray(
        Schema.Struct({ scope, spans: Schema.NonEmptyArray(Span), schemaUrl: Schema.String })
      )
    })
  )
})

const Point = Schema.Struct({
  attributes,
  startTimeUnixNano: digits,
  timeUnixNano: digits,
  count: digits,
  sum: Schema.JsonNumber,
  min: Schema.JsonNumber,
  max: Schema.JsonNumber,
  bucketCounts: Schema.NonEmptyArray(digits),
  explicitBounds: Schema.NonEmptyArray(Schema.JsonNumber)
}).pipe(
  Schema.filter((point) => point.bucketCounts.length === point.explicitBounds.length + 1),
  Schema.filter((point) => point.bucketCounts.reduce((all, each) => all + Number(each), 0) === Number(point.count)),
  Schema.filter((point) =>
    point.explicitBounds.every((bound, at) => at === 0 || bound > (point.explicitBounds[at - 1] ?? 0))
  )
)

const Metric = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.String,
  unit: Schema.String,
  histogram: Schema.Struct({ aggregationTemporality: Schema.Literal(1, 2), dataPoints: Schema.NonEmptyArray(Point) })
})
export type Metric = typeof Metric.Type

const Metrics = Schema.Struct({
  resourceMetrics: Schema.NonEmptyArray(
    Schema.Struct({
      resource,
      scopeMetrics: Schema.NonEmptyArray(
        Schema.Struct({ scope, metrics: Schema.NonEmptyArray(Metric), schemaUrl: Schema.String })
      )
    })
  )
})

type Attributes = typeof attributes.Type

/** Attributes by name, their values as JavaScript has them. */
export const values = (of: Attributes): Readonly<Record<string, unknown>> =>
  Object.fromEntries(of.map(({ key, value }) => [
    key,
    "intValue" in value
      ? Number(value.intValue)
      : "arrayValue" in value
      ? value.arrayValue.values.map(({ stringValue }) => stringValue)
      : Object.values(value)[0]
  ]))

export interface Received {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface Answer {
  readonly status?: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Never answers. */
  readonly silent?: boolean
}

export interface Collector {
  readonly url: string
  readonly received: Array<Received>
  /** The next request that has not been taken. */
  readonly take: Effect.Effect<Received>
  answer: (path: string, nth: number) => Answer
  readonly spans: () => ReadonlyArray<Span>
  readonly resource: () => Readonly<Record<string, unknown>>
  /** The latest state of each metric. */
  readonly metrics: () => ReadonlyMap<string, Metric>
}

const strict = { onExcessProperty: "error" } as const
const tracesOf = Schema.decodeUnknownSync(Schema.parseJson(Traces), strict)
const metricsOf = Schema.decodeUnknownSync(Schema.parseJson(Metrics), strict)

/** Lives in the scope. */
export const collector = Effect.gen(function*() {
  const arrived = yield* Queue.unbounded<Received>()
  const received: Array<Received> = []
  const server = http.createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (part: string) => body += part).on("end", () => {
      const path = request.url ?? ""
      const one: Received = { path, headers: request.headers, body }
      received.push(one)
      arrived.unsafeOffer(one)
      const answer = self.answer(path, received.filter((each) => each.path === path).length)
      if (answer.silent === true) return
      response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...answer.headers })
      response.end(answer.body ?? "{}")
    })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.async<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )
  const of = (path: string) => received.filter((each) => each.path === path)
  const self: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    take: Queue.take(arrived),
    answer: () => ({}),
    spans: () =>
      of("/v1/traces").flatMap(({ body }) =>
        tracesOf(body).resourceSpans.flatMap((each) => each.scopeSpans.flatMap(({ spans }) => spans))
      ),
    resource: () =>
      values(of("/v1/traces").flatMap(({ body }) => tracesOf(body).resourceSpans)[0]?.resource.attributes ?? []),
    metrics: () =>
      new Map(
        of("/v1/metrics").flatMap(({ body }) =>
          metricsOf(body).resourceMetrics.flatMap((each) =>
            each.scopeMetrics.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric] as const))
          )
        )
      )
  }
  return self
})
