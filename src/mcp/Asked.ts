/**
 * What a server asks of its client: roots, sampling, forms, addresses to open, ping (reading 1.12). The same in both eras:
 * a request of a legacy server, or a member of `inputRequests` of a modern one. Policy is the handlers'.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { ErrorCode, isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import { JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import type {
  McpAsking,
  McpContent,
  McpFormAnswer,
  McpHandlers,
  McpSamplingRequest,
  McpSamplingResult,
  McpTool
} from "./Connection.ts"
import * as Elicitation from "./Elicitation.ts"
import * as Wire from "./Wire.ts"

const invalid = (message: string): JsonRpcRefusal => new JsonRpcRefusal({ code: ErrorCode.invalid_params, message })

const unknownMethod = (method: string): JsonRpcRefusal =>
  new JsonRpcRefusal({ code: ErrorCode.method_not_found, message: `method not found: ${method}` })

/** Tools and several blocks in sampling came with 2025-11-25. */
const hasSamplingTools = (version: string): boolean => version >= "2025-11-25"

/**
 * What we say we can do, from the handlers that are there. `legacy`: as in `initialize`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const capabilities = (handlers: McpHandlers, legacy: boolean): JsonRpcObject => ({
  ...(handlers.roots === undefined ? {} : { roots: legacy ? { listChanged: true } : {} }),
  ...(handlers.sampling === undefined ? {} : { sampling: handlers.sampling_tools === true ? { tools: {} } : {} }),
  ...(handlers.elicitForm === undefined && handlers.elicitUrl === undefined ? {} : {
    elicitation: {
      ...(handlers.elicitForm === undefined ? {} : { form: {} }),
      ...(handlers.elicitUrl === undefined ? {} : { url: {} })
    }
  })
})

const readSampling = (params: JsonRpcObject, version: string, tools: boolean): Wire.Read<McpSamplingRequest> => {
  const max_tokens = Wire.number(params, "maxTokens")
  if (max_tokens === undefined || max_tokens <= 0) return { why: "maxTokens must be a positive number" }
  const given = own(params, "messages")
  if (!Array.isArray(given)) return { why: "messages must be an array" }
  const messages: Array<McpSamplingRequest["messages"][number]> = []
  for (const message of given) {
    const role = isJsonObject(message) ? Wire.text(message, "role") : undefined
    const content = isJsonObject(message) ? own(message, "content") : undefined
    if ((role !== "user" && role !== "assistant") || (Array.isArray(content) && !hasSamplingTools(version))) {
      return { why: "a message that is none" }
    }
    const blocks = Wire.readContents(content)
    if (blocks.length !== (Array.isArray(content) ? content.length : 1)) return { why: "a message without content" }
    messages.push({ role, content: blocks })
  }
  const asksTools = own(params, "tools") !== undefined || own(params, "toolChoice") !== undefined
  if (asksTools && !(tools && hasSamplingTools(version))) return { why: "tools in sampling were not offered" }
  const read: Array<McpTool> = []
  for (const tool of Wire.list(params, "tools")) {
    const one = Wire.readTool(tool)
    if ("why" in one) return one
    read.push(one.ok)
  }
  const choice = Wire.text(Wire.object(params, "toolChoice") ?? {}, "mode")
  const system_prompt = Wire.text(params, "systemPrompt")
  const temperature = Wire.number(params, "temperature")
  const model_preferences = Wire.object(params, "modelPreferences")
  const include_context = Wire.text(params, "includeContext")
  const stops = Wire.list(params, "stopSequences").filter((stop) => typeof stop === "string")
  return {
    ok: {
      messages,
      max_tokens,
      params,
      ...(system_prompt === undefined ? {} : { system_prompt }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(stops.length === 0 ? {} : { stop_sequences: stops }),
      ...(model_preferences === undefined ? {} : { model_preferences }),
      ...(include_context === undefined ? {} : { include_context }),
      ...(read.length === 0 ? {} : { tools: read }),
      ...(choice === "auto" || choice === "required" || choice === "none" ? { tool_choice: choice } : {})
    }
  }
}

/** Before 2025-11-25 a result holds one block: text is joined, else the first block counts. */
const printContent = (blocks: ReadonlyArray<McpContent>, version: string): McpContent | ReadonlyArray<McpContent> => {
  const [only, ...more] = blocks
  if (only === undefined) return { type: "text", text: "" }
  if (more.length === 0) return only
  if (hasSamplingTools(version)) return blocks
  const texts = blocks.flatMap((block) => block.type === "text" ? Wire.text(block, "text") ?? [] : [])
  return texts.length === 0 ? only : { type: "text", text: texts.join("\n") }
}

