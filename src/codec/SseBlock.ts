/**
 * The open block of an event stream: what its lines say, and the frame it becomes (WHATWG HTML 9.2.6).
 *
 * It sees whole lines of text, without their ends and without comments; lines and bytes are `Sse`'s.
 *
 * @since 0.1.0
 */

/** One dispatched event. `unterminated` marks the block that `finish` handed out (divergence D1). @since 0.1.0 @category models */
export interface SseFrame {
  readonly event: string | null
  readonly data: string
  readonly id: string | null
  readonly retry: number | null
  readonly unterminated?: true
}

const SPACE = 32
const COLON = 58

/** Data lines are joined in groups, so that many short lines cost no more than their text. */
const groupedLines = 512

/** The value of the line `text[start, end)` if its field is `name`, else null; the first character is known to be right. */
const fieldValue = (text: string, start: number, end: number, name: string): string | null => {
  const colon = start + name.length
  if (colon > end) return null
  for (let i = 1; i < name.length; i++) if (text.charCodeAt(start + i) !== name.charCodeAt(i)) return null
  if (colon === end) return ""
  if (text.charCodeAt(colon) !== COLON) return null
  return text.slice(text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1, end)
}

/** Milliseconds, or null if the text is no `retry` value (rule 3.8). */
const retryValue = (value: string): number | null => {
  if (value === "") return null
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 48 || code > 57) return null
  }
  const milliseconds = Number(value)
  return milliseconds <= Number.MAX_SAFE_INTEGER ? milliseconds : null
}

/**
 * Collects field lines until the block is dispatched, and keeps what outlives it: the sticky id and the reconnection time.
 *
 * @since 0.1.0
 * @category decoding
 */
export class SseBlock {
  /** Bytes counted of the block's finished lines; whoever reads the bytes adds them. */
  bytes = 0

  #hasData = false
  #data = ""
  #more: Array<string> = []
  #event = ""
  #id: string | null = null
  #retry: number | null = null

  #lastEventId = ""
  #reconnect: number | null = null

  /** `""` at first; set when a block is dispatched (rule 3.7). */
  get last_event_id(): string {
    return this.#lastEventId
  }

  /** Milliseconds; set as soon as the line is read (rule 3.8). */
  get reconnect_ms(): number | null {
    return this.#reconnect
  }

  /** One field line, `text[start, end)`; never empty, never a comment (rule 3.4). */
  field(text: string, start: number, end: number): void {
    switch (text.charCodeAt(start)) {
      case 100: {
        const value = fieldValue(text, start, end, "data")
        if (value === null) return
        if (!this.#hasData) {
          this.#hasData = true
          this.#data = value
          return
        }
        this.#more.push(value)
        if (this.#more.length === groupedLines) this.#join()
        return
      }
      case 101: {
        const value = fieldValue(text, start, end, "event")
        if (value !== null) this.#event = value
        return
      }
      case 105: {
        const value = fieldValue(text, start, end, "id")
        if (value !== null && !value.includes("\0")) this.#id = value
        return
      }
      case 114: {
        const value = fieldValue(text, start, end, "retry")
        const milliseconds = value === null ? null : retryValue(value)
        if (milliseconds !== null) {
          this.#retry = milliseconds
          this.#reconnect = milliseconds
        }
        return
      }
    }
  }

  /** The blank line: a block with data becomes a frame, and the next one is open. */
  dispatch(frames: Array<SseFrame>): void {
    const id = this.#id
    if (id !== null) {
      this.#lastEventId = id
      this.#id = null
    }
    if (this.#hasData) {
      if (this.#more.length > 0) this.#join()
      frames.push({ event: this.#event === "" ? null : this.#event, data: this.#data, id, retry: this.#retry })
      this.#hasData = false
      this.#data = ""
    }
    this.#event = ""
    this.#retry = null
    this.bytes = 0
  }

  /** The end of the stream: a block with data becomes a flagged frame (D1); one without is dropped, its id too. */
  end(frames: Array<SseFrame>): void {
    if (!this.#hasData) return
    this.dispatch(frames)
    const last = frames.pop()
    if (last !== undefined) frames.push({ ...last, unterminated: true })
  }

  /** Forgets the open block. */
  release(): void {
    this.#hasData = false
    this.#data = ""
    this.#more = []
    this.#event = ""
    this.#id = null
    this.#retry = null
    this.bytes = 0
  }

  #join(): void {
    this.#data += "\n" + this.#more.join("\n")
    this.#more = []
  }
}
