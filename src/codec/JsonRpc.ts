/**
 * JSON-RPC 2.0 messages: text in, messages out, and back (HIP-301 section 1; readings 1.3, D2).
 *
 * Nothing here knows a method: MCP, LSP and ACP read and write the same shapes. Of a text that is not JSON-RPC as much is
 * told as its sender can use: the id, if there was one.
 *
 * @since 0.1.0
 */

/** Integers are what this client emits; strings are accepted (D2). @since 0.1.0 @category models */
export type JsonRpcId = string | number

/** A JSON object as it came; `__proto__` and the like are ordinary own keys. @since 0.1.0 @category models */
export type JsonRpcObject = { readonly [key: string]: unknown }

/** By name or by position. @since 0.1.0 @category models */
export type JsonRpcParams = JsonRpcObject | ReadonlyArray<unknown>

/** `code` is an integer; `message` may be empty. @since 0.1.0 @category models */
export interface JsonRpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** @since 0.1.0 @category models */
export interface JsonRpcRequest {
  readonly jsonrpc: "2.0"
  readonly id: JsonRpcId
  readonly method: string
  readonly params?: JsonRpcParams
}

/** @since 0.1.0 @category models */
export interface JsonRpcNotification {
  readonly jsonrpc: "2.0"
  readonly method: string
  readonly params?: JsonRpcParams
}

/** @since 0.1.0 @category models */
export interface JsonRpcSuccess {
  readonly jsonrpc: "2.0"
  readonly id: JsonRpcId
  readonly result: unknown
}

/** `id` is null when the other side could not tell which request it was. @since 0.1.0 @category models */
export interface JsonRpcFailure {
  readonly jsonrpc: "2.0"
  readonly id: JsonRpcId | null
  readonly error: JsonRpcErrorObject
}

/** @since 0.1.0 @category models */
export type JsonRpcResponse = JsonRpcSuccess | JsonRpcFailure
/** @since 0.1.0 @category models */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse

/**
 * What a text holds that is no message. `id` is the one it carried, if it is of a usable kind; `answer` says whether it
 * looked like a response (then the request of that id will get no better one).
 *
 * @since 0.1.0
 * @category models
 */
export interface JsonRpcInvalid {
  readonly _tag: "Invalid"
  /** `neither`: an id, and neither a method nor a result nor an error. */
  readonly why: "not_json" | "too_deep" | "not_a_message" | "neither" | "empty_batch"
  readonly id: JsonRpcId | null
  readonly answer: boolean
}

/** @since 0.1.0 @category models */
export type JsonRpcItem = JsonRpcMessage | JsonRpcInvalid

/** `batch`: the text was an array. @since 0.1.0 @category models */
export interface JsonRpcParsed {
  readonly items: ReadonlyArray<JsonRpcItem>
  readonly batch: boolean
}

/** @since 0.1.0 @category constants */
export const ErrorCode = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603
} as const

/** Deeper nesting is refused (G3). @since 0.1.0 @category constants */
export const maxDepth = 200

/** @since 0.1.0 @category combinators */
export const isJsonObject = (value: unknown): value is JsonRpcObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A member the object has itself, never one it inherits. @since 0.1.0 @category combinators */
export const own = (object: JsonRpcObject, key: string): unknown => Object.hasOwn(object, key) ? object[key] : undefined

/** @since 0.1.0 @category combinators */
export const isInvalid = (item: JsonRpcItem): item is JsonRpcInvalid => "_tag" in item

/** @since 0.1.0 @category combinators */
export const isRequest = (message: JsonRpcMessage): message is JsonRpcRequest => "method" in message && "id" in message

/** @since 0.1.0 @category combinators */
export const isNotification = (message: JsonRpcMessage): message is JsonRpcNotification =>
  "method" in message && !("id" in message)

/** @since 0.1.0 @category combinators */
export const isResponse = (message: JsonRpcMessage): message is JsonRpcResponse => !("method" in message)

/** @since 0.1.0 @category combinators */
export const isFailure = (message: JsonRpcResponse): message is JsonRpcFailure => "error" in message

/** Is the nesting of a JSON text deeper than `limit`? One pass, no recursion; brackets in strings do not count. */
const isDeeper = (text: string, limit: number): boolean => {
  let depth = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      at++
      for (;;) {
        const end = text.indexOf("\"", at)
        if (end === -1) return false
        let back = end - 1
        while (back >= at && text.charCodeAt(back) === 0x5c) back--
        at = end + 1
        if ((end - 1 - back) % 2 === 0) break
      }
      continue
    }
    if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true
    } else if (code === 0x7d || code === 0x5d) depth--
    at++
  }
  return false
}

