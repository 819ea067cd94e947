/**
 * A reasoning item while it is written: summary and raw parts, and what a replay needs.
 *
 * @since 0.1.0
 */
import type { ReasoningItem } from "../domain/ResponseEvent.ts"
import { ItemWriter } from "./ItemWriter.ts"

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
