/**
 * Spans from their beginning to their end: ids, times, attributes. What has ended goes to the exporter.
 *
 * @since 0.1.0
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import { CurrentSpan, type Recorder, type Span } from "../domain/Telemetry.ts"
import type { Attributes, SpanData } from "./Otlp.ts"

/** Events of one span; those beyond are counted. @since 0.1.0 @category constants */
export const maxEvents = 128

/** A span that is being written. @since 0.1.0 @category models */
export interface OpenSpan extends Span {
  readonly start: bigint
  /** Nanoseconds since the epoch. */
  readonly now: () => bigint
  readonly set: (attributes: Attributes) => void
  readonly event: (name: string, attributes?: Attributes) => void
  /** Once; `error_type` says why what the span is about has failed. */
  readonly end: (error_type?: string) => void
}

/** @since 0.1.0 @category models */
export interface SpanStart {
  readonly name: string
  readonly kind: SpanData["kind"]
  readonly attributes: Attributes
  /** Of a trace that begins here; 32 hex digits, else one is drawn. */
  readonly trace_id?: string
}

/** @since 0.1.0 @category models */
export interface Begin {
  (start: SpanStart): Effect.Effect<OpenSpan>
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, "0")

const words = (count: number): Effect.Effect<string> =>
  Effect.map(
    Effect.all(Array.from({ length: count }, () => Random.nextIntBetween(0, 0x1_0000_0000))),
    (drawn) => drawn.map(hex).join("")
  )

/** An id is never all zeros. */
const idOf = (count: number): Effect.Effect<string> =>
  Effect.flatMap(words(count), (id) => /^0+$/u.test(id) ? idOf(count) : Effect.succeed(id))

/** Begins with the time, so that processes that draw the same do not share a trace. */
const traceIdAt = (now: bigint): Effect.Effect<string> =>
  Effect.map(idOf(4), (id) => (now / 1_000_000n).toString(16).padStart(12, "0").slice(-12) + id.slice(12))

const unsafeNow = (clock: Clock.Clock) => (): bigint => clock.unsafeCurrentTimeNanos()

/**
 * Begins spans below the one that is on in the fiber, unless that has ended; else below `parent`, the trace that the
 * program was started in.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly push: (span: SpanData) => void
  readonly recorder: () => Recorder
  readonly parent: { readonly trace_id: string; readonly span_id: string } | null
}): Begin =>
({ attributes, kind, name, trace_id }) =>
  Effect.gen(function*() {
    const now = unsafeNow(yield* Effect.clock)
    const start = now()
    const current = Option.getOrNull(yield* Effect.serviceOption(CurrentSpan))
    const above = current !== null && !current.ended() ? current : options.parent
    const own: Record<string, Attributes[string]> = { ...attributes }
    const events: Array<SpanData["events"][number]> = []
    let dropped_events = 0
    let ended = false
    const ids = {
      trace_id: above?.trace_id ?? trace_id ?? (yield* traceIdAt(start)),
      span_id: yield* idOf(2)
    }
    const span: OpenSpan = {
      ...ids,
      start,
      now,
      recorder: options.recorder(),
      ended: () => ended,
      set: (more) => void Object.assign(own, more),
      event: (event, more = {}) => {
        if (ended) return
        if (events.length >= maxEvents) dropped_events++
        else events.push({ name: event, at: now(), attributes: more })
      },
      end: (error_type) => {
        if (ended) return
        ended = true
        if (error_type !== undefined) own["error.type"] = error_type
        options.push({
          ...ids,
          parent_span_id: above?.span_id ?? null,
          name,
          kind,
          start,
          end: now(),
          attributes: own,
          events,
          dropped_events,
          failed: error_type !== undefined
        })
      }
    }
    return span
  })

/** Seconds between two times in nanoseconds. @since 0.1.0 @category combinators */
export const secondsBetween = (start: bigint, end: bigint): number => Number(end - start) / 1e9
