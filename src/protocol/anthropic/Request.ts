/**
 * Anthropic Messages: the request (protocols, section 4, column A).
 *
 * @since 0.1.0
 */
import type { FilePart, ImagePart } from "../../domain/Message.ts"
import type { Effort } from "../../domain/ApiClient.ts"
import type { ToolDef } from "../../domain/Tool.ts"
import type { JsonObject } from "../../domain/Json.ts"
import * as CallIds from "../CallIds.ts"
import {
  type Call,
  continued,
  type Entry,
  type History,
  type InputPart,
  normalise,
  originOf,
  type Result,
  type Thought
} from "../History.ts"
import { isBlank, isObject, parse } from "../Json.ts"
import * as Lossiness from "../Lossiness.ts"
import { fileText, fit, placeholder } from "../Media.ts"
import type { EncodedRequest, EncodeInput } from "../Protocol.ts"
import type { ToolNames } from "../ToolNames.ts"
import { namesOf, repairSchema, unique } from "../Tools.ts"

/** Answer limit of a model of which nothing is known, in tokens. @since 0.1.0 @category constants */
export const defaultMaxTokens = 32_000

type Block = Record<string, unknown>
interface Turn {
  readonly role: "user" | "assistant" | "system"
  readonly content: Array<Block>
}

const text = (value: string): Block => ({ type: "text", text: value })

// Thinking

type Thinking =
  | { readonly mode: "absent" | "disabled" }
  | { readonly mode: "adaptive"; readonly effort: string }
  | { readonly mode: "budget"; readonly tokens: number }

const budgets: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_000,
  xhigh: 48_000,
  max: 64_000
}
const leastBudget = 1_024

/**
 * With a budget, an answer that goes on after tool results must begin with its thinking. When that is gone (made
 * elsewhere, or withdrawn), this request goes without thinking. Later turns of the same answer need none.
 */
const lacksThinking = (entries: ReadonlyArray<Entry>): boolean => {
  const begin = entries.findLastIndex(({ kind }) => kind === "user") + 1
  const answer = entries.slice(begin).find((entry) => entry.kind === "assistant")
  if (answer === undefined || entries[entries.length - 1]?.kind !== "results") return false
  const first = answer.parts.find((part) => part.type !== "text" || !isBlank(part.text))
  return first?.type !== "reasoning" || thinkingBlock(first) === undefined
}

const thinkingOf = (
  input: EncodeInput,
  history: History,
  maxTokens: number,
  lossiness: Lossiness.Lossiness
): Thinking => {
  const { effort, traits } = input
  if (effort === undefined) return { mode: "absent" }
  if (traits.reasoning === false) {
    if (effort !== "none") lossiness.drop("effort", "the model does not reason")
    return { mode: "absent" }
  }
  if (effort === "none") return { mode: "disabled" }
  if (traits.adaptive_thinking === true) return { mode: "adaptive", effort: effort === "minimal" ? "low" : effort }
  if (lacksThinking(history.entries)) {
    lossiness.drop("effort", "the open turn has no signed thinking to go on from, thinking is off for this request")
    return { mode: "absent" }
  }
  const tokens = Math.min(budgets[effort], maxTokens - Math.max(1_024, Math.floor(maxTokens / 4)))
  if (tokens < leastBudget) {
    lossiness.drop("effort", `no room for thinking below max_tokens ${maxTokens}`)
    return { mode: "absent" }
  }
  return { mode: "budget", tokens }
}

const maxTokensOf = (input: EncodeInput, lossiness: Lossiness.Lossiness): number => {
  const limit = input.traits.max_output_tokens
  const window = input.traits.context_window
  const wanted = input.max_output_tokens ?? limit ??
    (window === undefined ? defaultMaxTokens : Math.min(defaultMaxTokens, Math.max(1, Math.floor(window / 4))))
  if (limit !== undefined && wanted > limit) {
    lossiness.drop("max_output_tokens", `lowered to the model's limit of ${limit}`)
    return limit
  }
  return Math.max(1, wanted)
}

// Content

const thinkingBlock = ({ replay, text }: Thought): Block | undefined => {
  if (replay.redacted_data !== undefined) return { type: "redacted_thinking", data: replay.redacted_data }
  if (replay.signature !== undefined) return { type: "thinking", thinking: text, signature: replay.signature }
  return undefined
}

const imageBlock = (part: ImagePart): Block => ({
  type: "image",
  source: part.data === undefined
    ? { type: "url", url: part.url ?? "" }
    : { type: "base64", media_type: part.media_type, data: part.data }
})

