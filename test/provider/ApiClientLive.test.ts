import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { ServerResponse } from "node:http"
import { Config } from "../../src/config/Config.ts"
import { Credentials } from "../../src/credentials/Credentials.ts"
import { ApiError } from "../../src/domain/Failure.ts"
import { text } from "../../src/domain/MessageParts.ts"
import type { ResponseEvent } from "../../src/domain/ResponseEvent.ts"
import type { StreamEvent } from "../../src/domain/StreamEvent.ts"
import { ApiClient } from "../../src/domain/ApiClient.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import type { ProtocolName } from "../../src/protocol/Protocol.ts"
import { AgentRunGateway } from "../../src/provider/AgentRunGateway.ts"
import * as ApiClientLive from "../../src/provider/ApiClientLive.ts"
import { LocalServers } from "../../src/provider/LocalServers.ts"
import { ScriptedModels } from "../../src/provider/ScriptedModels.ts"
import { Targets } from "../../src/provider/Targets.ts"
import { isTerminal } from "../support/responseEvent.ts"
import { startUpstream, type Upstream, type UpstreamOptions } from "../support/upstream/index.ts"
import { drive, serve, type TestServer } from "./support.ts"

const secret = "sk-proj-Very+Secret/key=0123456789"

const scenarios = Layer.succeed(ScriptedModels, {
  find: (name) =>
    Effect.succeed(
      name === "known"
        ? Option.some({ sendMessage: () => Stream.make<[StreamEvent]>({ type: "content_delta", text: "scripted" }) })
        : Option.none()
    ),
  names: Effect.succeed(["known"])
})

type Faults = NonNullable<UpstreamOptions["faults"]>

interface Given {
  readonly origin: string
  readonly protocol?: ProtocolName
  readonly settings?: object
  readonly key?: string | null
}

const layer = ({ key = secret, origin, protocol = "chat", settings = {} }: Given) =>
  ApiClientLive.layer.pipe(
    Layer.provideMerge(AgentRunGateway.layer),
    Layer.provideMerge(Targets.layer),
    Layer.provide([Credentials.layerKeys, scenarios, LocalServers.layerNone, Http.layer]),
    Layer.provide(Config.layerText(JSON.stringify({
      providers: {
        up: { protocol, base_url: origin, ...(key === null ? {} : { api_key: key }), ...settings }
      }
    }))),
    Layer.provide(Environment.layerTest())
  )

const messages = [{ role: "user" as const, content: [text("hello")] }]
const tool = {
  name: "bash",
  description: "runs",
  input_schema: { type: "object", properties: { command: { type: "string" } } }
}

const send = (given: Given, options: object = {}) =>
  Stream.unwrap(Effect.map(ApiClient, (client) => client.sendMessage(messages, [tool], { model: "up/m", ...options })))
    .pipe(
      Stream.provideLayer(layer(given))
    )

const collect = (given: Given, options: object = {}) =>
  Effect.map(Stream.runCollect(send(given, options)), Chunk.toReadonlyArray)

const gatewayEvents = (given: Given, stream: boolean, options: object = {}) =>
  Effect.flatMap(AgentRunGateway, (gateway) =>
    Effect.map(
      Stream.runCollect(gateway.stream({ messages, tools: [tool], stream, options: { model: "up/m", ...options } })),
      Chunk.toReadonlyArray
    )).pipe(Effect.provide(layer(given)))

const textOf = (events: ReadonlyArray<StreamEvent>) =>
  events.reduce((all, event) => event.type === "content_delta" ? all + event.text : all, "")

const last = (events: ReadonlyArray<StreamEvent>): StreamEvent => {
  const end = events.at(-1)
  if (end === undefined) return assert.fail("no event at all")
  const terminals = events.filter((event) => event.type === "message_stop" || event.type === "error")
  assert.deepStrictEqual(terminals, [end], "exactly one terminal, and nothing after it")
  return end
}

const upstream = (options: UpstreamOptions) =>
  Effect.acquireRelease(Effect.promise(() => startUpstream(options)), (up) => Effect.promise(() => up.close()))

const protocols: ReadonlyArray<ProtocolName> = ["anthropic", "chat", "responses"]

