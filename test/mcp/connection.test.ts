/** Connections under a clock that tests move (readings 1.2 to 1.4, 1.10 to 1.12, 1.14). */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as JsonRpc from "../../src/codec/JsonRpc.ts"
import { connect } from "../../src/mcp/Connect.ts"
import type { ConnectOptions, McpHandlers, McpListKind } from "../../src/mcp/Connection.ts"
import type { McpTransport } from "../../src/mcp/Transport.ts"
import { JsonRpcRefusal } from "../../src/rpc/JsonRpcPeer.ts"
import * as Memory from "../support/mcp/memory.ts"
import { settled } from "../support/wire.ts"

const client: ConnectOptions = { client_info: { name: "hanzo-dev", version: "0.1.0" } }
const to = (memory: { readonly transport: McpTransport }, options: Partial<ConnectOptions> = {}) =>
  connect(memory.transport, { ...client, ...options })

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more })
const text = (value: string) => ({ content: [{ type: "text", text: value }] })

describe("eras", () => {
  it.scoped("1.2 stdio: silence of 2 s and not less means legacy; the late answer changes nothing", () =>
    Effect.gen(function*() {
      const memory = Memory.make(({ method }) =>
        method === "initialize" ? { protocolVersion: "2025-06-18", capabilities: {} } : undefined
      )
      const fiber = yield* Effect.fork(to(memory))
      yield* settled
      yield* TestClock.adjust(Duration.millis(1_999))
      assert.deepStrictEqual(memory.methods(), ["server/discover"])
      yield* TestClock.adjust(Duration.millis(1))
      const connection = yield* Fiber.join(fiber)
      memory.say(JsonRpc.success(1, { supportedVersions: ["2026-07-28"], capabilities: {} }))
      yield* settled
      assert.strictEqual(connection.era, "legacy")
      assert.strictEqual(connection.version, "2025-06-18")
      assert.deepStrictEqual(memory.methods(), ["server/discover", "initialize", "notifications/initialized"])
      assert.deepStrictEqual(memory.negotiated, [{ era: "legacy", version: "2025-06-18" }])
      assert.strictEqual(memory.sent[2]?.context?.version, "2025-06-18")
      assert.strictEqual(memory.sent[1]?.context?.version, null)
    }))

  it.scoped("1.2 stdio: a modern server that was slow to start refuses the handshake, is asked again and is modern", () =>
    Effect.gen(function*() {
      let asked = 0
      const memory = Memory.make(({ method }) =>
        method === "initialize"
          ? Effect.fail(Memory.rpcError(-32_601))
          : method !== "server/discover" || asked++ === 0
          ? undefined
          : { supportedVersions: ["2026-07-28"], capabilities: {} }
      )
      const fiber = yield* Effect.fork(to(memory))
      yield* settled
      yield* TestClock.adjust(Duration.seconds(2))
      assert.strictEqual((yield* Fiber.join(fiber)).era, "modern")
    }))

  it.scoped("1.2 a legacy server that refuses the handshake is not offered it twice", () =>
    Effect.gen(function*() {
      const memory = Memory.make(({ method }) =>
        method === "initialize"
          ? Effect.fail(Memory.rpcError(-32_000, undefined, "no licence"))
          : Effect.fail(Memory.rpcError(-32_601))
      )
      for (const era of ["legacy", undefined] as const) {
        const error = yield* Effect.flip(to(memory, era === undefined ? {} : { era }))
        assert.strictEqual(error.reason, "rpc")
        assert.include(error.message, "no licence")
      }
      assert.deepStrictEqual(memory.methods(), ["initialize", "server/discover", "server/discover", "initialize"])
    }))

  it.scoped("1.2 a version that is refused: the best of those named, of either era, without falling back blindly", () =>
    Effect.gen(function*() {
      const refusing = (supported: ReadonlyArray<string>) =>
        Memory.make(({ method, params }) =>
          method === "server/discover"
            ? Effect.fail(Memory.rpcError(-32_022, { supported, requested: "2026-07-28" }))
            : method === "initialize"
            ? { protocolVersion: params["protocolVersion"], capabilities: {} }
            : undefined
        )
      const dual = refusing(["2030-01-01", "2025-03-26"])
      assert.strictEqual((yield* to(dual)).version, "2025-03-26")
      assert.strictEqual(dual.paramsOf("initialize")[0]?.["protocolVersion"], "2025-03-26")
      const future = refusing(["2030-01-01"])
      const error = yield* Effect.flip(to(future))
      assert.strictEqual(error.reason, "unsupported_protocol_version")
      assert.include(error.message, "2030-01-01")
      assert.include(error.message, "2026-07-28")
      assert.notInclude(future.methods(), "initialize")
      const forced = yield* Effect.flip(to(refusing(["2025-11-25"]), { protocol: "2026-07-28" }))
      assert.strictEqual(forced.reason, "unsupported_protocol_version")
    }))

  it.scoped("1.2 another modern error stays modern: no handshake behind it", () =>
    Effect.gen(function*() {
      for (const code of [-32_020, -32_021]) {
        const memory = Memory.make(() => Effect.fail(Memory.rpcError(code)))
        const error = yield* Effect.flip(to(memory))
        assert.strictEqual(error.code, code)
        assert.notInclude(memory.methods(), "initialize")
      }
    }))

  it.scoped("1.2 HTTP: 4xx without a modern body is legacy, 5xx and lost networks are not; 405 on initialize: the fallback", () =>
    Effect.gen(function*() {
      const plain = Memory.make(
        ({ method }) =>
          method === "server/discover"
            ? Effect.fail(Memory.error("http_status", { status: 400 }))
            : { protocolVersion: "2025-11-25", capabilities: {} },
        { kind: "http" }
      )
      assert.strictEqual((yield* to(plain)).era, "legacy")
      assert.strictEqual(plain.opened(), 1)
      for (
        const failure of [
          Memory.error("http_status", { status: 503 }),
          Memory.error("network"),
          Memory.error("needs_login")
        ]
      ) {
        const broken = Memory.make(() => Effect.fail(failure), { kind: "http" })
        assert.strictEqual((yield* Effect.flip(to(broken))).reason, failure.reason)
      }
      const old = Memory.make(Memory.legacy(() => undefined, "2024-11-05"), { kind: "sse" })
      const gone = Memory.make(() => Effect.fail(Memory.error("http_status", { status: 405 })), {
        kind: "http",
        fallback: old.transport
      })
      const connection = yield* to(gone)
      assert.strictEqual(connection.kind, "sse")
      assert.strictEqual(connection.version, "2024-11-05")
      assert.strictEqual(gone.closed(), 1)
    }))

  it.scoped("1.4 the connect limit covers all of it, and what was opened is closed", () =>
    Effect.gen(function*() {
      const memory = Memory.make(() => undefined)
      const fiber = yield* Effect.fork(Effect.flip(to(memory)))
      yield* settled
      yield* TestClock.adjust(Duration.millis(9_999))
      assert.deepStrictEqual(memory.methods(), ["server/discover", "initialize"])
      yield* TestClock.adjust(Duration.millis(1))
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error.reason, "connect_timeout")
      assert.include(error.message, "10000 ms")
      assert.include(error.message, "initialize")
      yield* settled
      assert.strictEqual(memory.closed(), 1)
    }))

  it.scoped("1.2 modern: version, client and capabilities on every request, progress tokens on calls, log level when wanted", () =>
    Effect.gen(function*() {
      const memory = Memory.make(
        Memory.modern(({ method }) =>
          method === "tools/list"
            ? { tools: [tool("t")], ttlMs: 5_000 }
            : method === "tools/call"
            ? text("ok")
            : undefined
        )
      )
      const connection = yield* to(memory, { handlers: { roots: Effect.succeed([]) } })
      assert.strictEqual((yield* connection.listTools).ttl_ms, 5_000)
      yield* connection.setLogLevel("debug")
      yield* connection.callTool("t", {})
      const requests = memory.sent.filter(({ message }) => JsonRpc.isRequest(message))
      assert.isAtLeast(requests.length, 3)
      for (const { context, message } of requests) {
        assert.isTrue(JsonRpc.isRequest(message) && JsonRpc.isJsonObject(message.params))
        if (!JsonRpc.isRequest(message) || !JsonRpc.isJsonObject(message.params)) continue
        const meta = message.params["_meta"] as JsonRpc.JsonRpcObject
        assert.strictEqual(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28")
        assert.deepStrictEqual(meta["io.modelcontextprotocol/clientInfo"], client.client_info)
        assert.deepStrictEqual(meta["io.modelcontextprotocol/clientCapabilities"], { roots: {} })
        assert.strictEqual(
          meta["io.modelcontextprotocol/logLevel"],
          message.method === "tools/call" ? "debug" : undefined
        )
        assert.strictEqual(meta["progressToken"], message.method === "tools/call" ? message.id : undefined)
        assert.strictEqual(context?.version, "2026-07-28")
        assert.strictEqual(context?.method, message.method)
      }
      const called = memory.sent.find(({ context }) => context?.method === "tools/call")
      assert.strictEqual(called?.context?.name, "t")
      assert.deepStrictEqual(called?.context?.input_schema, { type: "object" })
    }))

  it.scoped("2026-07-28: a request of a modern server is not answered", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.modern(() => text("ok")))
      const connection = yield* to(memory)
      memory.say(JsonRpc.request("x", "ping"))
      yield* connection.callTool("t", {})
      yield* settled
      assert.deepStrictEqual(memory.answers(), [])
    }))
})

