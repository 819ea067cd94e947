/** Real servers of others over HTTP, both eras (readings 1.2, 1.12, D18). */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { legacyVersions, type McpHandlers, type McpListKind } from "../../src/mcp/Connection.ts"
import { HttpMcpTransport } from "../../src/mcp/HttpTransport.ts"
import type { McpEra } from "../../src/mcp/Transport.ts"
import { Http } from "../../src/platform/Http.ts"
import * as HttpServers from "../support/mcp/http.ts"
import { client, textOf } from "../support/mcp/servers.ts"

describe("sdk 1.32.2 over Streamable HTTP", () => {
  for (const version of legacyVersions) {
    it.live(`1.2 ${version}: session, calls, questions, progress, what comes on the standing stream`, () =>
      Effect.scoped(Effect.gen(function*() {
        const server = yield* HttpServers.legacy(version)
        const changed = yield* Queue.unbounded<McpListKind>()
        const updated = yield* Queue.unbounded<string>()
        const steps: Array<number> = []
        const handlers: McpHandlers = {
          roots: Effect.succeed([{ uri: "file:///work/project" }]),
          onListChanged: (kind) => Queue.offer(changed, kind),
          onResourceUpdated: (uri) => Queue.offer(updated, uri)
        }
        yield* Effect.scoped(Effect.gen(function*() {
          const connection = yield* HttpServers.connectTo(server.url, { handlers })
          assert.strictEqual(connection.kind, "http")
          assert.strictEqual(connection.era, "legacy")
          assert.strictEqual(connection.version, version)
          assert.include((yield* connection.listTools).items.map(({ name }) => name), "add")
          assert.deepStrictEqual((yield* connection.callTool("add", { a: 2, b: 3 })).structured_content, { sum: 5 })
          assert.isTrue((yield* connection.callTool("fail", {})).is_error)
          assert.include(textOf(yield* connection.callTool("roots", {})), "file:///work/project")
          yield* connection.callTool("slow", {}, {
            onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
          })
          assert.deepStrictEqual(steps, [1, 2, 3])
          assert.deepStrictEqual(yield* connection.readResource("note://blob"), [{ uri: "note://blob", blob: "AP8=" }])
          yield* connection.subscribeResource("note://one")
          assert.strictEqual(yield* Queue.take(updated), "note://one")
          yield* connection.callTool("grow", {})
          assert.strictEqual(yield* Queue.take(changed), "tools")
          const all = yield* Effect.all(
            Array.from({ length: 20 }, (_, at) => connection.callTool("add", { a: at, b: 1 })),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(all.map((each) => textOf(each)), Array.from({ length: 20 }, (_, at) => String(at + 1)))
        }))
      })).pipe(Effect.provide(HttpServers.layer)))
  }

  it.live("1.2 answers as JSON bodies", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* HttpServers.legacy("2025-06-18", true)
      const connection = yield* HttpServers.connectTo(server.url)
      assert.strictEqual(textOf(yield* connection.callTool("add", { a: 2, b: 3 })), "5")
      yield* connection.ping
    })).pipe(Effect.provide(HttpServers.layer)))
})

describe("server 2.4.0 over HTTP", () => {
  const handlers: McpHandlers = {
    roots: Effect.succeed([{ uri: "file:///work/project" }]),
    elicitForm: () => Effect.succeed({ action: "accept", content: { name: "Anna" } }),
    sampling: () => Effect.succeed({ model: "m", content: [{ type: "text", text: "Paris" }], stop_reason: "endTurn" })
  }

  it.live("1.2 modern: found out, rounds of input with the state as it came, progress, changes by listen", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* HttpServers.modern()
      const changed = yield* Queue.unbounded<McpListKind>()
      const updated = yield* Queue.unbounded<string>()
      const connection = yield* HttpServers.connectTo(server.url, {
        handlers: {
          ...handlers,
          onListChanged: (kind) => Queue.offer(changed, kind),
          onResourceUpdated: (uri) => Queue.offer(updated, uri)
        }
      })
      assert.strictEqual(connection.version, "2026-07-28")
      assert.include((yield* connection.listTools).items.map(({ name }) => name), "ask")
      assert.deepStrictEqual((yield* connection.callTool("add", { a: 1, b: 2 })).structured_content, { sum: 3 })
      assert.include(textOf(yield* connection.callTool("ask", {})), "\"same\":true")
      assert.strictEqual(textOf(yield* connection.callTool("again", { rounds: 3 })), "after 3")
      const steps: Array<number> = []
      yield* connection.callTool("slow", {}, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 2, 3])
      assert.deepStrictEqual(yield* connection.readResource("note://named/bert"), [
        { uri: "note://named/bert", text: "note of bert" }
      ])
      assert.strictEqual((yield* connection.getPrompt("greet", { who: "you" })).messages.length, 1)
      yield* connection.subscribeResource("note://one")
      server.notify.toolsChanged()
      assert.strictEqual(yield* Queue.take(changed), "tools")
      server.notify.resourceUpdated("note://one")
      assert.strictEqual(yield* Queue.take(updated), "note://one")
      yield* connection.ping
    })).pipe(Effect.provide(HttpServers.layer)))

  it.live("1.2 legacy, chosen; a server of the modern era alone, found out although the origin was a legacy one once", () =>
    Effect.scoped(Effect.gen(function*() {
      const both = yield* HttpServers.modern()
      const old = yield* HttpServers.connectTo(both.url, { protocol: "legacy" })
      assert.strictEqual(old.version, "2025-11-25")
      assert.strictEqual(textOf(yield* old.callTool("add", { a: 1, b: 2 })), "3")
      const strict = yield* HttpServers.modern("reject")
      const connection = yield* HttpServers.connectTo(strict.url, { era: "legacy" })
      assert.strictEqual(connection.version, "2026-07-28")
    })).pipe(Effect.provide(HttpServers.layer)))

  it.live("1.2 modern: the listening goes on after a cut, and says what may have been missed", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* HttpServers.modern()
      const changed = yield* Queue.unbounded<McpListKind>()
      const connection = yield* HttpServers.connectTo(server.url, {
        handlers: { onListChanged: (kind) => Queue.offer(changed, kind) }
      })
      yield* connection.subscribeResource("note://one")
      server.cut()
      const first = yield* Queue.take(changed)
      assert.include(["tools", "prompts", "resources"], first)
      assert.strictEqual(textOf(yield* connection.callTool("add", { a: 1, b: 2 })), "3")
    })).pipe(Effect.provide(HttpServers.layer)))
})

