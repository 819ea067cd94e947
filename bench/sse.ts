/**
 * The SSE buffer against eventsource-parser behind a streaming TextDecoder (what a consumer of bytes has to write around
 * it), in the same run: 1 KB events in reads of 1 B, 64 B and 16 KiB, and one 16 MB event in 1 KiB reads.
 *
 * @since 0.1.0
 */
import { createParser } from "eventsource-parser"
import { SseFrameBuffer } from "../src/codec/Sse.ts"
import type { BenchResult } from "./Bench.ts"
import { interleaved, median, result, speedup } from "./Bench.ts"

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
): ReadonlyArray<BenchResult> => {
  const chunks = split(events(count, text), size)
  const times = interleaved({ ours: ours(chunks, count), theirs: theirs(chunks, count) }, 9)
  return [
    result({
      name: `sse, 1 KB events (${name}) in ${size} B reads`,
      value: speedup(times["ours"] ?? [], times["theirs"] ?? []),
      unit: "times as fast",
      target: { at_least },
      peer
    })
  ]
}

const scaling = (): ReadonlyArray<BenchResult> => {
  const whole = encoder.encode(`data: ${"x".repeat(16 * 1024 * 1024)}\n\n`)
  const half = encoder.encode(`data: ${"x".repeat(8 * 1024 * 1024)}\n\n`)
  const times = interleaved({
    whole: ours(split(whole, 1024), 1),
    half: ours(split(half, 1024), 1),
    large: ours(split(whole, 65_536), 1)
  })
  const of = (name: string) => median(times[name] ?? [])
  return [
    result({
      name: "sse, one 16 MB event against one of 8 MB, both in 1 KiB reads",
      value: of("whole") / of("half"),
      unit: "times the time",
      target: { at_most: 3 }
    }),
    result({
      name: "sse, one 16 MB event in 1 KiB reads against 64 KiB reads",
      value: of("whole") / of("large"),
      unit: "times the time",
      target: { at_most: 3 }
    })
  ]
}

/** @since 0.1.0 @category constructors */
export const run = async (): Promise<ReadonlyArray<BenchResult>> => [
  ...against("ASCII", 1, 300, "the quick brown fox ", 2.5),
  ...against("ASCII", 64, 4000, "the quick brown fox ", 1.5),
  ...against("ASCII", 16_384, 20_000, "the quick brown fox ", 1.5),
  ...against("mixed scripts", 1, 300, "naïve Größe 漢字 👍 ", 2.5),
  ...against("mixed scripts", 64, 4000, "naïve Größe 漢字 👍 ", 1.5),
  ...against("mixed scripts", 16_384, 20_000, "naïve Größe 漢字 👍 ", 1.5),
  ...scaling()
]
