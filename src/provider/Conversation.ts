/**
 * A request as a scenario sees it: the same messages, with what a script asks for most within reach.
 *
 * @since 0.1.0
 */
import type { Message, ToolCallPart } from "../domain/Message.ts"
import { textOf, toolCallsOf } from "../domain/MessageParts.ts"
import type { SendOptions } from "../domain/ApiClient.ts"
import type { ToolDef } from "../domain/Tool.ts"
import type { Lookup } from "./ScenarioTemplate.ts"

/** A tool's answer with the call it belongs to; `tool` and `arguments` are null when the call is not in the history. @since 0.1.0 @category models */
export interface ResultView {
  readonly call_id: string
  readonly tool: string | null
  readonly arguments: string | null
  readonly text: string
  readonly is_error: boolean
}

/** @since 0.1.0 @category models */
export interface Conversation {
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDef>
  readonly options: SendOptions
  /** Number of this request in its session, from 1. */
  readonly request: number
  readonly system: string
  /** Text of the last user message; empty when there is none. */
  readonly prompt: string
  readonly calls: ReadonlyArray<ToolCallPart>
  /** In order. */
  readonly results: ReadonlyArray<ResultView>
  readonly last_result: ResultView | null
  /** The last result of a call with that id, else of a tool with that name. */
  readonly result: (key: string) => ResultView | null
}

/** @since 0.1.0 @category constructors */
export const conversationOf = (
  messages: ReadonlyArray<Message>,
  tools: ReadonlyArray<ToolDef>,
  options: SendOptions,
  request: number
): Conversation => {
  const calls = messages.flatMap(toolCallsOf)
  const byId = new Map(calls.map((call) => [call.id, call]))
  const results = messages.flatMap((message): ReadonlyArray<ResultView> => {
    if (message.role !== "tool") return []
    const call = byId.get(message.tool_call_id ?? "")
    return [{
      call_id: message.tool_call_id ?? "",
      tool: call?.name ?? message.tool_name ?? null,
      arguments: call?.arguments ?? null,
      text: textOf(message),
      is_error: message.is_error === true
    }]
  })
  const prompt = messages.findLast((message) => message.role === "user")
  return {
    messages,
    tools,
    options,
    request,
    system: messages.flatMap((message) => message.role === "system" ? [textOf(message)] : []).join("\n\n"),
    prompt: prompt === undefined ? "" : textOf(prompt),
    calls,
    results,
    last_result: results.at(-1) ?? null,
    result: (key) =>
      results.findLast((result) => result.call_id === key) ?? results.findLast((result) => result.tool === key) ?? null
  }
}

/** Sources of the template language over a conversation. @since 0.1.0 @category combinators */
export const lookupIn = (conversation: Conversation): Lookup => (name, key) => {
  const found = (value: string | null | undefined, missing: string) =>
    value === null || value === undefined ? { missing } : { value }
  switch (name) {
    case "prompt":
      return { value: conversation.prompt }
    case "system":
      return { value: conversation.system }
    case "last_tool_result":
      return found(conversation.last_result?.text, "there is no tool result in the conversation")
    case "tool_result":
      return found(conversation.result(key ?? "")?.text, `there is no result of a tool or call "${key}"`)
    case "tool_arguments": {
      const { calls } = conversation
      const call = calls.findLast((call) => call.id === key) ?? calls.findLast((call) => call.name === key)
      return found(call?.arguments, `there is no call of a tool or with the id "${key}"`)
    }
    case "last_text": {
      const last = conversation.messages.findLast((message) => message.role === "assistant" && textOf(message) !== "")
      return found(last === undefined ? null : textOf(last), "there is no text of the assistant in the conversation")
    }
    case "request":
      return { value: String(conversation.request) }
    case "model":
      return found(conversation.options.model, "the request names no model")
    case "session_id":
      return found(conversation.options.session_id, "the request names no session")
    case "tools":
      return { value: conversation.tools.map((tool) => tool.name).join(",") }
  }
}