const printSampling = (result: McpSamplingResult, version: string): JsonRpcObject => ({
  role: "assistant",
  content: printContent(result.content, version),
  model: result.model,
  ...(result.stop_reason === undefined ? {} : { stopReason: result.stop_reason })
})

const printForm = (
  answer: McpFormAnswer,
  fields: Parameters<typeof Elicitation.complete>[0],
  server: string
): Effect.Effect<JsonRpcObject> => {
  if (answer.action !== "accept") return Effect.succeed({ action: answer.action })
  const content = Elicitation.complete(fields, answer.content)
  return "why" in content
    ? Effect.as(
      Effect.logWarning(`MCP server ${server}: the answer to its form was not sent (cancelled): ${content.why}`),
      { action: "cancel" }
    )
    : Effect.succeed({ action: "accept", content: content.ok })
}

const hostOf = (url: string): string | null => {
  try {
    return new URL(url).host
  } catch {
    return null
  }
}

const elicit = (
  params: JsonRpcObject,
  handlers: McpHandlers,
  asking: McpAsking
): Effect.Effect<JsonRpcObject, JsonRpcRefusal> => {
  const mode = Wire.text(params, "mode") ?? "form"
  if (mode === "url" && handlers.elicitUrl !== undefined) {
    const url = Wire.text(params, "url")
    const host = url === undefined ? null : hostOf(url)
    if (url === undefined || host === null) return Effect.fail(invalid("url must be an absolute URL"))
    return Effect.map(
      handlers.elicitUrl(
        {
          message: Wire.text(params, "message") ?? "",
          url,
          host,
          elicitation_id: Wire.text(params, "elicitationId") ?? null
        },
        asking
      ),
      (action) => ({ action })
    )
  }
  if (mode === "form" && handlers.elicitForm !== undefined) {
    const form = Elicitation.readForm(params)
    if ("why" in form) return Effect.fail(invalid(form.why))
    return Effect.flatMap(
      handlers.elicitForm(form.ok, asking),
      (answer) => printForm(answer, form.ok.fields, asking.server)
    )
  }
  return Effect.fail(invalid(`elicitation mode ${Wire.shown(mode)} was not offered`))
}

/** The result of a question, or how it is refused. @since 0.1.0 @category combinators */
export const answer = (
  method: string,
  given: unknown,
  handlers: McpHandlers,
  asking: McpAsking
): Effect.Effect<JsonRpcObject, JsonRpcRefusal> => {
  const params = isJsonObject(given) ? given : {}
  switch (method) {
    case "ping":
      return Effect.succeed({})
    case "roots/list":
      return handlers.roots === undefined
        ? Effect.fail(unknownMethod(method))
        : Effect.map(handlers.roots, (roots) => ({ roots }))
    case "sampling/createMessage": {
      if (handlers.sampling === undefined) return Effect.fail(unknownMethod(method))
      const request = readSampling(params, asking.version, handlers.sampling_tools === true)
      return "why" in request
        ? Effect.fail(invalid(request.why))
        : Effect.map(handlers.sampling(request.ok, asking), (result) => printSampling(result, asking.version))
    }
    case "elicitation/create":
      return handlers.elicitForm === undefined && handlers.elicitUrl === undefined
        ? Effect.fail(unknownMethod(method))
        : elicit(params, handlers, asking)
    default:
      return Effect.fail(unknownMethod(method))
  }
}