const fileBlock = (part: FilePart, lossiness: Lossiness.Lossiness): Block => {
  const title = part.filename === undefined ? {} : { title: part.filename }
  if (/^application\/pdf\b/i.test(part.media_type)) {
    return {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: part.data },
      ...title
    }
  }
  const inline = fileText(part)
  if (inline === undefined) {
    lossiness.drop("file", `a document of type ${part.media_type} has no place, replaced by a note`)
    return { ...placeholder(part) }
  }
  return { type: "document", source: { type: "text", media_type: "text/plain", data: inline.text }, ...title }
}

const inputBlocks = (
  parts: ReadonlyArray<InputPart>,
  input: EncodeInput,
  lossiness: Lossiness.Lossiness
): Array<Block> =>
  fit(parts, input.traits, lossiness).flatMap((part): Array<Block> => {
    switch (part.type) {
      case "text":
        return isBlank(part.text) ? [] : [text(part.text)]
      case "image":
        return [imageBlock(part)]
      case "file":
        return [fileBlock(part, lossiness)]
    }
  })

const resultBlock = (result: Result, input: EncodeInput, lossiness: Lossiness.Lossiness): Block => {
  const blocks = inputBlocks(result.parts, input, lossiness)
  const only = blocks[0]
  // a plain string where text is all there is; an error must not be empty
  const content = blocks.length === 0
    ? (result.is_error ? "failed" : "")
    : blocks.length === 1 && only?.["type"] === "text"
    ? only["text"]
    : blocks
  return {
    type: "tool_result",
    tool_use_id: result.wire_id,
    content,
    ...(result.is_error ? { is_error: true } : {})
  }
}

/** The arguments as an object; text that is none is kept under `_raw`, never turned into `{}`. */
const callInput = (call: Call): JsonObject => {
  if (isBlank(call.arguments)) return {}
  const value = parse(call.arguments)
  return isObject(value) ? value : { _raw: call.arguments }
}

const turnsOf = (
  history: History,
  input: EncodeInput,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): Array<Turn> => {
  const turns: Array<Turn> = []
  const add = (role: Turn["role"], content: ReadonlyArray<Block>): void => {
    if (content.length === 0) return
    const last = turns[turns.length - 1]
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content: [...content] })
  }
  for (const entry of history.entries) {
    switch (entry.kind) {
      case "user":
        add("user", inputBlocks(entry.parts, input, lossiness))
        break
      case "system":
        if (input.traits.cache_control === true) add("system", [text(entry.text)])
        else {
          lossiness.drop("system in mid-conversation", "sent in place as user text, the server may not know the role")
          add("user", [text(`<system>\n${entry.text}\n</system>`)])
        }
        break
      case "results":
        add("user", entry.results.map((result) => resultBlock(result, input, lossiness)))
        break
      case "assistant":
        add(
          "assistant",
          entry.parts.flatMap((part): Array<Block> => {
            switch (part.type) {
              case "text":
                return isBlank(part.text) ? [] : [text(part.text)]
              case "tool_call":
                return [{ type: "tool_use", id: part.wire_id, name: names.wire(part.name), input: callInput(part) }]
              case "reasoning": {
                const block = thinkingBlock(part)
                if (block === undefined) lossiness.drop("reasoning", "without a signature, left out")
                return block === undefined ? [] : [block]
              }
            }
          })
        )
    }
  }
  return alternating(turns)
}

/** A turn of nothing but thinking is no turn; a conversation begins and ends with the user. */
const alternating = (turns: ReadonlyArray<Turn>): Array<Turn> => {
  const out: Array<Turn> = []
  for (const turn of turns) {
    const said = turn.content.some(({ type }) => type !== "thinking" && type !== "redacted_thinking")
    if (!said) continue
    const last = out[out.length - 1]
    if (last?.role === turn.role) last.content.push(...turn.content)
    else out.push(turn)
  }
  if (out[0]?.role !== "user") out.unshift({ role: "user", content: [text(continued)] })
  const last = out.findLast((turn) => turn.role !== "system")
  if (last?.role === "assistant") out.push({ role: "user", content: [text(continued)] })
  // results lead their turn
  return out.map((turn) =>
    turn.role !== "user" ? turn : {
      role: turn.role,
      content: [
        ...turn.content.filter((block) => block["type"] === "tool_result"),
        ...turn.content.filter((block) => block["type"] !== "tool_result")
      ]
    }
  )
}

// Cache breakpoints

const mark = (block: Block | undefined): void => {
  if (block !== undefined) block["cache_control"] = { type: "ephemeral" }
}

/** At most four: tools, system, the last two user turns. Of several system texts the last is the one that changes (D11). */
const breakpoints = (tools: ReadonlyArray<Block>, system: ReadonlyArray<Block>, turns: ReadonlyArray<Turn>): void => {
  mark(tools[tools.length - 1])
  mark(system[Math.max(0, system.length - 2)])
  for (const turn of turns.filter(({ role }) => role === "user").slice(-2)) {
    mark(turn.content[turn.content.length - 1])
  }
}

