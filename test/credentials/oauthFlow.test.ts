import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as http from "node:http"
import * as net from "node:net"
import { callbackPath } from "../../src/credentials/CallbackPage.ts"
import { Login } from "../../src/credentials/Login.ts"
import { type AuthorizationServer, OAuthError } from "../../src/credentials/OAuthClient.ts"
import { type AuthorizationInput, OAuthFlow } from "../../src/credentials/OAuthFlow.ts"
import { type Answer, serve } from "../provider/support.ts"
import { awaitSleep, configWith, loginLayer, recorder } from "../support/oauth.ts"
import { load } from "../support/oidc/UserAgent.ts"

const tokens: Answer = (response) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ access_token: "at", token_type: "Bearer" }))
}

/** A login that waits for its answer, with all that a browser would know. */
const waiting = (
  change: Partial<AuthorizationInput> & { readonly metadata?: Partial<AuthorizationServer> } = {},
  answer: Answer = tokens
) =>
  Effect.gen(function*() {
    const server = yield* serve(answer)
    const { all, events, next } = yield* recorder
    const { metadata, ...input } = change
    const fiber = yield* Effect.fork(
      (yield* OAuthFlow).authorize({
        server: {
          issuer: server.origin,
          authorization_endpoint: `${server.origin}/auth`,
          token_endpoint: `${server.origin}/token`,
          code_challenge_methods_supported: ["S256"],
          ...metadata
        },
        client: { client_id: "app" },
        scopes: ["a", "b"],
        events,
        ...input
      })
    )
    const shown = yield* next("address")
    const { searchParams } = new URL(shown.url)
    const redirect = searchParams.get("redirect_uri") ?? ""
    const state = searchParams.get("state") ?? ""
    const back = (parameters: Record<string, string>) => `${redirect}?${new URLSearchParams(parameters).toString()}`
    return {
      server,
      fiber,
      shown,
      searchParams,
      redirect,
      state,
      back,
      next,
      all,
      port: Number(new URL(redirect).port)
    }
  })

const isClosed = (port: number): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const socket = net.connect(port, "127.0.0.1")
    socket.once("error", () => resume(Effect.succeed(true)))
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
  })

/** Any request at all, as no browser would send it. */
const request = (port: number, options: http.RequestOptions) =>
  Effect.async<{ readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }>(
    (resume) => {
      const sent = http.request({ host: "127.0.0.1", port, agent: false, ...options }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (part: string) => text += part)
        response.on(
          "end",
          () => resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text }))
        )
      })
      sent.on("error", (cause) => resume(Effect.die(cause)))
      sent.end()
    }
  )