describe("limits", () => {
  it.scoped("1.4 progress restarts the limit of its call, up to call_max_ms", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory)
      const fiber = yield* Effect.fork(Effect.flip(connection.callTool("slow", {})))
      yield* settled
      const token = Reflect.get(memory.paramsOf("tools/call")[0]?.["_meta"] ?? {}, "progressToken") as number
      for (let minute = 0; minute < 10; minute++) {
        yield* TestClock.adjust(Duration.millis(59_999))
        memory.say(JsonRpc.notification("notifications/progress", { progressToken: token, progress: minute }))
        yield* settled
      }
      assert.strictEqual(connection.calls().length, 1)
      yield* TestClock.adjust(Duration.millis(10))
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error.reason, "call_max")
      assert.strictEqual(error.limit_ms, 600_000)
      assert.include(error.message, "call_max_ms")
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("notifications/cancelled").map((params) => params["requestId"]), [token])
    }))

  it.scoped("1.4 while the user answers a question of the server, the limits of the call stand still", () =>
    Effect.gen(function*() {
      const answer = yield* Deferred.make<"accept">()
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory, {
        handlers: { elicitForm: () => Effect.as(Deferred.await(answer), { action: "accept", content: {} }) }
      })
      const fiber = yield* Effect.fork(connection.callTool("slow", {}))
      yield* settled
      memory.say(
        JsonRpc.request("q", "elicitation/create", {
          message: "?",
          requestedSchema: { type: "object", properties: {} }
        })
      )
      yield* settled
      yield* TestClock.adjust(Duration.hours(3))
      assert.strictEqual(connection.calls().length, 1)
      yield* Deferred.succeed(answer, "accept")
      yield* settled
      assert.deepStrictEqual(memory.answers(), [JsonRpc.success("q", { action: "accept", content: {} })])
      yield* TestClock.adjust(Duration.millis(59_999))
      memory.say(JsonRpc.success(3, text("done")))
      assert.isFalse((yield* Fiber.join(fiber)).is_error)
    }))

  it.scoped("1.4 a list has a limit a page", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(({ params }) =>
        params["cursor"] === undefined ? { tools: [tool("a")], nextCursor: "x" } : undefined
      ))
      const connection = yield* to(memory)
      const fiber = yield* Effect.fork(connection.listTools)
      yield* settled
      yield* TestClock.adjust(Duration.seconds(30))
      const listing = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        listing.items.map(({ name }) =>
          name
        ),
        ["a"]
      )
      assert.strictEqual(listing.problem?.reason, "list_timeout")
    }))

  it.scoped("1.2 HTTP of the modern era: giving up closes the stream and says nothing else", () =>
    Effect.gen(function*() {
      let interrupted = 0
      const memory = Memory.make(
        Memory.modern(({ method }) =>
          method === "tools/call"
            ? Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
            : undefined
        ),
        { kind: "http" }
      )
      const connection = yield* to(memory)
      const fiber = yield* Effect.fork(connection.callTool("t", {}))
      yield* settled
      yield* Fiber.interrupt(fiber)
      yield* settled
      assert.strictEqual(interrupted, 1)
      assert.notInclude(memory.methods(), "notifications/cancelled")
    }))
})

