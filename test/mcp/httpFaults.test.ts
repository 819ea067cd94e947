/** HTTP servers that misbehave (readings 1.2 to 1.5): each fault is a clear error, and the connection goes on. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type * as http from "node:http"
import { bearer, type McpAuthorizer } from "../../src/mcp/Authorizer.ts"
import { McpError } from "../../src/mcp/McpError.ts"
import type { Http } from "../../src/platform/Http.ts"
import * as HttpServers from "../support/mcp/http.ts"
import { textOf } from "../support/mcp/servers.ts"

const { event, events, json, legacyPlay, modernPlay, play, result } = HttpServers
const content = (text: string) => ({ content: [{ type: "text", text }] })
const nameOf = ({ message }: HttpServers.Seen): unknown => (message["params"] as { readonly name?: unknown })?.name

const scoped = <A, E>(
  test: Effect.Effect<A, E, Http | Scope.Scope>
) => Effect.provide(Effect.scoped(test), HttpServers.layer)

/** Waits for something that the other end will do in its own time. */
const until = (test: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => test() ? Effect.void : Effect.zipRight(Effect.sleep(5), until(test)))

const asks = (seen: HttpServers.Seen): boolean => seen.message["method"] === "tools/call"

describe("sessions", () => {
  it.live("1.2 a lost session: one new initialize for all requests that met it, each sent again; DELETE at the end", () =>
    Effect.gen(function*() {
      let gone = false
      const server = yield* play(legacyPlay((seen, response) => {
        if (gone && seen.headers["mcp-session-id"] === "s1") {
          return json(
            response,
            { jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } },
            404
          )
        }
        json(response, result(seen, content(String(seen.headers["mcp-session-id"]))))
      }))
      yield* scoped(Effect.gen(function*() {
        const connection = yield* HttpServers.connectTo(server.url)
        assert.strictEqual(textOf(yield* connection.callTool("a", {})), "s1")
        gone = true
        const all = yield* Effect.all([1, 2, 3].map(() => connection.callTool("a", {})), { concurrency: "unbounded" })
        assert.deepStrictEqual(all.map(textOf), ["s2", "s2", "s2"])
      }))
      assert.strictEqual(server.methods().filter((method) => method === "initialize").length, 2)
      const initialize = server.seen.filter(({ message }) => message["method"] === "initialize")
      assert.isUndefined(initialize[1]?.headers["mcp-session-id"])
      const last = server.seen.at(-1)
      assert.strictEqual(last?.method, "DELETE")
      assert.strictEqual(last?.headers["mcp-session-id"], "s2")
      assert.strictEqual(last?.headers["mcp-protocol-version"], "2025-11-25")
    }).pipe(Effect.scoped))

  it.live("1.2 a server that says with 400 that it knows no such session is understood too", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(legacyPlay((seen, response) =>
        seen.headers["mcp-session-id"] === "s1"
          ? json(
            response,
            {
              jsonrpc: "2.0",
              id: seen.message["id"],
              error: { code: -32_000, message: "Bad Request: No valid session ID provided" }
            },
            400
          )
          : json(response, result(seen, content(String(seen.headers["mcp-session-id"]))))
      ))
      const connection = yield* HttpServers.connectTo(server.url)
      assert.strictEqual(textOf(yield* connection.callTool("a", {})), "s2")
    })))

  it.live("1.2 a session that is lost again and again is an error, not a circle", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(legacyPlay((_, response) => void response.writeHead(404).end()))
      const connection = yield* HttpServers.connectTo(server.url)
      const error = yield* Effect.flip(connection.callTool("a", {}))
      assert.strictEqual(error.reason, "session_expired")
      assert.strictEqual(server.methods().filter((method) => method === "initialize").length, 2)
    })))

  it.live("1.2 a method that is not found, under the id of its request, leaves the session alone", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(
        legacyPlay((seen, response) =>
          json(response, { jsonrpc: "2.0", id: seen.message["id"], error: { code: -32_601, message: "no" } }, 404)
        )
      )
      const connection = yield* HttpServers.connectTo(server.url)
      const error = yield* Effect.flip(connection.callTool("a", {}))
      assert.strictEqual(error.reason, "rpc")
      assert.strictEqual(error.code, -32_601)
      assert.strictEqual(server.methods().filter((method) => method === "initialize").length, 1)
    })))

  it.live("1.2 a session id that cannot stand in a header is refused", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play((seen, response) =>
        seen.message["method"] === "initialize"
          ? json(
            response,
            result(seen, { protocolVersion: "2025-11-25", capabilities: {} }),
            200,
            { "mcp-session-id": "with a blank" }
          )
          : void response.writeHead(400).end()
      )
      const error = yield* Effect.flip(HttpServers.connectTo(server.url))
      assert.strictEqual(error.reason, "protocol")
    })))
})

