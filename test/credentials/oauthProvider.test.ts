import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { Login } from "../../src/credentials/Login.ts"
import { LoginServers } from "../../src/credentials/LoginServers.ts"
import { OAuthFlow } from "../../src/credentials/OAuthFlow.ts"
import { TokenEndpoint } from "../../src/credentials/TokenEndpoint.ts"
import { configWith, loginLayer, passSleep, recorder } from "../support/oauth.ts"
import { type OidcOptions, oidcServer } from "../support/oidc/Provider.ts"
import { load, UserAgent } from "../support/oidc/UserAgent.ts"

const scopes = ["openid", "offline_access"]
const settings = (issuer: string, client_id: string) => ({
  issuer,
  client_id,
  scopes,
  authorization_parameters: { prompt: "consent" }
})

/** A server, its settings, and a login by the code flow up to the redirect. */
const started = (options: OidcOptions = {}, more: Record<string, unknown> = {}) =>
  Effect.gen(function*() {
    const server = yield* oidcServer(options)
    const config = yield* configWith({ corp: { ...settings(server.issuer, server.client_id), ...more } })
    const { events, next } = yield* recorder
    const login = yield* Login
    const fiber = yield* Effect.fork(login.login("corp", config, { events }))
    const { url } = yield* next("address")
    return { server, config, fiber, url }
  })

const loggedIn = Effect.gen(function*() {
  const { config, fiber, server, url } = yield* started()
  yield* Effect.flatMap(new UserAgent().visit(url), load)
  const credential = yield* Fiber.join(fiber)
  const plan = yield* (yield* LoginServers).serverFor("corp", config)
  return { config, credential, plan, server, endpoint: yield* TokenEndpoint }
})

const refreshToken = (token: Redacted.Redacted | null): Redacted.Redacted => token ?? Redacted.make("none")

