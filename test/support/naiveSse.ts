/**
 * The event stream grammar of WHATWG HTML 9.2 read word for word, one byte at a time over the whole stream: the oracle
 * for the buffer. Slow, and knows nothing of chunks.
 */
import type { SseFrame } from "../../src/codec/Sse.ts"

export interface NaiveResult {
  readonly frames: ReadonlyArray<SseFrame>
  /** Bytes of the stream that had to be read before the frame of the same index was complete. */
  readonly completed_at: ReadonlyArray<number>
  readonly last_event_id: string
  readonly reconnect_ms: number | null
  readonly too_large: boolean
}

/** UTF-8 decoding by the tables of the Unicode standard (D92, and U+FFFD for each maximal subpart). */
export const naiveUtf8 = (bytes: ReadonlyArray<number>): string => {
  let out = ""
  let i = 0
  while (i < bytes.length) {
    const first = bytes[i] ?? 0
    const shape = first < 0x80
      ? { more: 0, low: 0, high: 0, value: first }
      : first >= 0xc2 && first <= 0xdf
      ? { more: 1, low: 0x80, high: 0xbf, value: first & 0x1f }
      : first >= 0xe0 && first <= 0xef
      ? { more: 2, low: first === 0xe0 ? 0xa0 : 0x80, high: first === 0xed ? 0x9f : 0xbf, value: first & 0x0f }
      : first >= 0xf0 && first <= 0xf4
      ? { more: 3, low: first === 0xf0 ? 0x90 : 0x80, high: first === 0xf4 ? 0x8f : 0xbf, value: first & 0x07 }
      : null
    i++
    if (shape === null) {
      out += "\uFFFD"
      continue
    }
    let { high, low, value } = shape
    let valid = true
    for (let k = 0; k < shape.more; k++) {
      const next = bytes[i]
      if (next === undefined || next < low || next > high) {
        valid = false
        break
      }
      value = value * 64 + (next & 0x3f)
      low = 0x80
      high = 0xbf
      i++
    }
    out += valid ? String.fromCodePoint(value) : "\uFFFD"
  }
  return out
}

export const naiveSse = (
  stream: Uint8Array,
  options: { readonly finish?: boolean; readonly max_frame_bytes?: number } = {}
): NaiveResult => {
  const limit = options.max_frame_bytes ?? 33_554_432
  const frames: Array<SseFrame> = []
  const completed_at: Array<number> = []
  let last_event_id = ""
  let reconnect_ms: number | null = null
  let data: string | null = null
  let event = ""
  let id: string | null = null
  let retry: number | null = null
  let size = 0
  let line: Array<number> = []
  let too_large = false

  const dispatch = (at: number, unterminated: boolean) => {
    if (id !== null) last_event_id = id
    if (data !== null) {
      const frame = { event: event === "" ? null : event, data, id, retry }
      frames.push(unterminated ? { ...frame, unterminated: true } : frame)
      completed_at.push(at)
    }
    data = null
    event = ""
    id = null
    retry = null
    size = 0
  }

  const field = (text: string) => {
    const colon = text.indexOf(":")
    if (colon === 0) return
    const name = colon < 0 ? text : text.slice(0, colon)
    let value = colon < 0 ? "" : text.slice(colon + 1)
    if (value.startsWith(" ")) value = value.slice(1)
    if (name === "data") data = data === null ? value : data + "\n" + value
    else if (name === "event") event = value
    else if (name === "id" && !value.includes("\0")) id = value
    else if (name === "retry" && value !== "" && [...value].every((digit) => "0123456789".includes(digit))) {
      if (BigInt(value) <= 2n ** 53n - 1n) {
        retry = Number(value)
        reconnect_ms = retry
      }
    }
  }

  const mark = [0xef, 0xbb, 0xbf]
  // What may still become a mark is not counted yet; it holds no field in any case.
  if (stream.length < mark.length && stream.every((byte, i) => byte === mark[i])) {
    return { frames, completed_at, last_event_id, reconnect_ms, too_large }
  }
  const start = mark.every((byte, i) => stream[i] === byte) ? mark.length : 0
  for (let i = start; i < stream.length && !too_large; i++) {
    const byte = stream[i] ?? 0
    if (byte === 0x0a && i > start && stream[i - 1] === 0x0d) continue
    if (byte === 0x0a || byte === 0x0d) {
      if (line.length === 0) dispatch(i + 1, false)
      else field(naiveUtf8(line))
      line = []
      continue
    }
    line.push(byte)
    if (line[0] !== 0x3a) size++
    if (size > limit) too_large = true
  }
  if (options.finish === true && !too_large) {
    if (line.length > 0) field(naiveUtf8(line))
    if (data !== null) dispatch(stream.length, true)
  }
  return { frames, completed_at, last_event_id, reconnect_ms, too_large }
}