describe("answers that are none", () => {
  const faults: ReadonlyArray<
    readonly [string, (seen: HttpServers.Seen, response: http.ServerResponse) => void, McpError["reason"], RegExp]
  > = [
    ["a page", (_, r) => void r.writeHead(200, { "content-type": "text/html" }).end("<p>"), "protocol", /text\/html/u],
    ["nothing", (_, r) => void r.writeHead(202).end(), "protocol", /no content type/u],
    ["JSON that is no answer", (_, r) => json(r, { hello: "world" }), "protocol", /no answer/u],
    [
      "broken JSON",
      (_, r) => void r.writeHead(200, { "content-type": "application/json" }).end("{"),
      "protocol",
      /no answer/u
    ],
    ["an answer to another id", (_, r) => json(r, { jsonrpc: "2.0", id: 4_711, result: {} }), "protocol", /no answer/u],
    ["status 500", (_, r) => void r.writeHead(500).end("oops"), "http_status", /status 500/u],
    [
      "status 503 with an error",
      (s, r) => json(r, { jsonrpc: "2.0", id: s.message["id"], error: { code: -1, message: "busy" } }, 503),
      "rpc",
      /busy/u
    ],
    ["status 401", (_, r) => void r.writeHead(401).end(), "needs_login", /login/u],
    [
      "a redirect to another origin",
      (_, r) => void r.writeHead(307, { location: "http://127.0.0.2:1/mcp?token=x" }).end(),
      "http_status",
      /127\.0\.0\.2/u
    ],
    [
      "a redirect that would make a GET of it",
      (_, r) => void r.writeHead(302, { location: "/mcp" }).end(),
      "http_status",
      /302/u
    ],
    ["a circle", (_, r) => void r.writeHead(308, { location: "/mcp" }).end(), "http_status", /circle/u],
    [
      "a stream that ends",
      (_, r) => {
        events(r, ": hello")
        r.end()
      },
      "stream_lost",
      /may have run/u
    ],
    [
      "a stream that breaks",
      (_, r) => {
        events(r, ": hello")
        r.destroy()
      },
      "stream_lost",
      /may have run/u
    ],
    ["a connection that is closed", (_, r) => void r.destroy(), "network", /closed.*may have run/u],
    [
      "a body that breaks",
      (_, r) => {
        r.writeHead(200, { "content-type": "application/json", "content-length": 100 })
        r.write("{", () => r.destroy())
      },
      "network",
      /closed.*may have run/u
    ],
    [
      "an event that is too large",
      (_, r) => {
        events(r, `data: ${"x".repeat(3_000)}`)
        r.end()
      },
      "message_too_large",
      /max_message_bytes/u
    ],
    ["a body that is too large", (_, r) => json(r, { x: "x".repeat(3_000) }), "message_too_large", /max_message_bytes/u]
  ]

  for (const [what, answer, reason, words] of faults) {
    for (const [era, hands] of [["legacy", legacyPlay], ["modern", modernPlay]] as const) {
      it.live(`1.3 ${era}: ${what} is ${reason}; the connection goes on, the call is not repeated`, () =>
        scoped(Effect.gen(function*() {
          const server = yield* play(
            hands((seen, response) =>
              nameOf(seen) === "bad" ? answer(seen, response) : json(response, result(seen, content("good")))
            )
          )
          const connection = yield* HttpServers.connectTo(server.url, {}, { max_message_bytes: 2_000 })
          assert.strictEqual(textOf(yield* connection.callTool("good", {})), "good")
          const error = yield* Effect.flip(connection.callTool("bad", {}))
          assert.strictEqual(error.reason, reason)
          assert.match(error.message, words)
          assert.notInclude(error.message, "token=")
          assert.strictEqual(textOf(yield* connection.callTool("good", {})), "good")
          const bad = server.seen.filter((seen) => nameOf(seen) === "bad").length
          assert.strictEqual(bad, what === "a circle" ? 4 : 1)
        })))
    }
  }

  it.live("1.2 nothing of ours goes to another origin: no request, so no header and no token", () =>
    scoped(Effect.gen(function*() {
      const elsewhere = yield* play((seen, response) => json(response, result(seen, {})))
      const server = yield* play(
        legacyPlay((_, response) => void response.writeHead(307, { location: elsewhere.url }).end())
      )
      const connection = yield* HttpServers.connectTo(server.url, {}, { headers: { authorization: "Bearer secret-1" } })
      const error = yield* Effect.flip(connection.callTool("a", {}))
      assert.include(error.message, elsewhere.origin)
      assert.notInclude(error.message, "secret-1")
      assert.strictEqual(elsewhere.seen.length, 0)
    })))

  it.live("1.2 a redirect on the same origin that keeps the method is followed, with credentials", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(legacyPlay((seen, response) =>
        seen.url === "/mcp"
          ? void response.writeHead(308, { location: "/moved" }).end()
          : json(response, result(seen, content(String(seen.headers.authorization))))
      ))
      const connection = yield* HttpServers.connectTo(server.url, {}, { headers: { Authorization: "Bearer mine" } })
      assert.strictEqual(textOf(yield* connection.callTool("a", {})), "Bearer mine")
    })))
})

