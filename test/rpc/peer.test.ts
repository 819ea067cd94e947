/** Readings 1.3 and 1.4: one side of a JSON-RPC conversation. */
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as JsonRpc from "../../src/codec/JsonRpc.ts"
import * as LineFraming from "../../src/codec/LineFraming.ts"
import {
  JsonRpcError,
  type JsonRpcHandlers,
  type JsonRpcPeerOptions,
  JsonRpcRefusal
} from "../../src/rpc/JsonRpcPeer.ts"
import * as Peer from "../../src/rpc/Peer.ts"
import * as PipeWriter from "../../src/rpc/PipeWriter.ts"
import * as StreamDuplex from "../../src/rpc/StreamDuplex.ts"
import { loggedWith } from "../support/logged.ts"
import * as Wire from "../support/wire.ts"

class Lost extends Data.TaggedError("Lost")<{ readonly why: string }> {}

const silent: JsonRpcHandlers = { onRequest: () => Effect.never, onNotification: () => Effect.void }
const options: JsonRpcPeerOptions<undefined> = {
  name: "test",
  cancel: ({ id, why }) => ({ method: "cancel", params: { id, why } })
}

const setUp = (handlers: Partial<JsonRpcHandlers> = {}, more: Partial<JsonRpcPeerOptions<undefined>> = {}) =>
  Effect.gen(function*() {
    const wire = yield* Wire.make<Lost>()
    const peer = yield* Peer.make(wire.duplex, { ...silent, ...handlers }, { ...options, ...more })
    return { wire, peer }
  })

/** Warnings that the effect logs. */
const warnings = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const found: Array<string> = []
    const layer = loggedWith(({ logLevel }, message) => {
      if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) found.push(message)
    })
    const result = yield* Effect.provide(effect, layer)
    return { result, found }
  })

const limit = Duration.seconds

/** Its error, as a value. */
const failureOf = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<E, void> => Effect.flip(Effect.asVoid(effect))

