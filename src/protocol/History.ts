/**
 * The conversation made legal before it is written in any protocol (protocols, section 4): every call has exactly one
 * result right behind it, no result stands alone, call ids are unique and clean, reasoning of another origin is gone.
 * Nothing is lost: what has no place becomes text where it stood.
 *
 * @since 0.1.0
 */
import type {
  FilePart,
  ImagePart,
  Message,
  ReasoningPart,
  ReasoningReplay,
  TextPart,
  ToolCallPart
} from "../domain/Message.ts"
import { partsOf } from "../domain/MessageParts.ts"
import type * as CallIds from "./CallIds.ts"
import { isBlank } from "./Json.ts"
import type { Lossiness } from "./Lossiness.ts"
import type { EncodeInput } from "./Protocol.ts"

/** What a user or a tool says. @since 0.1.0 @category models */
export type InputPart = TextPart | ImagePart | FilePart

/** Reasoning of the request's own origin. @since 0.1.0 @category models */
export interface Thought {
  readonly type: "reasoning"
  readonly text: string
  readonly replay: ReasoningReplay
}

/** `wire_id` is the id to send; `id` the one that replays refer to. @since 0.1.0 @category models */
export interface Call {
  readonly type: "tool_call"
  readonly id: string
  readonly wire_id: string
  readonly name: string
  readonly arguments: string
}

/** @since 0.1.0 @category models */
export interface Result {
  readonly wire_id: string
  readonly name: string
  readonly parts: ReadonlyArray<InputPart>
  readonly is_error: boolean
}

/** @since 0.1.0 @category models */
export type OutputPart = TextPart | Thought | Call

/** `results` follows directly on the assistant entry with its calls and is in their order. @since 0.1.0 @category models */
export type Entry =
  | { readonly kind: "system"; readonly text: string }
  | { readonly kind: "user"; readonly parts: ReadonlyArray<InputPart> }
  | { readonly kind: "assistant"; readonly parts: ReadonlyArray<OutputPart> }
  | { readonly kind: "results"; readonly results: ReadonlyArray<Result> }

/** `system` holds the texts of the leading system messages. @since 0.1.0 @category models */
export interface History {
  readonly system: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Entry>
}

/** @since 0.1.0 @category models */
export interface HistoryOptions {
  /** `null`: the model does not reason and takes no reasoning back. */
  readonly origin: string | null
  readonly ids: CallIds.CallIds
  readonly lossiness: Lossiness
}

/** Stands in for the result of a call that was never answered. @since 0.1.0 @category constants */
export const noResult = "[no result recorded]"

/** Stands in where a protocol wants a user turn and the conversation has none. @since 0.1.0 @category constants */
export const continued = "[continued]"

interface OpenCall {
  readonly call: Call
  result: Result | undefined
}

interface Draft {
  readonly kind: "assistant"
  readonly parts: Array<OutputPart>
  readonly calls: Array<OpenCall>
}

const isInput = (part: { readonly type: string }): part is InputPart =>
  part.type === "text" || part.type === "image" || part.type === "file"

const inputParts = (message: Message, lossiness: Lossiness): Array<InputPart> => {
  const parts: Array<InputPart> = []
  for (const part of partsOf(message)) {
    if (isInput(part)) parts.push(part)
    else lossiness.drop(`${part.type} in a ${message.role} message`, "has no place there, left out")
  }
  return parts
}

/** The text of a message whatever its role, for places that take only text. */
const plain = (parts: ReadonlyArray<InputPart>): string =>
  parts.filter((part): part is TextPart => part.type === "text").map((part) => part.text).join("\n")

const ours = (
  part: ReasoningPart,
  origin: string | null
): part is ReasoningPart & { readonly replay: ReasoningReplay } =>
  part.replay !== undefined && part.replay.origin === origin

/** The origin whose reasoning the model takes back. @since 0.1.0 @category constructors */
export const originOf = (input: EncodeInput): string | null => input.traits.reasoning === false ? null : input.origin