describe("lists", () => {
  const listing = (play: Memory.Play) =>
    Effect.flatMap(to(Memory.make(Memory.legacy(play))), (connection) => connection.listTools)
  const page = (play: (cursor: unknown) => JsonRpc.JsonRpcObject): Memory.Play => ({ params }) => play(params["cursor"])

  it.scoped("1.11 all pages; an empty string is a cursor", () =>
    Effect.gen(function*() {
      const all = yield* listing(page((cursor) =>
        cursor === undefined
          ? { tools: [tool("a")], nextCursor: "" }
          : cursor === ""
          ? { tools: [tool("b")], nextCursor: "x" }
          : { tools: [tool("c")], nextCursor: null }
      ))
      assert.deepStrictEqual(all.items.map(({ name }) => name), ["a", "b", "c"])
      assert.strictEqual(all.problem, null)
      assert.strictEqual(all.pages, 3)
      assert.strictEqual(all.ttl_ms, 0)
    }))

  it.scoped("1.11 a repeated cursor ends it and keeps what was read", () =>
    Effect.gen(function*() {
      const all = yield* listing(
        page((cursor) => ({ tools: [tool(`t${cursor}`)], nextCursor: cursor === "a" ? "b" : "a" }))
      )
      assert.deepStrictEqual(all.items.map(({ name }) => name), ["tundefined", "ta", "tb"])
      assert.strictEqual(all.problem?.reason, "repeated_cursor")
    }))

  it.scoped("1.11 page 1,001 is an error; 1,000 pages are not", () =>
    Effect.gen(function*() {
      const to1000 = (last: number) =>
        listing(page((cursor) => {
          const n = Number(cursor ?? 1)
          return { tools: [tool(`t${n}`)], ...(n === last ? {} : { nextCursor: String(n + 1) }) }
        }))
      const fits = yield* to1000(1_000)
      assert.strictEqual(fits.items.length, 1_000)
      assert.strictEqual(fits.problem, null)
      const over = yield* to1000(1_001)
      assert.strictEqual(over.items.length, 1_000)
      assert.strictEqual(over.problem?.reason, "too_many_pages")
    }))

  it.scoped("1.11 an error on a later page keeps what was read, on the first one it is the error", () =>
    Effect.gen(function*() {
      const later = yield* listing(({ params }) =>
        params["cursor"] === undefined
          ? { tools: [tool("a")], nextCursor: "x" }
          : Effect.fail(Memory.rpcError(-32_602))
      )
      assert.deepStrictEqual(later.items.map(({ name }) => name), ["a"])
      assert.strictEqual(later.problem?.reason, "rpc")
      assert.strictEqual((yield* Effect.flip(listing(() => ({ nothing: true })))).reason, "protocol")
    }))

  it.scoped("1.10 tools that cannot be used are left out, the others stay, schemas pass unchanged", () =>
    Effect.gen(function*() {
      const remote = { type: "object", properties: { x: { $ref: "https://127.0.0.1:1/schema" } }, "x-more": [1] }
      const all = yield* listing(() => ({
        tools: [
          tool("a", { description: "first" }),
          { inputSchema: { type: "object" } },
          tool(""),
          { name: "s", inputSchema: "no" },
          { name: "t", inputSchema: { type: "string" } },
          tool("a", { description: "second" }),
          null,
          { name: "r", inputSchema: remote, title: "R", annotations: { readOnlyHint: true } }
        ]
      }))
      assert.deepStrictEqual(all.items.map(({ description, name }) => [name, description]), [["a", "first"], ["r", ""]])
      assert.strictEqual(all.dropped.length, 6)
      assert.deepStrictEqual(all.items[1]?.input_schema, remote)
      assert.strictEqual(all.problem, null)
    }))

  it.scoped("1.2 a tool that the wire cannot carry is left out", () =>
    Effect.gen(function*() {
      const memory = Memory.make(
        Memory.modern(() => ({ tools: [tool("a"), tool("b", { inputSchema: { type: "object", bad: 1 } })] })),
        {
          refusesTool: (era, schema) => era === "modern" && schema["bad"] === 1 ? "its x-mcp-header is empty" : null
        }
      )
      const all = yield* (yield* to(memory)).listTools
      assert.deepStrictEqual(all.items.map(({ name }) => name), ["a"])
      assert.include(all.dropped[0], "x-mcp-header")
    }))

  it.scoped("what a server does not have is said without asking it; tools are asked for all the same", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(() => ({ tools: [tool("hidden")] }), "2025-11-25", {}))
      const connection = yield* to(memory)
      for (
        const effect of [
          Effect.asVoid(connection.listPrompts),
          Effect.asVoid(connection.listResources),
          Effect.asVoid(connection.listResourceTemplates),
          Effect.asVoid(connection.subscribeResource("x:y")),
          Effect.asVoid(connection.complete({ ref: { type: "prompt", name: "p" }, argument: { name: "a", value: "" } }))
        ]
      ) {
        assert.strictEqual(
          (yield* Effect.flip(effect)).reason,
          "not_offered"
        )
      }
      assert.strictEqual((yield* connection.listTools).items.length, 1)
      assert.deepStrictEqual(memory.methods().slice(3), ["tools/list"])
    }))
})

