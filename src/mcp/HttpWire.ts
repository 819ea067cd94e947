/**
 * MCP messages over HTTP: addresses, headers, and what a body holds (readings 1.2, 1.3). Pure.
 *
 * @since 0.1.0
 */
import * as JsonRpc from "../codec/JsonRpc.ts"
import type { JsonRpcId, JsonRpcItem, JsonRpcMessage } from "../codec/JsonRpc.ts"
import * as TerminalText from "../codec/TerminalText.ts"
import type { HttpError } from "../platform/Http.ts"
import type { Inbound } from "../rpc/Duplex.ts"
import { McpError } from "./McpError.ts"
import * as ParamHeaders from "./ParamHeaders.ts"
import type { McpEra, SendContext } from "./Transport.ts"

/** Of a definition with `url`, variables expanded (1.1). @since 0.1.0 @category models */
export interface HttpDefinition {
  /** The server's name in the settings. */
  readonly server: string
  readonly url: string
  /** Sent with every request to the origin of `url`, and to no other. */
  readonly headers?: Readonly<Record<string, string>>
  /** Default 32 MiB; of one body, or of one event of a stream. */
  readonly max_message_bytes?: number
}

/** @since 0.1.0 @category constants */
export const jsonType = "application/json"
/** @since 0.1.0 @category constants */
export const eventStreamType = "text/event-stream"

/** The bare type, in lower case. @since 0.1.0 @category decoding */
export const contentTypeOf = (headers: Readonly<Record<string, string>>): string =>
  (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

/** An address as messages show it: no query, user or password. @since 0.1.0 @category encoding */
export const shown = (address: string): string => {
  if (!URL.canParse(address)) return TerminalText.line(address, 200)
  const { origin, pathname } = new URL(address)
  return TerminalText.line(`${origin}${pathname === "/" ? "" : pathname}`, 200)
}

/** @since 0.1.0 @category constructors */
export const fault = (
  definition: Pick<HttpDefinition, "server">,
  reason: McpError["reason"],
  message: string,
  more: { readonly status?: number; readonly sent?: boolean } = {}
): McpError =>
  new McpError({ reason, server: definition.server, message: `MCP server ${definition.server}: ${message}`, ...more })

/** Reasons that leave no doubt: the server has not seen the request. */
const unsent: ReadonlySet<HttpError["reason"]> = new Set([
  "dns",
  "refused",
  "tls",
  "connect_timeout",
  "invalid_url",
  "blocked"
])

/** @since 0.1.0 @category constructors */
export const network = (definition: HttpDefinition, error: HttpError): McpError =>
  fault(definition, "network", error.message, unsent.has(error.reason) ? { sent: false } : {})

/** Why this address cannot be used; null = it can. @since 0.1.0 @category combinators */
export const addressProblem = (url: string): string | null =>
  !URL.canParse(url) || !/^https?:/iu.test(url)
    ? "its url is no http or https address"
    : new URL(url).username !== "" || new URL(url).password !== ""
    ? "its url holds a user or password; use headers"
    : null

/** The protocol version belongs into a header from this legacy revision on. */
const firstWithHeader = "2025-06-18"

/** What the transport knows of the conversation. @since 0.1.0 @category models */
export interface WireState {
  readonly era: McpEra | null
  readonly version: string | null
  readonly session: string | null
}

/** Version and session, as every request names them. @since 0.1.0 @category encoding */
export const stateHeaders = (state: WireState): Readonly<Record<string, string>> => ({
  ...(state.version === null || (state.era !== "modern" && state.version < firstWithHeader)
    ? {}
    : { "mcp-protocol-version": state.version }),
  ...(state.session === null || state.era === "modern" ? {} : { "mcp-session-id": state.session })
})

const argumentsOf = (message: JsonRpcMessage): unknown =>
  "method" in message && JsonRpc.isJsonObject(message.params) ? JsonRpc.own(message.params, "arguments") : undefined

/** The headers of one message, without those of the settings. @since 0.1.0 @category encoding */
export const messageHeaders = (
  state: WireState,
  message: JsonRpcMessage,
  context: SendContext | undefined
): Readonly<Record<string, string>> => {
  const era = context?.era ?? state.era
  const version = context === undefined ? state.version : context.version
  const headers = {
    "content-type": jsonType,
    accept: `${jsonType}, ${eventStreamType}`,
    ...stateHeaders({ era, version, session: state.session })
  }
  if (era !== "modern" || context === undefined) return headers
  const found = context.input_schema === undefined ? null : ParamHeaders.read(context.input_schema)
  return {
    ...headers,
    "mcp-method": ParamHeaders.headerValue(context.method),
    ...(context.name === undefined ? {} : { "mcp-name": ParamHeaders.headerValue(context.name) }),
    ...(found === null || "why" in found ? {} : ParamHeaders.write(found.ok, argumentsOf(message)))
  }
}

/** A session id that may stand in a header: visible ASCII. @since 0.1.0 @category combinators */
export const isSessionId = (id: string): boolean => /^[\x21-\x7e]{1,4096}$/u.test(id)

const answers = (item: JsonRpcItem, id: JsonRpcId): boolean =>
  JsonRpc.isInvalid(item)
    ? item.answer && item.id !== null && String(item.id) === String(id)
    : JsonRpc.isResponse(item) && item.id !== null && String(item.id) === String(id)

/** What a text on the stream of request `on` holds; an error that names no request is that request's. @since 0.1.0 @category decoding */
export const inboundOf = (
  text: string,
  on: JsonRpcId | null
): { readonly items: ReadonlyArray<Inbound>; readonly answered: boolean; readonly noise: boolean } => {
  const items: Array<Inbound> = []
  let answered = false
  let noise = false
  for (const item of JsonRpc.parse(text).items) {
    if (JsonRpc.isInvalid(item) && item.id === null) {
      noise = true
      continue
    }
    if (on === null) {
      items.push({ item })
      continue
    }
    const named = !JsonRpc.isInvalid(item) && JsonRpc.isResponse(item) && JsonRpc.isFailure(item) && item.id === null
      ? JsonRpc.failure(on, item.error)
      : item
    answered = answered || answers(named, on)
    items.push({ item: named, on })
  }
  return { items, answered, noise }
}

/** The error of a refusal's body, under the id it names (null = none); undefined = the body holds none. @since 0.1.0 @category decoding */
export const errorIn = (text: string): JsonRpc.JsonRpcFailure | undefined => {
  const [item, ...more] = JsonRpc.parse(text).items
  return item !== undefined && more.length === 0 && !JsonRpc.isInvalid(item) && JsonRpc.isResponse(item) &&
      JsonRpc.isFailure(item)
    ? item
    : undefined
}
