/** Streams of the HTTP transport under a clock that the test moves (readings 1.2: resume; G7). */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { isJsonObject, type JsonRpcObject } from "../../src/codec/JsonRpc.ts"
import { HttpMcpTransport } from "../../src/mcp/HttpTransport.ts"
import { HttpError, type HttpRequest, type HttpResponse, type HttpService } from "../../src/platform/Http.ts"
import { client, textOf } from "../support/mcp/servers.ts"
import { settled } from "../support/wire.ts"

const encoder = new TextEncoder()

interface Open {
  readonly request: HttpRequest
  readonly message: JsonRpcObject
  /** Bytes of the body; ended by `end` or `break`. */
  readonly write: (text: string) => Effect.Effect<unknown>
  readonly end: Effect.Effect<unknown>
  readonly cut: Effect.Effect<unknown>
}

type Answer = { readonly status: number; readonly type?: string; readonly body?: string } | "stream"

/** An HTTP client whose other end is a function. */
const make = (answer: (request: HttpRequest, message: JsonRpcObject) => Answer) =>
  Effect.gen(function*() {
    const opened: Array<Open> = []
    const requests: Array<HttpRequest> = []
    const http: HttpService = {
      request: (request) =>
        Effect.gen(function*() {
          requests.push(request)
          const parsed: unknown = request.body === undefined ? {} : JSON.parse(String(request.body))
          const message = isJsonObject(parsed) ? parsed : {}
          const said = answer(request, message)
          const body = yield* Queue.unbounded<Uint8Array | null | HttpError>()
          if (said === "stream") {
            opened.push({
              request,
              message,
              write: (text) => Queue.offer(body, encoder.encode(text)),
              end: Queue.offer(body, null),
              cut: Queue.offer(body, new HttpError({ reason: "reset", message: "cut" }))
            })
          } else {
            if (said.body !== undefined) yield* Queue.offer(body, encoder.encode(said.body))
            yield* Queue.offer(body, null)
          }
          const read: HttpResponse["read"] = Effect.flatMap(Queue.take(body), (next) =>
            next === null
              ? Effect.succeed(Option.none())
              : next instanceof HttpError
              ? Effect.fail(next)
              : Effect.succeed(Option.some(next)))
          const type = said === "stream" ? "text/event-stream" : said.type ?? "application/json"
          return {
            url: request.url,
            status: said === "stream" ? 200 : said.status,
            headers: { "content-type": type, "mcp-session-id": "s1" },
            read,
            body: Stream.empty,
            release: Effect.void
          }
        })
    }
    const last = (): Open => {
      const found = opened.at(-1)
      if (found === undefined) throw new Error("no stream is open")
      return found
    }
    return { http, opened, requests, last, gets: () => requests.filter(({ method }) => method === "GET") }
  })

const result = (message: JsonRpcObject, value: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id: message["id"], result: value })

/** A legacy server without a standing stream, unless `standing`. Calls are answered by streams. */
const server = (standing = false, resumed: (count: number) => Answer = () => "stream") => {
  let resumes = 0
  return make((request, message) => {
    if (request.method === "GET") {
      return request.headers?.["last-event-id"] === undefined
        ? standing ? "stream" : { status: 405 }
        : resumed(++resumes)
    }
    switch (message["method"]) {
      case "server/discover":
        return { status: 400, body: "" }
      case "initialize":
        return { status: 200, body: result(message, { protocolVersion: "2025-11-25", capabilities: {} }) }
      case "tools/call":
        return "stream"
      default:
        return { status: 202 }
    }
  })
}

const connect = (http: HttpService) =>
  new HttpMcpTransport({ server: "test", url: "http://127.0.0.1/mcp" }, { http }).connect(client)