describe("rounds of input", () => {
  const asking = (requests: JsonRpc.JsonRpcObject, more: JsonRpc.JsonRpcObject = {}) =>
    Memory.make(Memory.modern(({ method, params }) =>
      method !== "tools/call"
        ? undefined
        : params["inputResponses"] === undefined
        ? { resultType: "input_required", inputRequests: requests, ...more }
        : text("thanks")
    ))

  it.scoped("1.2 a new id each round, the same arguments, no state when none was given", () =>
    Effect.gen(function*() {
      const memory = asking({ r: { method: "roots/list" } })
      const connection = yield* to(memory, { handlers: { roots: Effect.succeed([{ uri: "file:///x" }]) } })
      yield* connection.callTool("t", { a: 1 })
      const calls = memory.sent.flatMap(({ message }) =>
        JsonRpc.isRequest(message) && message.method === "tools/call" ? [message] : []
      )
      assert.strictEqual(new Set(calls.map(({ id }) => id)).size, 2)
      const second = calls[1]?.params as JsonRpc.JsonRpcObject
      assert.deepStrictEqual(second["arguments"], { a: 1 })
      assert.deepStrictEqual(second["inputResponses"], { r: { roots: [{ uri: "file:///x" }] } })
      assert.notProperty(second, "requestState")
    }))

  it.scoped("1.2 what was not offered or is none fails the call, and nothing is sent again", () =>
    Effect.gen(function*() {
      const cases = [
        [asking({ s: { method: "sampling/createMessage", params: {} } }), "rpc"],
        [asking({ s: { method: "tools/list" } }), "protocol"],
        [asking({ s: null }), "protocol"],
        [Memory.make(Memory.modern(() => ({ resultType: "input_required" }))), "protocol"],
        [Memory.make(Memory.modern(() => ({ resultType: "later" }))), "protocol"]
      ] as const
      for (const [memory, reason] of cases) {
        const connection = yield* to(memory)
        assert.strictEqual((yield* Effect.flip(connection.callTool("t", {}))).reason, reason)
        assert.strictEqual(memory.paramsOf("tools/call").length, 1)
      }
    }))

  it.scoped("1.12 a refusal of a handler is the call's error", () =>
    Effect.gen(function*() {
      const memory = asking({
        s: {
          method: "sampling/createMessage",
          params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 5 }
        }
      })
      const connection = yield* to(memory, {
        handlers: { sampling: () => Effect.fail(new JsonRpcRefusal({ code: -1, message: "rejected" })) }
      })
      const error = yield* Effect.flip(connection.callTool("t", {}))
      assert.strictEqual(error.code, -1)
      assert.include(error.message, "rejected")
    }))

  it.scoped("1.2 rounds belong to prompts and resources too", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.modern(({ method, params }) => {
        if (method === "subscriptions/listen") return undefined
        if (params["requestState"] === undefined) {
          return { resultType: "input_required", requestState: { any: ["json"] } }
        }
        assert.deepStrictEqual(params["requestState"], { any: ["json"] })
        return method === "prompts/get" ? { messages: [] } : { contents: [] }
      }))
      const connection = yield* to(memory)
      assert.deepStrictEqual((yield* connection.getPrompt("p", {})).messages, [])
      assert.deepStrictEqual(yield* connection.readResource("x:y"), [])
    }))
})

