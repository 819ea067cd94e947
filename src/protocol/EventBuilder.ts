/**
 * Builds the canonical events of one response so that the invariants of protocols, section 5, hold whatever the
 * upstream does: one terminal and nothing after it, dense sequence numbers and output indexes, each item added and done
 * exactly once and never two open at a time, the terminal's `output` equal to the items sent, unique call ids, empty
 * arguments as `{}`, a call that was cut marked incomplete.
 *
 * A decoder writes into items in whatever order fragments come. The oldest item that has not ended is live and its
 * events go out at once; the others collect and follow when it has ended (invariant 3).
 *
 * @since 0.1.0
 */
import { sha256Hex } from "../codec/Sha256.ts"
import type { OutputItem, Response, ResponseError, ResponseEvent, ResponseUsage } from "../domain/ResponseEvent.ts"
import type { StopReason } from "../domain/StreamEvent.ts"
import { type CallStart, CallWriter } from "./CallWriter.ts"
import { type EventBody, type ItemEnd, type ItemSink, type ItemWriter, OpaqueWriter } from "./ItemWriter.ts"
import { MessageWriter } from "./MessageWriter.ts"
import type { DecodeOptions } from "./Protocol.ts"
import { ReasoningWriter } from "./ReasoningWriter.ts"

/** @since 0.1.0 @category models */
export interface BuilderOptions extends DecodeOptions {
  /** The upstream has one item at a time: one that was not ended ends when the next begins. */
  readonly sequential: boolean
}

/** @since 0.1.0 @category models */
export class EventBuilder implements ItemSink {
  readonly sequential: boolean
  /** Counts reported so far; they stand in every terminal. */
  usage: ResponseUsage | null = null

  #out: Array<ResponseEvent> = []
  #sequence = 0
  #started = false
  #terminal = false
  #id: string
  #model: string
  #seed: string | undefined
  #minted = 0
  #indexes = 0
  #advancing = false
  readonly #options: BuilderOptions
  readonly #queue: Array<ItemWriter> = []
  readonly #output: Array<OutputItem> = []
  readonly #itemIds = new Set<string>()
  readonly #callIds = new Set<string>()

  constructor(options: BuilderOptions) {
    this.#options = options
    this.sequential = options.sequential
    this.#id = ""
    this.#model = options.model
  }

  /** A terminal was emitted. */
  get terminal(): boolean {
    return this.#terminal
  }

  /** Items wait behind the live one. */
  get othersWait(): boolean {
    return this.#queue.length > 1
  }

  /** Items of a kind that the model wrote were begun. */
  get wrote(): boolean {
    return this.#queue.length > 0 || this.#output.length > 0
  }

  /** What was emitted since the last call. */
  take(): ReadonlyArray<ResponseEvent> {
    const out = this.#out
    if (out.length === 0) return none
    this.#out = []
    return out
  }

  emit(event: EventBody): void {
    if (this.#terminal) return
    ;(event as { sequence_number?: number }).sequence_number = this.#sequence++
    this.#out.push(event as ResponseEvent)
  }

  /** Once; later calls change nothing, since id and model are constant within a stream. */
  start(id?: string, model?: string): void {
    if (this.#started || this.#terminal) return
    this.#started = true
    this.#id = id ?? this.#mint("resp")
    this.#model = model ?? this.#options.model
    const response = this.#response("in_progress", null)
    this.emit({ type: "response.created", response })
    this.emit({ type: "response.in_progress", response })
  }

  message(upstreamId?: string): MessageWriter {
    return this.#add(new MessageWriter(this, upstreamId))
  }

  reasoning(upstreamId?: string): ReasoningWriter {
    return this.#add(new ReasoningWriter(this, upstreamId))
  }

  call(start: CallStart): CallWriter {
    return this.#add(new CallWriter(this, start))
  }

  opaqueItem(upstreamId: string | undefined, raw: unknown): OpaqueWriter {
    return this.#add(new OpaqueWriter(this, upstreamId, raw))
  }

  /** An upstream event without canonical meaning. */
  opaque(event: string | null, data: string): void {
    this.start()
    this.emit({ type: "opaque", event, data })
  }

  /** The upstream reached its own end. Calls win over a plain end, and `tool_use` needs a call (section 7). */
  complete(stop: StopReason, sequence?: string): void {
    if (this.#terminal) return
    this.start()
    this.#endAll(() => "completed")
    const calls = this.#output.some((item) =>
      (item.type === "function_call" || item.type === "custom_tool_call") && item.status === "completed"
    )
    const reason = calls && (stop === "end_turn" || stop === "stop_sequence")
      ? "tool_use"
      : !calls && stop === "tool_use"
      ? "end_turn"
      : stop
    this.#finish("response.completed", {
      ...this.#response("completed", null),
      stop: { reason, ...(sequence === undefined ? {} : { sequence }) }
    })
  }

