/** What Chat Completions asks of a request; the strict side wherever servers differ. */
import type { UpstreamOptions } from "./Options.ts"
import {
  array,
  boolean,
  describe,
  filled,
  functionSchema,
  must,
  type Obj,
  object,
  oneOf,
  onlyKeys,
  optional,
  string,
  stringMap,
  toolName,
  within
} from "./Rules.ts"

const topKeys = new Set([
  "model",
  "messages",
  "audio",
  "frequency_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "max_completion_tokens",
  "max_tokens",
  "metadata",
  "modalities",
  "n",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_retention",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "service_tier",
  "stop",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_p",
  "user",
  "verbosity",
  "web_search_options"
])
const assistantKeys = new Set([
  "role",
  "content",
  "refusal",
  "name",
  "audio",
  "annotations",
  "tool_calls",
  "reasoning",
  "reasoning_content",
  "reasoning_details"
])

export const isReasoningModel = (model: string): boolean => /^(o\d|gpt-5)/.test(model)

export const validateChat = (body: Obj, options: UpstreamOptions): void => {
  onlyKeys(body, topKeys, "")
  const model = filled(body["model"], "model")
  validateLimits(body, model)
  const tools = validateTools(body)
  validateMessages(array(body["messages"], "messages"), options)
  if (body["tool_choice"] !== undefined && body["tool_choice"] !== null) {
    must(
      tools !== null,
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice"
    )
    if (typeof body["tool_choice"] === "string") oneOf("auto", "none", "required")(body["tool_choice"], "tool_choice")
    else {
      const choice = object(body["tool_choice"], "tool_choice")
      oneOf("function", "custom", "allowed_tools")(choice["type"], "tool_choice.type")
      if (choice["type"] === "function") {
        const name = filled(object(choice["function"], "tool_choice.function")["name"], "tool_choice.function.name")
        must(tools.has(name), `Invalid value: tool_choice names '${name}', which is not in 'tools'.`, "tool_choice")
      }
    }
  }
  if (optional(body["parallel_tool_calls"], "parallel_tool_calls", boolean) !== undefined) {
    must(
      tools !== null,
      "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
      "parallel_tool_calls"
    )
  }
}

const validateLimits = (body: Obj, model: string): void => {
  const stream = optional(body["stream"], "stream", boolean) ?? false
  if (body["stream_options"] !== undefined && body["stream_options"] !== null) {
    must(stream, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    const streamOptions = object(body["stream_options"], "stream_options")
    onlyKeys(streamOptions, new Set(["include_usage", "include_obfuscation"]), "stream_options")
    optional(streamOptions["include_usage"], "stream_options.include_usage", boolean)
  }
  optional(body["max_tokens"], "max_tokens", within(1, 1_000_000, true))
  optional(body["max_completion_tokens"], "max_completion_tokens", within(1, 1_000_000, true))
  must(
    body["max_tokens"] === undefined || body["max_completion_tokens"] === undefined,
    "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    "max_tokens"
  )
  const temperature = optional(body["temperature"], "temperature", within(0, 2))
  if (isReasoningModel(model)) {
    must(
      body["max_tokens"] === undefined,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "max_tokens",
      "unsupported_parameter"
    )
    must(
      temperature === undefined || temperature === 1,
      "Unsupported value: 'temperature' does not support anything but 1 with this model.",
      "temperature",
      "unsupported_value"
    )
  }
  optional(body["top_p"], "top_p", within(0, 1))
  optional(body["n"], "n", within(1, 1, true))
  if (typeof body["stop"] === "string") filled(body["stop"], "stop")
  else {
    optional(body["stop"], "stop", (value, at) => {
      const stops = array(value, at)
      must(
        stops.length > 0 && stops.length <= 4,
        `Invalid 'stop': array of length ${stops.length}; 1 to 4 are allowed.`,
        at
      )
      stops.forEach((stop, i) => filled(stop, `${at}.${i}`))
    })
  }
  optional(
    body["reasoning_effort"],
    "reasoning_effort",
    oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")
  )
  for (const key of ["prompt_cache_key", "safety_identifier", "user"]) {
    const value = optional(body[key], key, string)
    must(value === undefined || value.length <= 64, `Invalid '${key}': string too long, at most 64.`, key)
  }
  optional(body["response_format"], "response_format", (value, at) => {
    const format = object(value, at)
    const type = oneOf("text", "json_object", "json_schema")(format["type"], `${at}.type`)
    if (type === "json_schema") {
      toolName(object(format["json_schema"], `${at}.json_schema`)["name"], `${at}.json_schema.name`)
    }
  })
  const store = optional(body["store"], "store", boolean)
  if (optional(body["metadata"], "metadata", stringMap) !== undefined || body["metadata"] !== undefined) {
    must(store === true, "The 'metadata' parameter is only allowed when 'store' is enabled.", "metadata")
  }
}

const validateTools = (body: Obj): ReadonlySet<string> | null => {
  if (body["tools"] === undefined || body["tools"] === null) return null
  const tools = array(body["tools"], "tools")
  must(
    tools.length > 0,
    "Invalid 'tools': empty array. Expected an array with minimum length 1.",
    "tools",
    "empty_array"
  )
  const names = new Set<string>()
  tools.forEach((value, i) => {
    const at = `tools[${i}]`
    const tool = object(value, at)
    const type = oneOf("function", "custom")(tool["type"], `${at}.type`)
    onlyKeys(tool, new Set(["type", type]), at)
    const inner = object(tool[type], `${at}.${type}`)
    const name = toolName(inner["name"], `${at}.${type}.name`)
    must(!names.has(name), `Duplicate tool name '${name}'.`, `${at}.${type}.name`)
    names.add(name)
    if (type === "custom") return
    onlyKeys(inner, new Set(["name", "description", "parameters", "strict"]), `${at}.function`)
    optional(inner["description"], `${at}.function.description`, string)
    if (inner["parameters"] !== undefined) {
      functionSchema(inner["parameters"], inner["strict"] === true, name, `${at}.function.parameters`)
    }
  })
  return names
}

const textParts = (value: unknown, at: string, types: ReadonlyArray<string>): void => {
  if (typeof value === "string") return
  must(Array.isArray(value), `Invalid value for '${at}': expected a string or an array, got ${describe(value)}.`, at)
  must(value.length > 0, `Invalid '${at}': empty array.`, at)
  value.forEach((entry: unknown, i) => {
    const where = `${at}[${i}]`
    const part = object(entry, where)
    const type = oneOf(...types)(part["type"], `${where}.type`)
    if (type === "text") string(part["text"], `${where}.text`)
    if (type === "refusal") string(part["refusal"], `${where}.refusal`)
    if (type === "image_url") {
      const image = object(part["image_url"], `${where}.image_url`)
      must(
        /^(https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/]+=*$)/.test(
          string(image["url"], `${where}.image_url.url`)
        ),
        `Invalid '${where}.image_url.url': expected an http URL or a base64-encoded data URL.`,
        where
      )
    }
    if (type === "file") {
      const file = object(part["file"], `${where}.file`)
      must(
        typeof file["file_id"] === "string" || typeof file["file_data"] === "string",
        `Invalid '${where}.file': file_id or file_data is required.`,
        where
      )
    }
  })
}