describe("HTTP", () => {
  it.scoped("1.2 a session that is gone: one new handshake for all, the refused requests once more", () =>
    Effect.gen(function*() {
      const changed: Array<McpListKind> = []
      let session = 0
      const memory = Memory.make(
        (message, say, opening) => {
          if (message.method === "initialize") session++
          return Memory.legacy(({ method }) =>
            method !== "tools/call"
              ? undefined
              : session === 1
              ? Effect.fail(Memory.error("session_expired"))
              : text("ok")
          )(
            message,
            say,
            opening
          )
        },
        { kind: "http" }
      )
      const connection = yield* to(memory, {
        handlers: { onListChanged: (kind) => Effect.sync(() => void changed.push(kind)) }
      })
      const results = yield* Effect.forEach([1, 2, 3], () => connection.callTool("t", {}), { concurrency: 3 })
      assert.strictEqual(results.length, 3)
      assert.strictEqual(memory.resets(), 1)
      assert.strictEqual(session, 2)
      assert.deepStrictEqual(changed, ["tools", "prompts", "resources"])
      assert.strictEqual(memory.paramsOf("tools/call").length, 6)
    }))

  it.scoped("1.2 gone again right away is an error, not a loop", () =>
    Effect.gen(function*() {
      const memory = Memory.make(
        Memory.legacy(({ method }) =>
          method === "tools/call" ? Effect.fail(Memory.error("session_expired")) : undefined
        ),
        { kind: "http" }
      )
      const connection = yield* to(memory)
      assert.strictEqual((yield* Effect.flip(connection.callTool("t", {}))).reason, "session_expired")
      assert.strictEqual(memory.paramsOf("tools/call").length, 2)
    }))

  it.scoped("1.2, 1.5 a lost stream: only what changes nothing goes out again, once, under a new id", () =>
    Effect.gen(function*() {
      let broken = 0
      const memory = Memory.make(
        Memory.modern(({ method }) => {
          if (method === "subscriptions/listen") return undefined
          broken++
          return broken % 2 === 1
            ? Effect.fail(Memory.error("stream_lost"))
            : method === "tools/list"
            ? { tools: [] }
            : text("ok")
        }),
        { kind: "http" }
      )
      const connection = yield* to(memory)
      assert.strictEqual((yield* connection.listTools).problem, null)
      assert.isFalse((yield* connection.callTool("t", {}, { read_only: true })).is_error)
      assert.strictEqual((yield* Effect.flip(connection.callTool("t", {}))).reason, "stream_lost")
      assert.strictEqual(memory.paramsOf("tools/call").length, 3)
    }))

  it.scoped("1.2 modern: listening again after a loss, with growing waits, and what may have been missed is told", () =>
    Effect.gen(function*() {
      const changed: Array<McpListKind> = []
      let listens = 0
      const memory = Memory.make(
        Memory.modern(({ id, method }, say) => {
          if (method !== "subscriptions/listen") return undefined
          listens++
          const meta = { "io.modelcontextprotocol/subscriptionId": id }
          if (listens === 2) return Effect.fail(Memory.error("network"))
          say(JsonRpc.notification("notifications/subscriptions/acknowledged", { _meta: meta, notifications: {} }), id)
          return listens === 1 ? Effect.zipRight(settled, Effect.fail(Memory.error("stream_lost"))) : Effect.never
        }, { tools: {}, prompts: {} }),
        { kind: "http" }
      )
      yield* to(memory, { handlers: { onListChanged: (kind) => Effect.sync(() => void changed.push(kind)) } })
      yield* settled
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("subscriptions/listen")[0]?.["notifications"], {
        toolsListChanged: true,
        promptsListChanged: true
      })
      assert.deepStrictEqual(changed, [])
      const steps = [[499, 1], [1, 2], [999, 2], [1, 3]] as const
      for (const [ms, count] of steps) {
        yield* TestClock.adjust(Duration.millis(ms))
        assert.strictEqual(listens, count)
      }
      yield* settled
      assert.strictEqual(listens, 3)
      assert.deepStrictEqual(changed, ["tools", "prompts"])
    }).pipe(Effect.withRandomFixed([0.9999])))

  it.scoped("1.2 modern: a server without subscriptions is left alone", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.modern(({ method }) =>
        method === "subscriptions/listen" ? Effect.fail(Memory.rpcError(-32_601)) : text("ok")
      ))
      const connection = yield* to(memory)
      yield* settled
      yield* TestClock.adjust(Duration.hours(1))
      assert.strictEqual(memory.paramsOf("subscriptions/listen").length, 1)
      assert.strictEqual((yield* Effect.flip(connection.subscribeResource("x:y"))).reason, "rpc")
      assert.isFalse((yield* connection.callTool("t", {})).is_error)
    }))
})

