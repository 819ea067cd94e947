/**
 * The SSE buffer against eventsource-parser behind a streaming TextDecoder (what a consumer of bytes has to write around
 * it), in the same run: 1 KB events in reads of 1 B, 64 B and 16 KiB, and one 16 MB event in 1 KiB reads.
 *
 * @since 0.1.0
 */
import { createParser } from "eventsource-parser"
import { SseFrameBuffer } from "../src/codec/Sse.ts"
import type { BenchResult } from "./Bench.ts"
import { interleaved, result, speedup } from "./Bench.ts"

const encoder = new TextEncoder()
const peer = "eventsource-parser 3.1.1 + TextDecoder"

const events = (count: number, text: string): Uint8Array => {
  const head = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\""
  const body = text.repeat(Math.ceil((1024 - head.length - 8) / encoder.encode(text).length))
  return encoder.encode(`${head}${body}"}}\n\n`.repeat(count))
}

const split = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size))
  return chunks
}

const ours = (chunks: ReadonlyArray<Uint8Array>, expected: number) => () => {
  const buffer = new SseFrameBuffer()
  let frames = 0
  for (const chunk of chunks) frames += buffer.feed(chunk).length
  if (frames !== expected) throw new Error(`${frames} frames, not ${expected}`)
}

const theirs = (chunks: ReadonlyArray<Uint8Array>, expected: number) => () => {
  let frames = 0
  const parser = createParser({ onEvent: () => void frames++ })
  const decoder = new TextDecoder()
  for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }))
  if (frames !== expected) throw new Error(`${frames} frames, not ${expected}`)
}

const against = (
  name: string,
  size: number,
  count: number,
  text: string,
  at_least: number
): BenchResult => {
  const chunks = split(events(count, text), size)
  const times = interleaved({ ours: ours(chunks, count), theirs: theirs(chunks, count) }, 301)
  return result({
    name: `sse, 1 KB events (${name}) in ${size} B reads`,
    value: speedup(times["ours"] ?? [], times["theirs"] ?? []),
    unit: "x",
    target: { at_least },
    peer
  })
}

const scaling = (): ReadonlyArray<BenchResult> => {
  const megabyte = 1024 * 1024
  const event = (megabytes: number) => encoder.encode(`data: ${"x".repeat(megabytes * megabyte)}\n\n`)
  const times = interleaved({
    whole: ours(split(event(16), 1024), 1),
    half: ours(split(event(8), 1024), 1),
    large: ours(split(event(16), 65_536), 1)
  }, 15)
  const slower = (name: string, than: string) => speedup(times[than] ?? [], times[name] ?? [])
  return [
    result({
      name: "sse, one 16 MB event against one of 8 MB, 1 KiB reads",
      value: slower("whole", "half"),
      unit: "x",
      target: { at_most: 3.5 }
    }),
    result({
      name: "sse, one 16 MB event in 1 KiB against 64 KiB reads",
      value: slower("whole", "large"),
      unit: "x",
      target: { at_most: 3 }
    })
  ]
}

const ascii = "the quick brown fox "
const mixed = "naïve Größe 漢字 👍 "

/**
 * In large reads of text that is not ASCII nearly all of the time is decoding; the goal is the same there: to be faster.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = async (): Promise<ReadonlyArray<BenchResult>> => [
  against("ASCII", 1, 20, ascii, 2.5),
  against("ASCII", 64, 300, ascii, 1.5),
  against("ASCII", 16_384, 3000, ascii, 1.5),
  against("mixed scripts", 1, 20, mixed, 2.5),
  against("mixed scripts", 64, 300, mixed, 1.2),
  against("mixed scripts", 16_384, 3000, mixed, 1),
  ...scaling()
]