describe("time", () => {
  it.live("1.4 a half-open socket: the limit of the call, no more; the connection goes on, the socket is closed", () =>
    scoped(Effect.gen(function*() {
      let closed = false
      const server = yield* play(legacyPlay((seen, response) => {
        if (nameOf(seen) !== "silent") return json(response, result(seen, content("good")))
        response.once("close", () => {
          closed = true
        })
      }))
      const connection = yield* HttpServers.connectTo(server.url)
      const error = yield* Effect.flip(connection.callTool("silent", {}, { call_timeout_ms: 60 }))
      assert.strictEqual(error.reason, "call_timeout")
      assert.strictEqual(textOf(yield* connection.callTool("good", {})), "good")
      yield* until(() => server.methods().includes("notifications/cancelled"))
      yield* until(() => closed)
    })))

  for (const [era, hands] of [["legacy", legacyPlay], ["modern", modernPlay]] as const) {
    it.live(`1.4 ${era}: a stream of comments without end is no sign of life`, () =>
      scoped(Effect.gen(function*() {
        let ended = 0
        const server = yield* play(hands((seen, response) => {
          if (nameOf(seen) === "good") return json(response, result(seen, content("good")))
          if (!asks(seen)) return void response.writeHead(202).end()
          const timer = setInterval(() => events(response, ": still here"), 5)
          response.once("close", () => {
            clearInterval(timer)
            ended++
          })
        }))
        const connection = yield* HttpServers.connectTo(server.url)
        const error = yield* Effect.flip(connection.callTool("endless", {}, { call_timeout_ms: 80 }))
        assert.strictEqual(error.reason, "call_timeout")
        yield* until(() => ended === 1)
        assert.strictEqual(textOf(yield* connection.callTool("good", {})), "good")
        // In the modern era closing the stream says it all.
        assert.strictEqual(server.methods().includes("notifications/cancelled"), era === "legacy")
      })))
  }

  it.live("1.4 no answer to the probe: the limit of the connection, and nothing is left", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* play(() => undefined)
      const error = yield* Effect.flip(
        scoped(HttpServers.connectTo(server.url, { limits: { connect_timeout_ms: 60 } }))
      )
      assert.strictEqual(error.reason, "connect_timeout")
      yield* until(() => server.open() === 0)
    })))

  it.live("1.2 modern: interrupting a call closes its stream and nothing else", () =>
    scoped(Effect.gen(function*() {
      const came = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const server = yield* play(modernPlay((seen, response) => {
        if (nameOf(seen) === "good") return json(response, result(seen, content("good")))
        if (!asks(seen)) return void response.writeHead(404).end()
        events(response, ": working")
        response.once("close", () => Deferred.unsafeDone(closed, Effect.void))
        Deferred.unsafeDone(came, Effect.void)
      }))
      const connection = yield* HttpServers.connectTo(server.url)
      const fiber = yield* Effect.fork(connection.callTool("long", {}))
      yield* Deferred.await(came)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(closed)
      assert.strictEqual(textOf(yield* connection.callTool("good", {})), "good")
      assert.notInclude(server.methods(), "notifications/cancelled")
    })))
})

