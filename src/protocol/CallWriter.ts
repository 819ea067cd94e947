/**
 * A tool call while it is written: its identity may come late, its arguments in any pieces, and a cut in them must not
 * look like a call that could run. A call whose name stays empty is one all the same: it is answered, not dropped.
 *
 * @since 0.1.0
 */
import type { CustomToolCallItem, FunctionCallItem } from "../domain/ResponseEvent.ts"
import { type ItemEnd, type ItemSink, ItemWriter } from "./ItemWriter.ts"
import { isBlank, isWholeObject, ObjectWatch } from "./Json.ts"

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

  constructor(builder: ItemSink, start: CallStart) {
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
    if (this.ended && this.#blank()) return
    this.id = this.builder.itemId("fc", this.upstreamId)
    this.callId = this.builder.uniqueCallId(this.callId)
    this.index = this.builder.added(this.#item("in_progress", ""))
    if (this.received !== "") this.#delta(this.received)
  }

  close(): void {
    if (this.index < 0) return
    if (this.kind === "function" && this.status === "completed" && isBlank(this.received)) {
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
    this.builder.finished(this.index, this.#item(this.status, this.received))
  }

  /** Nothing of it ever came, in a protocol that only has fragments of calls: not a call, but an empty fragment. */
  #blank(): boolean {
    return this.#idMayFollow && this.name === "" && this.received === "" && this.callId === undefined &&
      this.upstreamId === undefined
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