describe("what servers ask", () => {
  const ask = (handlers: McpHandlers, method: string, params: JsonRpc.JsonRpcObject, version = "2025-11-25") =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(() => undefined, version))
      yield* to(memory, { handlers })
      memory.say(JsonRpc.request("q", method, params))
      yield* settled
      const [answer] = memory.answers()
      return { answer, declared: memory.paramsOf("initialize")[0]?.["capabilities"] }
    })
  const codeOf = (answer: JsonRpc.JsonRpcMessage | undefined): number | undefined =>
    answer !== undefined && "error" in answer ? answer.error.code : undefined
  const message = (content: unknown) => ({ messages: [{ role: "user", content }], maxTokens: 9 })
  const block = { type: "text", text: "?" }

  it.scoped("1.12 what is declared is what there is a handler for", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ask({}, "ping", {})).declared, {})
      const all: McpHandlers = {
        roots: Effect.succeed([]),
        sampling: () => Effect.succeed({ model: "m", content: [] }),
        sampling_tools: true,
        elicitForm: () => Effect.succeed({ action: "cancel" }),
        elicitUrl: () => Effect.succeed("cancel")
      }
      assert.deepStrictEqual((yield* ask(all, "ping", {})).declared, {
        roots: { listChanged: true },
        sampling: { tools: {} },
        elicitation: { form: {}, url: {} }
      })
    }))

  it.scoped("1.12 tools and several blocks in sampling: only where the revision has them and we declared it", () =>
    Effect.gen(function*() {
      const sampling = (tools: boolean): McpHandlers => ({
        sampling: () =>
          Effect.succeed({ model: "m", content: [block, { type: "text", text: "!" }], stop_reason: "endTurn" }),
        sampling_tools: tools
      })
      const withTools = { ...message(block), tools: [tool("x")], toolChoice: { mode: "auto" } }
      assert.strictEqual(codeOf((yield* ask(sampling(false), "sampling/createMessage", withTools)).answer), -32_602)
      assert.strictEqual(
        codeOf((yield* ask(sampling(true), "sampling/createMessage", withTools, "2025-06-18")).answer),
        -32_602
      )
      assert.strictEqual(
        codeOf((yield* ask(sampling(true), "sampling/createMessage", message([block]), "2025-06-18")).answer),
        -32_602
      )
      assert.deepStrictEqual(
        (yield* ask(sampling(true), "sampling/createMessage", withTools)).answer,
        JsonRpc.success("q", {
          role: "assistant",
          content: [block, { type: "text", text: "!" }],
          model: "m",
          stopReason: "endTurn"
        })
      )
      assert.deepStrictEqual(
        (yield* ask(sampling(true), "sampling/createMessage", message(block), "2024-11-05")).answer,
        JsonRpc.success("q", {
          role: "assistant",
          content: { type: "text", text: "?\n!" },
          model: "m",
          stopReason: "endTurn"
        })
      )
    }))

  it.scoped("1.12 malformed questions are invalid params, and reach no handler", () =>
    Effect.gen(function*() {
      const never: McpHandlers = {
        sampling: () => Effect.die("reached"),
        elicitForm: () => Effect.die("reached"),
        elicitUrl: () => Effect.die("reached")
      }
      const cases: ReadonlyArray<readonly [string, JsonRpc.JsonRpcObject]> = [
        ["sampling/createMessage", {}],
        ["sampling/createMessage", { messages: [], maxTokens: 0 }],
        ["sampling/createMessage", { messages: [{ role: "system", content: block }], maxTokens: 1 }],
        ["elicitation/create", {}],
        ["elicitation/create", { message: "m", requestedSchema: { type: "array" } }],
        ["elicitation/create", {
          message: "m",
          requestedSchema: { type: "object", properties: { a: { type: "object" } } }
        }],
        ["elicitation/create", { mode: "url", message: "m", url: "not a url" }],
        ["elicitation/create", { mode: "smoke", message: "m" }]
      ]
      for (const [method, params] of cases) {
        assert.strictEqual(codeOf((yield* ask(never, method, params)).answer), -32_602, JSON.stringify(params))
      }
    }))

  it.scoped("1.12 URL mode: the whole address and its host; decline and cancel stay apart", () =>
    Effect.gen(function*() {
      for (const action of ["accept", "decline", "cancel"] as const) {
        let shown: unknown
        const { answer } = yield* ask(
          { elicitUrl: (request) => Effect.sync(() => (shown = request, action)) },
          "elicitation/create",
          { mode: "url", message: "m", url: "https://user@example.com:8443/a?b=c#d", elicitationId: "e1" }
        )
        assert.deepStrictEqual(shown, {
          message: "m",
          url: "https://user@example.com:8443/a?b=c#d",
          host: "example.com:8443",
          elicitation_id: "e1"
        })
        assert.deepStrictEqual(answer, JsonRpc.success("q", { action }))
      }
    }))

  it.scoped("1.12 a cancelled question interrupts its handler and is not answered", () =>
    Effect.gen(function*() {
      let stopped = false
      const memory = Memory.make(Memory.legacy(() => undefined))
      yield* to(memory, {
        handlers: { elicitUrl: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (stopped = true))) }
      })
      memory.say(JsonRpc.request("q", "elicitation/create", { mode: "url", message: "m", url: "https://x/" }))
      yield* settled
      memory.say(JsonRpc.notification("notifications/cancelled", { requestId: "q" }))
      yield* settled
      assert.isTrue(stopped)
      assert.deepStrictEqual(memory.answers(), [])
    }))

  it.scoped("2025-11-25: pages to visit first are shown, the call is not repeated", () =>
    Effect.gen(function*() {
      const shown: Array<unknown> = []
      const done: Array<string> = []
      const memory = Memory.make(Memory.legacy(({ method }) =>
        method === "tools/call"
          ? Effect.fail(Memory.rpcError(-32_042, {
            elicitations: [{ mode: "url", message: "m", url: "https://x/1", elicitationId: "e" }]
          }))
          : undefined
      ))
      const connection = yield* to(memory, {
        handlers: {
          elicitUrl: ({ url }) => Effect.sync(() => (shown.push(url), "accept" as const)),
          onElicitationComplete: (id) => Effect.sync(() => void done.push(id))
        }
      })
      const error = yield* Effect.flip(connection.callTool("t", {}))
      assert.strictEqual(error.code, -32_042)
      assert.include(error.message, "call it again")
      assert.deepStrictEqual(shown, ["https://x/1"])
      assert.strictEqual(memory.paramsOf("tools/call").length, 1)
      memory.say(JsonRpc.notification("notifications/elicitation/complete", { elicitationId: "e" }))
      yield* settled
      assert.deepStrictEqual(done, ["e"])
    }))
})

