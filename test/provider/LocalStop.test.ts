import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { ResponseEvent } from "../../src/domain/ResponseEvent.ts"
import type { JsonObject } from "../../src/domain/Json.ts"
import { protocol } from "../../src/protocol/ChatCompletions.ts"
import { makeLocalStop } from "../../src/provider/LocalStop.ts"

/** The canonical events of a chat answer in these pieces. */
const answer = (pieces: ReadonlyArray<string>): ReadonlyArray<ResponseEvent> => {
  const decoder = protocol.streamDecoder({ origin: "p:chat", model: "m", names: new Map() })
  const frame = (data: JsonObject) => decoder.push({ event: null, data: JSON.stringify(data), id: null, retry: null })
  return [
    ...pieces.flatMap((content) => frame({ id: "c", model: "m", choices: [{ index: 0, delta: { content } }] })),
    ...frame({ id: "c", model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
    ...decoder.end()
  ]
}

const run = (events: ReadonlyArray<ResponseEvent>, sequences: ReadonlyArray<string>) => {
  const stop = makeLocalStop(sequences)
  if (stop === null) return assert.fail("nothing to watch for")
  const out: Array<ResponseEvent> = []
  for (const event of events) {
    const before = stop.hit()
    const step = stop.push([event])
    assert.isTrue(!before || step.length === 0, "nothing after the cut")
    out.push(...step)
  }
  return { out, hit: stop.hit() }
}

const textOf = (events: ReadonlyArray<ResponseEvent>) =>
  events.reduce((all, event) => event.type === "response.output_text.delta" ? all + event.delta : all, "")

const outputText = (events: ReadonlyArray<ResponseEvent>): string => {
  const end = events.at(-1)
  if (end?.type !== "response.completed") return assert.fail(`ends in ${end?.type ?? "nothing"}`)
  return end.response.output.flatMap((item) =>
    item.type === "message" ? item.content.map((part) => part.type === "output_text" ? part.text : "") : []
  ).join("")
}

const small = FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "c"), maxLength: 12 })

describe("LocalStop", () => {
  it.prop(
    "section 4: the text ends before the first sequence, however it was cut into pieces; every invariant holds",
    [
      FastCheck.array(small, { maxLength: 8 }),
      FastCheck.array(small.filter((s) => s !== "" && s.length < 5), { minLength: 1, maxLength: 3 })
    ],
    ([pieces, sequences]) => {
      const whole = pieces.join("")
      const { hit, out } = run(answer(pieces), sequences)
      // Read on character by character: the first place where the text so far ends with a sequence, the longest of them.
      const end = Array.from({ length: whole.length }, (_, i) => i + 1).find((length) =>
        sequences.some((sequence) => whole.slice(0, length).endsWith(sequence))
      )
      const read = whole.slice(0, end)
      const longest = Math.max(0, ...sequences.filter((sequence) => read.endsWith(sequence)).map((s) => s.length))
      const expected = end === undefined ? whole : read.slice(0, read.length - longest)
      assert.strictEqual(hit, end !== undefined)
      assert.strictEqual(textOf(out), expected)
      assert.strictEqual(outputText(out), expected)
      assert.deepStrictEqual(out.map((event) => event.sequence_number), out.map((_, i) => i))
      const last = out.at(-1)
      if (last?.type === "response.completed") {
        assert.strictEqual(last.response.stop?.reason, hit ? "stop_sequence" : "end_turn")
        if (hit) assert.isTrue(whole.startsWith(expected + (last.response.stop?.sequence ?? "?")))
      }
      const done = out.flatMap((event) => event.type === "response.output_item.done" ? [event.item] : [])
      assert.deepStrictEqual(last?.type === "response.completed" ? last.response.output : null, done)
    },
    { fastCheck: { numRuns: 500 } }
  )

  it("nothing to watch for", () => {
    assert.isNull(makeLocalStop([]))
    assert.isNull(makeLocalStop([""]))
  })

  it("text that cannot become a sequence goes out at once", () => {
    const stop = makeLocalStop(["STOP"])
    const events = answer(["one ST", "and more"])
    const first = events.findIndex((event) => event.type === "response.output_text.delta")
    assert.strictEqual(textOf(stop?.push(events.slice(0, first + 1)) ?? []), "one ")
    assert.strictEqual(textOf(stop?.push(events.slice(first + 1)) ?? []), "STand more")
  })
})
