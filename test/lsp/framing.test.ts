/** The framing against vscode-jsonrpc, both ways, cut anywhere (reading 8.7). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { PassThrough } from "node:stream"
import { StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node"
import * as ContentLengthFraming from "../../src/codec/ContentLengthFraming.ts"

const values = FastCheck.array(FastCheck.string({ unit: "grapheme", maxLength: 200 }), { minLength: 1, maxLength: 10 })
const cuts = FastCheck.integer({ min: 1, max: 50 })
const runs = { fastCheck: { numRuns: 50 } }
const messageOf = (text: string) => ({ jsonrpc: "2.0", method: "m", params: { text } })

const theyRead = async (all: ReadonlyArray<string>, size: number): Promise<ReadonlyArray<unknown>> => {
  const stream = new PassThrough()
  const reader = new StreamMessageReader(stream)
  const heard: Array<unknown> = []
  const done = new Promise<void>((resolve, reject) => {
    reader.onError(reject)
    reader.listen((message) => {
      heard.push(message)
      if (heard.length === all.length) resolve()
    })
  })
  for (const text of all) {
    const bytes = ContentLengthFraming.encode(JSON.stringify(messageOf(text)))
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.slice(at, at + size))
  }
  await done
  reader.dispose()
  return heard
}

const weRead = async (all: ReadonlyArray<string>, size: number): Promise<ReadonlyArray<unknown>> => {
  const stream = new PassThrough()
  const writer = new StreamMessageWriter(stream)
  for (const text of all) await writer.write(messageOf(text))
  const bytes = stream.read() as Buffer
  const framing = ContentLengthFraming.make()
  const texts: Array<string> = []
  for (let at = 0; at < bytes.length; at += size) {
    const { fault, texts: more } = framing.feed(new Uint8Array(bytes.subarray(at, at + size)))
    assert.isNull(fault)
    texts.push(...more)
  }
  assert.isNull(framing.finish().fault)
  writer.dispose()
  return texts.map((text): unknown => JSON.parse(text))
}

describe("8.7 vscode-jsonrpc", () => {
  it.effect.prop("reads what we write, however it is cut", [values, cuts], ([all, size]) =>
    Effect.map(
      Effect.promise(() => theyRead(all, size)),
      (heard) => assert.deepStrictEqual(heard, all.map(messageOf))
    ), runs)

  it.effect.prop("writes what we read, however it is cut", [values, cuts], ([all, size]) =>
    Effect.map(
      Effect.promise(() => weRead(all, size)),
      (read) => assert.deepStrictEqual(read, all.map(messageOf))
    ), runs)
})
