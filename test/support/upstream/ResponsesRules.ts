/** What OpenAI Responses asks of a request; the strict side wherever servers differ. */
import { isReasoningModel } from "./ChatRules.ts"
import type { UpstreamOptions } from "./Options.ts"
import {
  array,
  boolean,
  filled,
  functionSchema,
  isEncrypted,
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
  "input",
  "background",
  "client_metadata",
  "context_management",
  "conversation",
  "include",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "parallel_tool_calls",
  "previous_response_id",
  "prompt",
  "prompt_cache_key",
  "prompt_cache_retention",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user"
])
const hosted =
  /^(web_search(_preview)?(_\d{4}_\d{2}_\d{2})?|file_search|computer_use_preview|computer|code_interpreter|image_generation|mcp|local_shell|shell|apply_patch|tool_search)$/

export const validateResponses = (body: Obj, options: UpstreamOptions): void => {
  onlyKeys(body, topKeys, "")
  const model = filled(body["model"], "model")
  optional(body["stream"], "stream", boolean)
  const store = optional(body["store"], "store", boolean) ?? true
  optional(body["instructions"], "instructions", string)
  must(
    body["previous_response_id"] === undefined || body["previous_response_id"] === null,
    `Previous response with id '${String(body["previous_response_id"])}' not found.`,
    "previous_response_id",
    "previous_response_not_found"
  )
  must(
    body["conversation"] === undefined || body["conversation"] === null,
    "Conversation not found: this server keeps no state.",
    "conversation"
  )
  optional(body["max_output_tokens"], "max_output_tokens", within(16, 1_000_000, true))
  const temperature = optional(body["temperature"], "temperature", within(0, 2))
  const topP = optional(body["top_p"], "top_p", within(0, 1))
  must(
    !isReasoningModel(model) || (temperature === undefined && topP === undefined),
    "Unsupported parameter: 'temperature' is not supported with this model.",
    "temperature",
    "unsupported_parameter"
  )
  for (const key of ["prompt_cache_key", "safety_identifier"]) {
    const value = optional(body[key], key, string)
    must(value === undefined || value.length <= 64, `Invalid '${key}': string too long, at most 64.`, key)
  }
  optional(body["metadata"], "metadata", stringMap)
  optional(body["include"], "include", (value, at) => {
    array(value, at).forEach((entry, i) => {
      oneOf(
        "reasoning.encrypted_content",
        "web_search_call.results",
        "web_search_call.action.sources",
        "file_search_call.results",
        "message.input_image.image_url",
        "message.output_text.logprobs",
        "computer_call_output.output.image_url",
        "code_interpreter_call.outputs"
      )(entry, `${at}[${i}]`)
    })
  })
  optional(body["reasoning"], "reasoning", (value, at) => {
    const reasoning = object(value, at)
    onlyKeys(reasoning, new Set(["effort", "summary", "generate_summary", "context"]), at)
    optional(
      reasoning["effort"],
      `${at}.effort`,
      oneOf("none", "minimal", "low", "medium", "high", "xhigh", "max")
    )
    optional(reasoning["summary"], `${at}.summary`, oneOf("auto", "concise", "detailed", "none"))
  })
  optional(body["text"], "text", (value, at) => {
    const text = object(value, at)
    onlyKeys(text, new Set(["format", "verbosity"]), at)
    optional(text["format"], `${at}.format`, (inner, where) => {
      const format = object(inner, where)
      const type = oneOf("text", "json_object", "json_schema")(format["type"], `${where}.type`)
      if (type === "json_schema") {
        toolName(format["name"], `${where}.name`)
        object(format["schema"], `${where}.schema`)
      }
    })
  })
  const tools = validateTools(body)
  validateChoice(body["tool_choice"], tools)
  optional(body["parallel_tool_calls"], "parallel_tool_calls", boolean)
  validateInput(body["input"], store, options)
}

