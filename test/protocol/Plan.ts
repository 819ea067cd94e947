import * as FastCheck from "effect/FastCheck"
import type { SseFrame } from "../../src/codec/Sse.ts"
import type { ProtocolName } from "../../src/protocol/Protocol.ts"
import { frame, named } from "./Support.ts"

/** What a model says, apart from any protocol. Texts come in the pieces in which they are streamed. */
export type Item =
  | { readonly kind: "think"; readonly pieces: ReadonlyArray<string> }
  | { readonly kind: "text"; readonly pieces: ReadonlyArray<string> }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly pieces: ReadonlyArray<string> }

export type Plan = ReadonlyArray<Item>

export const whole = (item: Item): string => item.pieces.join("")

const cutAt = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const at = [...new Set(cuts.map((c) => c % (text.length + 1)))].sort((a, b) => a - b)
  const pieces: Array<string> = []
  let from = 0
  for (const to of [...at, text.length]) {
    if (to > from) pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

const cuts = FastCheck.array(FastCheck.nat(200), { maxLength: 4 })
const said = FastCheck.tuple(FastCheck.string({ minLength: 1, maxLength: 30, unit: "grapheme" }), cuts).map((
  [text, at]
) => cutAt(text, at))
const input = FastCheck.oneof(
  FastCheck.constant(""),
  FastCheck.dictionary(FastCheck.string({ maxLength: 5 }), FastCheck.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((
    o
  ) => JSON.stringify(o))
)
const item: FastCheck.Arbitrary<Item> = FastCheck.oneof(
  FastCheck.record({ kind: FastCheck.constant("think" as const), pieces: said }),
  FastCheck.record({ kind: FastCheck.constant("text" as const), pieces: said }),
  FastCheck.record({
    kind: FastCheck.constant("call" as const),
    id: FastCheck.constant(""),
    name: FastCheck.constantFrom("f", "g", "mcp__s__t"),
    pieces: FastCheck.tuple(input, cuts).map(([text, at]) => cutAt(text, at))
  })
)

/** Plans whose calls have ids of their own. */
export const plan: FastCheck.Arbitrary<Plan> = FastCheck.array(item, { minLength: 1, maxLength: 7 }).map((items) =>
  items.map((one, i) => one.kind === "call" ? { ...one, id: `call_${i}` } : one)
)

/** Neighbours of one kind as one, for the protocol that cannot tell them apart. */
export const joined = (items: Plan): Plan => {
  const out: Array<Item> = []
  for (const one of items) {
    const last = out[out.length - 1]
    if (one.kind !== "call" && last?.kind === one.kind) {
      out[out.length - 1] = { kind: one.kind, pieces: [...last.pieces, ...one.pieces] }
    } else out.push(one)
  }
  return out
}

/** Merges the lists of neighbouring calls at the will of `picks`; the order within a list stays. */
const interleave = <T>(lists: ReadonlyArray<ReadonlyArray<T>>, picks: ReadonlyArray<number>): Array<T> => {
  const rest = lists.map((entries) => [...entries])
  const out: Array<T> = []
  let n = 0
  // the first of each comes in order, so that the order of the calls is known
  let begun = 0
  for (;;) {
    const ready = rest.map((entries, i) => ({ entries, i })).filter(({ entries, i }) =>
      entries.length > 0 && i <= begun
    )
    const pick = ready[(picks[n++ % Math.max(1, picks.length)] ?? 0) % Math.max(1, ready.length)]
    if (pick === undefined) return out
    const next = pick.entries.shift()
    if (next !== undefined) out.push(next)
    if (pick.i === begun) begun++
  }
}

/** Frames in runs: calls that follow each other may be interleaved, anything else may not. */
const inRuns = (
  items: Plan,
  picks: ReadonlyArray<number>,
  render: (item: Item, index: number) => ReadonlyArray<SseFrame>
): Array<SseFrame> => {
  const out: Array<SseFrame> = []
  let run: Array<ReadonlyArray<SseFrame>> = []
  const flush = (): void => {
    out.push(...interleave(run, picks))
    run = []
  }
  items.forEach((one, i) => {
    if (one.kind !== "call") flush()
    run.push(render(one, i))
    if (one.kind !== "call") flush()
  })
  flush()
  return out
}

const at = (type: string, body: object): SseFrame => named({ type, ...body })

const anthropic = (items: Plan, picks: ReadonlyArray<number>): Array<SseFrame> => {
  const calls = items.some(({ kind }) => kind === "call")
  return [
    at("message_start", {
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m-1",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 0 }
      }
    }),
    ...inRuns(items, picks, (one, index) => {
      const block = one.kind === "call"
        ? { type: "tool_use", id: one.id, name: one.name, input: {} }
        : one.kind === "text"
        ? { type: "text", text: "" }
        : { type: "thinking", thinking: "", signature: "" }
      const delta = (piece: string): object =>
        one.kind === "call"
          ? { type: "input_json_delta", partial_json: piece }
          : one.kind === "text"
          ? { type: "text_delta", text: piece }
          : { type: "thinking_delta", thinking: piece }
      return [
        at("content_block_start", { index, content_block: block }),
        ...one.pieces.map((piece) => at("content_block_delta", { index, delta: delta(piece) })),
        ...(one.kind === "think"
          ? [at("content_block_delta", { index, delta: { type: "signature_delta", signature: `sig${index}` } })]
          : []),
        at("content_block_stop", { index })
      ]
    }),
    at("message_delta", {
      delta: { stop_reason: calls ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 5 }
    }),
    at("message_stop", {})
  ]
}

const chat = (items: Plan, picks: ReadonlyArray<number>): Array<SseFrame> => {
  const chunk = (delta: object, finish_reason: string | null = null): SseFrame =>
    frame({
      id: "msg_1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m-1",
      choices: [{ index: 0, delta, finish_reason, logprobs: null }]
    })
  const calls = items.flatMap((one, i) => one.kind === "call" ? [i] : [])
  return [
    chunk({ role: "assistant", content: "" }),
    ...inRuns(items, picks, (one, i) => {
      if (one.kind !== "call") {
        return one.pieces.map((piece) => chunk(one.kind === "text" ? { content: piece } : { reasoning_content: piece }))
      }
      const index = calls.indexOf(i)
      return [
        chunk({ tool_calls: [{ index, id: one.id, type: "function", function: { name: one.name, arguments: "" } }] }),
        ...one.pieces.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
      ]
    }),
    chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    frame({
      id: "msg_1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m-1",
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
    }),
    frame("[DONE]")
  ]
}

const responses = (items: Plan, picks: ReadonlyArray<number>): Array<SseFrame> => {
  const response = (status: string, output: ReadonlyArray<object>, usage: object | null) => ({
    id: "msg_1",
    object: "response",
    created_at: 1,
    model: "m-1",
    status,
    output,
    usage,
    error: null,
    incomplete_details: null
  })
  const done = (one: Item, i: number): object =>
    one.kind === "call"
      ? {
        type: "function_call",
        id: `fc_${i}`,
        call_id: one.id,
        name: one.name,
        arguments: whole(one),
        status: "completed"
      }
      : one.kind === "text"
      ? {
        type: "message",
        id: `msg_${i}_`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: whole(one), annotations: [] }]
      }
      : {
        type: "reasoning",
        id: `rs_${i}`,
        summary: [{ type: "summary_text", text: whole(one) }],
        encrypted_content: `enc${i}`
      }
  const frames = [
    at("response.created", { response: response("in_progress", [], null) }),
    at("response.in_progress", { response: response("in_progress", [], null) }),
    ...inRuns(items, picks, (one, output_index) => {
      const item = done(one, output_index) as { readonly id: string }
      const place = { output_index, item_id: item.id }
      if (one.kind === "call") {
        return [
          at("response.output_item.added", { output_index, item: { ...item, arguments: "", status: "in_progress" } }),
          ...one.pieces.map((delta) => at("response.function_call_arguments.delta", { ...place, delta })),
          at("response.function_call_arguments.done", { ...place, name: one.name, arguments: whole(one) }),
          at("response.output_item.done", { output_index, item })
        ]
      }
      if (one.kind === "text") {
        const part = { type: "output_text", text: "", annotations: [] }
        return [
          at("response.output_item.added", { output_index, item: { ...item, content: [], status: "in_progress" } }),
          at("response.content_part.added", { ...place, content_index: 0, part }),
          ...one.pieces.map((delta) =>
            at("response.output_text.delta", { ...place, content_index: 0, delta, logprobs: [] })
          ),
          at("response.output_text.done", { ...place, content_index: 0, text: whole(one), logprobs: [] }),
          at("response.content_part.done", { ...place, content_index: 0, part: { ...part, text: whole(one) } }),
          at("response.output_item.done", { output_index, item })
        ]
      }
      const part = { type: "summary_text", text: "" }
      return [
        at("response.output_item.added", { output_index, item: { ...item, summary: [], encrypted_content: null } }),
        at("response.reasoning_summary_part.added", { ...place, summary_index: 0, part }),
        ...one.pieces.map((delta) =>
          at("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta })
        ),
        at("response.reasoning_summary_text.done", { ...place, summary_index: 0, text: whole(one) }),
        at("response.reasoning_summary_part.done", { ...place, summary_index: 0, part: { ...part, text: whole(one) } }),
        at("response.output_item.done", { output_index, item })
      ]
    }),
    at("response.completed", {
      response: response("completed", items.map(done), {
        input_tokens: 3,
        output_tokens: 5,
        total_tokens: 8,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 }
      })
    })
  ]
  return frames.map((one, sequence_number) => ({
    ...one,
    data: JSON.stringify({ ...JSON.parse(one.data), sequence_number })
  }))
}

/** The plan as frames of a protocol. */
export const render: Readonly<Record<ProtocolName, (items: Plan, picks: ReadonlyArray<number>) => Array<SseFrame>>> = {
  anthropic,
  chat,
  responses
}

/** The frames as the bytes of a body. */
export const bytes = (frames: ReadonlyArray<SseFrame>): Uint8Array =>
  new TextEncoder().encode(
    frames.map((one) => `${one.event === null ? "" : `event: ${one.event}\n`}data: ${one.data}\n\n`).join("")
  )
