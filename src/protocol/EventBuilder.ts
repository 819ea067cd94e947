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
import type {
  ContentPart,
  CustomToolCallItem,
  FunctionCallItem,
  MessageItem,
  OutputItem,
  ReasoningItem,
  Response,
  ResponseError,
  ResponseEvent,
  ResponseUsage
} from "../domain/ResponseEvent.ts"
import type { StopReason } from "../domain/StreamEvent.ts"
import type { JsonObject } from "../domain/Tool.ts"
import { isBlank, isWholeObject, ObjectWatch } from "./Json.ts"
import type { DecodeOptions } from "./Protocol.ts"

/** @since 0.1.0 @category models */
export type ItemEnd = "completed" | "incomplete"

type Body<E> = E extends ResponseEvent ? Omit<E, "sequence_number"> : never

/** @since 0.1.0 @category models */
export interface BuilderOptions extends DecodeOptions {
  /** The upstream has one item at a time: one that was not ended ends when the next begins. */
  readonly sequential: boolean
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
  readonly builder: EventBuilder
  /** The upstream's own id; kept where it is one. */
  upstreamId: string | undefined

  constructor(builder: EventBuilder, upstreamId: string | undefined) {
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

interface TextPart {
  readonly kind: "text" | "refusal"
  readonly key: number | undefined
  readonly annotations: Array<JsonObject>
  text: string
}

/** @since 0.1.0 @category models */
export class MessageWriter extends ItemWriter {
  id = ""
  index = -1
  readonly #parts: Array<TextPart> = []
  readonly #done: Array<ContentPart> = []
  #part: TextPart | undefined

  /** What part `key` of the upstream holds so far. */
  textOf(key: number, kind: "text" | "refusal" = "text"): string {
    return this.#parts.reduce((all, part) => part.key === key && part.kind === kind ? all + part.text : all, "")
  }

  /** How many annotations part `key` of the upstream has so far. */
  annotationsOf(key: number): number {
    return this.#parts.reduce((n, part) => part.key === key ? n + part.annotations.length : n, 0)
  }

  /** A change of kind or of the upstream's `key` begins a new part. */
  text(delta: string, key?: number): void {
    if (delta === "" || this.ended) return
    const part = this.#use("text", key)
    part.text += delta
    if (this.live) {
      this.builder.emit({
        type: "response.output_text.delta",
        output_index: this.index,
        item_id: this.id,
        content_index: this.#done.length,
        delta
      })
    }
  }

  refusal(delta: string, key?: number): void {
    if (delta === "" || this.ended) return
    const part = this.#use("refusal", key)
    part.text += delta
    if (this.live) {
      this.builder.emit({
        type: "response.refusal.delta",
        output_index: this.index,
        item_id: this.id,
        content_index: this.#done.length,
        delta
      })
    }
  }

  annotate(annotation: JsonObject, key?: number): void {
    if (this.ended) return
    const part = this.#use("text", key)
    part.annotations.push(annotation)
    if (this.live) this.#annotation(annotation, part.annotations.length - 1)
  }

  open(): void {
    this.id = this.builder.itemId("msg", this.upstreamId)
    this.index = this.builder.added(this.#item("in_progress", []))
    const waiting = this.#parts.slice()
    for (const part of waiting) {
      this.#begin(part)
      if (part.text !== "") {
        const at = { output_index: this.index, item_id: this.id, content_index: this.#done.length, delta: part.text }
        this.builder.emit(
          part.kind === "text"
            ? { type: "response.output_text.delta", ...at }
            : { type: "response.refusal.delta", ...at }
        )
      }
      part.annotations.forEach((annotation, i) => this.#annotation(annotation, i))
    }
  }

  close(): void {
    this.#finishPart()
    this.builder.finished(this.index, this.#item(this.status, this.#done))
  }

  #item(status: MessageItem["status"], content: ReadonlyArray<ContentPart>): MessageItem {
    return { type: "message", id: this.id, role: "assistant", status, content: [...content] }
  }

  #use(kind: TextPart["kind"], key: number | undefined): TextPart {
    const last = this.#parts[this.#parts.length - 1]
    if (last !== undefined && last.kind === kind && (key === undefined || last.key === key)) return last
    const part: TextPart = { kind, key, annotations: [], text: "" }
    this.#parts.push(part)
    if (this.live) this.#begin(part)
    return part
  }

  #begin(part: TextPart): void {
    this.#finishPart()
    this.#part = part
    this.builder.emit({
      type: "response.content_part.added",
      output_index: this.index,
      item_id: this.id,
      content_index: this.#done.length,
      part: part.kind === "text"
        ? { type: "output_text", text: "", annotations: [] }
        : { type: "refusal", refusal: "" }
    })
  }

  #annotation(annotation: JsonObject, i: number): void {
    this.builder.emit({
      type: "response.output_text.annotation.added",
      output_index: this.index,
      item_id: this.id,
      content_index: this.#done.length,
      annotation_index: i,
      annotation
    })
  }

  #finishPart(): void {
    const part = this.#part
    if (part === undefined) return
    this.#part = undefined
    const at = { output_index: this.index, item_id: this.id, content_index: this.#done.length }
    const whole: ContentPart = part.kind === "text"
      ? { type: "output_text", text: part.text, annotations: [...part.annotations] }
      : { type: "refusal", refusal: part.text }
    this.builder.emit(
      part.kind === "text"
        ? { type: "response.output_text.done", ...at, text: part.text }
        : { type: "response.refusal.done", ...at, refusal: part.text }
    )
    this.builder.emit({ type: "response.content_part.done", ...at, part: whole })
    this.#done.push(whole)
  }
}

/** What a replay needs; see ReasoningItem. @since 0.1.0 @category models */
export interface Seal {
  readonly encrypted_content?: string
  readonly signature?: string
  readonly redacted_data?: string
  readonly field?: string
}

interface ThoughtPart {
  readonly kind: "summary" | "raw"
  readonly key: number | undefined
  text: string
}

/** @since 0.1.0 @category models */
export class ReasoningWriter extends ItemWriter {
  id = ""
  index = -1
  #seal: Seal = {}
  readonly #parts: Array<ThoughtPart> = []
  #part: ThoughtPart | undefined
  readonly #summary: Array<string> = []
  readonly #raw: Array<string> = []

  textOf(kind: "summary" | "raw", key: number): string {
    return this.#parts.reduce((all, part) => part.key === key && part.kind === kind ? all + part.text : all, "")
  }

  summary(delta: string, key?: number): void {
    this.#write("summary", delta, key)
  }

  raw(delta: string, key?: number): void {
    this.#write("raw", delta, key)
  }

  /** Adds to what was sealed before; a signature that comes in pieces is put together by the decoder. */
  seal(seal: Seal): void {
    if (!this.closed) this.#seal = { ...this.#seal, ...seal }
  }

  open(): void {
    this.id = this.builder.itemId("rs", this.upstreamId)
    this.index = this.builder.added({ type: "reasoning", id: this.id, status: "in_progress", summary: [] })
    for (const part of this.#parts.slice()) {
      this.#begin(part)
      if (part.text !== "") this.#delta(part, part.text)
    }
  }

  close(): void {
    this.#finishPart()
    const item: ReasoningItem = {
      type: "reasoning",
      id: this.id,
      status: this.status,
      summary: this.#summary.map((text) => ({ type: "summary_text", text })),
      ...(this.#raw.length === 0 ? {} : { content: this.#raw.map((text) => ({ type: "reasoning_text", text })) }),
      ...this.#seal
    }
    this.builder.finished(this.index, item)
  }

  #write(kind: ThoughtPart["kind"], delta: string, key: number | undefined): void {
    if (delta === "" || this.ended) return
    let part = this.#parts[this.#parts.length - 1]
    if (part === undefined || part.kind !== kind || (key !== undefined && part.key !== key)) {
      part = { kind, key, text: "" }
      this.#parts.push(part)
      if (this.live) this.#begin(part)
    }
    part.text += delta
    if (this.live) this.#delta(part, delta)
  }

  #delta(part: ThoughtPart, delta: string): void {
    this.builder.emit(
      part.kind === "summary"
        ? {
          type: "response.reasoning_summary_text.delta",
          output_index: this.index,
          item_id: this.id,
          summary_index: this.#summary.length,
          delta
        }
        : {
          type: "response.reasoning_text.delta",
          output_index: this.index,
          item_id: this.id,
          content_index: this.#raw.length,
          delta
        }
    )
  }

  #begin(part: ThoughtPart): void {
    this.#finishPart()
    this.#part = part
    if (part.kind === "summary") {
      this.builder.emit({
        type: "response.reasoning_summary_part.added",
        output_index: this.index,
        item_id: this.id,
        summary_index: this.#summary.length,
        part: { type: "summary_text", text: "" }
      })
    }
  }

