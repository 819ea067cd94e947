/** What Anthropic Messages asks of a request; the strict side wherever servers differ. */
import type { UpstreamOptions } from "./Options.ts"
import {
  array,
  boolean,
  filled,
  isObject,
  isRedacted,
  must,
  type Obj,
  object,
  oneOf,
  onlyKeys,
  optional,
  signatureOf,
  string,
  toolName,
  within
} from "./Rules.ts"

const topKeys = new Set([
  "model",
  "messages",
  "max_tokens",
  "metadata",
  "stop_sequences",
  "stream",
  "system",
  "temperature",
  "thinking",
  "tool_choice",
  "tools",
  "top_k",
  "top_p",
  "service_tier",
  "container",
  "context_management",
  "mcp_servers",
  "output_config",
  "output_format",
  "cache_control",
  "inference_geo",
  "speed"
])
const toolKeys = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "cache_control",
  "strict",
  "eager_input_streaming",
  "defer_loading",
  "allowed_callers",
  "input_examples"
])
const blockKeys: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(["type", "text", "cache_control", "citations"]),
  image: new Set(["type", "source", "cache_control"]),
  document: new Set(["type", "source", "title", "context", "citations", "cache_control"]),
  tool_use: new Set(["type", "id", "name", "input", "cache_control", "caller"]),
  tool_result: new Set(["type", "tool_use_id", "content", "is_error", "cache_control"]),
  thinking: new Set(["type", "thinking", "signature"]),
  redacted_thinking: new Set(["type", "data"])
}

export const validateAnthropic = (
  body: Obj,
  headers: Readonly<Record<string, string>>,
  options: UpstreamOptions,
  counting: boolean
): void => {
  must(headers["anthropic-version"] !== undefined, "anthropic-version: header is required", "anthropic-version")
  onlyKeys(body, topKeys, "")
  filled(body["model"], "model")
  if (!counting) {
    must(body["max_tokens"] !== undefined, "max_tokens: Field required", "max_tokens")
    within(1, 1_000_000, true)(body["max_tokens"], "max_tokens")
  }
  optional(body["stream"], "stream", boolean)
  const breakpoints = { n: 0 }
  const tools = validateTools(body, breakpoints)
  const thinking = validateThinking(body)
  validateSampling(body, thinking)
  validateChoice(body, tools, thinking)
  validateSystem(body["system"], breakpoints)
  validateMessages(array(body["messages"], "messages"), tools, thinking, options, breakpoints)
  must(
    breakpoints.n <= 4,
    `A maximum of 4 blocks with cache_control may be provided. Found ${breakpoints.n}.`,
    "cache_control"
  )
  optional(body["metadata"], "metadata", (value, at) => {
    onlyKeys(object(value, at), new Set(["user_id"]), at)
  })
  optional(body["output_config"], "output_config", (value, at) => {
    const config = object(value, at)
    onlyKeys(config, new Set(["effort", "format", "task_budget"]), at)
    optional(config["effort"], `${at}.effort`, oneOf("low", "medium", "high", "xhigh", "max"))
  })
}

const cacheControl = (block: Obj, at: string, breakpoints: { n: number }): void => {
  if (block["cache_control"] === undefined || block["cache_control"] === null) return
  const control = object(block["cache_control"], `${at}.cache_control`)
  onlyKeys(control, new Set(["type", "ttl", "scope"]), `${at}.cache_control`)
  oneOf("ephemeral")(control["type"], `${at}.cache_control.type`)
  optional(control["ttl"], `${at}.cache_control.ttl`, oneOf("5m", "1h"))
  breakpoints.n++
}

