/** A plan in the words of Anthropic Messages. */
import type { UpstreamOptions } from "./Options.ts"
import { pieces, type Plan, type WireEvent } from "./Plan.ts"
import { redactedOf, signatureOf } from "./Rules.ts"

const usageOf = (plan: Plan, output: number): Readonly<Record<string, unknown>> | null =>
  plan.usage === null ? null : {
    input_tokens: plan.usage.input,
    cache_creation_input_tokens: plan.usage.written,
    cache_read_input_tokens: plan.usage.cached,
    output_tokens: output,
    service_tier: "standard"
  }

const stopReason = (plan: Plan): string => {
  switch (plan.end) {
    case "normal":
      return plan.blocks.some((block) => block.kind === "call") ? "tool_use" : "end_turn"
    case "length":
    case "length_in_arguments":
      return "max_tokens"
    case "refusal":
    case "content_filter":
      return "refusal"
    case "context_window":
      return "model_context_window_exceeded"
    default:
      return plan.end
  }
}

const skeleton = (plan: Plan) => ({
  id: plan.id,
  type: "message",
  role: "assistant",
  model: plan.model
})

const parsed = (text: string): unknown => {
  try {
    return text === "" ? {} : JSON.parse(text)
  } catch {
    return {}
  }
}

export const anthropicWhole = (plan: Plan): unknown => ({
  ...skeleton(plan),
  content: plan.blocks.map((block) => {
    switch (block.kind) {
      case "text":
        return { type: "text", text: block.text }
      case "thinking":
        return { type: "thinking", thinking: block.text, signature: signatureOf(block.text) }
      case "redacted_thinking":
        return { type: "redacted_thinking", data: redactedOf(block.data) }
      case "call":
        return { type: "tool_use", id: block.id, name: block.name, input: block.cut ? {} : parsed(block.arguments) }
    }
  }),
  stop_reason: stopReason(plan),
  stop_sequence: plan.stop_sequence,
  ...(plan.usage === null ? {} : { usage: usageOf(plan, plan.usage.output) })
})

export const anthropicEvents = (plan: Plan, options: UpstreamOptions): ReadonlyArray<WireEvent> => {
  const events: Array<WireEvent> = []
  const emit = (type: string, fields: Readonly<Record<string, unknown>>) =>
    events.push({ event: type, data: JSON.stringify({ type, ...fields }) })
  emit("message_start", {
    message: {
      ...skeleton(plan),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(plan.usage === null ? {} : { usage: usageOf(plan, 1) })
    }
  })
  plan.blocks.forEach((block, index) => {
    const delta = (fields: Readonly<Record<string, unknown>>) => emit("content_block_delta", { index, delta: fields })
    switch (block.kind) {
      case "text":
        emit("content_block_start", { index, content_block: { type: "text", text: "" } })
        pieces(block.text, options).forEach((text) => delta({ type: "text_delta", text }))
        break
      case "thinking":
        emit("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } })
        pieces(block.text, options).forEach((thinking) => delta({ type: "thinking_delta", thinking }))
        delta({ type: "signature_delta", signature: signatureOf(block.text) })
        break
      case "redacted_thinking":
        emit("content_block_start", {
          index,
          content_block: { type: "redacted_thinking", data: redactedOf(block.data) }
        })
        break
      case "call":
        emit("content_block_start", {
          index,
          content_block: { type: "tool_use", id: block.id, name: block.name, input: {} }
        })
        delta({ type: "input_json_delta", partial_json: "" })
        pieces(block.arguments, options).forEach((partial_json) => delta({ type: "input_json_delta", partial_json }))
        break
    }
    emit("content_block_stop", { index })
    if (options.quirks?.includes("unknown_event") === true) emit("novelty", { index, value: { nested: [1, "two"] } })
  })
  emit("message_delta", {
    delta: { stop_reason: stopReason(plan), stop_sequence: plan.stop_sequence },
    ...(plan.usage === null ? {} : { usage: usageOf(plan, plan.usage.output) })
  })
  emit("message_stop", {})
  return events
}