  #finishPart(): void {
    const part = this.#part
    if (part === undefined) return
    this.#part = undefined
    const at = { output_index: this.index, item_id: this.id }
    const text = part.text
    if (part.kind === "summary") {
      const summary_index = this.#summary.length
      this.builder.emit({ type: "response.reasoning_summary_text.done", ...at, summary_index, text })
      this.builder.emit({
        type: "response.reasoning_summary_part.done",
        ...at,
        summary_index,
        part: { type: "summary_text", text }
      })
      this.#summary.push(text)
    } else {
      this.builder.emit({ type: "response.reasoning_text.done", ...at, content_index: this.#raw.length, text })
      this.#raw.push(text)
    }
  }
}

/** What opens a call; a name or an id may come later. @since 0.1.0 @category models */
export interface CallStart {
  readonly kind?: "function" | "custom"
  readonly itemId?: string | undefined
  readonly callId?: string | undefined
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  /** Wait for an id as long as no argument has come (some upstreams send it late). */
  readonly idMayFollow?: boolean
}

/** A function call, or a custom tool call whose `arguments` are free text. @since 0.1.0 @category models */
export class CallWriter extends ItemWriter {
  id = ""
  index = -1
  readonly kind: "function" | "custom"
  callId: string | undefined
  name: string
  namespace: string | undefined
  /** All argument text that came, shown or not. */
  received = ""
  #settled = false
  readonly #watch = new ObjectWatch()
  /** The verdict on arguments that are closed; what follows them makes them unclosed again. */
  #whole: boolean | undefined
  readonly #idMayFollow: boolean