const validateMessages = (messages: ReadonlyArray<unknown>, options: UpstreamOptions): void => {
  must(messages.length > 0, "Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages")
  const seen = new Set<string>()
  let open: Array<string> = []
  let caller = -1
  const closed = (at: string) =>
    must(
      open.length === 0,
      `Invalid parameter: An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${
        open.join(", ")
      }`,
      at
    )
  messages.forEach((value, i) => {
    const at = `messages[${i}]`
    const message = object(value, at)
    const role = oneOf("system", "developer", "user", "assistant", "tool")(message["role"], `${at}.role`)
    if (role === "tool") {
      onlyKeys(message, new Set(["role", "content", "tool_call_id", "name"]), at)
      const id = filled(message["tool_call_id"], `${at}.tool_call_id`)
      must(
        caller >= 0,
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        `${at}.role`
      )
      must(
        open.includes(id),
        `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of the previous message, or answered twice.`,
        `${at}.tool_call_id`
      )
      open = open.filter((other) => other !== id)
      textParts(message["content"], `${at}.content`, ["text"])
      return
    }
    closed(at)
    caller = -1
    if (role !== "assistant") {
      onlyKeys(message, new Set(["role", "content", "name"]), at)
      textParts(
        message["content"],
        `${at}.content`,
        role === "user" ? ["text", "image_url", "input_audio", "file"] : ["text"]
      )
      return
    }
    onlyKeys(message, assistantKeys, at)
    const calls = optional(message["tool_calls"], `${at}.tool_calls`, array)
    must(calls === undefined || calls.length > 0, `Invalid '${at}.tool_calls': empty array.`, `${at}.tool_calls`)
    const content = message["content"]
    if (content === null || content === undefined) {
      must(
        calls !== undefined || typeof message["refusal"] === "string",
        `Invalid value for 'content': expected a string, got ${describe(content)}.`,
        `${at}.content`
      )
    } else textParts(content, `${at}.content`, ["text", "refusal"])
    if (calls === undefined) return
    calls.forEach((entry, j) => {
      const where = `${at}.tool_calls[${j}]`
      const call = object(entry, where)
      oneOf("function", "custom")(call["type"], `${where}.type`)
      onlyKeys(call, new Set(["id", "type", "function", "custom", "index"]), where)
      const id = filled(call["id"], `${where}.id`)
      const limit = options.call_id_max ?? 64
      must(
        id.length <= limit,
        `Invalid '${where}.id': string too long. Expected a string with maximum length ${limit}, but got ${id.length}.`,
        `${where}.id`,
        "string_above_max_length"
      )
      must(!seen.has(id), `Invalid '${where}.id': duplicate tool call id '${id}'.`, `${where}.id`)
      seen.add(id)
      open.push(id)
      if (call["type"] === "function") {
        const fn = object(call["function"], `${where}.function`)
        toolName(fn["name"], `${where}.function.name`)
        string(fn["arguments"], `${where}.function.arguments`)
      }
    })
    must(
      options.require_reasoning !== true || typeof message[options.reasoning_field ?? "reasoning_content"] === "string",
      `The ${options.reasoning_field ?? "reasoning_content"} in the thinking mode must be passed back to the API.`,
      at
    )
    caller = i
  })
  closed("messages")
}