it.layer(loginLayer())("a real authorization server", (it) => {
  describe("code flow", () => {
    it.scoped("6.1, 6.3, 6.6: a login with PKCE, pushed request, state and iss; the listener is closed", () =>
      Effect.gen(function*() {
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const { fiber, server, url } = yield* started()
        // RFC 9126: the parameters went to the server, not into the address.
        assert.deepStrictEqual([...new URL(url).searchParams.keys()].sort(), ["client_id", "request_uri"])
        const callback = yield* new UserAgent().visit(url)
        const { searchParams } = new URL(callback)
        assert.strictEqual(searchParams.get("iss"), server.issuer)
        const page = yield* load(callback)
        assert.strictEqual(page.status, 200)
        assert.notInclude(page.text, searchParams.get("code") ?? "?")
        const credential = yield* Fiber.join(fiber)
        assert.strictEqual(credential.provider, "corp")
        assert.strictEqual(credential.issuer, server.issuer)
        assert.strictEqual(credential.client_id, server.client_id)
        assert.strictEqual(credential.token_endpoint, `${server.issuer}/token`)
        assert.deepStrictEqual(credential.scopes, scopes)
        assert.strictEqual(credential.expires_at, now + 3600)
        assert.isNotNull(credential.refresh_token)
        assert.isAbove(Redacted.value(credential.access_token).length, 20)
        const [pushed] = server.seen("/request")
        const [exchanged] = server.seen("/token")
        const first = new URLSearchParams(pushed?.body)
        const second = new URLSearchParams(exchanged?.body)
        // The same redirect address in both requests (can1357/oh-my-pi#1278).
        assert.strictEqual(first.get("redirect_uri"), second.get("redirect_uri"))
        assert.match(first.get("redirect_uri") ?? "", /^http:\/\/127\.0\.0\.1:\d+\/callback$/u)
        assert.strictEqual(first.get("code_challenge_method"), "S256")
        assert.match(first.get("state") ?? "", /^[\w-]{43}$/u)
        assert.strictEqual(second.get("grant_type"), "authorization_code")
        assert.match(second.get("code_verifier") ?? "", /^[\w-]{43}$/u)
        assert.strictEqual(second.get("client_id"), server.client_id)
        assert.isTrue(yield* Effect.promise(() => fetch(callback).then(() => false, () => true)))
      }))

    it.scoped("6.3: a server that requires pushed requests", () =>
      Effect.gen(function*() {
        const { fiber, url } = yield* started({ require_pushed: true })
        yield* Effect.flatMap(new UserAgent().visit(url), load)
        assert.isNotNull((yield* Fiber.join(fiber)).refresh_token)
      }))

    it.scoped("6.3: without an endpoint for them the parameters are in the address", () =>
      Effect.gen(function*() {
        const server = yield* oidcServer()
        const { events, next } = yield* recorder
        const found = yield* (yield* LoginServers).discover(server.issuer)
        const { pushed_authorization_request_endpoint: _, ...plain } = found
        const fiber = yield* Effect.fork(
          (yield* OAuthFlow).authorize({
            server: plain,
            client: { client_id: server.client_id },
            scopes,
            parameters: { prompt: "consent" },
            events
          })
        )
        const { url } = yield* next("address")
        const { searchParams } = new URL(url)
        assert.strictEqual(searchParams.get("response_type"), "code")
        assert.strictEqual(searchParams.get("scope"), "openid offline_access")
        assert.isNull(searchParams.get("code_verifier"))
        yield* Effect.flatMap(new UserAgent().visit(url), load)
        assert.isNotNull((yield* Fiber.join(fiber)).tokens.refresh_token)
      }))

    it.scoped("6.3: redirects to localhost", () =>
      Effect.gen(function*() {
        const { fiber, url } = yield* started({}, { redirect_host: "localhost" })
        const callback = yield* new UserAgent().visit(url)
        assert.match(callback, /^http:\/\/localhost:\d+\/callback\?/u)
        yield* load(callback)
        yield* Fiber.join(fiber)
      }))

    for (const method of ["client_secret_basic", "client_secret_post"] as const) {
      it.scoped(`6.6: a client secret by ${method}`, () =>
        Effect.gen(function*() {
          const value = "s3cret: with + and % in it"
          const server = yield* oidcServer({
            secret: { value, method },
            configuration: { clientAuthMethods: [method] }
          })
          const { events, next } = yield* recorder
          const client = { client_id: server.client_id, client_secret: Redacted.make(value) }
          const found = yield* (yield* LoginServers).discover(server.issuer)
          const fiber = yield* Effect.fork(
            (yield* OAuthFlow).authorize({ server: found, client, scopes, parameters: { prompt: "consent" }, events })
          )
          const { url } = yield* next("address")
          yield* Effect.flatMap(new UserAgent().visit(url), load)
          const { tokens } = yield* Fiber.join(fiber)
          assert.isNotNull(tokens.refresh_token)
          const [exchanged] = server.seen("/token")
          assert.strictEqual(exchanged?.headers.authorization !== undefined, method === "client_secret_basic")
        }))
    }

    it.scoped("6.4: the user refuses", () =>
      Effect.gen(function*() {
        const { fiber, server, url } = yield* started()
        const page = yield* Effect.flatMap(new UserAgent().visit(url, { deny: true }), load)
        assert.strictEqual(page.status, 200)
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "authorization_error")
        assert.strictEqual(error.error, "access_denied")
        assert.strictEqual(server.seen("/token").length, 0)
      }))

    it.scoped("6.6: a code is good once", () =>
      Effect.gen(function*() {
        const { plan, server, endpoint } = yield* loggedIn
        const [exchanged] = server.seen("/token")
        const sent = new URLSearchParams(exchanged?.body)
        const code = sent.get("code") ?? ""
        const error = yield* Effect.flip(
          endpoint.exchange(plan.server, plan.client, {
            code: Redacted.make(code),
            code_verifier: Redacted.make(sent.get("code_verifier") ?? ""),
            redirect_uri: sent.get("redirect_uri") ?? ""
          })
        )
        assert.strictEqual(error.reason, "invalid_grant")
        assert.notInclude(error.message, code)
      }))

    it.scoped("6.4: an answer of another issuer than the one that was asked", () =>
      Effect.gen(function*() {
        const server = yield* oidcServer()
        const { events, next } = yield* recorder
        const found = yield* (yield* LoginServers).discover(server.issuer)
        const fiber = yield* Effect.fork(
          (yield* OAuthFlow).authorize({
            server: { ...found, issuer: "http://127.0.0.1:1" },
            client: { client_id: server.client_id },
            scopes: ["openid"],
            events
          })
        )
        const { url } = yield* next("address")
        assert.strictEqual((yield* Effect.flatMap(new UserAgent().visit(url), load)).status, 400)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "iss_mismatch")
        assert.strictEqual(server.seen("/token").length, 0)
      }))

    it.scoped("1.13: an issuer with a slash too many is another one", () =>
      Effect.gen(function*() {
        const server = yield* oidcServer()
        const error = yield* Effect.flip((yield* LoginServers).discover(`${server.issuer}/`))
        assert.strictEqual(error.reason, "discovery_failed")
        assert.include(error.message, `is that of the issuer ${server.issuer}, and`)
      }))

    it.scoped("6.6: a code that has expired", () =>
      Effect.gen(function*() {
        const { fiber, server, url } = yield* started()
        const callback = yield* new UserAgent().visit(url)
        yield* server.expire("AuthorizationCode")
        yield* load(callback)
        assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason, "invalid_grant")
      }))

    it.scoped("1.13, RFC 8707: the resource is in both requests, and the token is for it", () =>
      Effect.gen(function*() {
        const resource = "https://mcp.example.com/mcp"
        const { fiber, server, url } = yield* started({}, { resource, scopes: ["offline_access", "read"] })
        yield* Effect.flatMap(new UserAgent().visit(url), load)
        const credential = yield* Fiber.join(fiber)
        assert.strictEqual(credential.resource, resource)
        assert.strictEqual(new URLSearchParams(server.seen("/request")[0]?.body).get("resource"), resource)
        assert.strictEqual(new URLSearchParams(server.seen("/token")[0]?.body).get("resource"), resource)
        const [, claims = ""] = Redacted.value(credential.access_token).split(".")
        assert.strictEqual(JSON.parse(Buffer.from(claims, "base64url").toString()).aud, resource)
      }))
  })

  describe("tokens", () => {
    it.scoped("6.7, 6.9: each refresh gives a new token; an old one again kills the family", () =>
      Effect.gen(function*() {
        const { credential, endpoint, plan, server } = yield* loggedIn
        const first = refreshToken(credential.refresh_token)
        const second = yield* endpoint.refresh(plan.server, plan.client, first)
        assert.notStrictEqual(Redacted.value(refreshToken(second.refresh_token)), Redacted.value(first))
        const third = yield* endpoint.refresh(plan.server, plan.client, refreshToken(second.refresh_token), {
          scopes: ["openid"]
        })
        assert.strictEqual(new URLSearchParams(server.seen("/token")[2]?.body).get("scope"), "openid")
        const replayed = yield* Effect.flip(endpoint.refresh(plan.server, plan.client, first))
        assert.strictEqual(replayed.reason, "invalid_grant")
        const dead = yield* Effect.flip(
          endpoint.refresh(plan.server, plan.client, refreshToken(third.refresh_token))
        )
        assert.strictEqual(dead.reason, "invalid_grant")
        assert.strictEqual(dead.error, "invalid_grant")
        for (const token of [first, refreshToken(third.refresh_token)]) {
          assert.notInclude(`${replayed.message} ${dead.message}`, Redacted.value(token))
        }
      }))

    it.scoped("6.9: a refresh token that has expired", () =>
      Effect.gen(function*() {
        const { credential, endpoint, plan, server } = yield* loggedIn
        yield* server.expire("RefreshToken")
        const error = yield* Effect.flip(
          endpoint.refresh(plan.server, plan.client, refreshToken(credential.refresh_token))
        )
        assert.strictEqual(error.reason, "invalid_grant")
      }))

    it.scoped("RFC 7009: a revoked token refreshes nothing", () =>
      Effect.gen(function*() {
        const { credential, endpoint, plan } = yield* loggedIn
        const token = refreshToken(credential.refresh_token)
        yield* endpoint.revoke(plan.server, plan.client, token)
        // Unknown tokens are revoked already.
        yield* endpoint.revoke(plan.server, plan.client, Redacted.make("never-was-one"))
        const error = yield* Effect.flip(endpoint.refresh(plan.server, plan.client, token))
        assert.strictEqual(error.reason, "invalid_grant")
      }))

    it.scoped("a client that the server does not know", () =>
      Effect.gen(function*() {
        const { endpoint, plan } = yield* loggedIn
        const error = yield* Effect.flip(
          endpoint.refresh(plan.server, { client_id: "stranger" }, Redacted.make("token"))
        )
        assert.strictEqual(error.reason, "authorization_error")
        assert.strictEqual(error.error, "invalid_client")
      }))
  })

  describe("device flow", () => {
    const device = Effect.gen(function*() {
      const server = yield* oidcServer()
      const config = yield* configWith({
        openai: { issuer: server.issuer, client_id: server.client_id, scopes: ["openid", "offline_access"] }
      })
      const { events, next } = yield* recorder
      const { login } = yield* Login
      const fiber = yield* Effect.fork(login("openai", config, { events }))
      return { server, fiber, shown: yield* next("device_code"), next }
    })

    /** The clock of the test moves to the next poll, and on when that has been answered. */
    const polled = (server: { readonly seen: (path: string) => ReadonlyArray<unknown> }, count: number) =>
      Effect.gen(function*() {
        yield* passSleep(5000)
        while (server.seen("/token").length < count) {
          yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
        }
      })

    it.scoped("13.4: pending, then tokens; 5 s apart where the server names no interval", () =>
      Effect.gen(function*() {
        const { fiber, server, shown } = yield* device
        assert.strictEqual(server.seen("/token").length, 0)
        yield* polled(server, 1)
        const page = yield* new UserAgent().visit(shown.verification_uri, { user_code: shown.user_code })
        assert.match(page, /success/iu)
        yield* polled(server, 2)
        const credential = yield* Fiber.join(fiber)
        assert.isNotNull(credential.refresh_token)
        assert.strictEqual(credential.provider, "openai")
      }))

    it.scoped("13.4: the address with the code in it", () =>
      Effect.gen(function*() {
        const { fiber, server, shown } = yield* device
        yield* new UserAgent().visit(shown.verification_uri_complete ?? "")
        yield* polled(server, 1)
        assert.isNotNull((yield* Fiber.join(fiber)).refresh_token)
      }))

    it.scoped("13.4: the code expires at the server", () =>
      Effect.gen(function*() {
        const { fiber, server } = yield* device
        yield* polled(server, 1)
        yield* server.expire("DeviceCode")
        yield* polled(server, 2)
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "expired_token")
        assert.match(error.message, /refused with expired_token: device code is expired/u)
      }))

    it.scoped("13.4: the user refuses", () =>
      Effect.gen(function*() {
        const { fiber, server, shown } = yield* device
        yield* new UserAgent().visit(shown.verification_uri_complete ?? "", { deny: true })
        yield* polled(server, 1)
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.strictEqual(error.reason, "access_denied")
      }))
  })
})