  constructor(builder: EventBuilder, start: CallStart) {
    super(builder, start.itemId)
    this.kind = start.kind ?? "function"
    this.callId = start.callId
    this.name = start.name ?? ""
    this.namespace = start.namespace
    this.#idMayFollow = start.idMayFollow ?? false
  }

  override ready(): boolean {
    if (this.ended) return true
    return this.name !== "" && (this.callId !== undefined || !this.#idMayFollow || this.received !== "")
  }

  override yields(): boolean {
    return this.#settled || (this.builder.sequential && this.whole())
  }

  override cut(): ItemEnd {
    return this.name !== "" && this.whole() ? "completed" : "incomplete"
  }

  /** Nothing can follow these arguments any more. Free text never says so itself. */
  whole(): boolean {
    if (this.kind === "custom" || !this.#watch.closed) return false
    return (this.#whole ??= isWholeObject(this.received))
  }

  /** Takes what came late; a name or an id that was shown already stays. */
  identify(start: { readonly name?: string | undefined; readonly callId?: string | undefined }): void {
    if (this.live || this.ended) return
    if (this.name === "" && start.name !== undefined) this.name = start.name
    this.callId ??= start.callId
    this.builder.advance()
  }

  arguments(delta: string): void {
    if (delta === "" || this.ended) return
    this.received += delta
    this.#watch.feed(delta)
    if (this.live) this.#delta(delta)
    if (!this.live || this.builder.othersWait) this.builder.advance()
  }

  /**
   * The upstream says that the call ends here. Arguments that are not whole keep it open until it is clear that the
   * response was not cut in them.
   */
  settle(): void {
    if (this.ended) return
    this.#settled = true
    if (this.kind === "custom" || this.whole()) this.end()
    else this.builder.advance()
  }

  open(): void {
    if (this.ended && this.name === "" && this.received === "") return
    this.id = this.builder.itemId("fc", this.upstreamId)
    this.callId = this.builder.uniqueCallId(this.callId)
    this.index = this.builder.added(this.#item("in_progress", ""))
    if (this.received !== "") this.#delta(this.received)
  }

  close(): void {
    if (this.index < 0) return
    const status = this.name === "" ? "incomplete" : this.status
    if (this.kind === "function" && status === "completed" && isBlank(this.received)) {
      // empty arguments are an object without keys (invariant 6); white space that was sent stays in the deltas
      this.received = this.received === "" ? "{}" : this.received + "{}"
      this.#delta("{}")
    }
    const at = { output_index: this.index, item_id: this.id }
    this.builder.emit(
      this.kind === "function"
        ? { type: "response.function_call_arguments.done", ...at, arguments: this.received }
        : { type: "response.custom_tool_call_input.done", ...at, input: this.received }
    )
    this.builder.finished(this.index, this.#item(status, this.received))
  }

  #delta(delta: string): void {
    const at = { output_index: this.index, item_id: this.id, delta }
    this.builder.emit(
      this.kind === "function"
        ? { type: "response.function_call_arguments.delta", ...at }
        : { type: "response.custom_tool_call_input.delta", ...at }
    )
  }

  #item(status: FunctionCallItem["status"], text: string): FunctionCallItem | CustomToolCallItem {
    const name = this.builder.canonicalName(this.name)
    const call_id = this.callId ?? ""
    return this.kind === "function"
      ? {
        type: "function_call",
        id: this.id,
        call_id,
        name,
        arguments: text,
        ...(this.namespace === undefined ? {} : { namespace: this.namespace }),
        status
      }
      : { type: "custom_tool_call", id: this.id, call_id, name, input: text, status }
  }
}

/** An item of a kind that is not known, kept whole. @since 0.1.0 @category models */
export class OpaqueWriter extends ItemWriter {
  #raw: unknown
  #id = ""
  #index = -1

  constructor(builder: EventBuilder, upstreamId: string | undefined, raw: unknown) {
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

/** @since 0.1.0 @category models */
export class EventBuilder {
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

  emit(event: Body<ResponseEvent>): void {
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
