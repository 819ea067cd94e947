import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import { readFileSync } from "node:fs"
import type * as http from "node:http"
import { Config } from "../../src/config/Config.ts"
import { authMethodOf } from "../../src/credentials/EndpointWire.ts"
import { Login } from "../../src/credentials/Login.ts"
import { LoginServers } from "../../src/credentials/LoginServers.ts"
import type { OAuthClient } from "../../src/credentials/OAuthClient.ts"
import { TokenEndpoint } from "../../src/credentials/TokenEndpoint.ts"
import { Environment } from "../../src/platform/Environment.ts"
import { Http } from "../../src/platform/Http.ts"
import { type Answer, drive, freePort, serve } from "../provider/support.ts"
import { configWith, loginLayer } from "../support/oauth.ts"

const client: OAuthClient = { client_id: "app" }
const refresh_token = Redacted.make("the-refresh-token/+= ~!'()")
const secretText = Redacted.value(refresh_token)

const json = (status: number, body: unknown, type = "application/json"): Answer => (response) => {
  response.writeHead(status, { "content-type": type })
  response.end(typeof body === "string" ? body : JSON.stringify(body))
}

const good = { access_token: "at", token_type: "Bearer", expires_in: 3600, refresh_token: "rt2", scope: "a b" }

const refreshed = (answer: Answer, who: OAuthClient = client, issuer: string | null = null) =>
  Effect.gen(function*() {
    const server = yield* serve(answer)
    const endpoint = yield* TokenEndpoint
    return yield* endpoint.refresh({ issuer, token_endpoint: `${server.origin}/token` }, who, refresh_token)
  })