const validateTools = (body: Obj): ReadonlySet<string> => {
  const names = new Set<string>()
  if (body["tools"] === undefined || body["tools"] === null) return names
  const add = (value: unknown, at: string): void => {
    const tool = object(value, at)
    const type = string(tool["type"], `${at}.type`)
    if (type === "function") {
      onlyKeys(
        tool,
        new Set(["type", "name", "description", "parameters", "strict", "defer_loading", "output_schema"]),
        at
      )
      must(
        tool["name"] !== undefined,
        `Missing required parameter: '${at}.name'.`,
        `${at}.name`,
        "missing_required_parameter"
      )
      const name = toolName(tool["name"], `${at}.name`)
      must(!names.has(name), `Duplicate tool name '${name}'.`, `${at}.name`)
      names.add(name)
      functionSchema(tool["parameters"], tool["strict"] !== false, name, `${at}.parameters`)
      return
    }
    if (type === "custom") {
      names.add(toolName(tool["name"], `${at}.name`))
      return
    }
    if (type === "namespace") {
      toolName(tool["name"], `${at}.name`)
      array(tool["tools"], `${at}.tools`).forEach((inner, j) => {
        const entry = object(inner, `${at}.tools[${j}]`)
        toolName(entry["name"], `${at}.tools[${j}].name`)
      })
      return
    }
    must(hosted.test(type), `Invalid value: '${type}'. Unknown tool type.`, `${at}.type`, "invalid_value")
  }
  array(body["tools"], "tools").forEach((value, i) => add(value, `tools[${i}]`))
  return names
}

const validateChoice = (value: unknown, tools: ReadonlySet<string>): void => {
  if (value === undefined || value === null) return
  if (typeof value === "string") {
    oneOf("auto", "none", "required")(value, "tool_choice")
    must(
      value !== "required" || tools.size > 0,
      "Tool choice 'required' must be specified with 'tools' parameter.",
      "tool_choice"
    )
    return
  }
  const choice = object(value, "tool_choice")
  if (choice["type"] === "function" || choice["type"] === "custom") {
    const name = filled(choice["name"], "tool_choice.name")
    must(tools.has(name), `Tool choice '${name}' not found in 'tools' parameter.`, "tool_choice")
  } else filled(choice["type"], "tool_choice.type")
}

const itemId = (item: Obj, prefix: string, at: string): void => {
  const id = optional(item["id"], `${at}.id`, string)
  must(
    id === undefined || id.startsWith(prefix),
    `Invalid '${at}.id': '${String(id)}'. Expected an ID that begins with '${prefix.slice(0, -1)}'.`,
    `${at}.id`,
    "invalid_value"
  )
  must(id === undefined || id.length <= 64, `Invalid '${at}.id': string too long, at most 64.`, `${at}.id`)
}

const parts = (value: unknown, at: string, allowed: ReadonlyArray<string>): void => {
  if (typeof value === "string") return
  array(value, at).forEach((entry, i) => {
    const where = `${at}[${i}]`
    const part = object(entry, where)
    const type = string(part["type"], `${where}.type`)
    must(
      allowed.includes(type),
      `Invalid value: '${type}'. Supported values are: ${allowed.map((name) => `'${name}'`).join(", ")}.`,
      where,
      "invalid_value"
    )
    if (type === "input_text" || type === "output_text") string(part["text"], `${where}.text`)
    if (type === "refusal") string(part["refusal"], `${where}.refusal`)
    if (type === "input_image") {
      must(
        typeof part["file_id"] === "string" ||
          /^(https?:\/\/|data:image\/[a-z+.-]+;base64,[A-Za-z0-9+/]+=*$)/.test(
            string(part["image_url"], `${where}.image_url`)
          ),
        `Invalid '${where}.image_url': expected an http URL or a base64-encoded data URL.`,
        where
      )
    }
    if (type === "input_file") {
      must(
        ["file_id", "file_data", "file_url"].some((key) => typeof part[key] === "string"),
        `Invalid '${where}': file_id, file_data or file_url is required.`,
        where
      )
    }
  })
}

