/**
 * The request's own credential out of the answer (reading G2): what a server repeats of a key in its text, its reasoning or
 * its calls is shown and recorded as `[redacted]`, also where it comes in pieces.
 *
 * @since 0.1.0
 */
import { escapes, redacted } from "../codec/SecretForms.ts"
import * as SecretMask from "../codec/SecretMask.ts"
import type { ResponseEvent } from "../domain/ResponseEvent.ts"

/** @since 0.1.0 @category models */
export interface AnswerMask {
  /** Sequence numbers go on without gaps. */
  readonly push: (events: ReadonlyArray<ResponseEvent>) => ReadonlyArray<ResponseEvent>
}

/** Shorter keys are words (`lm-studio`): an answer may well speak of them. @since 0.1.0 @category constants */
export const shortestInAnswers = 16

type Delta = Extract<ResponseEvent, { readonly delta: string }>

const isEnd = (event: ResponseEvent): boolean =>
  event.type === "response.completed" || event.type === "response.incomplete" || event.type === "response.failed"

const isDelta = (event: ResponseEvent): event is Delta => "delta" in event

interface Open {
  readonly stream: SecretMask.MaskStream
  /** Of the last piece: what is held back goes out in its place. */
  last: Delta
}

/** No item that a program can use is nested like this. */
const deepest = 500

/** The same value where nothing of it is secret. */
const deep = (value: unknown, text: (text: string) => string, depth = 0): unknown => {
  if (typeof value === "string") return text(value)
  if (typeof value !== "object" || value === null) return value
  if (depth > deepest) return redacted
  if (Array.isArray(value)) {
    const items = value.map((item) => deep(item, text, depth + 1))
    return items.some((item, at) => item !== value[at]) ? items : value
  }
  let changed: Record<string, unknown> | null = null
  for (const [name, member] of Object.entries(value)) {
    const clean = deep(member, text, depth + 1)
    if (clean === member) continue
    changed ??= { ...value }
    changed[name] = clean
  }
  return changed ?? value
}

/** The part of an item that an event is about; null = the item as a whole. */
const partOf = (event: ResponseEvent): number | null =>
  "content_index" in event ? event.content_index : "summary_index" in event ? event.summary_index : null

const keyOf = (event: Delta): string => `${event.type} ${event.output_index} ${partOf(event) ?? ""}`

class Masker implements AnswerMask {
  private readonly mask: SecretMask.SecretMask
  private readonly open = new Map<string, Open>()
  private moved = 0
  private out: Array<ResponseEvent> = []

  constructor(mask: SecretMask.SecretMask) {
    this.mask = mask
  }

  readonly push = (events: ReadonlyArray<ResponseEvent>): ReadonlyArray<ResponseEvent> => {
    this.out = []
    for (const event of events) this.one(event)
    return this.out
  }

  private emit(event: ResponseEvent): void {
    this.out.push(this.moved === 0 ? event : { ...event, sequence_number: event.sequence_number + this.moved })
  }

  private one(event: ResponseEvent): void {
    if (isDelta(event)) return this.delta(event)
    // What belongs to a place is complete before its end is said.
    if (this.open.size > 0 && (event.type.endsWith(".done") || isEnd(event))) this.flush(event)
    this.emit(deep(event, this.mask.text) as ResponseEvent)
  }

  private delta(event: Delta): void {
    const key = keyOf(event)
    let open = this.open.get(key)
    if (open === undefined) {
      open = { stream: this.mask.stream(), last: event }
      this.open.set(key, open)
    }
    open.last = event
    const text = open.stream.push(event.delta)
    if (text === event.delta) return this.emit(event)
    if (text !== "") return this.emit({ ...event, delta: text })
    if (event.delta === "") return this.emit(event)
    this.moved--
  }

  /** What was held back at the place that `event` ends, or everywhere. */
  private flush(event: ResponseEvent): void {
    const item = "output_index" in event ? event.output_index : null
    const part = partOf(event)
    for (const [key, { last, stream }] of this.open) {
      if (item !== null && (last.output_index !== item || (part !== null && partOf(last) !== part))) continue
      this.open.delete(key)
      const rest = stream.flush()
      if (rest === "") continue
      this.emit({ ...last, delta: rest, sequence_number: event.sequence_number })
      this.moved++
    }
  }
}

/**
 * For one response; null = the request carries nothing that could be repeated. Base64 is not looked for: each way to spell
 * a key holds back more of the ends of ordinary pieces.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (secrets: ReadonlyArray<string>): (() => AnswerMask) | null => {
  const long = secrets.filter((secret) => secret.length >= shortestInAnswers)
  // `Bearer KEY` is found by its key
  const keys = long.filter((secret) => !long.some((other) => other !== secret && secret.includes(other)))
  const mask = SecretMask.make(keys, escapes)
  return mask === null ? null : () => new Masker(mask)
}
