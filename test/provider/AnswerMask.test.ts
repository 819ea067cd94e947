import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { Response, ResponseEvent } from "../../src/domain/ResponseEvent.ts"
import * as AnswerMask from "../../src/provider/AnswerMask.ts"

const key = "sk-0123456789~abc/def"

const response = (output: Response["output"], status: Response["status"]): Response => ({
  id: "r",
  model: "m",
  status,
  output,
  usage: null,
  incomplete_details: null,
  error: null
})

const place = { output_index: 0, item_id: "i", content_index: 0 }

/** A message whose text comes in these pieces, and a call with the same text as its arguments. */
const stream = (pieces: ReadonlyArray<string>, ends = true): ReadonlyArray<ResponseEvent> => {
  const text = pieces.join("")
  const args = JSON.stringify({ text })
  const message = {
    type: "message",
    id: "i",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }]
  } as const
  const call = {
    type: "function_call",
    id: "f",
    call_id: "c",
    name: "t",
    arguments: args,
    status: "completed"
  } as const
  const bodies = [
    { type: "response.created", response: response([], "in_progress") },
    ...pieces.flatMap((delta, at) => [
      { type: "response.output_text.delta", ...place, delta },
      {
        type: "response.function_call_arguments.delta",
        output_index: 1,
        item_id: "f",
        delta: at === pieces.length - 1 ? args : ""
      }
    ]),
    ...(ends
      ? [
        { type: "response.output_text.done", ...place, text },
        { type: "response.content_part.done", ...place, part: message.content[0] },
        { type: "response.output_item.done", output_index: 0, item: message },
        { type: "response.function_call_arguments.done", output_index: 1, item_id: "f", arguments: args },
        { type: "response.output_item.done", output_index: 1, item: call },
        { type: "response.completed", response: response([message, call], "completed") }
      ]
      : [{ type: "response.failed", response: response([], "failed") }])
  ]
  return bodies.map((body, sequence_number) => ({ ...body, sequence_number }) as ResponseEvent)
}

const masked = (events: ReadonlyArray<ResponseEvent>, at: number): ReadonlyArray<ResponseEvent> => {
  const mask = AnswerMask.make([key, `Bearer ${key}`])?.()
  assert.isDefined(mask)
  return mask === undefined ? [] : [...mask.push(events.slice(0, at)), ...mask.push(events.slice(at))]
}

const textOf = (events: ReadonlyArray<ResponseEvent>): string =>
  events.flatMap((event) => event.type === "response.output_text.delta" ? [event.delta] : []).join("")

describe("G2: the request's own credential in the answer", () => {
  it("is in no delta, no item and no argument; what holds nothing of it stays the same object", () => {
    const events = masked(stream(["the key is sk-01234567", "89~abc", "/def, or ", encodeURIComponent(key), "."]), 4)
    assert.strictEqual(textOf(events), "the key is [redacted], or [redacted].")
    const text = JSON.stringify(events)
    assert.notInclude(text, "sk-0")
    assert.include(text, "{\\\"text\\\":\\\"the key is [redacted], or [redacted].\\\"}")
    const plain = stream(["nothing ", "to see"])
    masked(plain, 3).forEach((event, at) => assert.strictEqual(event, plain[at]))
  })

  it("an answer that breaks off gives out what was held back", () => {
    assert.strictEqual(textOf(masked(stream(["a sk-0123"], false), 1)), "a sk-0123")
  })

  it("a short key is a word", () => {
    assert.isNull(AnswerMask.make(["lm-studio", "ollama"]))
  })

  it.prop("however it is cut: the text is that of the whole, and the numbers have no gaps", {
    parts: FastCheck.array(FastCheck.constantFrom(key, key.slice(0, 7), key.slice(7), "sk-", "x", " "), {
      minLength: 1,
      maxLength: 8
    }),
    cuts: FastCheck.array(FastCheck.nat({ max: 60 }), { maxLength: 8 }),
    at: FastCheck.nat({ max: 12 }),
    ends: FastCheck.boolean()
  }, ({ at, cuts, ends, parts }) => {
    const text = parts.join("")
    const places = [0, ...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
    const pieces = places.slice(1).map((to, index) => text.slice(places[index], to))
    const events = masked(stream(pieces, ends), at)
    assert.strictEqual(textOf(events), text.replaceAll(key, "[redacted]"))
    assert.deepStrictEqual(events.map(({ sequence_number }) => sequence_number), events.map((_, index) => index))
    assert.notInclude(JSON.stringify(events), key)
  })
})
