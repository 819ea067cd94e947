/** From a request and the options to what will be said, in no wire's words yet. */
import type { End, Fault, Turn, TurnRequest, UpstreamOptions, UpstreamUsage, Wire } from "./Options.ts"
import { isObject, type Obj } from "./Rules.ts"

export interface PlannedCall {
  readonly kind: "call"
  readonly id: string
  readonly item_id: string
  readonly name: string
  readonly arguments: string
  /** The stream stops inside the arguments. */
  readonly cut: boolean
}
export type PlannedBlock =
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "redacted_thinking"; readonly data: string }
  | { readonly kind: "text"; readonly text: string }
  | PlannedCall

export interface Plan {
  readonly id: string
  readonly model: string
  readonly turn: number
  readonly blocks: ReadonlyArray<PlannedBlock>
  readonly end: End
  readonly stop_sequence: string | null
  readonly usage: Required<UpstreamUsage> | null
  /** Seconds. */
  readonly created: number
}

interface HistoryEntry {
  readonly kind: "prompt" | "calls" | "result" | "other"
  readonly ids: ReadonlyArray<string>
  readonly text: string
}

const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part: unknown) =>
    isObject(part) ? typeof part["text"] === "string" ? part["text"] : textOf(part["content"]) : ""
  ).join("")
}

const entriesOf = (wire: Wire, body: Obj): ReadonlyArray<HistoryEntry> => {
  const list = wire === "responses" ? body["input"] : body["messages"]
  if (typeof list === "string") return [{ kind: "prompt", ids: [], text: list }]
  if (!Array.isArray(list)) return []
  return list.filter(isObject).flatMap((entry): ReadonlyArray<HistoryEntry> => {
    if (wire === "responses") {
      const type = String(entry["type"] ?? "message")
      if (type === "function_call" || type === "custom_tool_call") {
        return [{ kind: "calls", ids: [String(entry["call_id"])], text: "" }]
      }
      if (type.endsWith("_call_output")) {
        return [{ kind: "result", ids: [String(entry["call_id"])], text: textOf(entry["output"]) }]
      }
      return [{ kind: entry["role"] === "user" ? "prompt" : "other", ids: [], text: textOf(entry["content"]) }]
    }
    if (entry["role"] === "tool") {
      return [{ kind: "result", ids: [String(entry["tool_call_id"])], text: textOf(entry["content"]) }]
    }
    const blocks = Array.isArray(entry["content"]) ? entry["content"].filter(isObject) : []
    const calls = [
      ...blocks.filter((block) => block["type"] === "tool_use"),
      ...(Array.isArray(entry["tool_calls"]) ? entry["tool_calls"].filter(isObject) : [])
    ]
    if (calls.length > 0) return [{ kind: "calls", ids: calls.map((call) => String(call["id"])), text: "" }]
    const results = blocks.filter((block) => block["type"] === "tool_result")
    if (results.length > 0) {
      return results.map((block) => ({
        kind: "result" as const,
        ids: [String(block["tool_use_id"])],
        text: textOf(block["content"])
      }))
    }
    return [{ kind: entry["role"] === "user" ? "prompt" : "other", ids: [], text: textOf(entry["content"]) }]
  })
}

/** Runs of calls, so that parallel calls of Responses count once. */
const groups = (entries: ReadonlyArray<HistoryEntry>): number =>
  entries.filter((entry, i) => entry.kind === "calls" && entries[i - 1]?.kind !== "calls").length

const turnOf = (id: string): number => Number(/t(\d+)c\d+/.exec(id)?.[1] ?? 0)

const substitute = (value: unknown, turn: number, call: number): unknown =>
  typeof value === "string"
    ? value.replaceAll("{{turn}}", String(turn)).replaceAll("{{call}}", String(call))
    : Array.isArray(value)
    ? value.map((entry: unknown) => substitute(entry, turn, call))
    : isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, substitute(entry, turn, call)]))
    : value

const argumentsOf = (options: UpstreamOptions, turn: number, call: number): string => {
  if (options.empty_arguments === true) return ""
  const given = typeof options.arguments === "function"
    ? options.arguments(turn, call)
    : substitute(
      options.arguments ??
        {
          command: options.parallel === undefined || options.parallel < 2
            ? "echo turn-{{turn}}"
            : "echo turn-{{turn}}-{{call}}"
        },
      turn,
      call
    )
  return typeof given === "string" ? given : JSON.stringify(given)
}

