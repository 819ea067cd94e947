/** A plan in the words of Chat Completions. */
import type { UpstreamOptions } from "./Options.ts"
import { pieces, type Plan, type PlannedCall, type WireEvent } from "./Plan.ts"

const usageOf = (plan: Plan): unknown => {
  if (plan.usage === null) return null
  const prompt = plan.usage.input + plan.usage.cached + plan.usage.written
  return {
    prompt_tokens: prompt,
    completion_tokens: plan.usage.output,
    total_tokens: prompt + plan.usage.output,
    prompt_tokens_details: { cached_tokens: plan.usage.cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: plan.usage.reasoning, audio_tokens: 0 }
  }
}

const finishReason = (plan: Plan, options: UpstreamOptions): string => {
  switch (plan.end) {
    case "length":
    case "length_in_arguments":
    case "context_window":
      return "length"
    case "content_filter":
      return "content_filter"
    case "normal":
      return plan.blocks.some((block) => block.kind === "call") && options.quirks?.includes("stop_with_calls") !== true
        ? "tool_calls"
        : "stop"
    default:
      return "stop"
  }
}

const join = (plan: Plan, kind: "text" | "thinking"): string =>
  plan.blocks.reduce((all, block) => block.kind === kind ? all + block.text : all, "")

const callsOf = (plan: Plan): ReadonlyArray<PlannedCall> =>
  plan.blocks.filter((block): block is PlannedCall => block.kind === "call")

export const chatWhole = (plan: Plan, options: UpstreamOptions): unknown => {
  const text = join(plan, "text")
  const thinking = join(plan, "thinking")
  const calls = callsOf(plan)
  const refused = plan.end === "refusal"
  return {
    id: plan.id,
    object: "chat.completion",
    created: plan.created,
    model: plan.model,
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: refused || (text === "" && calls.length > 0) ? null : text,
        refusal: refused ? text : null,
        ...(thinking === "" ? {} : { [options.reasoning_field ?? "reasoning_content"]: thinking }),
        ...(calls.length === 0 ? {} : {
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: call.arguments }
          }))
        })
      },
      logprobs: null,
      finish_reason: finishReason(plan, options)
    }],
    ...(plan.usage === null ? {} : { usage: usageOf(plan) })
  }
}

export const chatEvents = (
  plan: Plan,
  options: UpstreamOptions,
  includeUsage: boolean
): ReadonlyArray<WireEvent> => {
  const quirks = new Set(options.quirks ?? [])
  const events: Array<WireEvent> = []
  const base = {
    id: plan.id,
    object: "chat.completion.chunk",
    created: plan.created,
    model: plan.model,
    system_fingerprint: "fp_up"
  }
  const emit = (delta: Readonly<Record<string, unknown>>, finish: string | null = null, usage?: unknown) =>
    events.push({
      data: JSON.stringify({
        ...base,
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...(usage !== undefined ? { usage } : includeUsage && plan.usage !== null ? { usage: null } : {})
      })
    })
  emit({ role: "assistant", content: callsOf(plan).length > 0 ? null : "", refusal: null })
  for (const block of plan.blocks) {
    if (block.kind === "thinking") {
      pieces(block.text, options).forEach((text) => emit({ [options.reasoning_field ?? "reasoning_content"]: text }))
    } else if (block.kind === "text") {
      pieces(block.text, options).forEach((text) =>
        emit(plan.end === "refusal" ? { refusal: text } : { content: text })
      )
    }
  }
  callFragments(callsOf(plan), options).forEach((fragment) => emit({ tool_calls: [fragment] }))
  const withFinish = quirks.has("usage_with_finish") && plan.usage !== null
  emit({}, finishReason(plan, options), withFinish ? usageOf(plan) : undefined)
  if (includeUsage && plan.usage !== null && !withFinish) {
    events.push({ data: JSON.stringify({ ...base, choices: [], usage: usageOf(plan) }) })
  }
  if (options.done !== false) events.push({ data: "[DONE]" })
  return events
}

const callFragments = (calls: ReadonlyArray<PlannedCall>, options: UpstreamOptions): ReadonlyArray<unknown> => {
  const quirks = new Set(options.quirks ?? [])
  const each = calls.map((call, index) => {
    const at = quirks.has("no_index") ? {} : { index }
    const id = quirks.has("no_ids") ? {} : { id: call.id }
    const later = quirks.has("repeat_ids")
      ? { id: call.id, type: "function" }
      : quirks.has("empty_ids")
      ? { id: "" }
      : {}
    const laterName = quirks.has("repeat_ids") ? { name: call.name } : {}
    if (quirks.has("arguments_in_opener")) {
      return [{ ...at, ...id, type: "function", function: { name: call.name, arguments: call.arguments } }]
    }
    const opener = {
      ...at,
      ...id,
      type: "function",
      function: quirks.has("late_name") ? { arguments: "" } : { name: call.name, arguments: "" }
    }
    const fragments = pieces(call.arguments, options).map((text, i) => ({
      ...at,
      ...later,
      function: { ...(quirks.has("late_name") && i === 0 ? { name: call.name } : laterName), arguments: text }
    }))
    return quirks.has("late_name") && fragments.length === 0
      ? [opener, { ...at, function: { name: call.name, arguments: "" } }]
      : [opener, ...fragments]
  })
  if (options.interleave !== true) return each.flat()
  const longest = Math.max(0, ...each.map((list) => list.length))
  return Array.from({ length: longest }, (_, i) => each.flatMap((list) => list.slice(i, i + 1))).flat()
}
