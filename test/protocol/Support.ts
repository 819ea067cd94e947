import { assert } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { SseFrame } from "../../src/codec/Sse.ts"
import { makeProjection } from "../../src/domain/Projection.ts"
import { type OutputItem, type Response, ResponseEvent } from "../../src/domain/ResponseEvent.ts"
import { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { protocol as anthropic } from "../../src/protocol/AnthropicMessages.ts"
import { protocol as chat } from "../../src/protocol/ChatCompletions.ts"
import type { DecodeOptions, EncodeInput, Protocol, ProtocolName } from "../../src/protocol/Protocol.ts"
import { isTerminal } from "../support/responseEvent.ts"
import { protocol as responses } from "../../src/protocol/Responses.ts"

export const protocols: Readonly<Record<ProtocolName, Protocol>> = { anthropic, chat, responses }

/** An object is JSON; a string goes as it is. */
export const frame = (data: unknown, event: string | null = null): SseFrame => ({
  event,
  data: typeof data === "string" ? data : JSON.stringify(data),
  id: null,
  retry: null
})

/** Frames as A and R send them: the event's name stands in both places. */
export const named = (data: { readonly type: string }): SseFrame => frame(data, data.type)

export const decodeOptions = (name: ProtocolName, over: Partial<DecodeOptions> = {}): DecodeOptions => ({
  origin: `fake:${name}`,
  model: "fake-model",
  names: new Map(),
  ...over
})

const isEvent = Schema.is(ResponseEvent)
const isStream = Schema.is(StreamEvent)

/** Protocols, section 5, invariants 1, 3, 5, 6 and 10, on any sequence of canonical events. */
export const assertInvariants = (events: ReadonlyArray<ResponseEvent>): Response => {
  const done: Array<OutputItem> = []
  let open: { readonly index: number; readonly id: string } | undefined
  let terminal: Response | undefined
  let deltas = ""
  const ids = new Set<string>()
  const calls = new Set<string>()
  events.forEach((event, i) => {
    assert.isTrue(isEvent(event), `not a ResponseEvent: ${JSON.stringify(event)}`)
    assert.strictEqual(event.sequence_number, i, "sequence numbers are dense")
    assert.isUndefined(terminal, "nothing after the terminal")
    if (event.type === "response.output_item.added") {
      assert.isUndefined(open, "one item at a time")
      assert.strictEqual(event.output_index, done.length, "output indexes are dense")
      open = { index: event.output_index, id: event.item.id }
      assert.isFalse(ids.has(event.item.id), "item ids are unique")
      ids.add(event.item.id)
      deltas = ""
    } else if (event.type === "response.output_item.done") {
      assert.strictEqual(event.output_index, open?.index)
      assert.strictEqual(event.item.id, open?.id)
      open = undefined
      done.push(event.item)
      if (event.item.type === "function_call") {
        assert.strictEqual(event.item.arguments, deltas, "arguments are what was streamed")
        assert.isFalse(calls.has(event.item.call_id), "call ids are unique")
        calls.add(event.item.call_id)
        if (event.item.status === "completed") assert.notStrictEqual(event.item.arguments.trim(), "")
      }
      if (event.item.type === "message") {
        const text = event.item.content.map((part) => part.type === "output_text" ? part.text : part.refusal).join("")
        assert.strictEqual(text, deltas, "text is what was streamed")
      }
      if (event.item.type === "reasoning") {
        const all = [...event.item.summary, ...(event.item.content ?? [])].map((part) => part.text).join("")
        assert.strictEqual([...all].sort().join(""), [...deltas].sort().join(""), "reasoning is what was streamed")
      }
    } else if ("item_id" in event) {
      assert.strictEqual(event.item_id, open?.id, "no delta to an item that is not open")
      assert.strictEqual(event.output_index, open?.index)
      if ("delta" in event) deltas += event.delta
    } else if (isTerminal(event) && "response" in event) {
      assert.isUndefined(open, "no item is left open")
      terminal = event.response
      assert.deepStrictEqual(event.response.output, done, "output equals the items sent")
    }
  })
  if (terminal === undefined) throw new Error("no terminal")
  return terminal
}

export interface Decoded {
  readonly events: ReadonlyArray<ResponseEvent>
  readonly stream: ReadonlyArray<StreamEvent>
  readonly response: Response
}

const finish = (name: ProtocolName, events: ReadonlyArray<ResponseEvent>): Decoded => {
  const response = assertInvariants(events)
  const stream = makeProjection(`fake:${name}`).push(events)
  for (const event of stream) assert.isTrue(isStream(event), `not a StreamEvent: ${JSON.stringify(event)}`)
  assert.strictEqual(stream.filter(({ type }) => type === "message_stop" || type === "error").length, 1)
  const last = stream[stream.length - 1]
  assert.isTrue(last?.type === "message_stop" || last?.type === "error", "the end is the last event")
  return { events, stream, response }
}

/** Decodes the frames and ends the body; the invariants hold for every stream of every test. */
export const decode = (
  name: ProtocolName,
  frames: ReadonlyArray<SseFrame>,
  over: Partial<DecodeOptions> = {},
  failure?: { readonly reason: string; readonly message: string }
): Decoded => {
  const decoder = protocols[name].streamDecoder(decodeOptions(name, over))
  const events = frames.flatMap((f) => decoder.push(f))
  events.push(...decoder.end(failure))
  assert.isTrue(decoder.done())
  assert.isTrue(decoder.settled())
  assert.deepStrictEqual(decoder.push(frame("{}")), [], "nothing after a terminal")
  assert.deepStrictEqual(decoder.end(), [])
  return finish(name, events)
}

export const decodeBody = (name: ProtocolName, body: unknown, over: Partial<DecodeOptions> = {}): Decoded =>
  finish(name, protocols[name].decodeResponse(body, decodeOptions(name, over)))

export const input = (over: Partial<EncodeInput> & Pick<EncodeInput, "messages">): EncodeInput => ({
  model: "fake-model",
  tools: [],
  traits: {},
  origin: "fake:test",
  stream: true,
  ...over
})

/** A short form of what came out, for table tests. */
export const summary = ({ response }: Decoded): ReadonlyArray<unknown> =>
  response.output.map((item) => {
    switch (item.type) {
      case "message":
        return [
          "text",
          ...item.content.map((part) => part.type === "output_text" ? part.text : { refusal: part.refusal })
        ]
      case "reasoning":
        return ["think", ...item.summary.map((part) => part.text), ...(item.content ?? []).map((part) => part.text)]
      case "function_call":
        return ["call", item.call_id, item.name, item.arguments, item.status]
      case "custom_tool_call":
        return ["custom", item.call_id, item.name, item.input, item.status]
      case "opaque":
        return ["opaque", item.raw]
    }
  })

export const stopOf = ({ response }: Decoded): string =>
  `${response.status}/${response.stop?.reason ?? response.error?.reason ?? "-"}`

export const usesOf = ({ stream }: Decoded) => stream.filter((event) => event.type === "tool_use")
/** Ids of the calls that were cut: told, and none of them can run. */
export const cutsOf = (decoded: Decoded): ReadonlyArray<string> =>
  usesOf(decoded).flatMap((use) => use.input_error === undefined ? [] : [`${use.id}: ${use.input_error}`])
export const textOf = ({ stream }: Decoded): string =>
  stream.reduce((all, event) => event.type === "content_delta" ? all + event.text : all, "")
