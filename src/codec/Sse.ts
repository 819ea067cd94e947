/**
 * Server-sent events, bytes in, frames out (HIP-301 section 3; WHATWG HTML 9.2).
 *
 * A state machine over bytes: it finds the lines, `SseBlock` reads them. What waits or fails for outside reasons is in
 * `SseStream`.
 *
 * @since 0.1.0
 */

import { SseBlock } from "./SseBlock.ts"
import type { SseFrame } from "./SseBlock.ts"
import { largestText, makeUtf8Decoder } from "./Utf8.ts"

export type { SseFrame } from "./SseBlock.ts"

/** `max_frame_bytes`: an integer >= 0, default {@link defaultMaxFrameBytes}. @since 0.1.0 @category models */
export interface SseOptions {
  readonly max_frame_bytes?: number
}

/** 32 MiB. @since 0.1.0 @category constants */
export const defaultMaxFrameBytes = 33_554_432

/**
 * Why a buffer refuses to go on.
 *
 * | reason | meaning |
 * | --- | --- |
 * | `frame_too_large` | one block grew past `limit` bytes; `received` is what had arrived of it. The buffer is dead |
 * | `buffer_finished` | `feed` after `finish` |
 * | `invalid_limit` | `max_frame_bytes` is not an integer >= 0 |
 *
 * @since 0.1.0
 * @category errors
 */
export class SseError extends Error {
  readonly _tag = "SseError"
  readonly reason: "frame_too_large" | "buffer_finished" | "invalid_limit"
  /** Bytes; only with `frame_too_large`. */
  readonly limit: number | null
  /** Bytes; only with `frame_too_large`. */
  readonly received: number | null

  constructor(
    reason: SseError["reason"],
    message: string,
    sizes: { readonly limit: number; readonly received: number } | null = null
  ) {
    super(message)
    this.name = "SseError"
    this.reason = reason
    this.limit = sizes === null ? null : sizes.limit
    this.received = sizes === null ? null : sizes.received
  }
}

const LF = 10
const CR = 13
const COLON = 58
const byteOrderMark = new Uint8Array([0xef, 0xbb, 0xbf])

/** Up to here a read is taken byte by byte; above, whole lines are decoded together. */
const smallRead = 192
/** Up to here copying a read behind the unfinished line is cheaper than to decode that line alone. */
const joinedRead = 4096
/** Up to here bytes are copied one by one. */
const tinyRead = 16
/** Whole lines are decoded in windows of this size, so that a kept frame holds no more text than this alive. */
const windowBytes = 65_536
const initialLineBytes = 256
const keptLineBytes = 65_536
/** The longest string there can be (2^29 - 24 UTF-16 units), less one. */
const largestLimit = 536_870_887

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
/** For text that is not ASCII; made when there is some. */
let wideDecoder: ((bytes: Uint8Array, head: Uint8Array) => string) | null = null
const noBytes = new Uint8Array(0)
/** Texts up to here do not say what the stream is like. */
const shortText = 64
const encoder = new TextEncoder()

/** Index of the first CR or LF in `bytes[from, end)`, else `end`. */
const lineEnd = (bytes: Uint8Array, from: number, end: number): number => {
  for (let at = from; at < end; at += windowBytes) {
    const window = bytes.subarray(at, Math.min(end, at + windowBytes))
    const lf = window.indexOf(LF)
    const cr = (lf === -1 ? window : window.subarray(0, lf)).indexOf(CR)
    if (cr !== -1) return at + cr
    if (lf !== -1) return at + lf
  }
  return end
}

/** Index behind the last CR or LF in `bytes[from, end)`, else `from`. */
const lastLineEnd = (bytes: Uint8Array, from: number, end: number): number => {
  const window = bytes.subarray(from, end)
  const lf = window.lastIndexOf(LF) + 1
  return from + lf + (lf === window.length ? 0 : window.subarray(lf).lastIndexOf(CR) + 1)
}

/**
 * Bytes of the last `lines` lines of `bytes[from, to)`, comments and line ends not counted. The first line of `bytes` goes
 * on from `held` bytes before it.
 */
const lineBytes = (bytes: Uint8Array, from: number, to: number, lines: number, held: number): number => {
  let total = 0
  let start = to
  for (let left = lines; left > 0; left--) {
    let end = start - 1
    if (bytes[end] === LF && end > from && bytes[end - 1] === CR) end--
    start = end
    while (start > from && bytes[start - 1] !== LF && bytes[start - 1] !== CR) start--
    if (start === from && held > 0) total += held + end - start
    else if (bytes[start] !== COLON) total += end - start
  }
  return total
}

