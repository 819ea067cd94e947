/**
 * The domain `sse`: chunks of base64 in, frames out (readings 3 and 18.6).
 *
 * @since 0.1.0
 */
import { SseFrameBuffer } from "../codec/Sse.ts"
import type { SseFrame } from "../codec/Sse.ts"
import { sha256Hex } from "../platform/Sha256.ts"
import { badRequest, base64, count, type Domain, fields, flag, list, Refusal } from "./Domain.ts"

/** One line of input may ask for repetition; this bounds what it can ask for. */
const mostBytes = 2 ** 30
/** Text of frames, in UTF-16 units, that an answer may hold. */
const mostText = 2 ** 27

interface Feed {
  readonly bytes: Uint8Array
  readonly repeat: number
}

const feedOf = (value: unknown, where: string): Feed => {
  if (typeof value === "string") return { bytes: base64(value, where), repeat: 1 }
  const chunk = fields(value, where)
  return {
    bytes: base64(chunk["base64"], `${where}.base64`),
    repeat: count(chunk["repeat"], `${where}.repeat`, mostBytes)
  }
}

const plain = ({ data, event, id, retry }: SseFrame) => ({ event, data, id, retry })

const digested = ({ data, event, id, retry }: SseFrame) => {
  const bytes = new TextEncoder().encode(data)
  return { event, data_bytes: bytes.length, data_sha256: sha256Hex(bytes), id, retry }
}

/** @since 0.1.0 @category constructors */
export const sse: Domain = (value) => {
  const input = fields(value, "input")
  const feeds = list(input["chunks"], "input.chunks").map((chunk, i) => feedOf(chunk, `input.chunks.${i}`))
  if (feeds.reduce((sum, { bytes, repeat }) => sum + (bytes.length + 1) * repeat, 0) > mostBytes) {
    throw badRequest(`input.chunks give more than ${mostBytes} bytes`)
  }
  const finish = flag(input["finish"], "input.finish", false)
  const digest = flag(input["digest"], "input.digest", false)
  const limit = input["max_frame_bytes"]
  const buffer = new SseFrameBuffer(
    limit === undefined ? {} : { max_frame_bytes: count(limit, "input.max_frame_bytes", Number.MAX_SAFE_INTEGER) }
  )

  const frames: Array<unknown> = []
  let text = 0
  const show = (frame: SseFrame): void => {
    text += digest ? 0 : frame.data.length
    if (text > mostText) throw badRequest("the answer is longer than a line may be; ask for digest")
    frames.push(digest ? digested(frame) : plain(frame))
  }
  const frames_after_chunk: Array<number> = []
  for (const { bytes, repeat } of feeds) {
    for (let i = 0; i < repeat; i++) {
      for (const frame of buffer.feed(bytes)) show(frame)
      if (buffer.failure !== null) throw new Refusal(buffer.failure.reason, buffer.failure.message)
    }
    frames_after_chunk.push(frames.length)
  }
  const last = finish ? buffer.finish() : []
  for (const frame of last) show(frame)
  return {
    output: {
      frames,
      last_event_id: buffer.last_event_id,
      reconnect_ms: buffer.reconnect_ms,
      frames_after_chunk,
      flushed: last.length > 0
    }
  }
}