const validateInput = (value: unknown, store: boolean, options: UpstreamOptions): void => {
  must(value !== undefined, "Missing required parameter: 'input'.", "input", "missing_required_parameter")
  if (typeof value === "string") return
  const items = array(value, "input")
  must(items.length > 0, "Invalid 'input': empty array.", "input")
  const calls = new Map<string, string>()
  const answered = new Set<string>()
  const limit = options.call_id_max ?? 64
  const callId = (item: Obj, at: string): string => {
    const id = filled(item["call_id"], `${at}.call_id`)
    must(
      id.length <= limit,
      `Invalid '${at}.call_id': string too long. Expected a string with maximum length ${limit}, but got ${id.length}.`,
      `${at}.call_id`,
      "string_above_max_length"
    )
    return id
  }
  items.forEach((entry, i) => {
    const at = `input[${i}]`
    const item = object(entry, at)
    const type = item["type"] === undefined && item["role"] !== undefined
      ? "message"
      : string(item["type"], `${at}.type`)
    switch (type) {
      case "message": {
        onlyKeys(item, new Set(["type", "id", "role", "content", "status", "phase"]), at)
        const role = oneOf("user", "assistant", "system", "developer")(item["role"], `${at}.role`)
        itemId(item, "msg_", at)
        parts(
          item["content"],
          `${at}.content`,
          role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"]
        )
        break
      }
      case "function_call":
      case "custom_tool_call": {
        onlyKeys(
          item,
          new Set(["type", "id", "call_id", "name", "arguments", "input", "status", "namespace"]),
          at
        )
        itemId(item, type === "function_call" ? "fc_" : "ctc_", at)
        const id = callId(item, at)
        must(!calls.has(id), `Duplicate call_id '${id}'.`, `${at}.call_id`)
        calls.set(id, type)
        toolName(item["name"], `${at}.name`)
        string(item[type === "function_call" ? "arguments" : "input"], `${at}.arguments`)
        break
      }
      case "function_call_output":
      case "custom_tool_call_output": {
        const id = callId(item, at)
        must(
          calls.get(id) === type.slice(0, -"_output".length),
          `No tool call found for function call output with call_id ${id}.`,
          "input"
        )
        must(!answered.has(id), `Duplicate output for call_id '${id}'.`, `${at}.call_id`)
        answered.add(id)
        must(item["output"] !== undefined, `Missing required parameter: '${at}.output'.`, `${at}.output`)
        parts(item["output"], `${at}.output`, ["input_text", "input_image", "input_file"])
        break
      }
      case "reasoning": {
        onlyKeys(item, new Set(["type", "id", "summary", "content", "encrypted_content", "status"]), at)
        itemId(item, "rs_", at)
        array(item["summary"], `${at}.summary`)
        const encrypted = optional(item["encrypted_content"], `${at}.encrypted_content`, string)
        must(
          encrypted !== undefined || store,
          `Item with id '${
            String(item["id"])
          }' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
          "input"
        )
        must(
          encrypted === undefined || isEncrypted(encrypted),
          "The encrypted content could not be verified.",
          `${at}.encrypted_content`,
          "invalid_encrypted_content"
        )
        const next = items[i + 1]
        const follower = next === undefined ? undefined : object(next, `input[${i + 1}]`)
        must(
          follower !== undefined &&
            (follower["role"] === "assistant" ||
              /^(reasoning|function_call|custom_tool_call)$/.test(String(follower["type"]))),
          `Item '${String(item["id"])}' of type 'reasoning' was provided without its required following item.`,
          "input"
        )
        break
      }
      case "item_reference":
        must(
          store,
          `Item with id '${String(item["id"])}' not found. Items are not persisted when \`store\` is set to false.`,
          "input"
        )
        break
      default:
        must(
          /_call$|_call_output$|^(compaction|mcp_list_tools|mcp_approval_request|mcp_approval_response|additional_tools)$/
            .test(type),
          `Invalid value: '${type}'. Unknown item type.`,
          `${at}.type`,
          "invalid_value"
        )
    }
  })
  for (const [id, type] of calls) {
    must(answered.has(id), `No tool output found for ${type.replaceAll("_", " ")} ${id}.`, "input")
  }
}