/** @since 0.1.0 @category constructors */
export const normalise = (messages: ReadonlyArray<Message>, options: HistoryOptions): History => {
  const { ids, lossiness, origin } = options
  const system: Array<string> = []
  const drafts: Array<Draft | Exclude<Entry, { readonly kind: "assistant" | "results" }>> = []
  /** Unanswered calls by the id of the conversation, the latest message first; within a message in order. */
  const unanswered = new Map<string, Array<Array<OpenCall>>>()
  let leading = true

  const draftOf = (): Draft => {
    const last = drafts[drafts.length - 1]
    // calls of one turn that were stored as several messages stay side by side
    if (last?.kind === "assistant" && last.calls.length > 0 && last.calls.every((open) => open.result === undefined)) {
      return last
    }
    const draft: Draft = { kind: "assistant", parts: [], calls: [] }
    drafts.push(draft)
    return draft
  }

  const open = (draft: Draft, part: ToolCallPart, batch: Map<string, Array<OpenCall>>): void => {
    const call: Call = {
      type: "tool_call",
      id: part.id,
      wire_id: ids.next(part.id),
      name: part.name,
      arguments: part.arguments
    }
    const waiting: OpenCall = { call, result: undefined }
    draft.parts.push(call)
    draft.calls.push(waiting)
    let same = batch.get(part.id)
    if (same === undefined) {
      same = []
      batch.set(part.id, same)
      const stack = unanswered.get(part.id)
      if (stack === undefined) unanswered.set(part.id, [same])
      else stack.push(same)
    }
    same.push(waiting)
  }

  const take = (id: string): OpenCall | undefined => {
    const stack = unanswered.get(id) ?? []
    for (;;) {
      const top = stack[stack.length - 1]
      const next = top?.shift()
      if (top === undefined || next !== undefined) return next
      stack.pop()
    }
  }

  messages.forEach((message, at) => {
    switch (message.role) {
      case "system": {
        const parts = inputParts(message, lossiness)
        const text = plain(parts)
        if (isBlank(text)) return
        if (leading) system.push(text)
        else drafts.push({ kind: "system", text })
        return
      }
      case "user": {
        leading = false
        drafts.push({ kind: "user", parts: inputParts(message, lossiness) })
        return
      }
      case "assistant": {
        leading = false
        const batch = new Map<string, Array<OpenCall>>()
        const draft = draftOf()
        for (const part of partsOf(message)) {
          switch (part.type) {
            case "text":
              draft.parts.push(part)
              break
            case "tool_call":
              open(draft, part, batch)
              break
            case "reasoning":
              if (ours(part, origin)) draft.parts.push({ type: "reasoning", text: part.text, replay: part.replay })
              else {
                const why = origin === null ? "the model does not reason" : "made by another origin"
                lossiness.drop("reasoning", `${why}, left out`)
              }
              break
            default:
              draft.parts.push({ type: "text", text: `[${part.type} of the assistant, not repeated]` })
              lossiness.drop(`${part.type} in an assistant message`, "no protocol takes it there, sent as a note")
          }
        }
        return
      }
      case "tool": {
        leading = false
        const parts = inputParts(message, lossiness)
        const id = message.tool_call_id ?? ""
        const waiting = take(id)
        if (waiting !== undefined) {
          waiting.result = {
            wire_id: waiting.call.wire_id,
            name: waiting.call.name,
            parts,
            is_error: message.is_error === true
          }
          return
        }
        lossiness.drop(`messages[${at}]`, `a result without its call (${id === "" ? "no id" : id}), sent as user text`)
        const label = message.tool_name === undefined ? "Result of a tool" : `Result of the tool ${message.tool_name}`
        const head: TextPart = { type: "text", text: `[${label}, whose call is not in this conversation]` }
        drafts.push({ kind: "user", parts: [head, ...parts] })
      }
    }
  })

  const entries: Array<Entry> = []
  for (const draft of drafts) {
    if (draft.kind !== "assistant") {
      entries.push(draft)
      continue
    }
    entries.push({ kind: "assistant", parts: draft.parts })
    if (draft.calls.length === 0) continue
    entries.push({
      kind: "results",
      results: draft.calls.map(({ call, result }) => {
        if (result !== undefined) return result
        lossiness.drop(`call ${call.id}`, "has no result, answered with a note")
        return { wire_id: call.wire_id, name: call.name, parts: [{ type: "text", text: noResult }], is_error: false }
      })
    })
  }
  return { system, entries }
}
