/**
 * One item of a response while it is written: it collects what comes and shows it when it is its turn. What there is to
 * know of the response around it stands in `ItemSink`, which EventBuilder is.
 *
 * @since 0.1.0
 */
import type { OutputItem, ResponseEvent } from "../domain/ResponseEvent.ts"

/** @since 0.1.0 @category models */
export type ItemEnd = "completed" | "incomplete"

/** A canonical event before it has its number. @since 0.1.0 @category models */
export type EventBody<E = ResponseEvent> = E extends ResponseEvent ? Omit<E, "sequence_number"> : never

/** What an item needs of the response. @since 0.1.0 @category models */
export interface ItemSink {
  /** The upstream has one item at a time: one that was not ended ends when the next begins. */
  readonly sequential: boolean
  /** Items wait behind the live one. */
  readonly othersWait: boolean
  readonly emit: (event: EventBody) => void
  /** Announces an item and gives its output index. */
  readonly added: (item: OutputItem) => number
  readonly finished: (output_index: number, item: OutputItem) => void
  /** The upstream's id when it is free, else a minted one. */
  readonly itemId: (kind: "msg" | "rs" | "fc" | "item", upstream: string | undefined) => string
  readonly uniqueCallId: (upstream: string | undefined) => string
  /** A tool's name as the agent knows it. */
  readonly canonicalName: (name: string) => string
  /** Shows and closes what can be shown and closed, in order. */
  readonly advance: () => void
}

/** One item being written. @since 0.1.0 @category models */
export abstract class ItemWriter {
  /** Added was sent; events go out as they come. */
  live = false
  /** Nothing more is taken. */
  ended = false
  /** Done was sent, or the item came to nothing. */
  closed = false
  status: ItemEnd = "completed"
  readonly builder: ItemSink
  /** The upstream's own id; kept where it is one. */
  upstreamId: string | undefined

  constructor(builder: ItemSink, upstreamId: string | undefined) {
    this.builder = builder
    this.upstreamId = upstreamId
  }

  /** May it be shown yet? */
  ready(): boolean {
    return true
  }

  /** Does it end when another item waits behind it? */
  yields(): boolean {
    return this.builder.sequential
  }

  /** How it ends when the response is cut here. */
  cut(): ItemEnd {
    return "incomplete"
  }

  abstract open(): void
  abstract close(): void

  end(status: ItemEnd = "completed"): void {
    if (this.ended) return
    this.ended = true
    this.status = status
    this.builder.advance()
  }
}

/** An item of a kind that is not known, kept whole. @since 0.1.0 @category models */
export class OpaqueWriter extends ItemWriter {
  #raw: unknown
  #id = ""
  #index = -1

  constructor(builder: ItemSink, upstreamId: string | undefined, raw: unknown) {
    super(builder, upstreamId)
    this.#raw = raw
  }

  replace(raw: unknown): void {
    if (!this.ended) this.#raw = raw
  }

  get raw(): unknown {
    return this.#raw
  }

  open(): void {
    this.#id = this.builder.itemId("item", this.upstreamId)
    this.#index = this.builder.added({ type: "opaque", id: this.#id, raw: this.#raw })
  }

  close(): void {
    this.builder.finished(this.#index, { type: "opaque", id: this.#id, raw: this.#raw })
  }
}
