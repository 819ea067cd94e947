/**
 * Messages in the form that the conventions give them (`gen_ai.input.messages` and its like), for those who ask for
 * content. Pure. What is binary is left out: its kind and length stand for it.
 *
 * @since 0.1.0
 */
import type { Message, Part } from "../domain/Message.ts"
import { partsOf, textOf } from "../domain/MessageParts.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import type { ToolDef } from "../domain/Tool.ts"
import { maxText } from "./Otlp.ts"

const argumentsOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

const partOf = (part: Part): object => {
  switch (part.type) {
    case "text":
      return { type: "text", content: part.text }
    case "reasoning":
      return { type: "reasoning", content: part.text }
    case "tool_call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: argumentsOf(part.arguments) }
    case "image":
      return part.url === undefined
        ? { type: "image", mime_type: part.media_type, length: part.data?.length ?? 0 }
        : { type: "uri", modality: "image", mime_type: part.media_type, uri: part.url }
    case "file":
      return { type: "file", mime_type: part.media_type, length: part.data.length }
  }
}

const messageOf = (message: Message): object =>
  message.role === "tool"
    ? {
      role: "tool",
      parts: [{ type: "tool_call_response", id: message.tool_call_id ?? "", response: textOf(message) }]
    }
    : { role: message.role, parts: partsOf(message).map(partOf) }

/**
 * A list in JSON no longer than an attribute: the last members that fit, one at the least. Nothing is cut inside of one, so
 * that no known secret is torn before it is taken out.
 */
const fitting = <A>(members: ReadonlyArray<A>, of: (member: A) => object): string => {
  const texts: Array<string> = []
  let left = maxText - 2
  for (let at = members.length - 1; at >= 0; at--) {
    const member = members[at]
    const text = member === undefined ? "" : JSON.stringify(of(member))
    left -= text.length + 1
    if (left < 0 && texts.length > 0) break
    texts.unshift(text)
  }
  return `[${texts.join(",")}]`
}

/** The latest ones that fit, without the system prompt. @since 0.1.0 @category encoding */
export const inputMessages = (messages: ReadonlyArray<Message>): string =>
  fitting(messages.filter(({ role }) => role !== "system"), messageOf)

/** @since 0.1.0 @category encoding */
export const systemInstructions = (messages: ReadonlyArray<Message>): string | undefined => {
  const system = messages.filter(({ role }) => role === "system")
  return system.length === 0
    ? undefined
    : fitting(system, (message) => ({ type: "text", content: textOf(message) }))
}

/** @since 0.1.0 @category encoding */
export const toolDefinitions = (tools: ReadonlyArray<ToolDef>): string | undefined =>
  tools.length === 0
    ? undefined
    : fitting(tools, ({ description, input_schema, name }) => ({
      type: "function",
      name,
      description,
      parameters: input_schema
    }))

/** @since 0.1.0 @category encoding */
export const promptMessages = (prompt: string | ReadonlyArray<Part>): string =>
  inputMessages([{ role: "user", content: prompt }])

/** One text of the assistant. @since 0.1.0 @category encoding */
export const answerMessages = (content: string, finish_reason: string): string =>
  JSON.stringify([{ role: "assistant", parts: [{ type: "text", content }], finish_reason }])

/** An answer as it comes. @since 0.1.0 @category models */
export interface Answer {
  readonly push: (event: StreamEvent) => void
  /** `gen_ai.output.messages`. */
  readonly text: (finish_reason: string) => string
}

/** @since 0.1.0 @category constructors */
export const answer = (): Answer => {
  const parts: Array<Part> = []
  const add = (type: "text" | "reasoning", text: string): void => {
    const last = parts.at(-1)
    if (last !== undefined && last.type === type) parts[parts.length - 1] = { type, text: last.text + text }
    else if (text !== "") parts.push({ type, text })
  }
  return {
    push: (event) => {
      if (event.type === "content_delta") add("text", event.text)
      else if (event.type === "reasoning_delta") add("reasoning", event.text)
      else if (event.type === "tool_use") {
        parts.push({ type: "tool_call", id: event.id, name: event.name, arguments: event.arguments })
      }
    },
    text: (finish_reason) => JSON.stringify([{ role: "assistant", parts: parts.map(partOf), finish_reason }])
  }
}