const validateTools = (body: Obj, breakpoints: { n: number }): ReadonlySet<string> => {
  const names = new Set<string>()
  if (body["tools"] === undefined) return names
  array(body["tools"], "tools").forEach((value, i) => {
    const at = `tools.${i}`
    const tool = object(value, at)
    const name = toolName(tool["name"], `${at}.name`)
    must(!names.has(name), `tools: Tool names must be unique. Duplicate: ${name}`, `${at}.name`)
    names.add(name)
    cacheControl(tool, at, breakpoints)
    if (tool["type"] !== undefined && tool["type"] !== "custom") return
    onlyKeys(tool, toolKeys, at)
    const schema = object(tool["input_schema"], `${at}.input_schema`)
    must(schema["type"] === "object", `${at}.input_schema.type: Input should be 'object'`, `${at}.input_schema.type`)
    for (const key of ["oneOf", "allOf", "anyOf"]) {
      must(
        schema[key] === undefined,
        `${at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
        `${at}.input_schema`
      )
    }
    optional(tool["description"], `${at}.description`, string)
  })
  return names
}

const validateThinking = (body: Obj): "off" | "enabled" | "adaptive" => {
  if (body["thinking"] === undefined) return "off"
  const thinking = object(body["thinking"], "thinking")
  const type = oneOf("enabled", "adaptive", "disabled")(thinking["type"], "thinking.type")
  if (type === "disabled") {
    onlyKeys(thinking, new Set(["type"]), "thinking")
    return "off"
  }
  if (type === "adaptive") {
    onlyKeys(thinking, new Set(["type", "display"]), "thinking")
    return "adaptive"
  }
  onlyKeys(thinking, new Set(["type", "budget_tokens", "display"]), "thinking")
  const budget = within(1024, 1_000_000, true)(thinking["budget_tokens"], "thinking.budget_tokens")
  must(
    typeof body["max_tokens"] !== "number" || body["max_tokens"] > budget,
    "`max_tokens` must be greater than `thinking.budget_tokens`.",
    "max_tokens"
  )
  return "enabled"
}

const validateSampling = (body: Obj, thinking: string): void => {
  const temperature = optional(body["temperature"], "temperature", within(0, 1))
  optional(body["top_p"], "top_p", within(0, 1))
  optional(body["top_k"], "top_k", within(0, 1_000_000, true))
  if (thinking !== "off") {
    must(
      temperature === undefined || temperature === 1,
      "`temperature` may only be set to 1 when thinking is enabled.",
      "temperature"
    )
    must(body["top_k"] === undefined, "`top_k` must be unset when thinking is enabled.", "top_k")
  }
  optional(body["stop_sequences"], "stop_sequences", (value, at) => {
    array(value, at).forEach((entry, i) => {
      must(
        string(entry, `${at}.${i}`).trim() !== "",
        "stop_sequences: each stop sequence must contain non-whitespace",
        at
      )
    })
  })
}

const validateChoice = (body: Obj, tools: ReadonlySet<string>, thinking: string): void => {
  if (body["tool_choice"] === undefined) return
  must(tools.size > 0, "tool_choice may only be specified while providing tools.", "tool_choice")
  const choice = object(body["tool_choice"], "tool_choice")
  const type = oneOf("auto", "any", "tool", "none")(choice["type"], "tool_choice.type")
  onlyKeys(choice, new Set(["type", "name", "disable_parallel_tool_use"]), "tool_choice")
  if (type === "tool") {
    const name = filled(choice["name"], "tool_choice.name")
    must(tools.has(name), `tool_choice.name: Tool '${name}' not found in provided tools`, "tool_choice.name")
  }
  optional(choice["disable_parallel_tool_use"], "tool_choice.disable_parallel_tool_use", boolean)
  must(
    thinking === "off" || type === "auto" || type === "none",
    "Thinking may not be enabled when tool_choice forces tool use.",
    "tool_choice"
  )
}

const validateSystem = (value: unknown, breakpoints: { n: number }): void => {
  if (value === undefined || typeof value === "string") return
  array(value, "system").forEach((entry, i) => {
    const at = `system.${i}`
    const block = object(entry, at)
    oneOf("text")(block["type"], `${at}.type`)
    nonEmpty(block["text"], `${at}.text`, "system")
    cacheControl(block, at, breakpoints)
  })
}

const nonEmpty = (value: unknown, at: string, where: string): void => {
  const text = string(value, at)
  must(text !== "", `${where}: text content blocks must be non-empty`, at)
  must(text.trim() !== "", `${where}: text content blocks must contain non-whitespace text`, at)
}

const validateMessages = (
  messages: ReadonlyArray<unknown>,
  tools: ReadonlySet<string>,
  thinking: string,
  options: UpstreamOptions,
  breakpoints: { n: number }
): void => {
  must(messages.length > 0, "messages: at least one message is required", "messages")
  const seen = new Set<string>()
  let previous: string | null = null
  let open: ReadonlyArray<string> = []
  messages.forEach((value, i) => {
    const at = `messages.${i}`
    const message = object(value, at)
    onlyKeys(message, new Set(["role", "content"]), at)
    const role = oneOf("user", "assistant", "system")(message["role"], `${at}.role`)
    must(i > 0 || role === "user", "messages: first message must use the \"user\" role", at)
    must(
      role === "system" || role !== previous,
      `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`,
      at
    )
    const blocks = contentOf(message["content"], at)
    const ids: Array<string> = []
    const results: Array<string> = []
    let others = 0
    blocks.forEach((block, j) => {
      const where = `${at}.content.${j}`
      const type = string(block["type"], `${where}.type`)
      const keys = blockKeys[type]
      if (keys !== undefined) onlyKeys(block, keys, where)
      cacheControl(block, where, breakpoints)
      switch (type) {
        case "text":
          nonEmpty(block["text"], where, at)
          others++
          break
        case "image":
          must(role === "user", `${where}: image blocks are only allowed in user messages`, where)
          validateSource(block, where)
          others++
          break
        case "document":
          must(role === "user", `${where}: document blocks are only allowed in user messages`, where)
          object(block["source"], `${where}.source`)
          others++
          break
        case "tool_use": {
          must(role === "assistant", `${where}: \`tool_use\` blocks can only be in \`assistant\` messages`, where)
          const id = string(block["id"], `${where}.id`)
          must(
            /^[a-zA-Z0-9_-]+$/.test(id),
            `${where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
            where
          )
          must(!seen.has(id), `${at}: \`tool_use\` ids must be unique, found ${id} twice`, where)
          seen.add(id)
          ids.push(id)
          toolName(block["name"], `${where}.name`)
          must(isObject(block["input"]), `${where}.tool_use.input: Input should be a valid dictionary`, where)
          break
        }
        case "tool_result": {
          must(role === "user", `${where}: \`tool_result\` blocks can only be in \`user\` messages`, where)
          const id = string(block["tool_use_id"], `${where}.tool_use_id`)
          must(
            open.includes(id),
            `${where}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
            where
          )
          must(
            !results.includes(id),
            `${where}: each tool_use must have a single result. Found multiple for ${id}`,
            where
          )
          must(
            others === 0,
            `${at}: \`tool_result\` blocks must come first in the content, found one after other blocks`,
            where
          )
          results.push(id)
          validateResult(block, where)
          break
        }
        case "thinking": {
          must(role === "assistant", `${where}: thinking blocks can only be in assistant messages`, where)
          const text = string(block["thinking"], `${where}.thinking`)
          must(
            block["signature"] === signatureOf(text),
            `${where}: Invalid \`signature\` in \`thinking\` block`,
            where
          )
          break
        }
        case "redacted_thinking":
          must(role === "assistant", `${where}: thinking blocks can only be in assistant messages`, where)
          must(
            isRedacted(filled(block["data"], `${where}.data`)),
            `${where}: Invalid \`data\` in \`redacted_thinking\` block`,
            where
          )
          break
        default:
          must(
            /^(server_tool_use|mcp_tool_use|mcp_tool_result|container_upload|search_result|.*_tool_result|compaction|tool_reference)$/
              .test(type),
            `${where}.type: Input tag '${type}' found using 'type' does not match any of the expected tags`,
            where
          )
      }
    })
    if (role === "system") {
      must(ids.length === 0 && results.length === 0, `${at}: system messages take text only`, at)
      previous = null
      return
    }
    const missing = open.filter((id) => !results.includes(id))
    must(
      missing.length === 0,
      `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${
        missing.join(", ")
      }. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      at
    )
    must(
      tools.size > 0 || (ids.length === 0 && results.length === 0),
      "Requests which include `tool_use` or `tool_result` blocks must define tools.",
      "tools"
    )
    if (
      role === "assistant" && thinking === "enabled" && options.thinking === true && ids.length > 0 &&
      messages.slice(i + 1).every((later) => !isObject(later) || later["role"] !== "assistant")
    ) {
      const first = blocks[0]?.["type"]
      must(
        first === "thinking" || first === "redacted_thinking",
        `${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${
          String(first)
        }\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
        at
      )
    }
    open = ids
    previous = role
  })
  must(
    open.length === 0,
    `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}`,
    "messages"
  )
  const last = messages.findLast((message) => isObject(message) && message["role"] !== "system")
  must(
    isObject(last) && last["role"] === "user",
    "This model does not support assistant message prefill. The conversation must end with a user message.",
    "messages"
  )
}