// Choice

const toolChoice = (
  input: EncodeInput,
  thinking: Thinking,
  names: ToolNames,
  lossiness: Lossiness.Lossiness
): JsonObject | undefined => {
  if (input.tools.length === 0) return undefined
  const wanted = input.tool_choice
  const parallel = input.parallel_tool_calls === undefined ? {} : {
    disable_parallel_tool_use: !input.parallel_tool_calls
  }
  if (wanted === "none") return { type: "none" }
  const forced = wanted === "required" || typeof wanted === "object"
  if (forced && (thinking.mode === "adaptive" || thinking.mode === "budget")) {
    lossiness.drop("tool_choice", "cannot be forced while the model thinks, sent as auto")
    return { type: "auto", ...parallel }
  }
  if (wanted === "required") return { type: "any", ...parallel }
  if (typeof wanted === "object") return { type: "tool", name: names.wire(wanted.name), ...parallel }
  if (wanted === "auto") return { type: "auto", ...parallel }
  return input.parallel_tool_calls === undefined ? undefined : { type: "auto", ...parallel }
}

const sampling = (input: EncodeInput, thinking: Thinking, lossiness: Lossiness.Lossiness): JsonObject => {
  const on = thinking.mode === "adaptive" || thinking.mode === "budget"
  const { temperature, top_p } = input
  const out: Record<string, number> = {}
  if (temperature !== undefined) {
    if (on) lossiness.drop("temperature", "not taken while the model thinks")
    else {
      out["temperature"] = Math.min(1, Math.max(0, temperature))
      if (out["temperature"] !== temperature) lossiness.drop("temperature", `${temperature} clamped to 0..1`)
    }
  }
  if (top_p !== undefined) {
    if (on && top_p < 0.95) lossiness.drop("top_p", "below 0.95 not taken while the model thinks")
    else if (out["temperature"] !== undefined && input.traits.cache_control === true) {
      lossiness.drop("top_p", "not taken beside temperature")
    } else out["top_p"] = Math.min(1, Math.max(0, top_p))
  }
  return out
}

/** A history with calls must come with tools; where none are offered, the ones it names are, and none may be called. */
const offered = (
  input: EncodeInput,
  history: History,
  lossiness: Lossiness.Lossiness
): ReadonlyArray<ToolDef> => {
  if (input.tools.length > 0) return unique(input.tools, lossiness)
  const names = new Set(
    history.entries.flatMap((entry) =>
      entry.kind === "assistant" ? entry.parts.flatMap((part) => part.type === "tool_call" ? [part.name] : []) : []
    )
  )
  return [...names].map((name) => ({ name, description: "", input_schema: {} }))
}

/** @since 0.1.0 @category encoding */
export const encodeRequest = (input: EncodeInput): EncodedRequest => {
  const lossiness = Lossiness.make()
  const history = normalise(input.messages, { origin: originOf(input), ids: CallIds.make(), lossiness })
  const names = namesOf(input, history)
  const maxTokens = maxTokensOf(input, lossiness)
  const thinking = thinkingOf(input, history, maxTokens, lossiness)

  const tools = offered(input, history, lossiness).map((tool): Block => ({
    name: names.wire(tool.name),
    ...(tool.description === "" ? {} : { description: tool.description }),
    input_schema: repairSchema(tool.input_schema, tool.name, lossiness)
  }))
  const system = history.system.map(text)
  const turns = turnsOf(history, input, names, lossiness)
  if (input.traits.cache_control === true) breakpoints(tools, system, turns)

  // a sequence of nothing but white space is refused
  const stop = (input.stop ?? []).filter((sequence) => !isBlank(sequence))
  const local = (input.stop ?? []).filter((sequence) => isBlank(sequence) && sequence !== "")
  const choice = input.tools.length === 0 && tools.length > 0
    ? { type: "none" }
    : toolChoice(input, thinking, names, lossiness)
  return {
    body: {
      model: input.model,
      max_tokens: maxTokens,
      ...(system.length === 0 ? {} : { system }),
      messages: turns,
      ...(tools.length === 0 ? {} : { tools }),
      ...(choice === undefined ? {} : { tool_choice: choice }),
      ...(thinking.mode === "adaptive"
        ? { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: thinking.effort } }
        : thinking.mode === "budget"
        ? { thinking: { type: "enabled", budget_tokens: thinking.tokens } }
        : thinking.mode === "disabled"
        ? { thinking: { type: "disabled" } }
        : {}),
      ...sampling(input, thinking, lossiness),
      ...(stop.length === 0 ? {} : { stop_sequences: stop }),
      stream: input.stream
    },
    names: names.names,
    dropped: lossiness.dropped(),
    local_stop: local
  }
}