describe("calls", () => {
  it.scoped("2025-11-25 tasks: interrupting the call cancels the task; the poll interval is the server's", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(({ method }) =>
        method === "tools/list"
          ? { tools: [tool("t", { execution: { taskSupport: "required" } })] }
          : method === "tools/call"
          ? { task: { taskId: "T", status: "working", pollInterval: 5_000 } }
          : method === "tasks/get"
          ? { taskId: "T", status: "working", pollInterval: 5_000 }
          : {}
      ))
      const connection = yield* to(memory)
      yield* connection.listTools
      const fiber = yield* Effect.fork(connection.callTool("t", {}))
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("tools/call")[0]?.["task"], { ttl: 600_000 })
      yield* TestClock.adjust(Duration.millis(4_999))
      assert.strictEqual(memory.paramsOf("tasks/get").length, 0)
      yield* TestClock.adjust(Duration.millis(5_001))
      assert.strictEqual(memory.paramsOf("tasks/get").length, 2)
      yield* Fiber.interrupt(fiber)
      yield* settled
      assert.deepStrictEqual(memory.paramsOf("tasks/cancel").map((params) => params["taskId"]), ["T"])
    }))

  it.scoped("2025-11-25 tasks: call_max_ms holds, a cancelled task is an error", () =>
    Effect.gen(function*() {
      let status = "working"
      const memory = Memory.make(Memory.legacy(({ method }) =>
        method === "tools/call" || method === "tasks/get"
          ? { task: { taskId: "T", status, pollInterval: 10_000 }, taskId: "T", status, pollInterval: 10_000 }
          : {}
      ))
      const connection = yield* to(memory)
      const required = { name: "t", description: "", input_schema: {}, task: "required", raw: {} } as const
      const fiber = yield* Effect.fork(
        Effect.flip(connection.callTool("t", {}, { tool: required, call_max_ms: 25_000 }))
      )
      yield* settled
      yield* TestClock.adjust(Duration.millis(25_000))
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "call_max")
      status = "cancelled"
      assert.strictEqual((yield* Effect.flip(connection.callTool("t", {}, { tool: required }))).reason, "cancelled")
    }))

  it.scoped("output schemas: what fits, what does not, what is missing, what cannot be checked", () =>
    Effect.gen(function*() {
      const schema = (more: object) => ({
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: { n: { type: "integer", ...more } },
        required: ["n"]
      })
      const results: Record<string, object> = {
        fits: { structuredContent: { n: 1 } },
        wrong: { structuredContent: { n: "one" } },
        missing: {},
        failed: { isError: true },
        remote: { structuredContent: { n: "one" } },
        pattern: { structuredContent: { n: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" } }
      }
      const memory = Memory.make(Memory.legacy(({ method, params }) =>
        method === "tools/list"
          ? {
            tools: [
              tool("fits", { outputSchema: schema({}) }),
              tool("wrong", { outputSchema: schema({}) }),
              tool("missing", { outputSchema: schema({}) }),
              tool("failed", { outputSchema: schema({}) }),
              tool("remote", { outputSchema: { $ref: "https://127.0.0.1:1/x" } }),
              tool("pattern", {
                outputSchema: { type: "object", properties: { n: { type: "string", pattern: "^(a+)+$" } } }
              })
            ]
          }
          : { content: [], ...results[String(params["name"])] }
      ))
      const connection = yield* to(memory)
      yield* connection.listTools
      const problem = (name: string) => Effect.map(connection.callTool(name, {}), (result) => result.schema_problem)
      assert.strictEqual(yield* problem("fits"), null)
      assert.include((yield* problem("wrong")) ?? "", "/n must be integer")
      assert.include((yield* problem("missing")) ?? "", "no structured content")
      assert.strictEqual(yield* problem("failed"), null)
      assert.strictEqual(yield* problem("remote"), null)
      assert.strictEqual(yield* problem("pattern"), null)
    }))

  it.scoped("1.14 a resource over 8 MiB is an error that names its size", () =>
    Effect.gen(function*() {
      const blob = "A".repeat(Math.ceil((8 * 1024 * 1024 + 3) * 4 / 3))
      const memory = Memory.make(Memory.legacy(({ params }) => ({
        contents: [{ uri: params["uri"], blob: params["uri"] === "x:big" ? blob : "AAAA" }]
      })))
      const connection = yield* to(memory)
      const error = yield* Effect.flip(connection.readResource("x:big"))
      assert.strictEqual(error.reason, "too_large")
      assert.match(error.message, /83886\d\d bytes/u)
      assert.deepStrictEqual(yield* connection.readResource("x:small"), [{ uri: "x:small", blob: "AAAA" }])
    }))

  it.scoped("1.12 the roots changed: a legacy server is told, a modern one not", () =>
    Effect.gen(function*() {
      const roots: McpHandlers = { roots: Effect.succeed([]) }
      const old = Memory.make(Memory.legacy(() => undefined))
      yield* (yield* to(old, { handlers: roots })).rootsChanged
      assert.include(old.methods(), "notifications/roots/list_changed")
      const now = Memory.make(Memory.modern(() => undefined))
      yield* (yield* to(now, { handlers: roots })).rootsChanged
      assert.notInclude(now.methods(), "notifications/roots/list_changed")
    }))

  it.scoped("HIP-301: send takes any request and gives its answer under the id that was given; close ends it", () =>
    Effect.gen(function*() {
      const memory = Memory.make(
        Memory.legacy(({ method, params }) =>
          method === "x/known"
            ? { got: params["a"] }
            : method === "x/hang"
            ? undefined
            : Effect.fail(Memory.rpcError(-32_601))
        )
      )
      const connection = yield* to(memory)
      assert.deepStrictEqual(
        yield* connection.send(JsonRpc.request("mine", "x/known", { a: 1 })),
        JsonRpc.success("mine", { got: 1 })
      )
      const refused = yield* connection.send(JsonRpc.request(77, "x/unknown"))
      assert.isTrue("error" in refused && refused.id === 77 && refused.error.code === -32_601)
      const fiber = yield* Effect.fork(Effect.flip(connection.send(JsonRpc.request(1, "x/hang"))))
      yield* settled
      yield* connection.close
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "closed")
      assert.strictEqual((yield* connection.closed).reason, "closed")
      assert.strictEqual(memory.closed(), 1)
    }))

  it.scoped("1.5 the end of a connection fails its calls with the reason", () =>
    Effect.gen(function*() {
      const memory = Memory.make(Memory.legacy(() => undefined))
      const connection = yield* to(memory)
      const fiber = yield* Effect.fork(Effect.flip(connection.callTool("t", {})))
      yield* settled
      yield* memory.end(Memory.error("exited"))
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "exited")
      assert.strictEqual((yield* connection.closed).reason, "exited")
    }))
})
