/**
 * Stop sequences where the protocol has none, or takes fewer: the text is watched, cut before the sequence, and the
 * response ends there as if the provider had stopped (protocols, section 4).
 *
 * Canonical events in, canonical events out; text that could still become a sequence is held back. After the cut
 * nothing more comes and the caller closes the connection.
 *
 * @since 0.1.0
 */
import type { ContentPart, OutputItem, Response, ResponseEvent } from "../domain/ResponseEvent.ts"

/** @since 0.1.0 @category models */
export interface LocalStop {
  readonly push: (events: ReadonlyArray<ResponseEvent>) => ReadonlyArray<ResponseEvent>
  /** A sequence was hit; the response has ended. */
  readonly hit: () => boolean
}

/**
 * The sequence that is complete first, as a provider that reads on character by character would see it; of two that end at
 * the same place the longer one. So the answer does not depend on how the text was cut into pieces.
 */
const earliest = (
  text: string,
  sequences: ReadonlyArray<string>
): { readonly at: number; readonly sequence: string } | null => {
  let found: { readonly at: number; readonly sequence: string } | null = null
  for (const sequence of sequences) {
    const at = text.indexOf(sequence)
    if (at === -1) continue
    const end = at + sequence.length
    const best = found === null ? Infinity : found.at + found.sequence.length
    if (end < best || (end === best && at < (found?.at ?? 0))) found = { at, sequence }
  }
  return found
}

/** How many characters at the end of a text could be the beginning of a sequence. */
const pending = (text: string, sequences: ReadonlyArray<string>): number => {
  let longest = 0
  for (const sequence of sequences) {
    for (let n = Math.min(sequence.length - 1, text.length); n > longest; n--) {
      if (text.endsWith(sequence.slice(0, n))) longest = n
    }
  }
  return longest
}

type Body<E> = E extends ResponseEvent ? Omit<E, "sequence_number"> : never
type TextDelta = Extract<ResponseEvent, { type: "response.output_text.delta" }>

class Watcher implements LocalStop {
  private readonly sequences: ReadonlyArray<string>
  private out: Array<ResponseEvent> = []
  private sequence = 0
  private ended = false
  private response: Response | null = null
  private readonly items: Array<OutputItem> = []
  private parts: Array<ContentPart> = []
  private part: { text: string; readonly annotations: Array<Record<string, unknown>> } | null = null
  private held = ""
  private place: Omit<TextDelta, "type" | "sequence_number" | "delta"> | null = null

  constructor(sequences: ReadonlyArray<string>) {
    this.sequences = sequences
  }

  readonly hit = (): boolean => this.ended

  readonly push = (events: ReadonlyArray<ResponseEvent>): ReadonlyArray<ResponseEvent> => {
    this.out = []
    for (const event of events) {
      if (this.ended) break
      this.one(event)
    }
    return this.out
  }

  private emit(body: Body<ResponseEvent>): void {
    this.out.push({ ...body, sequence_number: this.sequence++ } as ResponseEvent)
  }

  private one(event: ResponseEvent): void {
    switch (event.type) {
      case "response.created":
      case "response.in_progress":
        this.response = event.response
        return this.emit(event)
      case "response.content_part.added":
        this.part = { text: "", annotations: [] }
        return this.emit(event)
      case "response.output_text.delta":
        return this.text(event)
      case "response.output_text.annotation.added":
        this.part?.annotations.push({ ...event.annotation })
        return this.emit(event)
      case "response.output_text.done":
        this.flush()
        return this.emit(event)
      case "response.content_part.done":
        this.parts.push(event.part)
        this.part = null
        return this.emit(event)
      case "response.output_item.done":
        this.items.push(event.item)
        this.parts = []
        return this.emit(event)
      default:
        return this.emit(event)
    }
  }

  private delta(text: string): void {
    if (text === "" || this.place === null) return
    if (this.part !== null) this.part.text += text
    this.emit({ type: "response.output_text.delta", ...this.place, delta: text })
  }

  private flush(): void {
    this.delta(this.held)
    this.held = ""
  }

  private text(event: TextDelta): void {
    this.place = { output_index: event.output_index, item_id: event.item_id, content_index: event.content_index }
    const all = this.held + event.delta
    const found = earliest(all, this.sequences)
    if (found === null) {
      const keep = pending(all, this.sequences)
      this.held = all.slice(all.length - keep)
      return this.delta(all.slice(0, all.length - keep))
    }
    this.delta(all.slice(0, found.at))
    this.end(this.place, found.sequence)
  }

  private end(place: NonNullable<Watcher["place"]>, sequence: string): void {
    this.ended = true
    const text = this.part?.text ?? ""
    const part: ContentPart = { type: "output_text", text, annotations: this.part?.annotations ?? [] }
    const item: OutputItem = {
      type: "message",
      id: place.item_id,
      role: "assistant",
      status: "completed",
      content: [...this.parts, part]
    }
    this.emit({ type: "response.output_text.done", ...place, text })
    this.emit({ type: "response.content_part.done", ...place, part })
    this.emit({ type: "response.output_item.done", output_index: place.output_index, item })
    const calls = this.items.some((done) =>
      (done.type === "function_call" || done.type === "custom_tool_call") && done.status === "completed"
    )
    this.emit({
      type: "response.completed",
      response: {
        id: this.response?.id ?? "",
        model: this.response?.model ?? "",
        status: "completed",
        output: [...this.items, item],
        usage: this.response?.usage ?? null,
        incomplete_details: null,
        error: null,
        stop: { reason: calls ? "tool_use" : "stop_sequence", sequence }
      }
    })
  }
}

/** `null` when there is nothing to watch for. @since 0.1.0 @category constructors */
export const makeLocalStop = (sequences: ReadonlyArray<string>): LocalStop | null => {
  const real = sequences.filter((sequence) => sequence !== "")
  return real.length === 0 ? null : new Watcher(real)
}