it.layer(loginLayer())("code flow", (it) => {
  describe("6.3: the request", () => {
    it.scoped("has what RFC 6749 and 7636 ask for, extras cannot replace it, the endpoint's query stays", () =>
      Effect.gen(function*() {
        const { fiber, port, searchParams, shown } = yield* waiting({
          metadata: { authorization_endpoint: "https://login.example.com/auth?tenant=1&state=old#fragment" },
          resource: "https://r.example/mcp",
          parameters: {
            prompt: "consent",
            state: "mine",
            code_challenge_method: "plain",
            response_mode: "form_post",
            request_uri: "https://x",
            client_id: "other"
          }
        })
        assert.isTrue(shown.opening)
        const { code_challenge, redirect_uri, state, ...rest } = Object.fromEntries(searchParams)
        assert.deepStrictEqual(rest, {
          tenant: "1",
          prompt: "consent",
          response_type: "code",
          client_id: "app",
          scope: "a b",
          code_challenge_method: "S256",
          resource: "https://r.example/mcp"
        })
        assert.deepStrictEqual(searchParams.getAll("state").length, 1)
        assert.match(code_challenge ?? "", /^[\w-]{43}$/u)
        assert.match(state ?? "", /^[\w-]{43}$/u)
        assert.strictEqual(redirect_uri, `http://127.0.0.1:${port}/callback`)
        assert.strictEqual(new URL(shown.url).hash, "")
        // Interrupted: the listener goes too.
        yield* Fiber.interrupt(fiber)
        assert.isTrue(yield* isClosed(port))
      }))

    it.scoped("no scopes, no parameter", () =>
      Effect.gen(function*() {
        const { searchParams } = yield* waiting({ scopes: [] })
        assert.isFalse(searchParams.has("scope"))
      }))

    it.scoped("a client that is registered with the redirect address", () =>
      Effect.gen(function*() {
        const uris: Array<string> = []
        const { back, fiber, redirect, searchParams, state } = yield* waiting({
          client: (redirect_uri) =>
            Effect.sync(() => {
              uris.push(redirect_uri)
              return { client_id: "registered" }
            })
        })
        assert.deepStrictEqual(uris, [redirect])
        assert.strictEqual(searchParams.get("client_id"), "registered")
        yield* load(back({ code: "c", state }))
        assert.strictEqual((yield* Fiber.join(fiber)).client.client_id, "registered")
      }))

    it.scoped("a failed registration closes the listener", () =>
      Effect.gen(function*() {
        let redirect = ""
        const error = yield* Effect.flip(
          (yield* OAuthFlow).authorize({
            server: {
              issuer: null,
              authorization_endpoint: "https://login.example.com/auth",
              token_endpoint: "https://login.example.com/token",
              code_challenge_methods_supported: ["S256"]
            },
            client: (redirect_uri) => {
              redirect = redirect_uri
              return Effect.fail(new OAuthError({ reason: "not_configured", message: "no" }))
            },
            scopes: []
          })
        )
        assert.strictEqual(error.message, "no")
        assert.isTrue(yield* isClosed(Number(new URL(redirect).port)))
      }))

    const refused: ReadonlyArray<readonly [string, Partial<AuthorizationServer>, string]> = [
      ["S256 is not offered", { code_challenge_methods_supported: ["plain"] }, "s256_unsupported"],
      ["nothing is said about PKCE", { code_challenge_methods_supported: [] }, "s256_unsupported"],
      ["the endpoint is not secure", { authorization_endpoint: "http://login.example.com/auth" }, "not_configured"],
      ["the endpoint is no address of the web", { authorization_endpoint: "file:///etc/passwd" }, "not_configured"],
      ["pushed requests are required and there is no endpoint", {
        require_pushed_authorization_requests: true
      }, "not_configured"]
    ]
    for (const [name, change, reason] of refused) {
      it.scoped(`no browser opens when ${name}`, () =>
        Effect.gen(function*() {
          const { all, events } = yield* recorder
          const error = yield* Effect.flip(
            (yield* OAuthFlow).authorize({
              server: {
                issuer: null,
                authorization_endpoint: "https://login.example.com/auth",
                token_endpoint: "https://login.example.com/token",
                code_challenge_methods_supported: ["S256"],
                ...change
              },
              client: { client_id: "app" },
              scopes: [],
              events
            })
          )
          assert.strictEqual(error.reason, reason)
          assert.strictEqual(yield* Queue.size(all), 0)
        }))
    }
  })

  describe("6.4: the answer", () => {
    it.scoped("a code is exchanged with the same redirect address and the verifier of the challenge", () =>
      Effect.gen(function*() {
        const { back, fiber, next, port, redirect, server, state } = yield* waiting()
        const page = yield* load(back({ code: "the code/+", state, iss: server.origin }))
        assert.strictEqual(page.status, 200)
        yield* next("exchanging")
        const result = yield* Fiber.join(fiber)
        assert.strictEqual(Redacted.value(result.tokens.access_token), "at")
        const seen = new URLSearchParams((yield* Queue.take(server.requests)).body)
        assert.strictEqual(seen.get("code"), "the code/+")
        assert.strictEqual(seen.get("redirect_uri"), redirect)
        assert.isTrue(yield* isClosed(port))
      }))

    it.scoped("strangers are answered and ignored: port scan, favicon, other methods, other hosts", () =>
      Effect.gen(function*() {
        const { back, fiber, port, server, state } = yield* waiting()
        const good = `${callbackPath}?code=c&state=${state}`
        const strangers: ReadonlyArray<readonly [http.RequestOptions, number]> = [
          [{ path: "/" }, 404],
          [{ path: "/favicon.ico" }, 404],
          [{ path: "/callback/" }, 404],
          [{ path: "//callback?code=c" }, 404],
          [{ path: "/CALLBACK?code=c" }, 404],
          [{ path: "/callback" }, 400],
          [{ path: "/callback?" }, 400],
          [{ path: `/callback?state=${state}` }, 400],
          [{ path: `/callback?code=&state=${state}` }, 400],
          [{ path: good, method: "POST" }, 400],
          [{ path: good, method: "HEAD" }, 400],
          [{ path: good, method: "OPTIONS" }, 400],
          // DNS rebinding: another name for this machine.
          [{ path: good, headers: { host: `attacker.example:${port}` } }, 400],
          [{ path: good, headers: { host: `localhost:${port}` } }, 400],
          [{ path: good, headers: { host: "127.0.0.1" } }, 400],
          [{ path: `http://127.0.0.1:${port}${good}` }, 404]
        ]
        for (const [options, status] of strangers) {
          const answer = yield* request(port, options)
          assert.strictEqual(answer.status, status, `${options.method ?? "GET"} ${options.path ?? ""}`)
        }
        // Not even HTTP.
        yield* Effect.async<void>((resume) => {
          const socket = net.connect(port, "127.0.0.1", () => socket.write("\u0016\u0003\u0001 hello\r\n\r\n"))
          socket.on("error", () => undefined)
          socket.once("close", () => resume(Effect.void))
          socket.resume()
        })
        // A connection that never says anything is no obstacle.
        const silent = net.connect(port, "127.0.0.1")
        silent.on("error", () => undefined)
        assert.strictEqual(yield* Queue.size(server.requests), 0)
        yield* load(back({ code: "c", state }))
        yield* Fiber.join(fiber)
        yield* Effect.async<void>((resume) => {
          if (silent.closed) resume(Effect.void)
          else silent.once("close", () => resume(Effect.void))
        })
      }))

    it.scoped("pages: static, not kept, nothing repeated, nothing loaded", () =>
      Effect.gen(function*() {
        const { port, state } = yield* waiting()
        const mark = "<script>alert(1)</script>"
        for (const path of [`/${mark}`, `/callback?x=${mark}`, `/callback?error=${mark}&state=${state}`]) {
          const { headers, text } = yield* request(port, { path: encodeURI(path) })
          assert.notInclude(text, "alert")
          assert.notInclude(text, "script")
          assert.strictEqual(headers["cache-control"], "no-store")
          assert.strictEqual(headers["content-type"], "text/html; charset=utf-8")
          assert.match(String(headers["content-security-policy"]), /^default-src 'none'/u)
          assert.strictEqual(headers["referrer-policy"], "no-referrer")
          assert.strictEqual(headers["x-content-type-options"], "nosniff")
          assert.strictEqual(headers.connection, "close")
          assert.isUndefined(headers["access-control-allow-origin"])
        }
      }))

    const ends: ReadonlyArray<readonly [string, (state: string) => Record<string, string>, string, number]> = [
      ["another state", () => ({ code: "c", state: "x" }), "state_mismatch", 400],
      ["no state", () => ({ code: "c" }), "state_mismatch", 400],
      ["an error with another state", () => ({ error: "access_denied", state: "x" }), "state_mismatch", 400],
      ["another issuer", (state) => ({ code: "c", state, iss: "https://evil.example" }), "iss_mismatch", 400],
      [
        "an error",
        (state) => ({ error: "access_denied", error_description: "no\u001b[2J", state }),
        "authorization_error",
        200
      ]
    ]
    for (const [name, parameters, reason, status] of ends) {
      it.scoped(`${name} ends the login without a token request`, () =>
        Effect.gen(function*() {
          const { back, fiber, port, server, state } = yield* waiting()
          assert.strictEqual((yield* load(back(parameters(state)))).status, status)
          const error = yield* Effect.flip(Fiber.join(fiber))
          assert.strictEqual(error.reason, reason)
          assert.notMatch(error.message, /\u001b/u)
          assert.notInclude(error.message, state)
          assert.strictEqual(yield* Queue.size(server.requests), 0)
          assert.isTrue(yield* isClosed(port))
        }))
    }

    it.scoped("an issuer that is promised and missing", () =>
      Effect.gen(function*() {
        const { back, fiber, state } = yield* waiting({
          metadata: { authorization_response_iss_parameter_supported: true }
        })
        yield* load(back({ code: "c", state }))
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "iss_missing")
      }))

    it.scoped("6.6: the server's refusal of the exchange; the code is in no message", () =>
      Effect.gen(function*() {
        const { back, fiber, state } = yield* waiting({}, (response, { body }) => {
          response.writeHead(400, { "content-type": "application/json" })
          const code = new URLSearchParams(body).get("code")
          response.end(JSON.stringify({ error: "invalid_grant", error_description: `unknown code ${code}` }))
        })
        yield* load(back({ code: "precious-code", state }))
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "invalid_grant")
        assert.match(error.message, /unknown code \[redacted\]$/u)
      }))

    it.scoped("two logins at once do not meet", () =>
      Effect.gen(function*() {
        const [one, two] = yield* Effect.all([waiting(), waiting()])
        assert.notStrictEqual(one.port, two.port)
        assert.notStrictEqual(one.state, two.state)
        // The answer of the one at the door of the other.
        yield* load(two.back({ code: "c", state: one.state }))
        assert.strictEqual((yield* Effect.flip(Fiber.join(two.fiber))).reason, "state_mismatch")
        yield* load(one.back({ code: "c", state: one.state }))
        yield* Fiber.join(one.fiber)
      }))
  })

  describe("6.3: where it listens", () => {
    it.scoped("localhost: on 127.0.0.1 and, where there is one, on ::1", () =>
      Effect.gen(function*() {
        const { fiber, port, state } = yield* waiting({ redirect: { host: "localhost" } })
        const headers = { host: `localhost:${port}` }
        assert.strictEqual((yield* request(port, { path: "/callback", headers })).status, 400)
        const six = yield* Effect.async<boolean>((resume) => {
          const probe = net.createServer()
          probe.once("error", () => resume(Effect.succeed(false)))
          probe.listen(0, "::1", () => probe.close(() => resume(Effect.succeed(true))))
        })
        const address = six ? "::1" : "127.0.0.1"
        assert.strictEqual((yield* request(port, { host: address, path: "/", headers })).status, 404)
        const path = `/callback?code=c&state=${state}`
        assert.strictEqual((yield* request(port, { host: address, path, headers })).status, 200)
        yield* Fiber.join(fiber)
      }))

    it.scoped("on no other address than loopback", () =>
      Effect.gen(function*() {
        const { port } = yield* waiting()
        const six = yield* Effect.async<boolean>((resume) => {
          const socket = net.connect(port, "::1")
          socket.once("error", () => resume(Effect.succeed(false)))
          socket.once("connect", () => {
            socket.destroy()
            resume(Effect.succeed(true))
          })
        })
        assert.isFalse(six)
      }))

    it.scoped("a fixed port; in use it is an error that says what to do, before any browser", () =>
      Effect.gen(function*() {
        const first = yield* waiting()
        yield* load(first.back({ code: "c", state: first.state }))
        yield* Fiber.join(first.fiber)
        const second = yield* waiting({ redirect: { port: first.port } })
        assert.strictEqual(second.port, first.port)
        const { all, events } = yield* recorder
        for (const host of ["127.0.0.1", "localhost"] as const) {
          const error = yield* Effect.flip(
            (yield* OAuthFlow).authorize({
              server: {
                issuer: null,
                authorization_endpoint: "https://login.example.com/auth",
                token_endpoint: "https://login.example.com/token",
                code_challenge_methods_supported: ["S256"]
              },
              client: { client_id: "app" },
              scopes: [],
              redirect: { host, port: first.port },
              events
            })
          )
          assert.strictEqual(error.reason, "listen_failed")
          assert.match(
            error.message,
            new RegExp(`another program listens on ${host}:${first.port}; end that program`, "u")
          )
        }
        assert.strictEqual(yield* Queue.size(all), 0)
      }))
  })

  describe("6.5: limits and other ways", () => {
    it.scoped("after 300 s nobody waits any more", () =>
      Effect.gen(function*() {
        const { fiber, port } = yield* waiting()
        yield* awaitSleep(300_000)
        yield* TestClock.adjust("299 seconds")
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust("1 second")
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "login_timeout")
        assert.isTrue(yield* isClosed(port))
      }))

    it.scoped("--no-browser: the address is shown, nothing opened, and a pasted address ends it", () =>
      Effect.gen(function*() {
        const lines = yield* Queue.unbounded<string>()
        const { back, fiber, next, port, shown, state } = yield* waiting({
          browser: false,
          pasted: Queue.take(lines)
        })
        assert.isFalse(shown.opening)
        assert.strictEqual(shown.why, "no browser was asked for")
        yield* Queue.offer(lines, "what is this")
        assert.match((yield* next("paste_rejected")).message, /paste the whole address/u)
        yield* Queue.offer(lines, "https://login.example.com/done")
        assert.match((yield* next("paste_rejected")).message, /neither a code nor an error/u)
        yield* Queue.offer(lines, ` ${back({ code: "c", state })}\r\n`)
        yield* Fiber.join(fiber)
        assert.isTrue(yield* isClosed(port))
      }))

    it.scoped("--no-browser: the code alone", () =>
      Effect.gen(function*() {
        const lines = yield* Queue.unbounded<string>()
        const { fiber, server } = yield* waiting({ browser: false, pasted: Queue.take(lines) })
        yield* Queue.offer(lines, "4/0AX4XfWh=\n")
        yield* Fiber.join(fiber)
        assert.strictEqual(new URLSearchParams((yield* Queue.take(server.requests)).body).get("code"), "4/0AX4XfWh=")
      }))

    it.scoped("a pasted address has its state checked", () =>
      Effect.gen(function*() {
        const lines = yield* Queue.unbounded<string>()
        const { back, fiber, server } = yield* waiting({ browser: false, pasted: Queue.take(lines) })
        yield* Queue.offer(lines, back({ code: "c", state: "other" }))
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "state_mismatch")
        assert.strictEqual(yield* Queue.size(server.requests), 0)
      }))

    it.scoped("with a browser a code alone is not taken, the listener goes on", () =>
      Effect.gen(function*() {
        const lines = yield* Queue.unbounded<string>()
        const { back, fiber, next, state } = yield* waiting({ pasted: Queue.take(lines) })
        yield* Queue.offer(lines, "4/0AX4XfWh=")
        assert.match((yield* next("paste_rejected")).message, /a code alone is not enough/u)
        yield* load(back({ code: "c", state }))
        yield* Fiber.join(fiber)
      }))
  })
})