/**
 * Turns the bytes of one event stream into frames. Any split of the bytes gives the same frames, in time linear in the
 * bytes; a `string` chunk counts as its UTF-8 encoding. It knows no sentinels: `[DONE]` and `ping` are frames.
 *
 * **Errors.** `feed` returns every frame that was complete, also when the limit was passed behind it; from then on
 * {@link SseFrameBuffer.failure} is set, and the next `feed` or `finish` throws it. A caller therefore looks at
 * `failure` after a `feed`, and a caller that does not still cannot miss it. `feed` after `finish` throws
 * `buffer_finished`.
 *
 * **Size of a frame**: the bytes of the lines of its block, comments and line ends not counted.
 *
 * @example
 * const buffer = new SseFrameBuffer()
 * buffer.feed("event: a\ndata: 1\n") // []
 * buffer.feed("\ndata: 2") // [{ event: "a", data: "1", id: null, retry: null }]
 * buffer.finish() // [{ event: null, data: "2", id: null, retry: null, unterminated: true }]
 *
 * @since 0.1.0
 * @category decoding
 */
export class SseFrameBuffer {
  readonly #limit: number
  /** The last text was not plain ASCII. */
  #wide = false
  #failure: SseError | null = null
  #finished = false

  /** Bytes of the unfinished line. */
  #line = new Uint8Array(initialLineBytes)
  #length = 0
  /** The unfinished line is a comment; its bytes are not kept. */
  #comment = false
  /** A CR ended the last line: an LF that comes next belongs to it. */
  #swallow = false
  /** Bytes of the byte order mark seen so far; 3 = decided. */
  #mark = 0

  readonly #block = new SseBlock()

  constructor(options: SseOptions = {}) {
    const limit = options.max_frame_bytes ?? defaultMaxFrameBytes
    if (!Number.isInteger(limit) || limit < 0) {
      throw new SseError("invalid_limit", `max_frame_bytes must be an integer >= 0, not ${String(limit)}`)
    }
    this.#limit = Math.min(limit, largestLimit)
  }

  /** The sticky id, to be sent as `Last-Event-ID` when the stream is resumed; `""` at first (rule 3.7). */
  get last_event_id(): string {
    return this.#block.last_event_id
  }

  /** The reconnection time the server asked for last, in milliseconds (rule 3.8). */
  get reconnect_ms(): number | null {
    return this.#block.reconnect_ms
  }

  /** Set once the limit was passed; the frames before it have been returned by `feed` (rule 3.11). */
  get failure(): SseError | null {
    return this.#failure
  }

