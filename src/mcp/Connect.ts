/**
 * Connects to an MCP server over any transport and gives the `McpConnection` that everything above works with (HIP-301
 * section 1; readings 1.2 to 1.4, 1.11, 1.12, 1.14).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import {
  ErrorCode,
  failure,
  isJsonObject,
  type JsonRpcObject,
  type JsonRpcResponse,
  own,
  success
} from "../codec/JsonRpc.ts"
import { sleep } from "../domain/Backoff.ts"
import * as Asked from "./Asked.ts"
import {
  type ConnectOptions,
  maxInputRounds,
  maxResourceBytes,
  type McpCallInFlight,
  type McpCallOptions,
  type McpCallResult,
  type McpConnection,
  type McpListKind,
  type McpTool
} from "./Connection.ts"
import { agree, type Agreed, initialize } from "./Handshake.ts"
import { listAll } from "./Listing.ts"
import type { McpError } from "./McpError.ts"
import * as OutputSchema from "./OutputSchema.ts"
import { type Ask, Session } from "./Session.ts"
import * as Subscriptions from "./Subscriptions.ts"
import * as Tasks from "./Tasks.ts"
import type { McpTransport } from "./Transport.ts"
import * as Wire from "./Wire.ts"

const urlElicitationRequired = -32_042
/** 2026-07-28: the headers of a request are not those that its body asks for; the request was not run. */
const headerMismatch = -32_020
const inputMethods: ReadonlyArray<string> = ["elicitation/create", "sampling/createMessage", "roots/list"]
const kinds: ReadonlyArray<McpListKind> = ["tools", "prompts", "resources"]

/**
 * Opens, finds out the era, shakes hands; all within `connect_timeout_ms`. The connection, its process or its streams end
 * with the scope.
 *
 * @since 0.1.0
 * @category constructors
 */
export const connect = (
  transport: McpTransport,
  options: ConnectOptions
): Effect.Effect<McpConnection, McpError, Scope.Scope> =>
  Effect.gen(function*() {
    const session = new Session(transport.server, options, transport.kind)
    const limit_ms = session.limits.connect_timeout_ms
    const late = Effect.zipRight(
      sleep(limit_ms),
      Effect.suspend(() => {
        const waits = session.pending().map(({ method }) => `its answer to ${method}`).join(", ")
        return Effect.fail(session.error(
          "connect_timeout",
          `no connection within ${limit_ms} ms (still waiting for ${waits === "" ? "its start" : waits}); raise ` +
            "connect_timeout_ms if it needs more",
          { limit_ms }
        ))
      })
    )
    const agreed = yield* Effect.raceFirst(agree(session, transport), late)
    return yield* build(session, agreed)
  })

