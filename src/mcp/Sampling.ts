/**
 * `sampling/createMessage` as a request to our model, and its answer back (reading 1.12). Pure but for the reading of the
 * stream.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { isJsonObject, own } from "../codec/JsonRpc.ts"
import type { ApiClientService, SendOptions } from "../domain/ApiClient.ts"
import type { Message, Part } from "../domain/Message.ts"
import { text as textPart } from "../domain/MessageParts.ts"
import type { StreamEvent } from "../domain/StreamEvent.ts"
import type { ToolDef } from "../domain/Tool.ts"
import type { McpContent, McpSamplingRequest, McpSamplingResult } from "./Connection.ts"
import * as Contents from "./Contents.ts"
import { list, text } from "./Wire.ts"

/** Sampling requests of one tool call (1.12). @since 0.1.0 @category constants */
export const maxSamplings = 10

const partOf = (block: McpContent): Part => {
  if (block.type === "tool_use") {
    const input = own(block, "input")
    return {
      type: "tool_call",
      id: text(block, "id") ?? "",
      name: text(block, "name") ?? "",
      arguments: JSON.stringify(isJsonObject(input) ? input : {})
    }
  }
  const part = Contents.block(block)
  return typeof part === "string" ? textPart(part) : part
}

const resultOf = (block: McpContent): Message => {
  const parts = list(block, "content").flatMap((each) =>
    isJsonObject(each) && typeof own(each, "type") === "string" ? [partOf(each as McpContent)] : []
  )
  const structured = own(block, "structuredContent")
  return {
    role: "tool",
    tool_call_id: text(block, "toolUseId") ?? "",
    content: parts.length === 0 && structured !== undefined ? JSON.stringify(structured) : parts,
    is_error: own(block, "isError") === true
  }
}

/** The conversation that the server has made up. @since 0.1.0 @category combinators */
export const messagesOf = ({ messages, system_prompt }: McpSamplingRequest): ReadonlyArray<Message> => [
  ...(system_prompt === undefined || system_prompt === "" ? [] : [{ role: "system", content: system_prompt } as const]),
  ...messages.flatMap(({ content, role }): ReadonlyArray<Message> => {
    const results = content.filter(({ type }) => type === "tool_result")
    const rest = content.filter(({ type }) => type !== "tool_result")
    return [
      ...results.map(resultOf),
      ...(rest.length === 0 ? [] : [{ role, content: rest.map(partOf) }])
    ]
  })
]

const toolsOf = ({ tools = [] }: McpSamplingRequest): ReadonlyArray<ToolDef> =>
  tools.map(({ description, input_schema, name }) => ({ name, description, input_schema }))

const optionsOf = (
  request: McpSamplingRequest,
  base: SendOptions
): SendOptions => ({
  ...base,
  max_output_tokens: request.max_tokens,
  ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  ...(request.stop_sequences === undefined ? {} : { stop: request.stop_sequences }),
  ...(request.tool_choice === undefined || request.tools === undefined ? {} : { tool_choice: request.tool_choice })
})

const stopReasons: Readonly<Record<string, string>> = {
  end_turn: "endTurn",
  stop_sequence: "stopSequence",
  max_tokens: "maxTokens",
  context_window: "maxTokens",
  tool_use: "toolUse"
}

/** The answer from what was streamed; `why` = there is none. @since 0.1.0 @category combinators */
export const answerOf = (
  events: Iterable<StreamEvent>,
  model: string
): { readonly ok: McpSamplingResult } | { readonly why: string } => {
  const content: Array<McpContent> = []
  let said = ""
  const flush = (): void => {
    if (said !== "") content.push({ type: "text", text: said })
    said = ""
  }
  let stopped: { readonly model: string; readonly reason: string } | null = null
  for (const event of events) {
    if (event.type === "content_delta") said += event.text
    else if (event.type === "tool_use") {
      flush()
      content.push({ type: "tool_use", id: event.id, name: event.name, input: event.input })
    } else if (event.type === "error") return { why: `the model failed: ${event.message}` }
    else if (event.type === "message_stop") stopped = { model: event.model ?? model, reason: event.stop_reason }
  }
  flush()
  if (stopped === null) return { why: "the model's answer broke off" }
  if (stopped.reason === "refusal") return { why: "the model declined" }
  return {
    ok: { model: stopped.model, content, stop_reason: stopReasons[stopped.reason] ?? stopped.reason }
  }
}

/** Asks the model. Fails with words for the server. @since 0.1.0 @category combinators */
export const sample = (
  api: ApiClientService,
  request: McpSamplingRequest,
  base: SendOptions
): Effect.Effect<McpSamplingResult, string> =>
  Stream.runCollect(api.sendMessage(messagesOf(request), toolsOf(request), optionsOf(request, base))).pipe(
    Effect.mapError((error) => `the model failed: ${error.message}`),
    Effect.flatMap((events) => {
      const answer = answerOf(Chunk.toReadonlyArray(events), base.model ?? "unknown")
      return "ok" in answer ? Effect.succeed(answer.ok) : Effect.fail(answer.why)
    })
  )