const isId = (value: unknown): value is JsonRpcId =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value))

const asParams = (value: unknown): JsonRpcParams | undefined =>
  Array.isArray(value) ? value : isJsonObject(value) ? value : undefined

const invalid = (why: JsonRpcInvalid["why"], id: JsonRpcId | null = null, answer = false): JsonRpcInvalid => ({
  _tag: "Invalid",
  why,
  id,
  answer
})

const readError = (value: unknown): JsonRpcErrorObject | undefined => {
  if (!isJsonObject(value)) return undefined
  const code = own(value, "code")
  const message = own(value, "message")
  if (typeof code !== "number" || !Number.isFinite(code)) return undefined
  return {
    code,
    message: typeof message === "string" ? message : "",
    ...(Object.hasOwn(value, "data") ? { data: value["data"] } : {})
  }
}

/**
 * One message from a value that came out of JSON. `params: null` counts as absent. A message without `jsonrpc` is taken,
 * one with another version is not.
 *
 * @since 0.1.0
 * @category decoding
 */
export const fromJson = (value: unknown): JsonRpcItem => {
  if (!isJsonObject(value)) return invalid("not_a_message")
  const id = own(value, "id")
  const known = isId(id) ? id : null
  const method = own(value, "method")
  const version = own(value, "jsonrpc")
  const answer = method === undefined && (Object.hasOwn(value, "result") || Object.hasOwn(value, "error"))
  const refuse = (): JsonRpcInvalid => invalid("not_a_message", known, answer)
  if (version !== undefined && version !== "2.0") return refuse()
  if (typeof method === "string") {
    const given = own(value, "params")
    const params = asParams(given)
    if (params === undefined && given !== undefined && given !== null) return refuse()
    const rest = params === undefined ? { method } : { method, params }
    if (id === undefined) return { jsonrpc: "2.0", ...rest }
    return known === null ? refuse() : { jsonrpc: "2.0", id: known, ...rest }
  }
  if (!answer) return method === undefined && known !== null ? invalid("neither", known) : refuse()
  const failure = own(value, "error")
  // Some peers send both, one of them null.
  if (failure !== undefined && failure !== null) {
    const error = readError(failure)
    if (error === undefined || (known === null && id !== undefined && id !== null)) return refuse()
    return { jsonrpc: "2.0", id: known, error }
  }
  if (known === null || !Object.hasOwn(value, "result")) return refuse()
  return { jsonrpc: "2.0", id: known, result: value["result"] }
}

/** A text: one message or a batch of them. Never throws. @since 0.1.0 @category decoding */
export const parse = (text: string): JsonRpcParsed => {
  const one = (item: JsonRpcItem): JsonRpcParsed => ({ items: [item], batch: false })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return one(invalid("not_json"))
  }
  // A text too short to be deep is not looked through.
  if (text.length > 2 * maxDepth && isDeeper(text, maxDepth)) {
    const item = fromJson(value)
    const id = "id" in item ? item.id : null
    return one(invalid("too_deep", id, isInvalid(item) ? item.answer : isResponse(item)))
  }
  if (!Array.isArray(value)) return one(fromJson(value))
  return { items: value.length === 0 ? [invalid("empty_batch")] : value.map(fromJson), batch: true }
}

/** One line without a line end. @since 0.1.0 @category encoding */
export const print = (message: JsonRpcMessage): string => JSON.stringify(message)

/** @since 0.1.0 @category constructors */
export const request = (id: JsonRpcId, method: string, params?: JsonRpcParams): JsonRpcRequest =>
  params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params }

/** @since 0.1.0 @category constructors */
export const notification = (method: string, params?: JsonRpcParams): JsonRpcNotification =>
  params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params }

/** A result of undefined is sent as null: a response must have one. @since 0.1.0 @category constructors */
export const success = (id: JsonRpcId, result: unknown): JsonRpcSuccess => ({
  jsonrpc: "2.0",
  id,
  result: result === undefined ? null : result
})

/** @since 0.1.0 @category constructors */
export const failure = (id: JsonRpcId | null, error: JsonRpcErrorObject): JsonRpcFailure => ({
  jsonrpc: "2.0",
  id,
  error
})
