/** Batches, retries and bounds of what is sent, with the clock in hand and a collector on 127.0.0.1. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type { TelemetryTarget } from "../../src/config/TelemetryTarget.ts"
import type { Message } from "../../src/domain/Message.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import * as Content from "../../src/telemetry/Content.ts"
import * as Exporter from "../../src/telemetry/Exporter.ts"
import * as Histograms from "../../src/telemetry/Histograms.ts"
import * as Otlp from "../../src/telemetry/Otlp.ts"
import { type Collector, collector, type values } from "../support/collector.ts"
import { logTo } from "../support/logged.ts"

const span = (n: number, more: Partial<Otlp.SpanData> = {}): Otlp.SpanData => ({
  trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  span_id: (n + 1).toString(16).padStart(16, "0"),
  parent_span_id: null,
  name: `span ${n}`,
  kind: "internal",
  start: 1n,
  end: 2n,
  attributes: {},
  events: [],
  dropped_events: 0,
  failed: false,
  ...more
})

const targetOf = (url: string): TelemetryTarget => ({
  traces: { url: `${url}/v1/traces`, headers: { authorization: "Bearer secret-of-the-collector" }, timeout_ms: 10_000 },
  metrics: { url: `${url}/v1/metrics`, headers: {}, timeout_ms: 10_000 },
  resource: {},
  content: false,
  parent: null
})

/** An exporter to `url`, what it logs, and its end. */
const exporterTo = (url: string) =>
  Effect.gen(function*() {
    const http = yield* Http
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const histograms = Histograms.make(0n)
    const exporter = yield* Scope.extend(
      Exporter.make({
        target: targetOf(url),
        origin: { version: "1", resource: { "service.name": "test" } },
        histograms,
        http,
        clean: Effect.succeed((text) => text)
      }),
      scope
    )
    return { exporter, histograms, end: Scope.close(scope, Exit.void) }
  })

const log: Array<string> = []
const layer = Layer.mergeAll(
  Http.layer.pipe(Layer.provide(Environment.layerTest())),
  logTo(log)
)

const test = (name: string, body: (on: Collector) => Effect.Effect<void, never, Http | Scope.Scope>) =>
  it.scoped(name, () =>
    Effect.gen(function*() {
      log.length = 0
      yield* body(yield* collector)
    }).pipe(Effect.provide(layer)))

