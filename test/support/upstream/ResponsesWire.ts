/** A plan in the words of OpenAI Responses. */
import type { UpstreamOptions } from "./Options.ts"
import { pieces, type Plan, type PlannedBlock, type PlannedCall, type WireEvent } from "./Plan.ts"
import { encryptedOf } from "./Rules.ts"

type Fields = Readonly<Record<string, unknown>>

const usageOf = (plan: Plan): unknown => {
  if (plan.usage === null) return null
  const input = plan.usage.input + plan.usage.cached + plan.usage.written
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: plan.usage.cached,
      ...(plan.usage.written > 0 ? { cache_write_tokens: plan.usage.written } : {})
    },
    output_tokens: plan.usage.output,
    output_tokens_details: { reasoning_tokens: plan.usage.reasoning },
    total_tokens: input + plan.usage.output
  }
}

const incomplete = (plan: Plan): string | null =>
  plan.end === "length" || plan.end === "length_in_arguments" || plan.end === "context_window"
    ? "max_output_tokens"
    : plan.end === "content_filter"
    ? "content_filter"
    : null

const response = (plan: Plan, status: string, output: ReadonlyArray<unknown>, extra: Fields = {}): Fields => ({
  id: plan.id,
  object: "response",
  created_at: plan.created,
  status,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  model: plan.model,
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_p: 1,
  truncation: "disabled",
  usage: null,
  ...extra
})

const ended = (plan: Plan, output: ReadonlyArray<unknown>): Fields => {
  const reason = incomplete(plan)
  return response(plan, reason === null ? "completed" : "incomplete", output, {
    ...(reason === null ? {} : { incomplete_details: { reason } }),
    ...(plan.usage === null ? {} : { usage: usageOf(plan) })
  })
}

const itemOf = (
  plan: Plan,
  block: PlannedBlock,
  index: number,
  options: UpstreamOptions,
  encrypted: boolean
): Fields => {
  const cut = incomplete(plan) !== null && index === plan.blocks.length - 1
  const status = cut ? "incomplete" : "completed"
  switch (block.kind) {
    case "text":
      return {
        id: `msg_item_${plan.turn}_${index}`,
        type: "message",
        status,
        role: "assistant",
        content: [
          plan.end === "refusal"
            ? { type: "refusal", refusal: block.text }
            : { type: "output_text", annotations: [], logprobs: [], text: block.text }
        ]
      }
    case "thinking":
      return {
        id: `rs_item_${plan.turn}_${index}`,
        type: "reasoning",
        summary: options.raw_reasoning === true ? [] : [{ type: "summary_text", text: block.text }],
        ...(options.raw_reasoning === true ? { content: [{ type: "reasoning_text", text: block.text }] } : {}),
        ...(encrypted ? { encrypted_content: encryptedOf(block.text) } : {})
      }
    case "redacted_thinking":
      return {
        id: `rs_item_${plan.turn}_${index}`,
        type: "reasoning",
        summary: [],
        ...(encrypted ? { encrypted_content: encryptedOf(block.data) } : {})
      }
    case "call":
      return {
        id: options.quirks?.includes("changed_item_id") === true ? `${block.item_id}_done` : block.item_id,
        type: "function_call",
        status,
        arguments: block.arguments,
        call_id: block.id,
        name: block.name
      }
  }
}

export const responsesWhole = (plan: Plan, options: UpstreamOptions, encrypted: boolean): unknown =>
  ended(plan, plan.blocks.map((block, i) => itemOf(plan, block, i, options, encrypted)))

export const responsesEvents = (
  plan: Plan,
  options: UpstreamOptions,
  encrypted: boolean
): ReadonlyArray<WireEvent> => {
  const events: Array<WireEvent> = []
  let sequence = 0
  const emit = (type: string, fields: Fields) =>
    events.push({ event: type, data: JSON.stringify({ type, sequence_number: sequence++, ...fields }) })
  emit("response.created", { response: response(plan, "in_progress", []) })
  emit("response.in_progress", { response: response(plan, "in_progress", []) })
  const items = plan.blocks.map((block, i) => itemOf(plan, block, i, options, encrypted))
  const calls: Array<{ readonly call: PlannedCall; readonly index: number }> = []
  const flush = () => {
    callEvents(calls.splice(0), items, options, emit)
  }
  plan.blocks.forEach((block, index) => {
    if (block.kind === "call") {
      calls.push({ call: block, index })
      if (options.interleave !== true) flush()
      return
    }
    flush()
    const item = items[index] ?? {}
    const at = { item_id: item["id"], output_index: index }
    if (block.kind === "text") messageEvents(plan, block.text, item, at, options, emit)
    else reasoningEvents(block.kind === "thinking" ? block.text : "", item, at, options, emit)
  })
  flush()
  const reason = incomplete(plan)
  emit(reason === null ? "response.completed" : "response.incomplete", { response: ended(plan, items) })
  if (options.quirks?.includes("responses_done") === true) events.push({ data: "[DONE]" })
  return events
}