describe("resumption", () => {
  it.scoped("1.2 by GET with the last event id, after exactly the retry that was asked for: not earlier, not later", () =>
    Effect.gen(function*() {
      const wire = yield* server()
      const connection = yield* connect(wire.http)
      const before = wire.gets().length
      const call = yield* Effect.fork(connection.callTool("a", {}))
      yield* settled
      const first = wire.last()
      yield* first.write("id: e1\nretry: 500\ndata: \n\n")
      yield* first.end
      yield* settled
      yield* TestClock.adjust("499 millis")
      assert.strictEqual(wire.gets().length, before)
      yield* TestClock.adjust("1 millis")
      yield* settled
      assert.strictEqual(wire.gets().length, before + 1)
      const second = wire.last()
      assert.strictEqual(second.request.headers?.["last-event-id"], "e1")
      assert.strictEqual(second.request.headers?.["mcp-session-id"], "s1")
      // The next wait is the one asked for last; ids go on where they are not named again.
      yield* second.write("retry: 2000\n: nothing\n\n")
      yield* second.end
      yield* settled
      yield* TestClock.adjust("1999 millis")
      assert.strictEqual(wire.gets().length, before + 1)
      yield* TestClock.adjust("1 millis")
      yield* settled
      const third = wire.last()
      assert.strictEqual(third.request.headers?.["last-event-id"], "e1")
      yield* third.write(`id: e2\ndata: ${result(first.message, { content: [{ type: "text", text: "late" }] })}\n\n`)
      assert.strictEqual(textOf(yield* Fiber.join(call)), "late")
    }))

  it.scoped("1.2 a stream that broke is resumed too; an event without its blank line comes again", () =>
    Effect.gen(function*() {
      const wire = yield* server()
      const connection = yield* connect(wire.http)
      const call = yield* Effect.fork(connection.callTool("a", {}))
      yield* settled
      const first = wire.last()
      const answer = result(first.message, { content: [{ type: "text", text: "whole" }] })
      yield* first.write("id: e1\ndata: \n\n")
      yield* first.write(`id: e2\ndata: ${answer}\n`)
      yield* first.cut
      yield* settled
      yield* TestClock.adjust("1 seconds")
      yield* settled
      assert.strictEqual(wire.last().request.headers?.["last-event-id"], "e1")
      yield* wire.last().write(`id: e2\ndata: ${answer}\n\n`)
      assert.strictEqual(textOf(yield* Fiber.join(call)), "whole")
    }))

  it.scoped("1.2 without an event id there is nothing to resume; a server that refuses to is not asked again", () =>
    Effect.gen(function*() {
      const wire = yield* server(false, () => ({ status: 405 }))
      const connection = yield* connect(wire.http)
      const plain = yield* Effect.fork(Effect.flip(connection.callTool("a", {})))
      yield* settled
      yield* wire.last().write(": hello\n\n")
      yield* wire.last().end
      assert.strictEqual((yield* Fiber.join(plain)).reason, "stream_lost")
      const refused = yield* Effect.fork(Effect.flip(connection.callTool("a", {})))
      yield* settled
      yield* wire.last().write("id: e1\nretry: 10\ndata: \n\n")
      yield* wire.last().end
      yield* settled
      yield* TestClock.adjust("10 millis")
      const error = yield* Fiber.join(refused)
      assert.strictEqual(error.reason, "stream_lost")
      assert.include(error.message, "may have run")
    }))

  it.scoped("1.2 a server that is away is asked a few times more, then the stream is lost", () =>
    Effect.gen(function*() {
      let asked = 0
      const wire = yield* server(false, (count) => {
        asked = count
        return { status: 503 }
      })
      const connection = yield* connect(wire.http)
      const call = yield* Effect.fork(Effect.flip(connection.callTool("a", {})))
      yield* settled
      yield* wire.last().write("id: e1\ndata: \n\n")
      yield* wire.last().end
      for (let i = 0; i < 100; i++) {
        yield* settled
        yield* TestClock.adjust("1 seconds")
      }
      const error = yield* Fiber.join(call)
      // The call's own limit may be the shorter one.
      assert.include(["stream_lost", "call_timeout"], error.reason)
      assert.isAtLeast(asked, 3)
      assert.isAtMost(asked, 6)
    }))

  it.scoped("1.4 waiting for a retry counts towards the limit of the call", () =>
    Effect.gen(function*() {
      const wire = yield* server()
      const connection = yield* connect(wire.http)
      const call = yield* Effect.fork(Effect.flip(connection.callTool("a", {}, { call_timeout_ms: 5_000 })))
      yield* settled
      yield* wire.last().write("id: e1\nretry: 3000000000\ndata: \n\n")
      yield* wire.last().end
      yield* settled
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(call)).reason, "call_timeout")
    }))
})

describe("the standing stream", () => {
  it.scoped("1.2 is opened after the handshake, goes on by its last id and its retry, and ends with the connection", () =>
    Effect.gen(function*() {
      const wire = yield* server(true)
      const changed = yield* Deferred.make<void>()
      yield* Effect.scoped(Effect.gen(function*() {
        yield* new HttpMcpTransport({ server: "test", url: "http://127.0.0.1/mcp" }, { http: wire.http }).connect({
          ...client,
          handlers: { onListChanged: () => Deferred.succeed(changed, undefined) }
        })
        yield* settled
        assert.strictEqual(wire.gets().length, 1)
        yield* wire.last().write(
          `id: g1\nretry: 700\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`
        )
        yield* Deferred.await(changed)
        yield* wire.last().end
        yield* settled
        yield* TestClock.adjust("699 millis")
        assert.strictEqual(wire.gets().length, 1)
        yield* TestClock.adjust("1 millis")
        yield* settled
        assert.strictEqual(wire.gets()[1]?.headers?.["last-event-id"], "g1")
      }))
      assert.strictEqual(wire.requests.at(-1)?.method, "DELETE")
      const count = wire.requests.length
      yield* TestClock.adjust("1 hours")
      yield* settled
      assert.strictEqual(wire.requests.length, count)
    }))

  it.scoped("1.2 that ends at once again and again is asked for less and less often; 405 ends it", () =>
    Effect.gen(function*() {
      let closed = 0
      const wire = yield* make((request, message) => {
        if (request.method === "GET") {
          return ++closed > 20
            ? { status: 405 }
            : { status: 200, type: "text/event-stream" }
        }
        return message["method"] === "initialize"
          ? { status: 200, body: result(message, { protocolVersion: "2025-03-26", capabilities: {} }) }
          : message["method"] === "server/discover"
          ? { status: 400 }
          : { status: 202 }
      })
      yield* connect(wire.http)
      for (let i = 0; i < 60; i++) {
        yield* settled
        yield* TestClock.adjust("1 seconds")
      }
      assert.isAtLeast(closed, 3)
      assert.isAtMost(closed, 9)
      // The version header is younger than this revision.
      assert.isTrue(wire.gets().every(({ headers }) => headers?.["mcp-protocol-version"] === undefined))
    }))
})