const overProtocols = (
  name: string,
  options: UpstreamOptions,
  check: (up: Upstream, given: Given) => Effect.Effect<void, ApiError | ReadonlyArray<StreamEvent>>
) => {
  for (const protocol of protocols) {
    it.scoped(`${name} (${protocol})`, () =>
      Effect.flatMap(upstream(options), (up) => check(up, { origin: up.url, protocol })))
  }
}

describe("ApiClientLive", () => {
  describe("against a strict upstream", () => {
    overProtocols("text: the request is legal, the answer whole, usage counted", {
      final_text: "Grüße, 世界 🌍",
      usage: { input: 11, output: 7 },
      split_utf8: true,
      pings: true
    }, (up, given) =>
      Effect.gen(function*() {
        const events = yield* collect(given)
        assert.strictEqual(textOf(events), "Grüße, 世界 🌍")
        const end = last(events)
        assert.isTrue(end.type === "message_stop" && end.stop_reason === "end_turn")
        const usage = events.filter((event) => event.type === "usage").at(-1)
        assert.isTrue(usage?.type === "usage" && usage.usage.input_tokens === 11 && usage.usage.output_tokens === 7)
        assert.deepStrictEqual(up.violations(), [])
        const sent = up.log[0]
        assert.isTrue(sent?.stream)
        assert.strictEqual(sent?.auth.length, 1)
      }))

    overProtocols("tool calls", { tool_turns: 1, parallel: 2 }, (up, given) =>
      Effect.gen(function*() {
        const events = yield* collect(given)
        const calls = events.flatMap((event) => event.type === "tool_use" ? [event.input] : [])
        assert.deepStrictEqual(calls, [{ command: "echo turn-1-1" }, { command: "echo turn-1-2" }])
        const end = last(events)
        assert.isTrue(end.type === "message_stop" && end.stop_reason === "tool_use")
        assert.deepStrictEqual(up.violations(), [])
      }))

    for (
      const [name, options] of [
        ["one byte a write, CRLF, BOM", { chunk: 1, line_end: "crlf", bom: true }],
        ["bare CR, no space, no [DONE], last frame unterminated", {
          line_end: "cr",
          no_space: true,
          done: false,
          unterminated: true
        }],
        ["compressed", { gzip: true }],
        ["no usage", { usage: false }]
      ] as const
    ) {
      overProtocols(name, { final_text: "same text", ...options }, (_, given) =>
        Effect.gen(function*() {
          const events = yield* collect(given)
          assert.strictEqual(textOf(events), "same text")
          assert.strictEqual(last(events).type, "message_stop")
        }))
    }

    overProtocols(
      "stream: false gives the same canonical outcome",
      { tool_turns: 1, preface: "first" },
      (up, given) =>
        Effect.gen(function*() {
          const outcome = (events: ReadonlyArray<ResponseEvent>) => {
            const end = events.at(-1)
            assert.isTrue(end !== undefined && isTerminal(end))
            return end !== undefined && "response" in end
              ? end.response.output.map((item) => item.type === "message" ? item.content : item.type)
              : []
          }
          const streamed = outcome(yield* gatewayEvents(given, true))
          const whole = outcome(yield* gatewayEvents(given, false))
          assert.deepStrictEqual(whole, streamed)
          assert.deepStrictEqual(up.log.map((request) => request.stream), [true, false])
          assert.deepStrictEqual(up.violations(), [])
        })
    )

    overProtocols("complete: the sum of the events", { final_text: "all of it" }, (_, given) =>
      Effect.gen(function*() {
        const gateway = yield* AgentRunGateway
        const response = yield* gateway.complete({ messages, tools: [], options: { model: "up/m" } })
        assert.strictEqual(response.status, "completed")
        assert.strictEqual(JSON.stringify(response.output).includes("all of it"), true)
      }).pipe(Effect.provide(layer(given))))

    // ---- faults (protocols, section 16)

    const failures: ReadonlyArray<readonly [string, Faults, Partial<ApiError>]> = [
      ["429 with Retry-After", { all: { kind: "status", status: 429, retry_after: 3 } }, {
        reason: "rate_limited",
        retryable: true,
        retry_after_ms: 3000,
        status: 429
      }],
      ["529", { all: { kind: "status", status: 529 } }, { reason: "overloaded", retryable: true }],
      ["500", { all: { kind: "status", status: 500 } }, { reason: "server", retryable: true }],
      ["500 with x-should-retry: false", { all: { kind: "status", status: 500, should_retry: false } }, {
        reason: "server",
        retryable: false
      }],
      ["400", { all: { kind: "status", status: 400 } }, { reason: "bad_request", retryable: false }],
      ["401", { all: { kind: "status", status: 401, message: `bad key ${secret}` } }, {
        reason: "auth",
        retryable: false
      }],
      ["404", { all: { kind: "status", status: 404 } }, { reason: "not_found", retryable: false }],
      ["HTML with 502", { all: { kind: "html", status: 502 } }, { reason: "server", retryable: true }],
      ["HTML with 200", { all: { kind: "html" } }, { reason: "invalid_response", retryable: false }],
      ["broken JSON with 200", { all: { kind: "broken_json" } }, { reason: "invalid_response", retryable: false }],
      ["no answer at all", { all: { kind: "drop_before_headers" } }, { reason: "network", retryable: true }]
    ]
    for (const [name, faults, expected] of failures) {
      overProtocols(
        `${name}: the stream fails, nothing was shown`,
        { faults },
        (up, given) =>
          Effect.gen(function*() {
            const error = yield* Effect.flip(collect(given))
            assert.instanceOf(error, ApiError)
            for (const [key, value] of Object.entries(expected)) {
              assert.strictEqual(error[key as keyof ApiError], value, `${key}: ${error.message}`)
            }
            assert.strictEqual(error.provider, "up")
            assert.notInclude(JSON.stringify(error) + error.message, secret)
            assert.strictEqual(up.counts().generations, 1, "this layer does not retry")
          })
      )
    }

    const told: ReadonlyArray<readonly [string, Faults, ReadonlyArray<string>]> = [
      ["401", { all: { kind: "status", status: 401, message: "the words." } }, [
        "up refused the key for model m (401): the words; check settings, providers.up.api_key"
      ]],
      ["403", { all: { kind: "status", status: 403, message: "the words" } }, [
        "up does not let this key use model m (403): the words; check settings, providers.up.api_key",
        "-m"
      ]],
      ["404", { all: { kind: "status", status: 404, message: "the words" } }, [
        "model m of up not found at ORIGIN/",
        "(404): the words; ",
        "-m up/MODEL",
        "providers.up.models",
        "providers.up.base_url"
      ]],
      ["HTML with 200", { all: { kind: "html" } }, ["ORIGIN/", "answers 200 with a web page", "base_url of up"]],
      ["no answer", { all: { kind: "drop_before_headers" } }, ["POST ORIGIN/v1/"]]
    ]
    for (const [name, faults, parts] of told) {
      overProtocols(
        `${name}: the message names provider, model, address and what to do`,
        { faults },
        (up, given) =>
          Effect.gen(function*() {
            const { message } = yield* Effect.flip(collect(given))
            for (const part of parts) assert.include(message, part.replace("ORIGIN", up.url))
          })
      )
    }

    it.scoped("an address is named without query, user and password", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => void response.writeHead(404).end("{}"))
        const origin = `${server.origin}/some/path?sig=query-secret-value`
        const refused = yield* Effect.flip(collect({ origin, key: null }))
        assert.include(refused.message, `${server.origin}/some/path`)
        assert.notInclude(refused.message, "query-secret-value")
        const nobody = yield* Effect.flip(collect({ origin: "http://127.0.0.1:1/some/path?sig=query-secret-value" }))
        assert.include(nobody.message, "http://127.0.0.1:1/some/path")
        assert.notInclude(nobody.message, "query-secret-value")
      }))

    it.scoped("401 without a key: how to give one; with a header of the settings: where that stands", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => void response.writeHead(401).end("{}"))
        const bare = yield* Effect.flip(collect({ origin: server.origin, key: null }))
        assert.include(bare.message, "up wants a key for model m (401)")
        assert.include(bare.message, "set providers.up.api_key_env or providers.up.api_key")
        const own = yield* Effect.flip(
          collect({
            origin: server.origin,
            key: null,
            settings: { headers: { authorization: "Bearer own-header-key" } }
          })
        )
        assert.include(own.message, "check providers.up.headers")
        assert.notInclude(own.message, "own-header-key")
      }))

    overProtocols("JSON error with 200: by its inner code", {
      faults: { all: { kind: "json_error", type: "overloaded_error", code: "server_is_overloaded" } }
    }, (_, given) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(collect(given))
        assert.strictEqual(error.reason, "overloaded")
      }))

    const broken: ReadonlyArray<readonly [string, Faults, string]> = [
      ["a drop in mid-stream", { all: { kind: "drop", after: 4 } }, "dropped"],
      ["a drop right after the head", { all: { kind: "drop", after: 0 } }, "dropped"],
      ["2.5: a clean end without a terminal", { all: { kind: "truncate", after: 4 } }, "truncated"],
      ["2.5: an empty stream", { all: { kind: "empty" } }, "truncated"]
    ]
    for (const [name, faults, code] of broken) {
      overProtocols(`${name} is the terminal event ${code}`, {
        final_text: "some words of an answer",
        faults
      }, (_, given) =>
        Effect.gen(function*() {
          const events = yield* collect(given)
          const end = last(events)
          assert.isTrue(end.type === "error" && end.code === code && end.retryable, JSON.stringify(end))
        }))
    }

    overProtocols("an error event ends the stream at once with its own error", {
      final_text: "some words of an answer",
      faults: { all: { kind: "error_event", after: 4, message: `no more, ${secret}` } }
    }, (_, given) =>
      Effect.gen(function*() {
        const events = yield* collect(given)
        const end = last(events)
        assert.isTrue(end.type === "error" && end.message.startsWith("no more"), JSON.stringify(end))
        assert.notInclude(JSON.stringify(events), secret)
      }))

    overProtocols("a stall is the terminal event stalled, and the connection is closed", {
      final_text: "some words of an answer",
      faults: { all: { kind: "hang", after: 4 } }
    }, (up, given) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.fork(collect(given))
        yield* Effect.promise(() => up.until((log) => log[0]?.hanging === true))
        const end = last(yield* drive(fiber, "300 seconds"))
        assert.isTrue(end.type === "error" && end.code === "stalled" && end.retryable, JSON.stringify(end))
        yield* Effect.promise(() => up.until((log) => log[0]?.client_closed === true))
      }))

    overProtocols("interruption before the head and in mid-stream closes the connection", {
      final_text: "some words of an answer",
      faults: { 1: { kind: "hang_before_headers" }, 2: { kind: "hang", after: 4 } }
    }, (up, given) =>
      Effect.gen(function*() {
        for (const n of [0, 1]) {
          const fiber = yield* Effect.fork(collect(given))
          yield* Effect.promise(() => up.until((log) => log[n]?.hanging === true))
          yield* Fiber.interrupt(fiber)
          yield* Effect.promise(() => up.until((log) => log[n]?.client_closed === true))
        }
      }))
  })

  describe("details", () => {
    const sse = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/event-stream" })
    const delta = (content: string) =>
      `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta: { content } }] })}\n\n`
    const finish = `data: ${
      JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })
    }\n\n`
    const usage = `data: ${
      JSON.stringify({
        id: "c",
        model: "m",
        choices: [],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
      })
    }\n\n`
    const given = (server: TestServer, settings: object = {}): Given => ({ origin: server.origin, settings })

    it.scoped("ends at the terminal without waiting for the end of the body", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          sse(response)
          response.write(delta("a") + finish + usage + "data: [DONE]\n\n")
        })
        const events = yield* collect(given(server))
        assert.strictEqual(textOf(events), "a")
        assert.strictEqual(last(events).type, "message_stop")
      }))

    it.scoped("requests one after another share a connection", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          sse(response)
          response.end(delta("a") + finish + usage + "data: [DONE]\n\n")
        })
        yield* Effect.gen(function*() {
          const client = yield* ApiClient
          for (let i = 0; i < 8; i++) yield* Stream.runDrain(client.sendMessage(messages, [], { model: "up/m" }))
        }).pipe(Effect.provide(layer(given(server))))
        // The end of a body may come as a read of its own, after the next request has begun.
        assert.isAtMost(server.connections(), 3)
      }))

    it.scoped("a named finish without counts and without an end is a success after two quiet seconds", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          sse(response)
          response.write(delta("a") + finish)
        })
        const fiber = yield* Effect.fork(collect(given(server)))
        yield* Queue.take(server.requests)
        assert.strictEqual(last(yield* drive(fiber, "2 seconds")).type, "message_stop")
      }))

    it.scoped("a drop after the named finish does not undo it", () =>
      Effect.gen(function*() {
        const server = yield* serve((response, _, request) => {
          sse(response)
          response.write(delta("a") + finish, () => request.socket.destroy())
        })
        assert.strictEqual(last(yield* collect(given(server))).type, "message_stop")
      }))

    it.scoped("one chunk a network read", () =>
      Effect.gen(function*() {
        const more = yield* Queue.unbounded<(last: boolean) => void>()
        const server = yield* serve((response) => {
          sse(response)
          response.write(delta("a") + delta("b") + delta("c"))
          more.unsafeOffer(() => response.end(delta("d") + finish + usage))
        })
        const chunks: Array<string> = []
        yield* Stream.runForEachChunk(send(given(server)), (chunk) =>
          Effect.gen(function*() {
            const words = textOf(Chunk.toReadonlyArray(chunk))
            if (words !== "") chunks.push(words)
            if (words === "abc") (yield* Queue.take(more))(true)
          }))
        assert.deepStrictEqual(chunks, ["abc", "d"])
      }))

    it.scoped("G2: the key in the answer's text, in pieces, is in no event", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          sse(response)
          response.write(delta(`you sent ${secret.slice(0, 12)}`))
          response.end(delta(`${secret.slice(12)}, said I`) + finish + usage)
        })
        const events = yield* collect(given(server))
        assert.strictEqual(textOf(events), "you sent [redacted], said I")
        assert.notInclude(JSON.stringify(events), secret.slice(12))
      }))

    it.scoped("2.6: one immediate retry after the head limit, on a new connection; then the failure", () =>
      Effect.gen(function*() {
        let n = 0
        const server = yield* serve((response) => {
          if (++n !== 2) return
          sse(response)
          response.end(delta("late") + finish)
        })
        const second = yield* Effect.fork(collect(given(server)))
        yield* Queue.take(server.requests)
        yield* TestClock.adjust("120 seconds")
        assert.strictEqual(textOf(yield* Fiber.join(second)), "late")
        assert.strictEqual(server.connections(), 2)
        const third = yield* Effect.fork(collect(given(server)))
        yield* Queue.take(server.requests)
        for (let i = 0; i < 2; i++) {
          yield* Queue.take(server.requests)
          yield* TestClock.adjust("120 seconds")
        }
        const error = yield* Effect.flip(Fiber.join(third))
        assert.isTrue(error.reason === "timeout" && error.retryable)
        assert.strictEqual(n, 4)
      }))

    it.scoped("events under another content type, or under none, are read all the same", () =>
      Effect.gen(function*() {
        for (const type of ["application/json", "text/plain; charset=utf-8"]) {
          const server = yield* serve((response) => {
            response.setHeader("content-type", type)
            response.end(`\n\n: hello\n\n${delta("a")}${finish}`)
          })
          assert.strictEqual(textOf(yield* collect(given(server))), "a")
        }
      }))

    it.scoped("an empty answer that calls itself no stream, and an oversize frame, are invalid responses", () =>
      Effect.gen(function*() {
        const empty = yield* serve((response) => response.writeHead(204).end())
        const error = yield* Effect.flip(collect(given(empty)))
        assert.isTrue(error.reason === "invalid_response" && !error.retryable)
        const big = yield* serve((response) => {
          sse(response)
          response.write(delta("a") + "data: ")
          const piece = "x".repeat(1 << 20)
          const more = () => {
            while (!response.destroyed && response.write(piece)) { /* until it is full */ }
            if (!response.destroyed) response.once("drain", more)
          }
          more()
        })
        const events = yield* collect(given(big))
        const end = last(events)
        assert.strictEqual(textOf(events), "a")
        assert.isTrue(end.type === "error" && end.code === "invalid_response" && !end.retryable)
      }))

    it.scoped("a redirect is not followed: the key stays with its origin", () =>
      Effect.gen(function*() {
        const other = yield* serve((response) => response.end())
        const server = yield* serve((response) => response.writeHead(308, { location: `${other.origin}/v1` }).end())
        const error = yield* Effect.flip(collect(given(server)))
        assert.isTrue(error.reason === "not_found" && !error.retryable)
        assert.strictEqual(other.connections(), 0)
      }))

    it.scoped("exactly one identity: the settings' own header, else the key where host or protocol want it", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          sse(response)
          response.end(finish)
        })
        const identities = (settings: object, protocol: ProtocolName = "chat", key: string | null = secret) =>
          Effect.gen(function*() {
            yield* Effect.ignore(collect({ ...given(server, settings), protocol, key }))
            const { headers } = yield* Queue.take(server.requests)
            return ["authorization", "x-api-key", "api-key"].flatMap((name) =>
              headers[name] === undefined ? [] : [`${name}: ${String(headers[name])}`]
            )
          })
        assert.deepStrictEqual(yield* identities({}), [`authorization: Bearer ${secret}`])
        assert.deepStrictEqual(yield* identities({}, "anthropic"), [`x-api-key: ${secret}`])
        assert.deepStrictEqual(yield* identities({ headers: { Authorization: "Bearer own" } }, "anthropic"), [
          "authorization: Bearer own"
        ])
        assert.deepStrictEqual(yield* identities({}, "chat", null), [])
      }))

    it.scoped("no key in any error, however the server repeats it", () =>
      Effect.gen(function*() {
        const forms = [
          secret,
          encodeURIComponent(secret),
          JSON.stringify(secret),
          `Bearer ${secret}`,
          "own-header-secret"
        ]
        for (const form of forms) {
          for (const status of [400, 401, 500, 200]) {
            const server = yield* serve((response) => {
              response.writeHead(status, {
                "content-type": "application/json",
                "x-request-id": form.replace(/[^\x20-\x7e]/g, "")
              })
              response.end(JSON.stringify({ error: { message: `you sent ${form}`, code: form, type: form } }))
            })
            const error = yield* Effect.flip(
              collect(given(server, { headers: { "x-team-token": "own-header-secret" } }))
            )
            const seen = `${JSON.stringify(error)} ${error.message} ${String(error)}`
            for (const part of [secret, encodeURIComponent(secret), "own-header-secret"]) assert.notInclude(seen, part)
          }
        }
        const refused = yield* Effect.flip(collect({ origin: `http://127.0.0.1:1/?key=${encodeURIComponent(secret)}` }))
        assert.notInclude(JSON.stringify(refused) + refused.message, encodeURIComponent(secret))
        const unsendable = yield* Effect.flip(collect({ origin: "http://127.0.0.1:1", key: "line\nbreak-secret" }))
        assert.strictEqual(unsendable.reason, "auth")
        assert.notInclude(JSON.stringify(unsendable) + unsendable.message, "break-secret")
      }))

    it.scoped("what the settings' name leads to nowhere fails as auth or bad_request", () =>
      Effect.gen(function*() {
        const noKey = yield* Effect.flip(
          collect({ origin: "https://h.example", settings: { api_key_env: "NONE" }, key: null })
        )
        assert.isTrue(noKey.reason === "auth" && noKey.code === "no_credential" && !noKey.retryable)
        const badUrl = yield* Effect.flip(collect({ origin: "nowhere" }))
        assert.isTrue(badUrl.reason === "bad_request" && badUrl.code === "bad_url")
      }))

    it.scoped("scripted/NAME goes to the embedded model", () =>
      Effect.gen(function*() {
        const events = yield* collect({ origin: "http://127.0.0.1:1" }, { model: "scripted/known" })
        assert.strictEqual(textOf(events), "scripted")
        const error = yield* Effect.flip(collect({ origin: "http://127.0.0.1:1" }, { model: "scripted/none" }))
        assert.strictEqual(error.code, "unknown_scenario")
      }))

    it.scoped("stop sequences that the protocol lacks are cut here, and the connection is closed", () =>
      Effect.gen(function*() {
        const up = yield* upstream({ final_text: "one two STOP three four", delta_chars: 3, pace_ms: 1 })
        const events = yield* collect({ origin: up.url, protocol: "responses" }, { stop: ["STOP"] })
        assert.strictEqual(textOf(events), "one two ")
        const end = last(events)
        assert.isTrue(
          end.type === "message_stop" && end.stop_reason === "stop_sequence" && end.stop_sequence === "STOP"
        )
        yield* Effect.promise(() => up.until((log) => log[0]?.client_closed === true))
      }))
  })
})