describe("streams", () => {
  it.live("1.3 an answer on the stream of another request reaches its own", () =>
    scoped(Effect.gen(function*() {
      let first: { readonly seen: HttpServers.Seen; readonly response: http.ServerResponse } | null = null
      const server = yield* play(legacyPlay((seen, response) => {
        if (!asks(seen)) return void response.writeHead(202).end()
        if (first === null) {
          first = { seen, response }
          return events(response, ": wait")
        }
        events(response, event(result(first.seen, content("first"))), event(result(seen, content("second"))))
        response.end()
      }))
      const connection = yield* HttpServers.connectTo(server.url)
      const one = yield* Effect.fork(connection.callTool("one", {}))
      yield* until(() => first !== null)
      assert.strictEqual(textOf(yield* connection.callTool("two", {})), "second")
      assert.strictEqual(textOf(yield* Fiber.join(one)), "first")
    })))

  it.live("1.2 modern: a lost stream is asked again when the call only reads, and else reported", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(modernPlay((seen, response) => {
        if (server.seen.filter((each) => nameOf(each) === nameOf(seen)).length > 1) {
          return json(response, result(seen, content("second time")))
        }
        events(response, ": hello")
        response.end()
      }))
      const connection = yield* HttpServers.connectTo(server.url)
      assert.strictEqual(textOf(yield* connection.callTool("reads", {}, { read_only: true })), "second time")
      const ids = server.seen.filter((seen) => nameOf(seen) === "reads").map(({ message }) => message["id"])
      assert.strictEqual(new Set(ids).size, 2)
      assert.strictEqual((yield* Effect.flip(connection.callTool("writes", {}))).reason, "stream_lost")
    })))

  it.live("1.2 the stream's end behind the answer is not waited for, and the connection is used again", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play(legacyPlay((seen, response) => {
        events(response, event(result(seen, content("x"))))
        response.end()
      }, false))
      const connection = yield* HttpServers.connectTo(server.url)
      for (let i = 0; i < 20; i++) yield* connection.callTool("a", {})
      assert.isAtMost(server.open(), 3)
    })))
})