  /** Takes the next bytes, keeps no reference to them, and returns the frames they completed. */
  feed(chunk: Uint8Array | string): Array<SseFrame> {
    if (this.#failure !== null) throw this.#failure
    if (this.#finished) {
      throw new SseError(
        "buffer_finished",
        "feed after finish: a finished SSE buffer takes no more bytes; make a new one"
      )
    }
    const frames: Array<SseFrame> = []
    this.#read(typeof chunk === "string" ? encoder.encode(chunk) : chunk, frames)
    return frames
  }

  /**
   * Ends the stream: what is pending counts as a line, and a block that has data is returned, flagged `unterminated`
   * (D1). A consumer that can resume must discard a flagged frame. A second call returns nothing.
   */
  finish(): Array<SseFrame> {
    if (this.#failure !== null) throw this.#failure
    if (this.#finished) return []
    this.#finished = true
    const frames: Array<SseFrame> = []
    if (this.#length > 0) this.#endLine(frames)
    this.#block.end(frames)
    this.#release()
    return frames
  }

  #read(bytes: Uint8Array, frames: Array<SseFrame>): void {
    const end = bytes.length
    let i = 0
    if (this.#mark < 3) {
      while (i < end && this.#mark < 3 && bytes[i] === byteOrderMark[this.#mark]) {
        i++
        this.#mark++
      }
      if (i < end && this.#mark < 3) {
        const seen = this.#mark
        this.#mark = 3
        if (seen > 0 && !this.#take(byteOrderMark, 0, seen)) return
      }
    }
    if (i === end) return
    if (this.#swallow) {
      this.#swallow = false
      if (bytes[i] === LF) i++
    }
    if (end - i <= smallRead) this.#readSmall(bytes, i, end, frames)
    else this.#readLarge(bytes, i, end, frames)
  }

  #readSmall(bytes: Uint8Array, from: number, end: number, frames: Array<SseFrame>): void {
    let i = from
    while (i < end) {
      const start = i
      // Written out: called, it is inlined or not by chance, and then costs three times as much.
      while (
        i + 3 < end && (bytes[i] as number) > CR && (bytes[i + 1] as number) > CR && (bytes[i + 2] as number) > CR &&
        (bytes[i + 3] as number) > CR
      ) {
        i += 4
      }
      let byte = 0
      while (i < end) {
        byte = bytes[i] as number
        if (byte <= CR && (byte === LF || byte === CR)) break
        i++
      }
      if (i > start && !this.#take(bytes, start, i)) return
      if (i === end) return
      i++
      this.#endLine(frames)
      if (byte === CR) {
        if (i === end) this.#swallow = true
        else if (bytes[i] === LF) i++
      }
    }
  }

  #readLarge(bytes: Uint8Array, from: number, end: number, frames: Array<SseFrame>): void {
    let i = from
    while (i < end) {
      const held = this.#length
      if (
        !this.#comment && (held === 0 || held < (this.#wide ? largestText : end - i <= joinedRead ? keptLineBytes : 0))
      ) {
        const reach = Math.min(end, i + (this.#wide ? largestText - held : windowBytes))
        const to = lastLineEnd(bytes, i, reach)
        if (to > i) {
          if (this.#block.bytes + held + to - i <= this.#limit) this.#wholeLines(bytes, i, to, frames)
          else {
            this.#readSmall(bytes, i, to, frames)
            if (this.#failure !== null) return
          }
          i = to
          this.#swallow = i === end && bytes[to - 1] === CR
          if (i < end && bytes[to - 1] === CR && bytes[i] === LF) i++
          if (reach < end) continue
          if (i < end) this.#take(bytes, i, end)
          return
        }
      }
      const stop = lineEnd(bytes, i, end)
      if (stop > i && !this.#take(bytes, i, stop)) return
      if (stop === end) return
      i = stop + 1
      this.#endLine(frames)
      if (bytes[stop] === CR) {
        if (i === end) this.#swallow = true
        else if (bytes[i] === LF) i++
      }
    }
  }

  /**
   * The unfinished line and `bytes[from, to)`, which ends with a line end and cannot pass the limit: decoded as one text,
   * its lines are slices of it.
   */
  #wholeLines(bytes: Uint8Array, from: number, to: number, frames: Array<SseFrame>): void {
    const held = this.#length
    const block = this.#block
    const text = this.#decode(
      from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to),
      held === 0 ? noBytes : this.#line.subarray(0, held)
    )
    this.#length = 0
    if (this.#line.length > keptLineBytes) this.#resize(initialLineBytes)
    const length = text.length
    let start = 0
    let lf = text.indexOf("\n")
    let cr = text.indexOf("\r")
    // Of the block that stays open: its lines, and their length in UTF-16 units.
    let lines = 0
    let units = 0
    while (start < length) {
      let end = lf
      let next = lf + 1
      if (cr !== -1 && (lf === -1 || cr < lf)) {
        end = cr
        next = lf === cr + 1 ? cr + 2 : cr + 1
      }
      if (end === start) {
        block.dispatch(frames)
        lines = 0
        units = 0
      } else {
        lines++
        if (text.charCodeAt(start) !== COLON) {
          units += end - start
          block.field(text, start, end)
        }
      }
      start = next
      if (lf !== -1 && lf < start) lf = text.indexOf("\n", start)
      if (cr !== -1 && cr < start) cr = text.indexOf("\r", start)
    }
    // As many units as bytes means one unit for each byte: then lengths in the text are lengths in bytes.
    if (lines > 0) block.bytes += length === held + to - from ? units : lineBytes(bytes, from, to, lines, held)
  }

  /** Adds `bytes[from, to)`, which is not empty and holds no line end, to the unfinished line. */
  #take(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.#comment) return true
    if (this.#length === 0 && bytes[from] === COLON) {
      this.#comment = true
      return true
    }
    const length = this.#length + to - from
    if (this.#block.bytes + length > this.#limit) return this.#fail(this.#block.bytes + length)
    if (length >= this.#line.length) this.#resize(Math.max(length + 1, this.#line.length * 2))
    if (to - from <= tinyRead) {
      const line = this.#line
      for (let i = from, k = this.#length; i < to; i++, k++) line[k] = bytes[i] as number
    } else this.#line.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), this.#length)
    this.#length = length
    return true
  }

  /** Ends the line held in `#line`. */
  #endLine(frames: Array<SseFrame>): void {
    const length = this.#length
    if (this.#comment) this.#comment = false
    else if (length === 0) this.#block.dispatch(frames)
    else {
      this.#length = 0
      this.#block.bytes += length
      this.#line[length] = LF
      const text = this.#decode(this.#line.subarray(0, length + 1), noBytes)
      this.#block.field(text, 0, text.length - 1)
      if (this.#line.length > keptLineBytes && length < this.#line.length / 4) this.#resize(initialLineBytes)
    }
  }

  /** `head`, which is the unfinished line or nothing, and `lines`, which ends with a line end, as one text. */
  #decode(lines: Uint8Array, head: Uint8Array): string {
    const bytes = head.length + lines.length
    const text = this.#wide
      ? (wideDecoder ??= makeUtf8Decoder())(lines, head)
      : decoder.decode(head.length === 0 ? lines : this.#joined(lines))
    if (bytes > shortText) this.#wide = text.length !== bytes
    return text
  }

  /** The unfinished line and `lines` in one piece. */
  #joined(lines: Uint8Array): Uint8Array {
    const length = this.#length + lines.length
    if (length > this.#line.length) this.#resize(length)
    this.#line.set(lines, this.#length)
    return this.#line.subarray(0, length)
  }

  #resize(capacity: number): void {
    const line = new Uint8Array(capacity)
    line.set(this.#line.subarray(0, this.#length))
    this.#line = line
  }

  #fail(received: number): false {
    this.#failure = new SseError(
      "frame_too_large",
      `an event of the stream is larger than ${this.#limit} bytes (${received} had arrived); raise max_frame_bytes if it is meant to be`,
      { limit: this.#limit, received }
    )
    this.#release()
    return false
  }

  #release(): void {
    this.#line = new Uint8Array(0)
    this.#length = 0
    this.#block.release()
  }
}
