import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as zlib from "node:zlib"
import { Environment } from "../../src/platform/Environment.ts"
import { Http, HttpError, type HttpRequest, readAll, redirected, waitMillis } from "../../src/platform/Http.ts"
import { plainAddress } from "../../src/platform/HttpConnect.ts"
import { fromVariables, proxyFor } from "../../src/platform/HttpProxy.ts"
import { elapsed, freePort, httpLayer, serve, serveProxy, serveRaw, signal } from "./support.ts"

const text = (request: HttpRequest) =>
  Effect.gen(function*() {
    const http = yield* Http
    const response = yield* http.request(request)
    const { bytes } = yield* readAll(response, 1 << 20)
    return { ...response, text: new TextDecoder().decode(bytes) }
  })

const get = (url: string, more: Partial<HttpRequest> = {}) => Effect.scoped(text({ method: "GET", url, ...more }))

/** A socket is to be closed within 50 ms; a busy machine gets four times that. */
const soon = 200

const suite = it.layer(httpLayer())

describe("Http", () => {
  suite((it) => {
    it.scoped("sends method, path, headers and body; gives status, lower-case headers and body", () =>
      Effect.gen(function*() {
        const server = yield* serve((response, seen) => {
          response.writeHead(201, { "X-Mixed": "Case", "set-cookie": ["a=1", "b=2"] })
          response.end(`echo ${seen.body}`)
        })
        const answer = yield* get(`${server.origin}/a/b?c=d`, {
          method: "POST",
          headers: { "X-Key": "v", "Content-Type": "text/plain" },
          body: "grüße"
        })
        assert.strictEqual(answer.status, 201)
        assert.strictEqual(answer.text, "echo grüße")
        assert.strictEqual(answer.headers["x-mixed"], "Case")
        assert.strictEqual(answer.headers["set-cookie"], "a=1, b=2")
        const seen = yield* Queue.take(server.requests)
        assert.strictEqual(seen.url, "/a/b?c=d")
        assert.strictEqual(seen.headers["x-key"], "v")
        assert.strictEqual(seen.headers["content-length"], "7")
      }))

    it.scoped("a finished exchange leaves its connection to the next request", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.end("ok"))
        for (let i = 0; i < 3; i++) assert.strictEqual((yield* get(server.origin)).text, "ok")
        assert.strictEqual(server.connections(), 1)
        yield* get(server.origin, { fresh: true })
        assert.strictEqual(server.connections(), 2)
      }))

    it.scoped("leaving the scope before the end closes the connection; released, it serves again", () =>
      Effect.gen(function*() {
        const other = yield* serve((response) => response.end())
        const ends = yield* Queue.unbounded<() => void>()
        const server = yield* serve((response) => {
          response.write("first")
          ends.unsafeOffer(() => void response.end("rest"))
        })
        const first = (release: boolean) =>
          Effect.scoped(Effect.gen(function*() {
            const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
            yield* response.read
            if (release) yield* response.release
          }))
        yield* first(false)
        yield* Queue.take(server.closings)
        yield* Queue.take(ends)
        for (let i = 0; i < 3; i++) {
          yield* first(true)
          ;(yield* Queue.take(ends))()
          // A round trip elsewhere: what the first server sent before it has arrived by then.
          yield* get(other.origin)
        }
        assert.strictEqual(server.connections(), 2)
        assert.strictEqual(server.open(), 1)
      }))

    it.scoped("a released body that does not end is cut off", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => void response.write("never ends"))
        yield* Effect.scoped(Effect.gen(function*() {
          const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
          yield* response.read
          yield* response.release
        }))
        assert.strictEqual(server.open(), 1)
        yield* TestClock.adjust(1000)
        yield* Queue.take(server.closings)
      }))

    it.scoped("one element a network read, and the socket is paused while nobody reads", () =>
      Effect.gen(function*() {
        const piece = Buffer.alloc(65_536, 120)
        let written = 0
        const paused = yield* signal
        const server = yield* serve((response) => {
          const more = () => {
            while (written < 400) {
              written++
              if (!response.write(piece)) {
                let drained = false
                response.once("drain", () => {
                  drained = true
                  more()
                })
                setTimeout(() => drained ? undefined : paused.fire(), 300)
                return
              }
            }
            response.end()
          }
          more()
        })
        const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
        yield* response.read
        yield* paused.wait
        // Kernel buffers take a few megabytes; all 25 MB would mean that nothing holds the sender back.
        assert.isBelow(written, 300)
        const rest = yield* Stream.runFold(response.body, 0, (sum, bytes) => sum + bytes.length)
        assert.isAbove(rest, 0)
        assert.strictEqual(written, 400)
      }), 20_000)

    it.scoped("each read of the stream is one chunk of one element", () =>
      Effect.gen(function*() {
        const next = yield* Queue.unbounded<() => void>()
        const server = yield* serve((response) => {
          response.write("a")
          response.write("b")
          next.unsafeOffer(() => response.end("c"))
        })
        const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
        const chunks: Array<string> = []
        yield* Stream.runForEachChunk(response.body, (chunk) =>
          Effect.gen(function*() {
            assert.strictEqual(Chunk.size(chunk), 1)
            chunks.push(new TextDecoder().decode(Chunk.unsafeHead(chunk)))
            if (chunks.join("") === "ab") (yield* Queue.take(next))()
          }))
        assert.strictEqual(chunks.join(""), "abc")
        assert.isAtLeast(chunks.length, 2)
      }))

    for (
      const [name, kind, encode] of [
        ["gzip", "RFC 1952", zlib.gzipSync],
        ["br", "RFC 7932", zlib.brotliCompressSync],
        ["deflate", "RFC 1950", zlib.deflateSync],
        ["deflate", "raw RFC 1951", zlib.deflateRawSync]
      ] as const
    ) {
      it.scoped(`a body in ${name} is decompressed (${kind})`, () =>
        Effect.gen(function*() {
          const plain = "0123456789".repeat(20_000)
          const server = yield* serve((response) => {
            response.setHeader("content-encoding", name)
            const bytes = encode(plain)
            response.write(bytes.subarray(0, 1))
            response.end(bytes.subarray(1))
          })
          assert.strictEqual((yield* get(server.origin)).text, plain)
        }))
    }

    it.scoped("compressed events arrive as they are flushed, not at the end", () =>
      Effect.gen(function*() {
        const go = yield* Queue.unbounded<() => void>()
        const server = yield* serve((response) => {
          response.setHeader("content-encoding", "gzip")
          const gzip = zlib.createGzip()
          gzip.pipe(response)
          gzip.write("first")
          gzip.flush()
          go.unsafeOffer(() => gzip.end("second"))
        })
        const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
        const first = yield* response.read
        assert.strictEqual(new TextDecoder().decode(Option.getOrThrow(first)), "first")
        ;(yield* Queue.take(go))()
        assert.strictEqual(new TextDecoder().decode((yield* readAll(response, 100)).bytes), "second")
      }))

    it.scoped("a body that does not decompress, or in an unknown encoding, is a protocol error", () =>
      Effect.gen(function*() {
        const server = yield* serve((response, seen) => {
          response.setHeader("content-encoding", seen.url === "/bad" ? "gzip" : "zstd")
          response.end("this is no gzip")
        })
        for (const path of ["/bad", "/unknown"]) {
          const error = yield* Effect.flip(get(server.origin + path))
          assert.strictEqual(error.reason, "protocol")
        }
      }))

    it.scoped("readAll stops at its limit", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.end("0123456789"))
        const response = yield* (yield* Http).request({ method: "GET", url: server.origin })
        const { bytes, truncated } = yield* readAll(response, 4)
        assert.strictEqual(new TextDecoder().decode(bytes), "0123")
        assert.isTrue(truncated)
      }))

    it.scoped("HEAD and 204 have an empty body", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => {
          response.writeHead(204)
          response.end()
        })
        for (const method of ["HEAD", "GET"]) assert.strictEqual((yield* get(server.origin, { method })).text, "")
      }))

    // ---- what goes wrong

    it.scoped("reasons: refused, dns, invalid_url, tls", () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const secure = yield* serve((response) => response.end(), { secure: true })
        const cases: ReadonlyArray<readonly [string, HttpError["reason"]]> = [
          [`http://127.0.0.1:${port}/path?key=sekret`, "refused"],
          ["http://no-such-host.invalid/?key=sekret", "dns"],
          ["ftp://h/sekret", "invalid_url"],
          ["sekret", "invalid_url"],
          [`${secure.origin}/sekret`, "tls"]
        ]
        for (const [url, reason] of cases) {
          const error = yield* Effect.flip(get(url))
          assert.instanceOf(error, HttpError)
          assert.strictEqual(error.reason, reason, url)
          assert.notInclude(JSON.stringify(error), "sekret")
        }
      }))

    it.scoped("a header that HTTP does not allow is an error that does not show it", () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(get("http://127.0.0.1:1", { headers: { authorization: "Bearer sekret\nx" } }))
        assert.strictEqual(error.reason, "protocol")
        assert.notInclude(JSON.stringify(error), "sekret")
      }))

    it.scoped("an answer that is not HTTP is a protocol error", () =>
      Effect.gen(function*() {
        const server = yield* serveRaw((socket) => socket.end("SSH-2.0-OpenSSH\r\n"))
        assert.strictEqual((yield* Effect.flip(get(server.origin))).reason, "protocol")
      }))

    it.scoped("a connection closed before the answer, and one closed in the body, are reset; bytes before that arrive", () =>
      Effect.gen(function*() {
        const early = yield* serveRaw((socket) => socket.destroy())
        assert.strictEqual((yield* Effect.flip(get(early.origin))).reason, "reset")
        const late = yield* serveRaw((socket) => {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhello", () => socket.destroy())
        })
        const response = yield* (yield* Http).request({ method: "GET", url: late.origin })
        assert.strictEqual(new TextDecoder().decode(Option.getOrThrow(yield* response.read)), "hello")
        assert.strictEqual((yield* Effect.flip(response.read)).reason, "reset")
      }))

    it.scoped("a pooled connection that died without one byte of an answer: the request is sent again, once", () =>
      Effect.gen(function*() {
        const server = yield* serveRaw((socket, bytes, connection) => {
          if (bytes.includes("/second") && connection === 1) socket.destroy()
          else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        })
        assert.strictEqual((yield* get(`${server.origin}/first`)).text, "ok")
        const second = yield* get(`${server.origin}/second`, { method: "POST", body: "payload" })
        assert.strictEqual(second.text, "ok")
        assert.strictEqual(server.connections(), 2)
      }))

    it.scoped("a pooled connection that died after the first byte of an answer is not tried again", () =>
      Effect.gen(function*() {
        const server = yield* serveRaw((socket, bytes) => {
          if (bytes.includes("/second")) socket.write("HTTP/1.1 2", () => socket.destroy())
          else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        })
        yield* get(`${server.origin}/first`)
        const error = yield* Effect.flip(get(`${server.origin}/second`))
        assert.strictEqual(error.reason, "reset")
        assert.strictEqual(server.connections(), 1)
      }))

    // ---- limits, by the Clock

    it.scoped("2.6: connect limit: a server that accepts and says nothing to the TLS handshake", () =>
      Effect.gen(function*() {
        const server = yield* serveRaw(() => {})
        const fiber = yield* Effect.fork(
          get(server.origin.replace("http:", "https:"), { limits: { connect_ms: 10_000, headers_ms: 5 } })
        )
        yield* Queue.take(server.reads)
        yield* TestClock.adjust(9_999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "connect_timeout")
        yield* Queue.take(server.closings)
      }))

    it.scoped("2.6: header limit; the connection is closed at once", () =>
      Effect.gen(function*() {
        const server = yield* serve(() => {})
        const fiber = yield* Effect.fork(get(server.origin, { limits: { connect_ms: 10_000, headers_ms: 120_000 } }))
        yield* Queue.take(server.requests)
        yield* TestClock.adjust(119_999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "headers_timeout")
        yield* Queue.take(server.closings)
      }))

    it.scoped("2.6: idle limit: every byte starts it again, the wait for a slow reader does not count", () =>
      Effect.gen(function*() {
        const writer = yield* Queue.unbounded<(text: string) => void>()
        const server = yield* serve((response) => {
          response.write("a")
          writer.unsafeOffer((piece) => void response.write(piece))
        })
        const response = yield* (yield* Http).request({
          method: "GET",
          url: server.origin,
          limits: { idle_ms: 300_000 }
        })
        const write = yield* Queue.take(writer)
        yield* response.read
        // Nobody reads for an hour: no idle time passes.
        yield* TestClock.adjust("1 hour")
        let fiber = yield* Effect.fork(response.read)
        yield* TestClock.adjust(299_999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        write("b")
        assert.isTrue(Option.isSome(yield* Fiber.join(fiber)))
        fiber = yield* Effect.fork(response.read)
        yield* TestClock.adjust(299_999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "idle_timeout")
        yield* Queue.take(server.closings)
      }))

    it.scoped("limits of 0 are off", () =>
      Effect.gen(function*() {
        const reply = yield* Queue.unbounded<() => void>()
        const server = yield* serve((response) => void reply.unsafeOffer(() => response.end("late")))
        const fiber = yield* Effect.fork(get(server.origin, { limits: { connect_ms: 0, headers_ms: 0, idle_ms: 0 } }))
        const end = yield* Queue.take(reply)
        yield* TestClock.adjust("400 days")
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        end()
        assert.strictEqual((yield* Fiber.join(fiber)).text, "late")
      }))

    it.effect("G7: a wait above 2^31 ms is cut into pieces and ends on time", () =>
      Effect.gen(function*() {
        const fiber = yield* Effect.fork(waitMillis(5_000_000_000))
        yield* TestClock.adjust(4_999_999_999)
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* TestClock.adjust(1)
        yield* Fiber.join(fiber)
      }))

    // ---- interruption closes the socket, in every phase

    const closesOnInterrupt = (
      name: string,
      request: (origin: string) => HttpRequest,
      read: boolean,
      answers: boolean
    ) =>
      it.scoped(`interruption closes the socket ${name}`, () =>
        Effect.gen(function*() {
          const server = yield* serveRaw((socket) => {
            if (answers) socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
          })
          const going = yield* signal
          const fiber = yield* Effect.fork(Effect.scoped(Effect.gen(function*() {
            const response = yield* (yield* Http).request(request(server.origin))
            yield* response.read
            going.fire()
            yield* response.read
          })))
          yield* Queue.take(server.reads)
          if (read) yield* going.wait
          const start = performance.now()
          const [interrupted] = yield* elapsed(Fiber.interrupt(fiber))
          const closed = yield* Queue.take(server.closings)
          assert.isBelow(interrupted, soon)
          assert.isBelow(closed - start, soon)
        }))
    const plain = (origin: string): HttpRequest => ({
      method: "POST",
      url: origin,
      body: "x",
      limits: { idle_ms: 1000 }
    })
    closesOnInterrupt("while connecting", (o) => ({ ...plain(o), url: o.replace("http:", "https:") }), false, false)
    closesOnInterrupt("before the answer", plain, false, false)
    closesOnInterrupt("in the middle of the body", plain, true, true)

    it.scoped("a stream that is left early closes the socket", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => void response.write("a"))
        const first = yield* Http.pipe(
          Effect.map((http) =>
            Stream.unwrapScoped(Effect.map(http.request({ method: "GET", url: server.origin }), (r) => r.body))
          ),
          Stream.unwrap,
          Stream.take(1),
          Stream.runCollect
        )
        assert.strictEqual(Chunk.size(first), 1)
        yield* Queue.take(server.closings)
      }))

    // ---- addresses and redirects

    it.scoped("allowAddress: a literal and a resolved address are checked; nothing is connected", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.end("ok"))
        yield* get(server.origin)
        const asked: Array<string> = []
        const deny = (ip: string) => {
          asked.push(ip)
          return false
        }
        for (
          const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"]
        ) {
          const error = yield* Effect.flip(get(`http://${host}:${server.port}/`, { allowAddress: deny }))
          assert.strictEqual(error.reason, "blocked", host)
        }
        assert.include(asked, "127.0.0.1")
        assert.strictEqual(server.connections(), 1)
        // An approved address is connected to, on a connection of its own.
        const answer = yield* get(`http://localhost:${server.port}/`, { allowAddress: (ip) => ip === "127.0.0.1" })
        assert.strictEqual(answer.text, "ok")
        assert.strictEqual(server.connections(), 2)
      }))

    it("IPv4 in IPv6 notation is told as IPv4", () => {
      assert.strictEqual(plainAddress("::ffff:127.0.0.1"), "127.0.0.1")
      assert.strictEqual(plainAddress("::ffff:7f00:1"), "127.0.0.1")
      assert.strictEqual(plainAddress("::ffff:a9fe:a9fe"), "169.254.169.254")
      assert.strictEqual(plainAddress("2001:db8::1"), "2001:db8::1")
    })

    it.scoped("redirects are not followed unless asked, and only where approved", () =>
      Effect.gen(function*() {
        const other = yield* serve((response, seen) => response.end(JSON.stringify(seen)))
        const server = yield* serve((response, seen) => {
          response.writeHead(seen.url === "/loop" ? 307 : 302, {
            location: seen.url === "/loop" ? "/loop" : `${other.origin}/end`
          })
          response.end()
        })
        assert.strictEqual((yield* get(server.origin)).status, 302)
        assert.strictEqual(other.connections(), 0)
        const refused = yield* get(server.origin, { follow: { limit: 5, approve: () => Effect.succeed(false) } })
        assert.strictEqual(refused.status, 302)
        assert.strictEqual(other.connections(), 0)
        const followed = yield* get(server.origin, {
          method: "POST",
          body: "x",
          headers: { authorization: "Bearer sekret", "x-plain": "1", "content-type": "text/plain" },
          follow: { limit: 5, approve: () => Effect.succeed(true) }
        })
        assert.strictEqual(followed.url, `${other.origin}/end`)
        const seen = JSON.parse(followed.text) as { method: string; headers: Record<string, string>; body: string }
        assert.strictEqual(seen.method, "GET")
        assert.strictEqual(seen.body, "")
        assert.strictEqual(seen.headers["x-plain"], "1")
        assert.notProperty(seen.headers, "authorization")
        assert.notProperty(seen.headers, "content-type")
        const loop = yield* get(`${server.origin}/loop`, { follow: { limit: 3, approve: () => Effect.succeed(true) } })
        assert.strictEqual(loop.status, 307)
        assert.strictEqual(yield* Queue.size(server.requests), 3 + 4)
      }))

    it("a redirect within an origin keeps the key, 307 and 308 keep method and body", () => {
      const request: HttpRequest = { method: "POST", url: "https://h/a#f", body: "b", headers: { authorization: "k" } }
      const next = redirected(request, { status: 308, headers: { location: "/b" } })
      assert.deepStrictEqual(next, { ...request, url: "https://h/b#f" })
      assert.isNull(redirected(request, { status: 304, headers: { location: "/b" } }))
      assert.isNull(redirected(request, { status: 302, headers: {} }))
    })
  })

  it.scoped("closing the layer ends what is under way, later requests are aborted", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.end("ok"))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(httpLayer(), scope)
      yield* get(server.origin).pipe(Effect.provide(context))
      assert.strictEqual(server.open(), 1)
      yield* Scope.close(scope, Exit.void)
      yield* Queue.take(server.closings)
      assert.strictEqual((yield* Effect.flip(get(server.origin).pipe(Effect.provide(context)))).reason, "aborted")
    }))

  describe("proxy", () => {
    const through = <A, E>(vars: Record<string, string>, self: Effect.Effect<A, E, Http>) =>
      Effect.provide(self, Http.layer.pipe(Layer.provide(Environment.layerTest({ vars }))))

    it.scoped("http goes to the proxy with the whole address; loopback and NO_PROXY go directly", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.end("direct"))
        const proxy = yield* serveProxy(server.port)
        const vars = { HTTP_PROXY: proxy.origin.replace("//", "//user:sekret@"), NO_PROXY: "other.test" }
        const answer = yield* through(vars, get("http://api.example.test/a?b=c", { headers: { "x-a": "b" } }))
        assert.strictEqual(answer.text, "through the proxy")
        const seen = yield* Queue.take(proxy.requests)
        assert.strictEqual(seen.url, "http://api.example.test/a?b=c")
        assert.strictEqual(seen.headers.host, "api.example.test")
        assert.strictEqual(seen.headers["proxy-authorization"], `Basic ${btoa("user:sekret")}`)
        assert.strictEqual((yield* through(vars, get(server.origin))).text, "direct")
      }))

    it.scoped("https runs through CONNECT; the tunnel is kept for the next request", () =>
      Effect.gen(function*() {
        const server = yield* serve((response, seen) => response.end(seen.headers.host), { secure: true })
        const proxy = yield* serveProxy(server.port)
        process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]
          })
        )
        const answers = yield* through(
          { https_proxy: proxy.origin },
          Effect.all([get("https://api.example.test/1"), get("https://api.example.test/2")])
        )
        assert.deepStrictEqual(answers.map((answer) => answer.text), ["api.example.test", "api.example.test"])
        const seen = yield* Queue.take(proxy.tunnels)
        assert.strictEqual(seen.url, "api.example.test:443")
        assert.strictEqual(yield* Queue.size(proxy.tunnels), 0)
      }))

    it.scoped("the certificate behind a tunnel is checked", () =>
      Effect.gen(function*() {
        const server = yield* serve((response) => response.end(), { secure: true })
        const proxy = yield* serveProxy(server.port)
        const error = yield* Effect.flip(through({ https_proxy: proxy.origin }, get("https://api.example.test/")))
        assert.strictEqual(error.reason, "tls")
      }))

    it.scoped("a proxy that refuses, is no proxy, or hides its password in every error", () =>
      Effect.gen(function*() {
        const proxy = yield* serveProxy(1, 407)
        const origin = proxy.origin.replace("//", "//user:sekret@")
        const refused = yield* Effect.flip(through({ https_proxy: origin }, get("https://api.example.test/")))
        assert.strictEqual(refused.reason, "refused")
        assert.include(refused.message, "407")
        assert.notInclude(JSON.stringify(refused), "sekret")
        const socks = yield* Effect.flip(
          through({ http_proxy: "socks5://u:sekret@h" }, get("http://api.example.test/"))
        )
        assert.strictEqual(socks.reason, "invalid_url")
        assert.notInclude(JSON.stringify(socks), "sekret")
      }))

    it.scoped("interruption closes a tunnel that is being opened", () =>
      Effect.gen(function*() {
        const proxy = yield* serveProxy(1, 0)
        const fiber = yield* Effect.fork(through({ https_proxy: proxy.origin }, get("https://api.example.test/")))
        yield* Queue.take(proxy.tunnels)
        const start = performance.now()
        yield* Fiber.interrupt(fiber)
        assert.isBelow((yield* Queue.take(proxy.closings)) - start, soon)
      }))

    it.scoped("allowAddress behind a proxy: a name that does not resolve here is refused", () =>
      Effect.gen(function*() {
        const proxy = yield* serveProxy(1)
        const error = yield* Effect.flip(
          through({ http_proxy: proxy.origin }, get("http://no-such-host.invalid/", { allowAddress: () => true }))
        )
        assert.strictEqual(error.reason, "blocked")
        assert.strictEqual(proxy.connections(), 0)
      }))

    it("NO_PROXY: suffixes, ports, ranges, star", () => {
      const settings = (no_proxy: string) => fromVariables(new Map(Object.entries({ http_proxy: "p:1", no_proxy })))
      const takes = (no_proxy: string, url: string) => proxyFor(settings(no_proxy), new URL(url)) !== null
      assert.isFalse(takes("example.com", "http://example.com"))
      assert.isFalse(takes("a, example.com", "http://api.example.com"))
      assert.isFalse(takes(".example.com", "http://api.example.com"))
      assert.isFalse(takes("*.example.com", "http://api.example.com"))
      assert.isTrue(takes("example.com", "http://notexample.com"))
      assert.isFalse(takes("EXAMPLE.com:8080", "http://example.com:8080"))
      assert.isTrue(takes("example.com:8080", "http://example.com"))
      assert.isFalse(takes("10.0.0.0/8", "http://10.2.3.4"))
      assert.isTrue(takes("10.0.0.0/8", "http://11.2.3.4"))
      assert.isFalse(takes("[2001:db8::1]", "http://[2001:db8::1]/"))
      assert.isFalse(takes("*", "http://anything"))
      assert.isFalse(takes("", "http://127.0.0.1:1"))
      assert.isFalse(takes("", "http://localhost:1"))
      assert.isTrue(takes("", "http://anything"))
    })
  })
})