const build = (session: Session, agreed: Agreed): Effect.Effect<McpConnection, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { capabilities, era, link, version } = agreed
    const { open, peer } = link
    const { handlers } = session
    const scope = yield* Effect.scope
    const renewal = yield* Effect.makeSemaphore(1)
    let generation = 0

    const has = (...path: ReadonlyArray<string>): boolean => Wire.at(capabilities, ...path) !== undefined
    const notOffered = (what: string): McpError => session.error("not_offered", `it does not offer ${what}`)

    /** Legacy HTTP: the session is gone, a new one takes its place; once for all requests that met the old one. */
    const renew = (met: number): Effect.Effect<void, McpError> =>
      renewal.withPermits(1)(Effect.suspend(() => {
        if (generation !== met) return Effect.void
        const limit_ms = session.limits.connect_timeout_ms
        return Effect.raceFirst(
          open.resetSession.pipe(
            Effect.zipRight(initialize(session, link, version)),
            Effect.mapError((error) => session.toMcpError(error, "connect"))
          ),
          Effect.zipRight(
            sleep(limit_ms),
            Effect.fail(session.error("connect_timeout", `no new session within ${limit_ms} ms`, { limit_ms }))
          )
        ).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              generation++
            })
          ),
          // What the new session offers may be something else.
          Effect.zipRight(
            Effect.forEach(kinds.filter((kind) => has(kind)), (kind) => handlers.onListChanged?.(kind) ?? Effect.void, {
              discard: true
            })
          )
        )
      }))

    /** `repeatable`: it changes nothing, so that it may be sent again when its stream was lost. */
    const request = (
      method: string,
      params: JsonRpcObject,
      ask: Ask,
      repeatable = false
    ): Effect.Effect<unknown, McpError> =>
      Effect.suspend(() => {
        const met = generation
        const send = session.send(peer, method, params, ask)
        return Effect.catchAll(send, (first) => {
          const error = session.toMcpError(first, ask.limit)
          const again = Effect.mapError(send, (second) => session.toMcpError(second, ask.limit))
          return error.reason === "session_expired" && era === "legacy"
            ? Effect.zipRight(renew(met), again)
            : error.reason === "stream_lost" && era === "modern" && repeatable
            ? again
            : Effect.fail(error)
        })
      })

    /** What a modern server needs before it can go on, asked one after the other. */
    const gather = (asked: JsonRpcObject, call: McpCallInFlight | null): Effect.Effect<JsonRpcObject, McpError> =>
      Effect.gen(function*() {
        const responses: Array<readonly [string, JsonRpcObject]> = []
        for (const [key, value] of Object.entries(asked)) {
          const method = isJsonObject(value) ? Wire.text(value, "method") : undefined
          if (!isJsonObject(value) || method === undefined || !inputMethods.includes(method)) {
            return yield* session.error("protocol", `it asks for an input that is none (${Wire.shown(method ?? key)})`)
          }
          const response = yield* Effect.mapError(
            Asked.answer(method, own(value, "params"), handlers, session.asking(call)),
            (refusal) => session.error("rpc", `its ${method} was refused: ${refusal.message}`, { code: refusal.code })
          )
          responses.push([key, response])
        }
        return Object.fromEntries(responses)
      })

    /** A request that may take several rounds in the modern era. */
    const complete = (
      method: string,
      params: JsonRpcObject,
      ask: Ask,
      repeatable: boolean,
      extra: JsonRpcObject = {},
      round = 0
    ): Effect.Effect<unknown, McpError> => {
      const one = request(method, round === 0 ? params : { ...params, ...extra }, ask, repeatable)
      return era === "legacy" ? one : Effect.flatMap(one, (result) => {
        const type = isJsonObject(result) ? own(result, "resultType") : undefined
        return !isJsonObject(result) || type === undefined || type === "complete"
          ? Effect.succeed(result)
          : Effect.flatMap(
            nextRound(method, result, type, ask, round),
            (more) => complete(method, params, ask, repeatable, more, round + 1)
          )
      })
    }

    /** What the next round of a request says beside its parameters. */
    const nextRound = (
      method: string,
      result: JsonRpcObject,
      type: unknown,
      ask: Ask,
      round: number
    ): Effect.Effect<JsonRpcObject, McpError> =>
      Effect.gen(function*() {
        if (type !== "input_required") {
          return yield* session.error("protocol", `${method} gave a result of unknown type ${Wire.shown(type)}`)
        }
        if (round === maxInputRounds) {
          return yield* session.error("too_many_rounds", `${method} asked for input more than ${maxInputRounds} times`)
        }
        const asked = Wire.object(result, "inputRequests")
        const state = own(result, "requestState")
        if (asked === undefined && state === undefined) {
          return yield* session.error("protocol", `${method} asks for input without saying which`)
        }
        const responses = asked === undefined ? {} : yield* gather(asked, ask.call ?? null)
        return {
          ...(asked === undefined ? {} : { inputResponses: responses }),
          ...(state === undefined ? {} : { requestState: state })
        }
      })

    const read = <A>(method: string, found: Wire.Read<A>): Effect.Effect<A, McpError> =>
      "ok" in found ? Effect.succeed(found.ok) : Effect.fail(session.error("protocol", `${method}: ${found.why}`))

    /** 2025-11-25: the call was not run, because pages have to be visited first. It is not repeated by us. */
    const visitFirst = (error: McpError, call: McpCallInFlight): Effect.Effect<never, McpError> =>
      Effect.gen(function*() {
        const wanted = isJsonObject(error.data) ? Wire.list(error.data, "elicitations") : []
        if (error.code !== urlElicitationRequired || handlers.elicitUrl === undefined || wanted.length === 0) {
          return yield* error
        }
        const answers: Array<unknown> = []
        for (const each of wanted.slice(0, maxInputRounds)) {
          const params = isJsonObject(each) ? { ...each, mode: "url" } : {}
          const answer = yield* Effect.option(
            Asked.answer("elicitation/create", params, handlers, session.asking(call))
          )
          answers.push(answer._tag === "Some" ? own(answer.value, "action") : "refused")
        }
        return yield* session.error(
          "rpc",
          `${call.tool} needs something done in the browser first (the user's answers: ${answers.join(", ")}); ` +
            "call it again when that is done",
          { code: urlElicitationRequired, data: error.data }
        )
      })

    /**
     * The tool that we know mirrors other parameters in headers than the server's: its list is read again, and the call, which
     * was refused and has not run, is sent once more. The error stays when the tool is not there any more.
     */
    const relist = (
      error: McpError,
      name: string,
      again: (tool: McpTool) => Effect.Effect<McpCallResult, McpError>
    ): Effect.Effect<McpCallResult, McpError> =>
      Effect.gen(function*() {
        yield* Effect.mapError(listTools, () => error)
        yield* handlers.onListChanged?.("tools") ?? Effect.void
        const tool = session.tools.get(name)
        return yield* tool === undefined ? Effect.fail(error) : again(tool)
      })

    const callWith = (
      name: string,
      args: JsonRpcObject,
      given: McpCallOptions,
      relisted: boolean
    ): Effect.Effect<McpCallResult, McpError> =>
      Effect.suspend(() => {
        const tool = given.tool ?? session.tools.get(name)
        const call: McpCallInFlight = { tool: name, token: given.token ?? null }
        const ask: Ask = {
          limit: "call",
          timeout_ms: given.call_timeout_ms,
          max_ms: given.call_max_ms,
          name,
          tool,
          call,
          onProgress: given.onProgress
        }
        const params = { name, arguments: args }
        const asTask = era === "legacy" && tool?.task === "required" && has("tasks", "requests", "tools", "call")
        return Effect.matchEffect(
          asTask
            ? Tasks.run(session, request, scope, params, ask)
            : complete("tools/call", params, ask, given.read_only === true),
          {
            onFailure: (error) =>
              error.reason !== "rpc"
                ? Effect.fail(error)
                : error.code === headerMismatch && era === "modern" && !relisted
                ? relist(error, name, (current) => callWith(name, args, { ...given, tool: current }, true))
                : visitFirst(error, call),
            onSuccess: (result) => {
              const found = Wire.readCallResult(result)
              if ("why" in found) return read("tools/call", found)
              return tool?.output_schema === undefined ? Effect.succeed(found.ok) : Effect.map(
                OutputSchema.problem(session.server, tool, found.ok),
                (schema_problem): McpCallResult => ({ ...found.ok, schema_problem })
              )
            }
          }
        )
      })

    const callTool: McpConnection["callTool"] = (name, args, given = {}) => callWith(name, args, given, false)

    const subscriptions = yield* Subscriptions.make(session, link, capabilities, scope)

    const setLogLevel: McpConnection["setLogLevel"] = (level) =>
      Effect.suspend(() => {
        session.log_level = level
        return era === "modern" || !has("logging")
          ? Effect.void
          : Effect.asVoid(request("logging/setLevel", { level }, { limit: "list" }))
      })

    if (era === "modern") yield* subscriptions.start
    else if (session.log_level !== null) {
      yield* Effect.forkIn(Effect.ignoreLogged(setLogLevel(session.log_level)), scope)
    }

    const listing = (
      kind: McpListKind
    ): Effect.Effect<void, McpError> => kind === "tools" || has(kind) ? Effect.void : Effect.fail(notOffered(kind))

    const page = (method: string) => (params: JsonRpcObject) => request(method, params, { limit: "list" }, true)

    const listTools: McpConnection["listTools"] = Effect.gen(function*() {
      const names = new Set<string>()
      const found = yield* listAll(session, page("tools/list"), "tools/list", "tools", (value) => {
        const tool = Wire.readTool(value)
        if ("why" in tool) return tool
        if (names.has(tool.ok.name)) return { why: `tool ${Wire.shown(tool.ok.name)}: a second one of this name` }
        names.add(tool.ok.name)
        const refused = open.refusesTool(era, tool.ok.input_schema)
        return refused === null ? tool : { why: `tool ${Wire.shown(tool.ok.name)}: ${refused}` }
      }).pipe(Effect.catchIf(
        (error) => error.code === ErrorCode.method_not_found && !has("tools"),
        () => Effect.fail(notOffered("tools"))
      ))
      session.tools = new Map(found.items.map((tool) => [tool.name, tool]))
      return found
    })

    return {
      server: session.server,
      kind: link.transport.kind,
      era,
      version,
      server_info: agreed.server_info,
      capabilities,
      instructions: agreed.instructions,
      listTools,
      listResources: Effect.zipRight(
        listing("resources"),
        listAll(session, page("resources/list"), "resources/list", "resources", Wire.readResource)
      ),
      listResourceTemplates: Effect.zipRight(
        listing("resources"),
        listAll(
          session,
          page("resources/templates/list"),
          "resources/templates/list",
          "resourceTemplates",
          Wire.readTemplate
        )
      ),
      listPrompts: Effect.zipRight(
        listing("prompts"),
        listAll(session, page("prompts/list"), "prompts/list", "prompts", Wire.readPrompt)
      ),
      callTool,
      readResource: (uri) =>
        Effect.gen(function*() {
          const result = yield* complete("resources/read", { uri }, { limit: "call", name: uri }, true)
          const contents = yield* read("resources/read", Wire.readResourceContents(result))
          const size = Wire.sizeOf(contents)
          if (size > maxResourceBytes) {
            return yield* session.error(
              "too_large",
              `the resource ${Wire.shown(uri)} has ${size} bytes; at most ${maxResourceBytes} are taken`
            )
          }
          return contents
        }),
      getPrompt: (name, args) =>
        Effect.flatMap(
          complete("prompts/get", { name, arguments: args }, { limit: "call", name }, true),
          (result) => read("prompts/get", Wire.readPromptResult(result))
        ),
      complete: ({ argument, context, ref }) =>
        Effect.gen(function*() {
          // The first revision had the method, but no capability for it.
          if (!has("completions") && version !== "2024-11-05") return yield* notOffered("completion")
          const result = yield* request(
            "completion/complete",
            {
              ref: ref.type === "prompt"
                ? { type: "ref/prompt", name: ref.name }
                : { type: "ref/resource", uri: ref.uri },
              argument,
              ...(context === undefined || version < "2025-06-18" ? {} : { context: { arguments: context } })
            },
            { limit: "list" },
            true
          )
          return yield* read("completion/complete", Wire.readCompletion(result))
        }),
      ping: Effect.gen(function*() {
        const began = yield* Clock.currentTimeMillis
        yield* request(era === "modern" ? "server/discover" : "ping", {}, { limit: "list" }, true)
        return Duration.millis((yield* Clock.currentTimeMillis) - began)
      }),
      setLogLevel,
      subscribeResource: (uri) =>
        !has("resources")
          ? Effect.fail(notOffered("resources"))
          : era === "modern"
          ? subscriptions.add(uri)
          : own(Wire.object(capabilities, "resources") ?? {}, "subscribe") === true
          ? Effect.asVoid(request("resources/subscribe", { uri }, { limit: "list" }))
          : Effect.fail(notOffered("subscriptions to resources")),
      unsubscribeResource: (uri) =>
        era === "modern"
          ? subscriptions.remove(uri)
          : Effect.asVoid(request("resources/unsubscribe", { uri }, { limit: "list" })),
      rootsChanged: era === "modern" || handlers.roots === undefined
        ? Effect.void
        : Effect.mapError(
          peer.notify(
            "notifications/roots/list_changed",
            undefined,
            session.context("notifications/roots/list_changed")
          ),
          (error) => session.toMcpError(error, "list")
        ),
      send: ({ id, method, params }) =>
        request(method, isJsonObject(params) ? params : {}, { limit: "call" }).pipe(
          Effect.map((result): JsonRpcResponse => success(id, result)),
          Effect.catchIf(
            (error) => error.reason === "rpc",
            ({ code, data, message }) =>
              Effect.succeed(failure(id, {
                code: code ?? ErrorCode.internal_error,
                message,
                ...(data === undefined ? {} : { data })
              }))
          )
        ),
      close: agreed.close,
      closed: Effect.map(peer.closed, (error) => error ?? session.error("closed", "the connection is closed")),
      calls: session.calls,
      report: open.report
    }
  })