describe("the exporter", () => {
  test("sends spans together, five seconds after the first one", (on) =>
    Effect.gen(function*() {
      const { exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      yield* TestClock.adjust("4 seconds")
      exporter.push(span(1))
      assert.strictEqual(on.received.length, 0)
      yield* TestClock.adjust("1 seconds")
      const { headers } = yield* on.take
      assert.strictEqual(headers["authorization"], "Bearer secret-of-the-collector")
      assert.deepStrictEqual(on.spans().map(({ name }) => name), ["span 0", "span 1"])
      exporter.push(span(2))
      yield* TestClock.adjust("5 seconds")
      yield* on.take
      assert.strictEqual(on.spans().length, 3)
    }))

  test("sends a full batch at once, and no more than one batch a request", (on) =>
    Effect.gen(function*() {
      const { exporter } = yield* exporterTo(on.url)
      for (let n = 0; n < Exporter.limits.batch + 10; n++) exporter.push(span(n))
      yield* on.take
      yield* on.take
      assert.deepStrictEqual(
        on.received.map(({ body }) => (body.match(/"spanId"/g) ?? []).length),
        [Exporter.limits.batch, 10]
      )
    }))

  test("cuts batches by their size, too", (on) =>
    Effect.gen(function*() {
      const { end, exporter } = yield* exporterTo(on.url)
      for (let n = 0; n < 40; n++) exporter.push(span(n, { attributes: { text: "x".repeat(60_000) } }))
      yield* end
      assert.isAbove(on.received.length, 2)
      assert.isTrue(on.received.every(({ body }) => body.length < 1.2 * Exporter.limits.units))
      assert.strictEqual(on.spans().length, 40)
    }))

  test("sends metrics once a minute, and only when there is something new", (on) =>
    Effect.gen(function*() {
      const { histograms } = yield* exporterTo(on.url)
      histograms.record("gen_ai.client.operation.duration", 0.5, { "gen_ai.request.model": "m" })
      yield* TestClock.adjust("60 seconds")
      yield* on.take
      histograms.record("gen_ai.client.operation.duration", 0.5, { "gen_ai.request.model": "m" })
      yield* TestClock.adjust("180 seconds")
      yield* on.take
      assert.strictEqual(on.received.length, 2)
      const point = on.metrics().get("gen_ai.client.operation.duration")?.histogram.dataPoints[0]
      assert.deepInclude(point, { count: "2", sum: 1, min: 0.5, max: 0.5 })
    }))

  test("tries again what may be tried again, after the time that the collector asks for", (on) =>
    Effect.gen(function*() {
      on.answer = (_, nth) => nth === 1 ? { status: 503, headers: { "retry-after": "7" } } : {}
      const { exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      yield* TestClock.adjust("5 seconds")
      yield* on.take
      // the wait begins when the answer has come
      while (on.received.length < 2) {
        yield* TestClock.adjust("1 seconds")
        yield* Effect.yieldNow()
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      }
      assert.strictEqual(on.received[0]?.body, on.received[1]?.body)
    }))

  test("gives up what is refused, and says so once", (on) =>
    Effect.gen(function*() {
      on.answer = () => ({ status: 401 })
      const { end, exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      yield* TestClock.adjust("5 seconds")
      yield* on.take
      exporter.push(span(1))
      yield* end
      assert.strictEqual(on.received.length, 2)
      assert.strictEqual(log.length, 1)
      assert.match(log[0] ?? "", /could not be sent: http:\/\/127\.0\.0\.1:\d+ answered 401; check OTEL_EXPORTER/)
      assert.notInclude(log[0], "secret-of-the-collector")
    }))

  test("tells what a collector took only a part of", (on) =>
    Effect.gen(function*() {
      on.answer = () => ({ body: JSON.stringify({ partialSuccess: { rejectedSpans: "3", errorMessage: "too old" } }) })
      const { end, exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      yield* end
      assert.deepStrictEqual(log, ["telemetry could not be sent: 3 were rejected: too old"])
    }))

  test("holds no more than its bound when nobody takes them", (on) =>
    Effect.gen(function*() {
      on.answer = (_, nth) => nth === 1 ? { silent: true } : {}
      const { exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      yield* TestClock.adjust("5 seconds")
      yield* on.take
      for (let n = 1; n <= Exporter.limits.spans + 100; n++) exporter.push(span(n))
      // the silent one comes to its limit, the next try succeeds
      while (on.spans().length < Exporter.limits.spans + 1) {
        yield* TestClock.adjust("5 seconds")
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      }
      assert.strictEqual(on.spans().length, Exporter.limits.spans + 2)
      assert.strictEqual(log.length, 1)
    }))

  test("ends within two seconds, also when the collector is silent", (on) =>
    Effect.gen(function*() {
      on.answer = () => ({ silent: true })
      const { end, exporter } = yield* exporterTo(on.url)
      exporter.push(span(0))
      const ending = yield* Effect.fork(end)
      yield* on.take
      yield* TestClock.adjust("2 seconds")
      yield* ending.await
      exporter.push(span(1))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(on.received.length, 1)
      assert.strictEqual(log.length, 1)
      assert.include(log[0], "longer than 2 seconds")
    }))
})

const plain = (text: string): string => text

describe("OTLP in JSON", () => {
  it.prop(
    "any span: ids in hex, 64-bit numbers as texts, enums as numbers",
    [
      FastCheck.dictionary(
        FastCheck.string({ minLength: 1 }),
        FastCheck.oneof(
          FastCheck.string(),
          FastCheck.boolean(),
          FastCheck.integer(),
          FastCheck.double({ noNaN: true, noDefaultInfinity: true }),
          FastCheck.array(FastCheck.string())
        )
      ),
      FastCheck.bigInt({ min: 0n, max: 2n ** 63n }),
      FastCheck.boolean()
    ],
    ([attributes, start, failed]) => {
      const text = Otlp.traces(
        { version: "1", resource: attributes },
        [span(0, { attributes, start, end: start + 1n, failed, kind: "client" })],
        plain
      )
      interface Sent {
        readonly resourceSpans: ReadonlyArray<{
          readonly scopeSpans: ReadonlyArray<
            { readonly spans: ReadonlyArray<{ readonly attributes: Parameters<typeof values>[0] }> }
          >
        }>
      }
      const sent = (JSON.parse(text) as Sent).resourceSpans[0]?.scopeSpans[0]?.spans[0] ?? { attributes: [] }
      assert.deepInclude(sent as object, {
        kind: 3,
        startTimeUnixNano: String(start),
        endTimeUnixNano: String(start + 1n),
        status: failed ? { code: 2 } : {}
      })
      const { attributes: given } = sent
      assert.strictEqual(given.length, Object.keys(attributes).length)
      for (const { key, value } of given) {
        const of = attributes[key]
        if (typeof of === "number") {
          assert.deepStrictEqual(value, Number.isSafeInteger(of) ? { intValue: String(of) } : { doubleValue: of })
        }
      }
    }
  )

  it("long texts are cut, never inside a character", () => {
    const text = Otlp.traces(
      { version: "1", resource: {} },
      [span(0, { attributes: { a: "x".repeat(Otlp.maxText - 1) + "\u{1F600}" } })],
      plain
    )
    assert.notMatch(text, /[\uD800-\uDFFF]/u)
    assert.notInclude(text, "\\ud83d")
    assert.isBelow(text.length, Otlp.maxText + 1_000)
  })
})

describe("content", () => {
  it("of a long conversation the latest messages stand there, as sound JSON", () => {
    const messages = Array.from(
      { length: 100 },
      (_, n): Message => ({ role: "user", content: `${n} ${"x".repeat(5_000)}` })
    )
    const text = Content.inputMessages([{ role: "system", content: "rules" }, ...messages])
    assert.isAtMost(text.length, Otlp.maxText)
    const kept = JSON.parse(text) as ReadonlyArray<{ readonly parts: ReadonlyArray<{ readonly content: string }> }>
    assert.strictEqual(kept.length, 12)
    assert.match(kept.at(-1)?.parts[0]?.content ?? "", /^99 x/)
    assert.isAbove(Content.inputMessages([{ role: "user", content: "y".repeat(100_000) }]).length, 100_000)
  })

  it("bytes are left out", () => {
    const text = Content.promptMessages([
      { type: "image", media_type: "image/png", data: "AAAA" },
      { type: "file", media_type: "application/pdf", data: "BBBB" }
    ])
    assert.notMatch(text, /AAAA|BBBB/)
    assert.include(text, "image/png")
  })
})

describe("histograms", () => {
  it.prop(
    "whatever is recorded: counts and sums agree, each value lies in its bucket",
    [FastCheck.array(FastCheck.tuple(FastCheck.nat(1_000_000), FastCheck.constantFrom("a", "b")), { minLength: 1 })],
    ([recorded]) => {
      const histograms = Histograms.make(0n)
      for (const [value, model] of recorded) {
        histograms.record("gen_ai.client.token.usage", value, { "gen_ai.request.model": model })
      }
      const [metric] = histograms.read(1n) ?? []
      for (const point of metric?.points ?? []) {
        const own = recorded.filter(([, model]) => model === point.attributes["gen_ai.request.model"])
          .map(([value]) => value)
        assert.strictEqual(point.count, own.length)
        assert.strictEqual(point.sum, own.reduce((all, value) => all + value, 0))
        assert.deepStrictEqual([point.min, point.max], [Math.min(...own), Math.max(...own)])
        const bounds = [-1, ...(metric?.bounds ?? []), Number.POSITIVE_INFINITY]
        point.buckets.forEach((count, at) =>
          assert.strictEqual(
            count,
            own.filter((value) => value > (bounds[at] ?? 0) && value <= (bounds[at + 1] ?? 0)).length
          )
        )
      }
      assert.isNull(histograms.read(2n))
    }
  )

  it("series are bounded: the rest is one together", () => {
    const histograms = Histograms.make(0n)
    for (let n = 0; n < Histograms.maxSeries + 50; n++) {
      histograms.record("gen_ai.client.operation.duration", 1, { "gen_ai.request.model": `m${n}` })
    }
    const [metric] = histograms.read(1n) ?? []
    assert.strictEqual(metric?.points.length, Histograms.maxSeries + 1)
    assert.deepInclude(metric?.points.at(-1), { attributes: { "otel.metric.overflow": true }, count: 50 })
  })
})