const inSsh = loginLayer({ missing: "this is a session over SSH", open: () => Effect.die("no browser here") })

it.layer(inSsh)("over SSH", (it) => {
  it.scoped("6.5: no browser is opened, the reason is shown, the code can be pasted (openai/codex#2798)", () =>
    Effect.gen(function*() {
      const { fiber, shown } = yield* waiting({ pasted: Effect.succeed("the-code") })
      assert.deepStrictEqual([shown.opening, shown.why], [false, "this is a session over SSH"])
      yield* Fiber.join(fiber)
    }))
})

describe("the browser", () => {
  it.scoped("G6: a login tells it which variables hold secrets", () =>
    Effect.gen(function*() {
      const dropped = yield* Deferred.make<ReadonlyArray<string>>()
      const config = yield* configWith({
        corp: {
          authorization_endpoint: "https://login.example.com/authorize",
          token_endpoint: "https://login.example.com/token",
          client_id: "app",
          client_secret_env: "CORP_HUSH"
        }
      })
      const layer = loginLayer({
        vars: { CORP_HUSH: "hush" },
        open: (_, drop = []) => Effect.as(Deferred.succeed(dropped, [...drop]), true)
      })
      yield* Effect.forkScoped(Effect.provide(Effect.flatMap(Login, ({ login }) => login("corp", config)), layer))
      assert.deepStrictEqual(yield* Deferred.await(dropped), ["CORP_HUSH"])
    }))

  it.scoped("opens only when the listener is there, with exactly the address that is shown", () =>
    Effect.gen(function*() {
      const opened = yield* Deferred.make<readonly [string, number]>()
      const layer = loginLayer({
        open: (url) =>
          Effect.gen(function*() {
            const port = Number(new URL(new URL(url).searchParams.get("redirect_uri") ?? "").port)
            const { status } = yield* request(port, { path: "/" })
            yield* Deferred.succeed(opened, [url, status])
            return true
          })
      })
      yield* Effect.provide(
        Effect.gen(function*() {
          const { shown } = yield* waiting()
          assert.deepStrictEqual(yield* Deferred.await(opened), [shown.url, 404])
        }),
        layer
      )
    }))

  it.scoped("when it does not open, the address is asked for by hand and a code alone is taken", () =>
    Effect.gen(function*() {
      const lines = yield* Queue.unbounded<string>()
      const { fiber, next, shown } = yield* waiting({ pasted: Queue.take(lines) })
      assert.strictEqual((yield* next("browser_failed")).url, shown.url)
      yield* Queue.offer(lines, "the-code")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(loginLayer({ open: () => Effect.succeed(false) }))))

  it.scoped("that blocks stops nothing", () =>
    Effect.gen(function*() {
      const { back, fiber, state } = yield* waiting()
      yield* load(back({ code: "c", state }))
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(loginLayer({ open: () => Effect.never }))))
})
