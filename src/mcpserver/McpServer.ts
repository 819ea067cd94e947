/**
 * The tools of this program as an MCP server over two streams, in both eras: 2026-07-28, where each request brings its
 * version, and the revisions with `initialize`. Every call goes through the Guard; a client can do no more than the rules
 * allow.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import {
  ErrorCode,
  isJsonObject,
  type JsonRpcId,
  type JsonRpcObject,
  type JsonRpcRequest,
  own
} from "../codec/JsonRpc.ts"
import * as LineFraming from "../codec/LineFraming.ts"
import { line } from "../codec/TerminalText.ts"
import type { IdsService } from "../domain/Ids.ts"
import type { Part } from "../domain/Message.ts"
import type { RunPermissionMode } from "../domain/Permission.ts"
import type { ToolResult } from "../domain/Tool.ts"
import { resultText, type ToolExecutorService } from "../domain/ToolExecutor.ts"
import { legacyVersions, modernVersions } from "../mcp/Connection.ts"
import { metaKeys } from "../mcp/Session.ts"
import type { JsonRpcPeer } from "../rpc/JsonRpcPeer.ts"
import { JsonRpcRefusal } from "../rpc/JsonRpcPeer.ts"
import * as Peer from "../rpc/Peer.ts"
import * as StreamDuplex from "../rpc/StreamDuplex.ts"

/** Bytes of one message of a client. @since 0.1.0 @category constants */
export const maxRequestBytes = 32 * 1024 * 1024

/** Answer to a version that is not spoken here (2026-07-28). */
const unsupportedVersion = -32_022

/** @since 0.1.0 @category models */
export interface McpServerInput<E> {
  readonly incoming: Stream.Stream<Uint8Array, E>
  /** Whole messages, one after another. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, E>
  readonly onFault: (message: string) => E
  readonly tools: ToolExecutorService
  readonly ids: IdsService
  readonly permission_mode: RunPermissionMode
  readonly info: { readonly name: string; readonly version: string }
  readonly instructions: string
}

interface Era {
  readonly modern: boolean
}

const base64OfText = (text: string): string => {
  let binary = ""
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte)
  return btoa(binary)
}

const blockOf = (part: Part): JsonRpcObject => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: "text", text: part.text }
    case "tool_call":
      return { type: "text", text: part.arguments }
    case "image":
      return part.data === undefined
        ? { type: "resource_link", uri: part.url ?? "", name: "image", mimeType: part.media_type }
        : { type: "image", data: part.data, mimeType: part.media_type }
    case "file":
      return part.media_type.startsWith("audio/")
        ? { type: "audio", data: part.data, mimeType: part.media_type }
        : {
          type: "resource",
          resource: {
            uri: `data:${part.media_type};name=${base64OfText(part.filename ?? "file")}`,
            mimeType: part.media_type,
            blob: part.data
          }
        }
  }
}

/** A result as MCP has it. @since 0.1.0 @category encoding */
export const callResult = (result: ToolResult): JsonRpcObject => ({
  content: [{ type: "text", text: resultText(result) }, ...(result.parts ?? []).map(blockOf)],
  isError: result.is_error
})

const invalid = (message: string): JsonRpcRefusal => new JsonRpcRefusal({ code: ErrorCode.invalid_params, message })

/**
 * Serves until the client closes its side; calls that still run are stopped then.
 *
 * @since 0.1.0
 * @category constructors
 */
export const serve = <E>(input: McpServerInput<E>): Effect.Effect<E | null, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { ids, info, instructions, permission_mode, tools } = input
    const session_id = yield* ids.session
    // as in a run of our own: read-only tools side by side, all others in order
    const writing = yield* Effect.makeSemaphore(1)
    let peer: JsonRpcPeer<E, unknown> | null = null

    const stamped = (result: JsonRpcObject, { modern }: Era, cached = false): JsonRpcObject =>
      modern
        ? {
          resultType: "complete",
          ...result,
          ...(cached ? { ttlMs: 0, cacheScope: "private" } : {}),
          _meta: { [metaKeys.server]: info }
        }
        : result

