/**
 * What servers send, read by hand: lists, results, questions (the schemas of the five revisions). Entries that cannot be
 * used are told apart from those that can; members nobody knows stay in `raw`.
 *
 * @since 0.1.0
 */
import { isJsonObject, type JsonRpcObject, own } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type {
  McpCallResult,
  McpCompletion,
  McpContent,
  McpListKind,
  McpLogLevel,
  McpLogMessage,
  McpProgress,
  McpPrompt,
  McpPromptResult,
  McpResource,
  McpResourceContent,
  McpResourceTemplate,
  McpServerInfo,
  McpTool
} from "./Connection.ts"

/** @since 0.1.0 @category models */
export type Read<A> = { readonly ok: A } | { readonly why: string }

/** @since 0.1.0 @category combinators */
export const text = (object: JsonRpcObject, key: string): string | undefined => {
  const value = own(object, key)
  return typeof value === "string" ? value : undefined
}

/** @since 0.1.0 @category combinators */
export const number = (object: JsonRpcObject, key: string): number | undefined => {
  const value = own(object, key)
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

/** @since 0.1.0 @category combinators */
export const object = (from: JsonRpcObject, key: string): JsonRpcObject | undefined => {
  const value = own(from, key)
  return isJsonObject(value) ? value : undefined
}

/** @since 0.1.0 @category combinators */
export const list = (from: JsonRpcObject, key: string): ReadonlyArray<unknown> => {
  const value = own(from, key)
  return Array.isArray(value) ? value : []
}

/** Down a path of objects. @since 0.1.0 @category combinators */
export const at = (from: JsonRpcObject, ...path: ReadonlyArray<string>): JsonRpcObject | undefined =>
  path.reduce<JsonRpcObject | undefined>((found, key) => found === undefined ? undefined : object(found, key), from)

/** The members that are there. */
const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : { [key]: value } as { readonly [P in K]?: V }

/** A name from a server in a message of ours. @since 0.1.0 @category encoding */
export const shown = (value: unknown): string => TerminalText.line(JSON.stringify(value) ?? String(value), 80)

/** @since 0.1.0 @category decoding */
export const readServerInfo = (value: unknown): McpServerInfo | null => {
  if (!isJsonObject(value)) return null
  const name = text(value, "name")
  return name === undefined
    ? null
    : { name, version: text(value, "version") ?? "", ...optional("title", text(value, "title")) }
}

/** @since 0.1.0 @category decoding */
export const readTool = (value: unknown): Read<McpTool> => {
  if (!isJsonObject(value)) return { why: "a tool that is no object" }
  const name = text(value, "name")
  if (name === undefined || name === "") return { why: "a tool without a name" }
  const input_schema = object(value, "inputSchema")
  if (input_schema === undefined) return { why: `tool ${shown(name)}: its inputSchema is no object` }
  const type = own(input_schema, "type")
  if (type !== undefined && type !== "object") {
    return { why: `tool ${shown(name)}: its inputSchema is of type ${shown(type)}, not "object"` }
  }
  const task = at(value, "execution") === undefined ? undefined : text(at(value, "execution") ?? {}, "taskSupport")
  return {
    ok: {
      name,
      description: text(value, "description") ?? "",
      input_schema,
      task: task === "required" || task === "optional" ? task : "forbidden",
      raw: value,
      ...optional("title", text(value, "title")),
      ...optional("output_schema", object(value, "outputSchema")),
      ...optional("annotations", object(value, "annotations"))
    }
  }
}

/** @since 0.1.0 @category decoding */
export const readResource = (value: unknown): Read<McpResource> => {
  if (!isJsonObject(value)) return { why: "a resource that is no object" }
  const uri = text(value, "uri")
  if (uri === undefined || uri === "") return { why: "a resource without a uri" }
  return {
    ok: {
      uri,
      name: text(value, "name") ?? uri,
      raw: value,
      ...optional("title", text(value, "title")),
      ...optional("description", text(value, "description")),
      ...optional("mime_type", text(value, "mimeType")),
      ...optional("size", number(value, "size"))
    }
  }
}

/** @since 0.1.0 @category decoding */
export const readTemplate = (value: unknown): Read<McpResourceTemplate> => {
  if (!isJsonObject(value)) return { why: "a resource template that is no object" }
  const uri_template = text(value, "uriTemplate")
  if (uri_template === undefined || uri_template === "") return { why: "a resource template without a uriTemplate" }
  return {
    ok: {
      uri_template,
      name: text(value, "name") ?? uri_template,
      raw: value,
      ...optional("title", text(value, "title")),
      ...optional("description", text(value, "description")),
      ...optional("mime_type", text(value, "mimeType"))
    }
  }
}

/** @since 0.1.0 @category decoding */
export const readPrompt = (value: unknown): Read<McpPrompt> => {
  if (!isJsonObject(value)) return { why: "a prompt that is no object" }
  const name = text(value, "name")
  if (name === undefined || name === "") return { why: "a prompt without a name" }
  return {
    ok: {
      name,
      arguments: list(value, "arguments").flatMap((argument) => {
        const known = isJsonObject(argument) ? text(argument, "name") : undefined
        return isJsonObject(argument) && known !== undefined
          ? [{
            name: known,
            required: own(argument, "required") === true,
            ...optional("title", text(argument, "title")),
            ...optional("description", text(argument, "description"))
          }]
          : []
      }),
      raw: value,
      ...optional("title", text(value, "title")),
      ...optional("description", text(value, "description"))
    }
  }
}

const isContent = (value: unknown): value is McpContent => isJsonObject(value) && text(value, "type") !== undefined

/** @since 0.1.0 @category decoding */
export const readContent = (value: unknown): McpContent | null => isContent(value) ? value : null

/** One block or several; anything else is left out. @since 0.1.0 @category decoding */
export const readContents = (value: unknown): ReadonlyArray<McpContent> =>
  (Array.isArray(value) ? value : [value]).filter(isContent)

/** `schema_problem` is the caller's to find. @since 0.1.0 @category decoding */
export const readCallResult = (value: unknown): Read<McpCallResult> => {
  if (!isJsonObject(value)) return { why: "a result that is no object" }
  const content = own(value, "content")
  if (content !== undefined && !Array.isArray(content)) return { why: "a result whose content is no array" }
  return {
    ok: {
      content: readContents(content ?? []),
      is_error: own(value, "isError") === true,
      schema_problem: null,
      ...(Object.hasOwn(value, "structuredContent") ? { structured_content: value["structuredContent"] } : {}),
      ...optional("meta", object(value, "_meta"))
    }
  }
}

/** @since 0.1.0 @category decoding */
export const readResourceContents = (value: unknown): Read<ReadonlyArray<McpResourceContent>> => {
  if (!isJsonObject(value) || !Array.isArray(own(value, "contents"))) return { why: "a result without contents" }
  const contents: Array<McpResourceContent> = []
  for (const each of list(value, "contents")) {
    if (!isJsonObject(each)) return { why: "contents that are no objects" }
    const rest = {
      uri: text(each, "uri") ?? "",
      ...optional("mime_type", text(each, "mimeType")),
      ...optional("meta", object(each, "_meta"))
    }
    const plain = text(each, "text")
    const blob = text(each, "blob")
    if (plain !== undefined) contents.push({ ...rest, text: plain })
    else if (blob !== undefined) contents.push({ ...rest, blob })
    else return { why: "contents with neither text nor blob" }
  }
  return { ok: contents }
}

/** Bytes: of text as UTF-8, of base64 once decoded. @since 0.1.0 @category combinators */
export const sizeOf = (contents: ReadonlyArray<McpResourceContent>): number =>
  contents.reduce(
    (sum, each) =>
      sum + ("text" in each
        ? new TextEncoder().encode(each.text).byteLength
        : Math.floor(each.blob.length * 3 / 4)),
    0
  )

/** @since 0.1.0 @category decoding */
export const readPromptResult = (value: unknown): Read<McpPromptResult> => {
  if (!isJsonObject(value) || !Array.isArray(own(value, "messages"))) return { why: "a result without messages" }
  const messages = list(value, "messages").flatMap((message) => {
    if (!isJsonObject(message)) return []
    const role = text(message, "role")
    const content = readContent(own(message, "content"))
    return (role === "user" || role === "assistant") && content !== null ? [{ role, content } as const] : []
  })
  return { ok: { messages, ...optional("description", text(value, "description")) } }
}

/** @since 0.1.0 @category decoding */
export const readCompletion = (value: unknown): Read<McpCompletion> => {
  const completion = isJsonObject(value) ? object(value, "completion") : undefined
  if (completion === undefined) return { why: "a result without completion" }
  return {
    ok: {
      values: list(completion, "values").filter((each) => typeof each === "string"),
      has_more: own(completion, "hasMore") === true,
      ...optional("total", number(completion, "total"))
    }
  }
}

/** @since 0.1.0 @category decoding */
export const readProgress = (params: JsonRpcObject): McpProgress => ({
  progress: number(params, "progress") ?? 0,
  ...optional("total", number(params, "total")),
  ...optional("message", text(params, "message"))
})

const levels: ReadonlyArray<string> = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency"
]

const isLevel = (value: unknown): value is McpLogLevel => typeof value === "string" && levels.includes(value)

/** An unknown level counts as info. @since 0.1.0 @category decoding */
export const readLog = (params: JsonRpcObject): McpLogMessage => {
  const level = own(params, "level")
  return { level: isLevel(level) ? level : "info", logger: text(params, "logger") ?? null, data: own(params, "data") }
}

/** @since 0.1.0 @category constants */
export const listChanged: ReadonlyMap<string, McpListKind> = new Map([
  ["notifications/tools/list_changed", "tools"],
  ["notifications/prompts/list_changed", "prompts"],
  ["notifications/resources/list_changed", "resources"]
])