describe("headers of parameters", () => {
  const schema = (annotation: object): object => ({
    type: "object",
    properties: { region: { type: "string", ...annotation } }
  })
  const refuse = (seen: HttpServers.Seen, response: http.ServerResponse): void =>
    json(
      response,
      {
        jsonrpc: "2.0",
        id: seen.message["id"],
        error: { code: -32_020, message: "Header mismatch: Mcp-Param-Region" }
      },
      400
    )

  it.live("1.2 modern: -32020 of a tool that has changed: its list is read again, the call sent once more, with the header", () =>
    scoped(Effect.gen(function*() {
      let changed = false
      const told: Array<string> = []
      const server = yield* play(modernPlay((seen, response) => {
        if (seen.message["method"] === "tools/list") {
          const inputSchema = schema(changed ? { "x-mcp-header": "Region" } : {})
          return json(response, result(seen, { resultType: "complete", tools: [{ name: "a", inputSchema }] }))
        }
        if (!asks(seen)) return void response.writeHead(404).end()
        const header = seen.headers["mcp-param-region"]
        return changed && header === undefined
          ? refuse(seen, response)
          : json(response, result(seen, { resultType: "complete", ...content(String(header)) }))
      }))
      const connection = yield* HttpServers.connectTo(server.url, {
        handlers: { onListChanged: (kind) => Effect.sync(() => void told.push(kind)) }
      })
      const [tool] = (yield* connection.listTools).items
      assert.isDefined(tool)
      if (tool === undefined) return
      assert.strictEqual(textOf(yield* connection.callTool("a", { region: "eu" }, { tool })), "undefined")
      changed = true
      told.length = 0
      const before = server.seen.length
      assert.strictEqual(textOf(yield* connection.callTool("a", { region: "eu" }, { tool })), "eu")
      const after = server.seen.slice(before)
      assert.deepStrictEqual(after.map(({ message }) => message["method"]), ["tools/call", "tools/list", "tools/call"])
      assert.strictEqual(new Set(after.map(({ message }) => message["id"])).size, 3)
      // whoever holds the list reads it again
      assert.include(told, "tools")
    })))

  it.live("1.2 modern: -32020 again, or of a tool that is gone, is the call's error", () =>
    scoped(Effect.gen(function*() {
      let gone = false
      const server = yield* play(modernPlay((seen, response) =>
        seen.message["method"] === "tools/list"
          ? json(
            response,
            result(seen, { resultType: "complete", tools: gone ? [] : [{ name: "a", inputSchema: schema({}) }] })
          )
          : asks(seen)
          ? refuse(seen, response)
          : void response.writeHead(404).end()
      ))
      const connection = yield* HttpServers.connectTo(server.url)
      const calls = (): number => server.methods().filter((method) => method === "tools/call").length
      const error = yield* Effect.flip(connection.callTool("a", { region: "eu" }))
      assert.deepStrictEqual([error.reason, error.code, calls()], ["rpc", -32_020, 2])
      gone = true
      assert.strictEqual((yield* Effect.flip(connection.callTool("a", { region: "eu" }))).code, -32_020)
      assert.strictEqual(calls(), 3)
    })))
})

describe("tokens", () => {
  const authorizer = (next: () => string | null) => {
    const refusals: Array<string | null> = []
    let current: string | null = "first"
    const made: McpAuthorizer = {
      present: () => Effect.sync(() => current === null ? null : bearer(Redacted.make(current))),
      refused: ({ used }) =>
        Effect.suspend(() => {
          refusals.push(used === null ? null : Redacted.value(used))
          current = next()
          return current === null
            ? Effect.fail(new McpError({ reason: "needs_login", server: "test", message: "log in" }))
            : Effect.succeed(true)
        })
    }
    return { made, refusals }
  }

  it.live("1.13 401 in mid-session: another token, the same request, the same session", () =>
    scoped(Effect.gen(function*() {
      let good = "Bearer first"
      const server = yield* play((seen, response, count) =>
        seen.headers.authorization !== good
          ? void response.writeHead(401, { "www-authenticate": "Bearer error=\"invalid_token\"" }).end()
          : hands(seen, response, count)
      )
      const hands = legacyPlay((seen, response) =>
        json(response, result(seen, content(String(seen.headers.authorization))))
      )
      const { made, refusals } = authorizer(() => "second")
      const connection = yield* HttpServers.connectTo(server.url, {}, { authorizer: made })
      assert.strictEqual(textOf(yield* connection.callTool("a", {})), "Bearer first")
      good = "Bearer second"
      assert.strictEqual(textOf(yield* connection.callTool("a", {})), "Bearer second")
      assert.deepStrictEqual(refusals, ["first"])
      assert.strictEqual(server.methods().filter((method) => method === "initialize").length, 1)
    })))

  it.live("1.13 a login that nobody makes is needs_login; a server that refuses every token is no endless loop", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play((_, response) => void response.writeHead(401).end())
      const none = authorizer(() => null)
      assert.strictEqual(
        (yield* Effect.flip(HttpServers.connectTo(server.url, {}, { authorizer: none.made }))).reason,
        "needs_login"
      )
      let count = 0
      const many = authorizer(() => `token ${count++}`)
      const error = yield* Effect.flip(HttpServers.connectTo(server.url, {}, { authorizer: many.made }))
      assert.strictEqual(error.reason, "needs_login")
      assert.isAtMost(count, 5)
      assert.notMatch(error.message, /token \d/u)
    })))

  it.live("1.13 an authorization of the settings is not replaced by a login", () =>
    scoped(Effect.gen(function*() {
      const server = yield* play((_, response) => void response.writeHead(401).end())
      const { made, refusals } = authorizer(() => "other")
      const error = yield* Effect.flip(
        HttpServers.connectTo(server.url, {}, { authorizer: made, headers: { AUTHORIZATION: "Bearer own" } })
      )
      assert.strictEqual(error.reason, "needs_login")
      assert.include(error.message, "mcp_servers.test.headers")
      assert.deepStrictEqual(refusals, [])
      assert.isTrue(server.seen.every(({ headers }) => headers.authorization === "Bearer own"))
    })))
})

