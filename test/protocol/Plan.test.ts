import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import type { ReasoningItem } from "../../src/domain/ResponseEvent.ts"
import type { ProtocolName } from "../../src/protocol/Protocol.ts"
import { type Item, joined, type Plan, plan, render, whole } from "./Plan.ts"
import { decode, type Decoded, frame, stopOf, usesOf } from "./Support.ts"

const names: ReadonlyArray<ProtocolName> = ["anthropic", "chat", "responses"]
const picks = FastCheck.array(FastCheck.nat(20), { maxLength: 20 })

const expected = (name: ProtocolName, items: Plan): ReadonlyArray<unknown> =>
  (name === "chat" ? joined(items) : items).map((item: Item) =>
    item.kind === "call"
      ? ["call", item.id, item.name, whole(item) === "" ? "{}" : whole(item)]
      : [item.kind, whole(item)]
  )

const thoughtOf = (item: ReasoningItem): string =>
  [...item.summary, ...(item.content ?? [])].map((part) => part.text).join("")

const actual = ({ response }: Decoded): ReadonlyArray<unknown> =>
  response.output.map((item) => {
    switch (item.type) {
      case "message":
        return ["text", item.content.map((part) => part.type === "output_text" ? part.text : "").join("")]
      case "reasoning":
        return ["think", thoughtOf(item)]
      case "function_call":
        return ["call", item.call_id, item.name, item.arguments]
      default:
        return [item.type]
    }
  })

describe("a plan, rendered in a protocol and decoded, is the plan", () => {
  for (const name of names) {
    it.prop(name, [plan, picks], ([items, order]) => {
      const d = decode(name, render[name](items, order))
      assert.deepStrictEqual(actual(d), expected(name, items))
      const calls = items.some(({ kind }) => kind === "call")
      assert.strictEqual(stopOf(d), calls ? "completed/tool_use" : "completed/end_turn")
      assert.deepStrictEqual(
        usesOf(d).map((use) => [use.id, use.name, use.input]),
        items.flatMap((item) =>
          item.kind === "call" ? [[item.id, item.name, JSON.parse(whole(item) === "" ? "{}" : whole(item))]] : []
        )
      )
      assert.deepStrictEqual(d.response.usage?.total_tokens, 8)
      const think = d.stream.flatMap((event) => event.type === "reasoning_delta" ? [event.text] : []).join("")
      assert.strictEqual(think, items.flatMap((item) => item.kind === "think" ? [whole(item)] : []).join(""))
    }, { fastCheck: { numRuns: 150 } })

    it.prop(`${name}: cut anywhere, there is one end, no success, and no call but those of the plan`, [
      plan,
      picks,
      FastCheck.nat(1000)
    ], ([items, order, cut]) => {
      const frames = render[name](items, order)
      // the frames that say the finish are the last ones
      const finish = name === "responses" ? 1 : name === "anthropic" ? 2 : 3
      const kept = frames.slice(0, cut % (frames.length - finish + 1))
      const d = decode(name, kept)
      assert.strictEqual(stopOf(d), "failed/truncated")
      const known = new Map(
        items.flatMap((item) =>
          item.kind === "call" ? [[item.id, whole(item) === "" ? "{}" : whole(item)] as const] : []
        )
      )
      for (const use of usesOf(d)) assert.strictEqual(use.arguments, known.get(use.id))
      const before = expected(name, items).map((entry) => JSON.stringify(entry))
      actual(d).slice(0, -1).forEach((entry, i) => {
        if ((entry as ReadonlyArray<unknown>)[0] !== "call") assert.strictEqual(JSON.stringify(entry), before[i])
      })
    }, { fastCheck: { numRuns: 150 } })

    it.prop(`${name}: an error anywhere is the end`, [plan, picks, FastCheck.nat(1000)], ([items, order, cut]) => {
      const frames = render[name](items, order)
      const last = name === "responses" ? 1 : name === "anthropic" ? 1 : 2
      const at = cut % (frames.length - last + 1)
      const error = frame({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "error")
      const d = decode(name, [...frames.slice(0, at), error, ...frames.slice(at)])
      assert.strictEqual(stopOf(d), "failed/overloaded")
    }, { fastCheck: { numRuns: 80 } })
  }

  it.prop("any frames in any order, repeated and from any protocol, keep the invariants", [
    FastCheck.array(plan, { minLength: 1, maxLength: 3 }),
    FastCheck.array(FastCheck.tuple(FastCheck.nat(2), FastCheck.nat(1000)), { maxLength: 40 }),
    FastCheck.constantFrom(...names)
  ], ([plans, draws, name]) => {
    const pool = names.flatMap((other) => plans.flatMap((items) => render[other](items, [])))
    const own = plans.flatMap((items) => render[name](items, [1, 0, 2]))
    const frames = draws.flatMap(([from, n]) => {
      const source = from === 0 ? pool : own
      const one = source[n % source.length]
      return one === undefined ? [] : [one]
    })
    decode(name, frames)
  }, { fastCheck: { numRuns: 400 } })

  it.prop("any JSON at all keeps the invariants", [
    FastCheck.array(FastCheck.oneof(FastCheck.jsonValue(), FastCheck.string()), { maxLength: 6 }),
    FastCheck.constantFrom(...names)
  ], ([values, name]) => {
    decode(name, values.map((value) => frame(value)))
  })
})