it.layer(loginLayer({ vars: { CORP_SECRET: " hush \n" } }))("endpoints", (it) => {
  describe("token endpoint", () => {
    it.scoped("6.6: the request is a form; the answer's fields are read", () =>
      Effect.gen(function*() {
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const server = yield* serve(json(200, good))
        const endpoint = yield* TokenEndpoint
        const answer = yield* endpoint.refresh(
          { issuer: null, token_endpoint: `${server.origin}/token?tenant=1` },
          client,
          refresh_token,
          { scopes: ["a", "b"], resource: "https://r.example/" }
        )
        assert.strictEqual(Redacted.value(answer.access_token), "at")
        assert.strictEqual(Redacted.value(answer.refresh_token ?? Redacted.make("")), "rt2")
        assert.strictEqual(answer.expires_at, now + 3600)
        assert.deepStrictEqual(answer.scopes, ["a", "b"])
        const seen = yield* Queue.take(server.requests)
        assert.strictEqual(seen.method, "POST")
        assert.strictEqual(seen.url, "/token?tenant=1")
        assert.match(seen.headers["content-type"] ?? "", /^application\/x-www-form-urlencoded/u)
        assert.strictEqual(seen.headers.accept, "application/json")
        assert.isUndefined(seen.headers.authorization)
        assert.strictEqual(seen.headers["user-agent"], "hanzo-dev")
        assert.deepStrictEqual(Object.fromEntries(new URLSearchParams(seen.body)), {
          client_id: "app",
          scope: "a b",
          resource: "https://r.example/",
          refresh_token: secretText,
          grant_type: "refresh_token"
        })
      }))

    const lenient: ReadonlyArray<readonly [string, unknown, { expires_at?: number | null; refresh?: string | null }]> =
      [
        ["token_type in any case", { ...good, token_type: "bEARER" }, { expires_at: 3600 }],
        ["expires_in as digits", { ...good, expires_in: "120" }, { expires_at: 120 }],
        ["expires_in of zero", { ...good, expires_in: 0 }, { expires_at: 0 }],
        ["a lifetime without end, not one in milliseconds", { ...good, expires_in: 1e15 }, {
          expires_at: 99_999_999_999
        }],
        ["a fraction of a second", { ...good, expires_in: 10.9 }, { expires_at: 10 }],
        ["no expires_in", { access_token: "at", token_type: "bearer" }, { expires_at: null, refresh: null }],
        ["null members", { ...good, expires_in: null, refresh_token: null, scope: null }, {
          expires_at: null,
          refresh: null
        }],
        ["an empty refresh token", { ...good, refresh_token: "", scope: "" }, { refresh: null }],
        ["an identity token that is none", { ...good, id_token: "garbage" }, { refresh: "rt2" }],
        ["members nobody knows", { ...good, __proto__: 1, more: { a: [] } }, { refresh: "rt2" }]
      ]
    for (const [name, body, expected] of lenient) {
      it.scoped(`6.6, 6.7: ${name}`, () =>
        Effect.gen(function*() {
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const answer = yield* refreshed(json(200, body, "application/json;charset=UTF-8"))
          assert.strictEqual(Redacted.value(answer.access_token), "at")
          if (expected.expires_at !== undefined) {
            assert.strictEqual(
              answer.expires_at,
              expected.expires_at === null ? null : Math.min(now + expected.expires_at, 99_999_999_999)
            )
          }
          if (expected.refresh !== undefined) {
            const { refresh_token } = answer
            assert.strictEqual(refresh_token === null ? null : Redacted.value(refresh_token), expected.refresh)
          }
        }))
    }

    const broken: ReadonlyArray<readonly [string, Answer, RegExp]> = [
      ["a page", json(200, "<html><body>at</body></html>", "text/html"), /no JSON object/u],
      ["JSON of another type", json(200, good, "text/plain"), /content type/u],
      ["no JSON", json(200, "{", "application/json"), /no JSON object/u],
      ["an array", json(200, [good]), /no JSON object/u],
      ["nothing", json(200, ""), /no JSON object/u],
      ["invalid UTF-8", (response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))
      }, /no JSON object/u],
      ["no access token", json(200, { token_type: "Bearer" }), /access_token/u],
      ["an empty access token", json(200, { ...good, access_token: "" }), /access_token/u],
      ["an access token that is a number", json(200, { ...good, access_token: 5 }), /access_token/u],
      ...["  ", "a\nb", "a\r\nX-Evil: 1", "a\u0000b", "\u001b[2J", "\u00e9\u2713", "a\u007f"].map((access_token) =>
        [
          `the access token ${JSON.stringify(access_token)}`,
          json(200, { ...good, access_token }),
          /access_token /u
        ] as const
      ),
      ["no token type", json(200, { access_token: "at" }), /token_type/u],
      ["another token type", json(200, { ...good, token_type: "mac" }), /token_type/u],
      ["a type bound to a key", json(200, { ...good, token_type: "DPoP" }), /token_type is not Bearer/u],
      ["a negative lifetime", json(200, { ...good, expires_in: -1 }), /expires_in/u],
      ["a lifetime in words", json(200, { ...good, expires_in: "3600 seconds" }), /expires_in/u],
      ["a refresh token that is an object", json(200, { ...good, refresh_token: {} }), /refresh_token/u],
      ["scopes as an array", json(200, { ...good, scope: ["a"] }), /scope/u],
      ["status 500", json(500, "oops", "text/plain"), /status 500/u],
      ["status 500 with an OAuth error", json(500, { error: "invalid_grant" }), /invalid_grant/u],
      ["status 429", json(429, { error: "too_many" }), /too_many/u],
      ["status 404 with a page", json(404, "<html>", "text/html"), /status 404/u],
      ["a server that says it is busy", json(400, { error: "temporarily_unavailable" }), /temporarily_unavailable/u],
      ["a redirect", (response) => {
        response.writeHead(307, { location: "https://elsewhere.example/" })
        response.end()
      }, /redirect/u],
      ["a body without end", (response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const piece = "x".repeat(65_536)
        const more = () => {
          while (!response.destroyed && response.write(piece));
          response.once("drain", more)
        }
        more()
      }, /more than 256 KiB/u],
      ["a connection that breaks", (response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "100" })
        response.write("{")
        response.socket?.destroy()
      }, /could not be asked/u]
    ]
    for (const [name, answer, text] of broken) {
      it.scoped(`unavailable: ${name}`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(refreshed(answer))
          assert.strictEqual(error.reason, "unavailable", error.message)
          assert.match(error.message, text)
          assert.match(error.message, /^the token endpoint http:\/\/127\.0\.0\.1:\d+\/token /u)
          assert.notInclude(error.message, secretText)
        }))
    }

    it.scoped("unavailable: nobody listens", () =>
      Effect.gen(function*() {
        const endpoint = yield* TokenEndpoint
        const token_endpoint = `http://127.0.0.1:${yield* freePort}/token`
        const error = yield* Effect.flip(endpoint.refresh({ issuer: null, token_endpoint }, client, refresh_token))
        assert.strictEqual(error.reason, "unavailable")
      }))

    it.scoped("unavailable: an answer that takes more than 30 s as a whole, though bytes keep coming", () =>
      Effect.gen(function*() {
        const held: Array<http.ServerResponse> = []
        const server = yield* serve((response) => {
          response.writeHead(200, { "content-type": "application/json" })
          response.write("{")
          held.push(response)
        })
        const endpoint = yield* TokenEndpoint
        const fiber = yield* Effect.fork(
          Effect.flip(endpoint.refresh({ issuer: null, token_endpoint: server.origin }, client, refresh_token))
        )
        yield* Queue.take(server.requests)
        const error = yield* drive(fiber, "1 second")
        assert.strictEqual(error.reason, "unavailable")
        assert.match(error.message, /within 30 s|nothing came/u)
        yield* Queue.take(server.closings)
      }))

    const refusals: ReadonlyArray<readonly [string, number, unknown, string, RegExp]> = [
      ["invalid_grant", 400, { error: "invalid_grant", error_description: "expired" }, "invalid_grant", /: expired$/u],
      ["invalid_grant with status 200", 200, { error: "invalid_grant" }, "invalid_grant", /refused/u],
      ["invalid_client", 401, { error: "invalid_client" }, "authorization_error", /invalid_client/u],
      ["another error", 400, { error: "invalid_scope" }, "authorization_error", /invalid_scope/u],
      [
        "escape sequences and line ends",
        400,
        { error: "x", error_description: "a\u001b[31mb\nc\u202ed" },
        "authorization_error",
        /a\u241b\[31mb c<U\+202E>d$/u
      ],
      [
        "what was sent, repeated",
        400,
        {
          error: "invalid_grant",
          error_description: `no such token ${secretText} (${encodeURIComponent(secretText)})`
        },
        "invalid_grant",
        /no such token \[redacted\] \(\[redacted\]\)$/u
      ],
      [
        "what was sent, as the form had it",
        400,
        {
          error: "invalid_grant",
          error_description: `got ${new URLSearchParams({ refresh_token: secretText })} ${
            new URLSearchParams({ a: secretText }).toString().toLowerCase()
          }`
        },
        "invalid_grant",
        /got refresh_token=\[redacted\] a=\[redacted\]$/u
      ],
      [
        "a description without end",
        400,
        { error: "x", error_description: "y".repeat(10_000) },
        "authorization_error",
        /y\u2026$/u
      ]
    ]
    for (const [name, status, body, reason, text] of refusals) {
      it.scoped(`6.6: a refusal: ${name}`, () =>
        Effect.gen(function*() {
          const error = yield* Effect.flip(
            refreshed((response) => {
              response.writeHead(status, {
                "content-type": "application/json",
                ...(status === 401 ? { "www-authenticate": "Basic realm=\"x\"" } : {})
              })
              response.end(JSON.stringify(body))
            })
          )
          assert.strictEqual(error.reason, reason)
          assert.match(error.message, text)
          assert.notInclude(error.message, secretText)
          assert.isBelow(error.message.length, 500)
        }))
    }

    it.scoped("6.6: the secret goes by the method of the metadata, and into no message", () =>
      Effect.gen(function*() {
        const secret = "p:a%ss wörd+"
        const who = { client_id: "a:b", client_secret: Redacted.make(secret) }
        const endpoint = yield* TokenEndpoint
        const ask = (methods: ReadonlyArray<string> | undefined) =>
          Effect.gen(function*() {
            const server = yield* serve(json(401, { error: "invalid_client", error_description: `not ${secret}` }))
            const error = yield* Effect.flip(endpoint.refresh(
              {
                issuer: null,
                token_endpoint: server.origin,
                ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods })
              },
              who,
              refresh_token
            ))
            assert.notInclude(error.message, secret)
            const { body, headers } = yield* Queue.take(server.requests)
            return { body: new URLSearchParams(body), authorization: headers.authorization }
          })
        for (const methods of [undefined, ["client_secret_basic"], ["private_key_jwt", "client_secret_basic"]]) {
          const { authorization = "", body } = yield* ask(methods)
          const [name = "", value = ""] = Buffer.from(authorization.slice("Basic ".length), "base64").toString().split(
            ":"
          )
          const decode = (text: string) => new URLSearchParams(`x=${text}`).get("x")
          assert.deepStrictEqual([decode(name), decode(value)], ["a:b", secret])
          assert.isNull(body.get("client_secret"))
        }
        const { authorization, body } = yield* ask(["client_secret_post"])
        assert.isUndefined(authorization)
        assert.strictEqual(body.get("client_secret"), secret)
        const none = yield* Effect.flip(
          endpoint.refresh(
            {
              issuer: null,
              token_endpoint: "https://login.example.com/t",
              token_endpoint_auth_methods_supported: ["private_key_jwt"]
            },
            who,
            refresh_token
          )
        )
        assert.strictEqual(none.reason, "not_configured")
        assert.match(none.message, /private_key_jwt/u)
      }))

    it("the method of a client", () => {
      const secret = { client_id: "a", client_secret: Redacted.make("s") }
      assert.strictEqual(authMethodOf({}, client), "none")
      assert.strictEqual(authMethodOf({}, secret), "client_secret_basic")
      assert.strictEqual(authMethodOf({}, { ...secret, token_endpoint_auth_method: "none" }), "none")
      const supported = { token_endpoint_auth_methods_supported: ["none", "client_secret_post", "client_secret_basic"] }
      assert.strictEqual(authMethodOf(supported, secret), "client_secret_post")
      assert.isNull(authMethodOf({ token_endpoint_auth_methods_supported: [] }, secret))
    })

    const addresses: ReadonlyArray<readonly [string, string | null]> = [
      ["http://login.example.com/token", null],
      ["http://127.0.0.1.example.com/token", null],
      ["http://127.0.0.1/token", "https://login.example.com"],
      ["ftp://127.0.0.1/token", null],
      ["file:///etc/passwd", null],
      ["not an address", null]
    ]
    for (const [token_endpoint, issuer] of addresses) {
      it.effect(`a token goes to no such address: ${token_endpoint}`, () =>
        Effect.gen(function*() {
          const endpoint = yield* TokenEndpoint
          const error = yield* Effect.flip(endpoint.refresh({ issuer, token_endpoint }, client, refresh_token))
          assert.strictEqual(error.reason, "not_configured")
          assert.match(error.message, /token_endpoint/u)
        }))
    }

    it.effect("what is missing is named", () =>
      Effect.gen(function*() {
        const endpoint = yield* TokenEndpoint
        const server = { issuer: "https://login.example.com" }
        const errors = yield* Effect.all([
          Effect.flip(endpoint.refresh(server, client, refresh_token)),
          Effect.flip(endpoint.revoke(server, client, refresh_token)),
          Effect.flip(endpoint.push(server, client, new URLSearchParams())),
          Effect.flip(endpoint.authorizeDevice(server, client))
        ])
        assert.deepStrictEqual(errors.map(({ reason }) => reason), Array.from(errors, () => "not_configured" as const))
        assert.deepStrictEqual(errors.map(({ message }) => message), [
          "https://login.example.com has no token_endpoint",
          "https://login.example.com has no revocation_endpoint",
          "https://login.example.com has no pushed_authorization_request_endpoint",
          "https://login.example.com has no device_authorization_endpoint"
        ])
      }))

    it.scoped("RFC 7009: any success is one, whatever its body; a refusal is told", () =>
      Effect.gen(function*() {
        const endpoint = yield* TokenEndpoint
        for (const answer of [json(200, "", "text/plain"), json(204, ""), json(200, "OK")]) {
          const server = yield* serve(answer)
          yield* endpoint.revoke({ issuer: null, revocation_endpoint: server.origin }, client, refresh_token)
          const sent = new URLSearchParams((yield* Queue.take(server.requests)).body)
          assert.strictEqual(sent.get("token"), secretText)
        }
        const server = yield* serve(json(400, { error: "unsupported_token_type" }))
        const error = yield* Effect.flip(
          endpoint.revoke({ issuer: null, revocation_endpoint: server.origin }, client, refresh_token)
        )
        assert.strictEqual(error.error, "unsupported_token_type")
      }))

    it.scoped("RFC 9126: the request_uri; a refusal is told", () =>
      Effect.gen(function*() {
        const endpoint = yield* TokenEndpoint
        const uri = "urn:ietf:params:oauth:request_uri:1"
        const pushed = (answer: Answer) =>
          Effect.flatMap(serve(answer), (server) =>
            endpoint.push(
              { issuer: null, pushed_authorization_request_endpoint: server.origin },
              client,
              new URLSearchParams({ state: "s" })
            ))
        assert.strictEqual(yield* pushed(json(201, { request_uri: uri, expires_in: 60 })), uri)
        assert.strictEqual(yield* pushed(json(200, { request_uri: uri, expires_in: "60" })), uri)
        assert.strictEqual(
          (yield* Effect.flip(pushed(json(400, { error: "invalid_request" })))).reason,
          "authorization_error"
        )
        assert.strictEqual((yield* Effect.flip(pushed(json(201, { expires_in: 60 })))).reason, "unavailable")
      }))
  })

  describe("login servers", () => {
    const metadata = (origin: string, more: Record<string, unknown> = {}) => ({
      issuer: origin,
      authorization_endpoint: `${origin}/auth`,
      token_endpoint: `${origin}/token`,
      code_challenge_methods_supported: ["S256"],
      ...more
    })

    /** A server whose documents are those of `paths`. */
    const documents = (paths: (origin: string) => Readonly<Record<string, unknown>>) =>
      Effect.gen(function*() {
        const server = yield* serve((response, { headers, url }) => {
          const body = paths(`http://${headers.host ?? ""}`)[url]
          json(body === undefined ? 404 : 200, body ?? "")(
            response,
            { method: "", url, headers, body: "" },
            response.req
          )
        })
        const urls = Effect.map(Queue.takeAll(server.requests), (seen) => [...seen].map(({ url }) => url))
        return { ...server, urls }
      })

    it.scoped("1.13: RFC 8414 first; what was found is kept, in parallel too", () =>
      Effect.gen(function*() {
        const server = yield* documents((origin) => ({ "/.well-known/oauth-authorization-server": metadata(origin) }))
        const { discover } = yield* LoginServers
        const found = yield* Effect.all(Array.from({ length: 5 }, () => discover(server.origin)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(found[0], {
          issuer: server.origin,
          authorization_endpoint: `${server.origin}/auth`,
          token_endpoint: `${server.origin}/token`,
          code_challenge_methods_supported: ["S256"]
        })
        assert.deepStrictEqual(yield* server.urls, ["/.well-known/oauth-authorization-server"])
      }))

    it.scoped("1.13: then OpenID, the path put in and appended; a failure is not kept", () =>
      Effect.gen(function*() {
        let there = false
        const server = yield* documents((origin) =>
          there ? { "/realms/a/.well-known/openid-configuration": metadata(`${origin}/realms/a`) } : {}
        )
        const { discover } = yield* LoginServers
        const issuer = `${server.origin}/realms/a`
        const error = yield* Effect.flip(discover(issuer))
        assert.strictEqual(error.reason, "discovery_failed")
        assert.match(error.message, /status 404/u)
        assert.deepStrictEqual(yield* server.urls, [
          "/.well-known/oauth-authorization-server/realms/a",
          "/.well-known/openid-configuration/realms/a",
          "/realms/a/.well-known/openid-configuration"
        ])
        there = true
        assert.strictEqual((yield* discover(issuer)).issuer, issuer)
      }))

    const wrong: ReadonlyArray<readonly [string, (origin: string) => Record<string, unknown>, RegExp]> = [
      ["another issuer", () => metadata("https://evil.example"), /is that of the issuer https:\/\/evil\.example/u],
      ["a slash more", (origin) => metadata(`${origin}/`), /is that of the issuer/u],
      ["no issuer", (origin) => metadata(origin, { issuer: undefined }), /names no issuer/u],
      [
        "an endpoint that is none",
        (origin) => metadata(origin, { token_endpoint: "javascript:alert(1)" }),
        /token_endpoint that must begin with https/u
      ],
      [
        "an endpoint without TLS",
        (origin) => metadata(origin, { revocation_endpoint: "http://elsewhere.example/" }),
        /revocation_endpoint/u
      ]
    ]
    for (const [name, document, text] of wrong) {
      it.scoped(`1.13: metadata with ${name} ends it`, () =>
        Effect.gen(function*() {
          const server = yield* documents((origin) => ({
            "/.well-known/oauth-authorization-server": document(origin),
            "/.well-known/openid-configuration": metadata(origin)
          }))
          const error = yield* Effect.flip((yield* LoginServers).discover(server.origin))
          assert.strictEqual(error.reason, "discovery_failed")
          assert.match(error.message, text)
          assert.deepStrictEqual(yield* server.urls, ["/.well-known/oauth-authorization-server"])
        }))
    }

    it.effect("an issuer is https, without query, fragment and user", () =>
      Effect.gen(function*() {
        const { discover } = yield* LoginServers
        const issuers = [
          "http://a.example",
          "https://a.example?x=1",
          "https://a.example/#x",
          "https://u:p@a.example",
          "a"
        ]
        for (const issuer of issuers) {
          assert.strictEqual((yield* Effect.flip(discover(issuer))).reason, "discovery_failed", issuer)
        }
      }))

    it.effect("6.11: without settings there is no login: what to set, and that a key is the default way", () =>
      Effect.gen(function*() {
        const { serverFor } = yield* LoginServers
        const config = yield* configWith({})
        const error = yield* Effect.flip(serverFor("anthropic", config))
        assert.strictEqual(error.reason, "not_configured")
        assert.strictEqual(
          error.message,
          "no login is set up for anthropic: set auth.providers.anthropic.issuer (or token_endpoint with " +
            "authorization_endpoint or device_authorization_endpoint) and client_id in your own settings, for example " +
            "{\"auth\": {\"providers\": {\"anthropic\": {\"issuer\": \"https://login.example.com\", " +
            "\"client_id\": \"YOUR-CLIENT-ID\"}}}} (docs/authentication.md). An API key is the default way: set " +
            "ANTHROPIC_API_KEY or providers.anthropic.api_key."
        )
        const hanzo = yield* Effect.flip(serverFor("hanzo", config))
        assert.match(hanzo.message, /set auth\.providers\.hanzo\.client_id .*HANZO_API_KEY/u)
        const strange = yield* Effect.flip(serverFor("__proto__", config))
        assert.strictEqual(strange.reason, "not_configured")
      }))

    it.effect("13.3: endpoints of the settings need no discovery", () =>
      Effect.gen(function*() {
        const { serverFor } = yield* LoginServers
        const endpoints = {
          authorization_endpoint: "https://login.example.com/auth?a=1",
          token_endpoint: "https://login.example.com/token",
          client_id: "app",
          client_secret_env: "CORP_SECRET",
          scopes: ["x"],
          redirect_host: "localhost",
          redirect_port: 8123,
          authorization_parameters: { audience: "y" }
        } as const
        const config = yield* configWith({ corp: endpoints })
        const plan = yield* serverFor("corp", config)
        assert.deepStrictEqual(plan.server, {
          issuer: null,
          code_challenge_methods_supported: ["S256"],
          authorization_endpoint: endpoints.authorization_endpoint,
          token_endpoint: endpoints.token_endpoint
        })
        assert.strictEqual(Redacted.value(plan.client.client_secret ?? Redacted.make("")), "hush")
        assert.deepStrictEqual(plan.scopes, ["x"])
        assert.strictEqual(plan.flow, "code")
        assert.deepStrictEqual(plan.redirect, { host: "localhost", port: 8123 })
        assert.deepStrictEqual(plan.parameters, { audience: "y" })
        const bad: ReadonlyArray<readonly [object, RegExp]> = [
          [{ client_secret_env: "NOT_THERE" }, /client_secret_env names the variable NOT_THERE/u],
          [{ token_endpoint: "http://login.example.com/token" }, /auth\.providers\.corp\.token_endpoint must begin/u],
          [{ client_id: undefined }, /auth\.providers\.corp\.client_id/u],
          [{ issuer: "http://corp.example" }, /auth\.providers\.corp\.issuer must begin/u],
          [{ flow: "device" }, /auth\.providers\.corp\.device_authorization_endpoint/u],
          [{ flow: "device_json" }, /device_authorization_endpoint, .*device_poll_endpoint, .*device_redirect_uri/u]
        ]
        for (const [change, text] of bad) {
          const error = yield* Effect.flip(
            Effect.flatMap(configWith({ corp: { ...endpoints, ...change } }), (changed) => serverFor("corp", changed))
          )
          assert.strictEqual(error.reason, "not_configured")
          assert.match(error.message, text)
        }
      }))

    it.scoped("13.3: settings lie over the metadata; the flow follows provider, endpoints and settings", () =>
      Effect.gen(function*() {
        const { serverFor } = yield* LoginServers
        const server = yield* documents((origin) => ({
          "/.well-known/oauth-authorization-server": metadata(origin, {
            device_authorization_endpoint: `${origin}/device`
          })
        }))
        const own = { issuer: server.origin, client_id: "app", revocation_endpoint: `${server.origin}/own` }
        const flows = yield* configWith({
          openai: own,
          anthropic: own,
          chosen: { ...own, flow: "device" },
          json: {
            ...own,
            device_authorization_endpoint: `${server.origin}/usercode`,
            device_poll_endpoint: `${server.origin}/poll`,
            device_verification_uri: `${server.origin}/page`,
            device_redirect_uri: `${server.origin}/done`
          }
        })
        const flow = (provider: string) => Effect.map(serverFor(provider, flows), (plan) => plan.flow)
        assert.strictEqual(yield* flow("openai"), "device")
        assert.strictEqual(yield* flow("anthropic"), "code")
        assert.strictEqual(yield* flow("chosen"), "device")
        const json = yield* serverFor("json", flows)
        assert.strictEqual(json.flow, "device_json")
        assert.strictEqual(json.device_json?.poll_endpoint, `${server.origin}/poll`)
        assert.strictEqual((yield* serverFor("openai", flows, "code")).flow, "code")
        assert.strictEqual((yield* serverFor("openai", flows)).server.revocation_endpoint, `${server.origin}/own`)
        assert.strictEqual((yield* server.urls).length, 1)
      }))
  })

  it.effect("the documented examples are settings, and those with endpoints are complete", () =>
    Effect.gen(function*() {
      const text = readFileSync(new URL("../../docs/authentication.md", import.meta.url), "utf8")
      const flows: Array<string> = []
      for (const [, example = ""] of text.matchAll(/```jsonc\n([\s\S]*?)```/gu)) {
        const { config, errors, warnings } = yield* Effect.provide(Config, Config.layerText(example))
        assert.deepStrictEqual([errors, warnings], [[], []], example)
        for (const [provider, { issuer }] of Object.entries(config.auth.providers)) {
          if (issuer !== undefined) continue
          const { flow } = yield* Effect.provide(
            Effect.flatMap(LoginServers, ({ serverFor }) => serverFor(provider, config)),
            loginLayer({ vars: { CORP_CLIENT_SECRET: "x" } })
          )
          flows.push(flow)
        }
      }
      assert.deepStrictEqual(flows, ["code", "device_json"])
    }))

  it.scoped("the whole of it builds over HTTP and the environment, and says what is missing", () =>
    Effect.gen(function*() {
      const environment = Environment.layerTest()
      const layer = Login.layer.pipe(
        Layer.provide(Http.layer),
        Layer.provide(environment)
      )
      const { login } = yield* Effect.provide(Login, layer)
      const error = yield* Effect.flip(Effect.flatMap(configWith({}), (config) => login("hanzo", config)))
      assert.match(error.message, /auth\.providers\.hanzo\.client_id/u)
    }))

  it.scoped("an interrupted request closes its connection", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => undefined)
      const endpoint = yield* TokenEndpoint
      const fiber = yield* Effect.fork(
        endpoint.refresh({ issuer: null, token_endpoint: server.origin }, client, refresh_token)
      )
      yield* Queue.take(server.requests)
      yield* Fiber.interrupt(fiber)
      yield* Queue.take(server.closings)
    }))
})
