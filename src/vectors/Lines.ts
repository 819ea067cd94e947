/**
 * Lines of the adapter protocol (reading 18.4): ended by LF, up to 64 MiB, UTF-8.
 *
 * @since 0.1.0
 */

/** 64 MiB, without the LF. @since 0.1.0 @category constants */
export const maxLineBytes = 64 * 1024 * 1024

const LF = 10
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Why a line cannot be read. @since 0.1.0 @category models */
export interface BadLine {
  readonly bad: "too_long" | "not_utf8"
}

/**
 * Cuts a byte stream into lines. Memory is bounded by one line: of one that is too long nothing is kept, and it is
 * reported as soon as it is.
 *
 * @since 0.1.0
 * @category decoding
 */
export class LineBuffer {
  readonly #limit: number
  #parts: Array<Uint8Array> = []
  #size = 0
  #skipping = false

  constructor(limit: number = maxLineBytes) {
    this.#limit = limit
  }

  /** Keeps no reference to `bytes`. */
  feed(bytes: Uint8Array): Array<string | BadLine> {
    const lines: Array<string | BadLine> = []
    let from = 0
    for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, from)) {
      this.#take(bytes.subarray(from, at), lines)
      if (!this.#skipping) lines.push(this.#line())
      this.#skipping = false
      from = at + 1
    }
    this.#take(bytes.subarray(from), lines)
    return lines
  }

  /** What came after the last LF, if anything did. */
  finish(): Array<string | BadLine> {
    const lines = this.#size > 0 ? [this.#line()] : []
    this.#skipping = false
    return lines
  }

  #take(part: Uint8Array, lines: Array<string | BadLine>): void {
    if (this.#skipping || part.length === 0) return
    if (this.#size + part.length > this.#limit) {
      this.#parts = []
      this.#size = 0
      this.#skipping = true
      lines.push({ bad: "too_long" })
      return
    }
    this.#parts.push(part.slice())
    this.#size += part.length
  }

  #line(): string | BadLine {
    const [first] = this.#parts
    let whole = first ?? new Uint8Array(0)
    if (this.#parts.length > 1) {
      whole = new Uint8Array(this.#size)
      let at = 0
      for (const part of this.#parts) {
        whole.set(part, at)
        at += part.length
      }
    }
    this.#parts = []
    this.#size = 0
    try {
      return strict.decode(whole)
    } catch {
      return { bad: "not_utf8" }
    }
  }
}