const contentOf = (value: unknown, at: string): ReadonlyArray<Obj> => {
  if (typeof value === "string") {
    must(value !== "", `${at}: all messages must have non-empty content`, at)
    return [{ type: "text", text: value }]
  }
  const blocks = array(value, `${at}.content`)
  must(blocks.length > 0, `${at}: all messages must have non-empty content`, at)
  return blocks.map((block, j) => object(block, `${at}.content.${j}`))
}

const validateSource = (block: Obj, at: string): void => {
  const source = object(block["source"], `${at}.source`)
  const type = oneOf("base64", "url", "file")(source["type"], `${at}.source.type`)
  if (type === "url") {
    must(/^https?:\/\//.test(string(source["url"], `${at}.source.url`)), `${at}.source.url: not an http URL`, at)
  } else if (type === "base64") {
    oneOf("image/jpeg", "image/png", "image/gif", "image/webp")(source["media_type"], `${at}.source.media_type`)
    must(
      /^[A-Za-z0-9+/]+={0,2}$/.test(string(source["data"], `${at}.source.data`)),
      `${at}.source.data: not base64`,
      at
    )
  } else filled(source["file_id"], `${at}.source.file_id`)
}

const validateResult = (block: Obj, at: string): void => {
  optional(block["is_error"], `${at}.is_error`, boolean)
  const content = block["content"]
  if (content === undefined || typeof content === "string") return
  array(content, `${at}.content`).forEach((value, i) => {
    const where = `${at}.content.${i}`
    const part = object(value, where)
    const type = oneOf("text", "image", "document", "search_result", "tool_reference")(part["type"], `${where}.type`)
    if (type === "text") nonEmpty(part["text"], where, at)
    if (type === "image") validateSource(part, where)
  })
}
