/**
 * Chat Completions: the request (protocols, section 4, column C).
 *
 * @since 0.1.0
 */
import type { FilePart, ImagePart, TextPart } from "../../domain/Message.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { cacheKey } from "../CacheKey.ts"
import * as CallIds from "../CallIds.ts"
import { type History, type InputPart, normalise, originOf, type OutputPart, type Result } from "../History.ts"
import { asArray, parse } from "../Json.ts"
import * as Lossiness from "../Lossiness.ts"
import { dataUrl, fileText, fit, imageUrl, placeholder } from "../Media.ts"
import type { EncodedRequest, EncodeInput, ModelTraits } from "../Protocol.ts"
import { sampling } from "../Sampling.ts"
import type { ToolNames } from "../ToolNames.ts"
import { argumentText, errorText, namesOf, repairSchema, unique } from "../Tools.ts"
import { callSignatureField, detailsField } from "./Reasoning.ts"

/** Most stop sequences the protocol takes. @since 0.1.0 @category constants */
export const stopLimit = 4

type Wire = Record<string, unknown>

/** Models that refuse `max_tokens` and `stop`, by their public names. */
const isNewForm = (model: string): boolean => /(?:^|[/:])(?:o[1-9](?:$|[-.])|gpt-[5-9])/i.test(model)

/** Models whose servers take call ids of nine letters and digits only, by their public names. */
const isShortId = (model: string): boolean =>
  /(?:^|\/)(?:open-)?(?:mistral|mixtral|ministral|codestral|devstral|magistral|pixtral|voxtral)/i.test(model)

// Content

const filePart = (part: FilePart, traits: ModelTraits, lossiness: Lossiness.Lossiness): Wire => {
  const text = fileText(part)
  if (text !== undefined) return { ...text }
  if (traits.documents !== true && !/^application\/pdf\b/i.test(part.media_type)) {
    lossiness.drop("file", `a file of type ${part.media_type} has no place, replaced by a note`)
    return { ...placeholder(part) }
  }
  return { type: "file", file: { filename: part.filename ?? "file", file_data: dataUrl(part) } }
}

const userParts = (parts: ReadonlyArray<InputPart>, input: EncodeInput, lossiness: Lossiness.Lossiness): Array<Wire> =>
  fit(parts, input.traits, lossiness).flatMap((part): Array<Wire> => {
    switch (part.type) {
      case "text":
        return part.text === "" ? [] : [{ type: "text", text: part.text }]
      case "image":
        return [{ type: "image_url", image_url: { url: imageUrl(part) } }]
      case "file":
        return [filePart(part, input.traits, lossiness)]
    }
  })

const userMessage = (parts: ReadonlyArray<Wire>): Wire | undefined => {
  const only = parts[0]
  if (only === undefined) return undefined
  return { role: "user", content: parts.length === 1 && only["type"] === "text" ? only["text"] : parts }
}