describe("HTTP+SSE", () => {
  const sse = (endpoint: (origin: string) => string) =>
    Effect.gen(function*() {
      let stream: http.ServerResponse | null = null
      const server: HttpServers.Played = yield* play((seen, response) => {
        if (seen.method === "GET") {
          stream = response
          return events(response, `event: endpoint\ndata: ${endpoint(server.origin)}`)
        }
        response.writeHead(202).end()
        if (stream === null || seen.message["id"] === undefined) return
        const initialize = seen.message["method"] === "initialize"
        events(
          stream,
          event(result(seen, initialize ? { protocolVersion: "2024-11-05", capabilities: {} } : content("x")))
        )
      })
      return { server, end: () => stream?.destroy() }
    })

  it.live("D18 the endpoint must have the origin of the stream", () =>
    scoped(Effect.gen(function*() {
      const { server } = yield* sse(() => "http://127.0.0.2:1/messages")
      const error = yield* Effect.flip(HttpServers.connectTo(server.url, {}, { sse: true }))
      assert.strictEqual(error.reason, "protocol")
      assert.include(error.message, "another origin")
      assert.deepStrictEqual(server.methods(), ["GET"])
    })))

  it.live("1.5 a stream whose messages are refused as unknown is a connection that is over", () =>
    scoped(Effect.gen(function*() {
      let known = true
      let stream: http.ServerResponse | null = null
      const server = yield* play((seen, response) => {
        if (seen.method === "GET") {
          stream = response
          return events(response, "event: endpoint\ndata: /messages")
        }
        if (!known) return void response.writeHead(404).end()
        response.writeHead(202).end()
        if (stream !== null && seen.message["method"] === "initialize") {
          events(stream, event(result(seen, { protocolVersion: "2024-11-05", capabilities: {} })))
        }
      })
      const connection = yield* HttpServers.connectTo(server.url, {}, { sse: true })
      known = false
      assert.strictEqual((yield* Effect.flip(connection.callTool("a", {}))).status, 404)
      assert.strictEqual((yield* connection.closed).status, 404)
    })))

  it.live("1.5 the stream's end is the connection's end, with what was in flight", () =>
    scoped(Effect.gen(function*() {
      const { end, server } = yield* sse((origin) => `${origin}/messages?id=1`)
      const connection = yield* HttpServers.connectTo(server.url, {}, { sse: true })
      assert.strictEqual(connection.version, "2024-11-05")
      assert.strictEqual(textOf(yield* connection.callTool("a", {})), "x")
      assert.isTrue(server.seen.slice(1).every(({ url }) => url === "/messages?id=1"))
      end()
      const error = yield* connection.closed
      assert.include(["network", "closed"], error.reason)
      assert.include(["network", "closed"], (yield* Effect.flip(connection.callTool("a", {}))).reason)
    })))
})