const scripted = (options: UpstreamOptions, request: TurnRequest): Turn => {
  const { script } = options
  if (typeof script === "function") return script(request)
  if (script !== undefined) return script[Math.min(request.turn, script.length) - 1] ?? { blocks: [] }
  const thinking = options.thinking === true
    ? [{ kind: "thinking" as const, text: options.thinking_text ?? `Considering step ${request.turn}.` }]
    : []
  const toolTurns = options.tool_turns ?? 0
  if (request.turn > toolTurns) {
    return {
      blocks: [...thinking, { kind: "text", text: options.final_text ?? "All done." }],
      ...(options.end !== undefined && options.end !== "length_in_arguments" ? { end: options.end } : {})
    }
  }
  const preface = options.preface === undefined ? [] : [{ kind: "text" as const, text: options.preface }]
  const calls = Array.from({ length: options.parallel ?? 1 }, (_, i) => ({
    kind: "call" as const,
    name: options.tool ?? "bash",
    arguments: argumentsOf(options, request.turn, i + 1)
  }))
  return {
    blocks: [...thinking, ...preface, ...calls],
    ...(options.end === "length_in_arguments" && request.turn === 1 ? { end: options.end } : {})
  }
}

export const planOf = (
  wire: Wire,
  body: Obj,
  options: UpstreamOptions,
  generation: number,
  fault: Fault | undefined,
  created: number
): Plan => {
  const entries = entriesOf(wire, body)
  const lastPrompt = entries.findLastIndex((entry) => entry.kind === "prompt")
  const ids = entries.filter((entry) => entry.kind === "calls").flatMap((entry) => entry.ids)
  const highest = Math.max(0, ...ids.map(turnOf))
  const served = options.restart === true
    ? groups(entries.slice(lastPrompt + 1))
    : highest > 0
    ? highest
    : groups(entries)
  const idTurn = Math.max(highest, groups(entries)) + 1
  const results: Array<string> = []
  for (let i = entries.length - 1; i >= 0 && entries[i]?.kind !== "calls"; i--) {
    const entry = entries[i]
    if (entry?.kind === "result") results.unshift(entry.text)
  }
  const turn = scripted(options, {
    wire,
    turn: served + 1,
    body,
    results,
    prompt: entries[lastPrompt]?.text ?? ""
  })
  const end = fault?.kind === "end" ? fault.end : turn.end ?? "normal"
  const prefix = wire === "anthropic" ? "toolu_" : "call_"
  const quirks = new Set(options.quirks ?? [])
  const callCount = turn.blocks.filter((block) => block.kind === "call").length
  let c = 0
  const blocks = turn.blocks.map((block, i): PlannedBlock => {
    const last = i === turn.blocks.length - 1
    if (block.kind === "call") {
      const n = c++
      const id = `${prefix}t${idTurn}c${quirks.has("duplicate_ids") ? 0 : n}`
      const cut = end === "length_in_arguments" && n === callCount - 1
      const args = typeof block.arguments === "string" ? block.arguments : JSON.stringify(block.arguments)
      return {
        kind: "call",
        id,
        item_id: options.item_id_is_call_id === true ? id : `fc_item_${idTurn}_${n}`,
        name: block.name,
        arguments: cut ? args.slice(0, Math.max(1, Math.floor(args.length / 2))) : args,
        cut
      }
    }
    if (block.kind === "text" && last && end === "length") {
      return { kind: "text", text: block.text.slice(0, Math.ceil(block.text.length / 2)) }
    }
    return block
  })
  const stops = body[wire === "anthropic" ? "stop_sequences" : "stop"]
  const requested: unknown = Array.isArray(stops) ? stops[0] : stops
  return {
    id: `${wire === "anthropic" ? "msg_" : wire === "chat" ? "chatcmpl-" : "resp_"}up${generation}`,
    model: String(body["model"]),
    turn: served + 1,
    blocks,
    end,
    stop_sequence: end === "stop_sequence"
      ? options.stop_sequence ?? (typeof requested === "string" ? requested : "STOP")
      : null,
    usage: options.usage === false
      ? null
      : {
        input: options.usage?.input ?? 100,
        output: options.usage?.output ?? 20,
        cached: options.usage?.cached ?? 0,
        written: options.usage?.written ?? 0,
        reasoning: options.usage?.reasoning ?? 0
      },
    created
  }
}

/** Text in deltas: whole code points, or single UTF-16 units where surrogates shall be torn. */
export const pieces = (text: string, options: UpstreamOptions): ReadonlyArray<string> => {
  if (options.split_surrogates === true) return Array.from({ length: text.length }, (_, i) => text.charAt(i))
  const points = Array.from(text)
  const size = options.delta_chars ?? 8
  return Array.from(
    { length: Math.ceil(points.length / size) },
    (_, i) => points.slice(i * size, (i + 1) * size).join("")
  )
}

/** One event of a stream before it becomes bytes. */
export interface WireEvent {
  readonly event?: string
  readonly data: string
}