  /** Cut by tokens or by a filter: what was open is incomplete, but for a call whose arguments are whole. */
  incomplete(detail: "max_output_tokens" | "content_filter", stop: StopReason): void {
    if (this.#terminal) return
    this.start()
    this.#endAll((item) => item.cut())
    this.#finish("response.incomplete", {
      ...this.#response("incomplete", null),
      incomplete_details: { reason: detail },
      stop: { reason: stop }
    })
  }

  /** Failed after it had begun (or before); the items sent and the counts stay. */
  fail(error: ResponseError): void {
    if (this.#terminal) return
    this.start()
    this.#endAll((item) => item.cut())
    this.#finish("response.failed", this.#response("failed", error))
  }

  // What the items need.

  added(item: OutputItem): number {
    const output_index = this.#indexes++
    this.emit({ type: "response.output_item.added", output_index, item })
    return output_index
  }

  finished(output_index: number, item: OutputItem): void {
    this.#output.push(item)
    this.emit({ type: "response.output_item.done", output_index, item })
  }

  itemId(kind: "msg" | "rs" | "fc" | "item", upstream: string | undefined): string {
    const id = upstream === undefined || this.#itemIds.has(upstream) ? this.#mint(kind) : upstream
    this.#itemIds.add(id)
    return id
  }

  uniqueCallId(upstream: string | undefined): string {
    const first = upstream ?? this.#mint("call")
    let id = first
    for (let n = 2; this.#callIds.has(id); n++) id = `${first}_${n}`
    this.#callIds.add(id)
    return id
  }

  /** An id for a call that must be named before it is shown. */
  mintCallId(): string {
    return this.#mint("call")
  }

  canonicalName(name: string): string {
    return this.#options.names.get(name) ?? name
  }

  /** Shows and closes what can be shown and closed, in order. */
  advance(): void {
    // an item that is opened or closed may call back; the outer loop goes on from there
    if (this.#advancing || this.#terminal) return
    this.#advancing = true
    for (;;) {
      const head = this.#queue[0]
      if (head === undefined) break
      if (!head.ended && this.#queue.length > 1 && head.yields()) head.ended = true
      if (!head.live) {
        if (!head.ready()) break
        this.start()
        head.open()
        head.live = true
      }
      if (!head.ended) break
      head.close()
      head.closed = true
      this.#queue.shift()
    }
    this.#advancing = false
  }

  #add<W extends ItemWriter>(item: W): W {
    if (this.#terminal) {
      item.ended = true
      return item
    }
    // waiting items end too: what comes later must not go into something older than this one
    for (const other of this.#queue) if (other.yields()) other.ended = true
    this.#queue.push(item)
    this.advance()
    return item
  }

  #endAll(status: (item: ItemWriter) => ItemEnd): void {
    for (const item of this.#queue.slice()) {
      if (!item.ended) {
        item.status = status(item)
        item.ended = true
      }
    }
    this.advance()
  }

  #finish(type: "response.completed" | "response.incomplete" | "response.failed", response: Response): void {
    this.emit({ type, response })
    this.#terminal = true
  }

  #response(status: Response["status"], error: ResponseError | null): Response {
    return {
      id: this.#id,
      model: this.#model,
      status,
      output: [...this.#output],
      usage: this.usage,
      incomplete_details: null,
      error
    }
  }

  #mint(kind: "resp" | "msg" | "rs" | "fc" | "call" | "item"): string {
    const n = this.#minted++
    const mint = this.#options.mint
    if (mint !== undefined) return mint(kind === "item" ? "msg" : kind, n)
    this.#seed ??= sha256Hex(`${this.#id}\n${this.#options.model}`).slice(0, 8)
    return `${kind}_${this.#seed}_${n}`
  }
}

const none: ReadonlyArray<ResponseEvent> = []
