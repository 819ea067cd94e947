/**
 * Spans and metrics on their way out: held in a bounded queue, sent in batches over OTLP/HTTP, and what is left when the
 * program ends within a short time. Nothing here fails or waits for anybody; what could not be sent is told in one line.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { line } from "../codec/TerminalText.ts"
import type { TelemetryEndpoint, TelemetryTarget } from "../config/TelemetryTarget.ts"
import { retryAfter } from "../domain/RetryAfter.ts"
import { type HttpResponse, type HttpService, readAll } from "../platform/Http.ts"
import type { Histograms } from "./Histograms.ts"
import * as Otlp from "./Otlp.ts"

/**
 * `spans` wait at most, then new ones are dropped; `batch` and `units` (UTF-16, of texts) make one request at most. Spans
 * go out this long after the first one at the latest, metrics this often; the end takes no longer than `flush`.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = {
  spans: 2_048,
  queue_units: 16 * 1024 * 1024,
  batch: 512,
  units: 1024 * 1024,
  spans_every: "5 seconds",
  metrics_every: "60 seconds",
  flush: "2 seconds",
  tries: 3,
  pause_ms: 1_000,
  longest_pause_ms: 30_000
} as const

/** @since 0.1.0 @category models */
export interface Exporter {
  readonly push: (span: Otlp.SpanData) => void
}

/** @since 0.1.0 @category models */
export interface ExporterOptions {
  readonly target: TelemetryTarget
  readonly origin: Otlp.Origin
  readonly histograms: Histograms
  readonly http: HttpService
  /** Takes known secrets out of a text. */
  readonly clean: Effect.Effect<(text: string) => string>
}

type Sent =
  | { readonly _tag: "Sent"; readonly problem: string | null }
  | { readonly _tag: "Refused"; readonly problem: string; readonly again_in: number | null }

const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])
const maxAnswer = 65_536

const textUnits = (span: Otlp.SpanData): number => {
  let units = 1_000
  for (const value of Object.values(span.attributes)) if (typeof value === "string") units += value.length
  return units
}

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return null
  }
}

/** What a collector took only a part of (`partialSuccess`). @since 0.1.0 @category decoding */
export const rejectionOf = (answer: unknown): string | null => {
  if (typeof answer !== "object" || answer === null || !("partialSuccess" in answer)) return null
  const partial = answer.partialSuccess
  if (typeof partial !== "object" || partial === null) return null
  const { errorMessage, rejectedDataPoints, rejectedSpans } = partial as Record<string, unknown>
  const count = Number(rejectedSpans ?? rejectedDataPoints ?? 0)
  return count > 0
    ? `${count} were rejected${
      typeof errorMessage === "string" && errorMessage !== "" ? `: ${line(errorMessage, 200)}` : ""
    }`
    : null
}

const remedyOf = (status: number): string =>
  status === 401 || status === 403
    ? "; check OTEL_EXPORTER_OTLP_HEADERS or telemetry.headers"
    : status === 404 || status === 405
    ? "; check the address: /v1/traces and /v1/metrics are added to OTEL_EXPORTER_OTLP_ENDPOINT"
    : status === 415
    ? "; the collector must take http/json"
    : ""