type Emit = (type: string, fields: Fields) => void

const messageEvents = (plan: Plan, text: string, item: Fields, at: Fields, options: UpstreamOptions, emit: Emit) => {
  const refusal = plan.end === "refusal"
  const empty = refusal
    ? { type: "refusal", refusal: "" }
    : { type: "output_text", annotations: [], logprobs: [], text: "" }
  emit("response.output_item.added", {
    output_index: at["output_index"],
    item: { ...item, status: "in_progress", content: [] }
  })
  emit("response.content_part.added", { ...at, content_index: 0, part: empty })
  for (const delta of pieces(text, options)) {
    emit(refusal ? "response.refusal.delta" : "response.output_text.delta", {
      ...at,
      content_index: 0,
      delta,
      ...(refusal ? {} : { logprobs: [] })
    })
  }
  emit(refusal ? "response.refusal.done" : "response.output_text.done", {
    ...at,
    content_index: 0,
    ...(refusal ? { refusal: text } : { text, logprobs: [] })
  })
  const content = item["content"]
  emit("response.content_part.done", {
    ...at,
    content_index: 0,
    part: Array.isArray(content) ? (content[0] as unknown) : empty
  })
  emit("response.output_item.done", { output_index: at["output_index"], item })
}

const reasoningEvents = (text: string, item: Fields, at: Fields, options: UpstreamOptions, emit: Emit) => {
  emit("response.output_item.added", {
    output_index: at["output_index"],
    item: { id: item["id"], type: "reasoning", summary: [] }
  })
  if (options.raw_reasoning === true && text !== "") {
    pieces(text, options).forEach((delta) => emit("response.reasoning_text.delta", { ...at, content_index: 0, delta }))
    emit("response.reasoning_text.done", { ...at, content_index: 0, text })
  } else if (text !== "") {
    emit("response.reasoning_summary_part.added", { ...at, summary_index: 0, part: { type: "summary_text", text: "" } })
    pieces(text, options).forEach((delta) =>
      emit("response.reasoning_summary_text.delta", { ...at, summary_index: 0, delta })
    )
    emit("response.reasoning_summary_text.done", { ...at, summary_index: 0, text })
    emit("response.reasoning_summary_part.done", { ...at, summary_index: 0, part: { type: "summary_text", text } })
  }
  emit("response.output_item.done", { output_index: at["output_index"], item })
}

const callEvents = (
  calls: ReadonlyArray<{ readonly call: PlannedCall; readonly index: number }>,
  items: ReadonlyArray<Fields>,
  options: UpstreamOptions,
  emit: Emit
) => {
  for (const { call, index } of calls) {
    emit("response.output_item.added", {
      output_index: index,
      item: {
        id: call.item_id,
        type: "function_call",
        status: "in_progress",
        arguments: "",
        call_id: call.id,
        name: call.name
      }
    })
  }
  const fragments = calls.map(({ call }) =>
    options.quirks?.includes("arguments_only_done") === true ? [] : pieces(call.arguments, options)
  )
  const longest = Math.max(0, ...fragments.map((list) => list.length))
  for (let i = 0; i < longest; i++) {
    calls.forEach(({ call, index }, n) => {
      const delta = fragments[n]?.[i]
      if (delta !== undefined) {
        emit("response.function_call_arguments.delta", { item_id: call.item_id, output_index: index, delta })
      }
    })
  }
  for (const { call, index } of calls) {
    if (!call.cut) {
      emit("response.function_call_arguments.done", {
        item_id: call.item_id,
        output_index: index,
        name: call.name,
        arguments: call.arguments
      })
    }
    emit("response.output_item.done", { output_index: index, item: items[index] ?? {} })
  }
}
