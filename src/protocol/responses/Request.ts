/**
 * OpenAI Responses: the request (protocols, section 4, column R).
 *
 * @since 0.1.0
 */
import type { JsonObject } from "../../domain/Json.ts"
import { cacheKey } from "../CacheKey.ts"
import * as CallIds from "../CallIds.ts"
import {
  continued,
  type Entry,
  type History,
  type InputPart,
  normalise,
  originOf,
  type Result,
  type Thought
} from "../History.ts"
import * as Lossiness from "../Lossiness.ts"
import { dataUrl, fit, imageUrl } from "../Media.ts"
import type { EncodedRequest, EncodeInput } from "../Protocol.ts"
import { sampling } from "../Sampling.ts"
import type { ToolNames } from "../ToolNames.ts"
import { argumentText, errorText, namesOf, repairSchema, unique } from "../Tools.ts"

/** Smallest answer limit the protocol takes, in tokens. @since 0.1.0 @category constants */
export const leastMaxTokens = 16

type Wire = Record<string, unknown>

// Content

const inputParts = (parts: ReadonlyArray<InputPart>, input: EncodeInput, lossiness: Lossiness.Lossiness): Array<Wire> =>
  fit(parts, input.traits, lossiness).flatMap((part): Array<Wire> => {
    switch (part.type) {
      case "text":
        return part.text === "" ? [] : [{ type: "input_text", text: part.text }]
      case "image":
        return [{ type: "input_image", image_url: imageUrl(part), detail: "auto" }]
      case "file":
        return [{ type: "input_file", filename: part.filename ?? "file", file_data: dataUrl(part) }]
    }
  })

/** Item ids are left out: nothing is stored, so the server would look for them in vain. */
const reasoningItem = ({ replay, text }: Thought): Wire | undefined => {
  const { encrypted_content, summary } = replay
  if (encrypted_content !== undefined) {
    const inSummary = summary === true && text !== ""
    return {
      type: "reasoning",
      summary: inSummary ? [{ type: "summary_text", text }] : [],
      ...(summary !== true && text !== "" ? { content: [{ type: "reasoning_text", text }] } : {}),
      encrypted_content
    }
  }
  // open models give their reasoning as it is
  if (summary === true || text === "") return undefined
  return { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] }
}

const assistantItems = (
  entry: Extract<Entry, { readonly kind: "assistant" }>,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): Array<Wire> => {
  const items = entry.parts.flatMap((part): Array<Wire> => {
    switch (part.type) {
      case "text":
        return part.text === ""
          ? []
          : [{
            type: "message",
            role: "assistant",
            content: [{ type: "output_text", text: part.text, annotations: [] }]
          }]
      case "tool_call":
        return [{
          type: "function_call",
          call_id: part.wire_id,
          name: names.wire(part.name),
          arguments: argumentText(part)
        }]
      case "reasoning": {
        const item = reasoningItem(part)
        if (item === undefined) lossiness.drop("reasoning", "not encrypted, cannot be sent back, left out")
        return item === undefined ? [] : [item]
      }
    }
  })
  // reasoning that nothing follows is refused
  const end = items.findLastIndex((item) => item["type"] !== "reasoning") + 1
  if (end < items.length) lossiness.drop("reasoning", "nothing follows it in its answer, left out")
  return items.slice(0, end)
}

/** Text as a string; with images or files the parts stay in place. */
const resultItem = (result: Result, input: EncodeInput, lossiness: Lossiness.Lossiness): Wire => {
  const parts = fit(result.parts, input.traits, lossiness)
  const text = parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n")
  const media = parts.filter(({ type }) => type !== "text")
  const said = errorText(text, result.is_error)
  return {
    type: "function_call_output",
    call_id: result.wire_id,
    output: media.length === 0
      ? said
      : result.is_error || text === ""
      ? inputParts([{ type: "text", text: said }, ...media], input, lossiness)
      : inputParts(parts, input, lossiness)
  }
}

const inputOf = (
  history: History,
  input: EncodeInput,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): Array<Wire> => {
  const items = history.entries.flatMap((entry): Array<Wire> => {
    switch (entry.kind) {
      case "system":
        return [{ type: "message", role: "developer", content: [{ type: "input_text", text: entry.text }] }]
      case "user": {
        const content = inputParts(entry.parts, input, lossiness)
        return content.length === 0 ? [] : [{ type: "message", role: "user", content }]
      }
      case "assistant":
        return assistantItems(entry, names, lossiness)
      case "results":
        return entry.results.map((result) => resultItem(result, input, lossiness))
    }
  })
  return items.length > 0
    ? items
    : [{ type: "message", role: "user", content: [{ type: "input_text", text: continued }] }]
}

// Choice

const toolChoice = (input: EncodeInput, names: ToolNames): JsonObject => {
  if (input.tools.length === 0) return {}
  const choice = input.tool_choice
  return {
    ...(choice === undefined ? {} : {
      tool_choice: typeof choice === "string" ? choice : { type: "function", name: names.wire(choice.name) }
    }),
    ...(input.parallel_tool_calls === undefined ? {} : { parallel_tool_calls: input.parallel_tool_calls })
  }
}

const maxTokens = (input: EncodeInput, lossiness: Lossiness.Lossiness): JsonObject => {
  const wanted = input.max_output_tokens
  if (wanted === undefined) return {}
  const limit = input.traits.max_output_tokens ?? wanted
  if (wanted > limit) lossiness.drop("max_output_tokens", `lowered to the model's limit of ${limit}`)
  if (wanted < leastMaxTokens) {
    lossiness.drop("max_output_tokens", `raised to ${leastMaxTokens}, the least that is taken`)
  }
  return { max_output_tokens: Math.max(leastMaxTokens, Math.min(wanted, limit)) }
}

const reasoningOf = (input: EncodeInput, lossiness: Lossiness.Lossiness): JsonObject => {
  const { effort, traits } = input
  if (traits.reasoning === false) {
    if (effort !== undefined && effort !== "none") lossiness.drop("effort", "the model does not reason")
    return {}
  }
  const include = { include: ["reasoning.encrypted_content"] }
  if (effort === "none") return { reasoning: { effort }, ...include }
  if (effort === undefined && traits.reasoning !== true) return include
  return { reasoning: { ...(effort === undefined ? {} : { effort }), summary: "auto" }, ...include }
}

/** @since 0.1.0 @category encoding */
export const encodeRequest = (input: EncodeInput): EncodedRequest => {
  const lossiness = Lossiness.make()
  const history = normalise(input.messages, { origin: originOf(input), ids: CallIds.make(), lossiness })
  const names = namesOf(input, history)
  const tools = unique(input.tools, lossiness).map((tool) => ({
    type: "function",
    name: names.wire(tool.name),
    description: tool.description,
    parameters: repairSchema(tool.input_schema, tool.name, lossiness),
    strict: false
  }))
  const key = input.traits.prompt_cache_key === false ? undefined : cacheKey(input.session_id)
  return {
    body: {
      model: input.model,
      ...(history.system.length === 0 ? {} : { instructions: history.system.join("\n\n") }),
      input: inputOf(history, input, names, lossiness),
      ...(tools.length === 0 ? {} : { tools }),
      ...toolChoice(input, names),
      ...maxTokens(input, lossiness),
      ...reasoningOf(input, lossiness),
      ...sampling(input, lossiness),
      ...(key === undefined ? {} : { prompt_cache_key: key }),
      store: false,
      stream: input.stream
    },
    names: names.names,
    dropped: lossiness.dropped(),
    local_stop: (input.stop ?? []).filter((sequence) => sequence !== "")
  }
}