    const list = Effect.map(tools.definitions, (definitions) => ({
      tools: definitions.map(({ description, input_schema, name }) => ({
        name,
        description,
        inputSchema: { ...input_schema, type: "object" },
        annotations: { readOnlyHint: tools.isReadOnly(name, {}) }
      }))
    }))

    const call = (params: JsonRpcObject, id: JsonRpcId): Effect.Effect<JsonRpcObject, JsonRpcRefusal> =>
      Effect.gen(function*() {
        const name = own(params, "name")
        const given = own(params, "arguments")
        if (typeof name !== "string") return yield* invalid("tools/call without the name of a tool")
        if (given !== undefined && !isJsonObject(given)) return yield* invalid("arguments must be an object")
        const known = yield* tools.definitions
        if (!known.some((tool) => tool.name === name)) {
          return yield* invalid(`there is no tool ${JSON.stringify(line(name, 100))}`)
        }
        const meta = own(params, "_meta")
        const token = isJsonObject(meta) ? own(meta, "progressToken") : undefined
        let progress = 0
        const run = tools.execute(name, given ?? {}, session_id, {
          call_id: yield* ids.make("call"),
          permission_mode,
          report: (event) =>
            event.type !== "tool.output" || token === undefined || peer === null
              ? Effect.void
              : Effect.ignore(
                peer.notify("notifications/progress", {
                  progressToken: token,
                  progress: ++progress,
                  message: event.text
                })
              )
        })
        return callResult(yield* tools.isReadOnly(name, given ?? {}) ? run : writing.withPermits(1)(run))
      }).pipe(Effect.annotateLogs("request", String(id)))

    /** Which era a request is of: it says so itself, or it is of the older one. */
    const eraOf = (params: JsonRpcObject): Effect.Effect<Era, JsonRpcRefusal> => {
      const meta = own(params, "_meta")
      const version = isJsonObject(meta) ? own(meta, metaKeys.version) : undefined
      if (version === undefined) return Effect.succeed({ modern: false })
      return modernVersions.some((known) => known === version) ? Effect.succeed({ modern: true }) : Effect.fail(
        new JsonRpcRefusal({
          code: unsupportedVersion,
          message: `protocol version ${JSON.stringify(version)} is not spoken here`,
          data: { supported: [...modernVersions], requested: version }
        })
      )
    }

    const answer = (request: JsonRpcRequest): Effect.Effect<JsonRpcObject, JsonRpcRefusal> =>
      Effect.gen(function*() {
        const params = isJsonObject(request.params) ? request.params : {}
        if (request.method === "initialize") {
          const asked = own(params, "protocolVersion")
          return {
            protocolVersion: legacyVersions.find((known) => known === asked) ?? legacyVersions[0],
            capabilities: { tools: {} },
            serverInfo: info,
            instructions
          }
        }
        const era = yield* eraOf(params)
        switch (request.method) {
          case "server/discover":
            return stamped({ supportedVersions: [...modernVersions], capabilities: { tools: {} }, instructions }, {
              modern: true
            }, true)
          case "ping":
            return stamped({}, era)
          case "tools/list":
            return stamped(yield* list, era, true)
          case "tools/call":
            return stamped(yield* call(params, request.id), era)
          default:
            return yield* new JsonRpcRefusal({
              code: ErrorCode.method_not_found,
              message: `method not found: ${line(request.method, 100)}`
            })
        }
      })

    const duplex = StreamDuplex.make<E>({
      incoming: input.incoming,
      write: input.write,
      framing: LineFraming.make({ max_message_bytes: maxRequestBytes }),
      encode: LineFraming.encode,
      onFault: (fault) => Effect.succeed(input.onFault(fault.message))
    })
    const made = yield* Peer.make<E, unknown>(duplex, {
      onRequest: answer,
      onNotification: (notification): Effect.Effect<void> =>
        Effect.suspend((): Effect.Effect<void> => {
          const params = isJsonObject(notification.params) ? notification.params : {}
          const id = own(params, "requestId")
          return notification.method === "notifications/cancelled" && (typeof id === "number" || typeof id === "string")
            ? peer?.cancelInbound(id) ?? Effect.void
            : Effect.void
        })
    }, { name: "the MCP client", cancel: () => null })
    peer = made
    return yield* made.closed
  })