describe("what is known of an origin", () => {
  it.live("1.2 the era is found out once: the next connection to it asks no more, whichever definition it has", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* HttpServers.play(
        HttpServers.legacyPlay((_, response) => void response.writeHead(202).end())
      )
      const services = { http: yield* Http, eras: new Map<string, McpEra>() }
      for (const name of ["one", "two"]) {
        yield* new HttpMcpTransport({ server: name, url: `${server.origin}/${name}` }, services).connect(client)
      }
      assert.deepStrictEqual(
        server.methods().filter((method) => method === "server/discover" || method === "initialize"),
        ["server/discover", "initialize", "initialize"]
      )
      assert.deepStrictEqual([...services.eras], [[server.origin, "legacy"]])
    })).pipe(Effect.provide(HttpServers.layer)))
})

describe("server-everything", () => {
  it.live("1.2 Streamable HTTP: every tool is listed, a long one reports progress, one is cancelled", () =>
    Effect.scoped(Effect.gen(function*() {
      const server = yield* HttpServers.everything("streamableHttp")
      const connection = yield* HttpServers.connectTo(server.url, {
        handlers: {
          roots: Effect.succeed([{ uri: "file:///work" }]),
          sampling: () => Effect.succeed({ model: "m", content: [{ type: "text", text: "sampled" }] }),
          elicitForm: () => Effect.succeed({ action: "accept", content: {} })
        }
      })
      assert.strictEqual(connection.version, "2025-11-25")
      assert.isAtLeast((yield* connection.listTools).items.length, 13)
      assert.include(textOf(yield* connection.callTool("echo", { message: "hello" })), "hello")
      assert.include(
        textOf(yield* connection.callTool("trigger-sampling-request", { prompt: "p", maxTokens: 5 })),
        "sampled"
      )
      const steps: Array<number> = []
      yield* connection.callTool("trigger-long-running-operation", { duration: 0.2, steps: 2 }, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 2])
      const error = yield* Effect.flip(
        connection.callTool("trigger-long-running-operation", { duration: 30, steps: 1 }, { call_timeout_ms: 150 })
      )
      assert.strictEqual(error.reason, "call_timeout")
      assert.include(textOf(yield* connection.callTool("echo", { message: "again" })), "again")
    })).pipe(Effect.provide(HttpServers.layer)))

  for (const by of ["fallback", "type"] as const) {
    it.live(`D18 HTTP+SSE, by ${by}`, () =>
      Effect.scoped(Effect.gen(function*() {
        const server = yield* HttpServers.everything("sse")
        const connection = yield* HttpServers.connectTo(server.url, {
          handlers: { roots: Effect.succeed([{ uri: "file:///work" }]) }
        }, { sse: by === "type" })
        assert.strictEqual(connection.kind, "sse")
        assert.strictEqual(connection.era, "legacy")
        assert.isAtLeast((yield* connection.listTools).items.length, 13)
        assert.include(textOf(yield* connection.callTool("echo", { message: "hello" })), "hello")
        assert.include(textOf(yield* connection.callTool("get-sum", { a: 2, b: 3 })), "5")
      })).pipe(Effect.provide(HttpServers.layer)))
  }
})
