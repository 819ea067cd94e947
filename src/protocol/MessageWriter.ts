/**
 * A message item while it is written: its parts in order, each opened, streamed and closed.
 *
 * @since 0.1.0
 */
import type { ContentPart, MessageItem } from "../domain/ResponseEvent.ts"
import type { JsonObject } from "../domain/Json.ts"
import { ItemWriter } from "./ItemWriter.ts"

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