const assistantMessage = (
  parts: ReadonlyArray<OutputPart>,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): Wire | undefined => {
  const text = parts.filter((part): part is TextPart => part.type === "text").map((part) => part.text).join("")
  const thoughts: Record<string, string> = {}
  const details: Array<unknown> = []
  const signatures = new Map<string, string>()
  for (const part of parts) {
    if (part.type !== "reasoning") continue
    const { encrypted_content, field, id, signature } = part.replay
    if (field === callSignatureField) {
      if (id !== undefined && signature !== undefined) signatures.set(id, signature)
    } else if (field === detailsField) details.push(...asArray(parse(encrypted_content ?? "")))
    else if (field !== undefined) thoughts[field] = (thoughts[field] ?? "") + part.text
    else lossiness.drop("reasoning", "no field to send it in, left out")
  }
  const calls = parts.flatMap((part): Array<Wire> => {
    if (part.type !== "tool_call") return []
    const signature = signatures.get(part.id)
    return [{
      id: part.wire_id,
      type: "function",
      function: { name: names.wire(part.name), arguments: argumentText(part) },
      ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } })
    }]
  })
  if (text === "" && calls.length === 0) {
    if (parts.length > 0) lossiness.drop("assistant message", "holds nothing but reasoning, left out")
    return undefined
  }
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...thoughts,
    ...(details.length === 0 ? {} : { [detailsField]: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
}

/** The results in the order of the calls; what is not text follows all of them in one user message. */
const resultMessages = (
  results: ReadonlyArray<Result>,
  input: EncodeInput,
  lossiness: Lossiness.Lossiness
): Array<Wire> => {
  const moved: Array<InputPart> = []
  const messages = results.map((result): Wire => {
    const texts: Array<string> = []
    for (const part of fit(result.parts, input.traits, lossiness)) {
      const inline = part.type === "file" ? fileText(part) : undefined
      if (part.type === "text") texts.push(part.text)
      else if (inline !== undefined) texts.push(inline.text)
      else {
        const label = mediaLabel(part, moved.filter(({ type }) => type !== "text").length + 1)
        texts.push(`[${label} follows in the next user message]`)
        moved.push({ type: "text", text: `[${label}, from the result of ${result.name}]` }, part)
      }
    }
    return { role: "tool", tool_call_id: result.wire_id, content: errorText(texts.join("\n"), result.is_error) }
  })
  const media = userMessage(userParts(moved, input, lossiness))
  return media === undefined ? messages : [...messages, media]
}

const mediaLabel = (part: ImagePart | FilePart, n: number): string =>
  part.type === "image" ? `image ${n}` : `file ${n}${part.filename === undefined ? "" : ` (${part.filename})`}`

const messagesOf = (
  history: History,
  input: EncodeInput,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): Array<Wire> => {
  const system: Array<Wire> = history.system.length === 0
    ? []
    : [{ role: "system", content: history.system.join("\n\n") }]
  const rest = history.entries.flatMap((entry): Array<Wire | undefined> => {
    switch (entry.kind) {
      case "system":
        return [{ role: "system", content: entry.text }]
      case "user":
        return [userMessage(userParts(entry.parts, input, lossiness))]
      case "assistant":
        return [assistantMessage(entry.parts, names, lossiness)]
      case "results":
        return resultMessages(entry.results, input, lossiness)
    }
  })
  return [...system, ...rest.filter((message) => message !== undefined)]
}

// Choice

const toolChoice = (input: EncodeInput, names: ToolNames): JsonObject => {
  if (input.tools.length === 0) return {}
  const choice = input.tool_choice
  return {
    ...(choice === undefined ? {} : {
      tool_choice: typeof choice === "string"
        ? choice
        : { type: "function", function: { name: names.wire(choice.name) } }
    }),
    ...(input.parallel_tool_calls === undefined ? {} : { parallel_tool_calls: input.parallel_tool_calls })
  }
}

const maxTokens = (input: EncodeInput, newForm: boolean, lossiness: Lossiness.Lossiness): JsonObject => {
  const wanted = input.max_output_tokens
  if (wanted === undefined) return {}
  const limit = input.traits.max_output_tokens ?? wanted
  if (wanted > limit) lossiness.drop("max_output_tokens", `lowered to the model's limit of ${limit}`)
  return { [newForm ? "max_completion_tokens" : "max_tokens"]: Math.max(1, Math.min(wanted, limit)) }
}

const effortOf = (input: EncodeInput, lossiness: Lossiness.Lossiness): JsonObject => {
  if (input.effort === undefined) return {}
  if (input.traits.reasoning === false) {
    if (input.effort !== "none") lossiness.drop("effort", "the model does not reason")
    return {}
  }
  return { reasoning_effort: input.effort }
}

/**
 * `store` is not sent: its default is false, and several compatible servers refuse a key they do not know.
 *
 * @since 0.1.0
 * @category encoding
 */
export const encodeRequest = (input: EncodeInput): EncodedRequest => {
  const lossiness = Lossiness.make()
  const short = input.traits.short_call_ids ?? isShortId(input.model)
  const ids = CallIds.make(short ? "short" : "usual")
  const history = normalise(input.messages, { origin: originOf(input), ids, lossiness })
  const names = namesOf(input, history)
  const newForm = input.traits.max_completion_tokens ?? isNewForm(input.model)

  const tools = unique(input.tools, lossiness).map((tool) => ({
    type: "function",
    function: {
      name: names.wire(tool.name),
      description: tool.description,
      parameters: repairSchema(tool.input_schema, tool.name, lossiness),
      strict: false
    }
  }))
  const sequences = (input.stop ?? []).filter((sequence) => sequence !== "")
  const stop = isNewForm(input.model) ? [] : sequences.slice(0, stopLimit)
  const key = input.traits.prompt_cache_key === false ? undefined : cacheKey(input.session_id)
  return {
    body: {
      model: input.model,
      messages: messagesOf(history, input, names, lossiness),
      ...(tools.length === 0 ? {} : { tools }),
      ...toolChoice(input, names),
      ...maxTokens(input, newForm, lossiness),
      ...effortOf(input, lossiness),
      ...sampling(input, lossiness),
      ...(stop.length === 0 ? {} : { stop }),
      ...(key === undefined ? {} : { prompt_cache_key: key }),
      stream: input.stream,
      ...(input.stream ? { stream_options: { include_usage: true } } : {})
    },
    names: names.names,
    dropped: lossiness.dropped(),
    local_stop: sequences.slice(stop.length)
  }
}