/** Lives in its scope, whose end sends what is left. @since 0.1.0 @category constructors */
export const make = (
  { clean, histograms, http, origin, target }: ExporterOptions
): Effect.Effect<Exporter, never, Scope.Scope> =>
  Effect.gen(function*() {
    const waiting: Array<Otlp.SpanData> = []
    let units = 0
    let dropped = 0
    let told = false
    let over = false
    const closing = yield* Deferred.make<void>()
    // one signal is enough, however many spans have come
    const come = yield* Queue.sliding<void>(1)
    const full = yield* Queue.sliding<void>(1)
    const turn = yield* Effect.makeSemaphore(1)

    const tell = (problem: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (told) return Effect.logDebug(`telemetry: ${problem}`)
        told = true
        return Effect.logWarning(`telemetry could not be sent: ${problem}`)
      })

    const answerOf = (response: HttpResponse): Effect.Effect<Sent> =>
      Effect.gen(function*() {
        const { status } = response
        if (status >= 200 && status < 300) {
          const body = yield* Effect.option(readAll(response, maxAnswer))
          const problem = body._tag === "Some" ? rejectionOf(parsed(body.value.bytes)) : null
          return { _tag: "Sent", problem } as const
        }
        const now = yield* Clock.currentTimeMillis
        yield* response.release
        const after = retryAfter(response.headers, now)
        return {
          _tag: "Refused",
          problem: `${new URL(response.url).origin} answered ${status}${remedyOf(status)}`,
          again_in: retryable.has(status) ? after ?? limits.pause_ms : null
        } as const
      })

    const post = ({ headers, timeout_ms, url }: TelemetryEndpoint, body: string): Effect.Effect<Sent> =>
      Effect.scoped(
        Effect.flatMap(
          http.request({
            method: "POST",
            url,
            headers: { ...headers, "content-type": "application/json" },
            body,
            limits: { connect_ms: timeout_ms, headers_ms: timeout_ms, idle_ms: timeout_ms }
          }),
          answerOf
        )
      ).pipe(
        Effect.catchAll(({ message }) =>
          Effect.succeed({ _tag: "Refused", problem: message, again_in: limits.pause_ms } as const)
        )
      )

    /** Until it has arrived, is refused for good, or was tried often enough; the end of the program tries once. */
    const deliver = (endpoint: TelemetryEndpoint, body: string): Effect.Effect<boolean> =>
      Effect.gen(function*() {
        for (let attempt = 1;; attempt++) {
          const sent = yield* post(endpoint, body)
          if (sent._tag === "Sent") {
            if (sent.problem !== null) yield* tell(sent.problem)
            return true
          }
          yield* tell(sent.problem)
          if (sent.again_in === null || attempt >= limits.tries || (yield* Deferred.isDone(closing))) return false
          const pause = Math.min(limits.longest_pause_ms, Math.max(sent.again_in, limits.pause_ms * 2 ** (attempt - 1)))
          yield* Effect.raceFirst(Effect.sleep(pause), Deferred.await(closing))
        }
      })

    const next = (): ReadonlyArray<Otlp.SpanData> => {
      const batch: Array<Otlp.SpanData> = []
      let size = 0
      while (batch.length < limits.batch) {
        const span = waiting[0]
        if (span === undefined) break
        const own = textUnits(span)
        if (batch.length > 0 && size + own > limits.units) break
        waiting.shift()
        batch.push(span)
        size += own
        units -= own
      }
      return batch
    }

    const sendSpans: Effect.Effect<void> = target.traces === null ? Effect.void : turn.withPermits(1)(
      Effect.gen(function*() {
        while (waiting.length > 0 && target.traces !== null) {
          if (dropped > 0) {
            yield* tell(`${dropped} spans were dropped, more than ${limits.spans} waited`)
            dropped = 0
          }
          const text = yield* clean
          yield* deliver(target.traces, Otlp.traces(origin, next(), text))
        }
      })
    )

    const collected: Effect.Effect<void> = Effect.gen(function*() {
      if (target.metrics === null) return
      const read = histograms.read(yield* Clock.currentTimeNanos)
      if (read === null) return
      const arrived = yield* deliver(target.metrics, Otlp.metrics(origin, read, yield* clean))
      if (!arrived) histograms.keep()
    })
    const metricsTurn = yield* Effect.makeSemaphore(1)
    const sendMetrics = metricsTurn.withPermits(1)(collected)

    const ending = Deferred.await(closing)
    const spansOut = Effect.forever(
      Queue.take(come).pipe(
        Effect.zipRight(
          Effect.raceFirst(Effect.sleep(limits.spans_every), Effect.raceFirst(Queue.take(full), ending))
        ),
        Effect.zipRight(sendSpans)
      )
    )
    const metricsOut = Effect.forever(Effect.zipRight(Effect.sleep(limits.metrics_every), sendMetrics))

    yield* Effect.forkScoped(Effect.interruptible(spansOut))
    if (target.metrics !== null) yield* Effect.forkScoped(Effect.interruptible(metricsOut))
    // Registered last, so that it runs first: what is on its way arrives before the fibers are interrupted.
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        Deferred.succeed(closing, undefined),
        Effect.all([sendSpans, sendMetrics], { concurrency: 2, discard: true })
      ).pipe(
        Effect.interruptible,
        Effect.timeoutOption(limits.flush),
        Effect.tap(() =>
          Effect.sync(() => {
            // a server that outlives the workspace may still have spans
            over = true
            waiting.length = 0
          })
        ),
        Effect.flatMap((done) =>
          done._tag === "Some"
            ? Effect.void
            : tell(`the collector took longer than ${limits.flush} at the end of the program`)
        )
      )
    )

    return {
      push: (span) => {
        if (target.traces === null || over) return
        const own = textUnits(span)
        if (waiting.length >= limits.spans || units + own > limits.queue_units) {
          dropped++
          return
        }
        waiting.push(span)
        units += own
        come.unsafeOffer(undefined)
        if (waiting.length >= limits.batch) full.unsafeOffer(undefined)
      }
    }
  })