describe("JsonRpcPeer", () => {
  it.scoped("1.3 ids are integers, answers are told apart by id, whatever their order", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const calls = yield* Effect.forEach([0, 1, 2, 3], (n) => Effect.fork(peer.request("m", { n })))
      const ids: Array<JsonRpc.JsonRpcId> = []
      for (const _ of calls) {
        const message = yield* wire.sent
        assert.isTrue(JsonRpc.isRequest(message))
        if (JsonRpc.isRequest(message)) ids.push(message.id)
      }
      assert.deepStrictEqual(ids, [1, 2, 3, 4])
      yield* wire.say(...ids.toReversed().map((id) => JsonRpc.success(id, `r${id}`)))
      assert.deepStrictEqual(yield* Effect.forEach(calls, Fiber.join), ["r1", "r2", "r3", "r4"])
      assert.deepStrictEqual(peer.pending(), [])
    }))

  it.scoped.prop("1.3 any order of answers, errors among them", [
    FastCheck.array(FastCheck.tuple(FastCheck.nat(), FastCheck.boolean()), { minLength: 1, maxLength: 12 })
  ], ([plan]) =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const calls = yield* Effect.forEach(plan, () => Effect.fork(Effect.either(peer.request("m"))))
      const order = plan.map(([rank, ok], i) => ({ rank, ok, id: i + 1 })).toSorted((a, b) => a.rank - b.rank)
      yield* Effect.forEach(calls, () => wire.sent)
      yield* wire.say(
        ...order.map(({ id, ok }) => ok ? JsonRpc.success(id, id) : JsonRpc.failure(id, { code: -id, message: "no" }))
      )
      const results = yield* Effect.forEach(calls, Fiber.join)
      for (const [i, result] of results.entries()) {
        if (plan[i]?.[1] === true) assert.deepStrictEqual(result._tag === "Right" && result.right, i + 1)
        else {assert.strictEqual(
            result._tag === "Left" && result.left instanceof JsonRpcError && result.left.code,
            -i - 1
          )}
      }
    }))

  it.scoped("1.3 a string that spells a pending id is taken, with one warning; unknown and late ones are dropped", () =>
    Effect.gen(function*() {
      const { found, result } = yield* warnings(Effect.gen(function*() {
        const { peer, wire } = yield* setUp()
        const calls = yield* Effect.forEach([1, 2, 3], () => Effect.fork(peer.request("m")))
        yield* Effect.forEach(calls, () => wire.sent)
        yield* wire.say(
          JsonRpc.success(99, "nobody"),
          JsonRpc.success("x", "nobody"),
          JsonRpc.success("01", "not that spelling"),
          JsonRpc.success("1", "one"),
          JsonRpc.success("2", "two"),
          JsonRpc.success(1, "again"),
          JsonRpc.success(3, "three")
        )
        return yield* Effect.forEach(calls, Fiber.join)
      }))
      assert.deepStrictEqual(result, ["one", "two", "three"])
      assert.strictEqual(found.filter((text) => text.includes("as a string")).length, 1)
      assert.strictEqual(found.filter((text) => text.includes("nobody asked")).length, 3)
    }))

  it.scoped("1.4 the limit: told on the wire, late answer dropped, the peer goes on", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(failureOf(peer.request("slow", {}, { timeout: limit(60) })))
      yield* wire.sent
      yield* TestClock.adjust(limit(59))
      assert.strictEqual(peer.pending().length, 1)
      yield* TestClock.adjust(limit(1))
      const error = yield* Fiber.join(call)
      assert.isTrue(error instanceof JsonRpcError && error.reason === "timeout" && error.limit_ms === 60_000)
      assert.deepStrictEqual(yield* wire.sent, JsonRpc.notification("cancel", { id: 1, why: "timeout" }))
      yield* wire.say(JsonRpc.success(1, "late"))
      const next = yield* Effect.fork(peer.request("next"))
      yield* wire.sent
      yield* wire.say(JsonRpc.success(2, "fine"))
      assert.strictEqual(yield* Fiber.join(next), "fine")
    }))

  it.scoped("1.4 a sign of life starts the limit anew, up to the limit in all", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(
        failureOf(peer.request("slow", {}, { timeout: limit(60), max_timeout: limit(150) }))
      )
      yield* wire.sent
      for (const _ of [1, 2, 3]) {
        yield* TestClock.adjust(limit(45))
        assert.isTrue(peer.touch("1"))
      }
      yield* TestClock.adjust(limit(14))
      assert.strictEqual(peer.pending().length, 1)
      yield* TestClock.adjust(limit(1))
      const error = yield* Fiber.join(call)
      assert.isTrue(error instanceof JsonRpcError && error.reason === "max_timeout" && error.limit_ms === 150_000)
      assert.isFalse(peer.touch(1))
    }))

  it.scoped("1.4 the limit counts from the last sign of life, to the millisecond", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(failureOf(peer.request("slow", {}, { timeout: limit(60) })))
      yield* wire.sent
      yield* TestClock.adjust(limit(30))
      peer.touch(1)
      yield* TestClock.adjust(Duration.millis(59_999))
      assert.strictEqual(peer.pending().length, 1)
      yield* TestClock.adjust(Duration.millis(1))
      assert.strictEqual(peer.pending().length, 0)
      yield* Fiber.join(call)
    }))

  it.scoped("1.4 while the other side waits for us, no limit runs", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(
        failureOf(peer.request("slow", {}, { timeout: limit(60), max_timeout: limit(100) }))
      )
      yield* wire.sent
      yield* TestClock.adjust(limit(50))
      const release = peer.hold(1)
      const other = peer.hold(1)
      yield* TestClock.adjust(limit(10_000))
      release()
      release()
      yield* TestClock.adjust(limit(10_000))
      assert.strictEqual(peer.pending().length, 1)
      other()
      yield* TestClock.adjust(limit(49))
      assert.strictEqual(peer.pending().length, 1)
      yield* TestClock.adjust(limit(1))
      const error = yield* Fiber.join(call)
      assert.isTrue(error instanceof JsonRpcError && error.reason === "max_timeout")
    }))

  it.scoped("1.4 a limit beyond what a timer takes is waited for all the same", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(failureOf(peer.request("slow", {}, { timeout: Duration.millis(2 ** 32) })))
      yield* wire.sent
      yield* TestClock.adjust(Duration.millis(2 ** 32 - 1))
      assert.strictEqual(peer.pending().length, 1)
      yield* TestClock.adjust(Duration.millis(1))
      yield* Fiber.join(call)
    }))

  it.scoped("1.4 interruption is told on the wire, unless the request says otherwise", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(peer.request("slow"))
      const quiet = yield* Effect.fork(peer.request("quiet", {}, { cancellable: false }))
      yield* wire.sent
      yield* wire.sent
      yield* Fiber.interrupt(quiet)
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* wire.sent, JsonRpc.notification("cancel", { id: 1, why: "interrupted" }))
      assert.deepStrictEqual(yield* wire.rest, [])
    }))

  it.scoped("1.5 when the duplex fails, every call fails with its error, and later ones at once", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const calls = yield* Effect.forEach([1, 2], () => Effect.fork(failureOf(peer.request("m"))))
      yield* Effect.forEach(calls, () => wire.sent)
      const lost = new Lost({ why: "gone" })
      yield* wire.fail(lost)
      for (const call of calls) assert.strictEqual(yield* Fiber.join(call), lost)
      assert.strictEqual(yield* peer.closed, lost)
      assert.isTrue(peer.ended())
      assert.strictEqual(yield* failureOf(peer.request("m")), lost)
      assert.strictEqual(yield* failureOf(peer.notify("m")), lost)
      assert.deepStrictEqual(yield* wire.rest, [])
    }))

  it.scoped("1.5 a plain end is `closed`; so is the end of the scope", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(failureOf(peer.request("m")))
      yield* wire.sent
      yield* wire.end
      assert.strictEqual((yield* Fiber.join(call))._tag, "JsonRpcError")
      const scope = yield* Scope.make()
      const other = yield* Scope.extend(setUp(), scope)
      const open = yield* Effect.fork(failureOf(other.peer.request("m")))
      yield* other.wire.sent
      yield* Scope.close(scope, Exit.void)
      const error = yield* Fiber.join(open)
      assert.isTrue(error instanceof JsonRpcError && error.reason === "closed")
      assert.strictEqual(yield* other.peer.closed, null)
    }))

  it.scoped("1.3 an answer that is none fails its request at once", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      for (
        const [id, answer] of [
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"broken\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":2}",
          "{\"id\":\"3\"}",
          "{\"jsonrpc\":\"1.0\",\"id\":4,\"result\":1}"
        ].entries()
      ) {
        const call = yield* Effect.fork(failureOf(peer.request("m")))
        yield* wire.sent
        yield* wire.say(...JsonRpc.parse(answer).items)
        const error = yield* Fiber.join(call)
        assert.isTrue(error instanceof JsonRpcError && error.reason === "invalid_response", `${id}: ${answer}`)
      }
      assert.deepStrictEqual(yield* wire.rest, [])
    }))

  it.scoped("1.3 what is neither request nor answer, and names no request of ours, is told so", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      const call = yield* Effect.fork(peer.request("m"))
      yield* wire.sent
      yield* wire.say(
        ...JsonRpc.parse("{\"jsonrpc\":\"2.0\",\"id\":9}").items,
        // the other side counts from 1 too: its broken request is no answer to ours
        ...JsonRpc.parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}").items
      )
      for (const id of [9, 1]) {
        const told = yield* wire.sent
        assert.isTrue("error" in told && told.id === id && told.error.code === JsonRpc.ErrorCode.invalid_request)
      }
      yield* wire.say(JsonRpc.success(1, "fine"))
      assert.strictEqual(yield* Fiber.join(call), "fine")
    }))

  it.scoped("1.4 what never went out is not cancelled on the wire; what may have gone out is", () =>
    Effect.gen(function*() {
      const written: Array<string> = []
      const waiting: Array<(ok: boolean) => void> = []
      const writer = PipeWriter.make((text, done) => {
        written.push(text)
        waiting.push(done)
      }, () => new Lost({ why: "pipe" }))
      const duplex = StreamDuplex.make<Lost, string>({
        incoming: Stream.never,
        write: writer.write,
        post: writer.post,
        framing: LineFraming.make(),
        encode: LineFraming.line,
        onFault: (fault) => Effect.succeed(new Lost({ why: fault.reason }))
      })
      const peer = yield* Peer.make(duplex, silent, options)
      const calls = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.fork(peer.request("m", {}, { timeout: limit(60) }))
      )
      yield* Wire.settled
      // the first is being written, the others wait for it
      assert.strictEqual(written.length, 1)
      yield* Fiber.interruptAll(calls.slice(0, 2))
      yield* Wire.settled
      waiting.shift()?.(true)
      yield* Wire.settled
      yield* TestClock.adjust(limit(60))
      while (waiting.length > 0) {
        waiting.shift()?.(true)
        yield* Wire.settled
      }
      const lines = written.join("").trim().split("\n").map((line) => JsonRpc.parse(line).items[0])
      const ids = (method: string) =>
        lines.flatMap((line) =>
          line !== undefined && "method" in line && line.method === method
            ? ["id" in line ? line.id : JsonRpc.isJsonObject(line.params) && line.params["id"]]
            : []
        )
      assert.sameMembers(ids("m"), [1, 3, 4])
      assert.sameMembers(ids("cancel"), [1, 3, 4])
    }))

  it.scoped("1.3 requests of the other side: results, refusals, failures of ours, unknown methods", () =>
    Effect.gen(function*() {
      const { wire } = yield* setUp({
        onRequest: (request) =>
          request.method === "ok"
            ? Effect.succeed(request.params)
            : request.method === "nothing"
            ? Effect.succeed(undefined)
            : request.method === "boom"
            ? Effect.die(new Error("secret words"))
            : Effect.fail(new JsonRpcRefusal({ code: -32_601, message: "method not found" }))
      })
      yield* wire.say(
        JsonRpc.request("a", "ok", { x: 1 }),
        JsonRpc.request(1, "nothing"),
        JsonRpc.request(2, "boom"),
        JsonRpc.request(3, "what")
      )
      const answers = [yield* wire.sent, yield* wire.sent, yield* wire.sent, yield* wire.sent]
      assert.deepStrictEqual(answers, [
        JsonRpc.success("a", { x: 1 }),
        JsonRpc.success(1, null),
        JsonRpc.failure(2, { code: -32_603, message: "internal error" }),
        JsonRpc.failure(3, { code: -32_601, message: "method not found" })
      ])
    }))

  it.scoped("1.3 a request of theirs at work does not hold up answers to ours, and cancelling interrupts it", () =>
    Effect.gen(function*() {
      const began = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const { peer, wire } = yield* setUp({
        onRequest: () =>
          Effect.zipRight(Deferred.succeed(began, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          )
      })
      yield* wire.say(JsonRpc.request(7, "long"))
      yield* Deferred.await(began)
      const call = yield* Effect.fork(peer.request("m"))
      yield* wire.sent
      yield* wire.say(JsonRpc.success(1, "ok"))
      assert.strictEqual(yield* Fiber.join(call), "ok")
      yield* peer.cancelInbound("7")
      yield* peer.cancelInbound(7)
      yield* Deferred.await(stopped)
      yield* Wire.settled
      assert.deepStrictEqual(yield* wire.rest, [])
    }))

  it.scoped("LSP: a cancelled request of theirs is answered with the error that was chosen", () =>
    Effect.gen(function*() {
      const told = { code: -32_800, message: "request cancelled" }
      const { peer, wire } = yield* setUp({}, { cancelled_answer: told })
      yield* wire.say(JsonRpc.request(7, "long"))
      yield* Wire.settled
      yield* peer.cancelInbound(7)
      assert.deepStrictEqual(yield* wire.sent, JsonRpc.failure(7, told))
    }))

  it.scoped("1.3 notifications are handled in order, before what comes after them", () =>
    Effect.gen(function*() {
      const heard: Array<unknown> = []
      const { peer, wire } = yield* setUp({
        onNotification: ({ method }) =>
          method === "boom" ? Effect.die("no") : Effect.sync(() => void heard.push(method))
      })
      const call = yield* Effect.fork(Effect.map(peer.request("m"), (result) => [...heard, result]))
      yield* wire.sent
      yield* wire.say(
        JsonRpc.notification("a"),
        JsonRpc.notification("boom"),
        JsonRpc.notification("b"),
        JsonRpc.success(1, "r"),
        JsonRpc.notification("c")
      )
      assert.deepStrictEqual((yield* Fiber.join(call)).slice(0, 2), ["a", "b"])
      assert.deepStrictEqual(heard, ["a", "b", "c"])
    }))

  it.scoped("bounded: more requests of theirs than allowed are refused, a second one of the same id is dropped", () =>
    Effect.gen(function*() {
      const { wire } = yield* setUp({}, { max_inbound: 2 })
      yield* wire.say(
        JsonRpc.request(1, "a"),
        JsonRpc.request(1, "a"),
        JsonRpc.request("1", "b"),
        JsonRpc.request(2, "c")
      )
      assert.deepStrictEqual(
        yield* wire.sent,
        JsonRpc.failure(2, { code: -32_000, message: "too many requests at one time" })
      )
      assert.deepStrictEqual(yield* wire.rest, [])
    }))

  it.scoped("bounded: who asks without reading the answers is read no further", () =>
    Effect.gen(function*() {
      const wire = yield* Wire.make<Lost>()
      let handled = 0
      let sends = 0
      yield* Peer.make<Lost>(
        {
          incoming: wire.duplex.incoming,
          send: () => Effect.suspend(() => (sends++, Effect.never))
        },
        { ...silent, onRequest: () => Effect.sync(() => handled++) },
        { ...options, max_inbound: 8 }
      )
      for (let i = 0; i < 100; i++) {
        yield* wire.say(...Array.from({ length: 10 }, (_, n) => JsonRpc.request(i * 10 + n, "m")))
      }
      yield* Wire.settled
      assert.strictEqual(handled, 8)
      assert.strictEqual(sends, 9)
    }))

  it.scoped("an exchange of its own: giving up closes it, its failure fails the request, its end does not", () =>
    Effect.gen(function*() {
      const wire = yield* Wire.make<Lost>()
      const closed: Array<unknown> = []
      const fails = yield* Deferred.make<never, Lost>()
      const peer = yield* Peer.make<Lost>(
        {
          incoming: wire.duplex.incoming,
          send: (message) =>
            !JsonRpc.isRequest(message)
              ? Effect.void
              : message.method === "ends"
              ? Effect.void
              : Effect.ensuring(
                message.method === "fails" ? Deferred.await(fails) : Effect.never,
                Effect.sync(() => closed.push(message.method))
              )
        },
        silent,
        { ...options, cancel: () => null }
      )
      const slow = yield* Effect.fork(peer.request("slow"))
      const failing = yield* Effect.fork(failureOf(peer.request("fails")))
      const ends = yield* Effect.fork(peer.request("ends"))
      yield* Wire.settled
      yield* Fiber.interrupt(slow)
      assert.deepStrictEqual(closed, ["slow"])
      yield* Deferred.fail(fails, new Lost({ why: "stream" }))
      assert.deepStrictEqual(yield* Fiber.join(failing), new Lost({ why: "stream" }))
      yield* wire.sayOn(3, JsonRpc.success(3, "late but there"))
      assert.strictEqual(yield* Fiber.join(ends), "late but there")
    }))

  it.scoped("memory: ten thousand calls leave nothing behind", () =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp()
      for (let id = 1; id <= 10_000; id += 100) {
        const calls = yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.fork(peer.request("m")))
        yield* Effect.forEach(calls, () => wire.sent)
        yield* wire.say(...calls.map((_, i) => JsonRpc.success(id + i, i)))
        yield* Effect.forEach(calls, Fiber.join)
      }
      assert.strictEqual(peer.pending().length, 0)
    }))

  it.scoped("1.3 over bytes: batches are taken, noise is left out, the rest in order", () =>
    Effect.gen(function*() {
      const noise: Array<string> = []
      const heard: Array<string> = []
      const text = [
        "Server listening",
        JSON.stringify([JsonRpc.notification("a"), JsonRpc.notification("b")]),
        "{\"jsonrpc\":\"2.0\",\"method\":\"c\"}\r",
        "",
        "{broken",
        "{\"jsonrpc\":\"2.0\",\"method\":\"d\"}"
      ].join("\n")
      const written: Array<string> = []
      const duplex = StreamDuplex.make<Lost>({
        incoming: Stream.fromIterable([...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]))),
        write: (bytes) => Effect.sync(() => void written.push(new TextDecoder().decode(bytes))),
        framing: LineFraming.make(),
        encode: LineFraming.encode,
        onFault: (fault) => Effect.succeed(new Lost({ why: fault.reason })),
        onEnd: Effect.succeed(new Lost({ why: "end" })),
        onNoise: (line) => Effect.sync(() => void noise.push(line))
      })
      const peer = yield* Peer.make(duplex, {
        ...silent,
        onNotification: ({ method }) => Effect.sync(() => void heard.push(method))
      }, { name: "bytes", cancel: () => null })
      assert.deepStrictEqual(yield* peer.closed, new Lost({ why: "end" }))
      assert.deepStrictEqual(heard, ["a", "b", "c", "d"])
      assert.deepStrictEqual(noise, ["Server listening", "{broken"])
    }))

  it.scoped.prop("1.3 whatever comes in, the peer goes on", [
    FastCheck.array(
      FastCheck.oneof(
        FastCheck.jsonValue(),
        FastCheck.record({
          jsonrpc: FastCheck.constantFrom("2.0", "1.0"),
          id: FastCheck.oneof(FastCheck.nat(3), FastCheck.constantFrom("1", "x", null, -1, 1.5, true)),
          method: FastCheck.constantFrom("m", "__proto__", 7, null),
          params: FastCheck.jsonValue(),
          result: FastCheck.jsonValue(),
          error: FastCheck.oneof(
            FastCheck.jsonValue(),
            FastCheck.record({ code: FastCheck.integer(), message: FastCheck.string() })
          )
        }, { requiredKeys: [] })
      ),
      { maxLength: 20 }
    )
  ], ([noise]) =>
    Effect.gen(function*() {
      const { peer, wire } = yield* setUp({
        onRequest: ({ method }) => method === "m" ? Effect.succeed({}) : Effect.die("no")
      })
      // The first three calls may get any answer; the fourth one gets its own.
      const calls = yield* Effect.forEach([1, 2, 3], () => Effect.fork(Effect.exit(peer.request("m"))))
      yield* wire.sent
      yield* wire.sent
      yield* wire.sent
      yield* wire.say(...noise.flatMap((value) => JsonRpc.parse(JSON.stringify(value)).items))
      const last = yield* Effect.fork(peer.request("last"))
      yield* Wire.settled
      yield* wire.say(JsonRpc.success(4, "mine"))
      assert.strictEqual(yield* Fiber.join(last), "mine")
      for (const call of calls) yield* Fiber.interrupt(call)
    }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))))

  it.scoped("1.3 over bytes: a message too large ends the connection after what came before it", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const text = `{"method":"a"}\n${"x".repeat(100)}`
      const duplex = StreamDuplex.make<Lost>({
        incoming: Stream.concat(Stream.make(new TextEncoder().encode(text)), Stream.never),
        write: () => Effect.void,
        framing: LineFraming.make({ max_message_bytes: 20 }),
        encode: LineFraming.encode,
        onFault: (fault) => Effect.succeed(new Lost({ why: fault.reason }))
      })
      const peer = yield* Peer.make(duplex, {
        ...silent,
        onNotification: ({ method }) => Effect.sync(() => void heard.push(method))
      }, { name: "bytes", cancel: () => null })
      assert.deepStrictEqual(yield* peer.closed, new Lost({ why: "message_too_large" }))
      assert.deepStrictEqual(heard, ["a"])
    }))
})
